//! What a trace says of a workload, as far as the questions here can be asked of it.
//!
//! ```text
//!   trace::Characterisation -> Traced { mix, lengths, order, room, writes a day, skew }
//!     -> Workload of a Question         -> the drives, as they would take it
//!     -> Fit: fill, rates, skew         -> a managed volume on one drive, as it would
//!     `-> sentences: what was taken of it, and what was not          words.rs
//! ```
//!
//! A length between two powers of two counts as the one below and the one above, in shares that
//! keep its mean: an operation's time grows with its length by a straight line, so that its mean
//! time stays, too, and all lengths are multiples of the smallest.

mod fit;
mod lengths;
#[cfg(test)]
mod tests;
mod words;

pub use fit::Fit;

use crate::{
    error::AdviceError,
    steady::{Lengths, Order, Workload},
};
use lab::workload::Pattern;
use trace::{
    Characterisation, Op,
    characterise::{BLOCK_BYTES, Sizes},
    page::Subject,
};

/// Shares of operations in sequence from which on a drive is taken as written in order, too.
const IN_ORDER: f64 = 0.9;
/// A trace that is shorter than a day says nothing of the other hours.
const DAY_SECONDS: f64 = 86_400.0;
/// Hot and cold blocks that differ less than this from blocks as likely as each other, as a share
/// of the writes, are none.
const SKEW_LEAST: f64 = 0.05;

/// What a trace says of a workload.
#[derive(Clone, PartialEq, Debug)]
pub struct Traced {
    /// `web.csv, volume hm.1 (MSR Cambridge)`
    pub title: String,
    /// Share of its reads and writes that read.
    pub reads: f64,
    /// Bytes of a transfer; where they differ the mean, in whole ones of the smallest.
    pub block_bytes: u32,
    /// Where they differ.
    pub lengths: Option<Lengths>,
    /// Where they go.
    pub order: Order,
    /// Share of them that goes on where an earlier one ended.
    pub sequential: f64,
    /// What a drive must hold that takes its volume's place: up to the last byte that was accessed.
    pub room_bytes: u64,
    /// Of a trace of a day or more.
    pub written_bytes_per_day: Option<f64>,
    /// Two classes of blocks that are written as unevenly as the trace's.
    pub skew: Pattern,
    seen: Characterisation,
}

impl Traced {
    /// Of a trace that was read.
    ///
    /// # Errors
    /// It has no reads and no writes.
    pub fn new(seen: &Characterisation, subject: &Subject) -> Result<Self, AdviceError> {
        let transfers = seen.transfers();
        if transfers == 0 {
            return Err(AdviceError::NoTransfers { trace: subject.name.clone() });
        }
        let lengths = lengths::of(seen);
        let lengths =
            lengths.ok_or_else(|| AdviceError::NoTransfers { trace: subject.name.clone() })?;
        let smallest = f64::from(lengths.all.smallest());
        let block_bytes = (lengths.all.mean() / smallest).round() * smallest;
        let continuing: u64 = seen.sequential.iter().map(|of| of.continuing).sum();
        let sequential = continuing as f64 / transfers as f64;
        let a_day = seen.of(Op::Write).bytes as f64 / seen.seconds() * DAY_SECONDS;
        Ok(Self {
            title: subject.title(),
            reads: seen.of(Op::Read).operations as f64 / transfers as f64,
            block_bytes: block_bytes as u32,
            lengths: (lengths.all.sizes().len() > 1).then_some(lengths),
            order: if sequential < IN_ORDER { Order::Random } else { Order::Sequential },
            sequential,
            room_bytes: seen.room_bytes.next_multiple_of(BLOCK_BYTES),
            written_bytes_per_day: (seen.seconds() >= DAY_SECONDS).then_some(a_day),
            skew: skew(seen),
            seen: seen.clone(),
        })
    }

    /// The workload, with so many operations in flight: a trace says when it asks, and not how many
    /// it would wait for.
    pub fn workload(&self, depth: u16) -> Workload {
        Workload {
            reads: self.reads,
            block_bytes: self.block_bytes,
            lengths: self.lengths.clone(),
            depth,
            order: self.order,
            sequential: self.sequential,
        }
    }

    /// Lengths of its reads or its writes.
    fn sizes(&self, op: Op) -> &Sizes {
        &self.seen.sizes[usize::from(op == Op::Write)]
    }
}

/// The two classes of blocks of its room that come nearest to how unevenly they are written: of the
/// hottest 1, 10, 20 and 100 % of the written blocks those that take most of the writes beyond
/// their share of the room.
fn skew(seen: &Characterisation) -> Pattern {
    let Some([one, ten, twenty]) = seen.blocks.hot_writes else { return Pattern::Random };
    let room = seen.room_bytes.div_ceil(BLOCK_BYTES).max(1) as f64;
    let written = (seen.blocks.written / room).min(1.0);
    let classes = [(0.01, one), (0.1, ten), (0.2, twenty), (1.0, 1.0)];
    let beyond = |(part, taken): (f64, f64)| taken - part * written;
    let found = classes.into_iter().max_by(|a, b| beyond(*a).total_cmp(&beyond(*b)));
    let (part, taken) = found.expect("there are four");
    if beyond((part, taken)) < SKEW_LEAST {
        return Pattern::Random;
    }
    // As a method says it: tenths of a percent, and neither class without any.
    let percent = |share: f64| ((share * 1000.0).round() / 10.0).clamp(0.1, 99.9);
    Pattern::HotCold { hot_percent: percent(part * written), access_percent: percent(taken) }
}
