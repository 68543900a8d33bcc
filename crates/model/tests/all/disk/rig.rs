//! What the tests of the disk share: parameters, commands, a closed loop and a judge.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{Disk, DiskParams, Sim, WriteCaching};

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// A 7,200 rpm SATA disk of 1 TB as of 2008.
pub fn sata_7200() -> DiskParams {
    DiskParams {
        capacity_bytes: 1_000_204_886_016,
        sector_bytes: 512,
        rpm: 7200,
        surfaces: 6,
        outer_bytes_per_s: 107_000_000,
        inner_bytes_per_s: 55_000_000,
        zones: 16,
        track_to_track_ns: 800_000,
        average_seek_ns: 8_900_000,
        full_stroke_ns: 18_000_000,
        settle_ns: None,
        write_settle_ns: 500_000,
        command_ns: 10_000,
        link_bytes_per_s: 300_000_000,
        command_queue_depth: 1,
        age_limit_ns: 1_000_000_000,
        forecast_error_ns: 0,
        age_weight_ppm: 0,
        read_segments: 16,
        read_segment_bytes: 1 << 20,
        prefetch_min_bytes: 0,
        write_caching: WriteCaching::On,
        write_cache_bytes: 16 << 20,
        write_cache_commands: 32,
        shingling: None,
    }
}

pub const REVOLUTION_NS: f64 = 60e9 / 7200.0;

pub fn read(offset: u64, bytes: u32) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::None }
}

pub fn write(offset: u64, bytes: u32) -> Command {
    let (at, from) = (Extent { offset, bytes }, Payload::None);
    Command::Write { at, from, durability: Durability::Cached }
}

pub fn submit(engine: &mut impl Engine, tag: u64, command: Command) {
    engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
}

/// Keeps `depth` requests outstanding until `count` have completed; says how long that took, ns.
pub fn run(
    engine: &mut impl Engine,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Command,
) -> f64 {
    let (start, mut done) = (engine.now(), Vec::new());
    let (mut submitted, mut completed) = (0, 0);
    while completed < count {
        while submitted < count && submitted - completed < depth {
            submit(engine, submitted, next(submitted));
            submitted += 1;
        }
        engine.wait(Instant::NEVER, &mut done);
        for Completion { issued, finished, result, .. } in done.drain(..) {
            assert!(result.is_ok() && issued < finished);
            completed += 1;
        }
    }
    engine.now().since(start) as f64
}

pub fn sim(params: &DiskParams) -> Sim<Disk> {
    Sim::new(Disk::new(params.clone(), 1024))
}

pub fn random(seed: u64, span: u64, bytes: u32) -> impl FnMut(u64) -> u64 {
    let mut rng = Rng::new(seed, 0);
    move |_| rng.below(span / u64::from(bytes)) * u64::from(bytes)
}

pub fn assert_near(seen: f64, expected: f64, percent: f64, what: &str) {
    let error = (seen / expected - 1.0) * 100.0;
    println!("{what}: {seen:.1}, expected {expected:.1}, {error:+.2} %");
    assert!(error.abs() <= percent, "{what}: {seen} for {expected}, {error:+.2} %");
}

/// One zone and no read-ahead: cylinders are equally likely and nothing is remembered.
pub fn plain() -> DiskParams {
    DiskParams { inner_bytes_per_s: 107_000_000, zones: 1, read_segments: 0, ..sata_7200() }
}

pub fn cylinder_bytes(params: &DiskParams) -> f64 {
    let skew_ns = (params.track_to_track_ns + params.write_settle_ns) as f64;
    let track = params.outer_bytes_per_s as f64 * (REVOLUTION_NS + skew_ns) / 1e9;
    track * f64::from(params.surfaces)
}
