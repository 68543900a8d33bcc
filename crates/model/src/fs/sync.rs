//! Syncs: dirty pages out, then a commit, then nothing is lost.
//!
//! ```text
//!   fsync, O_SYNC --> drain: everything dirty so far is on the drive --> commit: write, flush, ... --> done
//!   every 5 s     --> drain, ext3 data=ordered only                  -->
//! ```
//!
//! Whoever comes while a commit runs joins the next one, all of them the same one.

use super::{
    FileSystem, Syncing,
    cache::PageCache,
    call::{CallKind, Stage},
    layout::{Cause, FIRST, Step},
    order::{Mark, Order},
    transfer::{Owner, Transfer},
};
use block::{Actor, Instant, IoError};
use std::collections::VecDeque;

/// The journal's thread, as write-back's.
const JOURNAL: Actor = Actor(0);

/// Who waits for what.
#[derive(Debug)]
pub(super) struct Syncs {
    /// Whether a commit writes data first (ext3 `data=ordered`).
    ordered: bool,
    drains: Vec<Drain>,
    /// Write-back under way by epoch, the oldest first; a drain closes the last one and waits for
    /// it and all before.
    under_way: VecDeque<u32>,
    /// The number of the oldest.
    epoch: u64,
    commit: Option<Commit>,
    steps: Vec<Step>,
    members: Vec<u32>,
    /// Calls for the next commit.
    waiting: Vec<u32>,
    /// Whether one of them needs the file's times on the drive.
    waits_for_times: bool,
}

#[derive(Clone, Copy, Debug)]
struct Drain {
    waiter: Waiter,
    mark: Mark,
    /// Its last epoch, once everything before the mark is on its way.
    closed: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiter {
    Call(u32),
    Commit,
    Expiry,
}

#[derive(Clone, Copy, Debug)]
struct Commit {
    /// The step to take next.
    next: usize,
    result: Result<(), IoError>,
}

impl Syncs {
    pub fn new(ordered: bool) -> Self {
        Self {
            ordered,
            drains: Vec::new(),
            under_way: VecDeque::from([0]),
            epoch: 0,
            commit: None,
            steps: Vec::with_capacity(5),
            members: Vec::new(),
            waiting: Vec::new(),
            waits_for_times: false,
        }
    }

    /// Whether data belongs to transactions.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether somebody waits for all dirty pages to leave.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.drains.iter().any(|drain| drain.closed.is_none())
    }

    #[inline]
    pub fn is_committing(&self) -> bool {
        self.commit.is_some()
    }

    /// One more write-back is under way: its epoch.
    pub fn begin_transfer(&mut self) -> u64 {
        *self.under_way.back_mut().expect("the current epoch is there") += 1;
        self.epoch + self.under_way.len() as u64 - 1
    }

    /// It has ended.
    pub fn end_transfer(&mut self, epoch: u64) {
        self.under_way[(epoch - self.epoch) as usize] -= 1;
        self.retire();
    }

    /// What was under way concerns nobody any more.
    pub fn forget_transfers(&mut self) {
        self.under_way.iter_mut().for_each(|count| *count = 0);
        self.retire();
    }

    /// Closes the epoch of drains for which everything is on its way.
    #[inline]
    pub fn note_progress(&mut self, order: &Order, cache: &PageCache) {
        for drain in &mut self.drains {
            if drain.closed.is_none() && order.reached(cache, drain.mark) {
                drain.closed = Some(self.epoch + self.under_way.len() as u64 - 1);
                self.under_way.push_back(0);
            }
        }
        self.retire();
    }

    fn retire(&mut self) {
        while self.under_way.len() > 1 && self.under_way[0] == 0 {
            self.under_way.pop_front();
            self.epoch += 1;
        }
    }

    fn take_drained(&mut self) -> Option<Waiter> {
        let epoch = self.epoch;
        let at = self.drains.iter().position(|drain| drain.closed.is_some_and(|it| it < epoch))?;
        Some(self.drains.remove(at).waiter)
    }
}

impl FileSystem {
    /// A call wants everything that is dirty now on the drive, and the metadata to find it.
    pub(super) fn begin_sync(&mut self, now: Instant, slot: u32) {
        let call = self.calls.get_mut(slot);
        call.result = call.result.and(self.aborted);
        call.stage = Stage::Draining;
        if call.result.is_err() {
            self.finish(now, slot);
        } else if self.cache.unwritten() == 0 {
            self.join_commit(now, slot);
        } else {
            self.drain_for(slot);
        }
    }

