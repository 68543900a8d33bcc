//! Commands cut from requests, and the memory they carry.

use crate::media::MIXED_STAMPS;
use block::{Buf, Payload};

/// Buffers for the pieces of requests that carry bytes. Empty for ever in timing-only runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    free: Vec<Buf>,
    buffer_bytes: usize,
}

impl Pool {
    /// Of buffers for pieces of at most so many bytes.
    pub(super) fn new(buffer_bytes: u32) -> Self {
        Self { free: Vec::new(), buffer_bytes: buffer_bytes as usize }
    }

    /// What the piece `start..start + bytes` of `whole` carries down to be stored.
    pub(super) fn cut(&mut self, whole: &Payload, start: u64, bytes: u32) -> Payload {
        match whole {
            Payload::None => Payload::None,
            Payload::Stamp(stamp) => Payload::Stamp(*stamp),
            Payload::Bytes(source) => {
                let mut piece = self.take(bytes);
                let start = start as usize;
                let source = &source.bytes()[start..start + bytes as usize];
                piece.bytes_mut()[..bytes as usize].copy_from_slice(source);
                Payload::Bytes(piece)
            }
        }
    }

    /// Takes what a piece read into its place in `whole`. Stamps that differ make a mixed one.
    pub(super) fn join(
        &mut self,
        whole: &mut Payload,
        piece: Payload,
        start: u64,
        bytes: u32,
        is_first: bool,
    ) {
        match (whole, piece) {
            (Payload::Bytes(target), Payload::Bytes(source)) => {
                let start = start as usize;
                target.bytes_mut()[start..start + bytes as usize]
                    .copy_from_slice(&source.bytes()[..bytes as usize]);
                self.free.push(source);
            }
            (Payload::Stamp(target), Payload::Stamp(source)) => {
                *target = if is_first || *target == source { source } else { MIXED_STAMPS };
            }
            _ => {}
        }
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&mut self, piece: Payload) {
        if let Payload::Bytes(buffer) = piece {
            self.free.push(buffer);
        }
    }

    fn take(&mut self, bytes: u32) -> Buf {
        assert!(bytes as usize <= self.buffer_bytes, "a piece longer than a command");
        self.free.pop().unwrap_or_else(|| Buf::zeroed(self.buffer_bytes))
    }
}
