//! Carrying out requests: pieces to the engine, locks on blocks changed in part, flushes, replies.
//!
//! Budget of a request: no allocation, no lock, no clock; one insertion and one removal in each of two
//! tables, and for a change in part a scan of what is under way.

use super::{
    connection::{Connection, Filling, Need, Presence},
    cut::{Cutter, Piece},
    flushes::{Flushes, Trust},
    operation::{Operation, Part, Work, error_code},
    pool::Pool,
    stream::Arrival,
};
use crate::protocol::{
    Chunk, Command, Discarded, ErrorCode, Export, Holes, Pieces, ReplyStyle, Request,
};
use block::{
    Actor, Buf, Completion, Data, Drive, Durability, Engine, Extent, Geometry, Payload, Slots, Tag,
};
use std::ops::Range;

/// The connections, by number.
pub type Connections = [Option<Connection>];

/// Tag of a flush; the others are numbers of parts.
const FLUSH: Tag = Tag(u64::MAX);

/// Whether a connection can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cutting {
    /// All pieces are at the engine.
    Done,
    Stuck(Need),
}

/// The engine, and everything that is under way at it.
#[derive(Debug)]
pub struct Service<E> {
    pub engine: E,
    cutter: Cutter,
    discarded: Discarded,
    operations: Slots<Operation>,
    parts: Slots<Part>,
    queue_depth: usize,
    pool: Pool,
    /// How many parts change blocks in part.
    merging: u32,
    flushes: Flushes,
    /// Something became free since the connections were last asked to go on.
    pub released: bool,
    /// Something was submitted since the engine was last polled.
    pub submitted: bool,
}

impl<E: Engine> Service<E> {
    /// Serves `export` from `engine` for so many connections, each with so many operations at most.
    ///
    /// # Panics
    /// If the engine keeps no data, or less than the export.
    pub fn new(
        mut engine: E,
        export: &Export,
        connections: usize,
        operations: u32,
        buffers: usize,
        buffer_bytes: u32,
    ) -> Self {
        let geometry = engine.geometry(Drive(0));
        assert!(geometry.data == Data::Stored, "an engine without data cannot be served");
        let reach = Export::of(&geometry).size_bytes;
        let size = export.size_bytes;
        assert!(size <= reach, "an export of {size} bytes on an engine of {reach}");
        let Geometry { block_bytes, transfer_bytes_max, queue_depth, .. } = geometry;
        let buffer_bytes = buffer_bytes.max(block_bytes);
        let pool = Pool::new(&mut engine, connections, buffers, buffer_bytes);
        Self {
            engine,
            cutter: Cutter::new(block_bytes, transfer_bytes_max.min(buffer_bytes)),
            discarded: export.discarded,
            operations: Slots::new(connections as u32 * operations),
            parts: Slots::new(queue_depth.max(2) - 1),
            queue_depth: queue_depth as usize,
            pool,
            merging: 0,
            flushes: Flushes::with_capacity(connections * operations as usize),
            released: false,
            submitted: false,
        }
    }

    /// Whether the engine owes an answer.
    pub fn is_busy(&self) -> bool {
        !self.parts.is_empty() || self.flushes.is_under_way()
    }

    /// Whether what was acknowledged can still be relied on.
    pub fn trust(&self) -> Trust {
        self.flushes.trust()
    }

    /// Takes a buffer back from a connection that held it.
    pub fn release(&mut self, held: &mut u32, buffer: Buf) {
        *held -= 1;
        self.pool.give(buffer);
        self.released = true;
    }

