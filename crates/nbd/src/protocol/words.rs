//! Big-endian words, as the wire has them.

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// What is left of a message of unknown form, taken from the front.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).map(|bytes| u16_at(bytes, 0))
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(|bytes| u32_at(bytes, 0))
    }

    /// A text behind its length.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.bytes(count as usize)
    }
}
