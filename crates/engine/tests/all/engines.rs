//! One body, every engine: what is written is read, what cannot be is refused, and everything that
//! goes down comes back.

use crate::common::{BLOCK_BYTES, Scratch, ask, buffer, geometry, read, request, write};
use block::{
    Buf, Command, Completion, Data, Drive, Durability, Engine, Instant, IoError, Pages, Payload,
    Rng,
};
use engine::{
    Access, Caching, Clock, Create, Feature, Memory, Null, Stdio, Sync, Syncing, Uring,
    UringOptions, open_file,
};
use std::os::unix::fs::MetadataExt;
use std::{
    collections::BTreeMap,
    fs,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};
use testkit::skip;

const BLOCKS: u64 = 64;
const CAPACITY: u64 = BLOCKS * BLOCK_BYTES as u64;

/// What an engine does with a discard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Discards {
    ToZeros,
    Refused,
}

fn open(path: &Path, caching: Caching) -> File {
    open_file(path, Access::ReadWrite, caching, Syncing::None, Create::Existing).expect("just made")
}

fn scratch() -> Scratch {
    Scratch::file("engine", &vec![0; CAPACITY as usize])
}

fn uring(path: &Path, depth: u32, options: UringOptions) -> Option<Uring> {
    let file = open(path, Caching::Buffered);
    match Uring::new(Clock::start(), file, geometry(CAPACITY, depth), options) {
        Ok(engine) => Some(engine),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

/// Random reads and writes of one to three blocks, as many at once as the engine takes, against a
/// map from block to the word it is filled with. Requests in flight never overlap, since their
/// order is free.
fn keeps_what_it_is_given<E: Engine>(engine: &mut E, seed: u64) {
    let depth = engine.geometry(Drive(0)).queue_depth.min(16);
    let mut memory = engine.pool(depth as usize, 3 * BLOCK_BYTES as usize, Pages::Usual);
    let mut oracle: BTreeMap<u64, u64> = BTreeMap::new();
    let mut rng = Rng::new(seed, 0);
    for round in 0..200 {
        let mut expected: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        let mut first = rng.below(4);
        let mut count = 0;
        while let Some(mut buf) = memory.pop() {
            let blocks = 1 + rng.below(3);
            if first + blocks > BLOCKS {
                memory.push(buf);
                break;
            }
            let (offset, bytes) = (first * u64::from(BLOCK_BYTES), blocks as u32 * BLOCK_BYTES);
            let range = first..first + blocks;
            let command = if rng.below(2) == 0 {
                for (block, page) in range.zip(buf.bytes_mut().chunks_mut(BLOCK_BYTES as usize)) {
                    let word = rng.next();
                    page.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&word.to_le_bytes()));
                    oracle.insert(block, word);
                }
                let forced = round % 50 == 0;
                let durability = if forced { Durability::Fua } else { Durability::Cached };
                write(offset, bytes, buf, durability)
            } else {
                buf.bytes_mut().fill(0xEE);
                let words = range.map(|block| (block, oracle.get(&block).copied().unwrap_or(0)));
                expected.insert(count, words.collect());
                read(offset, bytes, buf)
            };
            engine.submit(request(count, command));
            count += 1;
            first += blocks + rng.below(4);
        }
        let mut done: Vec<Completion> = Vec::new();
        while (done.len() as u64) < count {
            engine.wait(Instant::NEVER, &mut done);
        }
        let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag.0).collect();
        tags.sort_unstable();
        assert!(tags.into_iter().eq(0..count), "seed {seed}, round {round}: every tag once");
        for completion in done {
            assert_eq!(completion.result, Ok(()), "seed {seed}, round {round}");
            assert!(completion.issued <= completion.finished);
            let buf = buffer(completion.payload);
            let pages = buf.bytes().chunks(BLOCK_BYTES as usize);
            for ((block, word), page) in
                expected.remove(&completion.tag.0).unwrap_or_default().into_iter().zip(pages)
            {
                let same = page.chunks(8).all(|chunk| chunk == word.to_le_bytes());
                assert!(same, "seed {seed}, round {round}: block {block} is not {word:#x}");
            }
            memory.push(buf);
        }
    }
    assert_eq!(ask(engine, Command::Flush).result, Ok(()));
}

