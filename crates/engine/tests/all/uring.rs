//! What only a ring can do wrong: partial transfers, time limits, threads, and memory that the
//! kernel still writes to. Pipes stand in for a drive, because a test can hold their answers back.

use crate::common::{BLOCK_BYTES, Scratch, ask, buffer, geometry, read, request, write};
use block::{Buf, Command, Completion, Durability, Engine, Instant, IoError, Pages};
use engine::{
    Access, Caching, Clock, Create, Feature, Syncing, Uring, UringOptions, open_file, raw,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs::File,
    io::{PipeReader, PipeWriter, Write, pipe},
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use testkit::{LoopDevice, skip};

const CAPACITY: u64 = 1 << 20;

fn on_pipe(depth: u32, options: UringOptions) -> Option<(Uring, PipeWriter)> {
    let (reader, writer): (PipeReader, PipeWriter) = pipe().expect("two descriptors");
    let file = File::from(OwnedFd::from(reader));
    match Uring::new(Clock::start(), file, geometry(CAPACITY, depth), options) {
        Ok(engine) => Some((engine, writer)),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

/// Submits one read of a block and lets the kernel have it.
fn start_read(engine: &mut Uring) {
    engine.submit(request(77, read(0, BLOCK_BYTES, Buf::zeroed(4096))));
    let mut done = Vec::new();
    engine.wait(Instant(0), &mut done);
    assert!(done.is_empty(), "the pipe is empty");
}

fn finish_read(engine: &mut Uring) -> Completion {
    let mut done = Vec::new();
    engine.wait(Instant::NEVER, &mut done);
    done.pop().expect("a wait without end brings a completion")
}

#[test]
fn a_short_transfer_goes_on_until_it_is_whole() {
    for options in [UringOptions::default(), UringOptions::default().without(Feature::DeferTaskrun)]
    {
        let Some((mut engine, mut writer)) = on_pipe(4, options) else { return };
        start_read(&mut engine);
        let mut done = Vec::new();
        for part in [100, 1000] {
            writer.write_all(&vec![7; part]).expect("the reader is there");
            engine.wait(engine.now().after(3_000_000), &mut done);
            assert!(done.is_empty(), "only a part has come");
        }
        writer.write_all(&[9; 4096 - 1100]).expect("the reader is there");
        let completion = finish_read(&mut engine);
        assert_eq!(completion.result, Ok(()));
        let buf = buffer(completion.payload);
        assert!(buf.bytes()[..1100].iter().all(|&byte| byte == 7));
        assert!(buf.bytes()[1100..].iter().all(|&byte| byte == 9));
    }
}

#[test]
fn an_end_in_the_middle_of_a_transfer_is_short() {
    let Some((mut engine, mut writer)) = on_pipe(1, UringOptions::default()) else { return };
    start_read(&mut engine);
    writer.write_all(&[7; 100]).expect("the reader is there");
    drop(writer);
    let completion = finish_read(&mut engine);
    assert_eq!(completion.result, Err(IoError::Short));
    buffer(completion.payload);
}

#[test]
fn a_wait_ends_at_its_time_although_nothing_completes() {
    for options in [UringOptions::default(), UringOptions::default().without(Feature::TimedWait)] {
        let Some((mut engine, writer)) = on_pipe(2, options) else { return };
        start_read(&mut engine);
        for ns in [20_000, 300_000, 15_000_000] {
            let until = engine.now().after(ns);
            let mut done = Vec::new();
            engine.wait(until, &mut done);
            assert!(done.is_empty() && engine.now() >= until);
        }
        drop(writer);
        assert_eq!(finish_read(&mut engine).result, Err(IoError::Short));
    }
}

/// Deferred completions do not wake whoever sleeps on the ring's descriptor, as a wait without a
/// time limit of its own does: this once took until the end.
#[test]
fn a_completion_ends_a_wait_long_before_its_time() {
    for options in [UringOptions::default(), UringOptions::default().without(Feature::TimedWait)] {
        let Some((mut engine, mut writer)) = on_pipe(2, options) else { return };
        start_read(&mut engine);
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            writer.write_all(&[7; 4096]).expect("the reader is there");
        });
        let until = engine.now().after(20_000_000_000);
        let mut done = Vec::new();
        let half_time = engine.now().after(10_000_000_000);
        engine.wait(until, &mut done);
        assert!(done.len() == 1 && engine.now() < half_time, "{}", engine.features());
        late.join().expect("it wrote");
    }
}

#[test]
fn polling_alone_brings_every_completion() {
    use Feature::*;
    for forbidden in
        [vec![], vec![TaskrunFlag], vec![DeferTaskrun], vec![DeferTaskrun, CoopTaskrun]]
    {
        let options = forbidden.into_iter().fold(UringOptions::default(), UringOptions::without);
        let Some((mut engine, mut writer)) = on_pipe(2, options) else { return };
        start_read(&mut engine);
        writer.write_all(&[7; 4096]).expect("the reader is there");
        let mut done = Vec::new();
        let patience = engine.now().after(10_000_000_000);
        while done.is_empty() {
            engine.wait(Instant(0), &mut done);
            assert!(engine.now() < patience, "{}", engine.features());
        }
    }
}

#[test]
fn the_descriptor_is_readable_when_a_completion_waits() {
    let Some((mut engine, mut writer)) = on_pipe(2, UringOptions::pollable()) else { return };
    start_read(&mut engine);
    let ring = engine.poll_fd().expect("a pollable ring has a descriptor");
    let is_readable = |seconds| {
        let limit = Timespec { tv_sec: seconds, tv_nsec: 0 };
        poll(&mut [PollFd::new(&ring, PollFlags::IN)], Some(&limit)).expect("poll works") == 1
    };
    assert!(!is_readable(0));
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        writer.write_all(&[7; 4096]).expect("the reader is there");
        writer
    });
    let start = Clock::start_monotonic();
    assert!(is_readable(20) && start.now() < Instant(20_000_000_000), "it wakes who sleeps on it");
    let _writer = late.join().expect("it wrote");
    let mut done = Vec::new();
    engine.wait(Instant(0), &mut done);
    assert_eq!(done.len(), 1);
}

