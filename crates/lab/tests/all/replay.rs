//! A replay: operations begin at the trace's times, whatever the target does.

use crate::scripted::{Kind, Lab, Logged, Scripted, Watcher, cell};
use block::IoError;
use lab::{
    method::{CellBound, CellSpec, Method},
    plan::{Options, Plan},
    runner::{RunError, run},
    target::Target,
    workload::{
        Op, Pattern, Stream,
        replay::{Asked, Feed, ReplayCell, Script, Speed, Survey, What},
    },
};
use record::{Record, State};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const READ_CELL: &str = "[[cell]]\nname = 'replay'\nop = 'read'\nbound = 'once'\n";

/// A script that is a list.
struct List(Vec<Asked>);
struct Reading(std::vec::IntoIter<Asked>);

impl Script for List {
    fn open(&self) -> Result<Box<dyn Feed>, String> {
        Ok(Box::new(Reading(self.0.clone().into_iter())))
    }
}

impl Feed for Reading {
    fn next(&mut self) -> Result<Option<Asked>, String> {
        Ok(self.0.next())
    }
}

fn read(after_ns: u64, offset: u64) -> Asked {
    Asked { after_ns, what: What::Read, offset, bytes: 4096 }
}

struct Replay {
    asked: Vec<Asked>,
    speed: Speed,
    depth: u32,
    streams: &'static [(&'static str, Op)],
    options: Options,
}

impl Replay {
    fn of(asked: Vec<Asked>) -> Self {
        let options = Options { seed: 7, passes: Some(1), ..Options::default() };
        let streams = &[("read", Op::Read)];
        Self { asked, speed: Speed::Times(1.0), depth: 8, streams, options }
    }

    fn plan(&self, target: &Scripted) -> Plan {
        let text = &Lab::new(target, READ_CELL).method;
        let mut method = Method::parse("replay", text, &[]).expect("a method");
        let mut survey = Survey { name: "list".to_owned(), ..Survey::default() };
        for asked in &self.asked {
            survey.operations[asked.what as usize] += 1;
            survey.bytes[asked.what as usize] += asked.bytes;
            survey.duration_ns = asked.after_ns;
            survey.transfer_bytes_max = 65_536;
            survey.written_bytes_max += asked.bytes;
        }
        let stream = |(name, op): &(&str, Op)| Stream {
            name: (*name).to_owned(),
            queue_depth: self.depth,
            ..Stream::new(*op, Pattern::Random, 65_536)
        };
        let streams = self.streams.iter().map(stream).collect();
        let (script, speed) = (Arc::new(List(self.asked.clone())) as Arc<dyn Script>, self.speed);
        method.cells = vec![CellSpec {
            replay: Some(ReplayCell { script, speed, survey }),
            ..CellSpec::of_streams("replay", streams, CellBound::Once)
        }];
        Plan::new(method, &self.options, &[target.offer()]).expect("a plan")
    }

    fn run(&self, target: &Scripted) -> Record {
        let mut record = Lab::new(target, READ_CELL).record();
        self.go(target, &mut record).expect("a run without errors");
        assert_eq!(record.state, State::Complete);
        record
    }

    fn go(&self, target: &Scripted, record: &mut Record) -> Result<(), RunError> {
        let mut targets: Vec<Box<dyn Target>> = vec![Box::new(target.clone())];
        run(&self.plan(target), &mut targets, record, &mut Watcher::default())
    }
}

/// When requests of a kind were issued, ns from the first one.
fn begun(target: &Scripted, kind: Kind) -> Vec<u64> {
    let life = target.life.borrow();
    let mut all: Vec<&Logged> = life.log.iter().filter(|logged| logged.kind == kind).collect();
    all.sort_by_key(|logged| logged.issued);
    let first = all[0].issued;
    all.iter().map(|logged| logged.issued.since(first)).collect()
}

/// fio subtracts no submission time from the next wait, and its replays drift to twice their length
/// and more (axboe/fio#1537). Ten minutes at a hundred a second, each at its own odd time.
#[test]
fn ten_minutes_begin_to_the_nanosecond_where_the_trace_says() {
    let times: Vec<u64> = (0..60_000u64).map(|at| at * 10 * MS + at * at % 997).collect();
    let target = Scripted::new(|at| at.about(3 * MS));
    let record =
        Replay::of(times.iter().map(|at| read(*at, at / MS * 4096)).collect()).run(&target);
    assert_eq!(begun(&target, Kind::Read), times);
    let cell = cell(&record, "replay");
    let replay = cell.replay.as_ref().expect("what a replay did");
    assert_eq!(replay.lateness.as_ref().map(|late| (late.n, late.max_ns)), Some((60_000, 0)));
    assert!((cell.passes[0].total.seconds - 600.0).abs() < 0.2, "{:?}", cell.passes[0].total);
}

/// One slot, five operations at once, each of 5 ms: they are late by 0, 5, 10 ... ms. The next one,
/// a second later, is on time again: lateness is never handed on.
#[test]
fn what_finds_no_slot_is_late_and_counted_and_the_next_keeps_its_time() {
    let target = Scripted::new(|_| 5 * MS);
    let asked = (0..5).map(|at| read(0, at * 4096)).chain([read(1000 * MS, 0)]).collect();
    let record = Replay { depth: 1, ..Replay::of(asked) }.run(&target);
    assert_eq!(begun(&target, Kind::Read), [0, 5, 10, 15, 20, 1000].map(|ms| ms * MS));
    let cell = cell(&record, "replay");
    let replay = cell.replay.as_ref().expect("what a replay did");
    let (late, service) = (replay.lateness.as_ref(), replay.service.as_ref());
    assert_eq!(late.map(|late| (late.n, late.max_ns)), Some((6, 20 * MS)));
    // From its own time the last of the five took 25 ms, from its submission 5.
    assert_eq!(cell.latency.as_ref().map(|all| all.max_ns), Some(25 * MS));
    assert_eq!(service.map(|all| (all.min_ns, all.max_ns)), Some((5 * MS, 5 * MS)));
}

