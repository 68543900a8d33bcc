//! Studies from the command line: listed, refused with a cure, run on a target.

mod common;

use common::{Call, assert_one_sentence};
use tempfile::tempdir;

#[test]
fn the_list_says_what_each_study_asks() {
    let place = tempdir().expect("a place");
    let text = Call::new(["study"], place.path()).done().succeeded().stdout;
    for study in study::Study::ALL {
        assert!(text.contains(study.name()), "{text}");
    }
    assert!(text.matches('?').count() >= 5 && text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn what_cannot_be_run_is_refused_with_a_cure() {
    let place = tempdir().expect("a place");
    for (words, part) in [
        (&["study", "cmu2008"][..], "`cmu2009`"),
        (&["study", "cmu2009", "--table", "VIII"], "VII"),
        (&["study", "martin2008", "--on", "model:sata-tlc"], "trees of files"),
        (&["study", "--claims"], "NAME"),
        (&["study", "cmu2009", "--size", "1G"], "--on"),
    ] {
        let outcome = Call::new(words, place.path()).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, &[part]);
    }
}

#[test]
fn a_study_on_a_model_puts_the_users_column_beside_the_published_drives() {
    let place = tempdir().expect("a place");
    let words = [
        "study",
        "latency2016",
        "--on",
        "model:intel-520-120:write-cache=off",
        "--seed",
        "1",
        "--quiet",
        "--store",
        "h.db",
    ];
    let text = Call::new(words, place.path()).done().succeeded().stdout;
    for part in ["Yours: model:intel-520-120", "yours", "850 PRO", "0.048", "run "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The run is kept like any other.
    let history =
        Call::new(["history", "--json", "--store", "h.db"], place.path()).done().succeeded().stdout;
    assert_eq!(history.lines().filter(|line| line.contains("latency2016")).count(), 2, "{history}");
}
