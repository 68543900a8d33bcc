//! Properties of all reports: whatever the record, a page is a page, a drawing a drawing, and
//! nothing that a user typed is anything but text.

use crate::{
    comparison,
    derive::{self, Evidence},
    document::Document,
    html,
    runs::{self, Money, Run},
    specification::Specification,
    svg,
    terminal::Style,
    terminal::tests::{any_cell, cell, example, name},
    xlsx,
};
use proptest::prelude::*;
use record::Record;

/// Tags that HTML never closes.
const VOID: [&str; 2] = ["meta", "!DOCTYPE"];

fn run(record: &Record) -> Run<'_> {
    let price = Money { amount: 129.0, currency: "EUR".to_owned(), date: None };
    Run { record, prices: vec![Some(price), None] }
}

/// Every tag is closed by its like; returns how often each was opened.
fn balanced(page: &str) -> Result<Vec<String>, String> {
    let (mut open, mut seen) = (Vec::<String>::new(), Vec::new());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').ok_or("a tag without an end")?;
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        let name: String =
            tag.chars().take_while(|letter| !letter.is_whitespace() && *letter != '/').collect();
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if last != name {
                return Err(format!("</{name}> closes <{last}>"));
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            // What stands in a script or a style sheet is no markup.
            if name == "script" || name == "style" {
                let close = format!("</{name}>");
                rest = &rest[rest.find(&close).ok_or("never closed")? + close.len()..];
            } else {
                open.push(name.clone());
            }
            seen.push(name);
        } else {
            seen.push(name);
        }
    }
    if open.is_empty() { Ok(seen) } else { Err(format!("left open: {open:?}")) }
}

