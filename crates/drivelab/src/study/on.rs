//! A study's method on a target of the user's, through the same machinery as `drivelab run`; then the user's column
//! beside the drives of the study.
//!
//! ```text
//!   [[on]] method, settings -> run::measure -> record in the store -> Yours -> a table a metric
//! ```

use super::{arguments::StudyArguments, tables::text};
use crate::{
    cli::{Cli, Verb},
    output,
    run::{self, Measured},
};
use anyhow::{Result, bail};
use clap::Parser;
use record::{Cell, Record};
use report::terminal::{Page, Paint, Table};
use std::path::Path;
use study::{Dossier, On, Printed, Study};

/// The coordinates that a cell of the user's shares with a printed one.
const SHARED: [&str; 4] = ["op", "block", "threads", "tool"];
/// Further coordinates that tell rows apart: the user's value stands in each of them.
const OTHERS: [&str; 3] = ["fs", "wc", "trim"];

/// What was measured for one [`On`].
pub struct Part<'d> {
    on: &'d On,
    measured: Measured,
}

/// A value of the user's, beside the number of the printed cell that it compares with.
pub struct Yours {
    /// The printed cell.
    pub cell: usize,
    /// In the cell's unit.
    pub value: f64,
    /// 95 %, in the cell's unit.
    pub interval: Option<[f64; 2]>,
}

/// Runs the study's methods on the target. `None` where only plans were asked for.
pub fn measure<'d>(
    dossier: &'d Dossier,
    target: &str,
    arguments: &StudyArguments,
) -> Result<Option<Vec<Part<'d>>>> {
    if dossier.file.on.is_empty() {
        bail!(
            "{}: its method needs trees of files, which a later release brings; until then try --method iozone of \
             `drivelab run`",
            dossier.study.name()
        );
    }
    let mut parts = Vec::new();
    for on in &dossier.file.on {
        let words = words(on, dossier.study, target, arguments);
        let Verb::Run(order) = Cli::try_parse_from(words)?.verb else {
            unreachable!("the words begin with run")
        };
        if let Some(measured) = run::measure(&order)? {
            parts.push(Part { on, measured });
        }
    }
    Ok((!parts.is_empty()).then_some(parts))
}

/// The command line of `drivelab run` that does the same.
fn words(on: &On, study: Study, target: &str, arguments: &StudyArguments) -> Vec<String> {
    let mut words: Vec<String> =
        ["drivelab", "run", "--method", &on.method].map(str::to_owned).into();
    let mut put = |flag: &str, value: &str| words.push(format!("{flag}={value}"));
    put("--label", &format!("study={}", study.name()));
    for (key, value) in &on.set {
        put("--set", &format!("{key}={value}"));
    }
    for (key, value) in &arguments.set {
        put("--set", &format!("{key}={value}"));
    }
    let numbers = [("--size", arguments.size), ("--seed", arguments.seed)];
    for (flag, number) in numbers {
        number.into_iter().for_each(|number| put(flag, &number.to_string()));
    }
    arguments.max_time.iter().for_each(|seconds| put("--max-time", &format!("{seconds}s")));
    arguments.passes.iter().for_each(|passes| put("--passes", &passes.to_string()));
    arguments.destroy.iter().for_each(|serial| put("--destroy", serial));
    arguments.store.iter().for_each(|path| put("--store", &path.to_string_lossy()));
    let switches =
        [("--yes", arguments.yes), ("--dry-run", arguments.dry_run), ("--quiet", arguments.quiet)];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    words.extend(["--".to_owned(), target.to_owned()]);
    words
}

impl Part<'_> {
    /// The run.
    pub fn record(&self) -> &Record {
        &self.measured.record
    }

    /// The run's end.
    pub fn conclude(self) -> Result<std::process::ExitCode> {
        self.measured.conclude()
    }

    /// The user's values beside the printed cells that they compare with.
    pub fn yours(&self, dossier: &Dossier) -> Vec<Yours> {
        let mut yours = Vec::new();
        for (at, cell) in dossier.cells.iter().enumerate() {
            let table = cell.coordinate("table").expect("a cell stands in a table");
            if !self.on.tables.iter().any(|wanted| wanted == table) {
                continue;
            }
            let seen = self.record().cells.iter().find(|seen| self.compares(seen, cell));
            let metric = cell.coordinate("metric").unwrap_or_default();
            if let Some(seen) = seen
                && let Some(scale) = Scale::of(metric, dossier.study)
            {
                yours.push(Yours {
                    cell: at,
                    value: scale.apply(seen.iops, seen.bytes_per_s),
                    interval: scale.interval(seen),
                });
            }
        }
        yours
    }

    /// Whether a measured cell did what a printed one stands for.
    fn compares(&self, seen: &Cell, printed: &study::Cell) -> bool {
        let test = seen.coordinates.get("test").and_then(|test| test.as_str());
        let name = test.map_or_else(|| format!("{} {}", seen.pattern, seen.op), str::to_owned);
        let same = |key: &str, number: u64| {
            printed.coordinate(key).is_none_or(|text| text == number.to_string())
        };
        let config = |key: &str| {
            let pairs = self.on.config.split(',').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(known, _)| *known == key).map(|(_, value)| value).next()
        };
        self.on.ops.get(&name).map(String::as_str) == printed.coordinate("op")
            && same("block", seen.block_bytes)
            && same("threads", seen.threads.into())
            && config("tool").is_none_or(|tool| printed.coordinate("tool") == Some(tool))
    }
}

