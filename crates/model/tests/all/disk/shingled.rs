//! Drive-managed shingled recording.

use super::rig::*;
use block::{Command, Engine};
use model::{Cached, Disk, DiskParams, Shingling, Sim};

/// 256 MiB zones and a media cache of 1 GiB on a disk of 64 GiB.
pub fn shingled() -> DiskParams {
    let shingling = Shingling {
        zone_bytes: 256 * MIB,
        media_cache_bytes: GIB,
        map_pieces: u64::MAX,
        entry_ns: 0,
        entry_writes: 1,
        idle_clean_ns: 1_000_000_000,
    };
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
    // in turn: it frees a 128th of the log, for two passes over 256 MiB and one to each piece.
    let zone_ns = 2.0 * 256.0 * MIB as f64 / 107e6 * 1e9;
    let piece_ns = params.track_to_track_ns as f64 + REVOLUTION_NS / 2.0 + fast;
    assert_near(slow, zone_ns / (room as f64 / 128.0) + piece_ns, 5.0, "cleaning");
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

/// 4 KiB at random came to 45,500 a second, the rate of a stream: nothing was written beside them,
/// and the platter never had to come round. An entry of writes takes a turn and their bytes.
#[test]
fn between_two_entries_of_the_media_cache_the_platter_turns() {
    for (entry_writes, entry_ns) in [(1, 1_000_000), (16, 1_000_000), (16, 10_000_000)] {
        let mut params = shingled();
        let shingling = params.shingling.expect("shingled");
        params.shingling = Some(Shingling { entry_ns, entry_writes, ..shingling });
        let mut offset = random(19, params.capacity_bytes, 4096);
        let count = 4_000;
        let seen = run(&mut sim(&params), 1, count, |n| write(offset(n), 4096)) / count as f64;
        let turns = (entry_ns as f64 / REVOLUTION_NS).ceil();
        let expected = turns * REVOLUTION_NS / f64::from(entry_writes) + 4096.0 / 107e6 * 1e9;
        assert_near(
            seen,
            expected,
            2.0,
            &format!("{entry_writes} an entry, {entry_ns} ns between"),
        );
    }
}

/// A map that is full ends the fast writes, long before a log of many more bytes is: what Skylight
/// found with small writes.
#[test]
fn the_map_of_the_media_cache_is_full_before_the_cache_is() {
    let mut params = shingled();
    let map_pieces = 10_000;
    params.shingling = params.shingling.map(|it| Shingling { map_pieces, ..it });
    let mut engine = sim(&params);
    let mut offset = random(19, params.capacity_bytes, 4096);
    let mut burst = |engine: &mut Sim<Disk>, count| {
        run(engine, 1, count, |n| write(offset(n), 4096)) / count as f64
    };
    let fast = burst(&mut engine, map_pieces - 100);
    let held = engine.machine.fast_caches(engine.now())[0];
    assert!(held.held_bytes > held.capacity_bytes / 100 * 98, "all but full: {held:?}");
    assert!(held.capacity_bytes < GIB / 20, "of small pieces it holds 40 MB: {held:?}");
    let slow = burst(&mut engine, 1_000);
    println!("{fast:.0} and {slow:.0} ns");
    // 10,000 pieces in 256 zones: a zone frees 39 and takes two passes.
    let zone_ns = 2.0 * 256.0 * MIB as f64 / 107e6 * 1e9;
    assert!(slow > zone_ns / 39.0 * 0.5 && fast < 1e6, "{fast} and {slow} ns");
}

/// Reading in order what was written at random costs a way there and back for every piece that lies
/// in the media cache, until the zone has been cleaned.
#[test]
fn what_was_scattered_reads_slowly_until_it_is_cleaned() {
    let params = shingled();
    let mut engine = sim(&params);
    let (at, bytes) = (8 * GIB, 64 * MIB);
    let scan = |engine: &mut Sim<Disk>| run(engine, 1, 64, |n| read(at + n * MIB, 1 << 20));
    let before = scan(&mut engine);
    let mut offset = random(3, bytes, 4096);
    run(&mut engine, 1, 32, |n| write(at + offset(n), 4096));
    run(&mut engine, 1, 1, |_| Command::Flush);
    let scattered = scan(&mut engine) - before;
    let (near, far) = (params.average_seek_ns as f64 / 4.0, params.full_stroke_ns as f64);
    let range = 32.0 * 2.0 * near..32.0 * 2.0 * (far + REVOLUTION_NS);
    println!("{:.1} ms a piece", scattered / 32e6);
    assert!(range.contains(&scattered), "{scattered} ns for 32 pieces, {range:?}");
    engine.wait(engine.now().after(60_000_000_000), &mut Vec::new());
    assert_near(scan(&mut engine), before, 2.0, "after the cleaning");
}

/// A zone that is being read for cleaning is given up for a command, one that is being written is
/// finished first.
#[test]
fn a_command_waits_for_the_zone_that_is_being_rewritten() {
    let params = shingled();
    let zone_ns = 256.0 * MIB as f64 / 107e6 * 1e9;
    let second = 1e9;
    // From the last write: a second of rest, then one pass, then another.
    for (rest_ns, wait_ns) in [
        (0.5 * second, 0.0),
        (second + 0.5 * zone_ns, 0.0),
        (second + 1.5 * zone_ns, 0.5 * zone_ns),
        (second + 2.5 * zone_ns, 0.0),
    ] {
        let mut engine = sim(&params);
        run(&mut engine, 1, 1, |_| write(8 * GIB + 4096, 4096));
        run(&mut engine, 1, 1, |_| Command::Flush);
        engine.wait(engine.now().after(rest_ns as u64), &mut Vec::new());
        let seen = run(&mut engine, 1, 1, |_| read(40 * GIB, 4096));
        let access_ns = (params.full_stroke_ns as f64) + REVOLUTION_NS;
        println!("after {rest_ns:.0} ns: {seen:.0} ns");
        assert!((wait_ns - 5e7..wait_ns + access_ns + 5e7).contains(&seen), "{seen} ns");
    }
}
