//! `drivelab report`: the files it writes, and those it refuses to write.

mod common;

use common::{Bench, Call, assert_one_sentence, names_in};
use std::fs;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/example-run.json");

fn report(bench: &Bench, words: &[&str]) -> Call {
    bench.drivelab(["report"]).and(words)
}

#[test]
fn one_command_writes_every_format_and_may_write_them_again() {
    let bench = Bench::new();
    let words =
        [EXAMPLE, "--html", "r.html", "--xlsx", "r.xlsx", "--csv", "r.csv", "--svg", "pictures"];
    for _ in 0..2 {
        let said = report(&bench, &words).done().succeeded();
        assert_eq!(said.stdout, "");
        assert!(
            said.stderr.contains("wrote r.html") && said.stderr.contains("drawings to pictures")
        );
    }
    let page = fs::read_to_string(bench.path("r.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(fs::read(bench.path("r.xlsx")).expect("a workbook").starts_with(b"PK"));
    let drawings = names_in(&bench.path("pictures"));
    assert!(
        drawings.len() > 3 && drawings.iter().all(|name| name.ends_with(".svg")),
        "{drawings:?}"
    );
}

#[test]
fn a_dash_is_stdout_with_nothing_else_there() {
    let bench = Bench::new();
    let said = report(&bench, &[EXAMPLE, "--csv", "-"]).done().succeeded();
    assert!(said.stdout.starts_with("run,method,target,cell,"), "{}", said.stdout);
    assert!(said.stdout.lines().count() > 50);
    let page = report(&bench, &[EXAMPLE, "--html", "-"]).done().succeeded().stdout;
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn bad_input_gets_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("thesis.html", "years of work");
    for (words, cure) in [
        (&[EXAMPLE][..], "--html FILE"),
        (&[EXAMPLE, "--html", "absent/r.html"], "mkdir -p absent"),
        (&[EXAMPLE, "--svg", "absent/pictures"], "mkdir -p absent"),
        (&[EXAMPLE, "--html", "thesis.html"], "--force"),
        (&[EXAMPLE, "--html", "-", "--csv", "-"], "cannot share stdout"),
        (&[EXAMPLE, "--csv", "-", "--price", "last=129EUR"], "write one of"),
    ] {
        let outcome = report(&bench, words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    let price = format!("{EXAMPLE}=129");
    let outcome = report(&bench, &[EXAMPLE, "--csv", "-", "--price", &price]).done();
    assert!(outcome.stderr.contains("has no currency"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(bench.path("thesis.html")).expect("a file"), "years of work");
}

/// `/dev/full` answers every write with "No space left on device".
#[test]
fn a_full_disk_is_named() {
    let bench = Bench::new();
    let outcome = report(&bench, &[EXAMPLE, "--csv", "/dev/full", "--force"]).done();
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("/dev/full") && outcome.stderr.contains("No space left"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_browser_shows_every_value_and_asks_for_nothing() {
    let bench = Bench::new();
    report(&bench, &[EXAMPLE, "--html", "r.html"]).done().succeeded();
    common::browser::reads_file(&bench, "r.html");
}
