//! What a data sheet may say, and what cells say of it.

use super::*;
use crate::{
    runs::{self, Run, Subject},
    terminal::{
        Style,
        tests::{cell, example},
    },
};
use proptest::prelude::*;
use record::{Cell, Flag, Record};

const SHEET: &str = r#"
name = "Attic SSD"
source = "the maker"
[[entry]]
metric = "bandwidth"
op = "read"
pattern = "seq"
value = 250
unit = "MB/s"
up_to = true
"#;

fn parse(text: &str) -> Result<Specification, BadSpecification> {
    Specification::parse("sheet.toml", text)
}

fn entry(lines: &str) -> Specification {
    let text = format!("name = \"Attic SSD\"\nsource = \"the maker\"\n[[entry]]\n{lines}\n");
    parse(&text).unwrap_or_else(|bad| panic!("{bad}"))
}

/// A random-write cell at a rate, known within a share.
fn writes(iops: f64, half: f64, depth: u32) -> Cell {
    Cell {
        queue_depth: depth,
        name: format!("random-write-4K-q{depth}"),
        iops_ci95: Some([iops * (1.0 - half), iops * (1.0 + half)]),
        half_width_relative: Some(half),
        io: "direct".to_owned(),
        ..cell("write", "random", 4096, 1, iops)
    }
}

/// The record of one target that has these cells.
fn record(cells: Vec<Cell>, span_bytes: u64) -> Record {
    let mut record =
        Record { cells, rounds: None, expectations: Vec::new(), knees: Vec::new(), ..example() };
    record.targets.truncate(1);
    record.method.span_bytes = span_bytes;
    record.method.options.clear();
    for cell in &mut record.cells {
        cell.target = 0;
    }
    record
}

/// Verdict, reason and cure of the first entry.
fn judged(specification: &Specification, record: &Record) -> (Verdict, String, String) {
    let subjects: Vec<Subject<'_>> = runs::subjects(&[Run { record, prices: Vec::new() }]);
    let finding = judge(specification, &subjects[0]).remove(0);
    (finding.verdict, finding.because, finding.cure)
}

fn verdict(specification: &Specification, record: &Record) -> Verdict {
    judged(specification, record).0
}

const RANDOM_WRITES: &str =
    "metric = \"iops\"\nop = \"write\"\npattern = \"random\"\nunit = \"IOPS\"\nvalue = 10000\n";

#[test]
fn the_verdict_is_where_the_interval_lies() {
    let sheet = entry(RANDOM_WRITES);
    let at = |iops: f64, half: f64| verdict(&sheet, &record(vec![writes(iops, half, 1)], 1 << 30));
    assert_eq!(at(10_500.0, 0.02), Verdict::Pass);
    assert_eq!(at(9_500.0, 0.02), Verdict::Fail);
    assert_eq!(at(10_100.0, 0.02), Verdict::Inconclusive);
    assert_eq!(at(9_900.0, 0.02), Verdict::Inconclusive);
    // Half of the last written digit is granted.
    assert_eq!(at(9_999.6, 0.0), Verdict::Pass);
    assert_eq!(at(9_999.4, 0.0), Verdict::Fail);
    let mut bare = writes(20_000.0, 0.0, 1);
    bare.iops_ci95 = None;
    let (verdict, because, cure) = judged(&sheet, &record(vec![bare], 1 << 30));
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!((because.as_str(), cure.as_str()), ("one pass gave no interval", "add --passes 3"));
}

/// A drive of 250 MB/s does 238.4 MiB/s: whoever reads one unit for the other fails a correct drive
/// or passes a wrong one.
#[test]
fn a_megabyte_is_no_mebibyte() {
    let mut reads = writes(1.0, 0.001, 1);
    (reads.op, reads.pattern) = ("read".to_owned(), "seq".to_owned());
    reads.bytes_per_s = 250.4e6;
    reads.bytes_per_s_ci95 = Some([250.2e6, 250.6e6]);
    let record = record(vec![reads], 1 << 30);
    let lines = |unit: &str| {
        entry(&format!(
            "metric = \"bandwidth\"\nop = \"read\"\npattern = \"seq\"\nvalue = 250\nunit = \"{unit}\""
        ))
    };
    assert_eq!(verdict(&lines("MB/s"), &record), Verdict::Pass);
    assert_eq!(verdict(&lines("MiB/s"), &record), Verdict::Fail);
}

