//! Reading much of a drive: pieces asked for ahead, handed over in order, and block by block where
//! a piece as a whole cannot be read.

use super::ToolError;
use crate::shape::BLOCK_BYTES;
use block::{Actor, Buf, Command, Drive, Engine, Extent, Instant, IoError, Payload, Request, Tag};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::{ControlFlow, Range},
};

/// Pieces in flight. More gain nothing on the drives of today once a piece is large.
const AHEAD: usize = 8;
/// What is asked for at once, if the drive takes as much.
const PIECE_BYTES_MAX: u64 = 1 << 20;
/// The next attempt may succeed; a third one will hardly.
const ATTEMPTS: usize = 3;

/// Takes what was read at an offset, or why it could not be, with what its range belongs to.
pub(super) type Sink<'a, T> = dyn FnMut(&T, u64, Result<&[u8], IoError>) -> ControlFlow<()> + 'a;

/// Reads in flight on an engine. Waits for them when it is dropped.
pub(super) struct Reader<'a> {
    engine: &'a mut dyn Engine,
    capacity_bytes: u64,
    piece_bytes: u64,
    ahead: usize,
    next_tag: u64,
    outstanding: usize,
    arrived: BTreeMap<u64, (Buf, Result<(), IoError>)>,
    spare: Vec<Buf>,
}

impl<'a> Reader<'a> {
    pub fn new(engine: &'a mut dyn Engine) -> Self {
        let below = engine.geometry(Drive(0));
        let transfer_bytes = u64::from(below.transfer_bytes_max) / BLOCK_BYTES * BLOCK_BYTES;
        let ahead = (below.queue_depth as usize).min(AHEAD);
        Self {
            engine,
            capacity_bytes: below.capacity_bytes / BLOCK_BYTES * BLOCK_BYTES,
            piece_bytes: transfer_bytes.min(PIECE_BYTES_MAX),
            ahead,
            next_tag: 0,
            outstanding: 0,
            arrived: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    fn submit(&mut self, offset: u64, bytes: u64) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.outstanding += 1;
        let buffer = self.spare.pop().unwrap_or_else(|| Buf::zeroed(self.piece_bytes as usize));
        let at = Extent { offset, bytes: bytes as u32 };
        let command = Command::Read { at, into: Payload::Bytes(buffer) };
        self.engine.submit(Request { tag: Tag(tag), actor: Actor(0), drive: Drive(0), command });
        tag
    }

    fn wait(&mut self) {
        let mut done = Vec::new();
        self.engine.wait(Instant::NEVER, &mut done);
        self.outstanding -= done.len();
        for completion in done {
            let Payload::Bytes(buffer) = completion.payload else {
                unreachable!("what is read brings its memory")
            };
            self.arrived.insert(completion.tag.0, (buffer, completion.result));
        }
    }

    fn take(&mut self, tag: u64) -> (Buf, Result<(), IoError>) {
        loop {
            if let Some(arrived) = self.arrived.remove(&tag) {
                return arrived;
            }
            self.wait();
        }
    }

    /// Reads `ranges` in order and hands over each piece, or each block of one that cannot be read
    /// as a whole, with what its range belongs to. What lies beyond the drive's end is one piece
    /// that cannot be read: a damaged structure may name any place.
    pub fn scan<T: Clone>(
        &mut self,
        ranges: impl Iterator<Item = (T, Range<u64>)>,
        sink: &mut Sink<T>,
    ) -> Result<(), ToolError> {
        let (piece_bytes, capacity_bytes) = (self.piece_bytes, self.capacity_bytes);
        let mut pieces = ranges.flat_map(|(owner, range)| {
            let end = range.end.min(capacity_bytes);
            let beyond = (range.end > end).then_some((range.start.max(end), 0));
            (range.start..end)
                .step_by(piece_bytes as usize)
                .map(move |offset| (offset, piece_bytes.min(end - offset)))
                .chain(beyond)
                .map(move |(offset, bytes)| (owner.clone(), offset, bytes))
        });
        let mut flying = VecDeque::new();
        loop {
            while flying.len() < self.ahead
                && let Some((owner, offset, bytes)) = pieces.next()
            {
                let tag = (bytes > 0).then(|| self.submit(offset, bytes));
                flying.push_back((tag, owner, offset, bytes));
            }
            let Some((tag, owner, offset, bytes)) = flying.pop_front() else { return Ok(()) };
            let Some(tag) = tag else {
                match sink(&owner, offset, Err(IoError::Medium)) {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Err(ToolError::Stopped),
                }
            };
            let (buffer, result) = self.take(tag);
            let flow = match result {
                Ok(()) => sink(&owner, offset, Ok(&buffer.bytes()[..bytes as usize])),
                Err(IoError::Offline) => return Err(ToolError::Io(IoError::Offline)),
                Err(_) => self.scan_blocks(&owner, offset..offset + bytes, sink)?,
            };
            self.spare.push(buffer);
            if flow.is_break() {
                return Err(ToolError::Stopped);
            }
        }
    }

    fn scan_blocks<T>(
        &mut self,
        owner: &T,
        range: Range<u64>,
        sink: &mut Sink<T>,
    ) -> Result<ControlFlow<()>, ToolError> {
        for offset in range.step_by(BLOCK_BYTES as usize) {
            let (buffer, result) = self.read_block(offset);
            let flow = match result {
                Ok(()) => sink(owner, offset, Ok(&buffer.bytes()[..BLOCK_BYTES as usize])),
                Err(IoError::Offline) => return Err(ToolError::Io(IoError::Offline)),
                Err(error) => sink(owner, offset, Err(error)),
            };
            self.spare.push(buffer);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn read_block(&mut self, offset: u64) -> (Buf, Result<(), IoError>) {
        let mut attempt = 1;
        loop {
            let tag = self.submit(offset, BLOCK_BYTES);
            let (buffer, result) = self.take(tag);
            if matches!(result, Ok(()) | Err(IoError::Offline)) || attempt == ATTEMPTS {
                return (buffer, result);
            }
            attempt += 1;
            self.spare.push(buffer);
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        while self.outstanding > 0 {
            self.wait();
        }
    }
}
