//! Traps of rates that change, each with it and without it: caches that run full, quotas, levels.

use crate::{
    scripted::{Lab, Life, Scripted, Service, flags, warning},
    traps::{READ, SECOND, STREAM_READ, STREAM_WRITE, WRITE, seen},
};
use lab::{plan::Options, target::FastCache};
use record::{FastCacheKind, Flag};
use stats::Grade;

/// A drive of 500 MB/s in blocks of 1 MiB, until `slow` says that it is a fifth of that.
fn streamer(slow: impl Fn(&Service) -> bool + 'static) -> Scripted {
    Scripted::new(move |at| at.about(if slow(at) { 10_500_000 } else { 2_100_000 }))
}

#[test]
fn a_fast_cache_that_runs_full_is_a_write_cliff_and_says_after_how_much() {
    const CACHE_BYTES: u64 = 3 << 29;
    let run = |drive: &Scripted, cells: &str| {
        Lab::new(drive, cells).head("written_max = '32GiB'").once().run()
    };
    let cached = || streamer(|at| at.written_bytes >= CACHE_BYTES);
    let record = run(&cached(), STREAM_WRITE);
    assert!(flags(&record).contains(&Flag::Burst), "{:?}", flags(&record));
    let fall = record.cells[0].passes[0].transitions[0];
    assert!(fall.at_bytes.abs_diff(CACHE_BYTES) < 64 << 20, "{fall:?}");
    assert!((fall.before_bytes_per_s / fall.after_bytes_per_s - 5.0).abs() < 0.2, "{fall:?}");
    assert!(warning(&record, Flag::Burst).contains("after 1"));
    let steady = run(&streamer(|_| false), STREAM_WRITE);
    assert_eq!(flags(&steady), []);
    let read = run(&streamer(|at| at.life_ns > 3 * SECOND), STREAM_READ);
    assert!(!flags(&read).contains(&Flag::Burst), "a read fills no cache");
}

/// A shingled disk that wrote 27 GB into its media cache and then a few at a tenth of the rate was
/// said to have 3.1 of 8 operations in flight: its rate was that of the slow part, its latency that
/// of all.
#[test]
fn a_fast_cache_that_ran_full_lends_the_slow_part_neither_rate_nor_latency() {
    let cached = streamer(|at| at.written_bytes >= 3 << 29);
    let cell =
        "[[cell]]\nop = 'write'\npattern = 'seq'\nblock = '1MiB'\ndepth = 8\nbound = 'exhaust'";
    let record = Lab::new(&cached, cell).head("written_max = '6GiB'").once().run();
    let cell = &record.cells[0];
    assert!(
        cell.passes[0].warm_up_s > 0.0,
        "the fast part is cut off: {:?}",
        cell.passes[0].warm_up_s
    );
    let depth = cell.depth_achieved.expect("a closed loop");
    assert!((depth - 8.0).abs() < 0.4, "{depth}");
    assert!(!flags(&record).contains(&Flag::DepthNotReached), "{:?}", flags(&record));
}

/// Since a warm-up was cut only behind a tested step, a burst of writes of one or two seconds at
/// the start of a cell was a `warm_up`, and a disk's walk lost the line that says where its cache
/// ended. Reads that begin fast, and writes that begin slowly, do warm up.
#[test]
fn writes_that_begin_fast_are_a_burst_however_short() {
    let start = |tenths: u64, first_ns: u64| {
        Scripted::new(move |at| {
            at.about(if at.pass_ns < tenths * SECOND / 10 { first_ns } else { 2_100_000 })
        })
    };
    for tenths in [8, 12, 17] {
        let record = Lab::new(&start(tenths, 700_000), STREAM_WRITE).once().run();
        assert_eq!(flags(&record), [Flag::Burst], "{tenths}: {record:?}");
        let cell = &record.cells[0];
        let fall = cell.passes[0].transitions[0];
        assert!((fall.at_s - tenths as f64 / 10.0).abs() < 0.6, "{tenths}: {fall:?}");
        assert!(fall.before_bytes_per_s > 2.0 * fall.after_bytes_per_s, "{tenths}: {fall:?}");
        let burst = cell.burst().expect("it is flagged");
        let lasting = burst.lasting_iops.expect("most of the pass");
        assert!(burst.cut && (lasting / cell.iops - 1.0).abs() < 0.02, "{burst:?}");
        assert!(warning(&record, Flag::Burst).contains("the rate fell from"), "{record:?}");
    }
    assert_eq!(seen(&start(12, 2_100_000), STREAM_WRITE), [], "level from its first second");
    assert_eq!(seen(&start(12, 6_300_000), STREAM_WRITE), [Flag::WarmUp], "a slow start");
    assert_eq!(seen(&start(12, 700_000), STREAM_READ), [Flag::WarmUp]);
}