    /// Begins a request. What needs no engine is answered at once.
    pub fn begin(&mut self, number: u16, connection: &mut Connection, request: Request) {
        let Request { cookie, command, bytes, .. } = request;
        let style = connection.session.style();
        let heads = connection.outgoing.heads();
        match command {
            // A hint. Engines have no cache of their own that could be filled.
            Command::Cache => return style.done(cookie, heads),
            Command::BlockStatus => return style.allocated(cookie, bytes, heads),
            Command::Read(_) if bytes == 0 => match style {
                ReplyStyle::Simple => return style.done(cookie, heads),
                ReplyStyle::Structured => return style.end(cookie, heads),
            },
            Command::Read(Pieces::One) if bytes > self.unbroken_bytes_max() => {
                return style.failed(cookie, ErrorCode::Overflow, heads);
            }
            Command::Flush => {}
            _ if bytes == 0 => return style.done(cookie, heads),
            _ => {}
        }
        let end = request.offset + u64::from(bytes);
        let whole = style == ReplyStyle::Simple || command == Command::Read(Pieces::One);
        let is_read = matches!(command, Command::Read(_));
        let operation = self.operations.insert(Operation {
            connection: number,
            request,
            next: request.offset,
            pieces: 0,
            failure: None,
            flush_before_reply: false,
            is_streamed: is_read && whole && !self.cutter.is_single_read(request.offset, end),
        });
        connection.operations += 1;
        if command == Command::Flush {
            self.flushes.ask(operation);
        } else {
            connection.current = Some(operation);
        }
    }

    /// Longest read that is answered in one chunk: what one piece holds, and never under the 64 KiB that
    /// proto.md asks for.
    fn unbroken_bytes_max(&self) -> u32 {
        self.cutter.single_read_bytes_max().max(65_536)
    }

    /// Cuts the connection's current operation as far as it goes; true when nothing is left to cut.
    pub fn go_on(&mut self, connections: &mut Connections, number: u16) -> bool {
        let connection = connections[usize::from(number)].as_mut().expect("it has an operation");
        let Some(operation) = connection.current else { return true };
        let outcome = match self.operations.get_mut(operation).request.command {
            Command::Read(_) => self.cut_read(operation, connection),
            Command::Write => self.cut_write(operation, connection),
            Command::Trim => self.cut_trim(operation),
            Command::WriteZeroes(holes) => self.cut_zeroes(operation, holes, connection),
            Command::Flush | Command::Cache | Command::BlockStatus => {
                unreachable!("these have no pieces")
            }
        };
        match outcome {
            Cutting::Stuck(need) => {
                connection.need = need;
                false
            }
            Cutting::Done => {
                connection.current = None;
                self.conclude(connections, operation);
                true
            }
        }
    }

    /// Gives up the rest of an operation whose client will not send it.
    pub fn abandon(&mut self, connections: &mut Connections, number: u16) {
        let connection = connections[usize::from(number)].as_mut().expect("it is there");
        if let Some(filling) = connection.filling.take() {
            self.release(&mut connection.held, filling.buffer);
        }
        if let Some(operation) = connection.current.take() {
            let entry = self.operations.get_mut(operation);
            entry.next = entry.end();
            entry.is_streamed = false;
            entry.fail(ErrorCode::Invalid);
            self.conclude(connections, operation);
        }
    }

    /// Closes a connection whose client is gone and gives back its memory.
    pub fn close(&mut self, connections: &mut Connections, number: u16) {
        let connection = connections[usize::from(number)].as_mut().expect("it is there");
        let (pool, mut given) = (&mut self.pool, 0);
        connection.close(|buffer| {
            pool.give(buffer);
            given += 1;
        });
        connection.held -= given;
        self.released = true;
        self.abandon(connections, number);
    }

