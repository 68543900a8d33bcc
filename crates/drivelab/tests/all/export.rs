//! `drivelab export`: read by programs that are not ours.

use crate::common;

use common::{Bench, Call, assert_one_sentence, names_in};
use std::{
    fs,
    process::{Command, Stdio},
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/example-run.json");

fn export(bench: &Bench, words: &[&str]) -> Call {
    bench.drivelab(["export"]).and(words)
}

#[test]
fn every_format_goes_to_stdout_and_to_a_file_that_may_be_written_again() {
    let bench = Bench::new();
    for kind in ["csv", "openmetrics", "markdown", "fio", "json"] {
        let shown = export(&bench, &[EXAMPLE, "--as", kind]).done().succeeded().stdout;
        for _ in 0..2 {
            let words = [EXAMPLE, "--as", kind, "--to", "out"];
            let said = export(&bench, &words).done().succeeded();
            assert_eq!(said.stdout, "", "{kind}");
        }
        assert_eq!(fs::read_to_string(bench.path("out")).expect("it was written"), shown, "{kind}");
        fs::remove_file(bench.path("out")).expect("it is there");
    }
}

#[test]
fn fio_files_stand_in_a_directory_one_a_cell() {
    let bench = Bench::new();
    let words = [EXAMPLE, "--as", "fio", "--to", "results/"];
    let said = export(&bench, &words).done().succeeded();
    let names = names_in(&bench.path("results"));
    assert!(names.len() > 3 && names.iter().all(|name| name.ends_with(".json")), "{names:?}");
    let whole = export(&bench, &[EXAMPLE, "--as", "fio"]).done().succeeded();
    let jobs = whole.stdout.matches("\"jobname\"").count();
    assert_eq!(jobs, names.len(), "{}", said.stderr);
}

#[test]
fn bad_input_gets_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("thesis.md", "years of work");
    for (words, cure) in [
        (&[EXAMPLE, "--as", "xml"][..], "csv, parquet, openmetrics, markdown, fio, json"),
        (&[EXAMPLE, "--as", "csv", "--to", "absent/run.csv"], "mkdir -p absent"),
        (&[EXAMPLE, "--as", "markdown", "--to", "thesis.md"], "--force"),
        (&[EXAMPLE, EXAMPLE, "--as", "fio"], "--to results/"),
        (&["nobody", "--as", "csv"], "there is no history"),
    ] {
        let outcome = export(&bench, words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    assert_eq!(fs::read_to_string(bench.path("thesis.md")).expect("kept"), "years of work");
}

/// Two independent readers: they find the same rows as in CSV, and columns of the right types.
#[cfg(feature = "parquet")]
#[test]
fn pyarrow_and_duckdb_read_the_exported_parquet() {
    const READ: &str = include_str!("read_parquet.py");
    let bench = Bench::new();
    let has_readers = |python: &&str| {
        let mut readers = Command::new(python);
        let readers = readers.args(["-c", "import pyarrow.parquet, duckdb"]);
        readers.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    // Beside what a virtual environment in PATH holds.
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/python3");
    let found = ["python3", ours].into_iter().find(has_readers);
    let python = need!(found, "pyarrow and duckdb (pip install pyarrow duckdb)");
    for kind in ["csv", "parquet"] {
        let to = format!("run.{kind}");
        // Twice: the second time over our own.
        for _ in 0..2 {
            export(&bench, &[EXAMPLE, "--as", kind, "--to", &to]).done().succeeded();
        }
    }
    let mut read = Command::new(python);
    let read = read.args(["-c", READ]).current_dir(bench.path("")).output().expect("it runs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_names_what_it_lacks() {
    let bench = Bench::new();
    let outcome = export(&bench, &[EXAMPLE, "--as", "parquet", "--to", "run.parquet"]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["--features parquet", "--as csv"]);
    assert!(!bench.path("run.parquet").exists());
}

/// An independent reader: the parser of the Prometheus client for Python, which is strict.
#[test]
fn prometheus_reads_the_exported_metrics() {
    const READ: &str = "import sys; from prometheus_client.openmetrics.parser import \
         text_string_to_metric_families as om; \
         from prometheus_client.parser import text_string_to_metric_families as text; \
         t = sys.stdin.read(); \
         print(len(list(om(t))), len(list(text(t))), \
         sum(len(f.samples) for f in om(t)))";
    let bench = Bench::new();
    let has_parser = |python: &&str| {
        let mut parser = Command::new(python);
        let parser = parser.args(["-c", "import prometheus_client.openmetrics.parser"]);
        parser.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has_parser);
    let python = need!(found, "python3-prometheus-client");
    let to = ["--as", "openmetrics", "--to", "run.prom"];
    export(&bench, &[EXAMPLE]).and(to).done().succeeded();
    let text = fs::File::open(bench.path("run.prom")).expect("it was written");
    let read = Command::new(python).args(["-c", READ]).stdin(text).output().expect("it runs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let counts: Vec<usize> = String::from_utf8_lossy(&read.stdout)
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    let text = fs::read_to_string(bench.path("run.prom")).expect("it was written");
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(counts[2], samples);
    assert!(counts[0] >= 5 && counts[0] == counts[1], "{counts:?}");
}
