//! What is compared with what, and what is said of it.

use super::*;
use crate::terminal::{
    Style,
    tests::{cell, example},
};
use record::{Knee, KneeOutcome, Pass};

/// A cell with these passes, each known within 1 %.
fn measured(name: &str, op: &str, depth: u32, rates: &[f64]) -> Cell {
    let mut cell = Cell { queue_depth: depth, ..cell(op, "random", 4096, 1, rates[0]) };
    (cell.name, cell.group) = (name.to_owned(), name.to_owned());
    let pass = cell.passes[0].clone();
    let passes = rates.iter().enumerate().map(|(at, iops)| Pass {
        pass: at as u32,
        iops: *iops,
        half_width_relative: Some(0.01),
        ..pass.clone()
    });
    cell.passes = passes.collect();
    cell
}

/// A run of one target.
fn record(id: &str, cells: Vec<Cell>) -> Record {
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
    for cell in &mut record.cells {
        cell.target = 0;
    }
    record
}

fn runs<'r>(records: &[&'r Record]) -> Vec<Run<'r>> {
    records.iter().map(|record| Run { record, prices: Vec::new() }).collect()
}

fn verdicts(comparison: &Comparison<'_>) -> Vec<PairedVerdict> {
    let rows = comparison.others.iter().flat_map(|other| &other.rows);
    rows.filter_map(|row| row.ratio.map(|ratio| ratio.verdict)).collect()
}

/// A matrix keeps the levels of a configuration among the coordinates of its cells, and `compare`
/// of one found nothing that two configurations had in common.
#[test]
fn the_configurations_of_one_matrix_are_compared() {
    let of = |target: usize, fs: &str, mount: Option<&str>, rate: f64| {
        let mut cells = [
            measured("reads", "read", 1, &[rate; 3]),
            measured("deep", "read", 32, &[9.0 * rate; 3]),
        ];
        for cell in &mut cells {
            cell.target = target;
            cell.coordinates.insert("fs".to_owned(), fs.into());
            let mounted = mount.map(|mount| ("mount".to_owned(), mount.into()));
            cell.coordinates.extend(mounted);
        }
        cells
    };
    let mut all = of(0, "raw", None, 100.0).to_vec();
    all.extend(of(1, "ext4", Some("noatime"), 50.0));
    all.extend(of(2, "xfs", Some("noatime"), 100.0));
    let targets = vec![example().targets[0].clone(); 3];
    let matrix = Record {
        cells: all,
        targets,
        rounds: None,
        paired: Vec::new(),
        expectations: Vec::new(),
        knees: Vec::new(),
        ..example()
    };
    let runs = runs(&[&matrix]);
    let comparison = compare(&runs).expect("three configurations");
    assert_eq!(comparison.others.len(), 2);
    for other in &comparison.others {
        assert_eq!((other.design, other.rows.len()), (Design::Paired, 2));
        assert!(other.only_in_baseline.is_empty() && other.only_in_other.is_empty());
    }
    use PairedVerdict::{Same, Slower};
    assert_eq!(verdicts(&comparison), [Slower, Slower, Same, Same]);
}

#[test]
fn cells_are_joined_by_what_they_do_and_not_by_their_names() {
    let ours = record(
        "aaaaaaaa",
        vec![
            measured("one", "read", 1, &[100.0, 101.0, 99.0]),
            measured("deep", "read", 32, &[1000.0, 1001.0, 999.0]),
            measured("gone", "write", 1, &[50.0]),
        ],
    );
    let theirs = record(
        "bbbbbbbb",
        vec![
            measured("renamed deep", "read", 32, &[1200.0, 1201.0, 1199.0]),
            measured("new", "commit", 1, &[7.0]),
            measured("renamed one", "read", 1, &[100.0, 101.0, 99.0]),
        ],
    );
    let runs = runs(&[&ours, &theirs]);
    let comparison = compare(&runs).expect("cells in common");
    let other = &comparison.others[0];
    assert_eq!(other.design, Design::Unpaired);
    let joined: Vec<_> = other
        .rows
        .iter()
        .map(|row| (row.baseline.name.as_str(), row.other.name.as_str()))
        .collect();
    assert_eq!(joined, [("one", "renamed one"), ("deep", "renamed deep")]);
    assert_eq!(verdicts(&comparison), [PairedVerdict::Undecided, PairedVerdict::Faster]);
    let names = |cells: &[&Cell]| cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&other.only_in_baseline), ["gone"]);
    assert_eq!(names(&other.only_in_other), ["new"]);
}

