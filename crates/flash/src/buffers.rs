//! Memory for what the volume reads and writes by itself: recycled, so that a steady state
//! allocates nothing.

use block::{Buf, Data, Payload};

/// Buffers of 4 KiB times a power of two, given back and taken again. What is out and what is kept
/// for later are together no more than a limit, or than was out at the same time: sizes that are
/// wanted no more make room for those that are.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    data: Data,
    spare: Vec<Vec<Buf>>,
    spare_bytes: u64,
    out_bytes: u64,
    limit_bytes: u64,
}

impl Buffers {
    pub fn new(data: Data, limit_bytes: u64) -> Self {
        Self { data, spare: Vec::new(), spare_bytes: 0, out_bytes: 0, limit_bytes }
    }

    /// What [`take`](Self::take) takes for `bytes`.
    pub fn size(bytes: u64) -> u64 {
        4096 << Self::class(bytes as usize)
    }

    /// Memory for `bytes`, contents undefined; none in a run that only times.
    pub fn take(&mut self, bytes: u64) -> Payload {
        if self.data == Data::TimingOnly {
            return Payload::None;
        }
        let class = Self::class(bytes as usize);
        let size = 4096 << class;
        self.out_bytes += size;
        if let Some(buffer) = self.spare.get_mut(class).and_then(Vec::pop) {
            self.spare_bytes -= size;
            return Payload::Bytes(buffer);
        }
        self.make_room();
        Payload::Bytes(Buf::zeroed(size as usize))
    }

    /// Gives spare memory back to the system, the largest first, until the limit is kept or nothing
    /// is spare.
    fn make_room(&mut self) {
        while self.spare_bytes > 0 && self.out_bytes + self.spare_bytes > self.limit_bytes {
            let largest = self.spare.iter_mut().rev().find_map(Vec::pop);
            let largest = largest.expect("spare bytes are those of spare buffers");
            self.spare_bytes -= largest.bytes().len() as u64;
        }
    }

    pub fn give(&mut self, payload: Payload) {
        let Payload::Bytes(buffer) = payload else { return };
        let bytes = buffer.bytes().len();
        let class = Self::class(bytes);
        assert_eq!(bytes, 4096 << class, "a buffer that was taken here");
        if self.spare.len() <= class {
            self.spare.resize_with(class + 1, Vec::new);
        }
        self.out_bytes -= bytes as u64;
        self.spare_bytes += bytes as u64;
        self.spare[class].push(buffer);
    }

    fn class(bytes: usize) -> usize {
        bytes.div_ceil(4096).next_power_of_two().trailing_zeros() as usize
    }
}

/// The bytes of a payload, where there are any.
pub(crate) fn bytes(payload: &Payload) -> Option<&[u8]> {
    match payload {
        Payload::Bytes(buffer) => Some(buffer.bytes()),
        Payload::None | Payload::Stamp(_) => None,
    }
}

/// The same, to change.
pub(crate) fn bytes_mut(payload: &mut Payload) -> Option<&mut [u8]> {
    match payload {
        Payload::Bytes(buffer) => Some(buffer.bytes_mut()),
        Payload::None | Payload::Stamp(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server's reads came in pieces of every size, and the memory of each size was kept for
    /// good: 118 MiB where 20 had been promised.
    #[test]
    fn sizes_that_are_wanted_no_more_make_room() {
        let mut buffers = Buffers::new(Data::Stored, 1 << 20);
        for class in [0, 3, 5, 8, 1] {
            let count = (1 << 20) / (4096 << class);
            let taken: Vec<Payload> = (0..count).map(|_| buffers.take(4096 << class)).collect();
            assert!(buffers.out_bytes + buffers.spare_bytes <= 1 << 20, "{class}");
            taken.into_iter().for_each(|payload| buffers.give(payload));
        }
        assert_eq!((buffers.out_bytes, buffers.spare_bytes), (0, 1 << 20));
    }
}
