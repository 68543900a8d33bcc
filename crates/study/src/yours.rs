//! What a study's methods gave on a user's target, in the study's words: beside the printed cells,
//! and as a book that derived tables and claims read.
//!
//! ```text
//!   On, Record -> Reading: rates at coordinates (op, fs, wc, trim...)
//!     -> beside every printed cell that they compare with -> Value
//!     -> Book, without devices -> derived tables, Claim::judge_yours
//! ```
//!
//! A setting that was not varied is no coordinate of a reading: its value then stands at every
//! printed cell that differs in that setting alone, and a claim about the setting finds nothing.
//! The file system is always one: a study that had one only is compared with whatever the user has,
//! by its name; one that had several with its like alone.

use crate::{
    Book, Cell, Dossier, On, Printed, Study, TableFile,
    dossier::{Gaps, derive},
    expression::Coordinates,
};
use record::{Flag, Meaning, Money, Record, TargetInfo, TargetKind};
use report::specification::{Metric, Specification};
use std::collections::BTreeSet;

/// A setting under both names.
struct Setting {
    /// What the matrix calls it.
    axis: &'static str,
    /// The coordinate that it is in studies.
    key: &'static str,
    /// Levels and the studies' words for them, where they differ.
    words: &'static [(&'static str, &'static str)],
}

const SETTINGS: [Setting; 6] = [
    Setting { axis: "fs", key: "fs", words: &[] },
    Setting { axis: "write-cache", key: "wc", words: &[] },
    Setting { axis: "discard", key: "trim", words: &[("on", "yes"), ("off", "no")] },
    Setting {
        axis: "kernel-flush",
        key: "config",
        words: &[("on", "barriers"), ("off", "nobarrier")],
    },
    Setting { axis: "mount", key: "mount", words: &[] },
    Setting { axis: "mkfs", key: "mkfs", words: &[] },
];

/// Why a place in the book has no number.
const NOT_MEASURED: &str = "not in your run";

/// The configuration of what a maker specifies, which nobody measured.
pub const SPECIFIED: &str = "spec";

/// One cell of a run: how fast what was done under which settings.
struct Reading {
    at: Coordinates,
    rate: Rate,
    tables: Vec<String>,
    origin: Origin,
}

/// What to know before a value is believed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Origin {
    /// What the rate is the rate of: a word for a table, and its phrase. `drive`, `synced`,
    /// `cache`...
    pub means: Vec<(String, String)>,
    /// Those of the cell and of its target.
    pub flags: Vec<Flag>,
}

impl Origin {
    fn of(cell: &record::Cell, target: &TargetInfo) -> Self {
        let means = Meaning::of(&cell.passes).map(|meaning| meaning.parts()).unwrap_or_default();
        let mut origin = Self { means, flags: Vec::new() };
        origin.take_in(&Self { means: Vec::new(), flags: cell.flags.clone() });
        origin.take_in(&Self { means: Vec::new(), flags: target.flags.clone() });
        origin
    }

    fn take_in(&mut self, other: &Self) {
        for meaning in &other.means {
            if !self.means.contains(meaning) {
                self.means.push(meaning.clone());
            }
        }
        for flag in &other.flags {
            if !self.flags.contains(flag) {
                self.flags.push(*flag);
            }
        }
    }
}

/// What the user says of the drive itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Known {
    /// What it costs.
    pub price: Option<Money>,
    /// What it holds, bytes.
    pub capacity_bytes: Option<f64>,
    /// What its maker promises.
    pub sheet: Option<Specification>,
}

