//! Records nobody would write.

use super::*;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1.0),
        0.0..1e9f64,
        any::<f64>()
    ]
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z]{200}",
        "[\u{6f22}\u{1f600} ]{1,90}",
        "\\PC{0,60}",
        Just("seq".to_owned()),
        Just("read".to_owned()),
        Just("write".to_owned()),
        Just("mixed:70".to_owned()),
        Just("commit".to_owned()),
        Just("a\x1b[2Jb\nc".to_owned()),
    ]
}

prop_compose! {
    /// The example's cell with anything in the places that layouts read.
    pub(crate) fn any_cell()(
        target in 0..3usize,
        names in prop::array::uniform6(name()),
        sizes in prop::array::uniform3(any::<u64>()),
        counts in prop::array::uniform2(any::<u32>()),
        numbers in prop::array::uniform6(number()),
        ticks in prop::collection::vec(any::<u32>(), 0..200),
        passes in 0..8u32,
        absent in any::<bool>(),
        flags in prop::sample::subsequence(Flag::ALL, 0..6),
    ) -> Cell {
        let mut cell = example().cells.swap_remove(1);
        let [op, pattern, name, io, test, round] = names;
        let [iops, rate, mean, half_width, seconds, after] = numbers;
        (cell.target, cell.op, cell.pattern, cell.name, cell.io) = (target, op, pattern, name, io);
        cell.block_bytes = sizes[0] >> (sizes[1] % 64);
        [cell.threads, cell.queue_depth] = counts;
        (cell.iops, cell.bytes_per_s, cell.iops_mean) = (iops, rate, mean);
        cell.half_width_relative = Some(half_width).filter(|_| !absent);
        cell.iops_ci95 = Some([iops, after]).filter(|_| !absent);
        cell.coordinates.insert("test".to_owned(), test.into());
        cell.coordinates.insert("round".to_owned(), round.into());
        cell.coordinates.insert("file_bytes".to_owned(), sizes[2].into());
        if absent {
            (cell.latency, cell.iops_stddev) = (None, None);
            cell.coordinates.clear();
        }
        let mut pass = cell.passes[0].clone();
        pass.total.bytes = sizes[1];
        pass.total.seconds = seconds;
        pass.series.tick_ns = sizes[2];
        pass.series.operations = ticks.into_iter().map(u64::from).collect();
        pass.transitions[0].after_bytes_per_s = after;
        pass.iops = rate;
        cell.passes = (0..passes).map(|number| Pass { pass: number, ..pass.clone() }).collect();
        cell.flags = flags;
        cell
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_record_breaks_the_width_or_the_terminal(
        cells in prop::collection::vec(any_cell(), 0..6),
        layout in prop::sample::select(&LAYOUTS[..]),
        text in name(),
        width in prop_oneof![Just(80usize), 0..200usize],
        unicode in any::<bool>(),
    ) {
        let mut record = Record { cells, ..example() };
        record.method.layout = layout.to_owned();
        record.targets[0].text.clone_from(&text);
        record.targets[0].stack[1].drive.as_mut().expect("a drive").model = Some(text.clone());
        record.paired[0].name.clone_from(&text);
        record.left_out[0].reason.clone_from(&text);
        record.method.not_measured = Some(text.clone());
        record.environment.host.name.clone_from(&text);
        record.labels.insert("label".to_owned(), text);
        let characters = if unicode { Characters::Unicode } else { Characters::Ascii };
        let style = Style { width, color: Color::Never, characters };
        let lines = record.cells.iter().map(|cell| cell_line(&cell_title(cell), cell, &[], &style));
        let pages = [
            explained(&record, &style),
            run(&record, &style, BRIEF),
            history_at_once(&[record.summary()], &style),
        ];
        for line in pages.iter().flat_map(|page| page.lines()).map(str::to_owned).chain(lines) {
            prop_assert!(style::columns_of(&line) <= width.max(WIDTH_MIN), "{line}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            prop_assert!(unicode || line.is_ascii(), "{line}");
        }
    }
}
