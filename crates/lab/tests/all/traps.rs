//! Every trap with it and without it: the flag appears where the drive is scripted to set the trap,
//! and not where it behaves. `docs/reference/methodology.md` lists the traps.

use crate::scripted::{self, Admission, Lab, Life, Scripted, cell, flags, honest, warning};
use lab::target::Observation;
use record::{Condition, DeviceState, Flag, Record, TargetKind};
use std::rc::Rc;

pub(crate) const READ: &str = "[[cell]]\nop = 'read'";
pub(crate) const WRITE: &str = "[[cell]]\nop = 'write'";
const DURABLE: &str = "[[cell]]\nop = 'write'\nio = 'direct,dsync'";
pub(crate) const STREAM_WRITE: &str = "[[cell]]\nop = 'write'\npattern = 'seq'\nblock = '1MiB'";
pub(crate) const STREAM_READ: &str = "[[cell]]\nop = 'read'\npattern = 'seq'\nblock = '1MiB'";
pub(crate) const SECOND: u64 = 1_000_000_000;

/// The flags of one pass of one cell.
pub(crate) fn seen(target: &Scripted, cells: &str) -> Vec<Flag> {
    flags(&Lab::new(target, cells).once().run())
}

#[test]
fn a_well_behaved_drive_earns_no_flag_whatever_is_asked_of_it() {
    let cells = [
        READ,
        WRITE,
        DURABLE,
        "[[cell]]\nop = 'read'\ndepth = 4",
        "[[cell]]\nop = 'read'\ndepth = 32",
        "[[cell]]\nop = 'write'\nthreads = 8",
        "[[cell]]\nop = 'mixed:70'\ndepth = 4",
        "[[cell]]\nop = 'read_modify_write'",
        "[[cell]]\nop = 'commit'",
        "[[cell]]\nop = 'write'\nflush_every = 8",
        "[[cell]]\nop = 'write'\ndepth = 4\nflush_every = 1",
        "[[cell]]\nop = 'read'\ndepth = 8\nrate = 3500",
        "[[cell]]\nop = 'read_modify_write'\ndepth = 8\nrate = 1700",
        "[[cell]]\nop = 'commit'\ndepth = 8\nrate = 1100",
        "[[cell]]\nop = 'write'\nbound = 'once'\nflush = 'timed'",
        "[[cell]]\nop = 'read'\nio = 'direct,dsync'",
    ];
    for seed in 1..=3 {
        for cell in cells {
            let target = Scripted::calm().scripted(|script| script.seed = seed);
            let record = Lab::new(&target, cell).run();
            assert_eq!(flags(&record), [], "seed {seed}, {cell}: {:?}", record.cells[0].warnings);
        }
    }
}

/// A drive that answered nothing for 20 s was `148 IOPS, not_converged`, at 11 k before and after.
#[test]
fn a_wait_out_of_all_proportion_is_a_stall_with_its_moment_and_the_rate_without_it() {
    let silent = |from: u64, ns: u64| {
        Scripted::new(move |at| at.about(137_000) + if at.number == from { ns } else { 0 })
    };
    for cells in
        [READ, "[[cell]]\nop = 'read'\ndepth = 4", "[[cell]]\nop = 'write'\nbound = '60000'"]
    {
        let record = Lab::new(&silent(20_000, 5 * SECOND), cells).once().run();
        assert!(flags(&record).contains(&Flag::Stalled), "{cells}: {:?}", flags(&record));
        let text = warning(&record, Flag::Stalled);
        assert!(text.starts_with("no answer for 5.0 s, "), "{text}");
    }
    let record = Lab::new(&silent(20_000, 5 * SECOND), READ).once().run();
    let stall = record.cells[0].passes[0].stall.expect("it was seen");
    let began_s = 20_000.0 * 137e-6;
    assert!((stall.at_s - began_s).abs() < 0.2 && (stall.seconds - 5.0).abs() < 0.01, "{stall:?}");
    assert!((stall.iops_without * 137e-6 - 1.0).abs() < 0.1, "{stall:?}");
    assert!(!seen(&silent(20_000, SECOND / 2), READ).contains(&Flag::Stalled), "half a second");
    // What was cut off as warm-up is in no mean: modelled disks that wrote out their caches before
    // the first answer were said to stall.
    let at_first = seen(&silent(0, 6 * SECOND / 5), READ);
    assert!(at_first.contains(&Flag::WarmUp) && !at_first.contains(&Flag::Stalled), "{at_first:?}");
    // A drive that is slow by nature takes as long for everything.
    let slow = Scripted::new(|at| at.about(400_000_000));
    assert!(!seen(&slow, READ).contains(&Flag::Stalled));
}