/// `run model:hdd-7200-cmr model:hdd-smr`, drivelab's own example, said that the shingled disk is
/// 30 and 71 times faster at random writes, without a flag: all of them went into its media cache.
#[test]
fn what_a_cache_still_holds_is_a_burst_without_a_cliff() {
    let cached = |capacity_bytes: u64, drained: f64| {
        Scripted::calm().with(move |facts| {
            facts.fast_caches = std::rc::Rc::new(move |life: &Life| {
                let kept = (life.written_bytes as f64 * (1.0 - drained)) as u64;
                vec![FastCache {
                    kind: FastCacheKind::MediaCache,
                    capacity_bytes,
                    held_bytes: kept.min(capacity_bytes),
                    taken_bytes: life.written_bytes,
                }]
            });
        })
    };
    let record = Lab::new(&cached(1 << 40, 0.0), WRITE).once().run();
    assert_eq!(flags(&record), [Flag::Burst]);
    let said = warning(&record, Flag::Burst);
    assert!(said.starts_with("100 % of the") && said.contains("in the media cache"), "{said}");
    let pass = &record.cells[0].passes[0];
    assert_eq!(pass.fast_caches[0].taken_bytes, pass.total.bytes);
    let burst = record.cells[0].burst().expect("it is flagged");
    assert_eq!((burst.lasting_iops, burst.cut), (None, false), "nobody saw what lasts");
    // Emptied as fast as it is filled, or full when the cell began: the rate lasts.
    assert_eq!(seen(&cached(1 << 40, 0.95), WRITE), []);
    assert_eq!(seen(&cached(0, 0.0), WRITE), []);
    assert_eq!(seen(&cached(1 << 40, 0.0), READ), []);
}

/// A device limited to 1,370 IOPS gave 1,370 at depth 1, 1,370 at depth 32, reads and writes alike.
/// At depth 32 every operation waits, and no cell alone tells the limiter from a drive.
#[test]
fn a_quota_that_one_cell_shows_is_told_of_all_at_its_rate() {
    // Its credit passes the first 900 at once: that was called a fast cache that was full.
    let bucket = |at: &Service| match at.number {
        _ if (1..900 << 12).contains(&at.pass_written_bytes) => 500_000,
        number if number.is_multiple_of(3) => 1_990_000,
        _ => 100_000,
    };
    let limited = Scripted::new(bucket).scripted(|script| script.parallelism = 1);
    let cells = format!("{READ}\n{READ}\ndepth = 32\n{WRITE}\n{READ}\nblock = '64KiB'");
    let record = Lab::new(&limited, &cells).once().run();
    let held: Vec<(u64, u32, bool)> = record
        .cells
        .iter()
        .map(|cell| {
            let is_held = cell.flags.contains(&Flag::BurstCredit);
            (cell.block_bytes, cell.queue_depth, is_held)
        })
        .collect();
    // Larger blocks may be held by a link, and nothing is said of them.
    assert_eq!(
        held,
        [(4096, 1, true), (4096, 32, true), (4096, 1, true), (65536, 1, false)],
        "{record:?}"
    );
    assert!(record.cells.iter().all(|cell| !cell.flags.contains(&Flag::Burst)), "{record:?}");
}

