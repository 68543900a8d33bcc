//! What a volume owes single requests, with the power on.

use super::backing::Backing;
use super::point::cut_recovery;
use super::scan::epochs;
use super::{
    bench::{
        Bench, ask, create, cut, extent, flush, image, media, open, open_with, read, read_all,
        small, striped, write,
    },
    caller::{Caller, Mix},
};
use block::{
    Actor, Allocation, Command, Completion, Drive, Durability, Engine, Instant, IoError, Request,
    Rng, Stack, Tag, Wrapper,
};
use flash::{BLOCK_BYTES, Checksums, Cleaning, Layout, Parity, Refusal, Settings, Shape, Volume};
use model::{Fault, FaultPlan, Grain, Sim, When};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use testkit::Shuffling;

fn settings() -> Settings {
    Settings {
        queue_depth: 16,
        answer_ns: 500,
        chunks: 6,
        cleaning: Cleaning::Greedy,
        ..Settings::default()
    }
}

fn submit(engine: &mut impl Engine, tag: u64, command: Command) {
    engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
}

fn wait_for(engine: &mut impl Engine, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        engine.wait(Instant::NEVER, &mut done);
    }
    done
}

#[test]
fn two_requests_that_split_one_block_do_not_undo_each_other() {
    two_requests_that_split_one_block();
}

pub fn two_requests_that_split_one_block() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    super::bench::ask(&mut bench, write(0..8, 1, Durability::Cached)).result.expect("healthy");
    // Out of memory, so that both must read the block from the drive.
    flush(&mut bench).expect("healthy");
    submit(&mut bench, 1, write(0..2, 2, Durability::Cached));
    submit(&mut bench, 2, write(4..6, 3, Durability::Cached));
    wait_for(&mut bench, 2);
    assert_eq!(read(&mut bench, 0..8), Ok(vec![2, 2, 1, 1, 3, 3, 1, 1]));
}

/// Some requests take a hundred times as long: segments are emptied under readers.
pub fn slow_readers_see_what_they_asked_for(seed: u64) {
    let mix = Mix { unaligned: false, flush_one_in: 40, skewed: false };
    let mut bench = create(media(&small()), small(), settings(), seed);
    let mut caller = Caller::new(seed, small().exported_bytes / 512, mix);
    caller.requests(&mut bench, 600, 8);
    flush(&mut bench).expect("healthy");
    let values = read_all(&mut bench, small().exported_bytes / 512).expect("healthy");
    caller.oracle.restart(values);
    let plan = FaultPlan::new(seed).with(Fault::Slow { times: 200 }, When::OneIn(40));
    let mut bench = open_with(cut(bench, seed), settings(), seed, plan);
    flush(&mut bench).expect("healthy");
    caller.requests(&mut bench, 6_000, 16);
    assert_eq!(caller.failed.first(), None);
}

#[test]
fn a_segment_is_not_used_again_while_it_is_read() {
    (0..4).for_each(slow_readers_see_what_they_asked_for);
}

/// Looks at what passes down to a drive on stripes.
struct Watch<E> {
    engine: E,
    stripe_bytes: u64,
    segments: Range<u64>,
    appends: u64,
    records: u64,
}

impl<E: Engine> Wrapper for Watch<E> {
    type Inner = E;

