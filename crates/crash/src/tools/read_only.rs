//! Volumes that are opened for reading only.

use super::{End, open, reading, sectors, settings, used};
use crate::bench::{ask, create, cut, flush, media, read, read_all, small, striped, write};
use block::{Command, Drive, Durability, Engine, IoError, Stack};
use flash::Volume;
use model::Media;

fn open_read_only(medium: &Media) -> Stack<Volume, super::Reading> {
    let drive = reading(medium);
    let volume = Volume::open_read_only(drive.geometry(Drive(0)), settings());
    Stack::new(volume, drive)
}

/// `serve --read-only` opened the volume like any other: it reserved an epoch, wrote a checkpoint,
/// and changed the image that somebody wanted to keep as it was. The drive below panics at anything
/// but a read.
#[test]
fn a_volume_that_is_only_read_holds_what_recovery_would_find_and_writes_nothing() {
    for (seed, end) in [(1, End::Clean), (2, End::Unclean), (3, End::Unclean), (4, End::Unclean)] {
        let shape = if seed % 2 == 0 { small() } else { striped() };
        let (medium, values) = used(shape, seed, end);
        let mut volume = open_read_only(&medium);
        assert_eq!(flush(&mut volume), Ok(()), "a flush has nothing to do");
        assert!(volume.machine.is_read_only());
        assert_eq!(volume.machine.open_report().expect("it is open").clean, end == End::Clean);
        assert!(read_all(&mut volume, sectors(shape)) == Ok(values), "seed {seed}");
        let refused = ask(&mut volume, write(0..8, 9, Durability::Cached)).result;
        assert_eq!(refused, Err(IoError::Os(30)), "EROFS");
        let discard = Command::Discard { offset: 0, len: 4096 };
        assert_eq!(ask(&mut volume, discard).result, Err(IoError::Os(30)));
        volume.machine.audit();
        volume.machine.shut_down();
        assert_eq!(flush(&mut volume), Ok(()), "and stopping has nothing to do either");
    }
}

/// What the ring held was appended to a chunk in memory, and what had no room there would have read
/// as lost (found by reading): it is kept block by block.
#[test]
fn blocks_that_only_the_ring_has_are_read_from_memory() {
    let shape = striped();
    let mut bench = create(media(&shape), shape, settings(), 1);
    flush(&mut bench).expect("healthy");
    for number in 0..30 {
        let block = if number % 3 == 0 { 1 } else { number };
        let command = write(block * 8..block * 8 + 8, number + 1, Durability::Fua);
        ask(&mut bench, command).result.expect("healthy");
    }
    ask(&mut bench, Command::Discard { offset: 0, len: 3 * 4096 }).result.expect("healthy");
    flush(&mut bench).expect("healthy");
    let values = read_all(&mut bench, sectors(shape)).expect("healthy");
    let medium = cut(bench, 1);
    let mut volume = open_read_only(&medium);
    flush(&mut volume).expect("it opens");
    let report = *volume.machine.open_report().expect("it is open");
    assert!(report.records_replayed > 0, "{report:?}");
    assert!(read_all(&mut volume, sectors(shape)) == Ok(values));
    let mapped = volume.machine.counters().expect("it is open").mapped_blocks;
    let mut writable = open(medium, settings(), 1);
    flush(&mut writable).expect("it opens");
    assert_eq!(writable.machine.counters().expect("it is open").mapped_blocks, mapped);
}

/// The first request of a volume in doubt was answered before what the ring held was known.
#[test]
fn the_very_first_read_knows_what_the_ring_held() {
    let mut bench = create(media(&striped()), striped(), settings(), 1);
    flush(&mut bench).expect("healthy");
    ask(&mut bench, write(0..8, 5, Durability::Fua)).result.expect("healthy");
    let medium = cut(bench, 1);
    let mut volume = open_read_only(&medium);
    assert_eq!(read(&mut volume, 0..8), Ok(vec![5; 8]));
    let (kind, length) = volume.allocation(Drive(0), 0, 4 << 10);
    assert_eq!((kind, length), (block::Allocation::Data, 4 << 10));
    let mut writable = open(medium, settings(), 1);
    assert_eq!(read(&mut writable, 0..8), Ok(vec![5; 8]));
}
