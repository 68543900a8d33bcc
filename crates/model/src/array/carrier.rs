//! The bytes of an array's operations: cut for the members, joined for the asker, and the parity
//! between.
//!
//! ```text
//!   without parity   a piece is copied straight from or to the request's buffer
//!   RAID-5           an image of the rows:  [row][member][chunk]
//!                    reads fill it, the exclusive or completes it, writes are cut from it
//! ```
//!
//! In timing-only runs nothing here is ever touched.

use super::{
    Kind, Level, Operation,
    layout::Layout,
    parity::{Parity, Segment, for_segments, parity_by},
    plan::{Piece, for_chunks},
};
use crate::media::MIXED_STAMPS;
use block::{Buf, Payload};

/// Buffers and images, recycled.
#[derive(Clone, Debug)]
pub(super) struct Carrier {
    layout: Layout,
    /// Buffers by the logarithm of their length.
    buffers: Vec<Vec<Buf>>,
    images: Vec<Vec<u8>>,
}

impl Carrier {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, buffers: (0..32).map(|_| Vec::new()).collect(), images: Vec::new() }
    }

    /// A buffer of at least so many bytes.
    pub(super) fn take(&mut self, bytes: u64) -> Buf {
        let bytes = bytes.next_power_of_two().max(4096);
        let free = &mut self.buffers[bytes.trailing_zeros() as usize];
        free.pop().unwrap_or_else(|| Buf::zeroed(bytes as usize))
    }

    /// Takes back what a command carried.
    pub(super) fn give_back(&mut self, payload: Payload) {
        if let Payload::Bytes(buffer) = payload {
            let length = buffer.bytes().len();
            if length.is_power_of_two() {
                self.buffers[length.trailing_zeros() as usize].push(buffer);
            }
        }
    }

    /// Gives an operation on a parity level its image.
    pub(super) fn begin(&mut self, operation: &mut Operation) {
        if self.layout.parities() == 0 || !matches!(operation.payload, Payload::Bytes(_)) {
            return;
        }
        let (first_row, last_row) = self.rows(operation);
        let bytes = (last_row - first_row + 1) * self.layout.members * self.layout.chunk_bytes;
        let mut image = self.images.pop().unwrap_or_default();
        image.resize(bytes as usize, 0);
        operation.image = image;
    }

    /// Takes the image back.
    pub(super) fn end(&mut self, operation: &mut Operation) {
        if !operation.image.is_empty() {
            self.images.push(std::mem::take(&mut operation.image));
        }
    }

    /// What the command for `piece` carries down.
    pub(super) fn down(&mut self, operation: &Operation, piece: Piece, reads: bool) -> Payload {
        let source = match &operation.payload {
            Payload::None => return Payload::None,
            Payload::Stamp(stamp) => return Payload::Stamp(*stamp),
            Payload::Bytes(source) => source,
        };
        let mut buffer = self.take(piece.bytes);
        if reads {
            return Payload::Bytes(buffer);
        }
        for_chunks(self.layout.chunk_bytes, piece.offset, piece.bytes, |row, from, to| {
            let at = (row * self.layout.chunk_bytes + from - piece.offset) as usize;
            let target = &mut buffer.bytes_mut()[at..at + (to - from) as usize];
            if operation.kind == Kind::Rebuild {
                let at = (piece.offset - operation.offset) as usize + at;
                target.copy_from_slice(&source.bytes()[at..at + target.len()]);
            } else if operation.image.is_empty() {
                let at = self.array_offset(row, piece.member) + from - operation.offset;
                target.copy_from_slice(&source.bytes()[at as usize..][..target.len()]);
            } else {
                let at = self.image_offset(operation, row, piece.member) + from as usize;
                target.copy_from_slice(&operation.image[at..at + target.len()]);
            }
            Ok(())
        })
        .expect("copying loses nothing");
        Payload::Bytes(buffer)
    }

    /// Takes in what the command for `piece` brought up.
    pub(super) fn up(
        &mut self,
        operation: &mut Operation,
        piece: Piece,
        payload: Payload,
        reads: bool,
    ) {
        if let (true, Payload::Stamp(seen)) = (reads, &payload) {
            let stamp = match operation.stamp {
                Some(stamp) if stamp != *seen => MIXED_STAMPS,
                _ => *seen,
            };
            operation.stamp = Some(stamp);
            operation.payload = Payload::Stamp(stamp);
        }
        if let (true, Payload::Bytes(source)) = (reads, &payload) {
            self.join(operation, piece, source.bytes());
        }
        self.give_back(payload);
    }

    fn join(&mut self, operation: &mut Operation, piece: Piece, source: &[u8]) {
        let chunk_bytes = self.layout.chunk_bytes;
        for_chunks(chunk_bytes, piece.offset, piece.bytes, |row, from, to| {
            let at = (row * chunk_bytes + from - piece.offset) as usize;
            let source = &source[at..at + (to - from) as usize];
            let target = if !operation.image.is_empty() {
                let at = self.image_offset(operation, row, piece.member) + from as usize;
                &mut operation.image[at..at + source.len()]
            } else {
                let at = if operation.kind == Kind::Rebuild {
                    self.mirrored_offset(row, piece.member, operation) + from
                } else {
                    self.array_offset(row, piece.member) + from - operation.offset
                };
                let Payload::Bytes(target) = &mut operation.payload else {
                    unreachable!("bytes come back for bytes")
                };
                &mut target.bytes_mut()[at as usize..][..source.len()]
            };
            target.copy_from_slice(source);
            Ok(())
        })
        .expect("copying loses nothing");
    }

    /// All of a read is in the image: works out what is missing and fills the request's buffer.
    pub(super) fn finish_read(&mut self, operation: &mut Operation) {
        if operation.image.is_empty() {
            return;
        }
        let layout = self.layout;
        let (offset, bytes) = (operation.offset, operation.bytes);
        for_chunks(layout.chunk_bytes, offset, bytes, |chunk, from, to| {
            let (row, index) = (chunk / layout.data(), chunk % layout.data());
            let member = layout.data_member(row, index);
            if operation.missing().at(row) >> member & 1 == 1 {
                self.regenerate(operation, row, member, from, to);
            }
            let source = self.image_offset(operation, row, member) + from as usize;
            let at = (chunk * layout.chunk_bytes + from - offset) as usize;
            let Payload::Bytes(target) = &mut operation.payload else {
                unreachable!("an image is for bytes")
            };
            let length = (to - from) as usize;
            target.bytes_mut()[at..at + length]
                .copy_from_slice(&operation.image[source..source + length]);
            Ok(())
        })
        .expect("copying loses nothing");
    }

    /// What a write's parity needs is in the image: lays the new data over it and renews the
    /// parity.
    pub(super) fn finish_read_before(&mut self, operation: &mut Operation) {
        if operation.image.is_empty() {
            return;
        }
        let layout = self.layout;
        for_segments(&layout, operation.offset, operation.bytes, |row, segment| {
            let parity = parity_by(&layout, row, segment, operation.missing());
            let Segment { from, to, first, last } = segment;
            let parity_member = layout.parity_member(row, 0);
            if parity == Parity::Modify {
                // Takes the old data out of the old parity; the new goes in below.
                for index in first..=last {
                    self.fold(
                        operation,
                        row,
                        parity_member,
                        layout.data_member(row, index),
                        from,
                        to,
                    );
                }
            }
            for index in first..=last {
                self.overlay(operation, row, index, from, to);
            }
            match parity {
                Parity::Modify => {
                    for index in first..=last {
                        let member = layout.data_member(row, index);
                        self.fold(operation, row, parity_member, member, from, to);
                    }
                }
                Parity::Reconstruct => self.regenerate(operation, row, parity_member, from, to),
                Parity::Nothing => {}
                Parity::Regenerate => unreachable!("then the reads were refused"),
            }
            Ok(())
        })
        .expect("copying loses nothing");
    }

    /// A rebuild's step has been read: works out the new member's rows.
    pub(super) fn finish_rebuild_read(&mut self, operation: &mut Operation, member: u64) {
        if operation.image.is_empty() {
            return;
        }
        let (first_row, last_row) = self.rows(operation);
        let chunk_bytes = self.layout.chunk_bytes;
        for row in first_row..=last_row {
            self.regenerate(operation, row, member, 0, chunk_bytes);
            let source = self.image_offset(operation, row, member);
            let at = ((row - first_row) * chunk_bytes) as usize;
            let length = chunk_bytes as usize;
            let Payload::Bytes(target) = &mut operation.payload else {
                unreachable!("an image is for bytes")
            };
            target.bytes_mut()[at..at + length]
                .copy_from_slice(&operation.image[source..source + length]);
        }
    }

    /// Makes `member` the exclusive or of all others.
    fn regenerate(&self, operation: &mut Operation, row: u64, member: u64, from: u64, to: u64) {
        let at = self.image_offset(operation, row, member);
        operation.image[at + from as usize..at + to as usize].fill(0);
        for other in (0..self.layout.members).filter(|&other| other != member) {
            self.fold(operation, row, member, other, from, to);
        }
    }

    /// Folds `source` into `target` by exclusive or.
    fn fold(
        &self,
        operation: &mut Operation,
        row: u64,
        target: u64,
        source: u64,
        from: u64,
        to: u64,
    ) {
        let target = self.image_offset(operation, row, target);
        let source = self.image_offset(operation, row, source);
        for column in from as usize..to as usize {
            operation.image[target + column] ^= operation.image[source + column];
        }
    }

    /// Lays the request's bytes over a data chunk.
    fn overlay(&self, operation: &mut Operation, row: u64, index: u64, from: u64, to: u64) {
        let layout = self.layout;
        let target = self.image_offset(operation, row, layout.data_member(row, index));
        let chunk = row * layout.data() + index;
        let source = (chunk * layout.chunk_bytes + from - operation.offset) as usize;
        let length = (to - from) as usize;
        let Payload::Bytes(bytes) = &operation.payload else {
            unreachable!("an image is for bytes")
        };
        operation.image[target + from as usize..][..length]
            .copy_from_slice(&bytes.bytes()[source..source + length]);
    }

    fn rows(&self, operation: &Operation) -> (u64, u64) {
        let row_bytes = match operation.kind {
            Kind::Rebuild => self.layout.chunk_bytes,
            _ => self.layout.chunk_bytes * self.layout.data(),
        };
        (operation.offset / row_bytes, (operation.offset + operation.bytes - 1) / row_bytes)
    }

    fn image_offset(&self, operation: &Operation, row: u64, member: u64) -> usize {
        let first_row = self.rows(operation).0;
        (((row - first_row) * self.layout.members + member) * self.layout.chunk_bytes) as usize
    }

    /// Where in the array a member's chunk lies, on levels without parity.
    fn array_offset(&self, row: u64, member: u64) -> u64 {
        let position = row * self.layout.members + member;
        let chunk = match self.layout.level {
            Level::Raid1 => row,
            Level::Raid10 => position / 2,
            Level::Raid0 | Level::Raid5 | Level::Raid6 => position,
        };
        chunk * self.layout.chunk_bytes
    }

    /// Where in a rebuild's buffer the copy of a chunk goes.
    fn mirrored_offset(&self, row: u64, member: u64, operation: &Operation) -> u64 {
        let row = match self.layout.level {
            Level::Raid10 => {
                let position = row * self.layout.members + member;
                self.layout.near_copy(position / 2, 1 - position % 2).0
            }
            _ => row,
        };
        row * self.layout.chunk_bytes - operation.offset
    }
}
