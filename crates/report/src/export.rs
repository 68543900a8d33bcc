//! Runs as other programs take them, described in `docs/reference/report-formats.md`.
//!
//! ```text
//!   records -> Kind::bytes   csv | parquet | openmetrics | markdown | fio | json: one file
//!   record  -> fio::files    a file a cell, which is how fio-plot takes them
//! ```

pub mod fio;
mod markdown;
mod metrics;

use crate::{
    Format,
    long_form::{self, Column},
};
use record::Record;

pub(crate) use markdown::MARK as MARKDOWN_MARK;
pub(crate) use metrics::MARK as METRICS_MARK;

/// By which a record is known, on a line of its own.
pub(crate) const JSON_MARK: &str = "{\"format\":\"drivelab-record\"";

/// By which a Parquet file is known: the value of `drivelab` in its footer.
pub const PARQUET_MARK: &str = "drivelab-long-form";

/// By which a job file that was made of a method is known.
pub const JOB_MARK: &str = "; made by drivelab of method ";

/// Makes a file of named columns.
pub type WriteColumns = fn(&[(&'static str, Column)]) -> Vec<u8>;

/// How runs are written for other programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A table in long form, one row a value.
    Csv,
    /// The same table in Apache Parquet.
    Parquet,
    /// The exposition format of Prometheus and its kin.
    OpenMetrics,
    /// A table for an issue or a wiki.
    Markdown,
    /// What `fio --output-format=json` writes.
    Fio,
    /// The records themselves, one a line.
    Json,
}

impl Kind {
    /// Every kind, in the order of the help.
    pub const ALL: [Self; 6] =
        [Self::Csv, Self::Parquet, Self::OpenMetrics, Self::Markdown, Self::Fio, Self::Json];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::OpenMetrics => "openmetrics",
            Self::Markdown => "markdown",
            Self::Fio => "fio",
            Self::Json => "json",
        }
    }

    /// What it is for, one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Csv => "one row a value, for pandas, DuckDB, Polars, spreadsheets",
            Self::Parquet => "the same table with typed columns",
            Self::OpenMetrics => "gauges and summaries, for node_exporter's textfile directory",
            Self::Markdown => "one table a run, for an issue or a wiki",
            Self::Fio => {
                "fio's JSON, for fio-plot and what else reads it; a directory: a file a cell"
            }
            Self::Json => "the records, one a line (docs/reference/record-format.md)",
        }
    }

    /// Reads a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == text)
    }

    /// As which file it is known again.
    pub fn format(self) -> Format {
        match self {
            Self::Csv => Format::Csv,
            Self::Parquet => Format::Parquet,
            Self::OpenMetrics => Format::OpenMetrics,
            Self::Markdown => Format::Markdown,
            Self::Fio => Format::Fio,
            Self::Json => Format::Json,
        }
    }

    /// All runs as one file. `parquet` is the room `columns`, where the
    /// program was built with it.
    ///
    /// # Errors
    /// Several runs where the format holds one; Parquet, and nothing that writes it.
    pub fn bytes(
        self,
        records: &[&Record],
        parquet: Option<WriteColumns>,
    ) -> Result<Exported, ExportError> {
        let whole = |text: String| Exported { bytes: text.into_bytes(), left_out: Vec::new() };
        Ok(match self {
            Self::Csv => whole(long_form::csv(records)),
            Self::Parquet => {
                let write = parquet.ok_or(ExportError::NotBuilt(self))?;
                Exported { bytes: write(&long_form::columns(records)), left_out: Vec::new() }
            }
            Self::OpenMetrics => whole(metrics::text(records)),
            Self::Markdown => whole(markdown::text(records)),
            Self::Json => whole(json_lines(records)),
            Self::Fio => match records {
                [record] => fio::text(record),
                _ => return Err(ExportError::SeveralRuns(records.len())),
            },
        })
    }
}

/// A file, and what it does not hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// What the file holds.
    pub bytes: Vec<u8>,
    /// Names of cells that the format cannot hold, with the reason.
    pub left_out: Vec<String>,
}

/// What cannot be exported.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExportError {
    /// Several runs in a format that holds one.
    #[error("a fio result is of one run, and {0} were named")]
    SeveralRuns(usize),
    /// A format whose feature was left out.
    #[error("this drivelab was built without the feature `{}`", .0.name())]
    NotBuilt(Kind),
}

fn json_lines(records: &[&Record]) -> String {
    let line =
        |record: &&Record| serde_json::to_string(record).expect("a record is plain data") + "\n";
    records.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn example() -> Record {
        let text = include_str!("../../record/tests/example.json");
        Record::from_json(text, "example.json").expect("a record")
    }

    #[test]
    fn each_kind_is_known_by_its_name_and_its_own_file() {
        let record = example();
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
            if kind == Kind::Parquet {
                assert_eq!(kind.bytes(&[&record], None), Err(ExportError::NotBuilt(kind)));
                continue;
            }
            let bytes = kind.bytes(&[&record], None).expect("one run").bytes;
            let is_ours = |format: Format| {
                format.is_ours(std::io::Cursor::new(&bytes)).expect("bytes can be read")
            };
            assert!(is_ours(kind.format()), "{}", kind.name());
            let others = Kind::ALL.into_iter().filter(|other| *other != kind);
            for other in others {
                assert!(!is_ours(other.format()), "{} as {}", kind.name(), other.name());
            }
        }
        assert_eq!(Kind::parse("xml"), None);
    }

    #[test]
    fn json_lines_read_back_as_the_records() {
        let record = example();
        let bytes = Kind::Json.bytes(&[&record, &record], None).expect("any number").bytes;
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            assert_eq!(Record::from_json(line, "line").expect("a record"), record);
        }
    }

    #[test]
    fn a_fio_result_is_of_one_run() {
        let record = example();
        assert_eq!(Kind::Fio.bytes(&[&record, &record], None), Err(ExportError::SeveralRuns(2)));
    }
}
