//! Every claim of every study gets a verdict, and verdicts are computed: a changed figure changes
//! one.

use std::collections::BTreeSet;
use study::{Book, Claim, Dossier, Printed, Study, Verdict, expression::Coordinates};

fn verdict(dossier: &Dossier, claim: &str) -> Verdict {
    let claim = dossier.claims.iter().find(|known| known.file.id == claim).expect("a claim");
    claim.judge(&dossier.printed, None).expect("a good expression").verdict
}

#[test]
fn all_claims_of_the_five_studies_are_judged() {
    let mut counts = Vec::new();
    for study in Study::ALL {
        let dossier = Dossier::open(study);
        for claim in &dossier.claims {
            claim.judge(&dossier.printed, None).unwrap_or_else(|error| panic!("{error}"));
        }
        counts.push(dossier.claims.len());
    }
    assert_eq!(counts, [64, 60, 15, 39, 29, 0]);
}

/// The counts were compared claim by claim with verdicts that were reached by hand from the printed
/// tables.
#[test]
fn verdicts_from_printed_figures_alone_are_these() {
    let counts = Study::ALL.map(|study| {
        let dossier = Dossier::open(study);
        Verdict::ALL.map(|wanted| {
            let judged = dossier.claims.iter().map(|claim| claim.judge(&dossier.printed, None));
            judged.filter(|judged| judged.as_ref().is_ok_and(|seen| seen.verdict == wanted)).count()
        })
    });
    // Supported, rounded, contradicted, model only (no model was run), not checkable, answered,
    // open, not built.
    let expected = [
        [26, 8, 15, 0, 12, 0, 3, 0],
        [21, 7, 18, 0, 14, 0, 0, 0],
        [5, 5, 2, 0, 1, 1, 1, 0],
        [16, 1, 2, 0, 16, 1, 1, 2],
        [1, 1, 2, 0, 23, 0, 2, 0],
        [0; 8],
    ];
    assert_eq!(counts, expected);
}

/// A claim, the figure that is changed, its new value, and the verdict that follows.
type Flip = (Study, &'static str, &'static [(&'static str, &'static str)], f64, Verdict);

#[test]
fn one_changed_figure_changes_a_verdict_in_every_study() {
    let flips: [Flip; 5] = [
        // 135 times the 7200 rpm disk's 320.75.
        (
            Study::Cmu2009,
            "rand-write-best",
            &[("table", "V"), ("device", "fusionio-iodrive-80"), ("block", "4096")],
            135.0 * 320.75,
            Verdict::Supported,
        ),
        (
            Study::Easyco2007,
            "onboard-35",
            &[
                ("table", "onboard"),
                ("op", "rand-read"),
                ("block", "4096"),
                ("threads", "40"),
                ("metric", "iops"),
            ],
            9_000.0, // a third less than the 13,226 of the other controller
            Verdict::Contradicted,
        ),
        (
            Study::Latency2016,
            "fastest",
            &[("table", "raw"), ("device", "intel-520-120"), ("fs", "raw"), ("wc", "off")],
            0.05,
            Verdict::Contradicted,
        ),
        (
            Study::Stfc2009,
            "intel-below-250",
            &[("table", "T5"), ("device", "intel-x25e-64"), ("tool", "dd"), ("metric", "mb_per_s")],
            251.0,
            Verdict::Contradicted,
        ),
        // 2,250 GB are 60 times 37.5 GB.
        (
            Study::Martin2008,
            "sixty-times",
            &[("table", "capacity"), ("device", "mtron-mobi-32")],
            37.5,
            Verdict::Rounded,
        ),
    ];
    for (study, claim, at, number, after) in flips {
        let mut dossier = Dossier::open(study);
        let before = verdict(&dossier, claim);
        assert!(dossier.printed.replace(at, number), "{}: {at:?}", study.name());
        assert_eq!(verdict(&dossier, claim), after, "{}: {claim}", study.name());
        assert_ne!(before, after, "{}: {claim}", study.name());
    }
}

