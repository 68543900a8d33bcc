//! A volume with a quota against the arithmetic of token buckets.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{Merging, Pools, Quota, QuotaLimit, QuotaParams, Sim};
use proptest::prelude::*;

const READ_NS: u64 = 1000;

/// Operations are limited, in thousandths.
fn operations(limit: QuotaLimit) -> QuotaParams {
    QuotaParams {
        capacity_bytes: 1 << 40,
        operations: Some(limit),
        bandwidth: None,
        operation_bytes: 256 << 10,
        write_per_mille: 1000,
        pools: Pools::Shared,
        merging: Merging::Off,
        read_latency_ns: READ_NS,
        write_latency_ns: READ_NS,
        latency_spread_per_mille: 0,
    }
}

fn at(offset: u64, bytes: u64) -> Extent {
    Extent { offset, bytes: bytes as u32 }
}

fn read(offset: u64, bytes: u64) -> Command {
    Command::Read { at: at(offset, bytes), into: Payload::None }
}

fn write(offset: u64, bytes: u64) -> Command {
    let durability = Durability::Cached;
    Command::Write { at: at(offset, bytes), from: Payload::None, durability }
}

/// When each of these commands, all asked for at once, starts.
fn starts(params: QuotaParams, commands: Vec<Command>) -> Vec<u64> {
    let mut sim = Sim::new(Quota::new(params, commands.len() as u32, 1));
    let mut done: Vec<Completion> = Vec::new();
    let count = commands.len();
    for (tag, command) in commands.into_iter().enumerate() {
        let (tag, actor) = (Tag(tag as u64), Actor(0));
        sim.submit(Request { tag, actor, drive: Drive(0), command });
    }
    while done.len() < count {
        sim.wait(Instant::NEVER, &mut done);
    }
    done.sort_by_key(|done| done.tag.0);
    done.iter().map(|done| done.finished.0 - READ_NS).collect()
}

#[test]
fn a_flood_bursts_as_long_as_the_credit_lasts_and_is_evenly_paced_after() {
    // The n-th starts at max(n / burst, (n - credit) / sustained).
    let limit = QuotaLimit {
        sustained: 100_000,
        burst: Some(1_000_000),
        credit: 9_000 * 1000,
        refill: 100_000,
    };
    let started =
        starts(operations(limit), (0..12_000).map(|n| read(n * 7919 * 4096, 4096)).collect());
    for (n, &ns) in (0u64..).zip(&started) {
        let by_burst = n * 1_000_000;
        let by_credit = n.saturating_sub(9_000) * 10_000_000;
        assert_eq!(ns, by_burst.max(by_credit), "request {n}");
    }
    // Credit over what the burst takes beyond the sustained rate: 9,000 / (1,000 - 100) = 10 s.
    let slower = started.windows(2).position(|two| two[1] - two[0] > 1_000_000).expect("a cliff");
    assert_eq!(started[slower], 10_000_000_000);
}

#[test]
fn credit_comes_back_at_the_refills_rate_and_no_more_than_the_bucket_holds() {
    for (refill, idle_s, expected) in [(100, 30, 3_000), (20, 30, 600), (100, 90, 5_000)] {
        let limit = QuotaLimit {
            sustained: 100_000,
            burst: None,
            credit: 5_000 * 1000,
            refill: refill * 1000,
        };
        let mut sim = Sim::new(Quota::new(operations(limit), 8192, 1));
        let mut done = Vec::new();
        let flood = |sim: &mut Sim<Quota>, done: &mut Vec<Completion>| {
            let begun = sim.now();
            for tag in 0..6_000 {
                let command = read(tag * 4096, 4096);
                sim.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
            }
            done.clear();
            while done.len() < 6_000 {
                sim.wait(Instant::NEVER, done);
            }
            done.iter().filter(|done| done.finished.since(begun) <= READ_NS).count()
        };
        assert_eq!(flood(&mut sim, &mut done), 5_001, "all credit, and one that owes");
        // The last request was paid for in advance: its share of the time is not idle.
        let idle_until = sim.now().after(idle_s * 1_000_000_000 + 10_000_000 - READ_NS);
        done.clear();
        sim.wait(idle_until, &mut done);
        assert_eq!(flood(&mut sim, &mut done), expected + 1, "refill {refill} for {idle_s} s");
    }
}

#[test]
fn long_requests_count_as_several_and_bandwidth_is_a_bucket_of_its_own() {
    let limit = QuotaLimit::flat(1_000_000);
    let pace = |params: QuotaParams, bytes: u64| {
        let started = starts(params, (0..50).map(|n| read(n * (2 << 20), bytes)).collect());
        started[49] / 49
    };
    let by_operations = operations(limit);
    for (kib, count) in [(4, 1), (256, 1), (260, 2), (512, 2), (1024, 4)] {
        assert_eq!(pace(by_operations, kib << 10), count * 1_000_000, "{kib} KiB");
    }
    // 64 MiB/s is 1,024 requests of 64 KiB a second, which 1,000 operations a second do not reach.
    let both = QuotaParams { bandwidth: Some(QuotaLimit::flat(64 << 20)), ..by_operations };
    assert_eq!(pace(both, 64 << 10), 1_000_000);
    assert_eq!(pace(both, 128 << 10), 1_953_125);
    assert_eq!(pace(both, 1 << 20), 15_625_000);
}

