//! The value of one setting of a cell or stream: read as a word, a size or a number, and the most
//! that it may be.

use super::Axis;
use block::parse_bytes;

/// Largest block of one operation: 128 MiB, which `dd bs=128M` sends as one write.
pub const BLOCK_BYTES_MAX: u64 = 128 << 20;
/// Most workers of one stream.
pub(super) const THREADS_MAX: u64 = 1024;
/// Deepest queue of one worker.
pub(super) const DEPTH_MAX: u64 = 4096;

pub(super) fn required<'a>(key: &str, axis: &'a Option<Axis>) -> Result<&'a str, String> {
    only(key, axis.as_ref().ok_or_else(|| format!("a cell without `{key}`"))?)
}

pub(super) fn only<'a>(key: &str, axis: &'a Axis) -> Result<&'a str, String> {
    match axis.0.as_slice() {
        [one] => Ok(one),
        _ => Err(format!("a stream takes one `{key}`; a cell may take several")),
    }
}

pub(super) fn size(key: &str, text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| format!("{key}: {error}"))
}

pub(super) fn count(key: &str, axis: &Option<Axis>, max: u64) -> Result<u64, String> {
    let Some(axis) = axis else { return Ok(1) };
    let text = only(key, axis)?;
    match text.parse::<u64>() {
        Ok(value) if (1..=max).contains(&value) => Ok(value),
        _ if text.contains(',') => Err(format!(
            "{key} = {text}: a whole number from 1 to {max}, or several with `;` between them: \
             {key}={}",
            text.replace(',', ";")
        )),
        _ => Err(format!("{key} = {text}: a whole number from 1 to {max}")),
    }
}
