//! `drivelab import`: what other programs wrote, as runs.

use crate::common;

use common::{Bench, Call, assert_one_sentence};
use std::fs;

fn corpus(name: &str) -> String {
    format!("{}/../import/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn import(bench: &Bench, words: &[&str]) -> Call {
    bench.drivelab(["import"]).and(words)
}

#[test]
fn an_imported_run_is_shown_compared_reported_and_exported() {
    let bench = Bench::new();
    let fio = corpus("fio-3.33-json-plus-with-text.txt");
    let said = import(&bench, &[&fio, "--label", "peer"]).done().succeeded();
    assert!(said.stdout.contains("fio 3.33, imported, peer"), "{}", said.stdout);
    assert!(said.stdout.contains("random read 4 KiB, 4 deep"), "{}", said.stdout);
    let again = import(&bench, &[&fio]).done().succeeded();
    assert!(again.stderr.contains("in the history already"), "{}", again.stderr);
    let shown = bench.drivelab(["show", "peer"]).done().succeeded().stdout;
    assert!(shown.contains("37.7k IOPS"), "{shown}");
    // The same results in another file: another run, whose cells are those of the first.
    let mut bytes = fs::read(&fio).expect("it is there");
    bytes.push(b'\n');
    fs::write(bench.path("again.json"), bytes).expect("room");
    import(&bench, &["again.json", "--label", "again"]).done().succeeded();
    let others = [corpus("hdparm.txt"), corpus("iozone.xls"), corpus("ioping.json")];
    let words: Vec<&str> = others.iter().map(String::as_str).collect();
    let said = import(&bench, &words).done().succeeded();
    assert_eq!(said.stdout.lines().count(), 3, "{}", said.stdout);
    // `compare` told to measure both with `--method fio`, which nobody can.
    let apart = bench.drivelab(["compare", "peer", "last"]).done();
    assert_one_sentence(&apart.stderr, &["no cell in common", "must agree"]);
    for words in [
        &["history"][..],
        &["compare", "peer", "again"],
        &["report", "peer", "last", "last~1", "--html", "all.html"],
        &["export", "peer", "--as", "fio"],
        &["export", "last~2", "--as", "csv"],
        &["show", "last~1", "--explain"],
        &["show", "last", "--json"],
    ] {
        let outcome = bench.drivelab([words[0]]).and(&words[1..]).done();
        assert!(outcome.code == Some(0), "{words:?}: {}", outcome.stderr);
    }
}

/// Exported and taken in again, a run of fio's had another target, no engine and the time of the
/// import, and no cell in common with itself.
#[test]
fn an_imported_run_that_was_exported_is_taken_in_as_itself() {
    for name in ["fio-3.33-json-plus-with-text.txt", "fio-3.33.json"] {
        let bench = Bench::new();
        import(&bench, &[&corpus(name), "--label", "first"]).done().succeeded();
        let first = bench.record("first");
        bench.drivelab(["export", "first", "--as", "fio", "--to", "o.json"]).done().succeeded();
        import(&bench, &["o.json", "--label", "second"]).done().succeeded();
        let second = bench.record("second");
        assert_eq!(first["started"], second["started"], "{name}");
        assert_eq!(first["targets"][0]["text"], second["targets"][0]["text"], "{name}");
        let [before, after] =
            [&first, &second].map(|record| record["cells"].as_array().expect("cells"));
        assert_eq!(before.len(), after.len(), "{name}");
        for (before, after) in before.iter().zip(after) {
            for key in ["op", "pattern", "engine", "io", "block_bytes", "iops", "coordinates"] {
                assert_eq!(before[key], after[key], "{name}: {key}");
            }
            let tail = |cell: &serde_json::Value| cell["latency"]["percentiles"].clone();
            assert_eq!(tail(before), tail(after), "{name}");
        }
        bench.drivelab(["compare", "first", "second"]).done().succeeded();
    }
}

#[test]
fn a_dry_run_takes_nothing_in() {
    let bench = Bench::new();
    import(&bench, &[&corpus("dd-gnu.txt"), "--dry-run"]).done().succeeded();
    let history = bench.drivelab(["history"]).done();
    assert!(!history.stdout.contains("dd"), "{}", history.stdout);
}

/// Of several files the first was taken in before the second was found damaged: a script that was
/// run again had it twice.
#[test]
fn of_several_files_all_are_read_before_one_is_taken_in() {
    let bench = Bench::new();
    let whole = fs::read(corpus("fio-3.33.json")).expect("it is there");
    fs::write(bench.path("cut.json"), &whole[..whole.len() / 2]).expect("room");
    let outcome = import(&bench, &[&corpus("dd-gnu.txt"), "cut.json"]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["cut.json", "not whole"]);
    let history = bench.drivelab(["history"]).done();
    assert!(!history.stdout.contains("dd"), "{}", history.stdout);
}

#[test]
fn bad_input_gets_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("notes.txt", "nothing of the kind");
    bench.file("people.txt", "  read: IOPS=3068, BW=11.0MiB/s\nRun status group 0 (all jobs):\n");
    bench.file("drive.json", r#"{"vid": 5197, "sn": "S", "mn": "M", "fr": "F"}"#);
    for (word, cure) in [
        ("notes.txt", "drivelab import --help"),
        ("people.txt", "--output-format=json"),
        ("drive.json", "name it together"),
        ("absent.json", "check the spelling"),
        (".", "it is a directory"),
    ] {
        let outcome = import(&bench, &[word]).done();
        assert_eq!(outcome.code, Some(2), "{word}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
}