#[test]
fn a_rate_that_steps_down_to_a_quota_is_spent_credit() {
    let limited = Scripted::new(|at| at.about(if at.number < 40_000 { 91_000 } else { 333_333 }));
    let record = Lab::new(&limited, READ).once().run();
    assert!(flags(&record).contains(&Flag::BurstCredit));
    assert!(warning(&record, Flag::BurstCredit).contains("stepped from"), "{record:?}");
    let even = Lab::new(&Scripted::new(|at| at.about(333_333)), READ).once().run();
    assert_eq!(flags(&even), [Flag::BurstCredit], "3,000 IOPS on the dot");
    assert!(warning(&even, Flag::BurstCredit).contains("sat at"));
    assert_eq!(seen(&Scripted::new(|at| at.about(357_000)), READ), [], "2,800 are nobody's quota");
    let asked = "[[cell]]\nop = 'read'\nrate = 3000\ndepth = 4";
    assert_eq!(seen(&Scripted::calm(), asked), [], "the quota is the user's own");
}

#[test]
fn waves_do_not_converge_and_say_how_wide_the_interval_is() {
    let wavy = Scripted::new(|at| {
        let wave = (at.life_ns as f64 / 7e9 * std::f64::consts::TAU).sin();
        at.about((137_000.0 * (1.0 + 0.4 * wave)) as u64)
    });
    let record = Lab::new(&wavy, READ).once().run();
    assert!(flags(&record).contains(&Flag::NotConverged), "{:?}", flags(&record));
    assert!(warning(&record, Flag::NotConverged).starts_with("precision: ±"));
    assert_eq!(record.cells[0].passes[0].series.operations.len(), 600);
}

/// `--max-time` and SNIA rounds make the shortest time the longest as well. Then there is one look,
/// two in a row were asked for, and every cell was "not converged", were it ever so level.
#[test]
fn a_level_cell_of_fixed_length_has_converged_at_its_only_look() {
    let fixed = |grade| {
        Lab::new(&Scripted::calm(), READ).once().with(|options: &mut Options| {
            options.seconds_max = Some(8.0);
            options.grade = Some(grade);
        })
    };
    assert_eq!(flags(&fixed(Grade::Normal).run()), []);
    assert_eq!(flags(&fixed(Grade::Publish).run()), [], "publish wants 10 s and gets 8");
}

#[test]
fn a_rate_that_settles_in_the_second_half_is_drifting() {
    let settling = |until: u64| {
        Scripted::new(move |at| {
            let missing = until.saturating_sub(at.life_ns) / 100_000;
            at.about(137_000 + missing)
        })
    };
    assert!(seen(&settling(50 * SECOND), READ).contains(&Flag::Drifting));
    assert_eq!(seen(&settling(SECOND / 2), READ), [], "that is a warm-up");
}

