//! `drivelab power-cut --record-writes` and `--replay`: what a database's file system sent, cut at
//! many places of it.

use crate::common;

use common::{
    Bench, Mounted, Outcome, assert_one_sentence,
    serving::{Serving, qemu_io},
};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

const STACK: &str = "sata-tlc:capacity=6G";
const LOG: &str = "sqlite.log";

fn power_cut(bench: &Bench, stack: &str, words: &[&str]) -> Outcome {
    // A replay is no run, and takes no history.
    let call = match words.iter().any(|word| ["--replay", "--cut"].contains(word)) {
        true => bench.drivelab_without_store(["power-cut", stack]),
        false => bench.drivelab(["power-cut", stack]),
    };
    let call = call.and(words);
    call.variable("TMPDIR", bench.path("area").to_str().expect("text")).done()
}

fn record(bench: &Bench, words: &[&str]) -> String {
    record_within(bench, "15ms", words)
}

fn record_within(bench: &Bench, within: &str, words: &[&str]) -> String {
    let log = bench.path(LOG).to_str().expect("text").to_owned();
    let words = [&["--size", "64M", "--within", within, "--record-writes", &log], words].concat();
    let done = power_cut(bench, STACK, &words);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let last = done.stdout.lines().last().expect("a line");
    assert!(last.starts_with(&log) && last.contains(" flushes, "), "{last}");
    log
}

fn replayed(bench: &Bench, stack: &str, words: &[&str]) -> (Option<i32>, Value) {
    let done = power_cut(bench, stack, &[words, &["--json", "-"]].concat());
    let found = serde_json::from_str(&done.stdout);
    (done.code, found.unwrap_or_else(|error| panic!("{error}: {}{}", done.stdout, done.stderr)))
}

/// A round finds one of millions of moments, and the same one never again. A log has them all.
#[test]
fn every_flush_of_a_database_is_a_place_to_cut_and_a_drive_that_lies_is_found_there() {
    need_power_cuts!();
    let bench = Bench::new();
    let log = record(&bench, &[]);
    let (code, sound) = replayed(&bench, STACK, &["--replay", &log, "--cuts", "5"]);
    assert_eq!((code, &sound["cuts_broken"]), (Some(0), &0.into()), "{sound:#}");
    let cuts = sound["cuts"].as_u64().expect("a number");
    let idle = sound["cuts_idle"].as_u64().expect("a number");
    assert!(5 < cuts && cuts <= 5 + sound["flushes_recorded"].as_u64().expect("a number"));
    assert!(idle >= cuts - 5, "behind a flush nothing is at risk: {sound:#}");
    assert!(sound["promises"]["made"].as_u64() >= Some(cuts), "{sound:#}");
    // On a managed volume, and again.
    let flash = format!("{STACK}/flash");
    let words = ["--replay", &log, "--cuts", "3"];
    let (code, found) = replayed(&bench, &flash, &words);
    assert_eq!((code, &found["cuts_broken"]), (Some(0), &0.into()), "{found:#}");
    // A drive that lies, and the same cut of it again.
    let lying = ["--replay", &log, "--cuts", "0", "--flushes", "ignored"];
    let (code, found) = replayed(&bench, STACK, &lying);
    assert_eq!((code, &found["flushes"]), (Some(1), &"ignored".into()), "{found:#}");
    let first = &found["broken"][0];
    let place = first["cut"].as_str().expect("a place");
    let one = ["--replay", &log, "--flushes", "ignored", "--cut", place];
    let (code, again) = replayed(&bench, STACK, &one);
    assert_eq!((code, &again["broken"][0], &again["cuts"]), (Some(1), first, &1.into()));
    let said = power_cut(&bench, STACK, &one).stdout;
    assert!(said.contains("that ignores flushes (planted)"), "{said}");
    let (_, again) = said.split_once("to cut at the first of them again:\n  ").expect("a cure");
    assert!(again.ends_with(&format!(" --flushes ignored --cut {place}\n")), "{again}");
    assert!(said.lines().take(4).all(|line| line.len() <= 110), "{said}");
    assert!(!bench.path("area").join("memory").exists());
}

