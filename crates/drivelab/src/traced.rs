//! The workload of a trace, for the verbs that answer for one: `advise` and `flash predict`.

use crate::trace;
use advice::Traced;
use anyhow::Result;
use std::path::Path;

/// Reads the trace that was named.
pub fn read(file: Option<&Path>, volume: Option<&str>) -> Result<Option<Traced>> {
    let Some(file) = file else { return Ok(None) };
    let file = trace::file(file, volume);
    let (seen, subject) = trace::characterise(&file).map_err(trace::in_words)?;
    Ok(Some(Traced::new(&seen, &subject)?))
}