/// Sheets of consumer drives give random writes "up to ... IOPS (8 GB span)". Over more than that
/// the drive is slower and no liar; 8 GiB are more than 8 GB.
#[test]
fn a_span_of_8_gb_is_no_promise_for_more() {
    let sheet = entry(&format!("{RANDOM_WRITES}up_to = true\nspan = \"8GB\""));
    let slow = writes(4_000.0, 0.01, 1);
    for (span_bytes, expected) in [
        (8_000_000_000, Verdict::Fail),
        (1 << 30, Verdict::Fail),
        (8 << 30, Verdict::NotComparable),
        (64 << 30, Verdict::NotComparable),
    ] {
        assert_eq!(verdict(&sheet, &record(vec![slow.clone()], span_bytes)), expected);
    }
    let (_, because, cure) = judged(&sheet, &record(vec![slow], 64 << 30));
    assert_eq!(because, "an area of 64 GiB, more than 8.00 GB");
    assert!(cure.ends_with("--set op=write --set pattern=random --size 8GB"), "{cure}");
    let fast = writes(10_400.0, 0.01, 32);
    assert_eq!(verdict(&sheet, &record(vec![fast], 8_000_000_000)), Verdict::Pass);
}

#[test]
fn up_to_asks_for_the_best_cell_and_a_promise_for_every_one() {
    let cells =
        || vec![writes(9_000.0, 0.01, 1), writes(10_100.0, 0.02, 8), writes(12_000.0, 0.01, 32)];
    let best = entry(&format!("{RANDOM_WRITES}up_to = true"));
    let every = entry(RANDOM_WRITES);
    let (verdict_of_best, because, _) = judged(&best, &record(cells(), 1 << 30));
    assert_eq!(
        (verdict_of_best, because.as_str()),
        (Verdict::Pass, "the best of 3 cells that fit")
    );
    assert_eq!(verdict(&every, &record(cells(), 1 << 30)), Verdict::Fail);
    // Without the one that passes: one that is open keeps the drive from being a liar.
    assert_eq!(verdict(&best, &record(cells()[..2].to_vec(), 1 << 30)), Verdict::Inconclusive);
    assert_eq!(verdict(&best, &record(cells()[..1].to_vec(), 1 << 30)), Verdict::Fail);
}

#[test]
fn conditions_that_differ_are_named_with_the_options_that_cure_them() {
    let lines = "block = \"128KiB\"\ndepth = 32\nstate = \"steady\"";
    let sheet = entry(&format!("{RANDOM_WRITES}{lines}"));
    let mut cell = writes(10_000.0, 0.01, 1);
    cell.io = "buffered".to_owned();
    let (verdict, because, cure) = judged(&sheet, &record(vec![cell], 1 << 30));
    assert_eq!(verdict, Verdict::NotComparable);
    assert_eq!(
        because,
        "blocks of 4 KiB, not 128 KiB; 1 in flight, not 32; the drive was not known to be steady; \
         the cell's I/O is buffered, not direct"
    );
    assert_eq!(
        cure,
        "drivelab run TARGET --set op=write --set pattern=random --set block=128KiB --set depth=32 \
         --set threads=1 --io direct --method snia-iops"
    );
    let mixed = entry(
        "metric = \"iops\"\nop = \"mixed:70\"\npattern = \"random\"\nvalue = 5\nunit = \"kIOPS\"",
    );
    let (_, because, cure) = judged(&mixed, &record(vec![writes(1.0, 0.1, 1)], 1 << 30));
    assert_eq!(because, "no cell measured random 70/30 read/write");
    assert!(cure.contains("--set op=mixed:70"), "{cure}");
}

/// What a sheet calls QD 32 is in flight altogether, however many threads send it.
#[test]
fn depth_counts_all_threads_unless_threads_are_named() {
    let four_times_eight = Cell { threads: 4, ..writes(20_000.0, 0.01, 8) };
    let record = record(vec![four_times_eight], 1 << 30);
    let with = |lines: &str| verdict(&entry(&format!("{RANDOM_WRITES}{lines}")), &record);
    assert_eq!(with("depth = 32"), Verdict::Pass);
    assert_eq!(with("depth = 8\nthreads = 4"), Verdict::Pass);
    assert_eq!(with("depth = 8"), Verdict::NotComparable);
    assert_eq!(with("depth = 32\nthreads = 4"), Verdict::NotComparable);
}

#[test]
fn a_host_that_is_too_slow_convicts_no_drive_and_a_cache_acquits_none() {
    let sheet = entry(RANDOM_WRITES);
    let with = |iops: f64, flag: Flag| {
        let cell = Cell { flags: vec![flag], ..writes(iops, 0.01, 1) };
        judged(&sheet, &record(vec![cell], 1 << 30))
    };
    let (verdict, because, cure) = with(5_000.0, Flag::CpuLimited);
    assert_eq!((verdict, because.as_str()), (Verdict::Inconclusive, "a fail with cpu_limited"));
    assert_eq!(cure, Flag::CpuLimited.cure());
    assert_eq!(with(20_000.0, Flag::CpuLimited).0, Verdict::Pass);
    assert_eq!(with(20_000.0, Flag::MemoryBacked).0, Verdict::Inconclusive);
    assert_eq!(with(5_000.0, Flag::MemoryBacked).0, Verdict::Fail);
}