/// `--set` makes twins of a method's cells: the first goes with the first, and no cell is used
/// twice.
#[test]
fn twins_are_joined_in_their_order_and_streams_only_with_their_like() {
    let twins = || vec![measured("a", "read", 1, &[100.0]), measured("b", "read", 1, &[300.0])];
    let (ours, theirs) = (record("aaaaaaaa", twins()), record("bbbbbbbb", twins()));
    let all = runs(&[&ours, &theirs]);
    let comparison = compare(&all).expect("cells in common");
    let ratios: Vec<f64> =
        comparison.others[0].rows.iter().map(|row| row.ratio.expect("rates").ratio).collect();
    assert_eq!(ratios, [1.0, 1.0]);
    // A stream beside others is not the same as that stream alone.
    let mut beside =
        vec![measured("g/reads", "read", 1, &[100.0]), measured("g/log", "commit", 1, &[10.0])];
    for cell in &mut beside {
        cell.group = "g".to_owned();
    }
    let grouped = record("cccccccc", beside);
    assert!(compare(&runs(&[&ours, &grouped])).is_err());
}

#[test]
fn targets_of_one_run_are_paired_and_runs_made_apart_are_wider() {
    // Both drift by the same 20 %: in pairs it cancels.
    let (a, b) = ([100.0, 110.0, 120.0, 130.0], [105.0, 115.5, 126.0, 136.5]);
    let mut both = Record {
        paired: Vec::new(),
        rounds: None,
        expectations: Vec::new(),
        knees: Vec::new(),
        ..example()
    };
    both.cells = vec![measured("one", "read", 1, &a), measured("one", "read", 1, &b)];
    (both.cells[0].target, both.cells[1].target) = (0, 1);
    let pair = runs(&[&both]);
    let paired = compare(&pair).expect("two targets");
    assert_eq!(paired.others[0].design, Design::Paired);
    assert_eq!(verdicts(&paired), [PairedVerdict::Faster]);

    let (ours, theirs) = (
        record("aaaaaaaa", vec![measured("one", "read", 1, &a)]),
        record("bbbbbbbb", vec![measured("one", "read", 1, &b)]),
    );
    let apart_runs = runs(&[&ours, &theirs]);
    let apart = compare(&apart_runs).expect("cells in common");
    assert_eq!(verdicts(&apart), [PairedVerdict::Undecided]);
    let width = |comparison: &Comparison<'_>| {
        let ends = comparison.others[0].rows[0].ratio.and_then(|ratio| ratio.ci95);
        ends.map_or(f64::INFINITY, |[low, high]| high / low)
    };
    assert!(width(&apart) > width(&paired));
    assert!(text(&apart, &Style::PLAIN).contains("Unpaired: the runs were made apart."));
}

/// `compare` said that a shingled disk is 71 times faster at random writes: its media cache was.
/// The verdict names the side that was a burst, on the terminal and in the table of a report.
#[test]
fn a_verdict_on_a_burst_names_its_side() {
    let burst = |cut: bool| record::Burst {
        cache: record::FastCacheKind::MediaCache,
        share: Some(1.0),
        lasting_iops: cut.then_some(90.0),
        cut,
    };
    let writes = |rate: f64, burst| {
        let mut cell = measured("writes", "write", 1, &[rate, 1.01 * rate, 0.99 * rate]);
        cell.passes[1].burst = burst;
        cell
    };
    let said = |ours, theirs| {
        let ours = record("aaaaaaaa", vec![writes(100.0, ours)]);
        let theirs = record("bbbbbbbb", vec![writes(7_100.0, theirs)]);
        let all = runs(&[&ours, &theirs]);
        let comparison = compare(&all).expect("cells in common");
        let page = text(&comparison, &Style::PLAIN);
        let verdict = comparison.others[0].rows[0].verdict().expect("rates");
        // It may be wrapped.
        assert!(verdict.split(' ').all(|word| page.contains(word)), "{verdict}: {page}");
        let reported = format!("{:?}", section(&comparison));
        assert!(reported.contains(&verdict), "{verdict}: {reported}");
        verdict
    };
    assert_eq!(said(None, None), "faster");
    assert_eq!(said(None, Some(burst(false))), "faster; this: burst");
    assert_eq!(said(Some(burst(false)), Some(burst(true))), "faster; baseline: burst");
    assert_eq!(said(Some(burst(true)), None), "faster; after a burst");
}

/// The terminal's table had a column for the rate that lasts; pages and workbooks had the burst
/// alone.
#[test]
fn the_rate_that_lasts_stands_in_the_table_of_a_page_too() {
    let burst = |lasting_iops| record::Burst {
        cache: record::FastCacheKind::SlcCache,
        share: Some(1.0),
        lasting_iops,
        cut: false,
    };
    let table = |burst: Option<record::Burst>| {
        let mut cell = measured("writes", "write", 1, &[900.0, 905.0, 895.0]);
        cell.passes.iter_mut().for_each(|pass| pass.burst = burst);
        let record = record("aaaaaaaa", vec![cell]);
        format!("{:?}", crate::runs::document(&runs(&[&record])))
    };
    let plain = table(None);
    assert!(!plain.contains("\"lasting\""), "{plain}");
    let seen = table(Some(burst(Some(90.0))));
    assert!(seen.contains("\"lasting\"") && seen.contains("Number(90.0)"), "{seen}");
    assert!(table(Some(burst(None))).contains("\"not seen\""));
}