fn conditioned(of: impl Fn(&Life) -> Vec<DeviceState> + 'static) -> Scripted {
    let named = move |life: &Life| {
        let named = |state| Condition { device: "md0".to_owned(), state };
        of(life).into_iter().map(named).collect()
    };
    Scripted::calm().with(|facts| facts.conditions = Rc::new(named))
}

/// An array that was resyncing, or lacked a member, was measured without a word.
#[test]
fn an_array_at_work_for_itself_is_flagged_and_an_idle_one_is_not() {
    let syncing = |life: &Life| {
        let percent = Some(if life.requests == 0 { 3 } else { 9 });
        vec![DeviceState::Syncing { action: "check".to_owned(), percent }]
    };
    let record = Lab::new(&conditioned(syncing), READ).once().run();
    assert_eq!(flags(&record), [Flag::Resync]);
    let text = warning(&record, Flag::Resync);
    assert!(text.starts_with("md0: check, 3 to 9 % done: "), "{text}");
    let record = Lab::new(&conditioned(|_| vec![DeviceState::Degraded(1)]), READ).once().run();
    assert_eq!(flags(&record), [Flag::Degraded]);
    assert!(warning(&record, Flag::Degraded).starts_with("md0 ran without 1 member: "));
    assert_eq!(seen(&conditioned(|_| Vec::new()), READ), []);
}

#[test]
fn a_thin_volume_is_allocating_only_while_writes_make_it_grow() {
    let growing = |life: &Life| vec![DeviceState::Allocated(life.written_bytes)];
    assert_eq!(seen(&conditioned(growing), WRITE), [Flag::Allocating]);
    assert_eq!(seen(&conditioned(growing), READ), []);
    assert_eq!(seen(&conditioned(|_| vec![DeviceState::Allocated(1 << 30)]), WRITE), []);
}

#[test]
fn a_falling_rate_is_throttling_only_on_a_drive_that_grows_hot() {
    let tired = || Scripted::new(|at| at.about(137_000 + 137_000 * at.life_ns / (100 * SECOND)));
    let hot = |life: &Life| Observation {
        temperature_celsius: Some(38.0 + 0.5 * life.now.0 as f64 / 1e9),
        ..honest(life)
    };
    let throttled = Lab::new(&tired().observed(hot), READ).once().run();
    assert!(flags(&throttled).contains(&Flag::ThermalThrottling), "{:?}", flags(&throttled));
    assert!(warning(&throttled, Flag::ThermalThrottling).contains("from 38 to"));
    assert!(!seen(&tired(), READ).contains(&Flag::ThermalThrottling), "it stayed cool");
    assert_eq!(seen(&Scripted::calm().observed(hot), READ), [], "warm and no slower");
}

#[test]
fn a_durable_write_in_no_time_is_a_lie_without_power_loss_protection() {
    let liar = || Scripted::new(|at| at.about(if at.is_fua { 11_000 } else { 137_000 }));
    let fsync = "[[cell]]\nop = 'write'\nflush_every = 8";
    for cell in [DURABLE, fsync] {
        assert_eq!(seen(&liar(), cell), [Flag::LyingFlush], "{cell}");
        let protected = liar().with(|facts| facts.drive().power_loss_protection = Some(true));
        assert_eq!(seen(&protected, cell), [], "{cell}");
        let unprotected = liar().with(|facts| facts.drive().power_loss_protection = Some(false));
        assert_eq!(seen(&unprotected, cell), [Flag::LyingFlush], "{cell}");
    }
    for flag in [Flag::MemoryBacked, Flag::LoopDevice] {
        let memory = liar().with(|facts| facts.flag(flag));
        assert_eq!(seen(&memory, DURABLE), [flag]);
    }
}

/// `Io::syncing` holds for all operations of a stream, so `is_durable` was true for reads on a file
/// opened with `O_DSYNC`: a drive that read in 11 us was called a liar. Nor do reads among the
/// writes of a mix say how long a write takes.
#[test]
fn fast_reads_are_no_lie_however_the_file_is_opened() {
    let fast_reader = || {
        Scripted::new(|at| at.about(if at.kind == scripted::Kind::Read { 11_000 } else { 350_000 }))
    };
    for op in ["read", "mixed:70"] {
        let cell = format!("[[cell]]\nop = '{op}'\nio = 'direct,dsync'");
        assert_eq!(seen(&fast_reader(), &cell), [], "{op}");
    }
}