/// A read cell of 16 s that fell from 470 to 240 IOPS after 5 s was printed as 240 IOPS, steady and
/// without a note: what came before had been cut off as warm-up. At whatever moment the rate
/// changes for good, and in whichever direction, both levels and the moment are told.
#[test]
fn a_lasting_change_left_the_steady_state_wherever_it_lies() {
    let run = |drive: Scripted| {
        let head = "seconds_min = 16\nseconds_max = 16";
        Lab::new(&drive, READ).head(head).once().run()
    };
    let change = |at_s: u64, to_ns: u64| {
        Scripted::new(move |at| {
            let ns = if at.life_ns > at_s * SECOND { to_ns } else { 2_130_000 };
            // No drive is as even as a quota.
            (ns as f64 * (0.5 + at.luck)) as u64
        })
    };
    let (halved, less, more) = ("IOPS to 23", "IOPS to 3", "IOPS to 9");
    for (at_s, to_ns, levels, headline) in [
        (5, 4_260_000, halved, "the second"),
        (3, 2_770_000, less, "the second"),
        (5, 2_770_000, less, "the second"),
        (11, 4_260_000, halved, "both"),
        (5, 1_065_000, more, "the second"),
    ] {
        let record = run(change(at_s, to_ns));
        assert!(flags(&record).contains(&Flag::LeftSteadyState), "{at_s} s: {:?}", flags(&record));
        let text = warning(&record, Flag::LeftSteadyState);
        let headline = format!("and the headline is of {headline}");
        let moments = [format!("after {at_s}.0 s"), format!("after {}.8 s", at_s - 1)];
        assert!(text.contains("from 4") && text.contains(levels), "{at_s} s: {text}");
        assert!(text.contains(&headline), "{at_s} s: {text}");
        assert!(moments.iter().any(|moment| text.contains(moment)), "{at_s} s: {text}");
        assert!(!flags(&record).contains(&Flag::WarmUp), "it is said once");
        assert_eq!(record.cells[0].passes[0].transitions.len(), 1);
    }
    assert_eq!(flags(&run(change(99, 1))), []);
    // Writes, too: a fall is a cliff, a rise is none.
    let written = |to_ns| {
        let head = "seconds_min = 16\nseconds_max = 16";
        flags(&Lab::new(&change(5, to_ns), WRITE).head(head).once().run())
    };
    assert_eq!(written(4_260_000), [Flag::Burst]);
    assert_eq!(written(1_065_000), [Flag::LeftSteadyState]);
}

/// One pass of three fell from 450 to 230 IOPS, and the cell had no note.
#[test]
fn a_change_in_one_pass_of_three_names_the_pass() {
    let drive = Scripted::new(|at| {
        let slow = at.pass == 1 && at.pass_ns > 5 * SECOND;
        at.about(if slow { 4_260_000 } else { 2_130_000 })
    });
    let head = "seconds_min = 16\nseconds_max = 16";
    let record = Lab::new(&drive, READ).head(head).run();
    let text = warning(&record, Flag::LeftSteadyState);
    assert!(text.contains(" s in pass 2 of 3"), "{text}");
}

/// What is cut off as warm-up and ran at another rate is told with its length and both rates.
#[test]
fn a_warm_up_at_another_rate_is_told() {
    let slow_start = |slow_ns: u64| {
        Scripted::new(move |at| at.about(if at.pass_ns < SECOND { slow_ns } else { 2_130_000 }))
    };
    let run = |slow_ns| {
        let head = "seconds_min = 8\nseconds_max = 8";
        Lab::new(&slow_start(slow_ns), READ).head(head).once().run()
    };
    let record = run(4_260_000);
    assert_eq!(flags(&record), [Flag::WarmUp]);
    let text = warning(&record, Flag::WarmUp);
    assert!(text.contains("the first ") && text.contains("the rest at 4"), "{text}");
    assert!((1.0..=2.0).contains(&record.cells[0].passes[0].warm_up_s), "{text}");
    assert_eq!(flags(&run(2_200_000)), [], "3 % are nobody's warm-up");
}

/// Nothing is issued once a pass has its answer, but what was in flight then may take long. Those
/// ticks, empty of new requests, were judged with the others: a stall at the very end halved a rate
/// that had been measured before it.
#[test]
fn ticks_after_the_last_look_do_not_count() {
    let stuck = |length_ns: u64| {
        Scripted::new(move |at| {
            let stalls = at.pass_ns > 57 * SECOND / 10 + 90_000_000;
            if stalls { length_ns } else { at.about(137_000) }
        })
    };
    let record = Lab::new(&stuck(6 * SECOND), READ).once().run();
    let pass = &record.cells[0].passes[0];
    assert_eq!(pass.series.operations.len(), 58);
    assert!((pass.iops / 7299.0 - 1.0).abs() < 0.01, "{}", pass.iops);
    assert_eq!(flags(&record), []);
}
