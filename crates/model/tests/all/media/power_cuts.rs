//! Power cuts through the front door: a drive under [`Sim`], a caller who believes its answers, and
//! the history that the caller could have kept.

use super::{
    drive::{DEPTH, ask, request, sectors},
    history::History,
};
use block::{
    Command, Completion, Data, Drive, Durability, Engine, Extent, Instant, IoError, Payload, Rng,
};
use model::{
    Bank, Choices, Contents, Fault, FaultPlan, Faults, Flushes, Grain, Media, Rig, Sim, When,
    Witness, WriteCache,
};
use std::collections::BTreeMap;
use testkit::Shuffling;

const SECTORS: u64 = 16;
const BYTES: u64 = SECTORS * 512;

fn media() -> Media {
    Media::new(BYTES, 512, Contents::Stamps)
}

fn write(first: u64, count: u64, stamp: u64, durability: Durability) -> Command {
    Command::Write { at: sectors(first, count), from: Payload::Stamp(stamp), durability }
}

/// What happened over many cuts.
#[derive(Debug, Default)]
struct Tally {
    flushed_kept: u64,
    flushed_lost: u64,
    fua_kept: u64,
    unflushed_lost: u64,
    torn: u64,
    reordered: u64,
    in_flight_landed: u64,
}

/// A caller with a seed: submits writes, FUA writes, discards and flushes, and keeps the history of
/// it.
struct Caller {
    rng: Rng,
    history: History,
    open: BTreeMap<u64, Open>,
    next_tag: u64,
}

enum Open {
    Write(usize),
    Flush(usize),
}

impl Caller {
    fn new(seed: u64) -> Self {
        let (rng, history) = (Rng::new(seed, 2), History::default());
        Self { rng, history, open: BTreeMap::new(), next_tag: 1 }
    }

    fn submit(&mut self, engine: &mut impl Engine) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let first = self.rng.below(SECTORS - 3);
        let count = 1 + self.rng.below(4).min(SECTORS - first - 1);
        let range = first..first + count;
        let (command, open) = match self.rng.below(16) {
            0 | 1 => (Command::Flush, Open::Flush(self.history.begin_flush())),
            2 => {
                let at = sectors(first, count);
                let past = self.history.begin(range, 0, false);
                let (offset, len) = (at.offset, u64::from(at.bytes));
                (Command::Discard { offset, len }, Open::Write(past))
            }
            3 => {
                let past = self.history.begin(range, tag, true);
                (write(first, count, tag, Durability::Fua), Open::Write(past))
            }
            _ => {
                let past = self.history.begin(range, tag, false);
                (write(first, count, tag, Durability::Cached), Open::Write(past))
            }
        };
        engine.submit(request(tag, Drive(0), command));
        self.open.insert(tag, open);
    }

    fn take(&mut self, done: &mut Vec<Completion>) {
        for completion in done.drain(..) {
            let open = self.open.remove(&completion.tag.0).expect("the tag is open");
            match (open, completion.result) {
                (Open::Write(past), Ok(())) => self.history.complete(past),
                (Open::Flush(past), Ok(())) => self.history.complete_flush(past),
                (_, Err(error)) => assert_eq!(error, IoError::Offline),
            }
        }
    }

    /// Keeps the drive busy for some operations, then takes the answers of a time more.
    fn work(&mut self, engine: &mut impl Engine) {
        let mut done = Vec::new();
        for _ in 0..5 + self.rng.below(40) {
            while self.open.len() < DEPTH as usize / 2 {
                self.submit(engine);
            }
            engine.wait(Instant::NEVER, &mut done);
            self.take(&mut done);
        }
        engine.wait(engine.now().after(self.rng.below(30_000)), &mut done);
        self.take(&mut done);
    }

    /// Holds what the drive has after the cut against what it could have.
    fn check(&self, values: &[u64], tally: &mut Tally) {
        let history = &self.history;
        for (sector, value) in (0..).zip(values) {
            let (step, _) = history.last_durable(sector);
            let admissible = history.admissible(sector).contains(value);
            if step > 0 {
                *if admissible { &mut tally.flushed_kept } else { &mut tally.flushed_lost } += 1;
            }
            if admissible && *value != history.visible(sector) {
                tally.unflushed_lost += 1;
            }
        }
        let held = |past: &super::history::Past| {
            let kept = past.sectors.clone().filter(|&at| values[at as usize] == past.value);
            (past.value != 0).then_some(kept.count() as u64)
        };
        tally.fua_kept +=
            history.writes.iter().filter(|past| past.through).filter_map(held).sum::<u64>();
        let mut lost_before = false;
        for past in history.unflushed() {
            // Only writes that nothing later touched tell lost from overwritten.
            let size = past.sectors.end - past.sectors.start;
            let alone = past.sectors.clone().all(|at| history.visible(at) == past.value);
            let Some(kept) = held(past).filter(|_| alone) else { continue };
            tally.torn += u64::from(kept > 0 && kept < size);
            tally.reordered += u64::from(lost_before && kept > 0);
            lost_before |= kept == 0;
        }
        for open in self.open.values() {
            if let Open::Write(past) = open {
                tally.in_flight_landed += held(&history.writes[*past]).unwrap_or(0);
            }
        }
    }
}

