//! A write that comes in: all of it is received before any of it goes to the engine, so that a
//! client that goes away in the middle has changed nothing.

use super::cut::Piece;
use block::Buf;
use std::{collections::VecDeque, io::IoSliceMut, time::Instant};

/// Pieces that one readv(2) fills.
pub const SLICES_MAX: usize = 16;
/// Pieces for which there is room at once: a write of 1 MiB that splits blocks at both ends.
const PIECES: usize = 10;

/// The write whose payload a connection receives, or has received. Made once for each connection.
#[derive(Debug)]
pub struct Incoming {
    /// Those that have not gone to the engine, in order, each with its memory.
    pieces: VecDeque<(Piece, Buf)>,
    /// The first piece that is not full, and how many bytes of it are here.
    at: usize,
    have: usize,
    is_open: bool,
    /// When the client was last heard, of a write in lent memory.
    lent_at: Option<Instant>,
}

impl Incoming {
    /// With no write under way.
    pub fn new() -> Self {
        let pieces = VecDeque::with_capacity(PIECES);
        Self { pieces, at: 0, have: 0, is_open: false, lent_at: None }
    }

    /// Begins a write of these pieces, which tile it in order.
    pub fn open(&mut self, pieces: impl Iterator<Item = (Piece, Buf)>) {
        assert!(!self.is_open, "one write comes in at a time");
        self.pieces.extend(pieces);
        (self.at, self.have, self.is_open) = (0, 0, true);
    }

    /// Notes that its memory is lent: others may be waiting for it.
    pub fn lend(&mut self) {
        self.lent_at = Some(Instant::now());
    }

    /// Whether a write is coming in, or has and is not at the engine as a whole.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether a write is here as a whole.
    pub fn is_whole(&self) -> bool {
        self.is_open && self.at == self.pieces.len()
    }

    /// Since when the client has sent nothing of a write whose memory is lent.
    pub fn silent_since(&self) -> Option<Instant> {
        self.lent_at.filter(|_| self.is_open && !self.is_whole())
    }

    /// Memory for what is to come next, and its length; `slices` is filled from the start.
    pub fn room<'a>(&'a mut self, slices: &mut [IoSliceMut<'a>]) -> (usize, usize) {
        let (mut count, mut bytes, mut have) = (0, 0, self.have);
        for (slice, (piece, buffer)) in slices.iter_mut().zip(self.pieces.iter_mut().skip(self.at))
        {
            *slice = IoSliceMut::new(&mut buffer.bytes_mut()[have..piece.bytes as usize]);
            bytes += slice.len();
            count += 1;
            have = 0;
        }
        (count, bytes)
    }

    /// Notes that so many bytes are here.
    pub fn received(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let left = self.pieces[self.at].0.bytes as usize - self.have;
            let taken = bytes.min(left);
            bytes -= taken;
            self.have += taken;
            if taken == left {
                (self.at, self.have) = (self.at + 1, 0);
            }
        }
        if let Some(heard) = &mut self.lent_at {
            *heard = Instant::now();
        }
    }

    /// Takes in as much of `input` as there is room for; says how much.
    pub fn copy_from(&mut self, input: &[u8]) -> usize {
        let mut taken = 0;
        while taken < input.len()
            && let Some((piece, buffer)) = self.pieces.get_mut(self.at)
        {
            let bytes = (piece.bytes as usize - self.have).min(input.len() - taken);
            buffer.bytes_mut()[self.have..self.have + bytes]
                .copy_from_slice(&input[taken..taken + bytes]);
            self.received(bytes);
            taken += bytes;
        }
        taken
    }

    /// The next piece for the engine, of a write that is here as a whole.
    pub fn next(&self) -> Option<Piece> {
        assert!(self.is_whole(), "some of the write is missing");
        self.pieces.front().map(|(piece, _)| *piece)
    }

    /// Takes that piece's memory.
    pub fn take(&mut self) -> Buf {
        self.at -= 1;
        self.pieces.pop_front().expect("the caller looked").1
    }

    /// Ends the write; memory that is left is handed out.
    pub fn close(&mut self) -> impl Iterator<Item = Buf> + '_ {
        (self.at, self.have, self.is_open, self.lent_at) = (0, 0, false, None);
        self.pieces.drain(..).map(|(_, buffer)| buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::cut::Cutter;

    fn write(offset: u64, end: u64) -> Incoming {
        let (cutter, mut next) = (Cutter::new(512, 4096), offset);
        let pieces = std::iter::from_fn(|| {
            (next < end).then(|| {
                let piece = cutter.change(next, end);
                next = piece.end();
                (piece, Buf::zeroed(4096))
            })
        });
        let mut incoming = Incoming::new();
        incoming.open(pieces);
        incoming
    }

    #[test]
    fn however_it_comes_in_each_piece_gets_its_bytes() {
        let payload: Vec<u8> = (0..40_000u32).map(|n| (n % 251) as u8).collect();
        for step in [1, 700, 4096, 12_345, 100_000] {
            let (mut incoming, mut sent) = (write(100, 100 + 40_000), 0);
            while sent < payload.len() {
                assert!(!incoming.is_whole());
                let input = &payload[sent..payload.len().min(sent + step)];
                let mut slices: [IoSliceMut<'_>; SLICES_MAX] =
                    std::array::from_fn(|_| IoSliceMut::new(&mut []));
                let (count, bytes) = incoming.room(&mut slices);
                if step % 2 == 0 {
                    let mut left = &input[..input.len().min(bytes)];
                    sent += left.len();
                    let read = left.len();
                    for slice in &mut slices[..count] {
                        let (now, rest) = left.split_at(left.len().min(slice.len()));
                        slice[..now.len()].copy_from_slice(now);
                        left = rest;
                    }
                    incoming.received(read);
                } else {
                    sent += incoming.copy_from(input);
                }
            }
            let mut seen = Vec::new();
            while let Some(piece) = incoming.next() {
                seen.extend_from_slice(&incoming.take().bytes()[..piece.bytes as usize]);
            }
            assert!(seen == payload, "in steps of {step}");
            assert_eq!(incoming.close().count(), 0);
        }
    }

    #[test]
    fn what_was_not_received_as_a_whole_gives_its_memory_back() {
        let mut incoming = write(0, 10_000);
        assert_eq!(incoming.copy_from(&[1; 9_999]), 9_999);
        assert!(incoming.is_open() && !incoming.is_whole());
        assert_eq!(incoming.close().count(), 4);
        assert!(!incoming.is_open());
    }
}
