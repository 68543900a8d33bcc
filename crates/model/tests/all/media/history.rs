//! The oracle: every write and flush that ever was, and from the definition alone what a drive may
//! hold.

use std::{collections::BTreeSet, ops::Range};

/// When something happened: the number of the step.
type Step = u64;

pub struct Past {
    pub sectors: Range<u64>,
    pub value: u64,
    pub completed: Option<Step>,
    pub through: bool,
}

/// One drive's whole history. Sectors hold 0 before the first write.
#[derive(Default)]
pub struct History {
    step: Step,
    pub writes: Vec<Past>,
    flushes: Vec<(Step, Option<Step>)>,
}

impl History {
    fn tick(&mut self) -> Step {
        self.step += 1;
        self.step
    }

    /// A write or discard is submitted; `through` if it is durable at completion.
    pub fn begin(&mut self, sectors: Range<u64>, value: u64, through: bool) -> usize {
        self.tick();
        self.writes.push(Past { sectors, value, completed: None, through });
        self.writes.len() - 1
    }

    pub fn complete(&mut self, write: usize) {
        self.writes[write].completed = Some(self.tick());
    }

    pub fn begin_flush(&mut self) -> usize {
        let step = self.tick();
        self.flushes.push((step, None));
        self.flushes.len() - 1
    }

    pub fn complete_flush(&mut self, flush: usize) {
        self.flushes[flush].1 = Some(self.tick());
    }

    fn of(&self, sector: u64) -> impl Iterator<Item = &Past> {
        self.writes.iter().filter(move |past| past.sectors.contains(&sector))
    }

    fn is_durable(&self, past: &Past) -> bool {
        past.completed.is_some_and(|completed| {
            past.through
                || self.flushes.iter().any(|&(begun, done)| completed < begun && done.is_some())
        })
    }

    /// What a read sees: the last write to have completed.
    pub fn visible(&self, sector: u64) -> u64 {
        let completed = self.of(sector).filter(|past| past.completed.is_some());
        completed.max_by_key(|past| past.completed).map_or(0, |past| past.value)
    }

    /// The durable write that completed last, and its step; 0 at step 0 if there is none.
    pub fn last_durable(&self, sector: u64) -> (Step, u64) {
        let durable = self.of(sector).filter(|past| self.is_durable(past));
        durable.map(|past| (past.completed.unwrap_or(0), past.value)).max().unwrap_or((0, 0))
    }

    /// What the sector may hold after a power cut now: the last durable value or any that completed
    /// after it or has not completed.
    pub fn admissible(&self, sector: u64) -> BTreeSet<u64> {
        let (since, value) = self.last_durable(sector);
        let later = self.of(sector).filter(|past| past.completed.is_none_or(|step| step > since));
        later.map(|past| past.value).chain([value]).collect()
    }

    /// The power came back, and the sectors hold these.
    pub fn restart(values: &[u64]) -> Self {
        let mut history = Self::default();
        for (sector, &value) in (0..).zip(values) {
            let write = history.begin(sector..sector + 1, value, true);
            history.complete(write);
        }
        history
    }

    /// Completed writes that no flush covers, by step of their completion.
    pub fn unflushed(&self) -> Vec<&Past> {
        let mut unflushed: Vec<&Past> = self
            .writes
            .iter()
            .filter(|past| past.completed.is_some() && !self.is_durable(past))
            .collect();
        unflushed.sort_by_key(|past| past.completed);
        unflushed
    }
}