    fn cut_read(&mut self, number: u32, connection: &mut Connection) -> Cutting {
        loop {
            let Operation { next, is_streamed, .. } = *self.operations.get_mut(number);
            let end = self.operations.get_mut(number).end();
            if next == end {
                return Cutting::Done;
            }
            if is_streamed {
                // Its reply is one unbroken run of bytes: nothing else may be owed meanwhile.
                if !connection.stream.is_open && connection.operations > 1 {
                    return Cutting::Stuck(Need::Room);
                }
                connection.stream.open();
                if !connection.stream.has_room() {
                    return Cutting::Stuck(Need::Room);
                }
            }
            if !self.has_room() {
                return Cutting::Stuck(Need::Room);
            }
            let Some(buffer) = self.pool.take(&mut connection.held) else {
                return Cutting::Stuck(Need::Room);
            };
            let piece = self.cutter.read(next, end);
            let order = if is_streamed { connection.stream.ask() } else { 0 };
            let work = Work::Read { piece, order };
            let command = block::Command::Read { at: piece.span, into: Payload::Bytes(buffer) };
            self.submit(number, work, 0..0, command);
            self.operations.get_mut(number).next = piece.end();
        }
    }

    fn cut_write(&mut self, number: u32, connection: &mut Connection) -> Cutting {
        loop {
            let operation = self.operations.get_mut(number);
            let (next, end) = (operation.next, operation.end());
            if next == end {
                return Cutting::Done;
            }
            if connection.filling.is_none() {
                let Some(buffer) = self.pool.take(&mut connection.held) else {
                    return Cutting::Stuck(Need::Room);
                };
                let piece = self.cutter.change(next, end);
                connection.filling = Some(Filling { buffer, piece, have: 0 });
            }
            if !connection.fill() {
                return Cutting::Stuck(Need::Bytes);
            }
            let piece = connection.filling.as_ref().expect("just filled").piece;
            if !self.may_change(&piece) {
                return Cutting::Stuck(Need::Room);
            }
            let filling = connection.filling.take().expect("just filled");
            if piece.is_partial() {
                self.merge(number, piece, Some(filling.buffer));
            } else {
                self.write(number, piece, filling.buffer);
            }
            self.operations.get_mut(number).next = piece.end();
        }
    }

    /// Discards the whole blocks inside; for the rest the hint is ignored.
    fn cut_trim(&mut self, number: u32) -> Cutting {
        let operation = self.operations.get_mut(number);
        let end = operation.end();
        if let Some(blocks) = self.cutter.inside(operation.next, end)
            && !self.discard(number, blocks)
        {
            return Cutting::Stuck(Need::Room);
        }
        self.operations.get_mut(number).next = end;
        Cutting::Done
    }

