//! `drivelab trace` and `drivelab replay`: traces as files, on a terminal, on targets.

use crate::common;

use common::{Bench, MIB, assert_one_sentence};
use serde_json::Value;
use std::{fs, path::Path};

fn corpus(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/corpus");
    Path::new(path).join(name).to_str().expect("plain names").to_owned()
}

/// A millisecond apart: three reads, a write, a flush now and then.
fn iolog(count: u64) -> String {
    let line = |at: u64| {
        let (op, offset) = (if at % 4 == 3 { "write" } else { "read" }, at % 100 * 8192);
        let flush = if at % 50 == 49 { format!("{}000 d sync 0 0\n", at) } else { String::new() };
        format!("{at}000 d {op} {offset} 4096\n{flush}")
    };
    let lines: String = (0..count).map(line).collect();
    format!("fio version 3 iolog\n0 d add\n0 d open\n{lines}{count}000 d close\n")
}

#[test]
fn a_trace_is_told_on_one_screen_as_json_and_as_a_page() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog(1000));
    let words = ["trace", "a.iolog", "--html", "a.html"];
    let text = bench.drivelab_without_store(words).done().succeeded().stdout;
    assert!(text.lines().count() <= 23, "{text}");
    assert!(text.starts_with("a.iolog (fio iolog version 3)\n"), "{text}");
    assert!(text.contains("\nread        750  73.5 %"), "{text}");
    let page = fs::read_to_string(bench.path("a.html")).expect("a page");
    assert!(page.contains("What an LRU cache would miss"), "a chart of misses");
    let words = ["trace", "a.iolog", "--json", "-"];
    let json = bench.drivelab_without_store(words).done().succeeded().stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["operations"]["write"]["operations"], 250);
    assert_eq!(json["operations"]["flush"]["operations"], 20);
    assert_eq!(json["blocks"]["unique"], 100.0);
}

#[test]
fn one_of_several_volumes_is_chosen_by_its_name() {
    let bench = Bench::new();
    let trace = corpus("alibaba.csv");
    let outcome = bench.drivelab_without_store(["trace", &trace]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(
        &outcome.stderr,
        &["2 volumes, by accesses: 419 (2), 725 (1)", "--volume NAME"],
    );
    let words = ["trace", &trace, "--volume", "420"];
    let outcome = bench.drivelab_without_store(words).done();
    assert_one_sentence(&outcome.stderr, &["--volume 420", "419 (2)"]);
    for (volume, accesses) in [("419", 2), ("all", 3)] {
        let words = ["trace", &trace, "--volume", volume, "--json", "-"];
        let json = bench.drivelab_without_store(words).done().succeeded().stdout;
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let of = |op: &str| json["operations"][op]["operations"].as_u64().expect("a count");
        assert_eq!(of("read") + of("write"), accesses, "{volume}");
    }
}

/// blktrace writes a file a processor, and is told what their names begin with.
#[test]
fn blktraces_files_are_one_trace() {
    let bench = Bench::new();
    let words = ["trace", &corpus("cpu"), "--json", "-"];
    let json = bench.drivelab_without_store(words).done().succeeded().stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["operations"]["read"]["operations"], 2);
    assert_eq!(json["operations"]["write"]["operations"], 2);
}

/// What was wrong in one of blktrace's files was said of all of them, at a place in the first.
#[test]
fn what_is_wrong_in_one_of_several_files_is_said_of_that_file() {
    let bench = Bench::new();
    let part = |number: usize| fs::read(corpus(&format!("cpu.blktrace.{number}"))).expect("a part");
    let write = |number: usize, bytes: &[u8]| {
        fs::write(bench.path(&format!("sdb.blktrace.{number}")), bytes).expect("it is written");
    };
    let said = || {
        let outcome = bench.drivelab_without_store(["trace", "sdb"]).done();
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        outcome.stderr
    };
    (0..3).for_each(|number| write(number, &part(number)));
    bench.drivelab_without_store(["trace", "sdb"]).done().succeeded();
    let last = (0..3).rev().find(|number| !part(*number).is_empty()).expect("events");
    let whole = part(last);
    write(last, &whole[..whole.len() - 8]);
    assert_one_sentence(&said(), &[&format!("sdb.blktrace.{last}: byte 48: ")]);
    write(last, b"to do\n");
    assert_one_sentence(&said(), &[&format!("sdb.blktrace.{last}: it is no trace")]);
    // An event behind one that is an hour later, in that file.
    let mut twice = [&whole[..], &whole[..]].concat();
    let later = u64::from_le_bytes(twice[8..16].try_into().expect("8 bytes")) + 3_600_000_000_000;
    twice[8..16].copy_from_slice(&later.to_le_bytes());
    write(last, &twice);
    assert_one_sentence(&said(), &[&format!("sdb.blktrace.{last}: byte 48: "), "goes back by"]);
}

