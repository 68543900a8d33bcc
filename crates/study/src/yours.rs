//! What a study's methods gave on a user's target, in the study's words: beside the printed cells, and as a book that derived
//! tables and claims read.
//!
//! ```text
//!   On, Record -> Reading: rates at coordinates (op, fs, wc, trim...)
//!     -> beside every printed cell that they compare with -> Value
//!     -> Book, without devices -> derived tables, Claim::judge_yours
//! ```
//!
//! A setting that was not varied is no coordinate of a reading: its value then stands at every printed cell that differs in that setting
//! alone, and a claim about the setting finds nothing.

use crate::{
    Book, Cell, Dossier, On, Printed, Study, TableFile,
    dossier::{Gaps, derive},
    expression::Coordinates,
};
use record::Record;
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

/// One cell of a run: how fast what was done under which settings.
struct Reading {
    at: Coordinates,
    rate: Rate,
    tables: Vec<String>,
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
}

/// All that a user measured of a study.
pub struct Yours {
    /// In the order of tables, then of runs.
    pub values: Vec<Value>,
    /// The same, for expressions.
    pub book: Book,
}

impl Yours {
    /// From the records, each with the method of the study that it ran.
    pub fn of(dossier: &Dossier, runs: &[(&On, &Record)]) -> Self {
        let readings: Vec<Reading> =
            runs.iter().flat_map(|(on, record)| readings(on, record)).collect();
        let mut values = Vec::new();
        for table in &dossier.file.tables {
            for reading in readings.iter().filter(|one| one.tables.contains(&table.id)) {
                values.extend(reading.values(dossier, table));
            }
        }
        let mut book = Book::empty(&dossier.file);
        for value in &values {
            book.put(value.at.clone(), Ok(value.number));
        }
        let templates = templates(dossier);
        let measured: BTreeSet<&Coordinates> = values.iter().map(|value| &value.at).collect();
        for template in templates.iter().filter(|one| !measured.contains(&one.at)) {
            book.put(template.at.clone(), Err(NOT_MEASURED.to_owned()));
        }
        let derived =
            derive(&dossier.file, &templates, &book, Gaps::Expected).expect("gaps are expected");
        for (template, number) in templates.iter().zip(derived) {
            let Some(Ok(number)) = number else { continue };
            let beside = places(dossier, &template.at);
            book.put(template.at.clone(), Ok(number));
            values.push(Value { at: template.at.clone(), beside, number, interval: None });
        }
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
        let mut at = Coordinates::from([
            ("op".to_owned(), op.clone()),
            ("block".to_owned(), cell.block_bytes.to_string()),
            ("threads".to_owned(), cell.threads.to_string()),
        ]);
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
        Some(Reading { at, rate, tables: on.tables.clone() })
    };
    record.cells.iter().filter_map(one).collect()
}

impl Reading {
    /// What it is worth in a table: beside printed cells a value for each metric there, in a table of the user's own for each of
    /// its grid.
    fn values(&self, dossier: &Dossier, table: &TableFile) -> Vec<Value> {
        let mut metrics: Vec<&str> = match table.published {
            Some(_) => {
                let cells = dossier.of_table(&table.id).map(|at| &dossier.cells[at]);
                let like = cells.filter(|cell| self.compares(cell));
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
                self.compares(cell) && cell.coordinate("metric") == Some(metric)
            };
            let beside = numbered.filter(is_like).collect();
            let (number, interval) = (unit.value(&self.rate), unit.interval(&self.rate));
            Some(Value { at, beside, number, interval })
        };
        metrics.into_iter().filter_map(value).collect()
    }

    /// Whether it did what a printed cell stands for: nothing that both tell of is different.
    fn compares(&self, printed: &Cell) -> bool {
        let differs = |(key, value): (&String, &String)| {
            printed.coordinate(key).is_some_and(|other| other != value)
        };
        printed.coordinate("op") == self.at.get("op").map(String::as_str)
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
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)]);
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
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)]);
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
        let yours = Yours::of(&dossier, &[(&dossier.file.on[0], &record)]);
        let value = yours.of_table("raw").next().expect("a value");
        let caches: BTreeSet<_> =
            value.beside.iter().filter_map(|at| dossier.cells[*at].coordinate("wc")).collect();
        assert_eq!(caches, BTreeSet::from(["off", "on"]));
        assert_eq!(verdict(&dossier, &yours, "cache-off-faster"), Verdict::NotCheckable);
    }

    #[test]
    fn no_study_stumbles_over_a_run_that_has_nothing() {
        let empty = record(&[]);
        for study in Study::ALL {
            let dossier = Dossier::open(study);
            let runs: Vec<_> = dossier.file.on.iter().map(|on| (on, &empty)).collect();
            assert!(Yours::of(&dossier, &runs).values.is_empty(), "{}", study.name());
        }
    }
}
