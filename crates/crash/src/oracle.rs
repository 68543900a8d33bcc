//! What may be there after a power cut: of every sector the last value that is durable, or any that
//! was issued since; and all sectors together as they were at one moment of the history.
//!
//! Changes that a flush covered are folded into the base, so that an answer costs what is at risk
//! and not what has been.

use block::IoError;
use std::{collections::VecDeque, ops::Range};

/// The answer to a write that found no room: it changed nothing.
pub const ENOSPC: IoError = IoError::Os(28);

/// In which order changes take effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// In that of their submission.
    Submission,
    /// Those outstanding together in any: some wait for what they split to be read.
    Any,
}

/// One change of one block, in the order in which the volume took it in.
#[derive(Clone, Debug)]
struct Change {
    sectors: Range<u64>,
    value: u64,
    submitted: u64,
    /// At this tick; none while it is not.
    acknowledged: Option<u64>,
    durable: bool,
    /// Refused before it did anything.
    refused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sector {
    /// What is durable, and the number after that of the change that made it so.
    base: u64,
    after: usize,
    /// What a read sees; none if that is not known.
    latest: Option<u64>,
}

/// The changes that a flush will cover.
#[derive(Clone, Debug)]
pub struct Covered(Vec<usize>);

#[derive(Clone, Debug)]
pub struct Oracle {
    sectors: Vec<Sector>,
    /// From number `first` on; all before are folded into the base.
    changes: VecDeque<Change>,
    first: usize,
    order: Order,
    tick: u64,
    /// Whatever was issued since somebody asked for it to be written down, durable or not.
    pub issued: Option<Vec<(Range<u64>, u64)>>,
}

impl Oracle {
    pub fn new(sectors: u64, order: Order) -> Self {
        let sector = Sector { base: 0, after: 0, latest: Some(0) };
        let sectors = vec![sector; sectors as usize];
        Self { sectors, changes: VecDeque::new(), first: 0, order, tick: 0, issued: None }
    }

    /// A request is submitted; its changes, to be named when it is answered.
    pub fn issue(&mut self, sectors: Range<u64>, value: u64) -> Range<usize> {
        self.tick += 1;
        if let Some(issued) = &mut self.issued {
            issued.push((sectors.clone(), value));
        }
        let before = self.end();
        let mut at = sectors.start;
        while at < sectors.end {
            let end = (at / 8 * 8 + 8).min(sectors.end);
            self.changes.push_back(Change {
                sectors: at..end,
                value,
                submitted: self.tick,
                acknowledged: None,
                durable: false,
                refused: false,
            });
            at = end;
        }
        for sector in sectors {
            self.sectors[sector as usize].latest = Some(value);
        }
        before..self.end()
    }

    fn end(&self) -> usize {
        self.first + self.changes.len()
    }

    fn change(&mut self, number: usize) -> Option<&mut Change> {
        self.changes.get_mut(number.checked_sub(self.first)?)
    }

    pub fn acknowledge(&mut self, changes: Range<usize>) {
        self.tick += 1;
        let tick = self.tick;
        for number in changes {
            if let Some(change) = self.change(number) {
                change.acknowledged = Some(tick);
            }
        }
    }

    /// What a flush that is submitted now will cover.
    pub fn begin_flush(&self) -> Covered {
        let acknowledged = |(_, change): &(usize, &Change)| change.acknowledged.is_some();
        let numbered = (self.first..).zip(&self.changes);
        Covered(numbered.filter(acknowledged).map(|(number, _)| number).collect())
    }

    /// The flush succeeded.
    pub fn end_flush(&mut self, covered: &Covered) {
        self.make_durable(covered.0.iter().copied());
    }

    /// A write with FUA was acknowledged.
    pub fn end_fua(&mut self, changes: Range<usize>) {
        self.acknowledge(changes.clone());
        self.make_durable(changes);
    }

    fn make_durable(&mut self, numbers: impl Iterator<Item = usize>) {
        for number in numbers {
            if let Some(change) = self.change(number) {
                change.durable = true;
            }
        }
        self.fold();
    }

