use super::*;
use block::{Data, Geometry, Pages, Wrapper};
use engine::{Clock, Memory};
use nbd::Kind;
use std::collections::BTreeMap;

const SIZE: u64 = 4 << 20;
const TRANSFER: u32 = 64 << 10;
const DEPTH: u16 = 4;

/// A drive of RAM that fails as it is told, and notes what it was asked for.
struct Drive0 {
    memory: Memory,
    asked: Vec<String>,
    fails: Vec<(&'static str, IoError)>,
    words: BTreeMap<Tag, &'static str>,
}

impl Wrapper for Drive0 {
    type Inner = Memory;

    fn inner(&self) -> &Memory {
        &self.memory
    }

    fn inner_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn on_submit(&mut self, request: &block::Request) {
        let (word, range) = match &request.command {
            Command::Read { at, .. } => ("read", Some((at.offset, u64::from(at.bytes)))),
            Command::Write { at, durability: Durability::Fua, .. } => {
                ("force", Some((at.offset, u64::from(at.bytes))))
            }
            Command::Write { at, .. } => ("write", Some((at.offset, u64::from(at.bytes)))),
            Command::Flush => ("flush", None),
            Command::Discard { offset, len } => ("discard", Some((*offset, *len))),
        };
        self.words.insert(request.tag, word);
        self.asked.push(match range {
            Some((offset, bytes)) => format!("{word} {offset} {bytes}"),
            None => word.to_owned(),
        });
    }

    fn on_done(&mut self, done: &mut [Completion]) {
        for completion in done {
            let word = self.words[&completion.tag];
            if let Some((_, error)) = self.fails.iter().find(|(failing, _)| *failing == word) {
                completion.result = Err(*error);
            }
        }
    }
}

struct Bench {
    service: Service<Drive0>,
    /// Memory of each place that is not asked for.
    memory: Vec<Option<Buf>>,
}

impl Bench {
    fn new(discarded: Discarded, read_only: bool) -> Self {
        let geometry = Geometry {
            capacity_bytes: SIZE,
            block_bytes: 512,
            transfer_bytes_max: TRANSFER,
            queue_depth: DEPTH.into(),
            data: Data::Stored,
        };
        let memory = Memory::new(Clock::start(), geometry);
        let (asked, fails, words) = (Vec::new(), Vec::new(), BTreeMap::new());
        let parameters = Parameters {
            size_bytes: SIZE,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            transfer_bytes_max: TRANSFER,
            read_only,
            volatile_cache: true,
            discard_bytes_max: SIZE,
            zeroing_bytes_max: SIZE,
        };
        let engine = Drive0 { memory, asked, fails, words };
        let memory = Buf::pool(DEPTH.into(), TRANSFER as usize, Pages::Usual)
            .1
            .into_iter()
            .map(Some)
            .collect();
        Self { service: Service::new(engine, parameters, discarded, DEPTH), memory }
    }

    fn fail(&mut self, word: &'static str, error: IoError) {
        self.service.engine.fails.push((word, error));
    }

    /// Asks and waits for the answer.
    fn ask(&mut self, operation: Operation, offset: u64, bytes: u64) -> i32 {
        self.ask_so(operation, offset, bytes, false, false)
    }

    fn ask_so(
        &mut self,
        operation: Operation,
        offset: u64,
        bytes: u64,
        forced: bool,
        no_hole: bool,
    ) -> i32 {
        let buffer = self.memory[0].take().expect("the place is free");
        let asked = Asked { tag: 0, operation, forced, no_hole, offset, bytes, buffer };
        let mut answer = self.service.begin(asked);
        while answer.is_none() {
            let mut done = Vec::new();
            self.service.engine.wait(Instant::NEVER, &mut done);
            for completion in done {
                answer = answer.or(self.service.complete(completion));
            }
        }
        let Answer { tag, result, buffer } = answer.expect("an answer");
        assert_eq!(tag, 0);
        self.memory[0] = Some(buffer);
        assert!(!self.service.is_busy());
        result
    }

    fn memory(&mut self) -> &mut [u8] {
        self.memory[0].as_mut().expect("the place is free").bytes_mut()
    }

