//! Files that were cut off or changed on their way: no panic, and no rate that is wrong without a
//! word, wherever a program prints a figure twice.

use crate::{NOW, content, names};
use block::Rng;
use record::Record;

/// Where every rate is printed in two forms that can be held against each other.
const TOLD_TWICE: &[&str] =
    &["fio-3.33.json", "fio-3.33-json-plus-with-text.txt", "fio-3.33-mix-fsync.json"];

fn import(name: &str, bytes: &[u8]) -> Option<Record> {
    import::import(name, bytes, NOW).ok()
}

/// The fuzzer repeated a dd whose count of records a flipped digit had made so large that three of
/// them are more than 64 bits hold: the sum over the passes overflowed.
#[test]
fn counts_too_large_for_their_sum_are_no_panic() {
    let run = "$ dd if=/dev/zero of=g bs=1M count=64 oflag=direct conv=fdatasync\n64+0 records in\n\
               8220341821408367952+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.05 s, \
               1.3 GB/s\n";
    let record = import("dd.txt", run.repeat(3).as_bytes()).expect("three passes of a cell");
    assert_eq!(record.cells[0].total.operations, u64::MAX);
}

#[test]
fn a_file_that_ends_early_is_no_panic_and_of_fio_refused() {
    let mut random = Rng::new(17, 0);
    for name in names() {
        let whole = content(&name);
        for _ in 0..50 {
            let length = random.below(whole.len() as u64) as usize;
            let found = import(&name, &whole[..length]);
            if name == "fio-3.33.json" && whole[..length].contains(&b'"') {
                assert!(found.is_none(), "{name} at {length} B: half a document is none");
            }
        }
    }
}

#[test]
fn a_changed_byte_is_no_panic_and_no_rate_is_wrong_without_a_word() {
    // 10,000 a file by hand: DRIVELAB_MUTATIONS=10000.
    let asked = std::env::var("DRIVELAB_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let mutations: u32 = asked.unwrap_or(300);
    let mut random = Rng::new(18, 0);
    for name in names() {
        let whole = content(&name);
        let right = import(&name, &whole);
        for mutation in 0..mutations {
            let mut bytes = whole.clone();
            let at = random.below(bytes.len() as u64) as usize;
            // A digit for a digit most of the time: that is what nobody sees.
            bytes[at] = match bytes[at] {
                b'0'..=b'9' if random.below(4) > 0 => b'0' + random.below(10) as u8,
                _ => random.below(256) as u8,
            };
            let found = import(&name, &bytes);
            let (Some(found), Some(right)) = (found, &right) else { continue };
            if TOLD_TWICE.contains(&name.as_str()) {
                unless_said(&name, mutation, at, right, &found);
            }
        }
    }
}

fn unless_said(name: &str, mutation: u32, at: usize, right: &Record, found: &Record) {
    for (was, is) in right.cells.iter().zip(&found.cells).filter(|(was, is)| was.name == is.name) {
        let differs = |a: f64, b: f64| (a - b).abs() > 0.011 * a.max(b);
        let is_wrong = differs(was.iops, is.iops) || differs(was.bytes_per_s, is.bytes_per_s);
        let said = is.warnings.iter().any(|warning| warning.text.contains("contradicts itself"));
        assert!(
            !is_wrong || said,
            "{name}, mutation {mutation} at byte {at}: {} {} for {} {}",
            is.iops,
            is.bytes_per_s,
            was.iops,
            was.bytes_per_s
        );
    }
}