/// The page, every drawing in it and every drawing as a file are well-formed, and draw all values.
fn check(runs: &[Run<'_>]) -> Result<(), String> {
    let document = runs::document(runs);
    let page = html::page(&document);
    let tags = balanced(&page)?;
    if tags.iter().any(|tag| ["img", "b2", "iframe", "link", "object"].contains(&tag.as_str())) {
        return Err("a tag that no report has".to_owned());
    }
    if tags.iter().filter(|tag| *tag == "script").count() != 1 {
        return Err("a script that is not ours".to_owned());
    }
    for figure in document.figures() {
        for view in svg::views(figure) {
            for text in [svg::file(figure, view), svg::element(figure, view, svg::Legend::Outside)]
            {
                roxmltree::Document::parse(&text).map_err(|error| format!("{error}: {text}"))?;
            }
        }
    }
    xlsx::workbook(&document).map_err(|error| error.to_string())?;
    Ok(())
}

/// What a user can type into a label, a path, a method.
const HOSTILE: &str = "</title></svg></script><script>alert(1)</script><img src=x onerror='a'>\" onload=\"b\" ]]> &lt; =1+1!A1\u{0}";

#[test]
fn a_hostile_name_is_only_text() {
    let mut record = example();
    record.labels.insert("label".to_owned(), HOSTILE.to_owned());
    for target in &mut record.targets {
        target.text = HOSTILE.to_owned();
    }
    record.method.name = HOSTILE.to_owned();
    record.method.text = HOSTILE.to_owned();
    record.command_line = vec![HOSTILE.to_owned()];
    record.paired[0].name = HOSTILE.to_owned();
    for cell in &mut record.cells {
        (cell.name, cell.op, cell.io) =
            (HOSTILE.to_owned(), HOSTILE.to_owned(), HOSTILE.to_owned());
        cell.coordinates.insert("test".to_owned(), HOSTILE.into());
    }
    check(&[run(&record)]).expect("all is text");
    let page = html::page(&runs::document(&[run(&record)]));
    assert!(page.contains("&lt;img src=x onerror=&#39;a&#39;&gt;"), "the name is shown");
}

#[test]
fn a_page_asks_nothing_of_anybody() {
    let page = html::page(&runs::document(&[run(&example())]));
    let addresses: Vec<&str> = page.split("http").skip(1).map(|rest| &rest[..20]).collect();
    // The name of SVG is no request: it stands in the script, which makes elements by it.
    assert!(
        addresses
            .iter()
            .all(|rest| rest.starts_with("://www.w3.org/2000/") || rest.starts_with("-equiv")),
        "{addresses:?}"
    );
    assert!(
        page.contains("default-src 'none'") && !page.contains("@import") && !page.contains("src=")
    );
}

/// The report of a run that had only just begun said "No flags. No automatic check found a reason
/// to doubt these numbers".
#[test]
fn a_run_without_cells_says_so_and_gets_no_all_clear() {
    let mut record = example();
    record.cells.clear();
    record.state = record::State::Running;
    record.flags.clear();
    record.targets.iter_mut().for_each(|target| target.flags.clear());
    let page = html::page(&runs::document(&[run(&record)]));
    assert!(page.contains("0 cells. The run is running: cells are missing."), "{page}");
    assert!(!page.contains("No flags."), "nothing was checked");
    record.targets[0].flags = vec![record::Flag::VirtualDisk];
    let page = html::page(&runs::document(&[run(&record)]));
    assert!(page.contains("<code>virtual_disk</code>"), "what is known of the target is said");
}

/// A server sends the policy and gives out rules and script, so that nothing in a page may be a
/// script.
#[test]
fn below_a_server_a_page_has_neither_script_nor_rules_of_its_own() {
    let document = runs::document(&[run(&example())]);
    let place = html::Place::Server { head: "<link>", top: "<nav>All</nav>" };
    let page = html::page_in(&document, place);
    assert!(!page.contains("<script") && !page.contains("<style") && !page.contains("http-equiv"));
    assert!(page.contains("<link>\n</head>") && page.contains("<nav>All</nav><header>"));
    let file = html::page(&document);
    assert!(file.contains(html::SCRIPT) && file.contains(&html::rules()), "a file has them");
}

/// The 2007 study's kind of run: three lines over the block sizes, everything drawn twice, and
/// nothing lost.
#[test]
fn every_value_is_drawn() {
    let mut record = example();
    record.targets.truncate(1);
    record.paired.clear();
    record.cells = Vec::new();
    for (power, threads) in
        (9..=22u32).flat_map(|power| [1u32, 10, 40].map(|threads| (power, threads)))
    {
        let mut cell =
            cell("read", "random", 1 << power, threads, 1e6 / f64::from(power * threads));
        cell.name = format!("{power} {threads}");
        record.cells.push(cell);
    }
    let document = runs::document(&[run(&record)]);
    let swept =
        document.figures().find(|figure| figure.title == "IOPS over block size: random read");
    let swept = swept.expect("a chart over the block sizes");
    assert_eq!(swept.values(), 14 * 3);
    for view in svg::views(swept) {
        let drawn = svg::element(swept, view, svg::Legend::Outside);
        assert_eq!(drawn.matches("<g class=\"m\">").count(), 14 * 3, "{view:?}");
    }
    assert_eq!(svg::legend(swept).len(), 3);
    assert_eq!(swept.table().rows.len(), 14 * 3);
}

#[test]
fn runs_of_one_method_share_their_charts_and_their_differences_come_first() {
    let (one, mut other) = (example(), example());
    other.id = "12345678".to_owned();
    other.environment.host.kernel = "6.19.0".to_owned();
    let document = runs::document(&[run(&one), run(&other)]);
    let first = &document.sections[0];
    assert_eq!(first.title, "What differs between the runs");
    assert!(
        format!("{first:?}").contains("6.19.0") && !format!("{first:?}").contains("EXAMPLE SSD")
    );
    let bars =
        document.figures().find(|figure| figure.title.starts_with("Bandwidth of")).expect("bars");
    // Two runs of two targets; the second target has no cell of large blocks.
    assert_eq!(svg::legend(bars).len(), 2);
    let ids: std::collections::BTreeSet<&str> =
        document.figures().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids.len(), document.figures().count(), "ids are unique");
}

