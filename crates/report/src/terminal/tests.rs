//! Whole pages: golden texts, and what stands where.

mod any;

pub(crate) use any::{any_cell, name};

use super::*;
use record::{Pass, Transition, Warning};

const LAYOUTS: [&str; 9] =
    ["list", "bm-flash", "iozone", "iozone-cmu", "dd", "oltp", "snia", "saturation", "unknown"];

/// Two targets, every field filled somewhere.
pub(crate) fn example() -> Record {
    let text = include_str!("../../../record/tests/example.json");
    Record::from_json(text, "example.json").expect("a record")
}

const BRIEF: Notes<'_> = Notes::Brief { more: "drivelab show 0badcafe --explain" };

/// The whole page with every note explained.
fn explained(record: &Record, style: &Style) -> String {
    run(record, style, Notes::Explained)
}

/// The history of runs that were all started at the same time.
fn history_at_once(runs: &[RunSummary], style: &Style) -> String {
    history(runs, |_| "3 h ago".to_owned(), style)
}

/// The results alone, in one layout.
fn results_of(layout: &str, cells: Vec<Cell>) -> String {
    let mut record =
        Record { cells, rounds: None, expectations: Vec::new(), knees: Vec::new(), ..example() };
    record.method.layout = layout.to_owned();
    let mut page = Page::new(&Style::PLAIN);
    results(&mut page, &record);
    page.finish()
}

/// A cell without notes; `iops` and `bytes_per_s` agree.
pub(crate) fn cell(op: &str, pattern: &str, block_bytes: u64, threads: u32, iops: f64) -> Cell {
    Cell {
        op: op.to_owned(),
        pattern: pattern.to_owned(),
        block_bytes,
        threads,
        iops,
        bytes_per_s: iops * block_bytes as f64,
        queue_depth: 1,
        coordinates: Default::default(),
        flags: Vec::new(),
        flush_latency: None,
        ..example().cells[1].clone()
    }
}

#[test]
fn a_list_gives_bandwidth_of_large_blocks_and_operations_of_small_ones() {
    let mut cells = example().cells;
    cells.truncate(2);
    let expected = "\
cell                                 rate     95 %     p50      p99  notes
-----------------------------  ----------  -------  ------  -------  -----
sequential read 1 MiB, 8 deep    275 MB/s  +-1.6 %  598 us  1.52 ms  1
random read 4 KiB, 32 deep     52.1k IOPS  +-1.5 %  598 us  1.52 ms  2,3
";
    assert_eq!(results_of("list", cells), expected);
}

/// Figures of the 2007 study's first table (Mtron PRO, bare, 4096 bytes).
#[test]
fn the_2007_table_comes_out_as_it_was_printed() {
    let cells = vec![
        cell("read", "random", 4096, 1, 10_337.8),
        cell("read", "random", 4096, 10, 13_223.2),
        cell("read", "random", 4096, 40, 13_226.9),
        cell("write", "random", 4096, 1, 123.375),
        cell("write", "random", 4096, 10, 123.875),
        cell("read", "seq", 1 << 20, 1, 113.9),
    ];
    let expected = "\
Random reads
block  1 thread     BW  10 threads     BW  40 threads     BW  notes
-----  --------  -----  ----------  -----  ----------  -----  -----
4K        10337  40.3M       13223  51.6M       13226  51.6M

Random writes
block  1 thread      BW  10 threads      BW  notes
-----  --------  ------  ----------  ------  -----
4K          123  493.5K         123  495.5K

Linear read 1 MiB: 113.9M

IOPS and bandwidth truncated, K = 1024 and M = 1048576 B/s, as that study
printed them; intervals and latency are in the record.
";
    assert_eq!(results_of("bm-flash", cells), expected);
}

