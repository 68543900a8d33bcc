//! A drive of RAM: it keeps bytes as long as the process lives. The floor of every path that ends
//! in a drive, for benchmarks and tests.

use crate::{
    Clock,
    limits::{Limits, memory},
};
use block::{
    Allocation, Command, Completion, Drive, Engine, Extent, Geometry, Instant, IoError, Request,
};
use std::os::fd::BorrowedFd;

/// Memory is taken and given back in pieces of this size: a huge page on x86-64 and arm64.
const PIECE_BYTES: u64 = 2 << 20;

/// Completes every request at the next [`wait`](Engine::wait). What was never written, or was
/// discarded in whole pieces of 2 MiB, takes no memory.
///
/// Budget: the copy, and one clock read a batch; a first write to a piece allocates it.
pub struct Memory {
    clock: Clock,
    limits: Limits,
    now: Instant,
    pieces: Vec<Option<Box<[u8]>>>,
    outstanding: Vec<Completion>,
}

impl Memory {
    /// A drive of that geometry, all zeroes.
    ///
    /// # Panics
    /// If the geometry's data are not stored.
    pub fn new(clock: Clock, geometry: Geometry) -> Self {
        let pieces = geometry.capacity_bytes.div_ceil(PIECE_BYTES);
        Self {
            clock,
            limits: Limits::for_stored(geometry, u32::MAX),
            now: clock.now(),
            pieces: (0..pieces).map(|_| None).collect(),
            outstanding: Vec::with_capacity(geometry.queue_depth as usize),
        }
    }

    fn perform(&mut self, command: &mut Command) -> Result<(), IoError> {
        self.limits.check(command)?;
        match command {
            Command::Read { at, into } => self.read(*at, memory(into).bytes_mut()),
            Command::Write { at, from, .. } => self.write(*at, memory(from).bytes()),
            Command::Discard { offset, len } => self.discard(*offset, *len),
            Command::Flush => {} // There is nothing behind it that could last longer.
        }
        Ok(())
    }

    fn read(&self, at: Extent, into: &mut [u8]) {
        let mut done = 0;
        for (piece, start, bytes) in parts(at.offset, at.bytes.into()) {
            let into = &mut into[done..done + bytes];
            match &self.pieces[piece] {
                Some(piece) => into.copy_from_slice(&piece[start..start + bytes]),
                None => into.fill(0),
            }
            done += bytes;
        }
    }

    fn write(&mut self, at: Extent, from: &[u8]) {
        let mut done = 0;
        for (piece, start, bytes) in parts(at.offset, at.bytes.into()) {
            let piece = self.pieces[piece]
                .get_or_insert_with(|| vec![0; PIECE_BYTES as usize].into_boxed_slice());
            piece[start..start + bytes].copy_from_slice(&from[done..done + bytes]);
            done += bytes;
        }
    }

    fn discard(&mut self, offset: u64, len: u64) {
        for (piece, start, bytes) in parts(offset, len) {
            let whole = bytes as u64 == PIECE_BYTES;
            match &mut self.pieces[piece] {
                piece if whole => *piece = None,
                Some(piece) => piece[start..start + bytes].fill(0),
                None => {}
            }
        }
    }
}

/// A range as pieces: number of the piece, first byte in it, how many.
fn parts(offset: u64, len: u64) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = offset + len;
    let mut next = offset;
    std::iter::from_fn(move || {
        let start = next % PIECE_BYTES;
        let bytes = (PIECE_BYTES - start).min(end - next);
        let part = ((next / PIECE_BYTES) as usize, start as usize, bytes as usize);
        next += bytes;
        (bytes > 0).then_some(part)
    })
}

impl Engine for Memory {
    #[inline]
    fn geometry(&self, _: Drive) -> Geometry {
        self.limits.geometry
    }

    #[inline]
    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, Request { tag, mut command, .. }: Request) {
        let queue_depth = self.limits.geometry.queue_depth as usize;
        assert!(self.outstanding.len() < queue_depth, "queue depth {queue_depth} exceeded");
        let result = self.perform(&mut command);
        let (issued, finished) = (self.now, self.now);
        let payload = command.into_payload();
        self.outstanding.push(Completion { tag, issued, finished, result, payload });
    }

    /// A wait does the work.
    fn start(&mut self) {}

    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        if self.outstanding.is_empty() {
            self.now = self.clock.sleep_until(until);
            return;
        }
        self.now = self.clock.now();
        for completion in &mut self.outstanding {
            completion.finished = self.now;
        }
        done.append(&mut self.outstanding);
    }

    fn next_wakeup(&self) -> Instant {
        if self.outstanding.is_empty() { Instant::NEVER } else { self.now }
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn allocation(&self, _: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        let to_end = (PIECE_BYTES - offset % PIECE_BYTES).min(len);
        let kind = match self.pieces[(offset / PIECE_BYTES) as usize] {
            Some(_) => Allocation::Data,
            None => Allocation::Hole,
        };
        (kind, to_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Buf, Data, Durability, Payload, submit_and_wait};

    fn engine(capacity_bytes: u64) -> Memory {
        let geometry = Geometry {
            capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 8 << 20,
            queue_depth: 4,
            data: Data::Stored,
        };
        Memory::new(Clock::start_monotonic(), geometry)
    }

    fn ask(engine: &mut Memory, command: Command) -> Payload {
        let completion = submit_and_wait(engine, command);
        completion.result.expect("inside");
        completion.payload
    }

    #[test]
    fn bytes_are_kept_across_pieces_and_given_up_when_discarded() {
        let mut engine = engine(3 * PIECE_BYTES - 512);
        let at = Extent { offset: PIECE_BYTES - 1024, bytes: PIECE_BYTES as u32 + 2048 };
        let mut from = Buf::zeroed(at.bytes as usize);
        from.bytes_mut()[..at.bytes as usize].fill(7);
        let from = Payload::Bytes(from);
        ask(&mut engine, Command::Write { at, from, durability: Durability::Fua });
        let len = PIECE_BYTES + 512;
        ask(&mut engine, Command::Discard { offset: PIECE_BYTES - 512, len });
        let hole = engine.allocation(Drive(0), PIECE_BYTES, PIECE_BYTES);
        assert_eq!(hole, (Allocation::Hole, PIECE_BYTES));
        let into = Payload::Bytes(Buf::zeroed(at.bytes as usize));
        let Payload::Bytes(found) = ask(&mut engine, Command::Read { at, into }) else {
            panic!("no memory came back")
        };
        let found = &found.bytes()[..at.bytes as usize];
        let (kept, gone) = (512, (PIECE_BYTES + 512) as usize);
        assert!(found[..kept].iter().all(|&byte| byte == 7));
        assert!(found[kept..kept + gone].iter().all(|&byte| byte == 0));
        assert!(found[kept + gone..].iter().all(|&byte| byte == 7));
    }
}