    /// Discards where that gives zeroes and the client allows holes; writes zeroes elsewhere.
    fn cut_zeroes(&mut self, number: u32, holes: Holes, connection: &mut Connection) -> Cutting {
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
                    return Cutting::Stuck(Need::Room);
                }
                self.operations.get_mut(number).next = stop;
                continue;
            }
            if !self.may_change(&piece) {
                return Cutting::Stuck(Need::Room);
            }
            if piece.is_partial() {
                self.merge(number, piece, None);
            } else {
                let Some(mut buffer) = self.pool.take(&mut connection.held) else {
                    return Cutting::Stuck(Need::Room);
                };
                buffer.bytes_mut()[..piece.bytes as usize].fill(0);
                self.write(number, piece, buffer);
            }
            self.operations.get_mut(number).next = piece.end();
        }
    }

    /// Whether the engine takes another part: one place is kept for a flush, and where there is only one,
    /// a flush comes first.
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

    /// Whether no change under way keeps `range` from being changed: one that merges keeps everybody off
    /// its block, and whoever wants to merge waits for all others there.
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

    fn submit(&mut self, number: u32, work: Work, changes: Range<u64>, command: block::Command) {
        let operation = self.operations.get_mut(number);
        operation.pieces += 1;
        let actor = Actor(operation.connection);
        let part = self.parts.insert(Part { operation: number, work, changes });
        let tag = Tag(u64::from(part));
        self.engine.submit(block::Request { tag, actor, drive: Drive(0), command });
        self.submitted = true;
    }

    /// Submits a flush if one is asked for and none is under way.
    pub fn flush(&mut self) {
        let fits = self.queue_depth > 1 || self.parts.is_empty();
        if fits && self.flushes.start() {
            let (actor, command) = (Actor(0), block::Command::Flush);
            self.engine.submit(block::Request { tag: FLUSH, actor, drive: Drive(0), command });
            self.submitted = true;
        }
    }

    /// Whether a flush waits to be submitted.
    pub fn wants_flush(&self) -> bool {
        !self.flushes.is_under_way() && !self.flushes.is_quiet()
    }

    /// Submits a flush of the server's own.
    pub fn flush_last(&mut self) {
        self.flushes.ask_for_self();
        self.flush();
    }

    /// Takes in one answer of the engine.
    pub fn complete(&mut self, connections: &mut Connections, completion: Completion) {
        self.released = true;
        let Completion { tag, result, payload, .. } = completion;
        if tag == FLUSH {
            return self.flushed(connections, result.map_err(error_code));
        }
        let part = self.parts.remove(tag.0 as u32);
        let number = part.operation;
        let operation = self.operations.get_mut(number);
        operation.pieces -= 1;
        let connection = connections[usize::from(operation.connection)].as_mut();
        let connection = connection.expect("it waits for its operations");
        let failure = result.err().map(error_code);
        match part.work {
            Work::Read { piece, order } => {
                let arrival = Arrival { buffer: memory(payload), range: piece.range(), failure };
                self.deliver(number, connection, piece, order, arrival);
            }
            Work::Write => {
                self.note(number, failure);
                self.release(&mut connection.held, memory(payload));
            }
            Work::Discard => self.note(number, failure),
            Work::MergeRead { piece, from } => {
                self.merge_read(number, connection, piece, from, memory(payload), failure);
            }
            Work::MergeWrite => {
                self.merging -= 1;
                self.pool.give_spare(memory(payload));
                self.note(number, failure);
            }
        }
        self.conclude(connections, number);
    }

    /// Notes the failure of a change. One that was to be forced may have used up the operating system's
    /// only report that earlier writes were lost, unless it just found no space.
    fn note(&mut self, number: u32, failure: Option<ErrorCode>) {
        let Some(error) = failure else { return };
        let operation = self.operations.get_mut(number);
        operation.fail(error);
        let forced = operation.request.durability == Durability::Fua;
        if forced && !matches!(error, ErrorCode::NoSpace | ErrorCode::NotSupported) {
            self.flushes.distrust(error);
        }
    }

    /// The block to merge into is here: changes it and stores it again.
    fn merge_read(
        &mut self,
        number: u32,
        connection: &mut Connection,
        piece: Piece,
        from: Option<Buf>,
        mut block: Buf,
        failure: Option<ErrorCode>,
    ) {
        let into = &mut block.bytes_mut()[piece.range()];
        match &from {
            Some(from) => into.copy_from_slice(&from.bytes()[..piece.bytes as usize]),
            None => into.fill(0),
        }
        if let Some(from) = from {
            self.release(&mut connection.held, from);
        }
        let operation = self.operations.get_mut(number);
        if let Some(error) = failure {
            // A failed read took nothing with it: trust stays.
            operation.fail(error);
            self.merging -= 1;
            return self.pool.give_spare(block);
        }
        let durability = operation.request.durability;
        let command =
            block::Command::Write { at: piece.span, from: Payload::Bytes(block), durability };
        self.submit(number, Work::MergeWrite, range_of(piece.span), command);
    }

    /// Sends what was read, or says that it could not be.
    fn deliver(
        &mut self,
        number: u32,
        connection: &mut Connection,
        piece: Piece,
        order: u32,
        arrival: Arrival,
    ) {
        let operation = self.operations.get_mut(number);
        if connection.presence == Presence::Gone {
            return self.release(&mut connection.held, arrival.buffer);
        }
        if operation.is_streamed {
            connection.stream.arrive(order, arrival);
            return self.deliver_in_order(number, connection);
        }
        let style = connection.session.style();
        let (cookie, last) = (operation.request.cookie, last_if(operation.is_over()));
        let heads = connection.outgoing.heads();
        match arrival.failure {
            Some(error) => {
                operation.fail(error);
                style.failed_at(cookie, piece.offset, error, last, heads);
                self.release(&mut connection.held, arrival.buffer);
            }
            None => {
                style.data(cookie, piece.offset, piece.bytes, last, heads);
                connection.outgoing.push(arrival.buffer, arrival.range);
            }
        }
    }

    /// Sends the pieces of a stream whose turn has come. Once its head has left, a piece that failed leaves
    /// a structured reply whole, with zeroes, and ends a simple one, which cannot say so.
    fn deliver_in_order(&mut self, number: u32, connection: &mut Connection) {
        let style = connection.session.style();
        while let Some(mut arrival) = connection.stream.leave() {
            let operation = self.operations.get_mut(number);
            let request = operation.request;
            let begun = connection.stream.begun;
            if let Some(error) = arrival.failure {
                operation.fail(error);
                arrival.buffer.bytes_mut()[arrival.range.clone()].fill(0);
                if begun && style == ReplyStyle::Simple {
                    connection.presence = Presence::Gone;
                }
            }
            if !begun && operation.failure.is_some() || connection.presence == Presence::Gone {
                self.release(&mut connection.held, arrival.buffer);
                continue;
            }
            if !begun {
                connection.stream.begun = true;
                let heads = connection.outgoing.heads();
                style.data(request.cookie, request.offset, request.bytes, Chunk::Inner, heads);
            }
            connection.outgoing.push(arrival.buffer, arrival.range);
        }
    }

    fn flushed(&mut self, connections: &mut Connections, result: Result<(), ErrorCode>) {
        self.flushes.end(result);
        while let Some(number) = self.flushes.answer() {
            let operation = self.operations.get_mut(number);
            operation.flush_before_reply = false;
            operation.next = operation.end();
            self.conclude(connections, number);
        }
    }

    /// Answers an operation of which nothing is under way any more; else does nothing.
    fn conclude(&mut self, connections: &mut Connections, number: u32) {
        let operation = self.operations.get_mut(number);
        if !operation.is_over() {
            return;
        }
        let index = usize::from(operation.connection);
        let connection = connections[index].as_mut().expect("it waits for its operations");
        if connection.current == Some(number) {
            return; // Still being cut; it comes here again.
        }
        if operation.flush_before_reply && operation.failure.is_none() {
            return self.flushes.ask(number);
        }
        let operation = self.operations.remove(number);
        self.released = true;
        connection.operations -= 1;
        let failure = match self.trust() {
            Trust::Lost(_) if operation.promises() => Some(ErrorCode::Io),
            _ => operation.failure,
        };
        if connection.presence != Presence::Gone {
            answer(connection, &operation, failure);
        }
    }
}

/// The last word on an operation.
fn answer(connection: &mut Connection, operation: &Operation, failure: Option<ErrorCode>) {
    let style = connection.session.style();
    let Request { cookie, offset, .. } = operation.request;
    let heads = connection.outgoing.heads();
    match (operation.request.command, failure) {
        (Command::Read(_), failure) if operation.is_streamed => {
            connection.stream.close();
            match failure {
                Some(error) => style.failed_at(cookie, offset, error, Chunk::Last, heads),
                None => style.end(cookie, heads),
            }
        }
        (Command::Read(_), _) => {} // Its pieces said it all.
        (_, Some(error)) => style.failed(cookie, error, heads),
        (_, None) => style.done(cookie, heads),
    }
}

fn last_if(over: bool) -> Chunk {
    if over { Chunk::Last } else { Chunk::Inner }
}

fn range_of(span: Extent) -> Range<u64> {
    span.offset..span.offset + u64::from(span.bytes)
}

fn memory(payload: Payload) -> Buf {
    match payload {
        Payload::Bytes(buffer) => buffer,
        Payload::None | Payload::Stamp(_) => unreachable!("memory comes back with its completion"),
    }
}
