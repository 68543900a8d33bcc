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

use super::{
    counters::Counters,
    io::{Mark, Why},
    log::Log,
    requests::Requests,
    ring::{Ring, Way},
};
use crate::broken::{Rule, broken};
use block::{Command, Instant, IoError, Payload, Tag};
use std::collections::VecDeque;

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

/// An operation that waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    Flush { tag: Tag, issued: Instant },
    Write(u32),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Operations whose entries may be in open chunks.
    arrived: Vec<Waiter>,
    /// Operations, and what must be durable before they are answered.
    waiting: Vec<(Mark, Waiter)>,
    /// As `arrived` and `waiting`, of writes that are answered when they are written.
    arrived_writes: Vec<Waiter>,
    waiting_writes: Vec<(Mark, Waiter)>,
    /// Those that wait no more.
    done: VecDeque<(Waiter, Result<(), IoError>)>,
    /// The last chunk that was closed for them.
    closed_seq: u64,
    flying: bool,
    /// Flushes of the drive.
    sent: u64,
}

impl Flushes {
    /// Every write acknowledged before it is to be durable.
    pub fn accept(&mut self, log: &Log, requests: &mut Requests, tag: Tag) {
        let now = log.io.now();
        let waiter = Waiter::Flush { tag, issued: now };
        match log.mode.refusal() {
            // Nothing was written since it was opened, or since it was stopped.
            _ if log.mode.is_stopped() || log.mode.is_read_only() => {
                requests.answer(now, tag, now, Ok(()), Payload::None);
            }
            // Answered when the last checkpoint is.
            _ if log.mode.is_shut_down() => self.waiting.push((Mark::STOPPED, waiter)),
            Some(error) => requests.answer(now, tag, now, Err(error), Payload::None),
            None => self.wait_durable(waiter),
        }
    }

    /// It is answered when every write acknowledged before it is durable, and its own entries are.
    pub fn wait_durable(&mut self, waiter: Waiter) {
        self.arrived.push(waiter);
    }

    /// It is answered when the drive has its entries, and everything before them.
    pub fn wait_written(&mut self, waiter: Waiter) {
        self.arrived_writes.push(waiter);
    }

    /// The next one that waits no more, and how it ends.
    pub fn next_done(&mut self) -> Option<(Waiter, Result<(), IoError>)> {
        self.done.pop_front()
    }

    fn nobody_waits(&self) -> bool {
        self.arrived.is_empty()
            && self.waiting.is_empty()
            && self.arrived_writes.is_empty()
            && self.waiting_writes.is_empty()
    }

    pub fn pump(&mut self, log: &mut Log, ring: &mut Ring) {
        if self.nobody_waits() {
            return;
        }
        if let Some(error) = log.mode.latched() {
            return self.end_all(Err(error));
        }
        self.commit(log, ring);
        let durable = Mark { seq: log.durable_seq(), record: ring.durable() };
        end(&mut self.waiting, &mut self.done, durable, Ok(()));
        let written = Mark { seq: log.completed(), record: ring.written() };
        end(&mut self.waiting_writes, &mut self.done, written, Ok(()));
        let mark = match broken(Rule::Flush) {
            false => written,
            true => Mark { seq: log.last_seq(), ..written },
        };
        let due = self.waiting.iter().any(|&(target, _)| mark.covers(target));
        if due && !self.flying {
            self.flying = true;
            self.sent += 1;
            log.io.step();
            log.io.send(Why::Flush(mark), Command::Flush);
        }
    }

    /// Sees to it that what the arrived operations wait for goes to the drive.
    fn commit(&mut self, log: &mut Log, ring: &mut Ring) {
        if self.arrived.is_empty() && self.arrived_writes.is_empty() {
            return;
        }
        if ring.lacks(log) {
            if log.completed() < self.closed_seq {
                return;
            }
            match ring.way_down(log) {
                Way::Wait => return,
                Way::Record => ring.write_record(log),
                Way::Close => {
                    log.close_host_chunks();
                    self.closed_seq = log.last_seq();
                }
            }
        }
        let target = Mark { seq: log.last_seq(), record: ring.last() };
        assert!(target.seq >= self.closed_seq, "{target:?} after {}", self.closed_seq);
        self.waiting.extend(self.arrived.drain(..).map(|waiter| (target, waiter)));
        self.waiting_writes.extend(self.arrived_writes.drain(..).map(|waiter| (target, waiter)));
    }

    /// The drive has flushed what was there when it was asked to.
    pub fn flushed(
        &mut self,
        log: &mut Log,
        ring: &mut Ring,
        mark: Mark,
        result: Result<(), IoError>,
    ) {
        assert!(self.flying, "a flush of the drive is answered once");
        self.flying = false;
        match result {
            Err(error) if !broken(Rule::Latch) => log.mode.latch(error),
            _ => {
                log.made_durable(mark.seq);
                ring.made_durable(mark.record);
            }
        }
    }

    /// The record failed: whoever waited for it waits for the chunks that hold the same.
    pub fn record_failed(&mut self, mark: Mark) {
        let all = self.waiting.iter_mut().chain(&mut self.waiting_writes);
        let those = all.filter(|(target, _)| target.record >= mark.record);
        for (target, _) in those.filter(|(target, _)| *target != Mark::STOPPED) {
            assert!(target.seq <= mark.seq, "{target:?} waits for more than there is: {mark:?}");
            target.seq = mark.seq;
        }
    }

    /// The volume is stopped: whoever waited for that is told.
    pub fn stopped(&mut self) {
        self.end_all(Ok(()));
    }

    fn end_all(&mut self, result: Result<(), IoError>) {
        let arrived = self.arrived.drain(..).map(|waiter| (Mark::STOPPED, waiter));
        self.waiting.extend(arrived);
        end(&mut self.waiting, &mut self.done, Mark::STOPPED, result);
        let arrived = self.arrived_writes.drain(..).map(|waiter| (Mark::STOPPED, waiter));
        self.waiting_writes.extend(arrived);
        end(&mut self.waiting_writes, &mut self.done, Mark::STOPPED, result);
    }

    pub fn count(&self, counters: &mut Counters) {
        counters.flushes = self.sent;
    }
}

/// Whoever waits for no more than this waits no more.
fn end(
    waiting: &mut Vec<(Mark, Waiter)>,
    done: &mut VecDeque<(Waiter, Result<(), IoError>)>,
    reached: Mark,
    result: Result<(), IoError>,
) {
    let ended = waiting.extract_if(.., |(target, _)| reached.covers(*target));
    done.extend(ended.map(|(_, waiter)| (waiter, result)));
}
