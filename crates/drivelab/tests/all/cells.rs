//! What cells of a method can say, on every kind of target: the run that a user sees.

use crate::common;

use common::{Bench, LoopDevice, MIB, ROOT};
use serde_json::Value;

/// Reads of two sizes, a writer that starts later and thinks, trims and zeroes of the area once.
const CELLS: &str = r#"
name = "cells"
title = "What cells can say"
about = "For tests."
order = "fixed"
span = "16MiB"
fill = 1
passes = 1
seconds_min = 0.6
seconds_max = 0.6
ask_above = 1e9
[defaults]
pattern = "random"
block = "4KiB"
[[cell]]
name = "both"
[[cell.stream]]
name = "mix"
op = "read"
block = "4K:60,64K:40"
[[cell.stream]]
name = "later"
op = "write"
start_after = 0.3
think_time_us = 2000
[[cell]]
name = "trims"
op = "trim"
pattern = "seq"
block = "64KiB"
bound = "once"
[[cell]]
name = "zeroes"
op = "write_zeroes"
pattern = "seq"
block = "64KiB"
bound = "once"
"#;

fn cell<'a>(record: &'a Value, name: &str) -> &'a Value {
    let cells = record["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["name"] == name).unwrap_or_else(|| panic!("no cell {name}"))
}

fn run(bench: &Bench, words: &[&str]) -> Value {
    let method = bench.file("cells.toml", CELLS);
    let call = bench.drivelab(["run"]).and(words).and(["--method"]).and([method]);
    call.done().succeeded();
    let shown = bench.drivelab(["show", "last"]).done().succeeded().stdout;
    assert!(shown.contains("random read 4K:60,64K:40"), "{shown}");
    bench.record("last")
}

/// Streams of a cell have results of their own, whatever they run on.
fn check_streams(record: &Value) {
    let (mix, later) = (cell(record, "both/mix"), cell(record, "both/later"));
    let (bytes, count) = (&mix["total"]["bytes"], &mix["total"]["operations"]);
    let mean = bytes.as_f64().expect("bytes") / count.as_f64().expect("operations");
    assert!((mean / 28_672.0 - 1.0).abs() < 0.15, "{mean}");
    // A pause of 2 ms after each leaves 500 a second at most.
    let iops = later["iops"].as_f64().expect("a rate");
    assert!(iops > 10.0 && iops <= 501.0, "{iops}");
    let [seconds, shorter] = [mix, later].map(|cell| cell["total"]["seconds"].as_f64().expect("s"));
    assert!((seconds - shorter - 0.3).abs() < 1e-3, "{seconds} {shorter}");
}

fn count(record: &Value, name: &str) -> u64 {
    cell(record, name)["total"]["operations"].as_u64().expect("a number")
}

#[test]
fn cells_on_models_managed_volumes_and_memory_trim_and_say_why_they_do_not_zero() {
    let bench = Bench::new();
    let words = ["flash", "create", "volume.img", "--drive-size", "256M"];
    bench.drivelab_without_store(words).done().succeeded();
    for target in ["model:mtron-pro-32", "memory:64MiB", "flash:volume.img"] {
        let record = run(&bench, &[target]);
        check_streams(&record);
        assert_eq!(count(&record, "trims"), 256, "{target}");
        let left = &record["left_out"][0];
        let reason = left["reason"].as_str().unwrap_or_default();
        assert_eq!(left["name"], "zeroes", "{target}");
        assert!(reason.contains("use op = `trim`"), "{target}: {reason}");
    }
}

/// 16 MiB that were written, then trimmed: the file gives its room back, and zeroing takes it
/// again.
#[test]
fn cells_on_a_directory_punch_holes_and_zero_ranges() {
    let bench = Bench::new();
    let record = run(&bench, &["area"]);
    check_streams(&record);
    let left: Vec<_> = record["left_out"].as_array().expect("a list").iter().collect();
    if !left.is_empty() {
        eprintln!("skipped: the file system of the tests punches no holes, or zeroes no ranges");
        return;
    }
    assert_eq!((count(&record, "trims"), count(&record, "zeroes")), (256, 256));
    assert_eq!(cell(&record, "trims")["engine"], "sync");
    assert_eq!(bench.left_behind(), Vec::<String>::new());
}

#[test]
fn a_device_is_trimmed_and_zeroed_only_with_consent() {
    let device = need!(LoopDevice::of_zeros(64 * MIB), ROOT);
    let bench = Bench::new();
    let method = bench.file("cells.toml", CELLS);
    let refused = bench.drivelab(["run", device.text(), "--method"]).and([&method]).done();
    refused.refused(&["--destroy"]);
    let reads = bench.drivelab(["run", device.text(), "--reads-only", "--method"]).and([&method]);
    reads.done().refused(&["--reads-only"]);
    let record = run(&bench, &[device.text(), "--destroy", device.name()]);
    check_streams(&record);
    assert_eq!((count(&record, "trims"), count(&record, "zeroes")), (256, 256));
    let bytes = std::fs::read(&device.path).expect("the device");
    assert!(bytes[..16 << 20].iter().all(|&byte| byte == 0), "what was zeroed reads as zeroes");
}