fn refuses_what_lies_outside<E: Engine>(engine: &mut E) {
    let outside = [
        (CAPACITY, BLOCK_BYTES, IoError::Short),
        (CAPACITY - u64::from(BLOCK_BYTES), 2 * BLOCK_BYTES, IoError::Short),
        (u64::MAX - 4095, BLOCK_BYTES, IoError::Short),
        (1, BLOCK_BYTES, IoError::Os(libc::EINVAL)),
    ];
    for (offset, bytes, verdict) in outside {
        let answer = ask(engine, read(offset, bytes, Buf::zeroed(bytes as usize)));
        assert_eq!(answer.result, Err(verdict), "{bytes} bytes at {offset}");
        let buf = buffer(answer.payload);
        let answer = ask(engine, write(offset, bytes, buf, Durability::Cached));
        assert_eq!(answer.result, Err(verdict), "{bytes} bytes at {offset}");
        buffer(answer.payload);
    }
}

/// The file ends before the geometry says so.
fn a_read_past_the_end_of_the_file_is_short<E: Engine>(engine: &mut E, path: &Path) {
    let half = File::options().write(true).open(path).expect("the scratch file");
    half.set_len(CAPACITY / 2 + 100).expect("a shorter file");
    for offset in [CAPACITY / 2, CAPACITY / 2 + u64::from(BLOCK_BYTES)] {
        let answer = ask(engine, read(offset, BLOCK_BYTES, Buf::zeroed(4096)));
        assert_eq!(answer.result, Err(IoError::Short));
        buffer(answer.payload);
    }
    half.set_len(CAPACITY).expect("the old length");
}

fn discards<E: Engine>(engine: &mut E, discards: Discards) {
    let mut buf = Buf::zeroed(2 * BLOCK_BYTES as usize);
    buf.bytes_mut().fill(0xAB);
    let bytes = 2 * BLOCK_BYTES;
    let answer = ask(engine, write(0, bytes, buf, Durability::Cached));
    assert_eq!(answer.result, Ok(()));
    let gone = ask(engine, Command::Discard { offset: 0, len: u64::from(BLOCK_BYTES) });
    assert!(matches!(gone.payload, Payload::None));
    let left = match discards {
        Discards::ToZeros => {
            assert_eq!(gone.result, Ok(()));
            0
        }
        Discards::Refused => {
            assert_eq!(gone.result, Err(IoError::Os(libc::EOPNOTSUPP)));
            0xAB
        }
    };
    let answer = ask(engine, read(0, bytes, buffer(answer.payload)));
    let buf = buffer(answer.payload);
    let (discarded, kept) = buf.bytes().split_at(BLOCK_BYTES as usize);
    assert!(discarded.iter().all(|&byte| byte == left));
    assert!(kept[..BLOCK_BYTES as usize].iter().all(|&byte| byte == 0xAB));
    let outside = ask(engine, Command::Discard { offset: CAPACITY, len: 4096 });
    assert_eq!(outside.result, Err(IoError::Short));
}

fn an_idle_wait_lets_time_pass<E: Engine>(engine: &mut E) {
    let mut done = Vec::new();
    engine.wait(Instant(0), &mut done);
    let start = engine.now();
    engine.wait(start.after(2_000_000), &mut done);
    assert!(engine.now() >= start.after(2_000_000) && done.is_empty());
}

fn holds_in_all_respects<E: Engine>(engine: &mut E, path: &Path, what_discards_do: Discards) {
    for seed in 1..=2 {
        fs::write(path, vec![0; CAPACITY as usize]).expect("zeros to start with");
        keeps_what_it_is_given(engine, seed);
    }
    refuses_what_lies_outside(engine);
    discards(engine, what_discards_do);
    an_idle_wait_lets_time_pass(engine);
    a_read_past_the_end_of_the_file_is_short(engine, path);
}