#[test]
fn what_cannot_be_compared_is_a_kind_and_a_sentence() {
    let reads = record("aaaaaaaa", vec![measured("one", "read", 1, &[100.0])]);
    let mut writes = record("bbbbbbbb", vec![measured("one", "write", 1, &[100.0])]);
    writes.method.name = "oltp".to_owned();
    let apart = compare(&runs(&[&reads, &writes])).expect_err("no cell");
    let NotComparable::NothingInCommon { methods, .. } = &apart else { panic!("{apart}") };
    assert_eq!(methods, &[reads.method.name.as_str(), "oltp"]);
    assert!(apart.to_string().contains("with one method, such as --method"), "{apart}");
    let alone = compare(&runs(&[&reads])).expect_err("one target").to_string();
    assert!(alone.contains("drivelab run A B"), "{alone}");
    let empty = record("cccccccc", Vec::new());
    assert!(compare(&runs(&[&empty, &empty])).is_err());
}

#[test]
fn the_page_says_what_differs_first_and_money_only_in_one_currency() {
    let ours = record("aaaaaaaa", vec![measured("one", "read", 1, &[100.0, 101.0, 99.0])]);
    let mut theirs = record("bbbbbbbb", vec![measured("one", "read", 1, &[150.0, 151.0, 149.0])]);
    theirs.environment.host.kernel = "7.0.0".to_owned();
    let money = |amount: f64, currency: &str| {
        vec![Some(record::Money { amount, currency: currency.to_owned(), date: None })]
    };
    let mut all = runs(&[&ours, &theirs]);
    all[0].prices = money(100.0, "EUR");
    all[1].prices = money(200.0, "EUR");
    let page = text(&compare(&all).expect("cells"), &Style::PLAIN);
    let (kernel, table) = (page.find("Linux 7.0.0"), page.find("95 % interval"));
    assert!(kernel.is_some() && kernel < table, "{page}");
    assert!(page.contains("faster") && page.contains("every ratio times 0.500"), "{page}");
    assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    all[1].prices = money(200.0, "USD");
    let page = text(&compare(&all).expect("cells"), &Style::PLAIN);
    assert!(page.contains("Prices in EUR and USD are not compared"), "{page}");
}

/// A true 5 % was found in 0 of 40 comparisons of quick runs and in 11 of 40 of normal ones, and
/// the page did not say what would find it: so many passes in turn where two targets can be
/// measured in one run.
#[test]
fn what_is_undecided_says_what_would_tell_five_percent() {
    let ordered = |id: &str, target: &str, rates: &[f64]| {
        let mut record = record(id, vec![measured("one", "read", 1, rates)]);
        record.targets[0].text = target.to_owned();
        let words = ["drivelab", "run", target, "--max-time", "9s", "--json", "f"];
        record.command_line = words.map(str::to_owned).into();
        record
    };
    let ours = ordered("aaaaaaaa", "a", &[100.0, 102.0, 98.0]);
    let theirs = ordered("bbbbbbbb", "b c", &[105.0, 107.0, 103.0]);
    let both = runs(&[&ours, &theirs]);
    let comparison = compare(&both).expect("cells in common");
    assert_eq!(verdicts(&comparison), [PairedVerdict::Undecided]);
    let effort = comparison.others[0].effort.as_ref().expect("an effort");
    // Passes scatter by 1.95 %, pairs by 2.76 %: (t(8) + 0.842) * 2.76 % / sqrt(9) is 2.90 %.
    assert_eq!((effort.design, effort.passes), (Design::Paired, 9));
    assert_eq!(effort.commands, ["drivelab run a 'b c' --passes 9"]);
    let page = text(&comparison, &Style::PLAIN);
    assert!(page.contains("To tell 5 % apart: 9 passes in turn"), "{page}");
    assert!(page.contains("\n  drivelab run a 'b c' --passes 9\n"), "{page}");
    // One target in two states takes no turns with itself: longer passes, twice.
    let again = ordered("cccccccc", "a", &[105.0, 107.0, 103.0]);
    let twice = runs(&[&ours, &again]);
    let comparison = compare(&twice).expect("cells in common");
    let effort = comparison.others[0].effort.as_ref().expect("an effort");
    assert_eq!(effort.design, Design::Unpaired);
    let command = format!("drivelab run a --grade publish --passes {}", effort.passes);
    assert_eq!(effort.commands, [command]);
    assert!((5..30).contains(&effort.passes), "{effort:?}");
    // What is decided needs nothing.
    let faster = ordered("dddddddd", "d", &[200.0, 201.0, 199.0]);
    let decided = runs(&[&ours, &faster]);
    assert_eq!(compare(&decided).expect("cells in common").others[0].effort, None);
}

