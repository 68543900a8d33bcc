//! Carrying out requests: pieces to the engine, locks on blocks changed in part, flushes, replies.
//!
//! Budget of a request: no allocation, no lock, one look at the clock; one insertion and one
//! removal in each of two tables, and for a change in part a scan of what is under way.

mod completing;
mod cutting;

use super::{
    connection::{Connection, Need},
    cut::Cutter,
    flushes::{Flushes, Trust},
    operation::{Operation, Part},
    pool::{Pool, Sizes},
    traffic::{Outcome, Traffic},
};
use crate::protocol::{
    Command, Discarded, ErrorCode, Export, Extents, Pieces, REQUEST_BYTES_MAX, ReplyStyle, Request,
};
use block::{Actor, Allocation, Buf, Data, Drive, Engine, Extent, Geometry, Instant, Slots, Tag};
use std::ops::Range;

/// The connections, by number.
pub type Connections = [Option<Connection>];

/// Tag of a flush; the others are numbers of parts.
const FLUSH: Tag = Tag::OWN;

/// Extents in one answer about what is allocated, and questions to the engine for one: an answer of
/// 1 KiB.
const EXTENTS_MAX: usize = 128;

/// Whether a connection can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cutting {
    /// All pieces are at the engine.
    Done,
    Blocked(Need),
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
    /// What the last question for it found.
    extents: Vec<(Allocation, u32)>,
    pub traffic: Traffic,
    /// When the last request was begun, or the last answer of the engine finished.
    now: Instant,
    /// Something became free since the connections were last asked to go on.
    pub released: bool,
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
        let cutter = Cutter::new(block_bytes, transfer_bytes_max.min(buffer_bytes));
        let lent = cutter.changes_max(REQUEST_BYTES_MAX);
        let lent_bytes = cutter.span_bytes_max();
        let sizes = Sizes { connections, buffers, buffer_bytes, lent, lent_bytes };
        let pool = Pool::new(&mut engine, sizes);
        Self {
            engine,
            cutter,
            discarded: export.discarded,
            operations: Slots::new(connections as u32 * operations),
            parts: Slots::new(queue_depth.max(2) - 1),
            queue_depth: queue_depth as usize,
            pool,
            merging: 0,
            flushes: Flushes::with_capacity(connections * operations as usize),
            extents: Vec::with_capacity(EXTENTS_MAX),
            traffic: Traffic::default(),
            now: Instant(0),
            released: false,
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

    /// Whether somebody waits for the memory that a long write is lent.
    pub fn is_memory_awaited(&self) -> bool {
        self.pool.is_awaited()
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
            Command::Cache => {
                self.traffic.count(&request, Outcome::Done, 0);
                return style.done(cookie, heads);
            }
            Command::BlockStatus(wanted) => {
                let count = match wanted {
                    Extents::One => 1,
                    Extents::Many => EXTENTS_MAX,
                };
                self.traffic.count(&request, Outcome::Done, 0);
                self.look(request.offset, bytes, count);
                return style.allocated(cookie, &self.extents, heads);
            }
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
        self.now = self.now.max(self.engine.now());
        let operation = self.operations.insert(Operation {
            connection: number,
            request,
            begun: self.now,
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

    /// Notes what a range holds, up to so many extents of it.
    fn look(&mut self, offset: u64, bytes: u32, count: usize) {
        self.extents.clear();
        let (mut next, end) = (offset, offset + u64::from(bytes));
        for _ in 0..EXTENTS_MAX {
            if next == end {
                return;
            }
            let (allocation, bytes) = self.engine.allocation(Drive(0), next, end - next);
            assert!(bytes > 0 && bytes <= end - next, "{bytes} of {} bytes", end - next);
            let full = self.extents.len() == count;
            match self.extents.last_mut() {
                Some((last, length)) if *last == allocation => *length += bytes as u32,
                _ if full => return,
                _ => self.extents.push((allocation, bytes as u32)),
            }
            next += bytes;
        }
    }

    /// Longest read that is answered in one chunk: what one piece holds, and never under the 64 KiB
    /// that proto.md asks for.
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
            Command::Flush | Command::Cache | Command::BlockStatus(_) => {
                unreachable!("these have no pieces")
            }
        };
        match outcome {
            Cutting::Blocked(need) => {
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

    /// Gives up the rest of an operation whose client will not send it. A write that is here as a
    /// whole is carried out.
    pub fn abandon(&mut self, connections: &mut Connections, number: u16) {
        let connection = connections[usize::from(number)].as_mut().expect("it is there");
        self.pool.stop_waiting(number);
        if connection.owes_write() {
            return;
        }
        let Connection { incoming, held, .. } = &mut *connection;
        for buffer in incoming.close() {
            *held -= 1;
            self.pool.give(buffer);
        }
        self.released = true;
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

    /// Submits a flush if one is asked for and none is under way.
    pub fn flush(&mut self) {
        let fits = self.queue_depth > 1 || self.parts.is_empty();
        if fits && self.flushes.start() {
            let (actor, command) = (Actor(0), block::Command::Flush);
            self.engine.submit(block::Request { tag: FLUSH, actor, drive: Drive(0), command });
        }
    }

    /// Whether a flush is at the engine.
    pub fn flush_is_under_way(&self) -> bool {
        self.flushes.is_under_way()
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
}

/// The bytes of a span.
fn range_of(span: Extent) -> Range<u64> {
    span.offset..span.offset + u64::from(span.bytes)
}