/// 378 cuts took a minute: three processes a cut, and six lines of the ledger made durable. Now
/// device and checker stay, several processes cut side by side, and what was just judged is not
/// judged again. What they find is the same.
#[test]
fn one_process_and_several_find_the_same_and_need_nobody_who_serves() {
    need_power_cuts!();
    let bench = Bench::new();
    let log = record(&bench, &[]);
    // No nbdfuse is there: nothing is served.
    let folder = bench.path("programs");
    fs::create_dir(&folder).expect("room");
    for name in ["mount", "umount", "losetup"] {
        std::os::unix::fs::symlink(format!("/usr/bin/{name}"), folder.join(name)).expect("room");
    }
    let found = |words: &[&str]| {
        let words = [&["power-cut", STACK, "--replay", &log, "--json", "-"], words].concat();
        let call = bench.drivelab_without_store(words);
        let call = call.variable("PATH", folder.to_str().expect("text"));
        let done = call.variable("TMPDIR", bench.path("area").to_str().expect("text")).done();
        let mut found: Value = serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", done.stdout, done.stderr));
        for cut in found["broken"].as_array_mut().expect("a list") {
            // Each process remembers what it judged itself.
            cut["seen"].take();
        }
        (done.code, found)
    };
    for fault in ["honoured", "early"] {
        let words = ["--cuts", "40", "--flushes", fault, "--workers"];
        let (code, alone) = found(&[&words[..], &["1"]].concat());
        let (code_of_three, three) = found(&[&words[..], &["3"]].concat());
        assert_eq!(code, Some(i32::from(fault != "honoured")), "{alone:#}");
        assert_eq!(code_of_three, code, "{fault}: {three:#}");
        for name in ["cuts", "cuts_broken", "cuts_idle", "promises", "broken"] {
            assert_eq!(alone[name], three[name], "{fault}: {name}");
        }
    }
    assert_nothing_left(&bench);
}

/// Draws in one operation leave few different states. Each state was looked at as often as it was
/// drawn.
#[test]
fn what_was_judged_just_before_keeps_its_verdict_and_is_counted() {
    need_power_cuts!();
    let bench = Bench::new();
    let log = record(&bench, &[]);
    let (code, found) = replayed(&bench, STACK, &["--replay", &log, "--cuts", "300"]);
    assert_eq!(code, Some(0), "{found:#}");
    let number = |name: &str| found[name].as_u64().expect("a number");
    assert!(0 < number("cuts_seen") && number("cuts_seen") < number("cuts"), "{found:#}");
}

/// CI waited for a minute for two mounts beside the only worker that was left: on a busy machine a
/// log of 15 ms had one promise, and nearly all cuts fell into one share. And a worker that was
/// asked to end before it had a handler died of SIGINT, and the exit code was 2.
#[test]
fn a_signal_ends_all_workers_and_everything_is_put_back() {
    need_power_cuts!();
    let bench = Bench::new();
    let log = record_within(&bench, "200ms", &[]);
    let area = bench.path("area");
    let words = ["power-cut", STACK, "--replay", &log, "--cuts", "100000", "--workers", "3"];
    for signal in ["INT", "KILL"] {
        let call = bench.drivelab_without_store(words);
        let living = call.variable("TMPDIR", area.to_str().expect("text")).start();
        let deadline = Instant::now() + Duration::from_secs(60);
        while mounts_below(&area).iter().filter(|at| at.ends_with("/mount")).count() < 2 {
            assert!(Instant::now() < deadline, "{:?}", mounts_below(&area));
            thread::sleep(Duration::from_millis(1));
        }
        living.signal(signal);
        let done = living.wait();
        if signal == "INT" {
            assert_eq!(done.code, Some(130), "{}", done.stderr);
            assert!(done.stderr.contains("everything is put back"), "{}", done.stderr);
        } else {
            // Who is killed tells nobody; the workers end when they find themselves alone.
            let deadline = Instant::now() + Duration::from_secs(60);
            while !mounts_below(&area).is_empty() || !bench.left_behind().is_empty() {
                assert!(Instant::now() < deadline, "{:?}", mounts_below(&area));
                thread::sleep(Duration::from_millis(20));
            }
        }
        assert_nothing_left(&bench);
    }
}