#[test]
fn bad_traces_get_one_sentence_with_place_and_cure() {
    let bench = Bench::new();
    bench.file("bad.iolog", iolog(10).replace("5000 d read", "5000 d reed"));
    bench.file("back.iolog", "fio version 3 iolog\n9000000 d read 0 512\n1 d read 0 512\n");
    bench.file("notes.txt", "to do\n");
    bench.file("good.iolog", iolog(10));
    let v8 = corpus("v8.blktrace");
    for (words, said) in [
        (&["trace", "bad.iolog"][..], &["bad.iolog: line 9: field `action` is `reed`"][..]),
        (&["trace", "back.iolog"], &["line 3: the time goes back by 9.00 s", "sort the trace"]),
        (&["trace", "notes.txt"], &["no trace of a known format", "fio iolog"]),
        (&["trace", "absent.iolog"], &["cannot open the trace absent.iolog", "check the spelling"]),
        (&["trace", "."], &["is a directory"]),
        (&["trace", &v8], &["version 8, and version 7 is read"]),
        (&["replay", "-", "memory:64M"], &["standard input can be read once"]),
        (&["replay", "good.iolog", "memory:64M", "--speed", "0"], &["or max"]),
        (&["replay", "bad.iolog", "memory:64M"], &["line 9"]),
        (&["replay", "good.iolog", "good.iolog"], &["--reads-only"]),
    ] {
        let call = match words[0] {
            "trace" => bench.drivelab_without_store(words),
            _ => bench.drivelab(words),
        };
        let outcome = call.done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, said);
    }
}

/// On a model a replay is exact: no operation is late, and the same seed gives the same record.
#[test]
fn a_replay_on_a_model_is_a_run_of_the_history() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog(2000));
    let words = ["replay", "a.iolog", "model:nvme-tlc", "--json", "-", "--quiet", "--label", "r"];
    let json = bench.drivelab(words).done().succeeded().stdout;
    let record: Value = serde_json::from_str(&json).expect("a record");
    let cells = record["cells"].as_array().expect("cells");
    let names: Vec<&str> = cells.iter().filter_map(|cell| cell["name"].as_str()).collect();
    assert_eq!(names, ["replay/read", "replay/write"]);
    for cell in cells {
        assert_eq!(cell["replay"]["lateness"]["max_ns"], 0, "{}", cell["name"]);
        assert_eq!(cell["replay"]["trace"], "a.iolog");
    }
    assert_eq!(cells[0]["total"]["operations"], 1500);
    assert_eq!(cells[1]["flush_latency"]["n"], 40);
    let shown = bench.drivelab(["show", "r"]).done().succeeded().stdout;
    assert!(shown.contains("late p99"), "{shown}");
    let id = record["id"].as_str().expect("an id");
    let outcome = bench.drivelab(["run", "--resume", id]).done();
    assert_eq!(outcome.code, Some(2));
    assert_one_sentence(&outcome.stderr, &["is complete"]);
}

/// The wall's clock: 400 operations a millisecond apart take 0.4 s, and no operation begins before
/// its time. How late they begin is this machine's affair.
#[test]
fn a_replay_on_a_scratch_file_keeps_its_times_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog(400));
    let words = ["replay", "a.iolog", ".", "--json", "-", "--quiet"];
    let json = bench.drivelab(words).done().succeeded().stdout;
    let record: Value = serde_json::from_str(&json).expect("a record");
    let reads = &record["cells"][0];
    let seconds = reads["total"]["seconds"].as_f64().expect("seconds");
    assert!((0.399..20.0).contains(&seconds), "{seconds} s");
    assert_eq!(reads["total"]["operations"], 300);
    assert_eq!(reads["replay"]["lateness"]["n"], 300);
    let left = common::names_in(&bench.path("."));
    assert!(left.iter().all(|name| !name.contains("scratch")), "{left:?}");
}

/// A file that exists is only ever read, and what a trace writes is asked about as in every run.
#[test]
fn a_replay_writes_to_no_file_that_exists() {
    let bench = Bench::new();
    bench.file("a.iolog", iolog(100));
    fs::write(bench.path("disk.img"), vec![7; (2 * MIB) as usize]).expect("an image");
    let words = ["replay", "a.iolog", "disk.img", "--reads-only", "--json", "-", "--quiet"];
    let json = bench.drivelab(words).done().succeeded().stdout;
    let record: Value = serde_json::from_str(&json).expect("a record");
    assert_eq!(record["cells"].as_array().map(Vec::len), Some(1));
    let whole = fs::read(bench.path("disk.img")).expect("it is there");
    assert!(whole.iter().all(|byte| *byte == 7), "it was not written");
    bench.file("writes.iolog", "fio version 3 iolog\n0 d write 0 4096\n");
    let words = ["replay", "writes.iolog", "disk.img", "--reads-only"];
    let outcome = bench.drivelab(words).done();
    assert_one_sentence(&outcome.stderr, &["nothing that may be replayed"]);
}