#[test]
fn the_sync_engine_holds_in_all_respects() {
    let path = scratch();
    let file = open(&path, Caching::Buffered);
    let mut engine = Sync::new(Clock::start(), file, geometry(CAPACITY, 1));
    holds_in_all_respects(&mut engine, &path, Discards::ToZeros);
}

/// A block zeroed by command reads as zeroes and keeps its room, where a hole would give it up.
#[test]
fn an_engine_that_zeroes_keeps_the_room() {
    let path = scratch();
    let seen = |engine: &mut dyn FnMut(Command) -> block::Completion, name| {
        let (bytes, at) = (2 * BLOCK_BYTES, BLOCK_BYTES as usize);
        let mut buf = Buf::zeroed(bytes as usize);
        buf.bytes_mut().fill(0xAB);
        assert_eq!(engine(write(0, bytes, buf, Durability::Fua)).result, Ok(()));
        let room = fs::metadata(&*path).expect("it is there").blocks();
        let zeroed = engine(Command::Discard { offset: 0, len: u64::from(BLOCK_BYTES) });
        if zeroed.result == Err(IoError::Os(libc::EOPNOTSUPP)) {
            eprintln!("skipped: the file system of the tests zeroes no ranges");
            return;
        }
        assert_eq!(zeroed.result, Ok(()), "{name}");
        let answer = engine(read(0, bytes, Buf::zeroed(bytes as usize)));
        let buf = buffer(answer.payload);
        assert!(buf.bytes()[..at].iter().all(|&byte| byte == 0), "{name}");
        assert!(buf.bytes()[at..2 * at].iter().all(|&byte| byte == 0xAB), "{name}");
        assert_eq!(fs::metadata(&*path).expect("it is there").blocks(), room, "{name}");
    };
    let file = open(&path, Caching::Buffered);
    let mut sync = Sync::new(Clock::start(), file, geometry(CAPACITY, 1)).zeroing();
    seen(&mut |command| ask(&mut sync, command), "sync");
    if let Some(ring) = uring(&path, 4, UringOptions::default()) {
        let mut ring = ring.zeroing();
        seen(&mut |command| ask(&mut ring, command), "uring");
    }
}

#[test]
fn the_stdio_engine_holds_in_all_respects() {
    let path = scratch();
    for seed in 1..=2 {
        // A stream may keep what it has read: only a new one sees the file's new contents.
        fs::write(&*path, vec![0; CAPACITY as usize]).expect("zeros to start with");
        let mut engine =
            Stdio::open(Clock::start(), &path, Access::ReadWrite, geometry(CAPACITY, 1))
                .expect("just made");
        if seed == 2 {
            engine = engine.with_buffer(BLOCK_BYTES as usize);
        }
        keeps_what_it_is_given(&mut engine, seed);
        refuses_what_lies_outside(&mut engine);
        discards(&mut engine, Discards::Refused);
        an_idle_wait_lets_time_pass(&mut engine);
        a_read_past_the_end_of_the_file_is_short(&mut engine, &path);
        assert_eq!(engine.hand_over(), Ok(()));
    }
}

#[test]
fn the_uring_engine_holds_in_all_respects_at_any_depth() {
    for depth in [1, 7, 64] {
        let path = scratch();
        let Some(mut engine) = uring(&path, depth, UringOptions::default()) else { return };
        holds_in_all_respects(&mut engine, &path, Discards::ToZeros);
    }
}