/// Runs one life of a drive, cuts its power, and reads it back on a fresh machine.
fn live_and_die(seed: u64, plan: FaultPlan, tally: &mut Tally) {
    let machine = || Shuffling::new(BYTES, seed);
    let faults = Faults::new(plan, Drive(0));
    let cache =
        WriteCache::Volatile { bytes_max: if seed.is_multiple_of(4) { 4096 } else { u64::MAX } };
    let rig = Rig::new(machine(), vec![media().with_cache(cache)]).with_faults(Drive(0), faults);
    let mut sim = Sim::new(rig);
    let mut caller = Caller::new(seed);
    caller.work(&mut sim);
    sim.power_cut(seed);
    let in_flight = caller.open.len();
    let mut done = Vec::new();
    while done.len() < in_flight {
        sim.wait(Instant::NEVER, &mut done);
    }
    assert!(done.iter().all(|answer| answer.result == Err(IoError::Offline)));
    assert_eq!(ask(&mut sim, Command::Flush).result, Err(IoError::Offline));

    let mut restarted = Sim::with_media(machine(), sim.into_media());
    let values: Vec<u64> = (0..SECTORS).map(|sector| read(&mut restarted, sector)).collect();
    caller.check(&values, tally);
}

fn read(engine: &mut impl Engine, sector: u64) -> u64 {
    let command = Command::Read { at: sectors(sector, 1), into: Payload::Stamp(0) };
    let answer = ask(engine, command);
    let (Ok(()), Payload::Stamp(stamp)) = (answer.result, answer.payload) else {
        panic!("a healthy drive answers {:?}", answer.result)
    };
    stamp
}

#[test]
fn in_ten_thousand_power_cuts_a_drive_loses_nothing_flushed_and_much_that_was_not() {
    let mut tally = Tally::default();
    for seed in 0..10_000 {
        live_and_die(seed, FaultPlan::new(seed), &mut tally);
        assert_eq!(tally.flushed_lost, 0, "seed {seed}");
    }
    eprintln!("{tally:?}");
    assert!(tally.flushed_kept > 10_000 && tally.fua_kept > 10_000, "{tally:?}");
    assert!(tally.unflushed_lost > 10_000, "{tally:?}");
    assert!(tally.torn > 1_000 && tally.reordered > 1_000, "{tally:?}");
    assert!(tally.in_flight_landed > 1_000, "{tally:?}");
}

/// The check above can fail: a drive whose flushes lie fails it.
#[test]
fn lying_flushes_and_lost_writes_are_found_out_by_the_same_check() {
    for fault in [Fault::LyingFlush, Fault::LostWrite, Fault::MisdirectedWrite] {
        let mut tally = Tally::default();
        for seed in 0..300 {
            live_and_die(seed, FaultPlan::new(seed).with(fault, When::OneIn(2)), &mut tally);
        }
        assert!(tally.flushed_lost > 30, "{fault}: {tally:?}");
    }
}

#[test]
fn a_restart_need_not_wait_for_the_last_answers() {
    let mut sim = Sim::with_media(Shuffling::new(BYTES, 1), vec![media()]);
    sim.submit(request(1, Drive(0), write(0, 1, 7, Durability::Fua)));
    sim.power_cut(1);
    assert_eq!(sim.into_media().len(), 1);
}

#[test]
#[should_panic(expected = "1 requests in flight")]
fn media_are_not_taken_from_a_drive_at_work() {
    let mut sim = Sim::with_media(Shuffling::new(BYTES, 1), vec![media()]);
    sim.submit(request(1, Drive(0), write(0, 1, 7, Durability::Fua)));
    sim.into_media();
}