/// Two thousand cells with four charts of two thousand values each are still one page that a mail
/// carries.
#[test]
fn a_run_with_two_thousand_cells_is_still_a_page() {
    let mut record = example();
    record.cells = Vec::new();
    for at in 0..2000u32 {
        let mut cell =
            cell("read", "random", 512 << (at % 10), 1 + at / 10 % 20, f64::from(at + 1));
        cell.name = format!("cell-{at}");
        cell.queue_depth = 1 + at / 200;
        record.cells.push(cell);
    }
    let page = html::page(&runs::document(&[run(&record)]));
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    assert!(page.len() > 100_000);
}

#[test]
fn the_same_record_gives_the_same_workbook() {
    let document = runs::document(&[run(&example())]);
    let [one, other] = [(); 2].map(|()| xlsx::workbook(&document).expect("a workbook"));
    assert!(one == other && one.starts_with(b"PK"));
}

/// A method named in pictures made a sheet's name of 33 units where Excel allows 31.
#[test]
fn a_sheets_name_is_counted_as_excel_counts() {
    let mut record = example();
    record.method.name = "\u{1f600}".repeat(40);
    assert!(xlsx::workbook(&runs::document(&[run(&record)])).is_ok());
}

/// A run of `quick` on each of two targets; the second is twice as fast at all but at depth 32.
fn two_runs() -> [Record; 2] {
    let cells = |factor: f64, deep: f64| {
        let mut cells = vec![
            cell("read", "seq", 1 << 20, 1, 200.0 * factor),
            cell("write", "seq", 1 << 20, 1, 100.0 * factor),
            cell("read", "random", 4096, 1, 5_000.0 * factor),
            cell("read", "random", 4096, 1, deep),
            cell("write", "random", 4096, 1, 3_000.0 * factor),
            cell("write", "random", 4096, 2, 4_000.0 * factor),
            cell("write", "random", 4096, 1, 300.0 * factor),
        ];
        (cells[3].queue_depth, cells[6].io) = (32, "direct,dsync".to_owned());
        for (at, cell) in cells.iter_mut().enumerate() {
            cell.name = format!("cell-{at}");
            cell.passes = cell.passes.iter().take(3).cloned().collect();
            cell.passes.iter_mut().for_each(|pass| pass.iops = cell.iops);
        }
        cells
    };
    [("slow", 1.0, 50_000.0), ("fast", 2.0, 8_000.0)].map(|(name, factor, deep)| {
        let mut record = Record { cells: cells(factor, deep), ..example() };
        record.id = name.to_owned();
        record.targets.truncate(1);
        record.targets[0].text = name.to_owned();
        record.labels.clear();
        record.paired.clear();
        record
    })
}

/// The tiles of two targets were chosen for each by itself: random reads 32 deep of the one stood
/// beside reads one at a time of the other, and the durable write of both was cut off.
#[test]
fn tiles_of_two_targets_are_of_the_same_cells_with_ratio_and_verdict() {
    let [slow, mut fast] = two_runs();
    fast.cells[6].flags = vec![record::Flag::Drifting];
    let document = runs::document(&[run(&slow), run(&fast)]);
    let tiles = &document.highlights;
    let names: Vec<&str> = tiles.iter().map(|tile| tile.name.as_str()).collect();
    assert_eq!(tiles.len(), 5, "{names:?}");
    for tile in tiles {
        let [first, second] = &tile.readings[..] else { panic!("both targets: {tile:?}") };
        assert_eq!((first.of.as_str(), second.of.as_str()), ("slow", "fast"));
        let against = second.against.as_ref().expect("a ratio");
        assert!((second.value / first.value / against.ratio - 1.0).abs() < 1e-6, "{tile:?}");
    }
    let durable = tiles.iter().find(|tile| tile.name.ends_with("durable")).expect("durable");
    assert!((durable.readings[1].against.as_ref().expect("a ratio").ratio - 2.0).abs() < 1e-9);
    assert_eq!(durable.readings[1].doubts, ["drifting"]);
    let deep = tiles.iter().find(|tile| tile.name.contains("32 deep")).expect("the deepest");
    assert!(deep.readings[1].against.as_ref().expect("a ratio").ratio < 0.2);
    let page = html::page(&document);
    assert!(page.contains("<a class=\"mark\" href=\"#flag-drifting\">"), "a doubted tile");
    assert!(page.contains("<li id=\"flag-drifting\">"), "and where the mark leads");
}