/// Answers at once, but for 300 ms of every second.
fn staller() -> Scripted {
    Scripted::new(|at| {
        let into_second = at.pass_ns % SECOND;
        let rest = (300_000_000_u64).saturating_sub(into_second);
        rest + at.about(137_000)
    })
}

#[test]
fn an_open_loop_sees_the_stalls_that_a_closed_loop_hides() {
    let p99 = |record: &Record| {
        record.cells[0].latency.as_ref().and_then(|latency| latency.percentile(99.0)).expect("p99")
    };
    let open = Lab::new(&staller(), "[[cell]]\nop = 'read'\nrate = 1000").once().run();
    assert!(flags(&open).contains(&Flag::CoordinatedOmission), "{:?}", flags(&open));
    assert!((280_000_000..310_000_000).contains(&p99(&open)), "{}", p99(&open));
    let closed = Lab::new(&staller(), READ).once().run();
    assert!(!flags(&closed).contains(&Flag::CoordinatedOmission));
    assert!(p99(&closed) < 200_000, "the closed loop saw {} ns", p99(&closed));
    let calm = Lab::new(&Scripted::calm(), "[[cell]]\nop = 'read'\nrate = 1000").once().run();
    assert_eq!(flags(&calm), []);
}

/// An open loop's service time counted from the last half of an operation: the write of a
/// read-modify-write, so that a slow read and a fast write looked like hidden stalls.
#[test]
fn an_operation_of_two_halves_is_compared_with_both_of_them() {
    let slow_reads = Scripted::new(|at| {
        at.about(if at.kind == scripted::Kind::Read { 700_000 } else { 60_000 })
    });
    let cell = "[[cell]]\nop = 'read_modify_write'\ndepth = 4\nrate = 900";
    assert_eq!(seen(&slow_reads, cell), []);
    let stalls = "[[cell]]\nop = 'commit'\nrate = 500";
    assert!(seen(&staller(), stalls).contains(&Flag::CoordinatedOmission));
}

#[test]
fn too_few_operations_are_insufficient() {
    let slow = Scripted::new(|at| at.about(100_000_000));
    let record = Lab::new(&slow, READ).once().run();
    assert!(flags(&record).contains(&Flag::Insufficient), "{:?}", flags(&record));
    assert!(warning(&record, Flag::Insufficient).starts_with("60"), "{record:?}");
    let hurried = Lab::new(&Scripted::calm(), READ)
        .with(|options| options.seconds_max = Some(0.5))
        .once()
        .run();
    assert_eq!(flags(&hurried), [Flag::Insufficient], "half a second is five ticks");
}

#[test]
fn a_pass_of_a_few_milliseconds_is_insufficient_where_its_bytes_end_it() {
    let run = |count: &str| {
        let cell = format!("[[cell]]\nop = 'read'\nbound = '{count}'");
        Lab::new(&Scripted::calm(), &cell).once().run()
    };
    assert_eq!(flags(&run("200")), [Flag::Insufficient]);
    assert_eq!(flags(&run("1000")), [], "a thousand operations say enough");
}

#[test]
fn a_worker_that_computes_all_the_time_is_the_limit() {
    let costly = |cpu_ns| Scripted::calm().scripted(move |script| script.cpu_ns = cpu_ns);
    let record = Lab::new(&costly(130_000), READ).once().run();
    assert_eq!(flags(&record), [Flag::CpuLimited]);
    assert!(warning(&record, Flag::CpuLimited).contains("95 %"), "{record:?}");
    let cost = record.cells[0].cpu.expect("a cost");
    assert!((cost.ns_per_operation - 130_000.0).abs() < 100.0, "{cost:?}");
    assert_eq!(seen(&costly(110_000), READ), [], "80 % busy");
}