/// Everything that a run with this seed did, in three numbers.
fn trace(seed: u64) -> (u64, u64, Vec<u64>) {
    let plan = FaultPlan::new(seed)
        .with(Fault::LostWrite, When::OneIn(9))
        .with(Fault::Slow { times: 3 }, When::OneIn(5))
        .with(Fault::MisdirectedWrite, When::OneIn(7));
    let rig = Rig::new(Shuffling::new(BYTES, seed), vec![media()])
        .with_faults(Drive(0), Faults::new(plan, Drive(0)));
    let mut witness = Witness::new(Sim::new(rig));
    Caller::new(seed).work(&mut witness);
    witness.engine.power_cut(seed);
    let (hash, injected) =
        (witness.hash(), witness.engine.machine.faults(Drive(0)).injected_count());
    let cut = witness.engine.machine.media(Drive(0)).clone();
    let mut restarted = Sim::with_media(Shuffling::new(BYTES, seed), vec![cut]);
    (hash, injected, (0..SECTORS).map(|sector| read(&mut restarted, sector)).collect())
}

#[test]
fn a_seed_replays_times_faults_and_losses() {
    for seed in 0..50 {
        assert_eq!(trace(seed), trace(seed));
        assert_ne!(trace(seed), trace(seed + 1));
    }
}

/// Debug and release, today and later: printed by whoever changes a stream on purpose.
#[test]
fn the_trace_of_a_seed_is_the_same_in_every_build() {
    let values = vec![0, 0, 4, 16, 1, 1, 1, 9, 9, 0, 8, 17, 17, 17, 17, 0];
    assert_eq!(trace(7), (2_832_624_712_054_118_084, 6, values));
}

#[test]
fn stored_contents_do_not_change_the_times() {
    let times = |contents| {
        let media = Media::new(BYTES, 512, contents);
        let mut witness = Witness::new(Sim::with_media(Shuffling::new(BYTES, 4), vec![media]));
        run_mixed(&mut witness, contents);
        witness.hash()
    };
    let mut bare = Witness::new(Sim::new(Shuffling::new(BYTES, 4)));
    run_mixed(&mut bare, Contents::Nothing);
    assert_eq!(bare.hash(), times(Contents::Nothing));
    assert_eq!(bare.hash(), times(Contents::Stamps));
    assert_eq!(bare.geometry(Drive(0)).data, Data::TimingOnly);
    assert_eq!(
        Sim::with_media(Shuffling::new(BYTES, 4), vec![media()]).geometry(Drive(0)).data,
        Data::Stored
    );
}

fn run_mixed(engine: &mut impl Engine, contents: Contents) {
    let (mut rng, mut done) = (Rng::new(8, 0), Vec::new());
    let payload = || match contents {
        Contents::Stamps => Payload::Stamp(7),
        _ => Payload::None,
    };
    for tag in 0..200 {
        let at = sectors(rng.below(SECTORS), 1);
        let command = match rng.below(4) {
            0 => Command::Flush,
            1 => Command::Discard { offset: at.offset, len: 512 },
            2 => Command::Read { at, into: payload() },
            _ => Command::Write { at, from: payload(), durability: Durability::Cached },
        };
        engine.submit(request(tag, Drive(0), command));
        if tag >= u64::from(DEPTH) - 1 {
            let before = done.len();
            engine.wait(Instant::NEVER, &mut done);
            assert_eq!(done.len(), before + 1);
        }
    }
}

#[test]
fn the_drives_of_a_bank_lose_each_its_own() {
    let bank = || {
        let member = |seed| Box::new(Shuffling::new(BYTES, seed)) as Box<dyn block::Machine>;
        Bank::new(vec![member(1), member(2)])
    };
    let mut differing = 0;
    for seed in 0..100 {
        let mut sim = Sim::with_media(bank(), vec![media(), media()]);
        for drive in 0..2 {
            for tag in 0..SECTORS / 2 {
                let command = write(tag * 2, 1, tag + 1, Durability::Cached);
                sim.submit(request(tag + 100 * drive, Drive(drive as u16), command));
            }
        }
        sim.power_cut(seed);
        let mut done = Vec::new();
        while done.len() < SECTORS as usize {
            sim.wait(Instant::NEVER, &mut done);
        }
        let order: Vec<u64> = done.iter().map(|answer| answer.tag.0).collect();
        assert!(order.is_sorted(), "answered in the order of submission: {order:?}");
        let held: Vec<Vec<u64>> = sim
            .into_media()
            .into_iter()
            .map(|medium| {
                let mut alone = Sim::with_media(Shuffling::new(BYTES, 0), vec![medium]);
                (0..SECTORS).map(|sector| read(&mut alone, sector)).collect()
            })
            .collect();
        differing += u64::from(held[0] != held[1]);
    }
    assert!(differing > 50, "{differing} of 100");
}

