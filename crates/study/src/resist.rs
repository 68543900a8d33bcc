//! Cells that resist the models, each with a cause and what was tested.

use crate::{Figure, Study};
use block::parse_bytes;

/// A cause for cells that the model misses by more than a tenth. Where a field is `None` it means
/// any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resist {
    study: Study,
    table: String,
    device: Option<String>,
    config: Option<String>,
    op: Option<String>,
    block_bytes: Option<u64>,
    threads: Option<u16>,
    /// What is believed to be the cause.
    pub cause: String,
    /// What was tried, and what came of it.
    pub tested: String,
}

impl Resist {
    /// Whether it speaks of `figure`.
    pub fn is_about(&self, figure: &Figure) -> bool {
        let word = |wanted: &Option<String>, seen: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == seen)
        };
        self.study == figure.study
            && self.table == figure.table
            && word(&self.device, &figure.device)
            && word(&self.config, &figure.config)
            && word(&self.op, &figure.op)
            && self.block_bytes.is_none_or(|bytes| figure.block_bytes == Some(bytes))
            && self.threads.is_none_or(|threads| figure.threads == Some(threads))
    }
}

/// Every cause that is written down.
pub fn resists() -> Vec<Resist> {
    let files = [
        (Study::Easyco2007, include_str!("../studies/easyco2007/resists.csv")),
        (Study::Latency2016, include_str!("../studies/latency2016/resists.csv")),
        (Study::Stfc2009, include_str!("../studies/stfc2009/resists.csv")),
        (Study::Today, include_str!("../studies/today/resists.csv")),
    ];
    files.into_iter().flat_map(|(study, text)| read(study, text)).collect()
}

fn read(study: Study, text: &str) -> Vec<Resist> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().map(|row| row.expect("a test reads the carried files"));
    rows.map(|row| {
        let word = |column: usize| Some(row[column].to_owned()).filter(|text| !text.is_empty());
        let number = |column: usize| {
            word(column).map(|text| parse_bytes(&text).expect("a test reads the carried files"))
        };
        Resist {
            study,
            table: row[0].to_owned(),
            device: word(1),
            config: word(2),
            op: word(3),
            block_bytes: number(4),
            threads: number(5).map(|threads| threads as u16),
            cause: row[6].to_owned(),
            tested: row[7].to_owned(),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    #[test]
    fn every_cause_speaks_of_a_cell_and_says_what_was_tested() {
        let cases = cases();
        for resist in resists() {
            assert!(cases.iter().any(|case| resist.is_about(&case.figure)), "{resist:?}");
            assert!(!resist.cause.is_empty() && !resist.tested.is_empty(), "{resist:?}");
        }
    }
}
