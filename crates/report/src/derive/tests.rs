//! Each table against numbers that somebody else printed or that were worked out by hand.

use super::*;
use crate::{
    runs::{self, Run},
    terminal::tests::{cell, example},
};
use record::{Money, Record};

/// A cell with an interval of this half-width.
fn known(op: &str, pattern: &str, block_bytes: u64, iops: f64, half: f64) -> Cell {
    let mut cell = cell(op, pattern, block_bytes, 1, iops);
    cell.name = format!("{pattern}-{op}-{block_bytes}");
    cell.iops_ci95 = Some([iops * (1.0 - half), iops * (1.0 + half)]);
    cell.bytes_per_s_ci95 = cell.iops_ci95.map(|ends| ends.map(|end| end * block_bytes as f64));
    cell.half_width_relative = Some(half);
    cell
}

/// A run of one model.
fn record(id: &str, stack: &str, drives: usize, cells: Vec<Cell>) -> Record {
    let mut record = Record {
        id: id.to_owned(),
        cells,
        rounds: None,
        paired: Vec::new(),
        expectations: Vec::new(),
        knees: Vec::new(),
        ..example()
    };
    record.labels.clear();
    record.targets.truncate(1);
    let target = &mut record.targets[0];
    target.text = format!("model:{stack}");
    target.capacity_bytes = 32_000_000_000 * drives as u64;
    let mut layer = target.stack.iter().find(|layer| layer.drive.is_some()).expect("one").clone();
    layer.bytes = 32_000_000_000;
    // As a model's record has it: one layer for all drives of a kind.
    let name = stack.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == 'x');
    let name = name.split('/').next().unwrap_or_default();
    layer.name = if drives == 1 { name.to_owned() } else { format!("{drives}x{name}") };
    layer.drive.as_mut().expect("a drive").transport = Some("model".to_owned());
    target.stack = vec![layer];
    for cell in &mut record.cells {
        cell.target = 0;
    }
    record
}

fn dollars(amount: f64) -> Vec<Option<Money>> {
    vec![Some(Money { amount, currency: "USD".to_owned(), date: None })]
}

/// The tables of this name over runs with prices.
fn derived(name: &str, records: &[(&Record, Vec<Option<Money>>)]) -> Result<Vec<Table>, Lack> {
    derived_with(name, records, None)
}

fn derived_with(
    name: &str,
    records: &[(&Record, Vec<Option<Money>>)],
    sheet: Option<&Specification>,
) -> Result<Vec<Table>, Lack> {
    let runs: Vec<Run<'_>> =
        records.iter().map(|(record, prices)| Run { record, prices: prices.clone() }).collect();
    let subjects = runs::subjects(&runs);
    let sheets = vec![sheet; subjects.len()];
    let kind = KINDS.iter().find(|kind| kind.name == name).expect("a table of this name");
    kind.derive(&Evidence { subjects, sheets, baseline: 0 })
}

/// The column of this name, as numbers.
fn numbers(table: &Table, column: &str) -> Vec<f64> {
    let at = table.columns.iter().position(|head| head.name == column).expect("the column");
    let number = |row: &Vec<Entry>| match row[at] {
        Entry::Number(value) => value,
        _ => f64::NAN,
    };
    table.rows.iter().map(number).collect()
}

fn words(table: &Table, column: &str) -> Vec<String> {
    let at = table.columns.iter().position(|head| head.name == column).expect("the column");
    let word = |row: &Vec<Entry>| match &row[at] {
        Entry::Text(text) => text.clone(),
        _ => String::new(),
    };
    table.rows.iter().map(word).collect()
}

fn near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() <= share, "{found} is not {wanted}");
}

/// CMU 2008: X25-E, $810, 222.63 MB/s (of 2^20) sequential and 3,948 random reads of 4 KB: Table VI
/// prints $3.64 a MB/s.
#[test]
fn the_price_table_is_that_of_the_cmu_study() {
    let cells = vec![
        known("read", "seq", 4096, 222.63 * 256.0, 0.01),
        known("read", "permutation", 4096, 3948.0, 0.0),
    ];
    let run = record("aaaaaaaa", "intel-x25e-32", 1, cells);
    let tables = derived("price", &[(&run, dollars(810.0))]).expect("a price");
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[0].title, "Price per MB/s, USD");
    let price = numbers(&tables[0], "price")[0] * 1.048576;
    assert_eq!(format!("{price:.2}"), "3.64");
    // The price is exact, the rate known within 1 %.
    near(numbers(&tables[0], "95 % from")[0], numbers(&tables[0], "price")[0] / 1.01, 1e-12);
    near(numbers(&tables[1], "price")[0], 810.0 / 3948.0, 1e-12);
    let lack = derived("price", &[(&run, Vec::new())]).expect_err("no price");
    assert!(lack.contains("--price RUN=129EUR"), "{lack}");
}

