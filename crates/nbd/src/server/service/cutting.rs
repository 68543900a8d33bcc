//! The way down: requests become pieces, pieces wait for room and for each other, and go to the
//! engine.

use super::{Cutting, Service, range_of};
use crate::{
    protocol::{Discarded, Holes},
    server::{
        connection::{Connection, Need},
        cut::Piece,
        operation::{Operation, Part, Work},
    },
};
use block::{Actor, Buf, Drive, Durability, Engine, Payload, Tag};
use std::ops::Range;

impl<E: Engine> Service<E> {
    pub(super) fn cut_read(&mut self, number: u32, connection: &mut Connection) -> Cutting {
        loop {
            let Operation { next, is_streamed, .. } = *self.operations.get_mut(number);
            let end = self.operations.get_mut(number).end();
            if next == end {
                return Cutting::Done;
            }
            if is_streamed {
                // Its reply is one unbroken run of bytes: nothing else may be owed meanwhile.
                if !connection.stream.is_open && connection.operations > 1 {
                    return Cutting::Blocked(Need::Room);
                }
                connection.stream.open();
                if !connection.stream.has_room() {
                    return Cutting::Blocked(Need::Room);
                }
            }
            if !self.has_room() {
                return Cutting::Blocked(Need::Room);
            }
            let Some(buffer) = self.pool.take(&mut connection.held) else {
                return Cutting::Blocked(Need::Room);
            };
            let piece = self.cutter.read(next, end);
            let order = if is_streamed { connection.stream.ask() } else { 0 };
            let work = Work::Read { piece, order };
            let command = block::Command::Read { at: piece.span, into: Payload::Bytes(buffer) };
            self.submit(number, work, 0..0, command);
            self.operations.get_mut(number).next = piece.end();
        }
    }

    /// Receives all of the write, and only then hands its pieces to the engine.
    pub(super) fn cut_write(&mut self, number: u32, connection: &mut Connection) -> Cutting {
        if !connection.incoming.is_open() && !self.make_room_for(number, connection) {
            return Cutting::Blocked(Need::Room);
        }
        if !connection.fill() {
            return Cutting::Blocked(Need::Bytes);
        }
        while let Some(piece) = connection.incoming.next() {
            if !self.may_change(&piece) {
                return Cutting::Blocked(Need::Room);
            }
            let buffer = connection.incoming.take();
            if piece.is_partial() {
                self.merge(number, piece, Some(buffer));
            } else {
                self.write(number, piece, buffer);
            }
            self.operations.get_mut(number).next = piece.end();
        }
        assert_eq!(connection.incoming.close().count(), 0, "every piece is at the engine");
        Cutting::Done
    }

    /// Memory for all of a write. False while there is none for it.
    fn make_room_for(&mut self, number: u32, connection: &mut Connection) -> bool {
        let operation = self.operations.get_mut(number);
        let (offset, end, who) = (operation.next, operation.end(), operation.connection);
        let pieces = self.cutter.changes(offset, end);
        let count = pieces.clone().count();
        let Connection { held, incoming, .. } = connection;
        if let Some(buffers) = self.pool.take_all(count, held) {
            incoming.open(pieces.zip(buffers));
        } else if *held == 0
            && let Some(buffers) = self.pool.borrow(who, count, held)
        {
            incoming.open(pieces.zip(buffers));
            incoming.lend();
            return true;
        } else {
            return false;
        }
        self.pool.stop_waiting(who);
        true
    }

    /// Discards the whole blocks inside; for the rest the hint is ignored.
    pub(super) fn cut_trim(&mut self, number: u32) -> Cutting {
        let operation = self.operations.get_mut(number);
        let end = operation.end();
        if let Some(blocks) = self.cutter.inside(operation.next, end)
            && !self.discard(number, blocks)
        {
            return Cutting::Blocked(Need::Room);
        }
        self.operations.get_mut(number).next = end;
        Cutting::Done
    }

