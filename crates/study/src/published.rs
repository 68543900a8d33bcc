//! The printed figures of a study: one row a figure, as `studies/NAME/published.csv` has them.

use crate::StudyFile;
use block::parse_bytes;

/// A study that is carried whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Study {
    /// Polte, Simsa, Gibson: "Comparing Performance of Solid State Devices and Mechanical Disks",
    /// Carnegie Mellon, 2009.
    Cmu2009,
    /// Dumitru: "Mtron Flash SSD Single Drive and Raid Array Benchmarks", EasyCo, 2007.
    Easyco2007,
    /// "SSD Latency Experiments", 2016.
    Latency2016,
    /// Cable: "Comparison of Solid State Drives", STFC Daresbury, 2009.
    Stfc2009,
    /// Martin's article on the Mtron MOBI, 2008.
    Martin2008,
    /// Public measurements of drives of today.
    Today,
}

impl Study {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Cmu2009,
        Self::Easyco2007,
        Self::Latency2016,
        Self::Stfc2009,
        Self::Martin2008,
        Self::Today,
    ];

    /// The five that are documents, which are gone through line by line.
    pub const DOCUMENTS: [Self; 5] =
        [Self::Cmu2009, Self::Easyco2007, Self::Latency2016, Self::Stfc2009, Self::Martin2008];

    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cmu2009 => "cmu2009",
            Self::Easyco2007 => "easyco2007",
            Self::Latency2016 => "latency2016",
            Self::Stfc2009 => "stfc2009",
            Self::Martin2008 => "martin2008",
            Self::Today => "today",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Cmu2009 => include_str!("../studies/cmu2009/published.csv"),
            Self::Easyco2007 => include_str!("../studies/easyco2007/published.csv"),
            Self::Latency2016 => include_str!("../studies/latency2016/published.csv"),
            Self::Stfc2009 => include_str!("../studies/stfc2009/published.csv"),
            Self::Martin2008 => include_str!("../studies/martin2008/published.csv"),
            Self::Today => include_str!("../studies/today/published.csv"),
        }
    }

    /// What it asks, how, and what it claims.
    pub fn file(self) -> StudyFile {
        let text = match self {
            Self::Cmu2009 => include_str!("../studies/cmu2009/study.toml"),
            Self::Easyco2007 => include_str!("../studies/easyco2007/study.toml"),
            Self::Latency2016 => include_str!("../studies/latency2016/study.toml"),
            Self::Stfc2009 => include_str!("../studies/stfc2009/study.toml"),
            Self::Martin2008 => include_str!("../studies/martin2008/study.toml"),
            Self::Today => include_str!("../studies/today/study.toml"),
        };
        StudyFile::parse(self, text).unwrap_or_else(|error| panic!("a test reads it: {error}"))
    }

    /// The study of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|study| study.name() == name)
    }

    /// Its figures, in the order they are printed.
    pub fn figures(self) -> Vec<Figure> {
        read(self, self.text()).expect("the carried files are read by a test")
    }
}

/// One printed figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Where it is printed.
    pub study: Study,
    /// The table's number or title.
    pub table: String,
    /// The catalog's name of the device, or members joined by `+`.
    pub device: String,
    /// How it was set up, as `key=value` pairs or a word.
    pub config: String,
    /// What was done.
    pub op: String,
    /// Bytes an operation, where the table says so.
    pub block_bytes: Option<u64>,
    /// Threads, where the table says so.
    pub threads: Option<u16>,
    /// Unit of the value: `iops`, `bytes_per_s`, `mb_per_s`, `ms`, `percent`, ...
    pub metric: String,
    /// The value.
    pub value: f64,
    /// The value as printed.
    pub value_text: String,
}

impl Figure {
    /// The value of `key` in a `key=value,key=value` configuration.
    pub fn setting(&self, key: &str) -> Option<&str> {
        let mut pairs = self.config.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == key).then_some(value))
    }
}

/// A row that is no figure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("studies/{study}/published.csv, line {line}: {complaint}")]
pub struct BadFigure {
    study: &'static str,
    line: u64,
    complaint: String,
}

/// Reads the text of a `published.csv`. Further columns are allowed.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn read(study: Study, text: &str) -> Result<Vec<Figure>, BadFigure> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let bad = |line, complaint| BadFigure { study: study.name(), line, complaint };
    let headers = reader.headers().map_err(|error| bad(1, error.to_string()))?.clone();
    let mut figures = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| bad(0, error.to_string()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let cell = |name: &str| {
            let column = headers.iter().position(|header| header == name);
            column
                .and_then(|column| row.get(column))
                .ok_or_else(|| bad(line, format!("no column `{name}`")))
        };
        let number = |name: &str| -> Result<Option<u64>, BadFigure> {
            let text = cell(name)?;
            let parsed = (!text.is_empty()).then(|| parse_bytes(text)).transpose();
            parsed.map_err(|_| bad(line, format!("{name} `{text}` is no whole number")))
        };
        let value = cell("value")?;
        figures.push(Figure {
            study,
            table: cell("table")?.to_owned(),
            device: cell("device")?.to_owned(),
            config: cell("config")?.to_owned(),
            op: cell("op")?.to_owned(),
            block_bytes: number("block_bytes")?,
            threads: number("threads")?.map(|threads| threads as u16),
            metric: cell("metric")?.to_owned(),
            value: value.parse().map_err(|_| bad(line, format!("`{value}` is no number")))?,
            value_text: cell("value_text")?.to_owned(),
        });
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_carried_file_can_be_read() {
        let counts: Vec<usize> = Study::ALL
            .iter()
            .map(|&study| read(study, study.text()).expect("a good file").len())
            .collect();
        assert_eq!(counts, [209, 870, 111, 103, 5, 2557]);
    }

    #[test]
    fn settings_are_found_by_name() {
        let figures = Study::Latency2016.figures();
        assert_eq!(figures[1].setting("fs"), Some("ext4"));
        assert_eq!(figures[1].setting("wc"), Some("on"));
        assert_eq!(figures[1].setting("f"), None);
    }

    #[test]
    fn a_bad_row_is_named_by_its_line() {
        let text =
            "table,device,config,op,block_bytes,threads,metric,value,value_text\nI,x,,r,,,ms,a,a\n";
        let error = read(Study::Cmu2009, text).expect_err("`a` is no number").to_string();
        assert!(error.contains("line 2") && error.contains("`a`"), "{error}");
    }
}