    /// The request was answered with an error.
    pub fn fail(&mut self, changes: Range<usize>, error: IoError) {
        for number in changes {
            let Some(change) = self.change(number) else { continue };
            change.refused = error == ENOSPC;
            let sectors = change.sectors.clone();
            for sector in sectors {
                self.sectors[sector as usize].latest = None;
            }
        }
        if error == ENOSPC {
            self.look_back();
        }
    }

    /// What reads see where a change was refused: the one before it.
    fn look_back(&mut self) {
        let unknown = |sector: &Sector| sector.latest.is_none();
        let numbers: Vec<u64> =
            (0..).zip(&self.sectors).filter(|(_, s)| unknown(s)).map(|(n, _)| n).collect();
        for sector in numbers {
            let value = self.since(sector).next_back().map(|(_, change)| change.value);
            let entry = &mut self.sectors[sector as usize];
            entry.latest = Some(value.unwrap_or(entry.base));
        }
    }

    /// Changes of a sector that are not in its base, oldest first.
    fn since(&self, sector: u64) -> impl DoubleEndedIterator<Item = (usize, &Change)> {
        let after = self.sectors[sector as usize].after;
        let numbers = self.first..self.end();
        numbers.zip(&self.changes).filter(move |(number, change)| {
            *number >= after && !change.refused && change.sectors.contains(&sector)
        })
    }

    /// Durable changes become the base: in order of submission all before the last of them too.
    fn fold(&mut self) {
        let durable = |change: &Change| change.durable;
        let end = match self.order {
            Order::Submission => self.changes.iter().rposition(durable).map_or(0, |at| at + 1),
            Order::Any => self.changes.len(),
        };
        for at in 0..end {
            let change = &self.changes[at];
            if change.refused || self.order == Order::Any && !change.durable {
                continue;
            }
            for sector in change.sectors.clone() {
                let entry = &mut self.sectors[sector as usize];
                if entry.after <= self.first + at {
                    (entry.base, entry.after) = (change.value, self.first + at + 1);
                }
            }
        }
        let folded = match self.order {
            Order::Submission => end,
            Order::Any => {
                let kept = self.changes.iter().position(|change| !change.durable);
                kept.unwrap_or(self.changes.len())
            }
        };
        self.changes.drain(..folded);
        self.first += folded;
    }

    /// What a read of the sector must see while nothing of it is in flight; none if it may see
    /// several.
    pub fn visible(&self, sector: u64) -> Option<u64> {
        self.sectors[sector as usize].latest
    }

    /// Whether a sector by itself may hold that value: what is durable, or any value since.
    pub fn may_hold(&self, sector: u64, value: u64) -> bool {
        value == self.sectors[sector as usize].base
            || self.since(sector).any(|(_, change)| change.value == value)
    }

    /// Whether a drive that lost its power may hold these.
    pub fn admits(&self, values: &[u64]) -> Result<(), String> {
        assert_eq!(values.len(), self.sectors.len());
        match self.order {
            Order::Submission if self.is_a_moment(values) => Ok(()),
            Order::Submission => {
                self.each_by_itself(values)?;
                Err("no moment of the history had all of this".to_owned())
            }
            Order::Any => {
                self.each_by_itself(values)?;
                self.keeps_what_came_before(values)
            }
        }
    }

    fn each_by_itself(&self, values: &[u64]) -> Result<(), String> {
        for ((entry, &value), sector) in self.sectors.iter().zip(values).zip(0..) {
            let base = entry.base;
            if value != base && !self.since(sector).any(|(_, change)| change.value == value) {
                return Err(format!("sector {sector} holds {value}, durable is {base}"));
            }
        }
        Ok(())
    }

    fn is_a_moment(&self, values: &[u64]) -> bool {
        let mut state: Vec<u64> = self.sectors.iter().map(|sector| sector.base).collect();
        let mut wrong = state.iter().zip(values).filter(|(a, b)| a != b).count();
        for change in self.changes.iter().filter(|change| !change.refused) {
            if wrong == 0 {
                return true;
            }
            for sector in change.sectors.clone() {
                let (now, wanted) = (&mut state[sector as usize], values[sector as usize]);
                wrong -= usize::from(*now != wanted);
                *now = change.value;
                wrong += usize::from(*now != wanted);
            }
        }
        wrong == 0
    }