#[test]
fn iozone_has_a_grid_a_test_in_whole_kib() {
    let at = |test: &str, file_bytes: u64, block_bytes, iops| {
        let mut cell = cell("write", "seq", block_bytes, 1, iops);
        cell.coordinates.insert("test".to_owned(), test.into());
        cell.coordinates.insert("file_bytes".to_owned(), file_bytes.to_string().into());
        cell
    };
    let cells = vec![
        at("write", 65536, 4096, 1000.4),
        at("write", 65536, 8192, 900.0),
        at("write", 131_072, 4096, 1100.0),
        at("re-write", 65536, 4096, 2000.0),
    ];
    let expected = "\
write, KiB/s
file \\ record  4 KiB  8 KiB  widest 95 %  notes
-------------  -----  -----  -----------  -----
64 KiB          4001   7200      +-1.5 %
128 KiB         4400             +-1.5 %

re-write, KiB/s
file \\ record  4 KiB  widest 95 %  notes
-------------  -----  -----------  -----
64 KiB          8000      +-1.5 %
";
    assert_eq!(results_of("iozone", cells), expected);
}

/// Three files around the size of a page cache: from it, half from it, and past it; and what was
/// written before.
#[test]
fn a_grid_says_behind_each_rate_what_it_is_the_rate_of() {
    let at = |test: &str, file_bytes: u64, cached: Option<f64>| {
        let mut cell = cell("read", "seq", 65536, 1, 1000.0);
        cell.coordinates.insert("test".to_owned(), test.into());
        cell.coordinates.insert("file_bytes".to_owned(), file_bytes.to_string().into());
        (cell.half_width_relative, cell.iops_ci95) = (None, None);
        let look = record::CachePass {
            area_bytes: file_bytes,
            dropped: None,
            resident_before_bytes: 0,
            resident_after_bytes: 0,
            dirty_after_bytes: None,
            fetched_bytes: None,
            cached_share: cached,
            fetched_share: cached.map(|cached| 1.0 - cached),
            unwritten_share: None,
            durable: cached.is_none().then_some(false),
        };
        cell.passes = vec![Pass { page_cache: Some(look), ..cell.passes[0].clone() }];
        cell
    };
    let cells = vec![
        at("write", 16 << 20, None),
        at("re-read", 16 << 20, Some(1.0)),
        at("re-read", 32 << 20, Some(0.48)),
        at("re-read", 64 << 20, Some(0.0)),
    ];
    let expected = "\
write, KiB/s
file \\ record   64 KiB  notes
-------------  -------  -----
16 MiB         64000 m

re-read, KiB/s
file \\ record     64 KiB  notes
-------------  ---------  -----
16 MiB           64000 c
32 MiB         64000 48%
64 MiB           64000 d

What the rates are of
  N%  mixed, N % from the page cache
  c   from the page cache
  d   from the drive
  m   into the page cache, not durable
";
    assert_eq!(results_of("iozone", cells), expected);
}

#[test]
fn dd_shows_its_line_its_reading_and_the_flush_apart() {
    let mut cell = cell("write", "seq", 512, 1, 322.58);
    cell.io = "direct,sync".to_owned();
    cell.half_width_relative = Some(0.02);
    let total = record::Operations { operations: 1000, bytes: 512_000, errors: 0, seconds: 3.1 };
    cell.passes = vec![Pass { total, flush_s: Some(0.012), ..cell.passes[0].clone() }];
    let expected = "\
sequential write 512 B, durable with metadata
512000 bytes (500 KiB) copied, 3.10 s, 165 kB/s
  final flush 12.0 ms: 165 kB/s with it
= 3.10 ms per write (+-2.0 %): 3.10 s for 1000
";
    assert_eq!(results_of("dd", vec![cell]), expected);
}

#[test]
fn commits_stand_before_the_data_streams() {
    let mut log = cell("commit", "seq", 8192, 1, 812.0);
    log.io = "buffered".to_owned();
    let text = results_of("oltp", vec![cell("mixed", "random", 8192, 8, 9000.0), log]);
    assert!(text.starts_with(
        "sequential commit 8 KiB, buffered\n812 commits/s (+-1.5 %)\n\
         commit latency p50 598 us, p99 1.52 ms, p99.9 4.26 ms\n"
    ));
    assert!(text.contains("random mixed 8 KiB, 8 threads"), "{text}");
}

