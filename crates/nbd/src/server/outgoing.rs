//! What a connection still has to send: heads in one buffer, data in the memory the engine filled.

use block::Buf;
use rustix::{
    io::Errno,
    net::{SendAncillaryBuffer, SendFlags, sendmsg},
};
use std::{collections::VecDeque, io::IoSlice, ops::Range, os::fd::AsFd};

/// Pieces handed to the kernel in one call.
const SLICES_MAX: usize = 64;
/// Sent heads are forgotten when they take so many bytes.
const FORGET_BYTES: usize = 32 << 10;

/// Replies in the order in which they will be sent.
#[derive(Debug)]
pub struct Outgoing {
    heads: Vec<u8>,
    /// Heads up to here stand in `pieces`.
    sealed: usize,
    /// Heads up to here are sent.
    sent: usize,
    pieces: VecDeque<Piece>,
}

#[derive(Debug)]
enum Piece {
    /// So many bytes of the heads.
    Heads(usize),
    Data(Buf, Range<usize>),
}

/// Where sending came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Nothing is left.
    All,
    /// The socket takes no more for now.
    Some,
    /// Nobody listens any more.
    Gone,
}

impl Outgoing {
    /// Nothing yet, with room for `replies`.
    pub fn with_capacity(replies: usize) -> Self {
        Self {
            heads: Vec::with_capacity(2 * FORGET_BYTES),
            sealed: 0,
            sent: 0,
            pieces: VecDeque::with_capacity(2 * replies),
        }
    }

    /// Where to append the next head.
    pub fn heads(&mut self) -> &mut Vec<u8> {
        &mut self.heads
    }

    /// Puts data behind the last head.
    pub fn push(&mut self, buffer: Buf, range: Range<usize>) {
        self.seal();
        self.pieces.push_back(Piece::Data(buffer, range));
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.sealed == self.heads.len()
    }

    /// Bytes of heads that wait.
    pub fn head_bytes(&self) -> usize {
        self.heads.len() - self.sent
    }

    /// Sends as much as the socket takes; the memory of what is sent goes to `release`.
    pub fn send(&mut self, socket: impl AsFd, mut release: impl FnMut(Buf)) -> Sent {
        self.seal();
        loop {
            if self.pieces.is_empty() {
                self.forget();
                return Sent::All;
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let (mut head, mut count) = (self.sent, 0);
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(match piece {
                    Piece::Heads(bytes) => {
                        head += bytes;
                        &self.heads[head - bytes..head]
                    }
                    Piece::Data(buffer, range) => &buffer.bytes()[range.clone()],
                });
                count += 1;
            }
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let mut control = SendAncillaryBuffer::default();
            match sendmsg(&socket, &slices[..count], &mut control, flags) {
                Ok(bytes) => self.advance(bytes, &mut release),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Sent::Some,
                Err(_) => return Sent::Gone,
            }
        }
    }

    /// Gives all memory back and forgets what was to be sent.
    pub fn clear(&mut self, mut release: impl FnMut(Buf)) {
        for piece in self.pieces.drain(..) {
            if let Piece::Data(buffer, _) = piece {
                release(buffer);
            }
        }
        self.forget();
    }

    fn seal(&mut self) {
        let fresh = self.heads.len() - self.sealed;
        if fresh == 0 {
            return;
        }
        self.sealed = self.heads.len();
        match self.pieces.back_mut() {
            Some(Piece::Heads(bytes)) => *bytes += fresh,
            _ => self.pieces.push_back(Piece::Heads(fresh)),
        }
    }

    fn advance(&mut self, mut bytes: usize, release: &mut impl FnMut(Buf)) {
        while bytes > 0 {
            let piece = self.pieces.front_mut().expect("no more is sent than there was");
            let length = match piece {
                Piece::Heads(length) => *length,
                Piece::Data(_, range) => range.len(),
            };
            let sent = bytes.min(length);
            bytes -= sent;
            match piece {
                Piece::Heads(length) => {
                    *length -= sent;
                    self.sent += sent;
                }
                Piece::Data(_, range) => range.start += sent,
            }
            if sent == length
                && let Some(Piece::Data(buffer, _)) = self.pieces.pop_front()
            {
                release(buffer);
            }
        }
        if self.sent >= FORGET_BYTES {
            self.heads.drain(..self.sent);
            self.sealed -= self.sent;
            self.sent = 0;
        }
    }

    fn forget(&mut self) {
        self.heads.clear();
        (self.sealed, self.sent) = (0, 0);
    }
}