#[test]
fn currencies_never_share_a_table() {
    let run = |id| record(id, "x", 1, vec![known("read", "random", 4096, 100.0, 0.0)]);
    let (one, two) = (run("aaaaaaaa"), run("bbbbbbbb"));
    let euros = vec![Some(Money { amount: 50.0, currency: "EUR".to_owned(), date: None })];
    let tables =
        derived("price", &[(&one, dollars(100.0)), (&two, euros.clone())]).expect("prices");
    let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["Price per IOPS, USD", "Price per IOPS, EUR"]);
    assert!(tables.iter().all(|table| table.rows.len() == 1));
    let lack = derived("same-money", &[(&one, dollars(100.0)), (&two, euros)]).expect_err("two");
    assert!(lack.contains("one currency"), "{lack}");
}

/// A price per IOPS at the catalog's price of 2009 stood beside one of this year without a word: a
/// price says when it was asked.
#[test]
fn prices_of_the_catalog_stand_with_their_dates() {
    let run = |id| record(id, "x", 1, vec![known("read", "random", 4096, 100.0, 0.0)]);
    let (one, two) = (run("aaaaaaaa"), run("bbbbbbbb"));
    let of = |date: Option<&str>| {
        let mut prices = dollars(100.0);
        prices[0].as_mut().expect("a price").date = date.map(str::to_owned);
        prices
    };
    let titles = |name: &str, dates: [Option<&str>; 2]| {
        let tables = derived(name, &[(&one, of(dates[0])), (&two, of(dates[1]))]);
        tables.expect("prices").into_iter().map(|table| table.title).collect::<Vec<_>>().join("|")
    };
    for (dates, said) in [
        ([None, None], ""),
        ([Some("2009-02"), Some("2009-02")], " of 2009-02"),
        ([Some("2026-11"), Some("2009-02")], " of 2009-02 to 2026-11"),
        ([None, Some("2009-02")], " of 2009-02 or as given"),
    ] {
        assert_eq!(titles("price", dates), format!("Price per IOPS, USD{said}"));
        let money = titles("same-money", dates);
        assert!(money.contains(said), "{money}");
    }
    let runs = [Run { record: &one, prices: of(Some("2009-02")) }];
    let page = format!("{:?}", runs::document(&runs));
    assert!(page.contains("Operations for the money, USD of 2009-02"), "{page}");
    let runs = [&one, &two].map(|record| Run { record, prices: of(Some("2009-02")) });
    let comparison = crate::comparison::compare(&runs).expect("cells");
    let page = crate::comparison::text(&comparison, &Style::PLAIN);
    assert!(page.contains("100 USD of 2009-02 against 100 USD of 2009-02"), "{page}");
}

/// EasyCo 2007: 13,512 reads and 113 writes of 4 KiB give 58.8 times, 5.04 times, 1.08 times what a
/// layer of 8,900 writes gives... here the formula alone, by hand: 1 / (0.9/1000 + 0.1/100) =
/// 526.3.
#[test]
fn a_mix_waits_for_each_kind_in_turn() {
    let cells = vec![
        known("read", "random", 4096, 1000.0, 0.01),
        known("write", "random", 4096, 100.0, 0.02),
        Cell { op: "mixed:90".to_owned(), ..known("mixed", "random", 4096, 510.0, 0.01) },
    ];
    let run = record("aaaaaaaa", "x", 1, cells);
    let table = derived("mix", &[(&run, Vec::new())]).expect("reads and writes").remove(0);
    let computed = numbers(&table, "computed");
    near(computed[0], 1000.0, 1e-12);
    near(computed[1], 1.0 / 0.0019, 1e-12);
    near(computed[3], 1.0 / 0.0055, 1e-12);
    // At 90 % reads take 9/19 of the time, writes 10/19: sqrt((0.01 x 9/19)^2 + (0.02 x 10/19)^2) =
    // 1.15 %.
    let half = 1.0 - numbers(&table, "95 % from")[1] / computed[1];
    near(half, (0.09f64.hypot(0.2)) / 19.0, 1e-9);
}

