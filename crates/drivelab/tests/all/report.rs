//! `drivelab report`: the files it writes, and those it refuses to write.

use crate::common;

use common::{
    Bench, Call, Mounted, assert_one_sentence,
    browser::{Browser, marks, reads_file},
    names_in,
    serving::good,
};
use serde_json::Value;
use std::{fs, io::Write, path::Path};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/example-run.json");

fn report(bench: &Bench, words: &[&str]) -> Call {
    bench.drivelab(["report"]).and(words)
}

#[test]
fn one_command_writes_every_format_and_may_write_them_again() {
    let bench = Bench::new();
    let words =
        [EXAMPLE, "--html", "r.html", "--xlsx", "r.xlsx", "--csv", "r.csv", "--svg", "pictures"];
    for _ in 0..2 {
        let said = report(&bench, &words).done().succeeded();
        assert_eq!(said.stdout, "");
        assert!(
            said.stderr.contains("wrote r.html") && said.stderr.contains("drawings to pictures")
        );
    }
    let page = fs::read_to_string(bench.path("r.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(fs::read(bench.path("r.xlsx")).expect("a workbook").starts_with(b"PK"));
    let drawings = names_in(&bench.path("pictures"));
    assert!(
        drawings.len() > 3 && drawings.iter().all(|name| name.ends_with(".svg")),
        "{drawings:?}"
    );
}

#[test]
fn a_dash_is_stdout_with_nothing_else_there() {
    let bench = Bench::new();
    let said = report(&bench, &[EXAMPLE, "--csv", "-"]).done().succeeded();
    assert!(said.stdout.starts_with("run,method,target,cell,"), "{}", said.stdout);
    assert!(said.stdout.lines().count() > 50);
    let page = report(&bench, &[EXAMPLE, "--html", "-"]).done().succeeded().stdout;
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn bad_input_gets_one_sentence_with_the_cure() {
    let bench = Bench::new();
    bench.file("thesis.html", "years of work");
    for (words, cure) in [
        (&[EXAMPLE][..], "--html FILE"),
        (&[EXAMPLE, "--html", "absent/r.html"], "mkdir -p absent"),
        (&[EXAMPLE, "--svg", "absent/pictures"], "mkdir -p absent"),
        (&[EXAMPLE, "--html", "thesis.html"], "--force"),
        (&[EXAMPLE, "--html", "-", "--csv", "-"], "cannot share stdout"),
        (&[EXAMPLE, "--csv", "-", "--price", "last=129EUR"], "write one of"),
    ] {
        let outcome = report(&bench, words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}");
        assert_one_sentence(&outcome.stderr, &[cure]);
    }
    let price = format!("{EXAMPLE}=129");
    let outcome = report(&bench, &[EXAMPLE, "--csv", "-", "--price", &price]).done();
    assert!(outcome.stderr.contains("has no currency"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(bench.path("thesis.html")).expect("a file"), "years of work");
}

/// `/dev/full` answers every write with "No space left on device".
#[test]
fn a_full_disk_is_named() {
    let bench = Bench::new();
    let outcome = report(&bench, &[EXAMPLE, "--csv", "/dev/full", "--force"]).done();
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("/dev/full") && outcome.stderr.contains("No space left"),
        "{}",
        outcome.stderr
    );
}

/// Folded tables and the method's text were left out on paper, and wide tables cut off at its edge.
#[test]
fn a_page_on_paper_has_what_is_folded_and_all_columns() {
    need_programs!["pdftotext"];
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    report(&bench, &[EXAMPLE, "--html", "r.html"]).done().succeeded();
    browser.open_file(&bench.path("r.html"));
    let columns = browser.value(
        "[...document.querySelectorAll('#all-cells thead th')].map(head => head.textContent)",
    );
    browser.print(&bench.path("r.pdf"));
    let pdf = bench.path("r.pdf").display().to_string();
    let text = good("pdftotext", &["-raw", &pdf, "-"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let record: Value =
        serde_json::from_str(&fs::read_to_string(EXAMPLE).expect("the example")).expect("JSON");
    let method = record["method"]["text"].as_str().expect("a text");
    for line in method.lines().filter(|line| line.contains(" = ")).take(3) {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&line), "{line} in {text}");
    }
    for column in columns.as_array().expect("heads") {
        let column = column.as_str().expect("a head");
        assert!(text.contains(column), "{column} in {text}");
    }
    let folded = browser.number("document.querySelectorAll('details[open]').length");
    assert_eq!(folded, 0.0, "on the screen all is as it was");
}

/// Values that the cells of these records have, by what charts make of them.
struct Expected {
    cells: usize,
    large: usize,
    with_median: usize,
}

impl Expected {
    fn of(records: &[Value]) -> Self {
        let cells = || records.iter().flat_map(|record| record["cells"].as_array().expect("cells"));
        let is_large = |cell: &&Value| cell["block_bytes"].as_u64() >= Some(64 << 10);
        let has_median = |cell: &&Value| {
            let percentiles = cell["latency"]["percentiles"].as_array();
            percentiles.is_some_and(|all| all.iter().any(|of| of["percent"] == 50.0))
        };
        Self {
            cells: cells().count(),
            large: cells().filter(is_large).count(),
            with_median: cells().filter(has_median).count(),
        }
    }
}

/// 14 block sizes by 1, 10 and 40 threads, in virtual time.
const SWEEP: &str = r#"
name = "sweep"
title = "block sizes by threads"
about = "For tests."
order = "fixed"
span = "64MiB"
fill = 1
grade = "quick"
seconds_min = 0.02
seconds_max = 0.05
ask_above = 1e9
[[cell]]
op = ["read", "write"]
pattern = "random"
block = "512..4MiB"
threads = [1, 2, 4, 8, 10, 16, 40]
"#;

/// `run --json` wrote into the file itself: a full disk left half a record where a whole one had
/// been.
#[test]
fn a_full_disk_leaves_every_old_file_whole_and_no_half_one() {
    let options = ["-t", "tmpfs", "-o", "size=4m"];
    let disk = need!(Mounted::new(Path::new("none"), &options), "root, and a file system to mount");
    let bench = Bench::new();
    let run = ["run", "null:", "--method", "small.toml", "--max-time", "0.6s", "--quiet"];
    let study = ["study", "cmu2009", "--table", "I", "--quiet", "--json"];
    let calls: Vec<(Call, &str)> = [
        (report(&bench, &[EXAMPLE, "--force", "--html"]), "r.html"),
        (report(&bench, &[EXAMPLE, "--force", "--xlsx"]), "r.xlsx"),
        (report(&bench, &[EXAMPLE, "--force", "--csv"]), "r.csv"),
        (report(&bench, &[EXAMPLE, "--force", "--svg"]), "pictures"),
        (bench.drivelab(run.into_iter().chain(["--json"])), "record.json"),
        (bench.drivelab_without_store(study), "rows.json"),
    ]
    .into_iter()
    .map(|(call, name)| (call.and([disk.path().join(name)]), name))
    .collect();
    calls.iter().for_each(|(call, _)| drop(call.done().succeeded()));
    let files = || {
        let in_all = [disk.path().to_owned(), disk.path().join("pictures")].map(|directory| {
            let paths = names_in(&directory).into_iter().map(move |name| directory.join(name));
            paths.filter(|path| path.is_file()).map(|path| (fs::read(&path).expect("a file"), path))
        });
        in_all.into_iter().flatten().collect::<Vec<_>>()
    };
    let mut ballast = fs::File::create(disk.path().join("ballast")).expect("a file");
    while ballast.write_all(&[0; 4096]).is_ok() {}
    let before = files();
    assert!(before.len() > 8, "{} files", before.len());
    for (call, name) in &calls {
        let outcome = call.done();
        assert_eq!(outcome.code, Some(2), "{name}: {outcome:?}");
        let last = outcome.stderr.lines().last().unwrap_or_default();
        assert_one_sentence(
            last,
            &["No space left", &disk.path().join(name).display().to_string()],
        );
        assert!(files() == before, "{name}: what was there is there, and nothing else");
    }
}

#[test]
fn a_browser_shows_every_value_of_a_real_run() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    bench.small_run(["area"]).done().succeeded();
    let quick = ["run", "area", "--size", "16M", "--max-time", "4s", "--quiet"];
    bench.drivelab(quick).done().succeeded();
    report(&bench, &["last", "--html", "r.html"]).done().succeeded();
    reads_file(&mut browser, &bench, "r.html");
    let expected = Expected::of(&[bench.record("last")]);
    assert_eq!(expected.cells, 7);
    assert_eq!(marks(&mut browser, &["Bandwidth of large blocks"]), expected.large);
    let small = expected.cells - expected.large;
    assert_eq!(marks(&mut browser, &["Operations of small blocks"]), small);

    report(&bench, &["last~1", "last", "--html", "both.html"]).done().succeeded();
    reads_file(&mut browser, &bench, "both.html");
}

#[test]
fn a_browser_shows_every_value_of_a_comparison_with_prices() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    let method = bench.file("sweep.toml", SWEEP.replace("[1, 2, 4, 8, 10, 16, 40]", "[1, 10, 40]"));
    for drive in ["mtron-pro-32", "intel-x25e-32"] {
        let run = ["run", &format!("model:{drive}"), "--label", drive, "--quiet", "--method"];
        bench.drivelab(run).and([&method]).done().succeeded();
    }
    let prices = ["--price", "mtron-pro-32=500USD", "--price", "intel-x25e-32=810USD"];
    let words = ["mtron-pro-32", "intel-x25e-32", "--html", "both.html"];
    report(&bench, &words).and(prices).done().succeeded();
    reads_file(&mut browser, &bench, "both.html");
    let expected = Expected::of(&[bench.record("last~1"), bench.record("last")]);
    assert_eq!(expected.cells, 2 * 2 * 14 * 3);
    assert_eq!(marks(&mut browser, &["IOPS over block size"]), expected.cells);
    assert_eq!(marks(&mut browser, &["Bandwidth over block size"]), expected.cells);
    assert_eq!(marks(&mut browser, &["Median latency over"]), expected.with_median);
    // Two drives in two charts; and operations of 4 KiB for the money, two by three cells of each
    // drive.
    assert_eq!(marks(&mut browser, &["Performance against price"]), 2 * 2);
    assert_eq!(marks(&mut browser, &["Operations for the money"]), 2 * 2 * 3);
}

/// Of 14 x 7 x 2 cells all are drawn; of eleven times as many, 9 of 77 lines in a chart, and it
/// says so.
#[test]
fn a_run_of_two_hundred_cells_and_one_of_two_thousand_have_readable_pages() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    let method = bench.file("sweep.toml", SWEEP);
    let run = ["run", "model:intel-x25e-32", "--quiet", "--method"];
    bench.drivelab(run).and([method]).done().succeeded();
    report(&bench, &["last", "--html", "many.html"]).done().succeeded();
    reads_file(&mut browser, &bench, "many.html");
    let mut record = bench.record("last");
    let expected = Expected::of(std::slice::from_ref(&record));
    assert_eq!(expected.cells, 196);
    assert_eq!(marks(&mut browser, &["IOPS over block size"]), expected.cells);
    assert_eq!(marks(&mut browser, &["Median latency over"]), expected.with_median);

    let cells = record["cells"].as_array().expect("cells").clone();
    let deeper = |depth: u64| {
        cells.iter().map(move |cell| {
            let mut cell = cell.clone();
            cell["queue_depth"] = depth.into();
            for key in ["name", "group"] {
                cell[key] = format!("{}-q{depth}", cell[key].as_str().expect("a name")).into();
            }
            cell
        })
    };
    record["cells"] = (1..=11).flat_map(deeper).collect();
    bench.file("large.json", record.to_string());
    report(&bench, &["large.json", "--html", "large.html"]).done().succeeded();
    reads_file(&mut browser, &bench, "large.html");
    assert_eq!(marks(&mut browser, &["IOPS over block size"]), 2 * 9 * 14);
    let notes = browser.text("document.querySelector('figcaption p').textContent");
    assert!(notes.contains("9 of 77 settings are drawn"), "{notes}");
    let rows = "document.querySelector('#all-cells tbody').rows.length";
    assert_eq!(browser.number(rows), 2156.0);
}