#[test]
fn rounds_are_steady_within_snias_limits_and_not_beyond() {
    let rounds = |block_bytes, rates: &[f64]| {
        let mut cell = cell("write", "random", block_bytes, 1, rates[0]);
        let pass = cell.passes[0].clone();
        let pass = |(at, &iops): (usize, &f64)| Pass { pass: at as u32, iops, ..pass.clone() };
        cell.passes = rates.iter().enumerate().map(pass).collect();
        cell
    };
    let text = results_of(
        "snia",
        vec![
            rounds(4096, &[900.0, 500.0, 340.0, 335.0, 338.0, 336.0, 337.0]),
            rounds(8192, &[500.0, 450.0, 400.0, 350.0, 300.0]),
            rounds(16384, &[1.0, 2.0]),
        ],
    );
    assert!(text.contains("0/100 4 KiB: steady, spread 1.5 %"), "{text}");
    // A straight line from 500 to 300 about 400: both are half of it.
    assert!(
        text.contains("0/100 8 KiB: not steady, spread 50 % (limit 20 %), drift 50 %"),
        "{text}"
    );
    assert!(text.contains("0/100 16 KiB: not judged, 2 of 5 rounds"), "{text}");
    assert!(text.contains("\n4 KiB     337\n"), "{text}");
}

#[test]
fn a_cliff_is_told_in_words_and_seen_in_the_picture() {
    let mut cell = cell("write", "seq", 1 << 20, 1, 300.0);
    let mut pass = cell.passes[0].clone();
    pass.series.operations = [vec![50; 20], vec![25; 20]].concat();
    pass.transitions = vec![Transition {
        at_s: 2.0,
        at_bytes: 1_048_576_000,
        before_bytes_per_s: 524.288e6,
        after_bytes_per_s: 262.144e6,
    }];
    pass.warm_up_s = 2.0;
    cell.passes = vec![pass];
    let text = results_of("saturation", vec![cell]);
    assert!(text.contains("rate after the first 2.00 s: "), "{text}");
    let words = "cliff after 1.05 GB (2.00 s): the rate fell from 524 MB/s to 262 MB/s, 50 % of it";
    assert!(text.replace('\n', " ").contains(words), "{text}");
    assert!(text.contains(&format!(" 524 MB/s |{}\n", "#".repeat(20))), "{text}");
    assert!(text.contains(&format!("        0 |{}\n", "#".repeat(40))), "{text}");
}

#[test]
fn an_unfinished_run_says_why_and_how_to_go_on() {
    let record = Record {
        state: State::Interrupted,
        error: Some("stopped by Ctrl-C.".to_owned()),
        ..example()
    };
    let text = explained(&record, &Style::PLAIN);
    let line = "state  interrupted: stopped by Ctrl-C; to go on: drivelab run --resume 0badcafe";
    assert!(text.contains(line), "{text}");
    assert!(!explained(&example(), &Style::PLAIN).contains("--resume"));
    let record = Record { error: Some("interrupted".to_owned()), ..record };
    assert!(explained(&record, &Style::PLAIN).contains("state  interrupted; to go on:"));
}