#[test]
fn dropping_an_engine_waits_for_what_is_in_flight() {
    let Some((mut engine, mut writer)) = on_pipe(4, UringOptions::default()) else { return };
    let mut memory = engine.pool(2, 4096, Pages::Usual);
    for tag in 0..2 {
        engine.submit(request(tag, read(0, BLOCK_BYTES, memory.pop().expect("two buffers"))));
    }
    let mut done = Vec::new();
    engine.wait(Instant(0), &mut done);
    assert!(done.is_empty());
    // A third one never reaches the kernel.
    engine.submit(request(2, read(0, BLOCK_BYTES, Buf::zeroed(4096))));
    let answered = Arc::new(AtomicBool::new(false));
    let late = thread::spawn({
        let answered = Arc::clone(&answered);
        move || {
            thread::sleep(Duration::from_millis(20));
            answered.store(true, Ordering::SeqCst);
            writer.write_all(&[7; 8192]).expect("the reader is there: drop has not returned");
        }
    });
    drop(engine);
    assert!(answered.load(Ordering::SeqCst), "drop returned before the reads could be answered");
    late.join().expect("it wrote");
}

#[test]
fn an_engine_may_be_built_on_one_thread_and_used_on_another() {
    let path = Scratch::file("uring", &[5; 8192]);
    let file = File::open(&*path).expect("just made");
    let engine = Uring::new(Clock::start(), file, geometry(8192, 2), UringOptions::default());
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(error) => return skip(&error.to_string()),
    };
    let mut memory = engine.pool(1, 4096, Pages::Usual);
    let used = thread::spawn(move || {
        let answer = ask(&mut engine, read(0, BLOCK_BYTES, memory.pop().expect("one buffer")));
        assert_eq!(answer.result, Ok(()));
        assert!(buffer(answer.payload).bytes().iter().all(|&byte| byte == 5));
        engine
    });
    drop(used.join().expect("the other thread may use it"));
}

