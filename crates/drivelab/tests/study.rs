//! Studies from the command line: listed, refused with a cure, run on a target.

mod common;

use common::{
    Bench, Call, assert_one_sentence,
    browser::{Browser, reads_file},
    names_in,
};
use std::fs;
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
        (&["study", "martin2008", "--html", "absent/m.html"], "mkdir -p absent"),
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
    // The run is kept like any other, and found where the text says: it named the user's own store.
    let (_, command) = text.split_once(": `drivelab ").expect("how to show it");
    let (command, _) = command.split_once('`').expect("the command's end");
    let shown = Call::new(command.split_whitespace(), place.path()).done().succeeded().stdout;
    assert!(shown.contains("model:intel-520-120"), "{shown}");
    let history =
        Call::new(["history", "--json", "--store", "h.db"], place.path()).done().succeeded().stdout;
    assert_eq!(history.lines().filter(|line| line.contains("latency2016")).count(), 2, "{history}");
}

#[test]
fn a_study_on_a_directory_puts_the_users_column_beside_the_published_drives() {
    let bench = Bench::new();
    let words =
        ["study", "easyco2007", "--on", "area", "--size", "16M", "--max-time", "4s", "--quiet"];
    // Two sizes and one thread, of the study's ten and three: time enough for each of six cells.
    let few = ["--set", "block=4K..8K", "--set", "threads=1"];
    let text = bench.drivelab(words).and(few).done().succeeded().stdout;
    assert!(text.contains("Yours: area by method bm-flash"), "{text}");
    for (row, printed) in [("read 4 KiB", ["10337", "9784"]), ("write 8 KiB", ["124", "125"])] {
        let line = text.lines().find_map(|line| line.strip_prefix(row));
        let fields: Vec<&str> =
            line.unwrap_or_else(|| panic!("{row}: {text}")).split_whitespace().collect();
        // The user's rate first, where there are enough of them half of its interval; then the study's drives.
        assert!(fields[0].parse::<f64>().is_ok_and(|rate| rate > 0.0), "{text}");
        assert!(fields.ends_with(&printed), "{text}");
    }
    assert!(names_in(&bench.path("area")).is_empty(), "the scratch file is gone");
}

#[test]
fn a_study_as_a_page_has_its_charts_tables_claims_and_method() {
    let bench = Bench::new();
    let words = ["study", "latency2016", "--quiet", "--html", "l.html", "--svg", "pictures"];
    bench.drivelab(words).done().succeeded();
    let page = fs::read_to_string(bench.path("l.html")).expect("a page");
    for part in
        ["modelled", "0.048", "10.5", "hdparm", "contradicted", "Not the mean, which is 40.7"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let drawings = names_in(&bench.path("pictures"));
    assert_eq!(drawings.len(), page.matches("<figure").count(), "{drawings:?}");
    let mut browser = need!(Browser::start(), "chromium");
    reads_file(&mut browser, &bench, "l.html");
}