#[test]
fn every_part_of_the_record_that_a_reader_needs_is_on_the_page() {
    let text = explained(&example(), &Style::PLAIN);
    for part in [
        "EXAMPLE SSD 64",
        "SATA 3.0 Gbps",
        "ext4 on /dev/sda1",
        "Linux 6.18.0",
        "seed",
        "before-trim",
        "Target 1: /mnt/b",
        "0.481 to 0.518",
        "slower",
        "random-read-512-t1-q1",
        "by random-write-4K-t1-q32: reached in round 7 of 7",
        "Sustained writes were not measured",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    for flag in [Flag::LinkLimited, Flag::VirtualDisk, Flag::VolatileCache, Flag::ForeignIo] {
        let joined = text.replace("\n   ", " "); // Footnotes wrap with three blanks.
        let explained = joined.matches(&format!(" {flag}: {}", flag.meaning())).count();
        assert_eq!(explained, 1, "{flag}:\n{text}");
    }
}

/// Flags used to stand in the footnotes and again, cell by cell, under "Warnings".
#[test]
fn a_flag_is_explained_once_with_what_was_seen_in_a_cell_or_two() {
    let mut record = example();
    record.targets.truncate(1);
    (record.flags, record.warnings, record.paired) = (Vec::new(), Vec::new(), Vec::new());
    (record.targets[0].flags, record.targets[0].warnings) = (Vec::new(), Vec::new());
    let flag = Flag::NotConverged;
    let raised = |seen: &str| {
        let text = format!("{seen}: {}", flag.cure());
        (vec![flag], vec![Warning { flag: Some(flag), text }])
    };
    let mut cells = vec![cell("read", "seq", 1 << 20, 1, 100.0); 4];
    cells.iter_mut().for_each(|cell| cell.warnings.clear());
    for (cell, seen) in cells.iter_mut().zip(["after 9 s", "after 8 s", "after 7 s"]) {
        (cell.flags, cell.warnings) = raised(seen);
    }
    record.cells = cells;
    let text = explained(&record, &Style::PLAIN).replace("\n   ", " ");
    let note = format!(
        " 1 not_converged: {} Seen: after 9 s (sequential read 1 MiB); and 2 more cells. Cure: {}.",
        flag.meaning(),
        flag.cure()
    );
    assert!(text.contains(&note), "{text}");
    assert_eq!(text.matches(flag.cure()).count(), 1, "{text}");
    assert!(!text.contains("Warnings") && !text.contains("whole run"), "{text}");
    // Raised by every cell alike, it is a note of the whole run, and nobody is named.
    for cell in &mut record.cells {
        (cell.flags, cell.warnings) = raised("after 9 s");
    }
    record.warnings = vec![Warning { flag: None, text: "no io_uring here".to_owned() }];
    let text = explained(&record, &Style::PLAIN).replace("\n   ", " ");
    assert!(text.contains("whole run: note 1\n"), "{text}");
    assert!(text.contains(" Seen: after 9 s. Cure"), "{text}");
    assert!(!text.contains("notes"), "no column of notes: {text}");
    assert!(text.contains("Warnings\n  no io_uring here\n"), "{text}");
}

#[test]
fn a_cells_line_holds_name_rate_interval_and_flags() {
    let mut cell = example().cells.swap_remove(1);
    cell.flags.truncate(1);
    let line =
        "random read 4 KiB, 32 deep: 52.1k IOPS +-1.5 %, p50 598 us, p99 1.52 ms [burst_credit]";
    assert_eq!(
        cell_line(&cell_title(&cell), &cell, &[], &Style { width: 100, ..Style::PLAIN }),
        line
    );
    let narrow = cell_line(&cell_title(&cell), &cell, &[], &Style::PLAIN);
    assert!(narrow.len() <= 80 && narrow.ends_with("p99 1.52 ms [+1]"), "{narrow}");
    // Where both do not fit, a percentile gives way to the flags.
    let narrow = cell_line(&cell_title(&cell), &cell, &[], &Style { width: 74, ..Style::PLAIN });
    assert!(narrow.ends_with("p50 598 us [burst_credit]"), "{narrow}");
    let flags = [Flag::Drifting, Flag::Insufficient];
    assert_eq!(flags_within(&flags, 30), " [drifting, insufficient]");
    assert_eq!(flags_within(&flags, 20), " [drifting +1]");
    assert_eq!((flags_within(&flags, 5), flags_within(&[], 5)), (" [+2]".into(), String::new()));
    assert!(
        !cell_line(&cell_title(&cell), &cell, &[Flag::BurstCredit], &Style::PLAIN).contains('[')
    );
}

#[test]
fn the_history_has_a_row_a_run() {
    let text = history_at_once(&[example().summary()], &Style { width: 130, ..Style::PLAIN });
    for part in ["0badcafe", "3 h ago", "quick", "/mnt/a /mnt/b", "sequential read 1 MiB 275 MB/s"]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("complete"), "the usual needs no word: {text}");
    assert!(history_at_once(&[], &Style::PLAIN).contains("drivelab run"));
    let narrow = history_at_once(&[example().summary()], &Style::PLAIN);
    assert!(narrow.contains("read 275 MB/s") && !narrow.contains("seq"), "{narrow}");
}