#[test]
fn the_uring_engine_holds_on_every_rung_of_its_ladder() {
    use Feature::*;
    let features = [
        DeferTaskrun,
        SingleIssuer,
        TaskrunFlag,
        CoopTaskrun,
        SubmitAll,
        TimedWait,
        RegisteredFile,
        RegisteredBuffers,
    ];
    let bare = features.into_iter().fold(UringOptions::default(), UringOptions::without);
    let ladder = features.map(|feature| (vec![feature], UringOptions::default().without(feature)));
    for (forbidden, options) in ladder.into_iter().chain([(features.to_vec(), bare)]) {
        let path = scratch();
        let Some(mut engine) = uring(&path, 16, options) else { return };
        holds_in_all_respects(&mut engine, &path, Discards::ToZeros);
        let told = engine.features();
        for feature in forbidden {
            assert!(!told.uses(feature), "{told}");
            assert!(told.given_up.iter().any(|(name, why)| *name == feature && why == "forbidden"));
        }
    }
}

#[test]
fn the_null_engine_hands_everything_back_untouched() {
    let mut engine = Null::new(Clock::start(), geometry(CAPACITY, 8));
    for round in 0..10u8 {
        let mut done = Vec::new();
        for tag in 0..8u8 {
            let mut buf = Buf::zeroed(4096);
            buf.bytes_mut().fill(tag ^ round);
            engine.submit(request(tag.into(), read(0, BLOCK_BYTES, buf)));
        }
        engine.wait(Instant::NEVER, &mut done);
        assert_eq!(done.len(), 8);
        for (completion, tag) in done.into_iter().zip(0u8..) {
            assert_eq!((completion.tag.0, completion.result), (tag.into(), Ok(())));
            assert_eq!(completion.finished, engine.now());
            assert!(buffer(completion.payload).bytes().iter().all(|&byte| byte == tag ^ round));
        }
    }
    refuses_what_lies_outside(&mut engine);
    an_idle_wait_lets_time_pass(&mut engine);
}

#[test]
fn the_null_engine_takes_timing_only_transfers() {
    let geometry = block::Geometry { data: Data::TimingOnly, ..geometry(CAPACITY, 1) };
    let mut engine = Null::new(Clock::start(), geometry);
    let at = block::Extent { offset: 0, bytes: BLOCK_BYTES };
    let answer = ask(&mut engine, Command::Read { at, into: Payload::Stamp(5) });
    assert!(answer.result == Ok(()) && matches!(answer.payload, Payload::Stamp(5)));
}

#[test]
fn a_misaligned_direct_transfer_is_an_error_and_no_panic() {
    let path = scratch();
    // The geometry allows what the kernel will refuse.
    let geometry = block::Geometry { block_bytes: 1, ..geometry(CAPACITY, 1) };
    let direct =
        || open_file(&path, Access::ReadWrite, Caching::Direct, Syncing::None, Create::Existing);
    let file = match direct() {
        Ok(file) => file,
        Err(error) => return skip(&error.to_string()),
    };
    if engine::raw::direct_alignment(&file)
        .expect("statx works")
        .is_none_or(|it| it.offset_bytes < 2)
    {
        return skip("a file system that says what direct I/O needs");
    }
    let mut sync = Sync::new(Clock::start(), file, geometry);
    let refused = |answer: Completion| {
        assert_eq!(answer.result, Err(IoError::Os(libc::EINVAL)));
        buffer(answer.payload);
    };
    refused(ask(&mut sync, read(3, 100, Buf::zeroed(4096))));
    refused(ask(&mut sync, write(3, 100, Buf::zeroed(4096), Durability::Cached)));
    let file = direct().expect("opened before");
    match Uring::new(Clock::start(), file, geometry, UringOptions::default()) {
        Ok(mut uring) => {
            refused(ask(&mut uring, read(3, 100, Buf::zeroed(4096))));
            refused(ask(&mut uring, write(3, 100, Buf::zeroed(4096), Durability::Fua)));
        }
        Err(error) => skip(&error.to_string()),
    }
}

