//! A trial: one pass over a cell that ends after a number of operations, on one engine in virtual
//! time. The workers, their areas and seeds are those of [`crate::runner`]; there is no stop rule,
//! no record, and no look for traps.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    method::{CellBound, CellSpec, FinalFlush},
    plan::area,
    workload::{Counted, Length, Pace, Stream, once},
};
use block::{Command, Engine, IoError};

/// What all workers of a cell do together in a pass that a number of operations ends; `None` where
/// time does.
pub fn bound(cell: &CellSpec, span_bytes: u64) -> Option<u64> {
    let operations = |stream: &Stream| match cell.bound {
        CellBound::Once => Some(stream.operations_once(area(cell, stream, span_bytes))),
        CellBound::Operations(each) => Some(each * u64::from(stream.threads)),
        CellBound::Time | CellBound::Exhaust | CellBound::Drain => None,
    };
    cell.streams.iter().map(operations).sum()
}

/// The workers of `cell` over the first `span_bytes`, or over its file.
///
/// # Panics
/// On a cell that works on a file tree, or whose rate is given.
pub fn workers(engine: &mut dyn Engine, cell: &CellSpec, span_bytes: u64, seed: u64) -> Counted {
    assert!(cell.tree.is_none(), "a trial works on blocks");
    let streams = cell.streams.iter();
    let streams: Vec<_> =
        streams.map(|stream| (stream.clone(), area(cell, stream, span_bytes))).collect();
    Counted::of_streams(engine, &streams, seed)
}

/// One pass of such a length, with the cell's final flush where that is part of its time.
///
/// # Errors
/// The first operation that failed.
pub fn pass(
    engine: &mut dyn Engine,
    cell: &CellSpec,
    span_bytes: u64,
    seed: u64,
    length: Length,
) -> Result<Pace, IoError> {
    let mut workers = workers(engine, cell, span_bytes, seed);
    let pace = workers.run(engine, length).map_err(|failure| failure.error)?;
    if cell.flush == FinalFlush::None || !cell.writes() {
        return Ok(pace);
    }
    let flush_s = once(engine, Command::Flush)? as f64 / 1e9;
    let counts = cell.flush == FinalFlush::Timed;
    Ok(Pace { seconds: pace.seconds + if counts { flush_s } else { 0.0 }, ..pace })
}