#[test]
fn an_engine_dropped_by_a_stranger_gives_its_memory_up_and_does_not_wait() {
    let Some((mut engine, mut writer)) = on_pipe(2, UringOptions::default()) else { return };
    start_read(&mut engine);
    thread::spawn(move || drop(engine)).join().expect("no panic, no wait");
    // The kernel cancels the read in its own time; what it still writes goes to leaked memory.
    let _ = writer.write_all(&[7; 4096]);
}

#[test]
fn registered_and_foreign_memory_may_be_mixed() {
    let path = Scratch::file("uring", &[5; 8192]);
    let file = File::open(&*path).expect("just made");
    let engine = Uring::new(Clock::start(), file, geometry(8192, 4), UringOptions::default());
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(error) => return skip(&error.to_string()),
    };
    let registered = engine.pool(2, 4096, Pages::Usual);
    let second_pool = engine.pool(1, 4096, Pages::Usual);
    if !engine.features().uses(Feature::RegisteredBuffers) {
        skip(&engine.features().to_string());
    }
    for buf in registered.into_iter().chain(second_pool).chain([Buf::zeroed(4096)]) {
        let answer = ask(&mut engine, read(4096, BLOCK_BYTES, buf));
        assert_eq!(answer.result, Ok(()));
        assert!(buffer(answer.payload).bytes().iter().all(|&byte| byte == 5));
    }
}

#[test]
fn a_block_device_tells_its_size_and_forgets_what_is_discarded() {
    let path = Scratch::file("loop", &vec![5; CAPACITY as usize]);
    let Some(device) = LoopDevice::over(path.to_path_buf(), &[]) else {
        return skip("the right to make a loop device");
    };
    let open = |create| {
        open_file(&device.path, Access::ReadWrite, Caching::Buffered, Syncing::None, create)
    };
    let file = open(Create::Existing).expect("nobody else uses it");
    assert_eq!(raw::device_bytes(&file).expect("a device"), CAPACITY);
    assert_eq!(raw::logical_block_bytes(&file).expect("a device"), 512);
    assert!(raw::physical_block_bytes(&file).expect("a device") >= 512);
    assert!(!raw::is_read_only(&file).expect("a device"));
    raw::optimal_io_bytes(&file).expect("a device");
    raw::drop_device_cache(&file).expect("root may");
    let busy = open(Create::Existing).expect_err("opened exclusively").to_string();
    assert!(busy.contains("in use"), "{busy}");
    open(Create::Held).expect("a worker shares the hold");

    let engine = Uring::new(Clock::start(), file, geometry(CAPACITY, 4), UringOptions::default());
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(error) => return skip(&error.to_string()),
    };
    for tag in 0..2 {
        engine.submit(request(tag, Command::Discard { offset: tag * 65_536, len: 65_536 }));
    }
    let mut done = Vec::new();
    while done.len() < 2 {
        engine.wait(Instant::NEVER, &mut done);
    }
    assert!(done.iter().all(|completion| completion.result == Ok(())), "{done:?}");
    for offset in [0, 65_536] {
        let answer = ask(&mut engine, read(offset, 65_536, Buf::zeroed(65_536)));
        assert_eq!(answer.result, Ok(()));
        assert!(buffer(answer.payload).bytes().iter().all(|&byte| byte == 0));
    }
    let answer = ask(&mut engine, write(0, BLOCK_BYTES, Buf::zeroed(4096), Durability::Fua));
    assert_eq!(answer.result, Ok(()));
    let answer = ask(&mut engine, read(131_072, BLOCK_BYTES, buffer(answer.payload)));
    assert!(buffer(answer.payload).bytes().iter().all(|&byte| byte == 5), "the rest is kept");
    assert_eq!(ask(&mut engine, Command::Flush).result, Ok(()));
}
