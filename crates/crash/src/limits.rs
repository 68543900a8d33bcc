//! What the cleaner and the host are held to in virtual time: an idle limit, a rate, an endurance
//! budget, a wait that has a bound; and what the drive is told.

use super::{
    bench::{ID, flush, media, sim, small},
    caller::{Caller, Mix},
    scan::{free_segments, scan},
};
use block::{
    Actor, Command, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng, Stack, Tag,
    Wrapper,
};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Cleaning, Counters, Discards, IdleCleaning, Layout, Parity,
    Settings, Shape, Volume,
};
use model::{Media, Rig, Sim};
use testkit::Shuffling;

const SECOND_NS: u64 = 1_000_000_000;
/// The slowest answer of [`Shuffling`].
const ANSWER_NS_MAX: u64 = 100_000;

/// A volume on a drive that only times, and a host that overwrites all of it at random.
struct Host {
    stack: Stack<Volume, Sim<Shuffling>>,
    rng: Rng,
    blocks: u64,
    latency_ns_max: u64,
}

fn settings() -> Settings {
    let (queue_depth, answer_ns, chunks) = (32, 500, 12);
    Settings { queue_depth, answer_ns, chunks, cleaning: Cleaning::Greedy, ..Settings::default() }
}

impl Host {
    /// Three quarters of the drive are written, and half of those once more.
    fn new(settings: Settings) -> Self {
        let shape = Shape {
            device_bytes: 64 << 20,
            exported_bytes: 48 << 20,
            stripe_bytes: 4096,
            erase_unit_bytes: 4096,
            segment_bytes: 256 << 10,
            chunk_bytes: 64 << 10,
            ring_bytes: 0,
            parity: Parity::None,
            checksums: Checksums::OnCleaning,
            classes: Classes::TWO,
        };
        let sim = Sim::new(Shuffling::new(shape.device_bytes, 1));
        let volume = Volume::create(sim.geometry(Drive(0)), shape, ID, settings);
        let stack = Stack::new(volume.expect("it fits"), sim);
        let blocks = shape.exported_bytes / BLOCK_BYTES;
        let mut host = Self { stack, rng: Rng::new(1, 1), blocks, latency_ns_max: 0 };
        (0..blocks).for_each(|block| host.write(block));
        host.overwrite(blocks / 2);
        host
    }

    fn write(&mut self, block: u64) {
        let at = Extent { offset: block * BLOCK_BYTES, bytes: BLOCK_BYTES as u32 };
        let command = Command::Write { at, from: Payload::None, durability: Durability::Cached };
        self.stack.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        let mut done = Vec::new();
        while done.is_empty() {
            self.stack.wait(Instant::NEVER, &mut done);
        }
        let answer = done.pop().expect("one was asked for");
        assert_eq!(answer.result, Ok(()));
        let latency_ns = answer.finished.since(answer.issued);
        self.latency_ns_max = self.latency_ns_max.max(latency_ns);
    }

    fn overwrite(&mut self, count: u64) {
        for _ in 0..count {
            let block = self.rng.below(self.blocks);
            self.write(block);
        }
    }

    fn overwrite_for(&mut self, ns: u64) {
        let end = self.stack.now().after(ns);
        while self.stack.now() < end {
            self.overwrite(1);
        }
    }

    fn be_quiet_for(&mut self, ns: u64) {
        let mut done = Vec::new();
        let end = self.stack.now().after(ns);
        while self.stack.now() < end {
            self.stack.wait(end, &mut done);
        }
        assert!(done.is_empty(), "nothing was asked for");
    }

    fn counters(&self) -> Counters {
        self.stack.machine.counters().expect("it is open")
    }

    fn layout(&self) -> Layout {
        *self.stack.machine.layout().expect("it is open")
    }

    /// Segments free, or free with the next checkpoint.
    fn coming(&self) -> u64 {
        let Counters { free_segments, prefree_segments, .. } = self.counters();
        free_segments + prefree_segments
    }
}