/// Less is better: the whole interval must stay within the figure.
#[test]
fn a_latency_is_held_by_mean_and_by_percentile() {
    let mut cell = writes(10_000.0, 0.02, 1);
    let latency = cell.latency.as_mut().expect("the example's cell has latencies");
    // 9,800 operations of 96 to 97.5 us and 200 of 512 us: mean 105.1 us.
    latency.histogram = vec![[96_256, 9_800], [512_000, 200]];
    (latency.n, latency.mean_ns, latency.max_ns) = (10_000, 105_100.0, 520_000);
    latency.percentiles.clear();
    let record = record(vec![cell], 1 << 30);
    let within = |us: u32, percentile: &str| {
        verdict(
            &entry(&format!(
                "metric = \"latency\"\nop = \"write\"\npattern = \"random\"\nvalue = {us}\nunit = \"us\"\n{percentile}"
            )),
            &record,
        )
    };
    assert_eq!(within(108, ""), Verdict::Pass);
    assert_eq!(within(105, ""), Verdict::Inconclusive);
    assert_eq!(within(100, ""), Verdict::Fail);
    assert_eq!(within(100, "percentile = 90"), Verdict::Pass);
    assert_eq!(within(200, "percentile = 99"), Verdict::Fail);
    // Rank 9,800 of 10,000 is the edge between both: the ranks around it reach both sides.
    assert_eq!(within(200, "percentile = 98"), Verdict::Inconclusive);
    // Of ten thousand one lies beyond: too few to say.
    assert_eq!(within(200, "percentile = 99.99"), Verdict::NotComparable);
}

/// A sweep over block sizes failed an access time by its largest small block, whose transfer takes
/// time of its own.
#[test]
fn an_access_time_is_that_of_the_smallest_block() {
    let with_mean = |block_bytes: u64, mean_ns: f64| {
        let mut cell = Cell { block_bytes, op: "read".to_owned(), ..writes(1.0, 0.01, 1) };
        cell.latency.as_mut().expect("latencies").mean_ns = mean_ns;
        cell
    };
    let sheet = entry("metric = \"access_time\"\nvalue = 0.10\nunit = \"ms\"");
    let cells = vec![with_mean(4096, 200_000.0), with_mean(512, 99_000.0), with_mean(65536, 9e6)];
    assert_eq!(verdict(&sheet, &record(cells, 1 << 30)), Verdict::Pass);
}