#[test]
fn a_write_without_permission_is_an_error_with_its_number() {
    let path = scratch();
    let read_only = || {
        open_file(&path, Access::Read, Caching::Buffered, Syncing::None, Create::Existing)
            .expect("just made")
    };
    let clock = Clock::start();
    let geometry = geometry(CAPACITY, 1);
    let mut sync = Sync::new(clock, read_only(), geometry);
    let mut stdio = Stdio::open(clock, &path, Access::Read, geometry).expect("just made");
    for durability in [Durability::Cached, Durability::Fua] {
        let command = || write(0, BLOCK_BYTES, Buf::zeroed(4096), durability);
        assert_eq!(ask(&mut sync, command()).result, Err(IoError::Os(libc::EBADF)));
        assert_eq!(ask(&mut stdio, command()).result, Err(IoError::Os(libc::EBADF)));
        if let Ok(mut uring) = Uring::new(clock, read_only(), geometry, UringOptions::default()) {
            assert_eq!(ask(&mut uring, command()).result, Err(IoError::Os(libc::EBADF)));
        }
    }
}

#[test]
fn bytes_left_in_the_streams_buffer_are_in_the_file_once_handed_over() {
    let path = scratch();
    let mut engine = Stdio::open(Clock::start(), &path, Access::ReadWrite, geometry(CAPACITY, 1))
        .expect("just made");
    let mut buf = Buf::zeroed(4096);
    buf.bytes_mut().fill(0x5A);
    assert_eq!(ask(&mut engine, write(0, BLOCK_BYTES, buf, Durability::Cached)).result, Ok(()));
    assert_eq!(engine.hand_over(), Ok(()));
    assert!(fs::read(&*path).expect("readable")[..4096].iter().all(|&byte| byte == 0x5A));
}

#[test]
fn handing_over_tells_that_buffered_bytes_were_lost() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return skip("/dev/full");
    }
    let geometry = block::Geometry { block_bytes: 1, ..geometry(CAPACITY, 1) };
    let mut engine =
        Stdio::open(Clock::start(), full, Access::ReadWrite, geometry).expect("anybody may write");
    let answer = ask(&mut engine, write(0, 100, Buf::zeroed(4096), Durability::Cached));
    assert_eq!(answer.result, Ok(()), "it went no further than the buffer");
    assert_eq!(engine.hand_over(), Err(IoError::Os(libc::ENOSPC)));
}

/// Says what the engine said when it was given one request too many.
fn exceeds_its_depth<E: Engine>(mut engine: E) -> String {
    let depth = engine.geometry(Drive(0)).queue_depth;
    let overfill = AssertUnwindSafe(|| {
        for tag in 0..=u64::from(depth) {
            engine.submit(request(tag, Command::Flush));
        }
    });
    let said = catch_unwind(overfill).expect_err("one request too many is a bug");
    match said.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => (*said.downcast_ref::<&str>().expect("a message")).to_owned(),
    }
}

#[test]
fn memory_keeps_what_it_is_given() {
    let mut engine = Memory::new(Clock::start(), geometry(CAPACITY, 8));
    keeps_what_it_is_given(&mut engine, 5);
    refuses_what_lies_outside(&mut engine);
}

#[test]
fn more_requests_than_agreed_are_a_bug() {
    let (path, clock) = (scratch(), Clock::start());
    let sync = Sync::new(clock, open(&path, Caching::Buffered), geometry(CAPACITY, 1));
    assert_eq!(exceeds_its_depth(sync), "queue depth 1 exceeded");
    let stdio = Stdio::open(clock, &path, Access::ReadWrite, geometry(CAPACITY, 1));
    assert_eq!(exceeds_its_depth(stdio.expect("just made")), "queue depth 1 exceeded");
    assert_eq!(
        exceeds_its_depth(Null::new(clock, geometry(CAPACITY, 4))),
        "queue depth 4 exceeded"
    );
    assert_eq!(
        exceeds_its_depth(Memory::new(clock, geometry(CAPACITY, 4))),
        "queue depth 4 exceeded"
    );
    let Some(uring) = uring(&path, 4, UringOptions::default()) else { return };
    assert_eq!(exceeds_its_depth(uring), "queue depth 4 exceeded");
}
