//! `drivelab matrix model:STACK`: real file systems on a modelled page-mapped drive, its power cut,
//! and what discards are worth to it.

use crate::common;

use common::{Bench, Call, serving::has, system};
use serde_json::Value;
use std::{fs, path::Path, time::Duration};

/// A drive with little flash, which is full soon.
const STACK: &str = "model:intel-x25m-80:capacity=1G";

/// A drive of one die, the size of what small computers have soldered in: what its cleaner copies
/// is felt at once, and far slower than the path to it even on a busy machine. Its numbers are made
/// up within what such drives have.
const ONE_DIE: &str = r#"
name = "one-die"
title = "One die"
kind = "page-mapped"
about = "For tests."
generic = true
port = "sata600"
capacity = { value = 512, unit = "MiB" }
[parameters]
over_provisioning = { value = 7, unit = "percent", from = "assumed", source = "a test" }
channels = { value = 1, unit = "count", from = "assumed", source = "a test" }
dies_per_channel = { value = 1, unit = "count", from = "assumed", source = "a test" }
planes_per_die = { value = 2, unit = "count", from = "assumed", source = "a test" }
nand_page = { value = 16, unit = "KiB", from = "assumed", source = "a test" }
pages_per_block = { value = 256, unit = "count", from = "assumed", source = "a test" }
read = { value = 60, unit = "us", from = "assumed", source = "a test" }
program = { value = 800, unit = "us", from = "assumed", source = "a test" }
erase = { value = 5, unit = "ms", from = "assumed", source = "a test" }
channel_rate = { value = 200, unit = "MB/s", from = "assumed", source = "a test" }
read_command = { value = 80, unit = "us", from = "assumed", source = "a test" }
write_command = { value = 80, unit = "us", from = "assumed", source = "a test" }
link_rate = { value = 200, unit = "MB/s", from = "assumed", source = "a test" }
command_queue = { value = 32, unit = "count", from = "assumed", source = "a test" }
write_buffer = { value = 1, unit = "MiB", from = "assumed", source = "a test" }
flush = { value = 1, unit = "ms", from = "assumed", source = "a test" }
write_through = { value = 0, unit = "us", from = "assumed", source = "a test" }
endurance = { value = 3000, unit = "count", from = "assumed", source = "a test" }
"#;

/// Half a second of one cell: what it measures is another test's.
const SHORT: &str = r#"
name = "short"
title = "a few durable writes"
about = "For tests."
layout = "list"
order = "fixed"
span = "4MiB"
fill = 0
grade = "quick"
ask_above = 1e9
[[cell]]
name = "durable"
op = "write"
pattern = "seq"
block = "4KiB"
engine = "sync"
io = "direct,sync"
bound = 20
before = ["new_file"]
"#;

/// Random overwrites of nearly half of the drive.
const OVERWRITE: &str = r#"
name = "overwrite"
title = "random overwrites"
about = "For tests."
layout = "list"
order = "fixed"
span = "1x capacity"
fill = 1
grade = "quick"
seconds_min = 5
seconds_max = 8
written_max = "8GiB"
ask_above = 1e9
[defaults]
op = "write"
pattern = "random"
block = "4KiB"
depth = 8
io = "direct"
[[cell]]
name = "overwrite"
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("short.toml", SHORT);
    bench.file("overwrite.toml", OVERWRITE);
    bench
}

/// With a ledger of the test's own: others run at the same time.
fn matrix(bench: &Bench, words: &[&str]) -> Call {
    matrix_of(bench, STACK, words)
}

fn matrix_of(bench: &Bench, stack: &str, words: &[&str]) -> Call {
    let (state, config) = (bench.path("state"), bench.path("config"));
    let call = bench.drivelab(["matrix", stack]).and(words);
    let call = call.variable("XDG_STATE_HOME", state.to_str().expect("plain"));
    call.variable("XDG_CONFIG_HOME", config.to_str().expect("plain"))
}

fn can_run() -> bool {
    let is_root = system("id", &["-u"]).is_some_and(|id| id.trim() == "0");
    let able = is_root
        && has(&["nbdfuse", "mkfs.ext4", "mkfs.xfs", "e2fsck", "xfs_repair"])
        && system("losetup", &["--find"]).is_some()
        && Path::new("/dev/fuse").exists();
    if !able {
        common::skip("root, a loop device, nbdfuse, /dev/fuse, e2fsprogs and xfsprogs");
    }
    able
}

/// What the record says of each configuration's power cut.
fn cuts(bench: &Bench, file: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(bench.path(file)).expect("records");
    let records: Value = serde_json::from_str(&text).expect("JSON");
    let targets = records[0]["targets"].as_array().expect("targets").iter();
    let said = |target: &Value| {
        let warnings = target["warnings"].as_array().expect("a list").iter();
        let texts = warnings.filter_map(|warning| warning["text"].as_str());
        let cut = texts.filter(|text| text.contains("power")).collect::<Vec<_>>().join("; ");
        (target["text"].as_str().expect("a name").to_owned(), cut)
    };
    targets.map(said).collect()
}

