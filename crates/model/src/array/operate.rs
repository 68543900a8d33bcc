//! The life of an operation: stripes, reads, changes, answer.

use super::{
    Array, Kind, Level, Operation, Phase, REFUSAL_NS, Sent, layout::Layout, locks::Stripes,
    missing::Lost, plan::Piece,
};
use block::{
    Command, Completion, Drive, Durability, Effects, Extent, Instant, IoError, Request, Tag,
};

impl Array {
    /// Begins an operation, unless its stripes are held by another.
    pub(super) fn begin(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let regenerates = self.layout.parities() > 0 && self.missing_members() > 0;
        let operation = self.operations.get_mut(number);
        let locks = match operation.kind {
            Kind::Write(_) | Kind::Rebuild => true,
            // What is worked out from a row must not be changed meanwhile.
            Kind::Read => regenerates || operation.row_by_row,
            Kind::Flush | Kind::Discard => false,
        };
        if locks && !operation.is_locked {
            operation.is_locked = true;
            let stripes = stripes_of(&self.layout, operation);
            if !self.locks.acquire(stripes, number) {
                return;
            }
        }
        self.advance(now, number, effects);
    }

    /// Sends an operation's next phase.
    pub(super) fn advance(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        if operation.phase == Phase::Queued {
            operation.absent = self.absent;
        }
        let row_by_row = operation.row_by_row && operation.phase == Phase::Queued;
        if row_by_row && !self.has_its_turn(number) {
            return;
        }
        self.plan.row_by_row = row_by_row;
        let operation = self.operations.get_mut(number);
        let (kind, offset, bytes) = (operation.kind, operation.offset, operation.bytes);
        let planned = match (kind, operation.phase) {
            (Kind::Read, _) => {
                operation.phase = Phase::Reading;
                self.plan.read(offset, bytes, operation.missing(), &self.load)
            }
            (Kind::Write(_), Phase::Queued) => {
                operation.phase = Phase::Reading;
                self.plan.read_before(offset, bytes, operation.missing())
            }
            (Kind::Write(_), _) => {
                operation.phase = Phase::Changing;
                self.carrier.finish_read_before(operation);
                self.plan.write(offset, bytes, self.absent)
            }
            (Kind::Rebuild, Phase::Queued) => {
                operation.phase = Phase::Reading;
                self.plan_rebuild_read(number)
            }
            (Kind::Rebuild, _) => {
                operation.phase = Phase::Changing;
                if let Some((member, _)) = self.absent.rebuilding {
                    self.carrier.finish_rebuild_read(operation, member);
                }
                self.plan_rebuild_write(number);
                Ok(())
            }
            (Kind::Flush | Kind::Discard, _) => {
                operation.phase = Phase::Changing;
                self.plan.everywhere(kind == Kind::Discard, offset, bytes, self.absent);
                Ok(())
            }
        };
        match planned {
            Err(Lost) => self.refuse(now, number, effects),
            Ok(()) if self.plan.pieces.is_empty() => self.advance_empty(now, number, effects),
            Ok(()) => self.send(number, effects),
        }
    }

    /// A phase without anything to do: go on, or be done.
    fn advance_empty(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        if self.operations.get_mut(number).phase == Phase::Reading {
            return self.advance(now, number, effects);
        }
        self.finish(now, now.after(REFUSAL_NS), number, effects);
    }

