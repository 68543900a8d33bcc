//! Memory for what the volume reads and writes by itself: recycled, so that a steady state allocates nothing.

use block::{Buf, Data, Payload};

/// Buffers of 4 KiB times a power of two, given back and taken again. It grows to what was once needed at
/// the same time, which the queue depth bounds.
#[derive(Debug)]
pub(crate) struct Buffers {
    data: Data,
    spare: Vec<Vec<Buf>>,
}

impl Buffers {
    pub fn new(data: Data) -> Self {
        Self { data, spare: Vec::new() }
    }

    /// Memory for `bytes`, contents undefined; none in a run that only times.
    pub fn take(&mut self, bytes: u64) -> Payload {
        if self.data == Data::TimingOnly {
            return Payload::None;
        }
        let class = Self::class(bytes as usize);
        let spare = self.spare.get_mut(class).and_then(Vec::pop);
        Payload::Bytes(spare.unwrap_or_else(|| Buf::zeroed(4096 << class)))
    }

    pub fn give(&mut self, payload: Payload) {
        let Payload::Bytes(buffer) = payload else { return };
        let class = Self::class(buffer.bytes().len());
        if self.spare.len() <= class {
            self.spare.resize_with(class + 1, Vec::new);
        }
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