/// Whether a writer that puts data into sectors 0 and 1 and a commit mark into sector 2 ever leaves
/// the mark without the data, over every crash point and every way to cut there.
fn commits_torn(order: &[Command]) -> (u64, u64) {
    let (mut cuts, mut torn) = (0, 0);
    let mut sim = Sim::with_media(Shuffling::new(BYTES, 6), vec![media()]);
    let mut check = |media: &Media| {
        let mut choices = Choices::default();
        loop {
            let mut cut = media.clone();
            cut.power_cut_with(Grain::Sector, &mut |count| choices.pick(count));
            let mut alone = Sim::with_media(Shuffling::new(BYTES, 0), vec![cut]);
            let held: Vec<u64> = (0..3).map(|sector| read(&mut alone, sector)).collect();
            cuts += 1;
            torn += u64::from(held[2] == 9 && held[..2] != [5, 5]);
            if !choices.advance() {
                break;
            }
        }
    };
    for command in order {
        let command = match command {
            Command::Write { at, from: Payload::Stamp(stamp), durability } => {
                Command::Write { at: *at, from: Payload::Stamp(*stamp), durability: *durability }
            }
            _ => Command::Flush,
        };
        sim.submit(request(1, Drive(0), command));
        check(sim.machine.media(Drive(0)));
        sim.wait(Instant::NEVER, &mut Vec::new());
        check(sim.machine.media(Drive(0)));
    }
    (cuts, torn)
}

#[test]
fn enumerating_every_crash_point_tells_a_sound_commit_from_one_without_a_flush() {
    let data = || write(0, 2, 5, Durability::Cached);
    let mark = |durability| write(2, 1, 9, durability);
    let sound = [data(), Command::Flush, mark(Durability::Fua)];
    // Crash points before and after each completion: 4 + 4, 4 + 1, 2 + 1 ways.
    assert_eq!(commits_torn(&sound), (16, 0));
    let (cuts, torn) = commits_torn(&[data(), mark(Durability::Fua), Command::Flush]);
    // 4 + 4, 8 + 4, 4 + 1 ways; the mark and not all data: 3, 3, 3.
    assert_eq!((cuts, torn), (25, 9));
}

/// A drive that answers a flush and does nothing keeps nothing that its cache has room for; one
/// that answers too early keeps what the flush before covered, and so it is with FUA.
#[test]
fn what_a_flush_is_worth_is_what_the_drive_makes_of_it() {
    for (flushes, kept) in
        [(Flushes::Honoured, [1, 2]), (Flushes::Early, [1, 0]), (Flushes::Ignored, [0, 0])]
    {
        let cache = WriteCache::Volatile { bytes_max: u64::MAX };
        let mut media =
            Media::new(1 << 20, 4096, Contents::Stamps).with_cache(cache).with_flushes(flushes);
        for stamp in [1, 2] {
            let at = Extent { offset: stamp * 4096, bytes: 4096 };
            let write = media.begin_write(at, &Payload::Stamp(stamp), Durability::Cached);
            media.complete_write(write);
            let mark = media.begin_flush();
            media.complete_flush(mark);
        }
        let forced = Extent { offset: 3 * 4096, bytes: 4096 };
        let write = media.begin_write(forced, &Payload::Stamp(3), Durability::Fua);
        media.complete_write(write);
        // Whatever may be lost is.
        media.power_cut_with(Grain::Sector, &mut |_| 0);
        let stamp = |sector: u64| {
            let cell = media.sector(sector).expect("is readable");
            u64::from_le_bytes(cell.try_into().expect("a stamp"))
        };
        assert_eq!([stamp(1), stamp(2)], kept, "{flushes:?}");
        assert_eq!(stamp(3) == 3, flushes == Flushes::Honoured, "{flushes:?}");
    }
}