    /// Discards where that gives zeroes and the client allows holes; writes zeroes elsewhere.
    pub(super) fn cut_zeroes(
        &mut self,
        number: u32,
        holes: Holes,
        connection: &mut Connection,
    ) -> Cutting {
        let discards = self.discarded == Discarded::ReadsZero && holes == Holes::Allowed;
        loop {
            let operation = self.operations.get_mut(number);
            let (next, end) = (operation.next, operation.end());
            if next == end {
                return Cutting::Done;
            }
            let piece = self.cutter.change(next, end);
            if !piece.is_partial() && discards {
                let blocks = self.cutter.inside(next, end).expect("the piece is whole blocks");
                let stop = blocks.end;
                if !self.discard(number, blocks) {
                    return Cutting::Blocked(Need::Room);
                }
                self.operations.get_mut(number).next = stop;
                continue;
            }
            if !self.may_change(&piece) {
                return Cutting::Blocked(Need::Room);
            }
            if piece.is_partial() {
                self.merge(number, piece, None);
            } else {
                let Some(mut buffer) = self.pool.take(&mut connection.held) else {
                    return Cutting::Blocked(Need::Room);
                };
                buffer.bytes_mut()[..piece.bytes as usize].fill(0);
                self.write(number, piece, buffer);
            }
            self.operations.get_mut(number).next = piece.end();
        }
    }

    /// Whether the engine takes another part: one place is kept for a flush, and where there is
    /// only one, a flush comes first.
    fn has_room(&self) -> bool {
        if self.queue_depth == 1 {
            return self.parts.is_empty() && self.flushes.is_quiet();
        }
        self.parts.len() < self.parts.capacity()
    }

    /// Whether a change may go to the engine: there is room, and nothing it would be mixed up with.
    fn may_change(&self, piece: &Piece) -> bool {
        let partial = piece.is_partial();
        let range = range_of(piece.span);
        self.has_room() && !(partial && self.pool.has_no_spare()) && self.is_free(&range, partial)
    }

    /// Whether no change under way keeps `range` from being changed: one that merges keeps
    /// everybody off its block, and whoever wants to merge waits for all others there.
    fn is_free(&self, range: &Range<u64>, merges: bool) -> bool {
        if self.merging == 0 && !merges {
            return true;
        }
        let overlaps =
            |part: &Part| part.changes.start < range.end && range.start < part.changes.end;
        !self.parts.iter().any(|(_, part)| (merges || part.work.merges()) && overlaps(part))
    }

    fn write(&mut self, number: u32, piece: Piece, buffer: Buf) {
        let durability = self.operations.get_mut(number).request.durability;
        let from = Payload::Bytes(buffer);
        let command = block::Command::Write { at: piece.span, from, durability };
        self.submit(number, Work::Write, range_of(piece.span), command);
    }

    fn merge(&mut self, number: u32, piece: Piece, from: Option<Buf>) {
        self.merging += 1;
        let into = Payload::Bytes(self.pool.take_spare());
        let command = block::Command::Read { at: piece.span, into };
        self.submit(number, Work::MergeRead { piece, from }, range_of(piece.span), command);
    }

    /// False if it must wait.
    fn discard(&mut self, number: u32, blocks: Range<u64>) -> bool {
        if !(self.has_room() && self.is_free(&blocks, false)) {
            return false;
        }
        let operation = self.operations.get_mut(number);
        operation.flush_before_reply |= operation.request.durability == Durability::Fua;
        let (offset, len) = (blocks.start, blocks.end - blocks.start);
        self.submit(number, Work::Discard, blocks, block::Command::Discard { offset, len });
        true
    }

    pub(super) fn submit(
        &mut self,
        number: u32,
        work: Work,
        changes: Range<u64>,
        command: block::Command,
    ) {
        let operation = self.operations.get_mut(number);
        operation.pieces += 1;
        let actor = Actor(operation.connection);
        let part = self.parts.insert(Part { operation: number, work, changes });
        let tag = Tag(u64::from(part));
        self.engine.submit(block::Request { tag, actor, drive: Drive(0), command });
    }
}
