use super::*;
use std::fs::{self, File};

const HEAD: Head = Head { device_bytes: 1 << 20, block_bytes: 512 };

fn write(offset: u64, bytes: u64, is_fua: bool) -> Operation {
    Operation::Write { offset, bytes, is_fua }
}

/// Two writes, a flush, a promise that was heard then, a discard.
fn log(directory: &std::path::Path) -> Vec<u8> {
    let path = directory.join("log");
    let _ = fs::remove_file(&path);
    let file = File::create_new(&path).expect("room");
    let mut writer = Writer::new(file, HEAD).expect("room");
    writer.operation(write(512, 1024, false), &[7; 1024]).expect("room");
    writer.operation(write(0, 512, true), &[0; 512]).expect("room");
    writer.operation(Operation::Flush, &[]).expect("room");
    let heard = fs::metadata(&path).expect("it is there").len();
    writer.operation(Operation::Discard { offset: 0, bytes: 4096 }, &[]).expect("room");
    drop(writer);
    let words = ["drivelab", "power-cut", "a \"b\""].map(str::to_owned);
    finish(&path, &[(heard, "17".to_owned()), (heard + 1, "18".to_owned())], &words).expect("room");
    assert!(finish(&path, &[], &words).is_err(), "it has its end");
    fs::read(path).expect("it is there")
}

#[test]
fn what_was_written_is_read_in_its_order() {
    let directory = tempfile::tempdir().expect("room");
    let log = log(directory.path());
    let mut reader = Reader::new(&log[..]).expect("a log");
    assert_eq!(reader.head(), HEAD);
    assert_eq!(
        reader.entry().expect("it is sound"),
        Some(Entry::Operation(write(512, 1024, false)))
    );
    assert_eq!(reader.payload(), [7; 1024]);
    assert_eq!(reader.entry().expect("it is sound"), Some(Entry::Operation(write(0, 512, true))));
    assert_eq!(reader.payload(), [0; 512], "zeroes take no room and are there");
    assert_eq!(reader.entry().expect("it is sound"), Some(Entry::Operation(Operation::Flush)));
    let survey = survey(&log[..]).expect("it is sound");
    assert_eq!((survey.operations, survey.flushes, survey.written_bytes), (4, 1, 1536));
    assert_eq!(survey.command[2], "a \"b\"");
    // One of them was heard while the discard was half in the file.
    assert_eq!(survey.promises.iter().map(|it| it.after).collect::<Vec<_>>(), [3, 4]);
    assert_eq!([2, 3, 4].map(|operations| survey.due(operations)), [0, 1, 2]);
}

/// The program that replays would else check promises against another history.
#[test]
fn every_other_bit_and_every_other_length_is_refused() {
    let directory = tempfile::tempdir().expect("room");
    let log = log(directory.path());
    for length in 0..log.len() {
        assert!(survey(&log[..length]).is_err(), "cut at {length}");
    }
    let mut longer = log.clone();
    longer.push(0);
    assert!(survey(&longer[..]).is_err());
    for byte in 0..log.len() {
        let mut other = log.clone();
        other[byte] ^= 1 << (byte % 8);
        assert!(survey(&other[..]).is_err(), "another bit in byte {byte}");
    }
    assert!(matches!(survey(&b"#!/bin/sh"[..]), Err(WriteLogError::NoLog)));
    assert!(matches!(survey(&log[..log.len() - 32]), Err(WriteLogError::NoEnd)));
}

/// What the disk has no room for is not replayed as if it were whole.
#[test]
fn a_log_that_was_given_up_has_no_end() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("log");
    let writer = Writer::new(File::create_new(&path).expect("room"), HEAD).expect("room");
    writer.give_up();
    assert!(matches!(finish(&path, &[], &[]), Err(WriteLogError::NoEnd)));
}

/// Made by another program, from docs/reference/write-log-format.md.
#[test]
fn a_log_of_version_1_is_read_and_written_byte_for_byte() {
    let directory = tempfile::tempdir().expect("room");
    assert_eq!(log(directory.path()), include_bytes!("../../tests/corpus/write.log"));
}
