//! Flushes: who waits for what to be durable, and how it becomes so.
//!
//! ```text
//!   arrived --commit--> waiting --durable--> answered
//!             | closes the host's chunks, or writes a record of the ring; whoever arrives
//!             | while that is being written shares the next one
//! ```
//!
//! Where writes are [answered when they are written](Answered::Written), they wait in the same way,
//! but for no flush of the drive.
//!
//! Where every chunk before it is durable, a chunk that a flush closes goes down with FUA, and the
//! drive need not be flushed.

use super::core::{Core, Gate, Op, Why};
use super::ring::Way;
use crate::broken::{Rule, broken};
use block::{Command, IoError, Payload};

#[derive(Debug, Default)]
pub(super) struct Flushes {
    /// Operations whose entries may be in open chunks.
    arrived: Vec<u32>,
    /// Operations, and what must be durable before they are answered.
    waiting: Vec<(Mark, u32)>,
    /// As `arrived` and `waiting`, of writes that are answered when they are written.
    arrived_writes: Vec<u32>,
    waiting_writes: Vec<(Mark, u32)>,
    /// The last chunk that was closed for them.
    closed_seq: u64,
    flying: bool,
    pub durable_seq: u64,
    /// Every chunk behind `durable_seq` and up to this one went down with FUA.
    pub fua_seq: u64,
}

/// When a write is answered that need not be durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answered {
    /// When it is in memory, as by a drive with a write cache: a process that is killed loses it,
    /// as a power cut would.
    #[default]
    InMemory,
    /// When the drive has it, and everything before it: what was answered is lost by a power cut
    /// alone.
    Written,
}

/// Every chunk and every record up to these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mark {
    pub seq: u64,
    pub record: u64,
}

impl Mark {
    const STOPPED: Self = Self { seq: u64::MAX, record: u64::MAX };

    pub fn covers(self, other: Self) -> bool {
        other.seq <= self.seq && other.record <= self.record
    }

    pub fn max_of(self, other: Self) -> Self {
        Self { seq: self.seq.max(other.seq), record: self.record.max(other.record) }
    }
}

impl Flushes {
    /// The record failed: whoever waited for it waits for the chunks that hold the same.
    pub fn wait_for_chunks(&mut self, mark: Mark) {
        let all = self.waiting.iter_mut().chain(&mut self.waiting_writes);
        let those = all.filter(|(target, _)| target.record >= mark.record);
        for (target, _) in those.filter(|(target, _)| *target != Mark::STOPPED) {
            target.seq = mark.seq;
        }
    }
}

impl Core {
    pub fn accept_flush(&mut self, slot: u32) {
        if self.gate == Gate::ShutDown && self.is_stopped() {
            self.finish(slot, Ok(()), Payload::None);
        } else if self.gate == Gate::ShutDown {
            // Answered when the last checkpoint is.
            self.flushes.waiting.push((Mark::STOPPED, slot));
        } else if self.gate == Gate::ReadOnly {
            // Nothing was written since it was opened.
            self.finish(slot, Ok(()), Payload::None);
        } else if let Some(error) = self.refusal() {
            self.finish(slot, Err(error), Payload::None);
        } else {
            self.wait_durable(slot);
        }
    }

    /// The operation is answered when every write acknowledged before it is durable, and its own
    /// entries are.
    pub fn wait_durable(&mut self, slot: u32) {
        self.flushes.arrived.push(slot);
    }

    /// The write is answered when the drive has it, and everything before it.
    pub fn wait_written(&mut self, slot: u32) {
        self.flushes.arrived_writes.push(slot);
    }