#[test]
fn a_drive_not_five_times_slower_than_the_engine_is_flagged() {
    let run = |engine_ns, kind| {
        let drive = Scripted::calm().with(|facts| {
            facts.info.kind = kind;
            facts.offer.time = lab::target::Time::Wall;
        });
        let lab = Lab { engine_ns, ..Lab::new(&drive, "[[cell]]\nop = 'read'\ndepth = 4") };
        flags(&lab.once().run())
    };
    assert_eq!(run(7_500.0, TargetKind::BlockDevice), [Flag::EngineLimited], "34 us apiece");
    assert_eq!(run(6_000.0, TargetKind::BlockDevice), []);
    assert_eq!(run(7_500.0, TargetKind::Null), [], "null: is the engine");
}

/// The engine's cost is measured in the wall's seconds; a model's operations take virtual ones.
#[test]
fn virtual_time_is_not_compared_with_the_engines_cost() {
    let lab = Lab { engine_ns: 100_000.0, ..Lab::new(&Scripted::calm(), READ) };
    assert_eq!(flags(&lab.once().run()), []);
}

#[test]
fn a_rate_at_the_links_is_the_links() {
    let reader = |ns: u64| Scripted::new(move |at| at.about(ns)).scripted(|s| s.parallelism = 1);
    assert_eq!(seen(&reader(1_780_000), STREAM_READ), [Flag::LinkLimited], "589 MB/s of 600");
    assert_eq!(seen(&reader(2_300_000), STREAM_READ), [], "456 MB/s");
}

/// A drive that takes 254 places in a command got each MiB in two, and gave half of what it could:
/// the page said nothing.
#[test]
fn blocks_in_more_pages_than_a_command_takes_are_cut() {
    let drive = |segments: Option<u64>, request_bytes: u64| {
        let target = Scripted::calm().observed(move |life| Observation {
            drive_requests: Some((life.read_bytes + life.written_bytes) / request_bytes),
            ..honest(life)
        });
        target.with(|facts| {
            facts.queue().segments_max = segments;
            facts.queue().transfer_bytes_max = Some(1280 << 10);
        })
    };
    let is_cut = |target: &Scripted, cells: &str| seen(target, cells).contains(&Flag::CutTransfers);
    let cut = drive(Some(254), 512 << 10);
    for cells in [STREAM_READ, STREAM_WRITE] {
        let record = Lab::new(&cut, cells).once().run();
        let text = warning(&record, Flag::CutTransfers);
        let start = "blocks of 1 MiB came to the drive in requests of 512 KiB, for it takes 254 ";
        assert!(text.starts_with(start), "{text}");
        let huge = format!("{cells}\nio = 'direct,hugepages'");
        assert!(!is_cut(&cut, &huge), "huge pages are few");
        assert!(!is_cut(&drive(Some(254), 1 << 20), cells), "pages lay side by side");
        assert!(!is_cut(&drive(Some(256), 512 << 10), cells), "cut for another reason");
        assert!(!is_cut(&drive(None, 512 << 10), cells), "nobody knows");
    }
    let short = drive(Some(254), 512 << 10)
        .with(|facts| facts.queue().transfer_bytes_max = Some(512 << 10));
    assert!(!is_cut(&short, STREAM_READ), "no command is longer, whatever the pages");
    let block = |kib: u32| format!("[[cell]]\nop = 'read'\nblock = '{kib}KiB'");
    assert!(is_cut(&cut, &block(1020)) && !is_cut(&cut, &block(1016)), "254 pages and one more");
}

/// The first link of a stack was taken for all of it: two drives of a RAID-0 were limited by the
/// link of one. And a rate far above the link did not come over it.
#[test]
fn one_link_does_not_limit_two_drives_nor_a_cache() {
    let fast = || Scripted::new(|at| at.about(900_000)).scripted(|s| s.parallelism = 1);
    let striped = fast().with(|facts| {
        let second = facts.info.stack[0].clone();
        facts.info.stack.push(second);
    });
    assert_eq!(seen(&striped, STREAM_READ), []);
    assert_eq!(seen(&fast(), STREAM_READ), [], "1,165 MB/s over a link of 600");
}

#[test]
fn reads_that_the_drive_did_not_see_came_from_a_cache() {
    let half =
        |life: &Life| Observation { drive_read_bytes: Some(life.read_bytes / 2), ..honest(life) };
    assert_eq!(seen(&Scripted::calm().observed(half), READ), [Flag::CacheServed]);
    let most = |life: &Life| Observation {
        drive_read_bytes: Some(life.read_bytes * 19 / 20),
        ..honest(life)
    };
    assert_eq!(seen(&Scripted::calm().observed(most), READ), []);
}