/// `drivelab web` had a section that `report A B --html` had not.
#[test]
fn a_report_of_two_runs_holds_every_cell_against_the_baseline() {
    let [slow, fast] = two_runs();
    let runs = [run(&slow), run(&fast)];
    let section = |document: &Document| {
        let found = document.sections.iter().find(|one| one.title == "Against the baseline");
        format!("{:?}", found.expect("the section"))
    };
    let document = runs::document(&runs);
    assert!(section(&document).contains("fast against slow"));
    assert_eq!(section(&document).matches("\"faster\"").count(), 6);
    assert!(document.summary.iter().any(|text| text.contains("faster in 6, slower in 1")));
    let turned = runs::document_against(&runs, Some((&fast, 0)));
    assert!(section(&turned).contains("slow against fast"));
    let [one, ..] = runs;
    let alone = runs::document(&[one]);
    assert!(alone.sections.iter().all(|section| section.title != "Against the baseline"));
}

/// The terminal said "after 12.0 s the interval was +-9.6 %"; the page gave the flag's meaning
/// alone.
#[test]
fn a_doubt_tells_what_was_seen_and_in_which_cells() {
    let [mut slow, _] = two_runs();
    let flag = record::Flag::NotConverged;
    let text = format!("after 12.0 s the interval was +-9.6 %: {}", flag.cure());
    for at in [2, 3] {
        slow.cells[at].flags = vec![flag];
        slow.cells[at].warnings =
            vec![record::Warning { flag: Some(flag), text: text.replace("9.6", &at.to_string()) }];
    }
    let document = runs::document(&[run(&slow)]);
    let doubts = document.doubts.expect("cells were checked");
    let doubt = doubts.iter().find(|doubt| doubt.name == "not_converged").expect("the flag");
    let seen: Vec<String> = doubt.seen.iter().map(|seen| seen.words()).collect();
    let expected = [
        "random read 4 KiB: after 12.0 s the interval was \u{b1}2 %",
        "random read 4 KiB, 32 deep: after 12.0 s the interval was \u{b1}3 %",
    ];
    assert_eq!(seen, expected);
}

/// Thirteen sheets for seven cells, and rates as words that no formula can add.
#[test]
fn a_workbook_has_at_most_eight_sheets_and_its_numbers_are_numbers() {
    let [slow, fast] = two_runs();
    let document = runs::document(&[run(&slow), run(&fast)]);
    let sheets: std::collections::BTreeSet<&str> =
        document.sections.iter().map(|section| section.sheet).collect();
    assert!(sheets.len() < xlsx::SHEETS_MAX, "{sheets:?}");
    assert!(sheets.iter().all(|name| name.len() <= 16), "{sheets:?}");
    let many = (0..20).map(|at| crate::document::Section {
        title: at.to_string(),
        sheet: ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][at % 10],
        blocks: vec![crate::document::Block::Text(at.to_string())],
    });
    let document = Document { sections: many.collect(), ..document };
    assert!(xlsx::workbook(&document).is_ok(), "what is too much goes onto the last sheet");
}