#[test]
fn capacity_and_endurance_are_exact() {
    let record = record(vec![writes(1.0, 0.1, 1)], 1 << 30);
    // The example's drive: 64,023,953,408 bytes, rated for 72 TB.
    let holds = |metric: &str, value: &str, unit: &str| {
        verdict(
            &entry(&format!("metric = \"{metric}\"\nvalue = {value}\nunit = \"{unit}\"")),
            &record,
        )
    };
    assert_eq!(holds("capacity", "64", "GB"), Verdict::Pass);
    assert_eq!(holds("capacity", "64", "GiB"), Verdict::Fail);
    assert_eq!(holds("endurance", "72", "TB"), Verdict::Pass);
    assert_eq!(holds("endurance", "150", "TB"), Verdict::Fail);
    assert_eq!(holds("power", "2.5", "W"), Verdict::NotComparable);
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_nearest_right_word() {
    for (wrong, right, words) in [
        (
            "\"bandwidth\"",
            "\"bandwith\"",
            &["line 5", "`bandwith`", "Did you mean `bandwidth`?"][..],
        ),
        ("\"MB/s\"", "\"MBps\"", &["line 9", "Did you mean `MB/s`"]),
        ("\"MB/s\"", "\"IOPS\"", &["line 9", "KiB/s"]),
        ("\"read\"", "\"raed\"", &["line 6", "Did you mean `read`"]),
        ("\"seq\"", "\"sequential\"", &["line 7", "write one of seq"]),
        ("250", "-250", &["line 8", "above 0"]),
        ("250", "\"250\"", &["line 8", "without quotes"]),
        ("up_to = true", "upto = true", &["line 10", "no key `upto`", "up_to"]),
        ("up_to = true", "block = \"4KX\"", &["line 10", "no size"]),
        ("up_to = true", "depth = 0", &["line 10", "above 0"]),
        ("up_to = true", "percentile = 99", &["line 10", "goes with latency"]),
        ("up_to = true", "state = \"stedy\"", &["line 10", "Did you mean `steady`"]),
        ("pattern = \"seq\"", "", &["needs `op` and `pattern`"]),
        ("[[entry]]", "[[entries]]", &["no key `entries`"]),
        ("\"read\"", "\"mixed\"", &["mixed:70"]),
        ("\"read\"", "\"mixed:170\"", &["mixed:70"]),
    ] {
        let bad = parse(&SHEET.replacen(wrong, right, 1)).expect_err(right).to_string();
        assert!(bad.starts_with("sheet.toml, line ") && !bad.contains('\n'), "{bad}");
        for word in words {
            assert!(
                bad.to_lowercase().contains(&word.to_lowercase()),
                "`{word}` is missing: {bad}"
            );
        }
    }
    assert!(parse("name = \"a\"\nsource = \"b\"\nentry = []").is_err());
}

#[test]
fn the_document_s_example_can_be_read() {
    let document = include_str!("../../../../docs/reference/spec-format.md");
    let (_, example) = document.split_once("```toml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let sheet = parse(example).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!(sheet.entries.len(), 4);
    assert_eq!(sheet.entries[1].span_bytes, Some(8_000_000_000));
    for metric in Metric::ALL {
        assert!(document.contains(&format!("| `{}` |", metric.name())), "{}", metric.name());
        for (unit, _) in metric.units() {
            assert!(document.contains(unit), "{unit}");
        }
    }
}

#[test]
fn the_table_names_what_is_open_below_it() {
    let sheet = entry(&format!("{RANDOM_WRITES}up_to = true\nblock = \"8KiB\""));
    let record = record(vec![writes(10_100.0, 0.02, 1)], 1 << 30);
    let subjects = runs::subjects(&[Run { record: &record, prices: Vec::new() }]);
    let findings = judge(&sheet, &subjects[0]);
    let expected = "\
Data sheet: Attic SSD (the maker)
promised                       figure  measured  verdict
--------------------------  ---------  --------  ------------------
random write 8 KiB, up to  10000 IOPS         -  not comparable (1)
(1) blocks of 4 KiB, not 8 KiB: drivelab run TARGET --set op=write --set
    pattern=random --set block=8KiB
";
    let shown = text(&sheet, &findings, &Style::PLAIN);
    assert_eq!(shown.replace("-", ""), expected.replace("-", ""), "{shown}");
}

/// A line that a data sheet may hold, or nearly.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("metric".to_owned()),
        Just("value".to_owned()),
        Just("unit".to_owned()),
        Just("op".to_owned()),
        Just("pattern".to_owned()),
        Just("up_to".to_owned()),
        Just("block".to_owned()),
        Just("span".to_owned()),
        Just("depth".to_owned()),
        Just("percentile".to_owned()),
        Just("state".to_owned()),
        "[a-z_]{1,8}",
    ];
    let value = prop_oneof![
        Just("\"iops\"".to_owned()),
        Just("\"latency\"".to_owned()),
        Just("\"us\"".to_owned()),
        Just("\"IOPS\"".to_owned()),
        Just("\"read\"".to_owned()),
        Just("\"random\"".to_owned()),
        Just("true".to_owned()),
        Just("\"4KiB\"".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:e}")),
        "\\PC{0,12}",
    ];
    (word, value).prop_map(|(word, value)| format!("{word} = {value}"))
}

proptest! {
    /// Whatever stands in a file, the answer is a sheet that can be judged and shown, or one line
    /// with a place.
    #[test]
    fn no_file_breaks_the_reader(lines in prop::collection::vec(line(), 0..12), noise in "\\PC{0,40}") {
        let whole = format!("name = \"n\"\nsource = \"s\"\n[[entry]]\n{}\n", lines.join("\n"));
        for text in [whole, lines.join("\n"), noise, format!("{SHEET}{}", lines.join("\n"))] {
            match parse(&text) {
                Err(bad) => {
                    let bad = bad.to_string();
                    prop_assert!(bad.starts_with("sheet.toml, line ") && !bad.contains('\n'), "{}", bad);
                }
                Ok(sheet) => {
                    let record = example();
                    for subject in runs::subjects(&[Run { record: &record, prices: Vec::new() }]) {
                        let findings = judge(&sheet, &subject);
                        prop_assert_eq!(findings.len(), sheet.entries.len());
                        let shown = super::text(&sheet, &findings, &Style::PLAIN);
                        prop_assert!(shown.lines().all(|line| line.len() <= 80), "{}", shown);
                    }
                }
            }
        }
    }

    /// A wider interval never turns a pass into a fail or back: it only leaves things open.
    #[test]
    fn doubt_never_changes_sides(iops in 1.0..1e6f64, half in 0.0..0.3f64, more in 0.0..0.3f64) {
        let sheet = entry(RANDOM_WRITES);
        let at = |half: f64| verdict(&sheet, &record(vec![writes(iops, half, 1)], 1 << 30));
        let (narrow, wide) = (at(half), at(half + more));
        prop_assert!(wide == narrow || wide == Verdict::Inconclusive, "{narrow:?} {wide:?}");
    }
}