impl Known {
    /// By the names that studies have for them; MB/s of 10^6 bytes, GB of 10^9, milliseconds.
    fn facts(&self) -> Vec<(&'static str, f64)> {
        let promised = |metric: Metric, pattern: &str, op: &str| {
            let entries = self.sheet.iter().flat_map(|sheet| &sheet.entries);
            let mut fitting = entries.filter(|entry| {
                entry.metric == metric
                    && entry.op.as_deref() == Some(op)
                    && entry.pattern.as_deref() == Some(pattern)
            });
            fitting.next().map(|entry| entry.value)
        };
        let access = self.sheet.iter().flat_map(|sheet| &sheet.entries);
        let access = access.filter(|entry| entry.metric == Metric::AccessTime).map(|it| it.value);
        let mega = |value: Option<f64>| value.map(|bytes_per_s| bytes_per_s / 1e6);
        let all = [
            ("price", self.price.as_ref().map(|money| money.amount)),
            ("capacity", self.capacity_bytes.map(|bytes| bytes / 1e9)),
            ("access", access.map(|ns| ns / 1e6).next()),
            ("advertised_seq_read", mega(promised(Metric::Bandwidth, "seq", "read"))),
            ("advertised_seq_write", mega(promised(Metric::Bandwidth, "seq", "write"))),
            ("advertised_rand_read", promised(Metric::Iops, "random", "read")),
            ("advertised_rand_write", promised(Metric::Iops, "random", "write")),
        ];
        all.into_iter().filter_map(|(fact, number)| Some((fact, number?))).collect()
    }

    /// The fact that stands in a printed cell: of a table of facts, or of what makers specify.
    fn at(&self, dossier: &Dossier, cell: &Cell) -> Option<f64> {
        let table = dossier.file.table(cell.coordinate("table")?)?;
        let metric = cell.coordinate("metric").unwrap_or_default();
        let fact = match cell.coordinate("config") {
            Some(SPECIFIED) if ["mb_per_s", "iops"].contains(&metric) => {
                format!("advertised_{}", cell.coordinate("op")?.replace('-', "_"))
            }
            _ if table.facts.iter().any(|fact| fact == metric) => metric.to_owned(),
            _ => return None,
        };
        self.facts().into_iter().find_map(|(known, number)| (*known == fact).then_some(number))
    }
}

#[derive(Clone, Copy)]
struct Rate {
    iops: f64,
    bytes_per_s: f64,
    iops_ci95: Option<[f64; 2]>,
    bytes_ci95: Option<[f64; 2]>,
}

/// A value of the user's, in a table's unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// Where it stands, as expressions find it; no `device`.
    pub at: Coordinates,
    /// The printed cells that it compares with, by their numbers in the dossier.
    pub beside: Vec<usize>,
    /// In the unit of its `metric`.
    pub number: f64,
    /// 95 %, in that unit; none where one pass was too short for any, and of what was derived.
    pub interval: Option<[f64; 2]>,
    /// Of what was derived: of all that it follows from.
    pub origin: Origin,
}

/// All that a user measured of a study.
pub struct Yours {
    /// In the order of tables, then of runs.
    pub values: Vec<Value>,
    /// The same, for expressions.
    pub book: Book,
}

impl Yours {
    /// From the records, each with the method of the study that it ran, and what the user knows of
    /// the drive.
    pub fn of(dossier: &Dossier, runs: &[(&On, &Record)], known: &Known) -> Self {
        let readings: Vec<Reading> =
            runs.iter().flat_map(|(on, record)| readings(on, record)).collect();
        let mut values = Vec::new();
        for table in &dossier.file.tables {
            for reading in readings.iter().filter(|one| one.tables.contains(&table.id)) {
                values.extend(reading.values(dossier, table));
            }
        }
        let mut book = Book::empty(&dossier.file);
        for (fact, number) in known.facts() {
            book.put_fact(fact, number);
        }
        let templates = templates(dossier);
        let told = |at: &Coordinates, number: f64| {
            let (beside, origin) = (places(dossier, at), Origin::default());
            Value { at: at.clone(), beside, number, interval: None, origin }
        };
        for template in &templates {
            values.extend(known.at(dossier, template).map(|number| told(&template.at, number)));
        }
        for value in &values {
            book.put(value.at.clone(), Ok(value.number));
        }
        let measured: BTreeSet<&Coordinates> = values.iter().map(|value| &value.at).collect();
        for template in templates.iter().filter(|one| !measured.contains(&one.at)) {
            book.put(template.at.clone(), Err(NOT_MEASURED.to_owned()));
        }
        let derived =
            derive(&dossier.file, &templates, &book, Gaps::Expected).expect("gaps are expected");
        let mut follow = Vec::new();
        for (template, derived) in templates.iter().zip(derived) {
            let Some(Ok(derived)) = derived else { continue };
            if measured.contains(&template.at) {
                continue;
            }
            let mut value = told(&template.at, derived.number);
            let sources = values.iter().filter(|value| derived.from.contains(&value.at));
            sources.for_each(|source| value.origin.take_in(&source.origin));
            book.put(value.at.clone(), Ok(value.number));
            follow.push(value);
        }
        values.extend(follow);
        Self { values, book }
    }