/// Ten lines in seven colours: the eighth could not be told from the first.
#[test]
fn every_line_of_many_has_a_letter_at_its_end_and_in_the_legend() {
    use crate::chart::{Axis, Chart, Figure, Line, Lines, Point, Stroke, Unit};
    let line = |at: usize| Line {
        points: (1..4).map(|x| Point { x: f64::from(x), y: (at as f64 / 100.0).into() }).collect(),
        ..Line::new(&format!("line {at}"), Stroke::Plain)
    };
    let chart = Chart::Lines(Lines {
        x: Axis::linear("x", Unit::Number),
        y: Axis::linear("y", Unit::Number),
        series: (1..=10).map(line).collect(),
        bands: Vec::new(),
    });
    let [id, title, note] = ["f", "t", ""].map(str::to_owned);
    let figure = Figure { id, title, note, chart };
    let drawn = svg::element(&figure, svg::View::Linear, svg::Legend::Outside);
    let drawing = roxmltree::Document::parse(&drawn).expect("XML");
    let mut places = Vec::new();
    for (at, entry) in svg::legend(&figure).iter().enumerate() {
        let letter = char::from(b'A' + at as u8).to_string();
        assert!(entry.swatch.contains(&format!(">{letter}</text>")), "{entry:?}");
        let is_it = |node: &roxmltree::Node<'_, '_>| node.text() == Some(&letter);
        let found: Vec<_> =
            drawing.descendants().filter(is_it).filter(|n| n.is_element()).collect();
        assert_eq!(found.len(), 1, "{letter} in {drawn}");
        places.push(found[0].attribute("y").expect("a place").parse::<f64>().expect("px"));
    }
    places.sort_by(f64::total_cmp);
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 9.0), "none on another: {places:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_record_breaks_a_page_a_drawing_or_a_workbook(
        cells in prop::collection::vec(any_cell(), 0..8),
        text in name(),
    ) {
        let mut record = Record { cells, ..example() };
        record.targets[0].text.clone_from(&text);
        record.method.name.clone_from(&text);
        record.method.text.clone_from(&text);
        record.labels.insert("label".to_owned(), text);
        let checked = check(&[run(&record), run(&example())]);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }

    /// Whatever was recorded, it can be compared and derived from, within the width.
    #[test]
    fn no_record_breaks_a_comparison_or_a_derived_table(
        cells in prop::collection::vec(any_cell(), 0..8),
        text in name(),
    ) {
        let mut record = Record { cells, ..example() };
        record.targets[0].text.clone_from(&text);
        let sheet = Specification::parse("s", SHEET).expect("a sheet");
        let other = example();
        let runs = [run(&record), run(&other), run(&record)];
        let subjects = runs::subjects(&runs);
        let sheets = vec![Some(&sheet); subjects.len()];
        let evidence = Evidence { subjects, sheets, baseline: 0 };
        let kinds: Vec<&derive::Kind> = derive::KINDS.iter().collect();
        let style = Style { width: 60, ..Style::PLAIN };
        let mut page = derive::text(&kinds, &evidence, &style);
        if let Ok(comparison) = comparison::compare(&runs) {
            page += &comparison::text(&comparison, &style);
            let document = Document {
                sections: vec![comparison::section(&comparison)],
                ..Document::default()
            };
            prop_assert!(balanced(&html::page(&document)).is_ok());
        }
        prop_assert!(page.lines().all(|line| line.len() <= 60), "{}", page);
    }
}

/// A sheet with an entry of every metric.
const SHEET: &str = "name = \"n\"\nsource = \"s\"\n\
    [[entry]]\nmetric = \"iops\"\nop = \"read\"\npattern = \"random\"\nvalue = 20\nunit = \"IOPS\"\nup_to = true\n\
    [[entry]]\nmetric = \"bandwidth\"\nop = \"write\"\npattern = \"seq\"\nvalue = 2\nunit = \"MB/s\"\n\
    [[entry]]\nmetric = \"latency\"\nop = \"read\"\npattern = \"random\"\nvalue = 2\nunit = \"ms\"\npercentile = 99\n\
    [[entry]]\nmetric = \"access_time\"\nvalue = 2\nunit = \"ms\"\n\
    [[entry]]\nmetric = \"capacity\"\nvalue = 2\nunit = \"TB\"\n\
    [[entry]]\nmetric = \"endurance\"\nvalue = 2\nunit = \"TB\"\n\
    [[entry]]\nmetric = \"power\"\nvalue = 2\nunit = \"W\"\n";
