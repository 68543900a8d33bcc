//! What may be there after a power cut: of every sector the last value that is durable, or any that was
//! issued since; and all sectors together as they were at one moment of the history.

use std::{collections::BTreeSet, ops::Range};

/// One change of one block, in the order in which the volume took it in.
#[derive(Clone, Debug)]
struct Change {
    sectors: Range<u64>,
    value: u64,
}

#[derive(Clone, Debug)]
pub struct Oracle {
    /// At the last restart.
    base: Vec<u64>,
    changes: Vec<Change>,
    /// Changes that a flush or FUA covered.
    durable: BTreeSet<usize>,
    acknowledged: BTreeSet<usize>,
    /// They may have taken effect or not.
    failed: BTreeSet<usize>,
    /// Requests took effect in the order in which they were submitted.
    ordered: bool,
}

impl Oracle {
    pub fn new(sectors: u64, ordered: bool) -> Self {
        let base = vec![0; sectors as usize];
        Self {
            base,
            changes: vec![],
            durable: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            failed: BTreeSet::new(),
            ordered,
        }
    }

    /// A request is submitted; its changes, to be named when it is acknowledged.
    pub fn issue(&mut self, sectors: Range<u64>, value: u64) -> Range<usize> {
        let first = self.changes.len();
        let mut at = sectors.start;
        while at < sectors.end {
            let end = (at / 8 * 8 + 8).min(sectors.end);
            self.changes.push(Change { sectors: at..end, value });
            at = end;
        }
        first..self.changes.len()
    }

    pub fn acknowledge(&mut self, changes: Range<usize>) {
        self.acknowledged.extend(changes);
    }

    /// What a flush that is submitted now will cover.
    pub fn begin_flush(&self) -> BTreeSet<usize> {
        self.acknowledged.clone()
    }

    /// The flush succeeded.
    pub fn end_flush(&mut self, covered: &BTreeSet<usize>) {
        self.durable.extend(covered);
    }

    /// They were answered with an error.
    pub fn fail(&mut self, changes: Range<usize>) {
        self.failed.extend(changes);
    }

    /// What a read of the sector must see while nothing of it is in flight; none if it may see several.
    pub fn visible(&self, sector: u64) -> Option<u64> {
        let of_sector = |number: &usize| self.changes[*number].sectors.contains(&sector);
        match (0..self.changes.len()).rev().find(of_sector) {
            Some(last) if self.failed.contains(&last) => None,
            Some(last) => Some(self.changes[last].value),
            None => Some(self.base[sector as usize]),
        }
    }

    /// Whether a drive that lost its power may hold these.
    pub fn admits(&self, values: &[u64]) -> Result<(), String> {
        for (sector, &value) in (0..).zip(values) {
            let touches = |number: &usize| self.changes[*number].sectors.contains(&sector);
            let floor = self.durable.iter().rev().copied().find(touches);
            let value_of = |number: usize| self.changes[number].value;
            let base = floor.map_or(self.base[sector as usize], value_of);
            let later = (floor.map_or(0, |floor| floor + 1)..self.changes.len()).filter(touches);
            if !later.map(value_of).chain([base]).any(|other| other == value) {
                return Err(format!("sector {sector} holds {value}, durable is {base}"));
            }
        }
        if self.ordered && !self.is_a_moment(values) {
            return Err("no moment of the history had all of this".to_owned());
        }
        Ok(())
    }

    fn is_a_moment(&self, values: &[u64]) -> bool {
        let mut state = self.base.clone();
        let mut wrong = state.iter().zip(values).filter(|(a, b)| a != b).count();
        // A later change can be durable only with all before it.
        let least = self.durable.last().map_or(0, |last| last + 1);
        if least == 0 && wrong == 0 {
            return true;
        }
        for (number, change) in (1..).zip(&self.changes) {
            for sector in change.sectors.clone() {
                let (now, wanted) = (&mut state[sector as usize], values[sector as usize]);
                wrong -= usize::from(*now != wanted);
                *now = change.value;
                wrong += usize::from(*now != wanted);
            }
            if number >= least && wrong == 0 {
                return true;
            }
        }
        false
    }

    /// The power came back and the volume holds these.
    pub fn restart(&mut self, values: Vec<u64>) {
        *self = Self { base: values, ..Self::new(0, self.ordered) };
    }
}
