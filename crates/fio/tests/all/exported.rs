//! Methods as job files, and back.

use crate::common::{Around, usual};
use fio_job::{Surroundings, job_file, method};
use lab::method::{BUILT_IN, Method};
use std::{collections::BTreeSet, fs, process::Command};

fn built_in() -> Vec<(Method, fio_job::JobFile)> {
    let all = BUILT_IN.iter().map(|(name, text)| {
        let method = Method::parse(name, text, &[]).expect("it is built in");
        let exported = job_file(&method, 20.0);
        (method, exported)
    });
    all.collect()
}

/// What is exported is read again, with as many cells and the same operations, blocks, depths.
#[test]
fn a_method_s_job_file_is_the_same_method_again() {
    let mut cells = 0;
    for (first, exported) in built_in() {
        let around: Around = usual();
        assert!(around.variable("SIZE").is_some());
        let left_out: BTreeSet<&str> = exported
            .left_out
            .iter()
            .filter_map(|line| line.split_once(": "))
            .map(|l| l.0)
            .collect();
        let kept: Vec<_> =
            first.cells.iter().filter(|cell| !left_out.contains(cell.name.as_str())).collect();
        if kept.is_empty() {
            continue;
        }
        let toml = method("again.fio", &exported.text, &around)
            .unwrap_or_else(|error| panic!("{error}\n{}", exported.text));
        let again = Method::parse("again.fio", &toml, &[]).expect("a method");
        assert_eq!(again.cells.len(), kept.len(), "{}", first.file.name);
        for (a, b) in kept.iter().zip(&again.cells) {
            for (a, b) in a.streams.iter().zip(&b.streams) {
                assert_eq!((a.block_bytes, a.threads), (b.block_bytes, b.threads));
                assert_eq!((a.queue_depth, a.io), (b.queue_depth, b.io), "{}", first.file.name);
                assert_eq!(a.op.writes(), b.op.writes());
            }
            cells += 1;
        }
    }
    assert!(cells > 100, "{cells}");
}

/// An independent reader: fio itself.
#[test]
fn fio_reads_what_is_exported() {
    let here = Command::new("fio").arg("--version").output();
    if !here.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: fio is not installed");
        return;
    }
    for (method, exported) in built_in() {
        if !exported.text.contains("\nrw=") {
            continue;
        }
        let name = format!("drivelab-exported-{}-{}.fio", method.file.name, std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, &exported.text).expect("room for a file");
        let output = Command::new("fio").arg("--parse-only").arg(&path).env("SIZE", "1g").output();
        let _ = fs::remove_file(&path);
        let output = output.expect("fio starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}\n{}", method.file.name, exported.text);
    }
}

/// A cell named `global` became fio's section of defaults, so that the job file had no job; so did
/// one whose name had a control character behind it, which the fuzzer found.
#[test]
fn a_cell_is_a_job_whatever_its_name() {
    let head = "name = \"a\"\ntitle = \"a\"\nabout = \"a\"\nspan = \"1GiB\"\n";
    let cell = |name: &str| {
        format!(
            "[[cell]]\nname = {name:?}\nop = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n"
        )
    };
    let text = head.to_owned() + &cell("global") + &cell("Global\u{1}") + &cell("globally");
    let parsed = Method::parse("a", &text.replace("\\u{1}", "\\u0001"), &[]).expect("a method");
    let exported = job_file(&parsed, 10.0);
    let jobs = exported.text.lines().filter(|line| line.starts_with("[job-")).count();
    assert_eq!((jobs, exported.left_out.len()), (3, 0), "{}", exported.text);
}