#[test]
fn a_surface_has_every_field_of_its_heat_map_and_turns() {
    let mut browser = need!(Browser::start(), "chromium");
    let bench = Bench::new();
    let words = ["run", "area", "--method", "iozone", "--size", "1M", "--quiet"];
    let sets = ["--set", "file=64K..1M", "--set", "block=4K..64K", "--set", "test=write;read"];
    bench.drivelab(words).and(sets).done().succeeded();
    report(&bench, &["last", "--html", "files.html"]).done().succeeded();
    reads_file(&mut browser, &bench, "files.html");
    let cells = Expected::of(&[bench.record("last")]).cells;
    assert_eq!(cells, 2 * 5 * 5);
    let by_file = ["write by file", "read by file"];
    assert_eq!(marks(&mut browser, &by_file), cells);
    for chart in [1, 2] {
        browser.click(&format!("figure:nth-of-type({chart}) button[data-v=surface]"));
    }
    assert_eq!(marks(&mut browser, &by_file), cells);
    let surface = "figure:nth-of-type(1) .plot[data-v=surface]";
    let drawn = format!("document.querySelector('{surface} .turn').innerHTML");
    let before = browser.text(&drawn);
    browser.drag(surface, 120.0, 30.0);
    let dragged = browser.text(&drawn);
    assert_ne!(before, dragged, "the mouse turns it");
    browser.press("ArrowLeft");
    assert_ne!(dragged, browser.text(&drawn), "keys turn it");
    assert_eq!(marks(&mut browser, &by_file), cells);
    assert_eq!(browser.complaints(), [""; 0]);
}
