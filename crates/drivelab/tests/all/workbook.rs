//! `drivelab report --xlsx`: the workbook as a spreadsheet program reads and prints it.

use crate::common;

use common::{
    Bench,
    serving::{client, good},
};
use std::{fs, fs::File, io::Read, path::Path};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/example-run.json");

/// The XML of every chart in a workbook.
fn charts(workbook: &Path) -> Vec<String> {
    let file = File::open(workbook).expect("a workbook");
    let mut archive = zip::ZipArchive::new(file).expect("a workbook is an archive");
    let names: Vec<String> =
        archive.file_names().map(|name| name.expect("a name").into_owned()).collect();
    let charts = names.iter().filter(|name| name.starts_with("xl/charts/chart"));
    charts
        .map(|name| {
            let mut text = String::new();
            let mut part = archive.by_name(name).expect("a part");
            part.read_to_string(&mut text).expect("XML is text");
            text
        })
        .collect()
}

/// The first text in a chart: its title.
fn title(chart: &str) -> &str {
    chart
        .split_once("<a:t>")
        .and_then(|(_, rest)| rest.split_once("</a:t>"))
        .expect("a chart has a title")
        .0
}

/// Lying bars take their intervals along x: asked for along y, the library left them out without a
/// word.
#[test]
fn bars_and_lines_with_intervals_have_error_bars() {
    let bench = Bench::new();
    let sweep = ["--method", "bm-flash", "--set", "threads=1;10", "--quiet"];
    bench.drivelab(["run", "model:intel-x25e-32"]).and(sweep).done().succeeded();
    for (run, prefixes) in
        [(EXAMPLE, &["Bandwidth of", "Operations of"][..]), ("last", &["IOPS over"])]
    {
        bench.drivelab(["report", run, "--xlsx", "r.xlsx"]).done().succeeded();
        let charts = charts(&bench.path("r.xlsx"));
        for prefix in prefixes {
            let of_kind = charts.iter().filter(|chart| title(chart).starts_with(prefix));
            let with_bars = of_kind.clone().filter(|chart| chart.contains("<c:errBars>"));
            assert!(of_kind.clone().count() > 0, "{prefix}");
            assert_eq!(with_bars.count(), of_kind.count(), "{prefix}");
        }
    }
}

/// A page as `pdftoppm` paints it: whether more than a few pixels are neither grey nor nearly so.
fn is_coloured(picture: &[u8]) -> bool {
    // P6, width, height, 255: three lines, then three bytes a pixel.
    let lines = picture.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let start = lines.map(|(at, _)| at + 1).nth(2).expect("the head of a picture");
    let spread = |pixel: &&[u8]| {
        let (low, high) = (pixel.iter().min(), pixel.iter().max());
        high.zip(low).is_some_and(|(high, low)| high - low > 60)
    };
    picture[start..].chunks_exact(3).filter(spread).count() > 20
}

#[test]
fn a_spreadsheet_program_prints_every_sheet_and_draws_every_chart() {
    need_programs!["soffice", "pdftotext", "pdftoppm"];
    let bench = Bench::new();
    bench.drivelab(["report", EXAMPLE, "--xlsx", "r.xlsx"]).done().succeeded();
    let [directory, workbook] = ["", "r.xlsx"].map(|name| bench.path(name).display().to_string());
    let profile = format!("-env:UserInstallation=file://{directory}office");
    let convert =
        [&profile, "--headless", "--convert-to", "pdf", "--outdir", &directory, &workbook];
    let output = client("soffice", &convert.map(|word| word as &str));
    let pdf = bench.path("r.pdf").display().to_string();
    assert!(Path::new(&pdf).exists(), "{output:?}");

    let charts = charts(&bench.path("r.xlsx"));
    assert!(charts.len() > 5, "{} charts", charts.len());
    let text = good("pdftotext", &["-raw", &pdf, "-"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for chart in &charts {
        // Above the numbers, and in the chart.
        assert!(text.matches(title(chart)).count() >= 2, "{} in {text}", title(chart));
    }
    for sheet in ["All cells", "Environment and method"] {
        assert!(text.contains(sheet), "{sheet} in {text}");
    }
    good("pdftoppm", &["-r", "30", &pdf, &format!("{directory}page")]);
    let pages = common::names_in(Path::new(&directory));
    let pages = pages.iter().filter(|name| name.ends_with(".ppm"));
    let coloured = pages.filter(|name| is_coloured(&fs::read(bench.path(name)).expect("a page")));
    let coloured = coloured.count();
    // Four charts to a page at most.
    let least = charts.len().div_ceil(4);
    assert!(coloured >= least, "{coloured} pages with colour, {} charts", charts.len());
}

/// Rates stood in the summary as words: no formula could add them. And there was a sheet for every
/// chart.
#[test]
fn a_workbook_has_few_sheets_with_short_names_and_its_rates_are_numbers() {
    let bench = Bench::new();
    bench.drivelab(["report", EXAMPLE, "--xlsx", "r.xlsx"]).done().succeeded();
    let file = File::open(bench.path("r.xlsx")).expect("a workbook");
    let mut archive = zip::ZipArchive::new(file).expect("a workbook is an archive");
    let mut part = |name: &str| {
        let mut text = String::new();
        archive.by_name(name).expect(name).read_to_string(&mut text).expect("XML is text");
        text
    };
    let book = part("xl/workbook.xml");
    let names: Vec<&str> = book
        .split("<sheet name=\"")
        .skip(1)
        .map(|rest| rest.split_once('"').expect("a name").0)
        .collect();
    assert!((3..=8).contains(&names.len()), "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 16), "{names:?}");
    let record = fs::read_to_string(EXAMPLE).expect("the example");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    let cell = &record["cells"][0];
    let rate = cell["bytes_per_s"].as_f64().expect("a rate") / 1e6;
    let summary = part("xl/worksheets/sheet1.xml");
    let values =
        summary.split("<v>").skip(1).filter_map(|rest| rest.split_once('<')?.0.parse().ok());
    let values: Vec<f64> = values.collect();
    let is_it = |value: &&f64| (*value / rate - 1.0).abs() < 1e-9;
    assert!(values.iter().any(|value| is_it(&value)), "{rate} in {values:?}");
    for at in 1..=names.len() {
        let sheet = part(&format!("xl/worksheets/sheet{at}.xml"));
        assert!(sheet.contains("fitToHeight=\"0\"") && sheet.contains("landscape"), "sheet {at}");
    }
}