/// A long path, label or state once made three lines of a run.
#[test]
fn a_run_stays_on_its_line_whatever_it_is_called() {
    let mut summary = example().summary();
    summary.targets = vec!["/srv/".to_owned() + &"directory/".repeat(20)];
    summary.labels.insert("label".to_owned(), "a label of several words ".repeat(3));
    summary.state = State::Interrupted;
    for width in [80, 100, 200] {
        let text = history_at_once(&[summary.clone()], &Style { width, ..Style::PLAIN });
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("interrupted") && text.contains("275 MB/s"), "{text}");
    }
}

/// Seven results and what to know of them once took 46 lines: the table had left the screen when
/// the reader could look.
#[test]
fn seven_results_with_their_notes_fit_one_screen() {
    let mut record = example();
    record.expectations.clear();
    record.targets.truncate(1);
    let target = &mut record.targets[0];
    (target.flags, target.managed_flash) = (vec![Flag::VirtualDisk], None);
    target.warnings.clear();
    record.flags.clear();
    record.paired.clear();
    (record.left_out, record.warnings, record.rounds) = (Vec::new(), Vec::new(), None);
    record.method.not_measured = Some("Not measured: much. It would take an hour.".to_owned());
    for several in [1, 3] {
        record.cells = (0..7).map(|at| cell("read", "random", 4096 << at, 1, 1000.0)).collect();
        for (cell, flags) in record.cells.iter_mut().zip(Flag::ALL.chunks(several)) {
            (cell.target, cell.flags) = (0, flags.to_vec());
            cell.warnings.clear();
        }
        // One of no flag as well.
        let text = "--max-written leaves no room to see whether the target compresses".to_owned();
        record.warnings = vec![Warning { flag: None, text }; several - 1];
        let text = run(&record, &Style::PLAIN, BRIEF);
        // The prompt takes the last line.
        assert!(text.lines().count() <= 23, "{} lines:\n{text}", text.lines().count());
        let end = "Not measured: much\nMore: drivelab show 0badcafe --explain\n";
        assert!(text.ends_with(end), "{text}");
        let named = text.lines().filter(|line| line.contains(": ") && line.contains("; ")).count();
        assert_eq!(named, if several == 1 { 8 } else { 6 }, "{text}");
    }
}

/// The gravest note stood last, behind what holds of every run on that host.
#[test]
fn the_gravest_note_comes_first_and_is_painted() {
    let mut record = example();
    record.targets.truncate(1);
    record.cells.truncate(2);
    let flags = [Flag::VolatileCache, Flag::CacheServed, Flag::Steal];
    (record.cells[0].flags, record.cells[1].flags) = (flags.to_vec(), vec![Flag::Steal]);
    let coloured = Style { color: Color::Always, ..Style::PLAIN };
    let text = run(&record, &coloured, BRIEF);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}"));
    let grave = at("\x1b[31m  1 cache_served: ");
    assert!(grave < at("\x1b[33mall steal: ") && at("\x1b[33mall") < at("\x1b[2m  2 volatile"));
}

/// A command with its numbers was printed, and behind it "Cure: raise --max-time".
#[test]
fn a_command_that_would_do_stands_for_the_cure() {
    let mut record = example();
    record.targets.truncate(1);
    record.cells.truncate(2);
    let command = "drivelab run . --max-time 117s";
    for (cell, flags) in record.cells.iter_mut().zip([vec![Flag::NotConverged], vec![]]) {
        let text = format!("precision: +-7 %, +-5 % asked; 9 s more would do: `{command}`");
        cell.warnings =
            flags.iter().map(|&flag| Warning { flag: Some(flag), text: text.clone() }).collect();
        cell.flags = flags;
    }
    let short = run(&record, &Style::PLAIN, BRIEF);
    assert!(
        short.contains(&format!("not_converged: not precise or steady enough; {command}\n")),
        "{short}"
    );
    let long = explained(&record, &Style::PLAIN);
    assert!(long.contains("not_converged") && !long.contains("raise --max-time"), "{long}");
}

