//! Every claim of every study gets a verdict, and verdicts are computed: a changed figure changes one.

use study::{Dossier, Study, Verdict};

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
    assert_eq!(counts, [38, 46, 12, 21, 14]);
}

/// The counts were compared claim by claim with verdicts that were reached by hand from the printed tables.
#[test]
fn verdicts_from_printed_figures_alone_are_these() {
    let count = |study| {
        let dossier = Dossier::open(study);
        Verdict::ALL.map(|wanted| {
            let judged = dossier.claims.iter().map(|claim| claim.judge(&dossier.printed, None));
            judged.filter(|judged| judged.as_ref().is_ok_and(|seen| seen.verdict == wanted)).count()
        })
    };
    // Supported, rounded, contradicted, model only (no model was run), not checkable.
    assert_eq!(count(Study::Cmu2009), [13, 11, 12, 0, 2]);
    assert_eq!(count(Study::Latency2016), [5, 6, 1, 0, 0]);
    assert_eq!(count(Study::Stfc2009), [14, 2, 1, 0, 4]);
    assert_eq!(count(Study::Martin2008), [1, 2, 1, 0, 10]);
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
        (
            Study::Martin2008,
            "seeks-ext3-xfs",
            &[("table", "text"), ("fs", "ext3")],
            3000.0,
            Verdict::Contradicted,
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