#[test]
fn idle_cleaning_begins_when_it_is_quiet_and_obeys_its_limit() {
    let after_ns = 10_000_000;
    let mut reached = Vec::new();
    // Beyond two thirds no segment is emptier than the volume on average: it ends there too.
    for free_share in [0.0, 0.4, 0.6] {
        let idle = Some(IdleCleaning { after_ns, free_share });
        let mut host = Host::new(Settings { idle, ..settings() });
        host.overwrite(20_000);
        // The margin in which the host was paced fills up, whether that is due or not; then nothing
        // moves.
        host.be_quiet_for(after_ns / 2);
        let (soon, before) = (host.counters().copied_blocks, host.coming());
        host.be_quiet_for(after_ns / 2 - 1_000_000);
        assert_eq!(host.counters().copied_blocks, soon, "it is not quiet for long enough");
        host.be_quiet_for(60 * SECOND_NS);
        let (later, after) = (host.counters().copied_blocks, host.coming());
        host.be_quiet_for(60 * SECOND_NS);
        assert_eq!(host.counters().copied_blocks, later, "it comes to an end");
        let mapped = host.counters().mapped_blocks as u32;
        let limit = f64::from(host.layout().spare_segments(mapped)) * free_share;
        eprintln!("{free_share}: {before} segments, then {after}, limit {limit}; {soon} {later}");
        // The two victims that are under way when it is reached give back their segments.
        assert!(after as f64 <= (before as f64).max(limit) + 2.0, "{after} free, limit {limit}");
        if limit > before as f64 {
            assert!(later > soon && after as f64 >= limit.floor(), "{after} free, limit {limit}");
        } else {
            assert_eq!(later, soon, "beyond the limit nothing is copied");
        }
        reached.push(after);
    }
    assert!(reached[0] < reached[1] && reached[1] < reached[2], "{reached:?}");
}

/// Bytes that the cleaner copies in each of ten seconds of a host that writes as fast as it can.
fn copied_each_second(copy_bytes_per_s_max: Option<u64>) -> (Vec<u64>, Counters) {
    let mut host = Host::new(Settings { copy_bytes_per_s_max, ..settings() });
    host.overwrite(host.blocks);
    let copied = (0..10).map(|_| {
        let before = host.counters().copied_blocks;
        host.overwrite_for(SECOND_NS);
        (host.counters().copied_blocks - before) * BLOCK_BYTES
    });
    let copied = copied.collect();
    (copied, host.counters())
}

#[test]
fn the_cleaner_copies_no_faster_than_its_cap_in_any_second() {
    let cap = 2 << 20;
    let (capped, counters) = copied_each_second(Some(cap));
    let (free, _) = copied_each_second(None);
    eprintln!("{capped:?} with a cap, {free:?} without; {counters:?}");
    assert!(free.iter().all(|&bytes| bytes > 3 * cap), "{free:?}");
    // Beyond the rate a bucket of one chunk, and what was being read when that ran out: 16 reads of
    // no more than a chunk.
    let slack = 17 * (64 << 10);
    assert!(capped.iter().all(|&bytes| bytes <= cap + slack), "{capped:?}");
    let all: u64 = capped.iter().sum();
    assert!(all <= 10 * cap + slack && all >= 9 * cap, "{all} B in ten seconds");
    let told = counters.copy_bytes_per_s;
    assert!(told > cap / 2 && told <= cap + slack, "{told} B/s told");
}

#[test]
fn a_budget_of_drive_writes_a_day_throttles_and_says_for_how_long() {
    let drive_writes_per_day = 3.0;
    let mut host =
        Host::new(Settings { drive_writes_per_day: Some(drive_writes_per_day), ..settings() });
    let lifetime = |host: &Host| host.stack.machine.lifetime().expect("it is open").drive_blocks;
    let device_bytes = host.layout().shape.device_bytes;
    for day in 0..2 {
        let (written, waited) = (lifetime(&host), host.counters().budget_wait_ns);
        let began = host.stack.now();
        host.overwrite_for(86_400 * SECOND_NS);
        let days = host.stack.now().since(began) as f64 / 86_400e9;
        let bytes = ((lifetime(&host) - written) * BLOCK_BYTES) as f64;
        let writes = bytes / device_bytes as f64 / days;
        let waited = host.counters().budget_wait_ns - waited;
        eprintln!("day {day}: {writes} drive writes, {waited} ns waited");
        // An hour's share may have been saved up before.
        assert!(writes <= drive_writes_per_day * 25.0 / 24.0, "{writes} drive writes in day {day}");
        assert!(writes >= drive_writes_per_day * 0.95, "{writes} drive writes in day {day}");
        assert!(waited as f64 > 0.9 * 86_400e9, "the host waited {waited} ns in day {day}");
    }
    assert!(host.counters().budget_bytes < device_bytes / 100);
    let mut free = Host::new(settings());
    free.overwrite(1_000);
    assert_eq!(free.counters().budget_wait_ns, 0, "without a budget nobody waits for it");
}