    /// The call goes on when everything that is dirty now is on the drive.
    pub(super) fn drain_for(&mut self, slot: u32) {
        self.begin_drain(Waiter::Call(slot));
    }

    /// Dirty pages have come of age: all leave, and the clock starts anew.
    pub(super) fn begin_expiry(&mut self, now: Instant) {
        self.dirty_since = (self.cache.dirty.count() > 0).then_some(now);
        let is_under_way = self.syncs.drains.iter().any(|drain| drain.waiter == Waiter::Expiry);
        if self.dirty_since.is_some() && !is_under_way {
            self.begin_drain(Waiter::Expiry);
        }
    }

    fn begin_drain(&mut self, waiter: Waiter) {
        self.syncs.drains.push(Drain { waiter, mark: self.order.mark(&self.cache), closed: None });
    }

    /// Lets go on who waited for pages that have left. Whether anybody did.
    pub(super) fn settle_drains(&mut self, now: Instant) -> bool {
        if self.syncs.drains.is_empty() {
            return false;
        }
        self.syncs.note_progress(&self.order, &self.cache);
        let mut any = false;
        while let Some(waiter) = self.syncs.take_drained() {
            any = true;
            match waiter {
                Waiter::Commit => self.advance_commit(now),
                Waiter::Expiry => {}
                Waiter::Call(slot) => {
                    if self.calls.get_mut(slot).stage == Stage::Draining {
                        self.join_commit(now, slot);
                    } else {
                        self.step(now, slot);
                    }
                }
            }
        }
        any
    }

    /// A call's data is on the drive; now the metadata.
    pub(super) fn join_commit(&mut self, now: Instant, slot: u32) {
        let failed = self.write_error.take();
        let call = self.calls.get_mut(slot);
        call.stage = Stage::Committing;
        call.result = call.result.and(failed.map_or(Ok(()), Err));
        self.syncs.waits_for_times |= call.kind != CallKind::Sync && call.syncing == Syncing::Sync;
        self.syncs.waiting.push(slot);
        if !self.syncs.is_committing() {
            self.begin_commit(now, Cause::Sync);
        }
    }

    pub(super) fn begin_commit(&mut self, now: Instant, cause: Cause) {
        let changes = self.changes;
        let syncs = &mut self.syncs;
        assert!(syncs.commit.is_none() && syncs.members.is_empty(), "one commit at a time");
        std::mem::swap(&mut syncs.members, &mut syncs.waiting);
        let for_times = std::mem::take(&mut syncs.waits_for_times) && changes.any();
        syncs.commit = Some(Commit { next: 0, result: Ok(()) });
        syncs.steps.clear();
        if cause == Cause::Sync && !for_times && !changes.needed_for_data() {
            self.journal.flush_only(&mut syncs.steps);
            return self.advance_commit(now);
        }
        self.journal.commit(changes, cause, &mut syncs.steps);
        self.changes = Default::default();
        self.transaction_since = None;
        if self.syncs.ordered && self.cache.unwritten() > 0 {
            self.begin_drain(Waiter::Commit);
        } else {
            self.advance_commit(now);
        }
    }

    pub(super) fn end_commit_step(&mut self, now: Instant, result: Result<(), IoError>) {
        let commit = self.syncs.commit.as_mut().expect("a step belongs to a commit");
        commit.result = commit.result.and(result);
        self.aborted = self.aborted.and(result);
        self.advance_commit(now);
    }

    /// The next step of the commit, or its end and perhaps the next commit.
    fn advance_commit(&mut self, now: Instant) {
        let commit = self.syncs.commit.as_mut().expect("a commit runs");
        if commit.result.is_ok()
            && let Some(&step) = self.syncs.steps.get(commit.next)
        {
            commit.next += 1;
            let (on, offset, bytes) = match step {
                Step::Write { on, offset, bytes } => (on, offset, u64::from(bytes)),
                Step::Flush { on } => (on, 0, 0),
            };
            let transfer = Transfer::new(Owner::Commit, JOURNAL, offset, bytes);
            return match on {
                FIRST => self.enqueue_urgent(transfer),
                _ => self.enqueue_second(transfer),
            };
        }
        let result = commit.result;
        self.syncs.commit = None;
        let mut members = std::mem::take(&mut self.syncs.members);
        for slot in members.drain(..) {
            let call = self.calls.get_mut(slot);
            call.result = call.result.and(result);
            self.finish(now, slot);
        }
        self.syncs.members = members;
        if !self.syncs.waiting.is_empty() {
            self.begin_commit(now, Cause::Sync);
        } else if self.commit_due() <= now {
            self.begin_commit(now, Cause::Interval);
        }
    }
}