#[test]
fn without_counters_pages_that_lay_in_the_cache_before_tell() {
    let resident = |bytes: u64| {
        Scripted::calm().observed(move |life| Observation {
            drive_read_bytes: None,
            resident_bytes: Some(bytes),
            ..honest(life)
        })
    };
    let buffered = "[[cell]]\nop = 'read'\nio = 'buffered'";
    let large = |target: &Scripted, cells: &str| {
        flags(&Lab { memory_bytes: 1 << 29, ..Lab::new(target, cells) }.once().run())
    };
    assert_eq!(large(&resident(600 << 20), buffered), [Flag::CacheServed]);
    assert_eq!(large(&resident(50 << 20), buffered), []);
    assert_eq!(large(&resident(600 << 20), READ), [], "direct reads pass the cache by");
}

#[test]
fn a_buffered_cell_smaller_than_memory_measures_memory() {
    let buffered = "[[cell]]\nop = 'read'\nio = 'buffered'";
    let unseen = Scripted::calm().observed(|life| Observation {
        resident_bytes: None,
        dirty_bytes: None,
        ..honest(life)
    });
    assert_eq!(seen(&unseen, buffered), [Flag::FitsInMemory], "nobody can look into the cache");
    let small = Lab { memory_bytes: 1 << 29, ..Lab::new(&unseen, buffered) };
    assert_eq!(flags(&small.once().run()), []);
    assert_eq!(seen(&Scripted::calm(), buffered), [], "the cache was empty, the drive read all");
}

#[test]
fn traffic_that_is_not_ours_is_foreign() {
    // 30 MB/s is what we read ourselves.
    let neighbour = |read_per_s: u64, written_per_s: u64| {
        Scripted::calm().observed(move |life| {
            let seconds = life.now.0 as f64 / 1e9;
            let more = |own: u64, rate: u64| Some(own + (rate as f64 * seconds) as u64);
            Observation {
                drive_read_bytes: more(life.read_bytes, read_per_s),
                drive_written_bytes: more(life.written_bytes, written_per_s),
                ..honest(life)
            }
        })
    };
    for cell in [READ, WRITE] {
        assert_eq!(seen(&neighbour(3_000_000, 0), cell), [Flag::ForeignIo], "{cell}");
        assert_eq!(seen(&neighbour(0, 3_000_000), cell), [Flag::ForeignIo], "{cell}");
        assert_eq!(seen(&neighbour(200_000, 200_000), cell), [], "{cell}: 1.3 % are noise");
    }
    assert_eq!(seen(&neighbour(0, 3_000_000), DURABLE), [], "a journal's writes are ours");
    assert_eq!(seen(&neighbour(3_000_000, 0), DURABLE), [Flag::ForeignIo]);
}

#[test]
fn processor_time_taken_by_the_hypervisor_is_steal() {
    let stolen = |share: f64| {
        Scripted::calm().observed(move |life| {
            let seen = honest(life);
            Observation { cpu_steal: (seen.cpu_total as f64 * share) as u64, ..seen }
        })
    };
    assert_eq!(seen(&stolen(0.05), READ), [Flag::Steal]);
    assert_eq!(seen(&stolen(0.01), READ), []);
}

#[test]
fn random_reads_too_fast_for_a_disk_refute_the_rotational_flag() {
    let disk = |ns: u64, rotational| {
        Scripted::new(move |at| at.about(ns))
            .with(|facts| facts.queue().rotational = Some(rotational))
    };
    assert_eq!(seen(&disk(137_000, true), READ), [Flag::RotationalMismatch]);
    assert_eq!(seen(&disk(7_700_000, true), READ), []);
    assert_eq!(seen(&disk(137_000, false), READ), []);
    let sequential = "[[cell]]\nop = 'read'\npattern = 'seq'";
    assert_eq!(seen(&disk(137_000, true), sequential), [], "read-ahead is no seek");
    let near = "[[cell]]\nop = 'read'\npart = [0.0, 0.25]";
    assert_eq!(seen(&disk(137_000, true), near), [], "256 MiB may lie on few tracks");
}