#[test]
fn random_is_a_percentage_of_the_same_block_in_order() {
    let cells = vec![
        known("read", "seq", 65536, 2000.0, 0.01),
        known("read", "random", 65536, 500.0, 0.02),
        known("read", "random", 4096, 9000.0, 0.02),
    ];
    let run = record("aaaaaaaa", "x", 1, cells);
    let table = derived("random", &[(&run, Vec::new())]).expect("a pair").remove(0);
    assert_eq!(table.rows.len(), 1);
    near(numbers(&table, "share")[0], 25.0, 1e-12);
    let half = 0.5 / 0.25 * numbers(&table, "95 % from")[0] / 50.0;
    // Both errors as squares: exp(-hypot(ln 1/0.98, ln 1.01)).
    near(half, (-(1f64 / 0.98).ln().hypot(1.01f64.ln())).exp(), 1e-9);
}

/// A drive that takes 100 us and then a byte every 5 ns.
#[test]
fn the_access_time_is_what_an_operation_of_no_bytes_would_take() {
    let rate = |block: u64| 1e9 / (100_000.0 + 5.0 * block as f64);
    let cells =
        [512, 4096, 65536, 1 << 20].map(|block| known("read", "random", block, rate(block), 0.01));
    let run = record("aaaaaaaa", "x", 1, cells.to_vec());
    let table = derived("access-time", &[(&run, Vec::new())]).expect("four sizes").remove(0);
    near(numbers(&table, "access time")[0], 100_000.0, 1e-9);
    near(numbers(&table, "then")[0], 2e8, 1e-9);
    assert_eq!(numbers(&table, "sizes"), [4.0]);
    let lack = derived("access-time", &[(&record("b", "x", 1, cells[..2].to_vec()), Vec::new())]);
    assert!(lack.expect_err("two sizes").contains("bm-flash"));
}

#[test]
fn the_plateau_begins_where_ninety_percent_are_reached_and_a_trough_is_named() {
    let bandwidth = [(4096, 10e6), (16384, 60e6), (65536, 95e6), (131_072, 70e6), (1 << 20, 100e6)];
    let cells =
        bandwidth.map(|(block, rate)| known("read", "random", block, rate / block as f64, 0.01));
    let run = record("aaaaaaaa", "x", 1, cells.to_vec());
    let table = derived("plateau", &[(&run, Vec::new())]).expect("five sizes").remove(0);
    assert_eq!(numbers(&table, "90 % from"), [65536.0]);
    assert_eq!(words(&table, "troughs"), ["128 KiB: 74 % of 64 KiB"]);
}

/// SSD Latency Experiments 2016, Intel 520: 0.44 ms with the cache, 0.048 ms without; 251 against
/// 257 MB/s.
#[test]
fn the_write_cache_pivot_pairs_a_drive_with_itself() {
    let cells = |iops: f64, mean_ns: f64| {
        let mut small = known("write", "seq", 512, iops, 0.0);
        small.latency.as_mut().expect("latencies").mean_ns = mean_ns;
        vec![small]
    };
    let on = record("aaaaaaaa", "intel-520-120:port=none/ext4", 1, cells(1e9 / 440e3, 440e3));
    let off = record(
        "bbbbbbbb",
        "intel-520-120:write-cache=off,port=none/ext4",
        1,
        cells(1e9 / 48e3, 48e3),
    );
    let other = record("cccccccc", "intel-520-120:write-cache=off", 1, cells(1.0, 1.0));
    let all = [(&on, Vec::new()), (&off, Vec::new()), (&other, Vec::new())];
    let tables = derived("write-cache", &all).expect("a pair");
    assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [1, 1]);
    near(numbers(&tables[0], "degradation")[0], 48.0 / 440.0, 1e-9);
    near(numbers(&tables[1], "improvement")[0], 440.0 / 48.0, 1e-9);
}

