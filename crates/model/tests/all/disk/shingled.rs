//! Drive-managed shingled recording.

use super::rig::*;
use block::{Command, Engine};
use model::{Disk, DiskParams, Shingling, Sim};

/// 256 MiB zones and a media cache of 1 GiB on a disk of 64 GiB.
pub fn shingled() -> DiskParams {
    let shingling =
        Shingling { zone_bytes: 256 * MIB, media_cache_bytes: GIB, idle_clean_ns: 1_000_000_000 };
    let capacity_bytes = 64 * GIB;
    DiskParams { shingling: Some(shingling), capacity_bytes, ..plain() }
}

#[test]
fn a_shingled_disk_takes_random_writes_fast_until_its_media_cache_is_full() {
    let params = shingled();
    let mut engine = sim(&params);
    let mut offset = random(19, params.capacity_bytes, 65_536);
    let room = params.shingling.expect("shingled").media_cache_bytes / 65_536;
    let mut burst = |engine: &mut Sim<Disk>, count| {
        run(engine, 1, count, |n| write(offset(n), 65_536)) / count as f64
    };
    let fast = burst(&mut engine, room / 2);
    assert_near(fast, 65_536.0 / 107e6 * 1e9, 2.0, "into the log");
    burst(&mut engine, room * 2);
    let slow = burst(&mut engine, room * 4);
    // The oldest of 256 zones has collected twice what the average one has, when zones are cleaned
    // in turn: it frees a 128th of the log, for two passes over 256 MiB.
    let zone_ns = 2.0 * 256.0 * MIB as f64 / 107e6 * 1e9;
    assert_near(slow, zone_ns / (room as f64 / 128.0), 5.0, "cleaning");
    engine.wait(engine.now().after(3_600_000_000_000), &mut Vec::new());
    let rested = burst(&mut engine, room / 2);
    assert_near(rested, fast, 2.0, "after an hour of cleaning");
}

#[test]
fn a_shingled_disk_streams_whole_zones_in_place() {
    let params = shingled();
    let mut engine = sim(&params);
    let count = 4 * GIB / 65_536;
    let seen = run(&mut engine, 1, count, |n| write(n * 65_536, 65_536))
        + run(&mut engine, 1, 1, |_| Command::Flush);
    assert_near(seen, 4.0 * GIB as f64 / 107e6 * 1e9, 1.0, "four times its media cache");
}
