//! A drive that is written whole in order, freshly erased: where it gets slower, and how slow.

use crate::{
    Figure, TrialError,
    load::{Buffer, opened_small},
};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Tag,
};
use target::catalog::Catalog;

/// Size of a write, bytes: the reviews' programs write a megabyte at a time.
const WRITE_BYTES: u32 = 1 << 20;
/// Parts of the drive of which each has a rate.
const PARTS: usize = 256;
/// Below this share of the rate before it, a part is a step down.
const STEP: f64 = 0.75;
/// Parts that must agree on a step.
const AGREE: usize = 3;

/// A drive that was written whole.
#[derive(Clone, PartialEq, Debug)]
pub struct Filled {
    /// Of each part, bytes per second.
    rates: Vec<f64>,
    /// A part of the drive as it is sold, bytes.
    part_bytes: f64,
}

/// Writes a drive of the stack whole, so many writes at a time; with the completions' hash.
pub(crate) fn fill(
    stack: &str,
    depth: u16,
    catalog: &Catalog,
) -> Result<(Filled, u64), TrialError> {
    let (mut opened, times_smaller) = opened_small(stack, catalog, Buffer::Share)?;
    let writes = opened.contract().capacity_bytes / u64::from(WRITE_BYTES);
    let rates = rates(opened.as_engine(), writes, depth)?;
    let capacity_bytes = opened.contract().capacity_bytes as f64 * times_smaller as f64;
    let part_bytes = capacity_bytes / PARTS as f64;
    Ok((Filled { rates, part_bytes }, opened.engine.hash()))
}

fn rates(engine: &mut dyn Engine, writes: u64, depth: u16) -> Result<Vec<f64>, TrialError> {
    let mut ends = vec![Instant(0); PARTS + 1];
    let mut done: Vec<Completion> = Vec::new();
    let (mut next, mut outstanding) = (0, 0);
    ends[0] = engine.now();
    while next < writes || outstanding > 0 {
        while next < writes && outstanding < depth {
            let at = Extent { offset: next * u64::from(WRITE_BYTES), bytes: WRITE_BYTES };
            let (from, durability) = (Payload::None, Durability::Cached);
            let command = Command::Write { at, from, durability };
            engine.submit(Request { tag: Tag(next), actor: Actor(0), drive: Drive(0), command });
            next += 1;
            outstanding += 1;
        }
        engine.wait(Instant::NEVER, &mut done);
        for Completion { tag, finished, result, .. } in done.drain(..) {
            result?;
            outstanding -= 1;
            let part = ((tag.0 + 1) * PARTS as u64 / writes) as usize;
            ends[part] = ends[part].max(finished);
        }
    }
    let part_bytes = writes as f64 * f64::from(WRITE_BYTES) / PARTS as f64;
    let rate = |ends: &[Instant]| part_bytes * 1e9 / ends[1].since(ends[0]) as f64;
    Ok(ends.windows(2).map(rate).collect())
}

impl Filled {
    /// What a figure says, in its unit.
    ///
    /// # Errors
    /// On a metric that it does not have, or a step that the drive does not take.
    pub fn value(&self, figure: &Figure) -> Result<f64, TrialError> {
        let end = self.rates.len();
        let first = self.step(0);
        let second = first.and_then(|first| self.step(first));
        let missing = || TrialError::NoStep;
        let gb = |part: usize| part as f64 * self.part_bytes / 1e9;
        let rate = |from: usize, to: usize| self.mean(from, to) / 1e6;
        match figure.metric.as_str() {
            "cache_mb_per_s" => Ok(rate(0, first.unwrap_or(end))),
            "cache_gb" => first.map(gb).ok_or_else(missing),
            "after_mb_per_s" => {
                first.map(|from| rate(from + 1, second.unwrap_or(end))).ok_or_else(missing)
            }
            "second_gb" => second.map(gb).ok_or_else(missing),
            "last_mb_per_s" => second.map(|from| rate(from + 1, end)).ok_or_else(missing),
            "whole_mb_per_s" => Ok(rate(0, end)),
            metric => Err(TrialError::Unit(metric.to_owned())),
        }
    }

    /// Mean rate of parts `from..to`: their bytes over their time.
    fn mean(&self, from: usize, to: usize) -> f64 {
        let parts = &self.rates[from.min(to.saturating_sub(1))..to];
        parts.len() as f64 / parts.iter().map(|rate| 1.0 / rate).sum::<f64>()
    }

    /// The first part after `from` from which on the rate is a step lower.
    fn step(&self, from: usize) -> Option<usize> {
        // The part in which a step lies is of both sides.
        let first = if from == 0 { 0 } else { from + 1 };
        let lower = |at: &usize| {
            let before = STEP * self.mean(first, *at);
            self.rates[*at] < before && self.mean(*at, at + AGREE) < before
        };
        (first + 1..self.rates.len().saturating_sub(AGREE)).find(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_where_the_rate_falls_and_nowhere_else() {
        let mut rates = vec![4e9; 60];
        rates.extend([2.5e9]);
        rates.extend([2e9; 50]);
        rates.extend([0.5e9; 145]);
        let filled = Filled { rates, part_bytes: 4e9 };
        assert_eq!(filled.step(0), Some(60));
        assert_eq!(filled.step(60), Some(111));
        assert_eq!(filled.step(111), None);
        let level = Filled { rates: vec![5e8; 256], part_bytes: 4e9 };
        assert_eq!(level.step(0), None);
    }
}