#[test]
fn arrays_scale_against_one_of_their_drives_and_money_buys_ideal_ones() {
    let cells = |read: f64, write: f64, bulk: f64| {
        vec![
            known("read", "random", 4096, read, 0.01),
            known("write", "random", 4096, write, 0.01),
            known("read", "seq", 1 << 20, bulk, 0.01),
        ]
    };
    let one = record("aaaaaaaa", "disk", 1, cells(100.0, 80.0, 90.0));
    let four = record("bbbbbbbb", "4xdisk/raid5", 4, cells(390.0, 75.0, 250.0));
    let all = [(&one, dollars(100.0)), (&four, dollars(450.0))];
    let scaling = derived("scaling", &all).expect("an array");
    near(numbers(&scaling[0], "times")[0], 3.9, 1e-9);
    near(numbers(&scaling[1], "share")[0], 97.5, 1e-9);
    let money = derived("same-money", &all).expect("prices");
    // 450 dollars buy four disks: 128 GB, 96 GB, 64 GB beside the array's own 128 GB.
    assert_eq!(numbers(&money[0], "ideally"), [128.0, 128.0, 96.0, 64.0]);
    let what = words(&money[2], "what");
    assert_eq!(what[..4], ["itself", "RAID-0 of 4", "RAID-5 of 4", "RAID-10 of 4"]);
    // Random reads 390 against 400 each way; random writes 75 against 320, 80, 160.
    assert_eq!(numbers(&money[2], "ideally")[..4], [390.0, 400.0, 400.0, 400.0]);
    assert_eq!(numbers(&money[2], "ideally")[4..], [75.0, 320.0, 80.0, 160.0]);
    let bulk: Vec<f64> =
        numbers(&money[1], "ideally").iter().map(|rate| rate / 1048576.0).collect();
    assert_eq!(bulk, [250.0, 360.0, 270.0, 360.0]);
    let matching = derived("match", &all).expect("two");
    assert_eq!(numbers(&matching[0], "drives"), [4.0, 1.0, 3.0]);
    assert_eq!(words(&matching[0], "for"), ["400 USD", "100 USD", "300 USD"]);
    let speed = derived("speed-up", &all).expect("two");
    near(numbers(&speed[0], "times")[0], 3.9, 1e-9);
    near(numbers(&speed[0], "to")[0], 3.9 * (1.01f64.ln().hypot((1.0f64 / 0.99).ln())).exp(), 1e-9);
}

#[test]
fn a_data_sheet_gives_percentages_prices_and_watts() {
    let sheet = "name = \"n\"\nsource = \"s\"\n\
        [[entry]]\nmetric = \"iops\"\nop = \"read\"\npattern = \"random\"\nvalue = 2000\nunit = \"IOPS\"\n\
        [[entry]]\nmetric = \"power\"\nvalue = 2500\nunit = \"mW\"\n";
    let sheet = Specification::parse("n", sheet).expect("a sheet");
    let run = record("aaaaaaaa", "x", 1, vec![known("read", "random", 4096, 1900.0, 0.01)]);
    let all = [(&run, dollars(100.0))];
    let of = |name: &str| derived_with(name, &all, Some(&sheet)).expect("a table").remove(0);
    near(numbers(&of("specification"), "measured")[0], 95.0, 1e-12);
    assert_eq!(words(&of("specification"), "verdict"), ["fail"]);
    near(numbers(&of("advertised"), "price")[0], 0.05, 1e-12);
    near(numbers(&of("watts"), "rate")[0], 760.0, 1e-12);
    near(numbers(&of("capacity"), "price")[0], 100.0 / 32.0, 1e-12);
}

#[test]
fn every_table_says_what_it_lacks_and_stands_in_the_document() {
    let document = include_str!("../../../../docs/reference/derived-tables.md");
    let empty = record("aaaaaaaa", "x", 1, Vec::new());
    let alone = record("bbbbbbbb", "x", 1, vec![known("flush", "seq", 0, 0.0, 0.0)]);
    for kind in KINDS {
        assert!(document.contains(&format!("| `{}` |", kind.name)), "{}", kind.name);
        let lack = derived(kind.name, &[(&alone, Vec::new())]).expect_err(kind.name);
        assert!(!lack.contains('\n') && lack.len() > 20, "{lack}");
    }
    assert_eq!(runs::subjects(&[Run { record: &empty, prices: Vec::new() }]).len(), 0);
}