    fn asked(&mut self) -> Vec<String> {
        std::mem::take(&mut self.service.engine.asked)
    }
}

fn number(error: Errno) -> i32 {
    -error.raw_os_error()
}

#[test]
fn every_size_is_written_and_read_as_it_was_asked_for() {
    let mut bench = Bench::new(Discarded::Unknown, false);
    for (round, sectors) in [1, 2, 7, 8, 9, 64, 127, 128].into_iter().enumerate() {
        let (offset, bytes) = (512 * (round as u64 + 1), 512 * sectors);
        let value = round as u8 + 1;
        bench.memory().fill(value);
        assert_eq!(bench.ask(Operation::Write, offset, bytes), bytes as i32);
        bench.memory().fill(0);
        assert_eq!(bench.ask(Operation::Read, offset, bytes), bytes as i32);
        let (read, rest) = bench.memory().split_at(bytes as usize);
        assert!(read.iter().all(|&byte| byte == value) && rest.iter().all(|&byte| byte == 0));
        let expected = [format!("write {offset} {bytes}"), format!("read {offset} {bytes}")];
        assert_eq!(bench.asked(), expected);
    }
    let traffic = bench.service.traffic;
    assert_eq!((traffic.of(Kind::Write).requests, traffic.of(Kind::Read).requests), (8, 8));
    assert_eq!(traffic.of(Kind::Write).bytes, 512 * (1 + 2 + 7 + 8 + 9 + 64 + 127 + 128));
}

#[test]
fn a_flush_and_what_is_forced_reach_the_drive_as_such() {
    let mut bench = Bench::new(Discarded::ReadsZero, false);
    assert_eq!(bench.ask(Operation::Flush, 77, 0), 0);
    assert_eq!(bench.ask_so(Operation::Write, 0, 4096, true, false), 4096);
    assert_eq!(bench.ask_so(Operation::Discard, 0, 4096, true, false), 0);
    assert_eq!(bench.asked(), ["flush", "force 0 4096", "discard 0 4096", "flush"]);
}

#[test]
fn zeroes_are_a_hole_where_that_reads_as_zeroes_and_is_allowed() {
    let range = (4096, u64::from(TRANSFER) * 2 + 512);
    let written = ["write 4096 65536", "write 69632 65536", "write 135168 512"];
    for (discarded, no_hole, expected) in [
        (Discarded::ReadsZero, false, &["discard 4096 131584"][..]),
        (Discarded::ReadsZero, true, &written),
        (Discarded::Unknown, false, &written),
    ] {
        let mut bench = Bench::new(discarded, false);
        bench.memory().fill(7);
        for offset in (0..4).map(|place| place * u64::from(TRANSFER)) {
            bench.ask(Operation::Write, offset, TRANSFER.into());
        }
        bench.asked();
        let zeroed = bench.ask_so(Operation::WriteZeroes, range.0, range.1, false, no_hole);
        assert_eq!((zeroed, bench.asked()), (0, expected.iter().map(|&one| one.into()).collect()));
        for sector in 0..4 * u64::from(TRANSFER) / 512 {
            bench.ask(Operation::Read, sector * 512, 512);
            let inside = (range.0..range.0 + range.1).contains(&(sector * 512));
            let value = if inside { 0 } else { 7 };
            assert!(bench.memory()[..512].iter().all(|&byte| byte == value), "sector {sector}");
        }
    }
}

#[test]
fn nothing_is_changed_on_a_disk_that_is_only_read() {
    let mut bench = Bench::new(Discarded::ReadsZero, true);
    for operation in [Operation::Write, Operation::Discard, Operation::WriteZeroes] {
        assert_eq!(bench.ask(operation, 0, 4096), number(Errno::PERM), "{operation:?}");
    }
    assert_eq!(bench.ask(Operation::Read, 0, 4096), 4096);
    assert_eq!(bench.asked(), ["read 0 4096"]);
}

#[test]
fn what_makes_no_sense_is_answered_and_not_asked_of_the_drive() {
    let mut bench = Bench::new(Discarded::Unknown, false);
    for (operation, offset, bytes) in [
        (Operation::Read, SIZE, 512),
        (Operation::Read, SIZE - 512, 1024),
        (Operation::Write, 0, u64::from(TRANSFER) + 512),
        (Operation::Write, 100, 512),
        (Operation::Write, 0, 100),
        (Operation::Discard, u64::MAX - 511, 1024),
        (Operation::Read, 0, 0),
    ] {
        let answer = bench.ask(operation, offset, bytes);
        assert_eq!(answer, number(Errno::INVAL), "{operation:?} {offset} {bytes}");
    }
    assert_eq!(bench.ask(Operation::Unknown(17), 0, 512), number(Errno::OPNOTSUPP));
    assert!(bench.asked().is_empty());
}

#[test]
fn failures_have_numbers_that_the_kernel_knows() {
    for (error, expected) in [
        (IoError::Medium, Errno::NODATA),
        (IoError::Offline, Errno::IO),
        (IoError::Short, Errno::IO),
        (IoError::Os(Errno::NOSPC.raw_os_error()), Errno::NOSPC),
        (IoError::Os(Errno::DQUOT.raw_os_error()), Errno::NOSPC),
        // One that would have the kernel ask for ever.
        (IoError::Os(Errno::AGAIN.raw_os_error()), Errno::IO),
    ] {
        let mut bench = Bench::new(Discarded::Unknown, false);
        bench.fail("read", error);
        bench.fail("write", error);
        assert_eq!(bench.ask(Operation::Read, 0, 512), number(expected), "{error:?}");
        assert_eq!(bench.ask(Operation::Write, 0, 512), number(expected), "{error:?}");
        assert_eq!(bench.service.lost(), None, "a write that was not forced promised nothing");
        assert_eq!(bench.service.traffic.failures(), 2);
    }
}

#[test]
fn a_discard_that_the_drive_cannot_is_no_failure_and_zeroes_that_it_cannot_are() {
    let mut bench = Bench::new(Discarded::ReadsZero, false);
    bench.fail("discard", IoError::Os(Errno::OPNOTSUPP.raw_os_error()));
    assert_eq!(bench.ask(Operation::Discard, 0, 4096), 0);
    assert_eq!(bench.ask(Operation::WriteZeroes, 0, 4096), number(Errno::OPNOTSUPP));
}

/// The system reports a lost page once and then calls it clean: a second flush would succeed.
#[test]
fn after_a_failed_flush_no_change_is_answered_well() {
    let forced = |bench: &mut Bench| bench.ask_so(Operation::Write, 0, 512, true, false);
    let flushed = |bench: &mut Bench| bench.ask(Operation::Flush, 0, 0);
    let discarded = |bench: &mut Bench| bench.ask_so(Operation::Discard, 0, 512, true, false);
    let ways =
        [("force", forced as fn(&mut Bench) -> i32), ("flush", flushed), ("flush", discarded)];
    for (word, ask) in ways {
        let mut bench = Bench::new(Discarded::Unknown, false);
        bench.fail(word, IoError::Os(Errno::IO.raw_os_error()));
        assert_eq!(ask(&mut bench), number(Errno::IO));
        assert!(bench.service.lost().is_some() && bench.service.traffic.refuses_changes);
        bench.service.engine.fails.clear();
        assert_eq!(bench.ask(Operation::Write, 0, 512), number(Errno::IO));
        assert_eq!(bench.ask(Operation::Flush, 0, 0), number(Errno::IO));
        assert_eq!(bench.ask(Operation::Discard, 0, 512), number(Errno::IO));
        assert_eq!(bench.ask(Operation::Read, 0, 512), 512);
    }
}

#[test]
fn a_forced_write_that_found_no_space_takes_no_trust_with_it() {
    let mut bench = Bench::new(Discarded::Unknown, false);
    bench.fail("force", IoError::Os(Errno::NOSPC.raw_os_error()));
    assert_eq!(bench.ask_so(Operation::Write, 0, 512, true, false), number(Errno::NOSPC));
    assert_eq!(bench.service.lost(), None);
}

#[test]
fn the_last_flush_tells_whether_everything_lasts() {
    let mut bench = Bench::new(Discarded::Unknown, false);
    for (fails, is_lost) in [(false, false), (true, true)] {
        if fails {
            bench.fail("flush", IoError::Offline);
        }
        bench.service.flush_last();
        while bench.service.is_busy() {
            let mut done = Vec::new();
            bench.service.engine.wait(Instant::NEVER, &mut done);
            assert!(done.into_iter().all(|one| bench.service.complete(one).is_none()));
        }
        assert_eq!(bench.service.lost().is_some(), is_lost);
    }
}