#[test]
fn writes_cost_what_is_said_and_merged_requests_count_as_one() {
    let flat = operations(QuotaLimit::flat(1_000_000));
    let dear = QuotaParams { write_per_mille: 2500, ..flat };
    let started = starts(dear, (0..9).map(|n| write(n << 20, 4096)).collect());
    assert_eq!(started[8], 8 * 2_500_000);
    // 64 of 4 KiB that continue each other are one of 256 KiB.
    let merging = QuotaParams { merging: Merging::On, ..flat };
    let sequential = || (0..640).map(|n| read(n * 4096, 4096)).collect();
    assert_eq!(starts(merging, sequential())[639], 10_000_000);
    assert_eq!(starts(flat, sequential())[639], 639_000_000);
    // Merging spares operations, not bytes.
    let both = QuotaParams { bandwidth: Some(QuotaLimit::flat(4_096_000)), ..merging };
    assert_eq!(starts(both, sequential())[639], 639_000_000);
    // Neither backwards nor from reads to writes does anything continue.
    let backwards = (0..64).rev().map(|n| read(n * 4096, 4096)).collect();
    assert_eq!(starts(merging, backwards)[63], 63_000_000);
    let mixed =
        |n: u64| if n.is_multiple_of(2) { read(n * 4096, 4096) } else { write(n * 4096, 4096) };
    assert_eq!(starts(merging, (0..64).map(mixed).collect())[63], 63_000_000);
}

#[test]
fn reads_and_writes_with_separate_pools_do_not_slow_each_other() {
    let flat = operations(QuotaLimit::flat(1_000_000));
    let mixed =
        |n: u64| if n.is_multiple_of(2) { read(n << 20, 4096) } else { write(n << 20, 4096) };
    let last = |pools| starts(QuotaParams { pools, ..flat }, (0..100).map(mixed).collect())[99];
    assert_eq!(last(Pools::Shared), 99_000_000);
    assert_eq!(last(Pools::Separate), 49_000_000, "the 50th write");
}

#[test]
fn latencies_spread_evenly_around_their_mean_and_a_seed_replays() {
    let limit = QuotaLimit::flat(1_000_000_000);
    let params = QuotaParams {
        read_latency_ns: 500_000,
        write_latency_ns: 800_000,
        latency_spread_per_mille: 200,
        ..operations(limit)
    };
    let seen = |seed| {
        let mut sim = Sim::new(Quota::new(params, 1, seed));
        let mut latencies = Vec::new();
        for tag in 0..4_000u64 {
            let command = if tag.is_multiple_of(2) { read(0, 4096) } else { write(0, 4096) };
            sim.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
            let mut done = Vec::new();
            sim.wait(Instant::NEVER, &mut done);
            latencies.push(done[0].finished.since(done[0].issued));
        }
        latencies
    };
    let latencies = seen(7);
    for (first, mean) in [(0, 500_000), (1, 800_000)] {
        let own: Vec<u64> = latencies.iter().copied().skip(first).step_by(2).collect();
        let average = own.iter().sum::<u64>() / own.len() as u64;
        assert!(own.iter().all(|&ns| (mean * 8 / 10..=mean * 12 / 10).contains(&ns)));
        // A standard error of 0.2 / sqrt(3) / sqrt(2000) = 0.26 %.
        assert!(average.abs_diff(mean) < mean / 100, "{average} beside {mean}");
    }
    assert_eq!(latencies, seen(7));
    assert_ne!(latencies, seen(8));
}

/// A bucket as it is drawn on paper: so many tokens in it, some each nanosecond, a request starts
/// when the level is not below nothing and takes its cost.
struct OnPaper {
    level: i128,
    size: i128,
    rate: i128,
    now: u64,
}

impl OnPaper {
    fn pass(&mut self, until: u64) {
        self.level = self.size.min(self.level + self.rate * i128::from(until - self.now));
        self.now = until;
    }

    fn start(&mut self, asked: u64, cost: i128) -> u64 {
        self.pass(asked.max(self.now));
        let wait = if self.level < 0 { (-self.level + self.rate - 1) / self.rate } else { 0 };
        self.pass(self.now + wait as u64);
        self.level -= cost * 1_000_000_000;
        self.now
    }
}

proptest! {
    #[test]
    fn any_requests_start_when_a_bucket_on_paper_lets_them(
        seed: u64,
        rate in 1_000u64..10_000_000,
        size in 0u64..50_000_000,
        pause_ns in 1u64..50_000_000,
    ) {
        let limit = QuotaLimit { sustained: rate, burst: None, credit: size, refill: rate };
        let mut sim = Sim::new(Quota::new(operations(limit), 400, 1));
        let (scaled, per_ns) = (i128::from(size) * 1_000_000_000, i128::from(rate));
        let mut paper = OnPaper { level: scaled, size: scaled, rate: per_ns, now: 0 };
        let (mut rng, mut expected, mut done) = (Rng::new(seed, 1), Vec::new(), Vec::new());
        let mut offset = 0;
        for tag in 0..400u64 {
            if rng.below(3) == 0 {
                let until = sim.now().after(rng.below(pause_ns));
                while sim.now() < until {
                    sim.wait(until, &mut done);
                }
            }
            let bytes = (1 + rng.below(2048)) * 512;
            offset += bytes;
            let command = read(offset, bytes);
            expected.push(paper.start(sim.now().0, 1000 * i128::from(bytes.div_ceil(256 << 10))));
            sim.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
        }
        while done.len() < 400 {
            sim.wait(Instant::NEVER, &mut done);
        }
        done.sort_by_key(|done: &Completion| done.tag.0);
        let started: Vec<u64> = done.iter().map(|done| done.finished.0 - READ_NS).collect();
        prop_assert_eq!(started, expected);
    }
}
