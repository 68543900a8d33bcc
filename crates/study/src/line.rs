//! `lines.toml`: what a study's document says, from its first line to its last, and what of ours
//! stands for each line. `docs/reference/study-format.md` describes it;
//! docs/results/five-documents.md is made of it.

use crate::Study;
use serde::Deserialize;

/// A line of a document: one of program, setting, machine, table, chart and claims.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Where it stands there; `added` for what is ours alone.
    pub at: String,
    /// A program, in our words.
    pub program: Option<String>,
    /// A setting, in our words.
    pub setting: Option<String>,
    /// A machine, in our words.
    pub machine: Option<String>,
    /// Ids of tables, apart by spaces.
    pub table: Option<String>,
    /// A chart, as it is called there.
    pub chart: Option<String>,
    /// Ids of claims, apart by spaces.
    pub claims: Option<String>,
    /// The words of `drivelab` that do it.
    pub run: Option<String>,
    /// What `drivelab study NAME` prints of it, where nothing does it.
    pub told: Option<String>,
    /// Of a chart: what it shows.
    pub shows: Option<String>,
    /// Of a chart: ids of ours that draw it, or come near it.
    pub draws: Option<String>,
    /// What is missing.
    pub lacks: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    line: Vec<Line>,
}

impl Study {
    /// What its document says, in its order, then what is ours alone.
    pub fn lines(self) -> Vec<Line> {
        let text = match self {
            Self::Cmu2009 => include_str!("../studies/cmu2009/lines.toml"),
            Self::Easyco2007 => include_str!("../studies/easyco2007/lines.toml"),
            Self::Latency2016 => include_str!("../studies/latency2016/lines.toml"),
            Self::Stfc2009 => include_str!("../studies/stfc2009/lines.toml"),
            Self::Martin2008 => include_str!("../studies/martin2008/lines.toml"),
            Self::Today => include_str!("../studies/today/lines.toml"),
        };
        let file: Result<LineFile, _> = toml::from_str(text);
        file.unwrap_or_else(|error| panic!("a test reads it: studies/{}: {error}", self.name()))
            .line
    }
}