/// What makes a cell's rate a value of a table.
enum Scale {
    Operations,
    Bytes(f64),
    Milliseconds,
}

impl Scale {
    fn of(metric: &str, study: Study) -> Option<Self> {
        match metric {
            "iops" => Some(Self::Operations),
            "bytes_per_s" => Some(Self::Bytes(1.0)),
            "mb_per_s" if study == Study::Cmu2009 => Some(Self::Bytes(1_048_576.0)),
            "mb_per_s" => Some(Self::Bytes(1e6)),
            "ms" => Some(Self::Milliseconds),
            _ => None,
        }
    }

    fn apply(&self, iops: f64, bytes_per_s: f64) -> f64 {
        match self {
            Self::Operations => iops,
            Self::Bytes(unit) => bytes_per_s / unit,
            Self::Milliseconds => 1000.0 / iops,
        }
    }

    /// Where a value falls as the rate grows, its ends change places.
    fn interval(&self, cell: &Cell) -> Option<[f64; 2]> {
        let (iops, bytes) = (cell.iops_ci95?, cell.bytes_per_s_ci95?);
        let ends = [0, 1].map(|end| self.apply(iops[end], bytes[end]));
        Some(match self {
            Self::Milliseconds => [ends[1], ends[0]],
            Self::Operations | Self::Bytes(_) => ends,
        })
    }
}

/// The user's column beside the printed ones, a table for each metric.
pub fn print(page: &mut Page, dossier: &Dossier, part: &Part, store: Option<&Path>) {
    let yours = part.yours(dossier);
    let record = part.record();
    page.heading(&format!("Yours: {} by method {}", record.targets[0].text, part.on.method));
    let store = output::store_option(store);
    page.line(&format!("run {0}: `drivelab show {0}{store}` prints it whole", record.id));
    if yours.is_empty() {
        page.line("None of its cells compares with a printed one.");
        return;
    }
    let mut metrics: Vec<&str> = Vec::new();
    for one in &yours {
        let metric = dossier.cells[one.cell].coordinate("metric").unwrap_or_default();
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    for metric in metrics {
        let of_metric: Vec<&Yours> = yours
            .iter()
            .filter(|one| dossier.cells[one.cell].coordinate("metric") == Some(metric))
            .collect();
        page.gap();
        page.line(&dossier.word("metric", metric));
        page.table(&columns(dossier, part.on, &of_metric));
    }
    page.line("yours: median of passes and half of its 95 % interval; the others as printed.");
}

/// Rows by what was done, columns by device; one value of the user's a row.
fn columns(dossier: &Dossier, on: &On, yours: &[&Yours]) -> Table {
    let place = |at: usize| {
        let keys = SHARED.iter().chain(&OTHERS);
        keys.map(|key| dossier.cells[at].coordinate(key)).collect::<Vec<_>>()
    };
    let (mut rows, mut devices) = (Vec::new(), Vec::new());
    for one in yours {
        let device = dossier.cells[one.cell].coordinate("device").expect("cells have devices");
        if !rows.contains(&place(one.cell)) {
            rows.push(place(one.cell));
        }
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    let shorts: Vec<String> = devices.iter().map(|device| dossier.word("device", device)).collect();
    let heads = ["yours", "+-"].into_iter().chain(shorts.iter().map(String::as_str));
    let mut table = Table::of_numbers("", heads);
    for row in rows {
        let of_row: Vec<&&Yours> = yours.iter().filter(|one| place(one.cell) == row).collect();
        let first = of_row[0];
        let cell = &dossier.cells[first.cell];
        let layout = cell.coordinate("table").and_then(|id| dossier.file.table(id));
        let layout = layout.expect("cells stand in tables");
        debug_assert!(on.tables.contains(&layout.id));
        let keys = SHARED.iter().chain(&OTHERS);
        let word = |(key, value): (&&str, &Option<&str>)| match (*key, *value) {
            ("threads", Some("1")) | (_, None) => None,
            ("threads", Some(count)) => Some(format!("{count} threads")),
            (key, Some(value)) => Some(dossier.word(key, value)),
        };
        let name: Vec<String> = keys.zip(&row).filter_map(word).collect();
        let half = first.interval.map_or_else(String::new, |[low, high]| {
            report::number::percent((high - low) / 2.0 / first.value)
        });
        let mut fields = vec![name.join(" "), text(layout, cell, first.value), half];
        for device in &devices {
            let printed = of_row.iter().find_map(|one| {
                let cell = &dossier.cells[one.cell];
                match &cell.printed {
                    Printed::Figure(_, text) if cell.coordinate("device") == Some(device) => {
                        Some(text.clone())
                    }
                    _ => None,
                }
            });
            fields.push(printed.unwrap_or_else(|| "-".to_owned()));
        }
        let painted = fields.into_iter().enumerate();
        let paint = |at| if at == 1 { Paint::Strong } else { Paint::Plain };
        table.painted_row(painted.map(|(at, field)| (field, paint(at))).collect());
    }
    table
}