    /// Sends the plan's pieces to their members.
    fn send(&mut self, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        operation.outstanding = self.plan.pieces.len() as u32;
        let is_reading = operation.phase == Phase::Reading;
        let durability = match operation.kind {
            Kind::Write(durability) => durability,
            _ => Durability::Cached,
        };
        for &piece in &self.plan.pieces {
            let Piece { member, offset, bytes } = piece;
            let tag = Tag(u64::from(self.commands.insert(Sent { operation: number, piece })));
            self.load.outstanding[member as usize] += 1;
            self.load.heads[member as usize] = offset + bytes;
            let at = Extent { offset, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) };
            let command = match operation.kind {
                Kind::Flush => Command::Flush,
                Kind::Discard => Command::Discard { offset, len: bytes },
                Kind::Read | Kind::Write(_) | Kind::Rebuild => {
                    let payload = self.carrier.down(operation, piece, is_reading);
                    if is_reading {
                        Command::Read { at, into: payload }
                    } else {
                        Command::Write { at, from: payload, durability }
                    }
                }
            };
            let drive = Drive(member as u16);
            effects.down.push(Request { tag, actor: operation.actor, drive, command });
        }
    }

    /// Everything an operation had sent is back.
    pub(super) fn step(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        if !operation.survives {
            return self.finish(now, now, number, effects);
        }
        match (operation.kind, operation.phase) {
            (_, Phase::Reading) if operation.error.is_some() => {
                // Again, around the member that could not be read.
                self.retry(now, number, effects);
            }
            (Kind::Write(_) | Kind::Rebuild, Phase::Reading) => self.advance(now, number, effects),
            _ => {
                // What was written is complete without the member that is lost.
                operation.error = None;
                if operation.kind == Kind::Read {
                    self.carrier.finish_read(operation);
                }
                self.finish(now, now, number, effects);
            }
        }
    }

    /// Answers that it cannot be done.
    fn refuse(&mut self, now: Instant, number: u32, effects: &mut Effects) {
        let operation = self.operations.get_mut(number);
        operation.error = operation.error.or(Some(IoError::Offline));
        self.finish(now, now.after(REFUSAL_NS), number, effects);
    }

    /// Answers an operation and lets those go on that waited for its stripes.
    fn finish(&mut self, now: Instant, finished: Instant, number: u32, effects: &mut Effects) {
        let mut operation = self.operations.remove(number);
        self.carrier.end(&mut operation);
        let (kind, is_locked) = (operation.kind, operation.is_locked);
        if kind == Kind::Rebuild {
            self.end_rebuild_step(now, &operation);
            self.carrier.give_back(operation.payload);
        } else {
            let Operation { tag, issued, payload, error, .. } = operation;
            let result = error.map_or(Ok(()), Err);
            let completion = Completion { tag, issued, finished, result, payload };
            if finished > now {
                self.refusals.put(completion);
            } else {
                effects.up.push(completion);
            }
        }
        if is_locked {
            self.locks.release(number, &mut self.granted);
            while let Some(next) = self.granted.pop() {
                self.advance(now, next, effects);
            }
        }
        if self.row_by_row == Some(number) {
            self.row_by_row = self.patient.pop_front();
            if let Some(next) = self.row_by_row {
                self.advance(now, next, effects);
            }
        }
    }
}

/// What a write or a step of the rebuild locks.
fn stripes_of(layout: &Layout, operation: &Operation) -> Stripes {
    let chunk_bytes = layout.chunk_bytes;
    let (offset, end) = (operation.offset, operation.offset + operation.bytes);
    let (first_chunk, last_chunk) = (offset / chunk_bytes, (end - 1) / chunk_bytes);
    let (first_row, last_row) = match layout.level {
        _ if operation.kind == Kind::Rebuild => (first_chunk, last_chunk),
        Level::Raid1 => (first_chunk, last_chunk),
        Level::Raid10 => (layout.near_copy(first_chunk, 0).0, layout.near_copy(last_chunk, 1).0),
        Level::Raid0 | Level::Raid5 | Level::Raid6 => {
            (first_chunk / layout.data(), last_chunk / layout.data())
        }
    };
    let (from, to) = if first_chunk == last_chunk {
        (offset % chunk_bytes, (end - 1) % chunk_bytes + 1)
    } else {
        (0, chunk_bytes)
    };
    let excludes_all = layout.parities() > 0 || operation.kind == Kind::Rebuild;
    Stripes { first_row, last_row, from, to, excludes_all }
}
