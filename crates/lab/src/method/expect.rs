//! What a method expects of latencies.

use super::{CellSpec, ExpectFile};
use crate::{knee::Condition, workload::Stream};

/// A limit on the latency of some cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Expect {
    /// Of which cells or streams: those whose names begin so.
    cell: String,
    /// What they must hold.
    pub condition: Condition,
    /// What follows where they do not.
    pub meaning: String,
    /// Who says so.
    pub source: String,
}

impl Expect {
    /// Whether it is about a stream of this name in the record.
    pub fn is_of(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.cell);
        rest.is_some_and(|rest| self.cell.is_empty() || rest.is_empty() || rest.starts_with(PARTS))
    }
}

/// What parts the words of a name.
const PARTS: [char; 2] = ['-', '/'];

/// Reads a method's expectations.
///
/// # Errors
/// A limit that is none, and a name that no cell has.
pub(super) fn read(written: &[ExpectFile], cells: &[CellSpec]) -> Result<Vec<Expect>, String> {
    let read = |expect: &ExpectFile| {
        let condition = expect.limit.parse().map_err(|error| format!("expect.limit = {error}"))?;
        let read = Expect {
            cell: expect.cell.clone().unwrap_or_default(),
            condition,
            meaning: expect.meaning.trim().to_owned(),
            source: expect.source.trim().to_owned(),
        };
        let of_stream = |cell: &CellSpec, stream: &Stream| match cell.streams.len() {
            1 => read.is_of(&cell.name),
            _ => read.is_of(&format!("{}/{}", cell.name, stream.name)),
        };
        let mut streams = cells.iter().flat_map(|cell| cell.streams.iter().map(move |s| (cell, s)));
        match streams.any(|(cell, stream)| of_stream(cell, stream)) {
            true => Ok(read),
            false => Err(format!(
                "expect.cell = `{}` is none of its cells: name one as it stands in the record, or \
                 leave `cell` out for all",
                read.cell
            )),
        }
    };
    written.iter().map(read).collect()
}