#[test]
fn a_queue_that_something_above_the_drive_serialises_is_not_as_deep_as_asked() {
    let deep = "[[cell]]\nop = 'read'\ndepth = 32";
    let serial = |admission| {
        Scripted::calm().scripted(move |script| {
            (script.parallelism, script.admission) = (1, admission);
        })
    };
    let record = Lab::new(&serial(Admission::InTurn), deep).once().run();
    assert_eq!(flags(&record), [Flag::DepthNotReached]);
    assert!(warning(&record, Flag::DepthNotReached).starts_with("1.0 of 32"), "{record:?}");
    assert!(record.cells[0].depth_achieved.is_some_and(|depth| (depth - 1.0).abs() < 0.02));
    assert_eq!(seen(&serial(Admission::AtOnce), deep), [], "the drive's own queue is deep");
}

/// The achieved depth was the rate with the warm-up times the latency without it: after a slow
/// start it came out too small.
#[test]
fn a_slow_start_does_not_make_the_queue_shallow() {
    let slow_start =
        Scripted::new(|at| at.about(if at.pass_ns < 2 * SECOND { 1_370_000 } else { 137_000 }));
    let found = seen(&slow_start, "[[cell]]\nop = 'read'\ndepth = 8");
    assert_eq!(found, [Flag::LeftSteadyState], "2 s at a tenth of the rate are told");
}

#[test]
fn compressible_data_is_named_where_it_is_written() {
    for data in ["zeros", "compressible:50"] {
        let cell = |op: &str| format!("[[cell]]\nop = '{op}'\ndata = '{data}'");
        assert_eq!(seen(&Scripted::calm(), &cell("write")), [Flag::CompressibleData]);
        assert_eq!(seen(&Scripted::calm(), &cell("read")), []);
    }
}

#[test]
fn a_volatile_cache_concerns_writes_that_nothing_makes_durable() {
    let cached = || Scripted::calm().with(|facts| facts.flag(Flag::VolatileCache));
    assert_eq!(seen(&cached(), WRITE), [Flag::VolatileCache]);
    for cell in [READ, DURABLE, "[[cell]]\nop = 'commit'"] {
        assert_eq!(seen(&cached(), cell), [], "{cell}");
    }
}

#[test]
fn what_holds_for_the_target_holds_for_every_cell() {
    let virtual_disk = Scripted::calm().with(|facts| facts.flag(Flag::VirtualDisk));
    let record = Lab::new(&virtual_disk, &[READ, WRITE].join("\n")).once().run();
    assert!(record.cells.iter().all(|cell| cell.flags == [Flag::VirtualDisk]));
    let holes = Scripted::calm().with(|facts| {
        let text = "half of the file is holes".to_owned();
        facts.inspected.push(record::Warning { flag: Some(Flag::SparseFile), text });
    });
    let record = Lab::new(&holes, READ).once().run();
    assert_eq!(
        (flags(&record), &record.targets[0].flags),
        (vec![Flag::SparseFile], &vec![Flag::SparseFile])
    );
}

#[test]
fn a_rate_beyond_the_drive_is_not_reached() {
    let open = |rate: u32| format!("[[cell]]\nop = 'read'\ndepth = 8\nrate = {rate}");
    let over = Scripted::calm().scripted(|script| script.parallelism = 1);
    let found = seen(&over, &open(9_000));
    assert!(found.contains(&Flag::RateNotReached), "{found:?}");
    assert_eq!(seen(&over, &open(4_000)), []);
}

#[test]
fn the_order_of_cells_is_random_anew_in_every_pass_and_kept() {
    let cells: String = (0..6)
        .map(|number| format!("[[cell]]\nname = 'c{number}'\nop = 'read'\nbound = '2000'\n"))
        .collect();
    let record = Lab::new(&Scripted::calm(), &cells).run();
    let orders = |pass: usize| -> Vec<u32> {
        record.cells.iter().map(|cell| cell.passes[pass].order).collect()
    };
    let mut all: Vec<u32> = (0..3).flat_map(&orders).collect();
    let relative: Vec<Vec<u32>> = (0..3)
        .map(|pass| orders(pass).iter().map(|order| order - 6 * pass as u32).collect())
        .collect();
    assert!(relative[0] != relative[1] && relative[1] != relative[2], "{relative:?}");
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..18));
    let mut starts: Vec<(u32, f64)> = (record.cells.iter())
        .flat_map(|cell| cell.passes.iter().map(|pass| (pass.order, pass.started_s)))
        .collect();
    starts.sort_by_key(|start| start.0);
    assert!(starts.windows(2).all(|pair| pair[0].1 < pair[1].1), "{starts:?}");
    assert_eq!(cell(&record, "c0").passes.len(), 3);
}