    /// The values of one table.
    pub fn of_table<'y>(&'y self, table: &'y str) -> impl Iterator<Item = &'y Value> {
        self.values.iter().filter(move |one| one.at.get("table").is_some_and(|id| id == table))
    }
}

/// Every place of the printed tables once, whatever the device.
fn templates(dossier: &Dossier) -> Vec<Cell> {
    let mut seen = BTreeSet::new();
    let own = dossier.cells.iter().filter(|cell| matches!(cell.printed, Printed::Figure(..)));
    let without_device = own.map(|cell| {
        let mut cell = cell.clone();
        cell.at.remove("device");
        cell
    });
    without_device.filter(|cell| seen.insert(cell.at.clone())).collect()
}

/// The printed cells at these coordinates, whatever the device.
fn places(dossier: &Dossier, at: &Coordinates) -> Vec<usize> {
    let is_here = |cell: &Cell| {
        let keys = cell.at.iter().filter(|(key, _)| *key != "device");
        keys.eq(at.iter())
    };
    let numbered = dossier.cells.iter().enumerate();
    numbered.filter(|(_, cell)| is_here(cell)).map(|(number, _)| number).collect()
}

/// The cells of a record that the study has a word for.
fn readings(on: &On, record: &Record) -> Vec<Reading> {
    let one = |cell: &record::Cell| {
        let text = |key: &str| cell.coordinates.get(key).and_then(|value| value.as_str());
        let plain = format!("{} {}", cell.pattern, cell.op);
        let names = [text("test").unwrap_or_default(), &cell.name, &plain];
        let op = names.iter().find_map(|name| on.ops.get(*name))?;
        let target = &record.targets[cell.target];
        let mut at = Coordinates::from([
            ("op".to_owned(), op.clone()),
            ("block".to_owned(), cell.block_bytes.to_string()),
            ("threads".to_owned(), cell.threads.to_string()),
        ]);
        at.extend(file_system(target).map(|name| ("fs".to_owned(), name)));
        for (key, value) in on.config.split(',').filter_map(|pair| pair.split_once('=')) {
            at.insert(key.to_owned(), value.to_owned());
        }
        for Setting { axis, key, words } in SETTINGS {
            let Some(level) = text(axis).filter(|level| !["", "-"].contains(level)) else {
                continue;
            };
            let word = words.iter().find_map(|(known, word)| (*known == level).then_some(*word));
            at.insert(key.to_owned(), word.unwrap_or(level).to_owned());
        }
        let rate = Rate {
            iops: cell.iops,
            bytes_per_s: cell.bytes_per_s,
            iops_ci95: cell.iops_ci95,
            bytes_ci95: cell.bytes_per_s_ci95,
        };
        let origin = Origin::of(cell, target);
        Some(Reading { at, rate, tables: on.tables.clone(), origin })
    };
    record.cells.iter().filter_map(one).collect()
}

/// What files lie on where they were measured; `raw` where there are none. `None` where nobody
/// knows.
fn file_system(target: &TargetInfo) -> Option<String> {
    let of_model = || {
        let layer = target.stack.iter().find(|layer| layer.kind == "file_system")?;
        let is_end = |letter: char| !letter.is_ascii_alphanumeric();
        layer.name.trim_start_matches('/').split(is_end).next().map(str::to_owned)
    };
    match target.kind {
        TargetKind::BlockDevice | TargetKind::Flash => Some("raw".to_owned()),
        TargetKind::Model => of_model().or(Some("raw".to_owned())),
        _ => target.file_system.as_ref().map(|found| found.kind.clone()),
    }
}

/// Whether the study had one file system only in a table, or none.
pub fn has_one_file_system(dossier: &Dossier, table: &str) -> bool {
    let mut seen = BTreeSet::new();
    seen.extend(dossier.of_table(table).filter_map(|at| dossier.cells[at].coordinate("fs")));
    seen.len() <= 1
}

