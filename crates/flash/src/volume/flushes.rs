//! Flushes: who waits for which chunk to be durable.

use super::core::{Core, Gate, Op, Why};
use crate::broken::{Rule, broken};
use block::{Command, IoError, Payload};

#[derive(Debug, Default)]
pub(super) struct Flushes {
    /// Operations, and the chunk up to which all must be durable.
    waiting: Vec<(u64, u32)>,
    flying: bool,
    pub durable_seq: u64,
}

impl Core {
    pub fn accept_flush(&mut self, slot: u32) {
        if self.gate == Gate::ShutDown {
            // Answered when the last checkpoint is.
            self.flushes.waiting.push((u64::MAX, slot));
        } else if let Some(error) = self.refusal().filter(|_| self.gate != Gate::ReadOnly) {
            self.finish(slot, Err(error), Payload::None);
        } else {
            self.wait_durable(slot);
        }
    }

    /// The operation is answered when every write acknowledged before it is durable, and its own entries
    /// are.
    pub fn wait_durable(&mut self, slot: u32) {
        self.close_host_chunks();
        self.flushes.waiting.push((self.log.last_seq, slot));
    }

    pub fn pump_flushes(&mut self) {
        if let Gate::Latched(error) = self.gate {
            self.answer_flushes(u64::MAX, Err(error));
            return;
        }
        self.answer_flushes(self.flushes.durable_seq, Ok(()));
        let mark = match broken(Rule::Flush) {
            false => self.log.completed(),
            true => self.log.last_seq,
        };
        let due = self.flushes.waiting.iter().any(|&(target, _)| target <= mark);
        if due && !self.flushes.flying {
            self.flushes.flying = true;
            self.log.sent += 1;
            self.down.send(Why::Flush(mark), Command::Flush);
        }
    }

    pub fn flushed(&mut self, mark: u64, result: Result<(), IoError>) {
        self.flushes.flying = false;
        match result {
            Ok(()) => self.flushes.durable_seq = self.flushes.durable_seq.max(mark),
            Err(_) if broken(Rule::Latch) => self.flushes.durable_seq = mark,
            Err(error) => self.latch(error),
        }
    }

    /// The volume is stopped: whoever waited for that is told.
    pub fn stopped(&mut self) {
        self.answer_flushes(u64::MAX, Ok(()));
    }

    fn answer_flushes(&mut self, durable: u64, result: Result<(), IoError>) {
        let mut waiting = std::mem::take(&mut self.flushes.waiting);
        for (_, slot) in waiting.extract_if(.., |(target, _)| *target <= durable) {
            self.finish(slot, result, Payload::None);
        }
        self.flushes.waiting = waiting;
    }

    /// Ends an operation. Writes bring their memory themselves.
    pub fn finish(&mut self, slot: u32, result: Result<(), IoError>, payload: Payload) {
        match self.ops.remove(slot) {
            Op::Flush { tag, issued } => self.answer(tag, issued, result, payload),
            Op::Read(read) => self.answer(read.tag, read.issued, result, payload),
            Op::Write(write) => self.end_write(write, result),
            Op::Busy => unreachable!("an operation ends when nobody works on it"),
        }
    }
}