/// A victim takes as long as reading and writing all of it; nobody waits for that.
#[test]
fn no_write_waits_for_a_whole_victim_at_the_steady_state() {
    let mut host = Host::new(settings());
    host.overwrite(5 * host.blocks);
    let before = host.counters();
    host.latency_ns_max = 0;
    host.overwrite(5 * host.blocks);
    let after = host.counters();
    let copied = after.copied_blocks - before.copied_blocks;
    let victims =
        (after.host_blocks - before.host_blocks + copied) / u64::from(host.layout().segment_blocks);
    eprintln!("{} ns at most, {victims} victims, {after:?}", host.latency_ns_max);
    assert!(victims > 500 && copied > host.blocks, "{victims} victims, {copied} blocks copied");
    // One after the other: a header, sixteen reads of live blocks, the chunk that they fill, a
    // checkpoint's steps (pages, root, flush, superblocks) and the chunk that the host's write
    // fills.
    let bound_ns = (1 + 16 + 1 + 4 + 1) * ANSWER_NS_MAX;
    assert!(host.latency_ns_max <= bound_ns, "{} ns", host.latency_ns_max);
}

/// Looks at every discard that passes down, and at what a power cut would leave then.
struct Overheard {
    engine: Sim<Rig<Shuffling>>,
    /// How many passed.
    discards: u64,
}

impl Wrapper for Overheard {
    type Inner = Sim<Rig<Shuffling>>;

    fn inner(&self) -> &Self::Inner {
        &self.engine
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut self.engine
    }

    fn on_submit(&mut self, request: &Request) {
        if let Command::Discard { offset, len } = request.command {
            let mut left: Media = self.engine.machine.media(Drive(0)).clone();
            left.power_cut_with(model::Grain::Write, &mut |_| 0);
            let found = scan(&left).expect("it is healthy");
            let segment_bytes = found.layout.shape.segment_bytes;
            assert!(free_segments(&left).contains(&offset), "{len} B at {offset} are not free");
            assert_eq!(len, segment_bytes);
            let lives = |&(_, location): &(u32, u32)| {
                (offset..offset + len).contains(&(u64::from(location) * BLOCK_BYTES))
            };
            assert_eq!(found.map.iter().find(|place| lives(place)), None, "something lives there");
            self.discards += 1;
        }
    }
}

#[test]
fn discards_reach_the_drive_for_segments_that_are_free_and_durably_so_and_are_counted() {
    for (discards, least) in [(Discards::Sent, 50), (Discards::Kept, 0)] {
        let settings = Settings { queue_depth: 16, chunks: 6, discards, ..settings() };
        let engine = Overheard { engine: sim(media(&small()), 1), discards: 0 };
        let volume = Volume::create(engine.geometry(Drive(0)), small(), ID, settings);
        let mut bench = Stack::new(volume.expect("it fits"), engine);
        flush(&mut bench).expect("healthy");
        let mix = Mix { unaligned: false, flush_one_in: 20, skewed: false };
        let mut caller = Caller::new(1, small().exported_bytes / 512, mix);
        caller.requests(&mut bench, 4_000, 6);
        let mut done = Vec::new();
        let end = bench.now().after(SECOND_NS);
        bench.wait(end, &mut done);
        let told = bench.engine.discards;
        let counted = bench.machine.counters().expect("it is open").discarded_segments;
        assert!(told >= least && (told == 0) == (discards == Discards::Kept), "{told} discards");
        assert_eq!(counted, told);
    }
}