    fn inner(&self) -> &E {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    fn on_submit(&mut self, request: &Request) {
        if let Command::Write { at, .. } = &request.command {
            let (bytes, end) = (u64::from(at.bytes), at.offset + u64::from(at.bytes));
            // Roots, records of the ring and superblocks are shorter than their stripes.
            if self.segments.contains(&at.offset) && end <= self.segments.end {
                assert!(
                    at.offset.is_multiple_of(self.stripe_bytes),
                    "{at:?} begins within a stripe"
                );
                assert!(bytes.is_multiple_of(self.stripe_bytes), "{at:?} ends within a stripe");
                self.appends += 1;
            } else if bytes > BLOCK_BYTES {
                assert!(
                    at.offset.is_multiple_of(self.stripe_bytes),
                    "{at:?} begins within a stripe"
                );
                self.records += u64::from(end <= self.segments.start);
            }
        }
    }
}

#[test]
fn every_append_on_parity_is_of_whole_stripes() {
    every_append_is_of_whole_stripes();
}

pub fn every_append_is_of_whole_stripes() {
    // A unit of one stripe, so that root areas and segments are easily told apart.
    let shape = Shape { erase_unit_bytes: 4096, ..striped() };
    let layout = Layout::new(shape, 1 << 20).expect("it can be");
    let start = u64::from(layout.first_block) * BLOCK_BYTES;
    let segments = start..start + u64::from(layout.segments) * shape.segment_bytes;
    let medium = media(&shape);
    let sim = Sim::with_media(Shuffling::new(shape.device_bytes, 1), vec![medium]);
    let (stripe_bytes, appends, records) = (shape.stripe_bytes, 0, 0);
    let watch = Watch { engine: sim, stripe_bytes, segments, appends, records };
    let below = watch.geometry(Drive(0));
    let volume = Volume::create(below, shape, super::bench::ID, settings()).expect("it fits");
    let mut stack = Stack::new(volume, watch);
    let mut rng = Rng::new(1, 1);
    for tag in 0..9_000 {
        let first = rng.below(500) * 8;
        let flush = rng.below(6) == 0;
        let command = if flush {
            Command::Flush
        } else {
            write(first..first + 8, tag + 1, Durability::Cached)
        };
        submit(&mut stack, tag, command);
        assert!(wait_for(&mut stack, 1)[0].result.is_ok());
    }
    let Watch { appends, records, .. } = stack.engine;
    assert!(appends > 200 && records > 500, "{appends} appends, {records} records");
    let counters = stack.machine.counters().expect("it is open");
    assert!(counters.cleaned > 5, "{counters:?}");
}

/// A run was interrupted while its writes waited for the cleaner, which stops with the volume:
/// nothing could move, the volume took that for a drive with too few segments left and latched, and
/// one interruption in six left it unclean. What has not been acknowledged is refused now. And a
/// second flush was never answered.
#[test]
fn a_volume_that_is_stopped_amid_writes_stops_cleanly_and_answers_flushes_afterwards() {
    let mix = Mix { unaligned: false, flush_one_in: 40, skewed: false };
    let blocks = small().exported_bytes / 4096;
    let mut refused = 0;
    for seed in 0..60 {
        let mut bench = create(media(&small()), small(), settings(), seed);
        Caller::new(seed, blocks * 8, mix).requests(&mut bench, 500 + seed * 7, 8);
        let mut rng = Rng::new(seed, 9);
        let (mut written, mut done) = (Written::new(), Vec::new());
        for value in 1..400 {
            let block = rng.below(blocks);
            if written.values().any(|&(other, ..)| other == block) {
                continue;
            }
            let command = write(block * 8..block * 8 + 8, 1 << 40 | value, Durability::Cached);
            bench.submit(Request { tag: Tag(value), actor: Actor(0), drive: Drive(0), command });
            written.insert(Tag(value), (block, value, None));
            let waiting = written.values().filter(|(.., answer)| answer.is_none()).count();
            if waiting == settings().queue_depth as usize - 1 {
                if value > 20 + seed * 5 {
                    break;
                }
                bench.wait(Instant::NEVER, &mut done);
            }
            take(&mut done, &mut written);
        }
        bench.machine.shut_down();
        let command = Command::Flush;
        bench.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        written.insert(Tag(0), (u64::MAX, 0, None));
        while written[&Tag(0)].2.is_none() {
            bench.wait(Instant::NEVER, &mut done);
            take(&mut done, &mut written);
        }
        let stopped = written.remove(&Tag(0)).expect("it was asked for").2;
        assert_eq!(stopped, Some(Ok(())), "seed {seed}");
        assert!(written.values().all(|(.., answer)| answer.is_some()), "seed {seed}: all answered");
        assert_eq!(flush(&mut bench), Ok(()), "seed {seed}: nothing is missing");
        let mut bench = open(cut(bench, seed), settings(), seed);
        flush(&mut bench).expect("healthy");
        assert!(bench.machine.open_report().expect("it is open").clean, "seed {seed}");
        let values = read_all(&mut bench, blocks * 8).expect("healthy");
        for (block, value, answer) in written.into_values() {
            let kept = values[block as usize * 8] == 1 << 40 | value;
            match answer.expect("all were") {
                Ok(()) => assert!(kept, "seed {seed}: block {block}"),
                Err(error) => {
                    assert_eq!(error, IoError::Os(108), "seed {seed}: ESHUTDOWN");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0, "in no life did a write have to wait");
}

/// By tag: block, value, answer.
type Written = BTreeMap<Tag, (u64, u64, Option<Result<(), IoError>>)>;

fn take(done: &mut Vec<Completion>, written: &mut Written) {
    for completion in done.drain(..) {
        written.get_mut(&completion.tag).expect("it was submitted").2 = Some(completion.result);
    }
}

#[test]
fn after_a_clean_stop_nothing_is_rolled_forward() {
    let mix = Mix { unaligned: false, flush_one_in: 40, skewed: false };
    let sectors = small().exported_bytes / 512;
    for seed in 0..10 {
        let mut bench = create(media(&small()), small(), settings(), seed);
        let mut caller = Caller::new(seed, sectors, mix);
        caller.requests(&mut bench, 400 + seed * 37, 8);
        let values = read_all(&mut bench, sectors).expect("healthy");
        bench.machine.shut_down();
        flush(&mut bench).expect("it stops");
        let refused = super::bench::ask(&mut bench, write(0..8, 9, Durability::Cached)).result;
        assert_eq!(refused, Err(IoError::Os(108)), "ESHUTDOWN");
        let mut bench = open(cut(bench, seed), settings(), seed);
        flush(&mut bench).expect("healthy");
        let report = *bench.machine.open_report().expect("it is open");
        assert!(report.clean && report.headers_read == 0, "{report:?}");
        assert!(read_all(&mut bench, sectors).expect("healthy") == values, "seed {seed}");
        bench.machine.audit();
        // And it goes on from there, through an unclean stop too.
        caller.oracle.restart(values);
        caller.requests(&mut bench, 200, 8);
        assert_eq!(caller.failed.first(), None);
        let mut bench = open(cut(bench, seed), settings(), seed);
        flush(&mut bench).expect("healthy");
        let values = read_all(&mut bench, sectors).expect("healthy");
        caller.oracle.admits(&values).expect("nothing is lost");
    }
}

#[test]
pub fn a_thin_volume_refuses_new_blocks_when_full_and_nothing_else() {
    let shape = Shape { exported_bytes: 16 << 20, ..small() };
    let mut bench = create(media(&shape), shape, settings(), 1);
    flush(&mut bench).expect("healthy");
    let room = u64::from(bench.machine.layout().expect("it is open").mapped_max);
    assert!((200..1024).contains(&room), "{room} blocks");
    let mut ask = |command| super::bench::ask(&mut bench, command).result;
    let block = |number: u64| number * 8..number * 8 + 8;
    for number in 0..room {
        assert_eq!(ask(write(block(number), number + 1, Durability::Cached)), Ok(()));
    }
    let enospc = Err(IoError::Os(28));
    assert_eq!(ask(write(block(room), 1, Durability::Cached)), enospc);
    assert_eq!(ask(write(block(room), 0, Durability::Cached)), Ok(()), "zeroes need no room");
    let mut rng = Rng::new(1, 1);
    for value in 0..4 * room {
        let number = rng.below(room);
        assert_eq!(ask(write(block(number), value, Durability::Cached)), Ok(()), "overwriting");
    }
    assert_eq!(ask(Command::Flush), Ok(()));
    let (offset, len) = (0, 8 * 4096);
    assert_eq!(ask(Command::Discard { offset, len }), Ok(()));
    for number in room..room + 8 {
        assert_eq!(ask(write(block(number), 5, Durability::Fua)), Ok(()), "where it was trimmed");
    }
    assert_eq!(ask(write(block(room + 8), 5, Durability::Cached)), enospc);
    assert_eq!(ask(Command::Read { at: extent(0..8), into: image(8, 1) }), Ok(()));
    bench.machine.audit();
}

/// A write of several new blocks had its room twice while it was being appended: as promised and as
/// mapped. On a slow drive a volume that was nearly all mapped refused to write again what had been
/// trimmed, with ENOSPC.
#[test]
fn writes_under_way_have_their_room_once() {
    let shape = Shape { exported_bytes: 256 << 10, ..small() };
    let mut bench = create(media(&shape), shape, settings(), 1);
    flush(&mut bench).expect("healthy");
    for round in 0..20 {
        let trim = Command::Discard { offset: 0, len: 48 * 4096 };
        assert_eq!(ask(&mut bench, trim).result, Ok(()));
        for tag in 0..12 {
            let first = tag * 5 % 60 * 8;
            let value = 1 + round * 100 + tag;
            submit(&mut bench, tag, write(first..first + 32, value, Durability::Fua));
        }
        let done = wait_for(&mut bench, 12);
        assert!(done.iter().all(|done| done.result == Ok(())), "round {round}");
    }
}

/// A write of a block that was mapped when it came had no promise of room. Where a trim before it
/// took the block away and another write was promised the room, one block more was mapped than
/// there is room for. Refused for that in the middle, a write of several blocks was done in part.
#[test]
fn a_thin_volume_never_maps_more_than_it_has_room_for() {
    let shape = Shape { exported_bytes: 16 << 20, ..small() };
    for seed in 0..20 {
        let mut bench = create(media(&shape), shape, settings(), seed);
        flush(&mut bench).expect("healthy");
        let room = u64::from(bench.machine.layout().expect("it is open").mapped_max);
        let value = |tag: u64| room + 1 + tag;
        for number in 0..room {
            let command = write(number * 8..number * 8 + 8, number + 1, Durability::Cached);
            assert_eq!(ask(&mut bench, command).result, Ok(()));
        }
        let (mut rng, mut done, mut outstanding) = (Rng::new(seed, 3), Vec::new(), 0);
        let (mut trimmed, mut refused) = (0, BTreeSet::new());
        for tag in 0..2_000 {
            let (first, count) = (rng.below(3 * room) * 8, (1 + rng.below(4)) * 8);
            let command = match rng.below(4) {
                0 => {
                    trimmed = first;
                    Command::Discard { offset: first * 512, len: count * 512 }
                }
                1 => write(trimmed..trimmed + count, value(tag), Durability::Cached),
                2 => write(first..first + count, value(tag), Durability::Cached),
                _ => write(first..first + count, value(tag), Durability::Fua),
            };
            submit(&mut bench, tag, command);
            outstanding += 1;
            while outstanding == 16 {
                bench.wait(Instant::NEVER, &mut done);
                outstanding -= done.len();
                done.drain(..).for_each(|done| {
                    assert!([Ok(()), Err(IoError::Os(28))].contains(&done.result), "{done:?}");
                    if done.result.is_err() {
                        refused.insert(value(done.tag.0));
                    }
                });
            }
            bench.machine.audit();
        }
        while outstanding > 0 {
            bench.wait(Instant::NEVER, &mut done);
            outstanding -= done.len();
            done.clear();
        }
        assert!(!refused.is_empty(), "seed {seed}: nothing was refused");
        let values = read_all(&mut bench, shape.exported_bytes / 512).expect("healthy");
        let in_part = values.iter().find(|held| refused.contains(held));
        assert_eq!(in_part, None, "seed {seed}: a write that was refused is there in part");
    }
}

#[test]
fn what_was_never_written_or_was_trimmed_is_told_apart_from_data() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    assert_eq!(flush(&mut bench), Ok(())); // It is open.
    let told = |bench: &Bench, offset, len| bench.allocation(Drive(0), offset, len);
    assert_eq!(told(&bench, 512, 1 << 20), (Allocation::Hole, 1 << 20));
    assert_eq!(ask(&mut bench, write(16..24, 7, Durability::Cached)).result, Ok(()));
    assert_eq!(told(&bench, 0, 1 << 20), (Allocation::Hole, 8192));
    assert_eq!(told(&bench, 8704, 1 << 20), (Allocation::Data, 3584));
    assert_eq!(told(&bench, 8704, 512), (Allocation::Data, 512));
    let trim = Command::Discard { offset: 8192, len: 4096 };
    assert_eq!(ask(&mut bench, trim).result, Ok(()));
    assert_eq!(told(&bench, 0, 1 << 20), (Allocation::Hole, 1 << 20));
}

#[test]
fn shapes_that_cannot_be_are_refused_with_the_reason() {
    let create = |shape: Shape| flash::Layout::new(shape, 1 << 20).map(|_| ());
    let good = small();
    assert_eq!(create(good), Ok(()));
    let unaligned = |what, bytes, unit_bytes| Err(Refusal::Unaligned { what, bytes, unit_bytes });
    assert_eq!(
        create(Shape { stripe_bytes: 12 << 10, ..good }),
        unaligned("a segment", 64 << 10, 12 << 10)
    );
    assert_eq!(create(Shape { exported_bytes: 1000, ..good }), unaligned("a volume", 1000, 512));
    let parity = Shape { parity: Parity::Protected, chunk_bytes: 96 << 10, ..striped() };
    assert_eq!(create(parity), unaligned("a chunk", 96 << 10, 192 << 10));
    assert!(matches!(create(Shape { chunk_bytes: 4096, ..good }), Err(Refusal::Chunk { .. })));
    let ring = |ring_bytes, shape| create(Shape { ring_bytes, ..shape });
    assert_eq!(ring(100 << 10, striped()), unaligned("a ring", 100 << 10, 192 << 10));
    let least = Err(Refusal::Ring { bytes: 192 << 10, bytes_min: 4 * (192 << 10) });
    assert_eq!(ring(192 << 10, striped()), least);
    assert_eq!(ring(4096, good), Err(Refusal::Ring { bytes: 4096, bytes_min: 0 }));
    assert!(matches!(ring((u64::MAX >> 20) * (192 << 10), striped()), Err(Refusal::NoRoom { .. })));
    let usual = |shape: Shape| shape.usual_ring_bytes();
    assert_eq!((usual(good), usual(Shape { device_bytes: 1 << 40, ..striped() })), (0, 12 << 20));
    let large = Shape { device_bytes: 1 << 45, ..good };
    assert!(matches!(create(large), Err(Refusal::TooLarge { .. })));
    let few = Shape { device_bytes: 640 << 10, ..good };
    assert!(matches!(create(few), Err(Refusal::NoRoom { .. })));
    assert!(create(Shape { checksums: Checksums::OnCleaning, ..good }).is_ok());
}

/// The same seed does the same at the same times.
#[test]
fn a_seed_replays() {
    let run = |seed| {
        let mix = Mix { unaligned: true, flush_one_in: 20, skewed: true };
        let mut bench = create(media(&small()), small(), settings(), seed);
        let mut caller = Caller::new(seed, small().exported_bytes / 512, mix);
        caller.requests(&mut bench, 1_000, 8);
        (bench.now(), bench.machine.counters())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// An opening had written chunks when it was cut; the next one must not take them for its own.
#[test]
fn an_opening_takes_an_epoch_that_no_earlier_one_has_written_with() {
    epochs_of_openings_that_were_cut();
}

pub fn epochs_of_openings_that_were_cut() {
    let mut bench = create(media(&small()), small(), settings(), 1);
    flush(&mut bench).expect("healthy");
    ask(&mut bench, write(0..8, 1, Durability::Fua)).result.expect("healthy");
    let mut media = vec![cut(bench, 1)];
    let mut highest = epochs(&media[0]).1;
    for opening in 0..4 {
        let mut newest = None;
        cut_recovery(Backing::Single, media, settings(), opening, |_, _, media| {
            let mut medium = media[0].clone();
            medium.power_cut_with(Grain::Write, &mut |choices| choices - 1);
            let (current, written) = epochs(&medium);
            // Not yet at its end, and something of it is on the drive.
            if written > current && written > highest && newest.is_none() {
                newest = Some((medium, written));
            }
        });
        let (medium, written) = newest.expect("an opening writes chunks with an epoch of its own");
        (media, highest) = (vec![medium], written);
    }
}