    pub fn pump_flushes(&mut self) {
        let Flushes { arrived, waiting, arrived_writes, waiting_writes, .. } = &self.flushes;
        if arrived.is_empty()
            && waiting.is_empty()
            && arrived_writes.is_empty()
            && waiting_writes.is_empty()
        {
            return;
        }
        if let Gate::Latched(error) = self.gate {
            return self.answer_all(Err(error));
        }
        self.commit();
        let durable = Mark { seq: self.flushes.durable_seq, record: self.ring.durable };
        self.answer_flushes(durable, Ok(()));
        let seq = match broken(Rule::Flush) {
            false => self.log.completed(),
            true => self.log.last_seq,
        };
        let mark = Mark { seq, record: self.ring.written };
        let written = Mark { seq: self.log.completed(), record: self.ring.written };
        self.answer_writes(written, Ok(()));
        let due = self.flushes.waiting.iter().any(|&(target, _)| mark.covers(target));
        if due && !self.flushes.flying {
            self.flushes.flying = true;
            self.log.sent += 1;
            self.counters.flushes += 1;
            self.down.send(Why::Flush(mark), Command::Flush);
        }
    }

    /// Sees to it that what the arrived operations wait for goes to the drive.
    fn commit(&mut self) {
        if self.flushes.arrived.is_empty() && self.flushes.arrived_writes.is_empty() {
            return;
        }
        if self.has_unrecorded() {
            if self.log.completed() < self.flushes.closed_seq {
                return;
            }
            match self.way_down() {
                Way::Wait => return,
                Way::Record => self.write_record(),
                Way::Close => {
                    self.close_host_chunks();
                    self.flushes.closed_seq = self.log.last_seq;
                }
            }
        }
        let target = Mark { seq: self.log.last_seq, record: self.ring.last };
        let Flushes { arrived, waiting, arrived_writes, waiting_writes, .. } = &mut self.flushes;
        waiting.extend(arrived.drain(..).map(|slot| (target, slot)));
        waiting_writes.extend(arrived_writes.drain(..).map(|slot| (target, slot)));
    }

    pub fn flushed(&mut self, mark: Mark, result: Result<(), IoError>) {
        self.flushes.flying = false;
        match result {
            Err(error) if !broken(Rule::Latch) => self.latch(error),
            _ => {
                self.flushes.durable_seq = self.flushes.durable_seq.max(mark.seq);
                self.ring.made_durable(mark.record);
            }
        }
    }

    /// The volume is stopped: whoever waited for that is told.
    pub fn stopped(&mut self) {
        self.answer_all(Ok(()));
    }

    fn answer_all(&mut self, result: Result<(), IoError>) {
        let arrived = self.flushes.arrived.drain(..).map(|slot| (Mark::STOPPED, slot));
        self.flushes.waiting.extend(arrived);
        self.answer_flushes(Mark::STOPPED, result);
        let arrived = self.flushes.arrived_writes.drain(..).map(|slot| (Mark::STOPPED, slot));
        self.flushes.waiting_writes.extend(arrived);
        self.answer_writes(Mark::STOPPED, result);
    }

    fn answer_writes(&mut self, written: Mark, result: Result<(), IoError>) {
        let mut waiting = std::mem::take(&mut self.flushes.waiting_writes);
        for (_, slot) in waiting.extract_if(.., |(target, _)| written.covers(*target)) {
            self.finish(slot, result, Payload::None);
        }
        self.flushes.waiting_writes = waiting;
    }

    fn answer_flushes(&mut self, durable: Mark, result: Result<(), IoError>) {
        let mut waiting = std::mem::take(&mut self.flushes.waiting);
        for (_, slot) in waiting.extract_if(.., |(target, _)| durable.covers(*target)) {
            self.finish(slot, result, Payload::None);
        }
        self.flushes.waiting = waiting;
    }

    /// Ends an operation. Writes bring their memory themselves.
    pub fn finish(&mut self, slot: u32, result: Result<(), IoError>, payload: Payload) {
        match self.ops.remove(slot) {
            Op::Flush { tag, issued } => self.answer(tag, issued, result, payload),
            Op::Read(mut read) => {
                (read.result, read.into) = (result, payload);
                self.end_read(read);
            }
            Op::Write(write) => self.end_write(write, result),
            Op::Busy => unreachable!("an operation ends when nobody works on it"),
        }
    }
}