/// Without flushes what fsync answered for is in the drive's cache, and the check must notice: it
/// can fail.
#[test]
fn a_power_cut_finds_out_whose_flushes_never_came() {
    if !can_run() {
        return;
    }
    let bench = bench();
    let words = ["--fs", "raw,ext4,xfs", "--kernel-flush", "on,off", "--passes", "1"];
    let call = matrix(&bench, &words).and(["--method", "short.toml", "--seed", "1"]);
    let living = call.and(["--json", "matrix.json"]).start();
    let place = format!("drivelab-matrix-{}", living.id());
    let outcome = living.wait().succeeded();
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(!mounts.contains(&place), "{mounts}");
    assert!(!Path::new("/tmp").join(place).exists());
    let text = outcome.stdout;
    assert!(text.contains("Checked by a power cut"), "{text}");
    assert!(!text.contains("DISPROVED") && !text.contains("not checked"), "{text}");
    let cuts = cuts(&bench, "matrix.json");
    assert_eq!(cuts.len(), 6, "{cuts:?}");
    for (configuration, cut) in cuts {
        let all = cut.contains("after a power cut: 64 of 64 flushed");
        assert_eq!(all, configuration.contains("kernel-flush=on"), "{configuration}: {cut}");
        assert!(!cut.contains("nothing to lose"), "{configuration}: {cut}");
        let is_sound = cut.ends_with("files intact, sound");
        let has_journal =
            configuration.contains("kernel-flush=on") && !configuration.contains("raw");
        assert!(is_sound || !has_journal, "{configuration}: {cut}");
    }
}

#[test]
fn a_drive_without_a_write_cache_needs_no_flushes() {
    if !can_run() {
        return;
    }
    let bench = bench();
    let words = ["--fs", "ext4", "--kernel-flush", "off", "--write-cache", "off", "--passes", "1"];
    let call = matrix(&bench, &words).and(["--method", "short.toml", "--seed", "1"]);
    let text = call.and(["--json", "matrix.json"]).done().succeeded().stdout;
    assert!(text.contains("survives power loss  yes "), "{text}");
    let [(_, cut)] = &cuts(&bench, "matrix.json")[..] else { panic!("one configuration") };
    assert!(cut.contains("64 of 64 flushed files intact, sound; the caches held nothing"), "{cut}");
}

#[test]
fn the_cut_is_announced_and_can_be_left_out() {
    let bench = bench();
    let words = ["--fs", "ext4", "--method", "short.toml", "--dry-run"];
    let shown = matrix(&bench, &words).done().succeeded().stdout;
    assert!(shown.contains("kill -USR1 PID") && shown.contains("e2fsck -f -n"), "{shown}");
    let shown = matrix(&bench, &words).and(["--no-power-cut"]).done().succeeded().stdout;
    assert!(!shown.contains("kill -USR1"), "{shown}");
}

/// In real time; `crates/study/tests/discard.rs` has the same in virtual time.
#[test]
#[ignore = "ten minutes: a drive that is aged in real time"]
fn discards_are_worth_nothing_to_a_fresh_drive_and_much_to_a_full_one() {
    if !can_run() {
        return;
    }
    let bench = bench();
    let words = ["--fs", "ext4", "--discard", "on,off", "--fill", "0,90", "--passes", "3"];
    fs::create_dir_all(bench.path("config/drivelab/drives")).expect("a folder");
    bench.file("config/drivelab/drives/one-die.toml", ONE_DIE);
    let call = matrix_of(&bench, "model:one-die", &words);
    let call = call.and(["--method", "overwrite.toml", "--no-power-cut"]);
    let outcome =
        call.and(["--seed", "1"]).start().wait_within(Duration::from_secs(1200)).succeeded();
    let text = outcome.stdout;
    println!("{text}");
    let (_, table) = text.split_once("The same, by fill: ").expect("the table by fill");
    let row = |fill: &str| -> &str {
        let is_row = |line: &&str| line.starts_with(fill) && line.contains("discard");
        table.lines().find(is_row).expect("a row")
    };
    let interval = |fill: &str| -> [f64; 2] {
        let numbers = row(fill).split_whitespace().rev();
        let numbers: Vec<f64> = numbers.map_while(|word| word.parse().ok()).collect();
        [numbers[3], numbers[2]]
    };
    let ([low, high], [full, _]) = (interval("0 "), interval("90 "));
    assert!(low <= 1.0 && 1.0 <= high, "fresh: {low} to {high}");
    assert!(row("90 ").contains(" x lower") && full > 1.0, "full: from {full}");
}