#[test]
fn a_long_command_goes_on_as_a_shell_wants_it() {
    let mut page = crate::terminal::Page::new(&Style::PLAIN);
    let command = format!("drivelab run {} 'two words' --passes 9", "x".repeat(70));
    page.command(&command);
    let text = page.finish();
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= 80), "{text}");
    let joined = text.replace("\\\n", " ");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&joined), words(&command));
}

/// A run that sought the highest rate of a cell: it leaves the closed loop and the rates it tried.
fn searched(id: &str, limit_ns: u64, iops: Option<f64>, ci95: Option<[f64; 2]>) -> Record {
    let probe = |rate: f64| {
        let mut cell = measured("reads@100", "read", 32, &[rate]);
        cell.name = format!("reads@{rate}");
        cell.coordinates.insert("rate".to_owned(), rate.into());
        cell
    };
    let rate = iops.unwrap_or(1.0);
    let cells = vec![measured("reads", "read", 32, &[500.0; 3]), probe(rate), probe(rate * 1.1)];
    let knee = Knee {
        target: 0,
        cell: "reads".to_owned(),
        condition: format!("p99<{limit_ns}ns"),
        percent: Some(99.0),
        limit_ns,
        closed_loop_iops: Some(500.0),
        outcome: Some(KneeOutcome::Latency),
        iops,
        iops_ci95: ci95,
        probes: Vec::new(),
    };
    let mut record = Record { knees: vec![knee], ..record(id, cells) };
    record.method.options.insert("until".to_owned(), "p99<1ms".to_owned());
    record
}

/// Two searches were compared by their closed loops alone, which both drives do alike, and every
/// rate that was tried on the way was listed as missing on the other side.
#[test]
fn searches_are_compared_by_the_rates_that_they_found() {
    let ours = searched("aaaaaaaa", 1_000_000, Some(300.0), Some([295.0, 305.0]));
    let faster = searched("bbbbbbbb", 1_000_000, Some(400.0), Some([390.0, 410.0]));
    let none = searched("cccccccc", 1_000_000, None, None);
    let other_limit = searched("dddddddd", 2_000_000, Some(400.0), Some([390.0, 410.0]));
    let near = searched("eeeeeeee", 1_000_000, Some(301.0), Some([280.0, 320.0]));
    let all = [&ours, &faster, &none, &other_limit, &near];
    let runs = runs(&all);
    let comparison = compare(&runs).expect("a cell in common");
    let [faster, none, other_limit, near] = &comparison.others[..] else { panic!("four") };
    for other in &comparison.others {
        assert_eq!(other.rows.len(), 1, "the closed loop");
        assert!(other.only_in_baseline.is_empty() && other.only_in_other.is_empty());
    }
    let found = faster.knees[0].ratio.expect("both found a rate");
    assert_eq!(found.verdict, PairedVerdict::Faster);
    assert!((found.ratio - 4.0 / 3.0).abs() < 1e-9);
    let [low, high] = found.ci95.expect("both have an interval");
    assert!((low - 390.0 / 305.0).abs() < 1e-9 && (high - 410.0 / 295.0).abs() < 1e-9);
    assert!(none.knees[0].ratio.is_none());
    assert_eq!(other_limit.knees.len(), 0);
    assert_eq!(near.knees[0].ratio.map(|it| it.verdict), Some(PairedVerdict::Undecided));
    assert_eq!(
        (comparison.count(PairedVerdict::Faster), comparison.count(PairedVerdict::Same)),
        (1, 4)
    );
    let text = text(&comparison, &Style::PLAIN);
    assert!(text.contains("Highest rate with p99 < 1 ms:"), "{text}");
    assert!(text.contains("none"), "{text}");
    let json = document(&comparison);
    assert_eq!(json["others"][0]["knees"][0]["verdict"], "faster");
    assert_eq!(json["others"][1]["knees"][0]["iops"], serde_json::Value::Null);
}

/// The history showed of a search the first rate that it had tried, half of what the drive does.
#[test]
fn a_search_is_known_by_the_rate_that_it_found() {
    let found = searched("aaaaaaaa", 1_000_000, Some(300.0), None).summary();
    assert_eq!(found.headline.len(), 1);
    assert_eq!(crate::brief::headline(&found), "random read 4 KiB 300 IOPS at p99<1000000ns");
    let nothing = searched("aaaaaaaa", 1_000_000, None, None).summary();
    assert_eq!(crate::brief::headline(&nothing), "random read 4 KiB 500 IOPS");
}