impl Reading {
    /// What it is worth in a table: beside printed cells a value for each metric there, in a table
    /// of the user's own for each of its grid.
    fn values(&self, dossier: &Dossier, table: &TableFile) -> Vec<Value> {
        let own = if has_one_file_system(dossier, &table.id) { &["fs"][..] } else { &[] };
        let mut metrics: Vec<&str> = match table.published {
            Some(_) => {
                let cells = dossier.of_table(&table.id).map(|at| &dossier.cells[at]);
                // A size or a file system that the study did not print is no less the user's.
                let like = cells.filter(|cell| self.compares(cell, &["fs", "block"]));
                like.filter_map(|cell| cell.coordinate("metric")).collect()
            }
            None => {
                let listed = |key: &str| table.grid.get(key).map_or(&[][..], Vec::as_slice);
                let is_listed = listed("op").iter().any(|op| self.at.get("op") == Some(op));
                listed("metric").iter().filter(|_| is_listed).map(String::as_str).collect()
            }
        };
        let mut seen = BTreeSet::new();
        metrics.retain(|metric| seen.insert(*metric));
        let value = |metric: &str| {
            let unit = Unit::of(metric, dossier.study)?;
            let mut at = self.at.clone();
            at.insert("table".to_owned(), table.id.clone());
            at.insert("metric".to_owned(), metric.to_owned());
            let numbered = dossier.of_table(&table.id);
            let is_like = |number: &usize| {
                let cell = &dossier.cells[*number];
                self.compares(cell, own) && cell.coordinate("metric") == Some(metric)
            };
            let beside = numbered.filter(is_like).collect();
            let (number, interval) = (unit.value(&self.rate), unit.interval(&self.rate));
            Some(Value { at, beside, number, interval, origin: self.origin.clone() })
        };
        metrics.into_iter().filter_map(value).collect()
    }

    /// Whether it did what a printed cell stands for: nothing that both tell of is different but
    /// for `apart`, and
    /// somebody measured it.
    fn compares(&self, printed: &Cell, apart: &[&str]) -> bool {
        let differs = |(key, value): (&String, &String)| {
            !apart.contains(&key.as_str())
                && printed.coordinate(key).is_some_and(|other| other != value)
        };
        printed.coordinate("config") != Some(SPECIFIED)
            && printed.coordinate("op") == self.at.get("op").map(String::as_str)
            && !self.at.iter().any(differs)
    }
}

/// What makes a rate a value of a table.
enum Unit {
    Operations,
    Bytes(f64),
    Milliseconds,
}