    /// Whatever was acknowledged before the submission of something that is there, is there too.
    /// Zeroes say nothing of when they were written.
    fn keeps_what_came_before(&self, values: &[u64]) -> Result<(), String> {
        let mut there = 0;
        for (sector, &value) in (0..).zip(values) {
            if value != 0 && value != self.sectors[sector as usize].base {
                let found = self.since(sector).find(|(_, change)| change.value == value);
                there = there.max(found.map_or(0, |(_, change)| change.submitted));
            }
        }
        for (number, change) in (self.first..).zip(&self.changes) {
            if change.refused || change.acknowledged.is_none_or(|tick| tick >= there) {
                continue;
            }
            for sector in change.sectors.clone() {
                let (entry, value) = (&self.sectors[sector as usize], values[sector as usize]);
                let mut later = self.since(sector).filter(|(other, _)| *other >= number);
                let kept = entry.after > number || later.any(|(_, change)| change.value == value);
                if !kept {
                    return Err(format!(
                        "sector {sector} holds {value}: {} was acknowledged before something that \
                         is there was submitted",
                        change.value
                    ));
                }
            }
        }
        Ok(())
    }

    /// The power came back and the volume holds these.
    pub fn restart(&mut self, values: Vec<u64>) {
        let base = |value| Sector { base: value, after: 0, latest: Some(value) };
        let sectors = values.into_iter().map(base).collect();
        *self = Self { sectors, ..Self::new(0, self.order) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(oracle: &mut Oracle, block: u64, value: u64) -> Range<usize> {
        let changes = oracle.issue(block..block + 1, value);
        oracle.acknowledge(changes.clone());
        changes
    }

    #[test]
    fn an_unflushed_write_may_be_lost_and_a_flushed_one_may_not() {
        let mut oracle = Oracle::new(2, Order::Submission);
        written(&mut oracle, 0, 1);
        assert!(oracle.admits(&[0, 0]).is_ok() && oracle.admits(&[1, 0]).is_ok());
        assert!(oracle.admits(&[2, 0]).is_err() && oracle.admits(&[0, 1]).is_err());
        let covered = oracle.begin_flush();
        written(&mut oracle, 1, 2);
        oracle.end_flush(&covered);
        assert!(oracle.admits(&[1, 0]).is_ok() && oracle.admits(&[1, 2]).is_ok());
        assert!(oracle.admits(&[0, 0]).is_err() && oracle.admits(&[0, 2]).is_err());
    }

    #[test]
    fn a_later_write_is_not_there_without_the_earlier_one() {
        for order in [Order::Submission, Order::Any] {
            let mut oracle = Oracle::new(2, order);
            written(&mut oracle, 0, 1);
            written(&mut oracle, 1, 2);
            assert!(oracle.admits(&[1, 0]).is_ok());
            assert!(oracle.admits(&[0, 2]).is_err(), "{order:?}");
        }
    }

    #[test]
    fn requests_in_flight_together_have_an_order_only_where_that_is_promised() {
        for (order, admitted) in [(Order::Submission, false), (Order::Any, true)] {
            let mut oracle = Oracle::new(2, order);
            oracle.issue(0..1, 1);
            oracle.issue(1..2, 2);
            assert_eq!(oracle.admits(&[0, 2]).is_ok(), admitted, "{order:?}");
        }
    }

    #[test]
    fn a_refused_write_is_not_there() {
        let mut oracle = Oracle::new(1, Order::Submission);
        written(&mut oracle, 0, 1);
        let refused = oracle.issue(0..1, 2);
        oracle.fail(refused, ENOSPC);
        assert_eq!(oracle.visible(0), Some(1));
        assert!(oracle.admits(&[1]).is_ok() && oracle.admits(&[2]).is_err());
    }

    #[test]
    fn fua_covers_itself_and_in_order_all_before_it() {
        for (order, lost_before) in [(Order::Submission, false), (Order::Any, true)] {
            let mut oracle = Oracle::new(2, order);
            oracle.issue(0..1, 1);
            let changes = oracle.issue(1..2, 2);
            oracle.end_fua(changes);
            assert_eq!(oracle.admits(&[0, 2]).is_ok(), lost_before, "{order:?}");
            assert!(oracle.admits(&[1, 2]).is_ok() && oracle.admits(&[1, 0]).is_err());
        }
    }
}