/// A verdict that no figure can shake would be no check. All figures of a table that share a
/// coordinate are made 64 times larger and smaller, then each figure alone; every claim that
/// the figures bear out is contradicted by one of the changes, and the values that contradict a
/// claim are moved by one.
#[test]
fn every_claim_that_figures_bear_out_is_contradicted_by_a_planted_change() {
    for study in Study::DOCUMENTS {
        let dossier = Dossier::open(study);
        let holds = |seen: Verdict| matches!(seen, Verdict::Supported | Verdict::Rounded);
        let judged = |claim: &Claim, book: &Book| {
            claim.judge(book, None).unwrap_or_else(|error| panic!("{error}"))
        };
        let mut unshaken: Vec<&Claim> = dossier.claims.iter().collect();
        unshaken.retain(|claim| holds(judged(claim, &dossier.printed).verdict));
        assert!(!unshaken.is_empty(), "{}", study.name());
        let contradicted =
            dossier.claims.iter().map(|claim| (claim, judged(claim, &dossier.printed)));
        let mut unmoved: Vec<_> =
            contradicted.filter(|(_, seen)| seen.verdict == Verdict::Contradicted).collect();
        let mut changed = dossier.printed.clone();
        for change in changes(&figures(&dossier)) {
            if unshaken.is_empty() && unmoved.is_empty() {
                break;
            }
            // Powers of two are taken back exactly.
            for factor in [1.0 / 64.0, 64.0] {
                assert!(changed.scale(factor, |at| change.concerns(at)) > 0, "{change:?}");
                unshaken.retain(|claim| judged(claim, &changed).verdict != Verdict::Contradicted);
                unmoved.retain(|(claim, seen)| judged(claim, &changed).values == seen.values);
                changed.scale(1.0 / factor, |at| change.concerns(at));
            }
        }
        let left = unshaken.into_iter().chain(unmoved.into_iter().map(|(claim, _)| claim));
        let names: Vec<&str> = left.map(|claim| claim.file.id.as_str()).collect();
        assert!(names.is_empty(), "{}: nothing shakes {names:?}", study.name());
    }
}

/// Which figures are changed together.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Change {
    /// Those of a table that share a coordinate.
    Shared { table: String, key: String, value: String },
    /// One.
    Alone(Coordinates),
}

impl Change {
    fn concerns(&self, at: &Coordinates) -> bool {
        match self {
            Self::Shared { table, key, value } => {
                at.get("table") == Some(table) && at.get(key) == Some(value)
            }
            Self::Alone(of) => at == of,
        }
    }
}

/// Those that share a coordinate, then each alone.
fn changes(figures: &[Coordinates]) -> BTreeSet<Change> {
    let mut changes: BTreeSet<Change> = figures.iter().cloned().map(Change::Alone).collect();
    for at in figures {
        let shared = |(key, value): (&String, &String)| Change::Shared {
            table: at["table"].clone(),
            key: key.clone(),
            value: value.clone(),
        };
        changes.extend(at.iter().map(shared));
    }
    changes
}

/// Where in the book all printed numbers and stated facts stand.
fn figures(dossier: &Dossier) -> Vec<Coordinates> {
    let mut figures = Vec::new();
    for device in &dossier.file.devices {
        for (fact, _) in device.facts.iter().filter(|(_, said)| said.number().is_some()) {
            let at = [("table", fact), ("device", &device.name)];
            figures.push(at.map(|(key, value)| (key.to_owned(), value.clone())).into());
        }
    }
    for cell in &dossier.cells {
        if matches!(cell.printed, Printed::Figure(number, _) if number.is_finite()) {
            figures.push(cell.at.clone());
        }
    }
    figures
}

/// Five for 4.27 was `rounded`, for it was rounded up, and 135 for 124 contradicted, though it says
/// less too much. A figure is now rounded to the nearest in its last digit that is no trailing
/// zero, and in no other way.
#[test]
fn a_figure_is_rounded_to_the_nearest_in_its_own_last_digit() {
    let dossier = Dossier::open(Study::Cmu2009);
    assert_eq!(verdict(&dossier, "seq-read-best"), Verdict::Rounded, "9.39 is 10 in tens");
    assert_eq!(verdict(&dossier, "seq-write-best"), Verdict::Contradicted, "4.27 is 4");
    assert_eq!(verdict(&dossier, "rand-write-best"), Verdict::Contradicted, "124 is not 135");
    let latency = Dossier::open(Study::Latency2016);
    let claim = latency.claims.iter().find(|claim| claim.file.id == "samsung-ratios");
    let seen = claim.expect("a claim").judge(&latency.printed, None).expect("a good expression");
    assert_eq!(seen.verdict, Verdict::Contradicted);
    assert!(seen.because.iter().any(|text| text.contains("cut off")), "{:?}", seen.because);
}

/// The bare drive's mixes are of forty threads, and those of managed flash were of one, which bore
/// the study out: 5,274 % for 5,000, where forty threads make 6,371 %.
#[test]
fn mixes_of_bare_and_managed_drives_are_of_as_many_threads() {
    let dossier = Dossier::open(Study::Easyco2007);
    assert_eq!(verdict(&dossier, "half-5000"), Verdict::Contradicted);
    assert_eq!(verdict(&dossier, "mft-50"), Verdict::Contradicted);
}

#[test]
fn a_wish_is_answered_by_models_open_where_a_command_asks_and_else_not_built() {
    let dossier = Dossier::open(Study::Latency2016);
    assert_eq!(verdict(&dossier, "fs-cost"), Verdict::Answered);
    assert_eq!(verdict(&dossier, "trim-used"), Verdict::Open, "no model was run");
    let dossier = Dossier::open(Study::Stfc2009);
    assert_eq!(verdict(&dossier, "larger-intel"), Verdict::NotBuilt);
}