impl Unit {
    fn of(metric: &str, study: Study) -> Option<Self> {
        match metric {
            "iops" | "seeks_per_s" => Some(Self::Operations),
            "bytes_per_s" => Some(Self::Bytes(1.0)),
            // cmu2009's megabyte is 2^20 bytes, as its operations times their size show.
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

    fn value(&self, rate: &Rate) -> f64 {
        self.apply(rate.iops, rate.bytes_per_s)
    }

    /// Where a value falls as the rate grows, its ends change places.
    fn interval(&self, rate: &Rate) -> Option<[f64; 2]> {
        let iops = rate.iops_ci95?;
        let bytes = rate.bytes_ci95.unwrap_or_default();
        let ends = [0, 1].map(|end| self.apply(iops[end], bytes[end]));
        Some(match self {
            Self::Milliseconds => [ends[1], ends[0]],
            Self::Operations | Self::Bytes(_) => ends,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// Settings as the matrix writes them, and milliseconds an operation.
    type Measured<'a> = (&'a [(&'a str, &'a str)], f64);

    /// A record of these cells.
    fn record(cells: &[Measured<'_>]) -> Record {
        let text = include_str!("../../record/tests/example.json");
        let mut record: Record = serde_json::from_str(text).expect("an example");
        let like = record.cells[0].clone();
        let cell = |(settings, ms): &Measured<'_>| {
            let mut cell = like.clone();
            (cell.op, cell.pattern) = ("write".to_owned(), "seq".to_owned());
            (cell.block_bytes, cell.threads) = (512, 1);
            cell.iops = 1000.0 / ms;
            cell.iops_ci95 = Some([900.0 / ms, 1100.0 / ms]);
            let levels = settings.iter().map(|(axis, level)| ((*axis).into(), (*level).into()));
            cell.coordinates = levels.collect();
            cell
        };
        record.cells = cells.iter().map(cell).collect();
        record
    }

    fn latency2016() -> Dossier {
        Dossier::open(Study::Latency2016)
    }

    fn verdict(dossier: &Dossier, yours: &Yours, id: &str) -> Verdict {
        let claim = dossier.claims.iter().find(|claim| claim.file.id == id).expect("a claim");
        claim.judge_yours(&yours.book).expect("it is about any drive").verdict
    }

    #[test]
    fn a_value_stands_beside_the_printed_cells_of_its_settings_and_nowhere_else() {
        let dossier = latency2016();
        let settings = [("fs", "ext4"), ("write-cache", "off"), ("discard", "on")];
        let record = record(&[(&settings, 2.0)]);
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &Known::default());
        let [value] = &yours.of_table("raw").collect::<Vec<_>>()[..] else { panic!("one value") };
        assert!((value.number - 2.0).abs() < 1e-12);
        // 1 / 1.1 and 1 / 0.9 of it: the ends change places.
        let [low, high] = value.interval.expect("an interval");
        assert!((low - 2.0 / 1.1).abs() < 1e-9 && (high - 2.0 / 0.9).abs() < 1e-9);
        let texts: Vec<&str> = value
            .beside
            .iter()
            .map(|at| match &dossier.cells[*at].printed {
                Printed::Figure(_, text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        // The row `ext4, cache off, TRIM` of the study, drive by drive.
        assert_eq!(texts, ["10.5", "4.3", "0.25", "6.1", "42.5"]);
    }

    #[test]
    fn claims_about_any_drive_are_judged_by_what_was_measured() {
        let dossier = latency2016();
        let mut cells: Vec<([(&str, &str); 3], f64)> = Vec::new();
        for (fs, cached, uncached) in [("ext4", 3.0, 2.0), ("xfs", 2.0, 1.0)] {
            for discard in ["on", "off"] {
                let at = |cache| [("fs", fs), ("write-cache", cache), ("discard", discard)];
                cells.extend([(at("on"), cached), (at("off"), uncached)]);
            }
        }
        let borrowed: Vec<Measured<'_>> = cells.iter().map(|(at, ms)| (&at[..], *ms)).collect();
        let record = record(&borrowed);
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &Known::default());
        for id in ["cache-off-faster", "xfs-faster", "trim-no-matter"] {
            assert_eq!(verdict(&dossier, &yours, id), Verdict::Supported, "{id}");
        }
        assert_eq!(verdict(&dossier, &yours, "cache-off-bandwidth"), Verdict::NotCheckable);
        let of_drives = dossier.claims.iter().filter(|one| one.judge_yours(&yours.book).is_none());
        assert_eq!(of_drives.count(), dossier.claims.len() - 4, "what is said of one drive");
        // The pivot's rule is the study's: the mean of the rows with and without TRIM.
        let pivot: Vec<f64> = yours.of_table("pivot").map(|value| value.number).collect();
        assert_eq!(pivot.len(), 4, "{pivot:?}");
        for (seen, wanted) in pivot.iter().zip([3.0, 2.0, 2.0, 1.0]) {
            assert!((seen - wanted).abs() < 1e-9, "{pivot:?}");
        }
    }

    #[test]
    fn a_setting_that_was_not_varied_stands_everywhere_and_decides_nothing() {
        let dossier = latency2016();
        let record = record(&[(&[("fs", "raw"), ("discard", "-")], 5.0)]);
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &Known::default());
        let value = yours.of_table("raw").next().expect("a value");
        let caches: BTreeSet<_> =
            value.beside.iter().filter_map(|at| dossier.cells[*at].coordinate("wc")).collect();
        assert_eq!(caches, BTreeSet::from(["off", "on"]));
        assert_eq!(verdict(&dossier, &yours, "cache-off-faster"), Verdict::NotCheckable);
    }

    /// What the study's STFC method gave, each rate in MB/s, on ext4.
    fn stfc(cells: &[(&str, u64, f64)]) -> Record {
        let mut record = record(&[(&[], 1.0)]);
        let like = record.cells.remove(0);
        record.targets.truncate(1);
        record.targets[0].kind = TargetKind::Directory;
        record.targets[0].flags = vec![Flag::VirtualDisk];
        record.targets[0].file_system =
            Some(record::FileSystem { kind: "ext4".to_owned(), ..Default::default() });
        let cell = |(test, block, rate): &(&str, u64, f64)| {
            let mut cell = like.clone();
            cell.coordinates = [("test".to_owned(), (*test).into())].into();
            (cell.block_bytes, cell.bytes_per_s) = (*block, rate * 1e6);
            cell.flags = vec![Flag::NotDurable];
            cell
        };
        record.cells = cells.iter().map(cell).collect();
        record
    }

    /// A rate that was measured stood in the makers' row, on ext2 that the user did not have, at 1
    /// MiB alone of all
    /// sizes; and what followed from it had lost its flags.
    #[test]
    fn makers_rows_take_nothing_measured_and_every_size_is_shown_with_its_flags() {
        let dossier = Dossier::open(Study::Stfc2009);
        let record = stfc(&[
            ("write", 16 << 10, 200.0),
            ("random write", 16 << 10, 50.0),
            ("write", 1 << 20, 400.0),
            ("random write", 1 << 20, 300.0),
        ]);
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &Known::default());
        for value in &yours.values {
            let printed = value.beside.iter().map(|at| &dossier.cells[*at]);
            assert!(printed.clone().all(|cell| cell.coordinate("config") != Some(SPECIFIED)));
            assert!(value.origin.flags.contains(&Flag::NotDurable), "{value:?}");
            assert!(value.origin.flags.contains(&Flag::VirtualDisk), "{value:?}");
        }
        let measured: Vec<(usize, f64)> =
            yours.of_table("T4").map(|value| (value.beside.len(), value.number)).collect();
        // Three drives at 1 MiB; 16 KiB are not printed in MB/s.
        assert_eq!(measured, [(0, 200.0), (0, 50.0), (3, 400.0), (3, 300.0)]);
        let of_sequential: Vec<f64> = yours.of_table("T2").map(|value| value.number).collect();
        assert_eq!(of_sequential, [25.0, 75.0]);
        assert!(yours.of_table("T1").next().is_none());
    }

    #[test]
    fn a_data_sheet_and_a_price_fill_the_tables_of_promises_and_prices() {
        let dossier = Dossier::open(Study::Stfc2009);
        let record = stfc(&[("write", 1 << 20, 400.0)]);
        let text = "name = 'a'\nsource = 'b'\n[[entry]]\nmetric = 'bandwidth'\nvalue = 500\nunit = 'MB/s'\n\
                    op = 'write'\npattern = 'seq'\n";
        let sheet = Specification::parse("a.toml", text).expect("a sheet");
        let known = Known { sheet: Some(sheet), ..Known::default() };
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &known);
        let specified: Vec<f64> = yours.of_table("T1").map(|value| value.number).collect();
        assert_eq!(specified, [500.0]);
        let percent = yours.of_table("T4").find(|value| value.at["metric"] == "percent");
        assert!((percent.expect("a percentage").number - 80.0).abs() < 1e-9);

        let dossier = Dossier::open(Study::Cmu2009);
        let record = stfc(&[("read", 4096, 400.0 * 1.048576)]);
        let price = Money { amount: 100.0, currency: "EUR".to_owned(), date: None };
        let known = Known { price: Some(price), capacity_bytes: Some(50e9), sheet: None };
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)], &known);
        let facts: Vec<(&str, f64)> =
            yours.of_table("I").map(|value| (&*value.at["metric"], value.number)).collect();
        assert_eq!(facts, [("capacity", 50.0), ("price", 100.0), ("per_gb", 2.0)]);
        let each: Vec<f64> = yours.of_table("VI").map(|value| value.number).collect();
        assert!(each.len() == 1 && (each[0] - 0.25).abs() < 1e-9, "{each:?}");
    }

    #[test]
    fn no_study_stumbles_over_a_run_that_has_nothing() {
        let empty = record(&[]);
        for study in Study::ALL {
            let dossier = Dossier::open(study);
            let runs: Vec<_> = dossier.file.on.iter().map(|on| (on, &empty)).collect();
            assert!(
                Yours::of(&dossier, &runs, &Known::default()).values.is_empty(),
                "{}",
                study.name()
            );
        }
    }
}