#[test]
fn colours_are_written_only_when_asked_for() {
    let coloured = Style { color: Color::Always, ..Style::PLAIN };
    assert!(explained(&example(), &coloured).contains("\x1b["));
    assert!(!explained(&example(), &Style::PLAIN).contains('\x1b'));
    assert_eq!(
        without_colours(&explained(&example(), &coloured)),
        explained(&example(), &Style::PLAIN)
    );
}

fn without_colours(text: &str) -> String {
    ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(code, ""))
}

#[test]
fn a_burst_and_what_came_after_it_are_told_apart() {
    let written = |order: u32, pool: [u64; 2], copied_bytes| Pass {
        order,
        managed_flash: Some(record::ManagedPass {
            clean_pool_before_bytes: pool[0] << 20,
            clean_pool_after_bytes: pool[1] << 20,
            host_bytes: 1000,
            copied_bytes,
            metadata_bytes: 20,
        }),
        ..example().cells[1].passes[0].clone()
    };
    let of = |passes: Vec<Pass>| {
        results_of("list", vec![Cell { passes, ..cell("write", "random", 4096, 1, 100.0) }])
    };
    let burst = of(vec![written(7, [512, 256], 0), written(3, [768, 512], 0)]);
    assert!(
        burst.contains("clean pool 768 MiB, then 256 MiB: a burst; write\n  amplification 1.02"),
        "{burst}"
    );
    let sustained = of(vec![written(0, [256, 0], 480)]);
    assert!(
        sustained.contains(
            "256 MiB, then 0 B: used up, the cleaner at\n  work; write amplification 1.50"
        ),
        "{sustained}"
    );
}

#[test]
fn what_a_cache_on_flash_had_is_told_over_all_passes() {
    let pass = |read_hit_bytes, write_hit_bytes| Pass {
        ssd_cache: Some(record::SsdCachePass {
            read_bytes: 1000,
            read_hit_bytes,
            written_bytes: 4 * write_hit_bytes,
            write_hit_bytes,
            flash_written_bytes: 1 << 20,
            written_back_bytes: 0,
        }),
        ..example().cells[1].passes[0].clone()
    };
    let of = |passes: Vec<Pass>| {
        results_of("list", vec![Cell { passes, ..cell("read", "random", 4096, 1, 100.0) }])
    };
    let in_one_line = |page: String| page.split_whitespace().collect::<Vec<_>>().join(" ");
    let read = in_one_line(of(vec![pass(300, 0), pass(500, 0)]));
    let told = "40 % of the bytes read were on flash; flash was written 2 MiB";
    assert!(read.contains(told), "{read}");
    assert!(!read.contains("bytes written") && !read.contains("back"), "{read}");
    let both = in_one_line(of(vec![pass(300, 100)]));
    assert!(both.contains("25 % of the bytes written"), "{both}");
}

/// One bad sector ended a run, and the table said "No cell was measured".
#[test]
fn what_failed_stands_under_the_table_with_its_offset() {
    let mut record = example();
    record.cells.truncate(2);
    let first = record::IoFailure {
        operation: "read".to_owned(),
        offset: 2_048_000,
        bytes: 4096,
        reason: "Input/output error".to_owned(),
    };
    let errors = record::IoErrors { count: 3, first: vec![first], latency: None };
    record.cells[0].total.errors = 3;
    record.cells[0].errors = Some(errors.clone());
    let reason = "read of 4 KiB at offset 2048000 of /dev/sdb failed".to_owned();
    let name = "lost".to_owned();
    record.failed = vec![record::FailedCell { target: 0, name, pass: 1, reason, errors }];
    (record.state, record.error) = (State::Failed, record.failed_sentence());
    let text = run(&record, &Style::PLAIN, Notes::Brief { more: "more" });
    for words in [
        "state  failed: 1 cell failed, the others were measured; to go on",
        "Failed: /mnt/a, lost: read of 4 KiB",
        "at offset 2048000 of /dev/sdb failed",
        "3 requests failed, the first: read of 4096 B at offset",
    ] {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&words.split_whitespace().collect::<Vec<_>>().join(" ")), "{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("cell") && line.contains("errors")), "{text}");
    let clean = example();
    assert!(!run(&clean, &Style::PLAIN, Notes::Brief { more: "more" }).contains("errors"));
}
