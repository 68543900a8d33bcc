//! Tables that a study computed can be computed again from its other tables; where they cannot, a
//! note says why.

use study::{Dossier, Figure, Follows, Printed, Study};

/// Half a unit of the last digit that is printed, with a grain for halves.
fn half_a_digit(text: &str) -> f64 {
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, behind)| behind.bytes().take_while(u8::is_ascii_digit).count() as i32);
    0.5 * 10f64.powi(-decimals) * (1.0 + 1e-9)
}

/// Printed cells that something else computes: table, whether they agree, how many notes they have.
fn computed(dossier: &Dossier) -> Vec<(&str, bool, usize)> {
    let mut seen = Vec::new();
    for (at, cell) in dossier.cells.iter().enumerate() {
        if let (Printed::Figure(number, text), Some(value)) = (&cell.printed, dossier.computed[at])
        {
            let agrees = (value - number).abs() <= half_a_digit(text);
            let table = cell.coordinate("table").expect("cells stand in tables");
            seen.push((table, agrees, dossier.notes[at].len()));
        }
    }
    seen
}

#[test]
fn every_printed_cell_that_its_study_contradicts_has_a_note() {
    for study in Study::ALL {
        let dossier = Dossier::open(study);
        for (at, cell) in dossier.cells.iter().enumerate() {
            let (Printed::Figure(number, text), Some(value)) =
                (&cell.printed, dossier.computed[at])
            else {
                continue;
            };
            // Half a digit for the cell, and as much for those that it was computed from.
            let agrees = (value - number).abs() <= 2.0 * half_a_digit(text);
            assert!(
                agrees || !dossier.notes[at].is_empty(),
                "{}: {:?} is printed as {text} and computed as {value}",
                study.name(),
                cell.at
            );
        }
    }
}

#[test]
fn table_vi_of_cmu_is_the_price_over_the_4_kb_rate_in_all_but_three_cells() {
    let dossier = Dossier::open(Study::Cmu2009);
    let cells = computed(&dossier);
    let vi: Vec<_> = cells.iter().filter(|(table, ..)| *table == "VI").collect();
    assert_eq!(vi.len(), 32);
    assert_eq!(vi.iter().filter(|(_, agrees, _)| *agrees).count(), 29);
    assert!(vi.iter().all(|(_, agrees, notes)| *agrees == (*notes == 0)));
}

/// The rates that Table VII's quotients imply were carried as if printed, and Table VII was
/// computed from them: a check that could not fail.
#[test]
fn rates_that_only_quotients_imply_compute_nothing() {
    let dossier = Dossier::open(Study::Cmu2009);
    assert!(dossier.of_table("VII").all(|at| dossier.computed[at].is_none()));
    let table = dossier.file.table("implied").expect("the rates that they stand for");
    assert_eq!(table.follows, Follows::Implied);
    let facts = dossier.file.devices.iter().flat_map(|device| device.facts.keys());
    assert!(
        facts.clone().all(|fact| !fact.contains("advertised")),
        "{:?}",
        facts.collect::<Vec<_>>()
    );
}

#[test]
fn the_summaries_of_the_other_studies_follow_from_their_tables() {
    let count = |study, table: &str| {
        let dossier = Dossier::open(study);
        let cells = computed(&dossier);
        let of_table: Vec<_> = cells.iter().filter(|(name, ..)| *name == table).collect();
        (of_table.len(), of_table.iter().filter(|(_, agrees, _)| *agrees).count())
    };
    // One row printed for a mean; three halves and a whole number are within their digit.
    assert_eq!(count(Study::Latency2016, "pivot"), (30, 29));
    assert_eq!(count(Study::Latency2016, "cache"), (20, 19));
    assert_eq!(count(Study::Stfc2009, "T4").0, 12);
    assert_eq!(count(Study::Stfc2009, "T5").0, 12);
}

/// Operations are cut off to whole ones and bandwidths to a tenth, K below some 2,000,000 bytes/s
/// and M from there on.
#[test]
fn operations_times_size_is_the_printed_bandwidth_in_every_pair() {
    let figures = Study::Easyco2007.figures();
    let mut pairs = 0;
    for bandwidth in figures.iter().filter(|figure| figure.metric == "bytes_per_s") {
        let is_partner = |other: &&Figure| {
            other.metric == "iops"
                && (&other.table, &other.device, &other.op, other.block_bytes, other.threads)
                    == (
                        &bandwidth.table,
                        &bandwidth.device,
                        &bandwidth.op,
                        bandwidth.block_bytes,
                        bandwidth.threads,
                    )
        };
        let operations = figures.iter().find(is_partner).expect("a pair");
        let block = bandwidth.block_bytes.expect("a size") as f64;
        let (text, unit) = bandwidth.value_text.split_at(bandwidth.value_text.len() - 1);
        let unit = if unit == "K" { 1024.0 } else { 1_048_576.0 };
        let tenths = text.parse::<f64>().expect("a number") * 10.0;
        // Somewhere between the printed count and the next one the cut-off bandwidth is the printed
        // one.
        let low = (operations.value * block / unit * 10.0 + 1e-6).floor();
        let high = ((operations.value + 1.0) * block / unit * 10.0).ceil() - 1.0;
        assert!((low..=high).contains(&tenths.round()), "{bandwidth:?} of {operations:?}");
        pairs += 1;
    }
    assert_eq!(pairs, 426);
}

#[test]
fn the_mixes_of_easyco_come_out_as_printed() {
    let dossier = Dossier::open(Study::Easyco2007);
    let values: Vec<f64> =
        dossier.of_table("mixes").map(|at| dossier.computed[at].expect("derived")).collect();
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 0.005 * wanted;
    assert!(near(values[0], 58.8) && near(values[1], 5.04) && near(values[2], 1.08), "{values:?}");
}

#[test]
fn every_study_has_charts_and_a_chart_of_two_cells_at_one_place_is_refused() {
    for study in Study::ALL {
        let dossier = Dossier::open(study);
        assert!(!dossier.figures.is_empty(), "{}", study.name());
        let mut ids: Vec<&str> = dossier.file.figures.iter().map(|figure| &*figure.id).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    }
    let study = Study::Cmu2009;
    let refusal = |change: fn(&mut study::FigureFile)| {
        let mut file = study.file();
        change(&mut file.figures[0]);
        Dossier::with_figures(study, file, &study.figures()).expect_err("refused").to_string()
    };
    let two = refusal(|figure| figure.series.clear());
    assert!(two.contains("figure fig-1") && two.contains("two cells"), "{two}");
    let none = refusal(|figure| figure.of = "II[block=128K]".to_owned());
    assert!(none.contains("selects nothing"), "{none}");
    let lines = refusal(|figure| {
        (figure.kind, figure.over) = (study::FigureKind::Lines, vec!["device".to_owned()]);
    });
    assert!(lines.contains("`block`, `threads` or `load`"), "{lines}");
}
