use super::*;
#[test]
fn look() {
    let mut record =
        Record::from_json(include_str!("../../../record/tests/example.json"), "x").unwrap();
    for layout in ["list", "bm-flash", "iozone", "iozone-cmu", "dd", "oltp", "snia", "saturation"] {
        record.method.layout = layout.into();
        println!("######## {layout}\n{}", run(&record, &Style::PLAIN));
    }
    println!(
        "{}",
        history(
            &[record.summary(), record.summary()],
            &Style { color: Color::Never, characters: Characters::Unicode, width: 100 }
        )
    );
    println!("{}", cell_line(&record.cells[1], &Style::PLAIN));
    println!(
        "{}",
        run(&record, &Style { color: Color::Never, characters: Characters::Unicode, width: 120 })
    );
}
