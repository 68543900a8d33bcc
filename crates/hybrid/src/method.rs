//! The requests of a method's cells on blocks, as a trace: each cell is run on the modelled disks,
//! and what it asks for is written down.
//!
//! ```text
//!   Method -> its cells, in order -> lab::trial's workers -- Request --> Recording over the disks
//!     -> a trace in memory, of fio's form                       read as every trace
//! ```
//!
//! It has places and an order and no times: a method asks as fast as it is answered.

use crate::HybridError;
use block::{Command, Request, Wrapper};
use lab::{
    method::{CellSpec, Method, SpanRule},
    trial,
    workload::Length,
};
use run::{TraceFile, Volume};
use std::{fmt::Write, sync::Arc};
use target::{
    catalog::Catalog,
    stack::{self, Opened, Stack},
};

/// Operations of all cells together, each cell an equal share of them at most.
const OPERATIONS: u64 = 100_000;

/// What a method asks of these disks.
///
/// # Errors
/// It has no size without a machine, or the disks cannot be modelled.
///
/// # Panics
/// When it works on files: those need a file system.
pub fn trace(
    method: &Method,
    disks: &Stack,
    catalog: &Catalog,
    seed: u64,
) -> Result<TraceFile, HybridError> {
    assert!(!crate::tree::is_on_files(method), "a method on files has no places of its own");
    let name = method.file.name.clone();
    let opened = stack::open(disks, catalog, seed)?;
    let capacity = opened.contract().capacity_bytes;
    let span_bytes = match method.span {
        SpanRule::Bytes(bytes) | SpanRule::AtMost(bytes) => bytes.min(capacity),
        SpanRule::Capacity(share) => (capacity as f64 * share) as u64 / GRAIN * GRAIN,
        SpanRule::Memory(_) | SpanRule::LargestFile => {
            return Err(HybridError::NoSpan(name));
        }
    };
    let mut recording =
        Recording { opened, text: "fio version 3 iolog\n0 method add\n".to_owned() };
    recording.text += "0 method open\n";
    let each = OPERATIONS / method.cells.len().max(1) as u64;
    for (number, cell) in method.cells.iter().enumerate() {
        // A pace of its own is of no account: the replay has none.
        let mut cell = CellSpec { rate_of: None, ..cell.clone() };
        cell.streams.iter_mut().for_each(|stream| stream.rate = None);
        let counted = trial::bound(&cell, span_bytes).unwrap_or(each).min(each);
        let seed = seed.wrapping_add(number as u64);
        trial::pass(&mut recording, &cell, span_bytes, seed, Length::of(counted)).map_err(
            |error| HybridError::Trial { stack: disks.to_string(), error: error.into() },
        )?;
    }
    let made: Arc<[u8]> = recording.text.into_bytes().into();
    Ok(TraceFile { file: format!("method {name}").into(), volume: Volume::Only, made: Some(made) })
}

/// Spans are whole multiples of this.
const GRAIN: u64 = 1 << 20;

/// Writes down what is asked for.
struct Recording {
    opened: Opened,
    text: String,
}

impl Wrapper for Recording {
    type Inner = Opened;

    fn inner(&self) -> &Opened {
        &self.opened
    }

    fn inner_mut(&mut self) -> &mut Opened {
        &mut self.opened
    }

    fn on_submit(&mut self, request: &Request) {
        let (action, at) = match &request.command {
            Command::Read { at, .. } => ("read", Some((at.offset, u64::from(at.bytes)))),
            Command::Write { at, .. } => ("write", Some((at.offset, u64::from(at.bytes)))),
            Command::Discard { offset, len, .. } => ("trim", Some((*offset, *len))),
            Command::Flush => ("sync", None),
        };
        let written = match at {
            Some((offset, bytes)) => writeln!(self.text, "0 method {action} {offset} {bytes}"),
            None => writeln!(self.text, "0 method {action} 0 0"),
        };
        written.expect("a string takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seen, check};
    use trace::Op;

    fn asked(text: &str) -> Result<Seen, HybridError> {
        let method = Method::parse("made", text, &[]).expect("a method");
        let catalog = Catalog::built_in().expect("it is checked");
        let disks = "2xhdd-7200-cmr/raid1".parse().expect("a STACK");
        let trace = trace(&method, &disks, &catalog, 1)?;
        Ok(Seen::read(&check::order(&trace, &disks, 1, 1), 65_536)?.0)
    }

    const HEAD: &str = "name = \"made\"\ntitle = \"made\"\nabout = \"made\"\nspan = \"64MiB\"\n";

    #[test]
    fn a_cell_of_reads_at_random_asks_all_over_its_span_and_nothing_beyond() {
        let text = format!(
            "{HEAD}[[cell]]\nname = \"a\"\nop = \"read\"\npattern = \"random\"\nblock = \"4KiB\"\n"
        );
        let seen = asked(&text).expect("requests");
        assert_eq!(seen.like.of(Op::Read).operations, OPERATIONS);
        assert_eq!(seen.like.of(Op::Write).operations, 0);
        let span = 64 << 20;
        assert!(seen.like.room_bytes <= span && seen.footprint_bytes() == span, "{:?}", seen.like);
        assert_eq!(seen.like.seconds(), 0.0);
    }
}