fn mounts_below(area: &Path) -> Vec<String> {
    let area = area.canonicalize().expect("it is there");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("it is there");
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let below = places.filter(|at| Path::new(at).starts_with(&area));
    below.map(str::to_owned).collect()
}

fn assert_nothing_left(bench: &Bench) {
    assert_eq!(mounts_below(&bench.path("area")), [""; 0]);
    assert_eq!(bench.left_behind(), [""; 0]);
}

/// `barrier=0`, an unsafe cache of a virtual machine: the drive is honest, and is never asked.
#[test]
fn a_kernel_that_does_not_flush_is_found_in_its_log() {
    need_power_cuts!();
    let bench = Bench::new();
    let log = record_unflushed(&bench);
    let (code, found) = replayed(&bench, STACK, &["--replay", &log, "--cuts", "12"]);
    assert_eq!(code, Some(1), "{found:#}");
    assert_eq!(found["configuration"], "fs=ext4,kernel-flush=off", "{found:#}");
}

/// Its own round may break a promise, too.
fn record_unflushed(bench: &Bench) -> String {
    let log = bench.path(LOG).to_str().expect("text").to_owned();
    let words = ["--size", "64M", "--within", "60ms", "--kernel-flush", "off"];
    let words = [&words[..], &["--record-writes", &log]].concat();
    let done = power_cut(bench, STACK, &words);
    assert!(matches!(done.code, Some(0 | 1)), "{}{}", done.stdout, done.stderr);
    log
}

#[test]
fn a_log_that_cannot_be_made_or_replayed_is_refused_in_a_sentence() {
    need_power_cuts!();
    let bench = Bench::new();
    let path = bench.path(LOG);
    let log = path.to_str().expect("text");
    let refused = |words: &[&str], said: &[&str]| {
        let done = power_cut(&bench, STACK, words);
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.stdout);
        assert_one_sentence(&done.stderr, said);
    };
    refused(&["--replay", log], &[log, "no such file", "check the spelling"]);
    refused(&["--replay", "."], &["it is a directory", "name a file in it"]);
    fs::write(&path, "#!/bin/sh\nwhile :; do echo nothing; done\n").expect("room");
    refused(&["--replay", log], &[log, "no log of writes", "--record-writes"]);
    refused(&["--record-writes", log], &[log, "there already"]);
    refused(&["--replay", log, "--fs", "xfs"], &["--fs", "--replay"]);
    refused(&["--cut", "1:0"], &["--replay"]);
    refused(&["--replay", log, "--workers", "0"], &["--workers"]);
    // Ignored without a word beside an option of rounds, whose conflict with --replay had clap not
    // ask for that.
    for words in [["--workers", "2"], ["--cut", "1:0"], ["--cuts", "7"]] {
        refused(&[&["--rounds", "1"], &words[..]].concat(), &[words[0], "--replay"]);
    }
    refused(&["--replay", log, "--workers", "2", "--cut", "1:0"], &["--workers", "--cut"]);
    refused(&["--replay", log, "--cut", "first"], &["--cut", "1204:0"]);
    refused(&["--replay", log, "--cuts", "some"], &["--cuts", "`all`"]);
}

/// The file was emptied, and nobody heard of it before the replay, hours later.
#[test]
fn a_log_for_which_the_disk_has_no_room_is_given_up_aloud_and_serving_goes_on() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    let options = ["-t", "tmpfs", "-o", "size=1M"];
    let small = need!(Mounted::new(Path::new("tmpfs"), &options), "root, to mount a tmpfs");
    let log = small.path().join(LOG);
    let words = ["model:sata-tlc:capacity=6G", "--power-cut", "1", "--record-writes"];
    let server = Serving::start(&bench, &[&words[..], &[log.to_str().expect("text")]].concat());
    qemu_io(
        &server.uri,
        &["write -P 7 0 768k", "flush", "write -P 8 1M 768k", "read -P 8 1M 768k"],
    );
    let said = server.stop().stderr;
    let line = said.lines().find(|line| line.contains("given up and empty")).expect(&said);
    assert!(line.contains("No space left on device") && line.contains("start anew"), "{said}");
    assert_eq!(said.matches("given up and empty").count(), 1, "{said}");
    assert_eq!(fs::metadata(&log).expect("it is there").len(), 0);
}