#[test]
fn twice_the_speed_is_half_the_time() {
    let target = Scripted::calm();
    let asked: Vec<Asked> = (0..100).map(|at| read(at * 10 * MS, at * 4096)).collect();
    Replay { speed: Speed::Times(2.0), ..Replay::of(asked) }.run(&target);
    let expected: Vec<u64> = (0..100).map(|at| at * 5 * MS).collect();
    assert_eq!(begun(&target, Kind::Read), expected);
}

/// Without times the queue is kept full: four of 1 ms at once, 8 slots, 4,000 a second.
#[test]
fn as_fast_as_it_goes_keeps_the_queue_full() {
    let target = Scripted::new(|_| MS);
    let asked: Vec<Asked> = (0..4000).map(|at| read(at * 1000 * MS, at * 4096)).collect();
    let record = Replay { speed: Speed::Max, ..Replay::of(asked) }.run(&target);
    let cell = cell(&record, "replay");
    assert!((cell.iops - 4000.0).abs() < 20.0, "{}", cell.iops);
    assert_eq!(cell.replay.as_ref().map(|replay| replay.lateness.is_none()), Some(true));
}

#[test]
fn reads_and_writes_are_cells_of_their_own_and_flushes_stand_with_the_writes() {
    let target = Scripted::calm();
    let asked = |at: u64, what| match what {
        What::Flush => Asked { after_ns: at * MS, what, offset: 0, bytes: 0 },
        what => Asked { after_ns: at * MS, what, offset: (at % 50) * 512 + (1 << 40), bytes: 512 },
    };
    let kinds = [What::Read, What::Write, What::Read, What::Flush];
    let asked: Vec<Asked> = (0..400).map(|at| asked(at, kinds[at as usize % 4])).collect();
    let streams = &[("read", Op::Read), ("write", Op::Write)];
    let record = Replay { streams, ..Replay::of(asked.clone()) }.run(&target);
    let (reads, writes) = (cell(&record, "replay/read"), cell(&record, "replay/write"));
    assert_eq!((reads.op.as_str(), reads.total.operations), ("read", 200));
    assert_eq!((writes.op.as_str(), writes.total.operations), ("write", 100));
    assert_eq!(writes.flush_latency.as_ref().map(|all| all.n), Some(100));
    assert_eq!((reads.total.bytes, reads.pattern.as_str()), (200 * 512, "trace"));
    // 1 TiB lies beyond 1 GiB.
    let wrapped = |cell: &record::Cell| cell.replay.as_ref().map(|replay| replay.wrapped);
    assert_eq!((wrapped(reads), wrapped(writes)), (Some(200), Some(100)));
    // Without a stream for them, writes and flushes are left out.
    let target = Scripted::calm();
    let record = Replay::of(asked).run(&target);
    assert_eq!((record.cells.len(), record.cells[0].total.operations), (1, 200));
    assert!(target.life.borrow().log.iter().all(|logged| logged.kind == Kind::Read));
}

/// A drive whose block is 4 KiB cannot read 512 bytes.
#[test]
fn places_are_put_on_the_targets_blocks_and_counted() {
    let target = Scripted::calm().with(|facts| facts.offer.block_bytes = 4096);
    let asked = Asked { after_ns: 0, what: What::Read, offset: 5000, bytes: 512 };
    let record = Replay::of(vec![asked, read(MS, 8192)]).run(&target);
    let life = target.life.borrow();
    let places: Vec<(u64, u32)> = life.log.iter().map(|at| (at.offset, at.bytes)).collect();
    assert_eq!(places, [(4096, 4096), (8192, 4096)]);
    assert_eq!(record.cells[0].replay.as_ref().map(|replay| replay.aligned), Some(1));
}

#[test]
fn a_request_that_fails_ends_the_replay_or_is_counted() {
    let failing = || Scripted::calm().failing(|at| (at.number == 50).then_some(IoError::Medium));
    let asked: Vec<Asked> = (0..100).map(|at| read(at * MS, at * 4096)).collect();
    let mut record = Lab::new(&failing(), READ_CELL).record();
    let outcome = Replay::of(asked.clone()).go(&failing(), &mut record);
    assert!(matches!(outcome, Err(RunError::Failed(_))), "{outcome:?}");
    assert_eq!(record.state, State::Failed);
    let mut replay = Replay::of(asked);
    replay.options.on_error = Some(lab::workload::OnError::Count);
    let record = replay.run(&failing());
    assert_eq!(record.cells[0].total.operations, 99);
    assert_eq!(record.cells[0].errors.as_ref().map(|errors| errors.count), Some(1));
}

/// What a plan says before the first byte.
#[test]
fn a_plan_knows_how_long_a_replay_takes_and_what_it_writes() {
    let asked =
        |at: u64| Asked { after_ns: at * 1000 * MS, what: What::Write, offset: 0, bytes: 4096 };
    let streams = &[("write", Op::Write)];
    let replay = Replay { streams, ..Replay::of((0..61).map(asked).collect()) };
    let plan = replay.plan(&Scripted::calm());
    assert_eq!(plan.seconds, (60.0, 60.0));
    assert_eq!(plan.pass_written_max(&plan.cells[0]), 61 * 4096);
    let outline = plan.outline();
    assert_eq!(outline.cells[0].title, "list: 61 writes, at its own times");
    assert!(outline.cells[0].course.starts_with("once through"), "{}", outline.cells[0].course);
}
