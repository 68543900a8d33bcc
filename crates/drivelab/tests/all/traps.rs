//! The traps of measuring on real files and devices: the flag appears with the trap and not without
//! it.

use crate::common;

use common::{Bench, LoopDevice, MIB, ROOT, cell, fill, flags};
use serde_json::Value;
use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Flags of the cell `reads` after a small run with these words.
fn flags_of_reads(bench: &Bench, words: &[&str]) -> Vec<String> {
    let record = bench.small_run(words).and(["--json", "-"]).done().succeeded().json();
    flags(cell(&record, "reads")).iter().map(|&flag| flag.to_owned()).collect()
}

fn has(flags: &[String], flag: &str) -> bool {
    flags.iter().any(|one| one == flag)
}

/// The sentences about a flag, wherever they stand.
fn told(record: &Value, flag: &str) -> String {
    let of = |holder: &Value| holder["warnings"].as_array().cloned().unwrap_or_default();
    let holders = ["targets", "cells"].into_iter().flat_map(|key| record[key].as_array().cloned());
    let warnings = holders.flatten().flat_map(|holder| of(&holder));
    let of_flag = warnings.filter(|warning| warning["flag"] == flag);
    of_flag.map(|warning| warning["text"].to_string()).collect()
}

#[test]
fn a_target_in_memory_is_flagged_and_told_to_measure_memory() {
    let shm = Path::new("/dev/shm");
    need!(shm.is_dir().then_some(()), "/dev/shm");
    let bench = Bench::below(shm);
    let outcome = bench.small_run(["area", "--io", "buffered"]).done().succeeded();
    let record = bench.record("last");
    assert!(flags(&record["targets"][0]).contains(&"memory_backed"), "{}", record["targets"]);
    let sentence = told(&record, "memory_backed");
    assert!(sentence.contains("measures memory"), "{sentence}");
    assert!(outcome.stdout.contains("memory_backed"), "{}", outcome.stdout);
    let page = bench.drivelab(["show", "last", "--explain"]).done().succeeded().stdout;
    let text = page.replace("\n   ", " ");
    assert!(text.contains("memory_backed") && text.contains("measures memory"), "{text}");
}

#[test]
fn a_small_file_read_again_through_the_page_cache_is_flagged_and_not_with_direct_io() {
    let bench = Bench::new();
    let buffered = flags_of_reads(&bench, &["area", "--io", "buffered"]);
    assert!(has(&buffered, "fits_in_memory"), "{buffered:?}");
    assert!(has(&buffered, "cache_served"), "{buffered:?}");
    let direct = flags_of_reads(&bench, &["area", "--io", "direct"]);
    assert!(!has(&direct, "fits_in_memory"), "{direct:?}");
    assert!(!has(&direct, "cache_served"), "{direct:?}");
}

#[test]
fn data_that_compresses_is_flagged_on_what_is_written_only() {
    let bench = Bench::new();
    for (data, expected) in [("zeros", true), ("compressible:50", true), ("random", false)] {
        bench.small_run(["area", "--data", data]).done().succeeded();
        let record = bench.record("last");
        let flagged = flags(cell(&record, "writes")).contains(&"compressible_data");
        assert_eq!(flagged, expected, "{data}");
        assert!(!flags(cell(&record, "reads")).contains(&"compressible_data"), "{data}");
    }
}

#[test]
fn a_loop_device_is_flagged_and_so_is_a_file_system_on_it() {
    let device = need!(LoopDevice::of_zeros(64 * MIB), ROOT);
    let bench = Bench::new();
    let on_device = flags_of_reads(&bench, &[device.text(), "--destroy", device.name()]);
    assert!(has(&on_device, "loop_device"), "{on_device:?}");
    need!(common::system("wipefs", &["-q", "-a", device.text()]), "wipefs");
    let mounted = need!(device.mounted("mkfs.ext4", &[]), "ext4");
    let on_files = flags_of_reads(&bench, &[mounted.text()]);
    assert!(has(&on_files, "loop_device"), "{on_files:?}");
    let record = bench.record("last");
    assert_eq!(record["targets"][0]["file_system"]["kind"], "ext4");
    let elsewhere = flags_of_reads(&bench, &["area"]);
    assert!(!has(&elsewhere, "loop_device"), "{elsewhere:?}");
}

/// Blocks that were never written are answered from the map, here from a hole.
#[test]
fn a_device_that_was_never_written_is_flagged_and_a_written_one_is_not() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    let bench = Bench::new();
    let fresh = flags_of_reads(&bench, &[device.text(), "--reads-only"]);
    assert!(has(&fresh, "deallocated_blocks"), "{fresh:?}");
    let sentence = told(&bench.record("last"), "deallocated_blocks");
    // All of 1,000, or of as many as a busy machine had time for: fewer than 20 say nothing.
    let words: Vec<&str> = sentence.trim_start_matches('"').splitn(5, ' ').collect();
    let [zeros, "of", sampled, "blocks", _] = words[..] else { panic!("{sentence}") };
    assert_eq!(zeros, sampled, "{sentence}");
    assert!(sampled.parse().is_ok_and(|count| (20..=1000).contains(&count)), "{sentence}");
    // Blocks beyond the tested area were sampled, too, and a run that had written all it read was
    // flagged.
    let filled = flags_of_reads(&bench, &[device.text(), "--destroy", device.name()]);
    assert!(!has(&filled, "deallocated_blocks"), "{filled:?}");
    let source = bench.path("source");
    fill(&source, 32 * MIB);
    let mut open = OpenOptions::new().write(true).open(&device.path).expect("the device");
    open.write_all(&std::fs::read(&source).expect("the source")).expect("written");
    open.sync_all().expect("flushed");
    drop(open);
    let written = flags_of_reads(&bench, &[device.text(), "--reads-only"]);
    assert!(!has(&written, "deallocated_blocks"), "{written:?}");
}

/// Writes to a device, past the page cache, until it is dropped.
struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Neighbour {
    fn hammering(path: &Path, offset: u64) -> Self {
        /// O_DIRECT where the kernel has its generic value; elsewhere the kernel's own.
        const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
        let mut options = OpenOptions::new();
        let mut file: File =
            options.write(true).custom_flags(O_DIRECT).open(path).expect("the device opens");
        // Aligned within a larger piece, without unsafe code.
        let piece = vec![0x5a; 2 << 20];
        let start = piece.as_ptr().align_offset(4096);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let hammer = move || {
            while !stopped.load(Ordering::Relaxed) {
                file.seek(SeekFrom::Start(offset)).expect("within the device");
                file.write_all(&piece[start..start + (1 << 20)]).expect("it is written");
            }
        };
        Self { stop, thread: Some(thread::spawn(hammer)) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().expect("it runs").join();
    }
}

#[test]
fn another_programs_traffic_on_the_device_is_flagged_and_quiet_is_not() {
    let device = need!(LoopDevice::of_zeros(32 * MIB), ROOT);
    let source = device.image.clone();
    fill(&source, 32 * MIB);
    let bench = Bench::new();
    // Devices below are shared with the other tests; what counts is the loop device itself.
    let words = [device.text(), "--reads-only"];
    let quiet = flags_of_reads(&bench, &words);
    assert!(!has(&quiet, "foreign_io"), "{quiet:?}");
    let neighbour = Neighbour::hammering(&device.path, 24 * MIB);
    let disturbed = flags_of_reads(&bench, &words);
    drop(neighbour);
    assert!(has(&disturbed, "foreign_io"), "{disturbed:?}");
    let sentence = told(&bench.record("last"), "foreign_io");
    assert!(sentence.contains("was not ours"), "{sentence}");
}
