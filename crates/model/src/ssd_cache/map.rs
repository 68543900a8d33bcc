//! The map on flash: which slot holds which block, and what of it is dirty.
//!
//! ```text
//!   page p, copy c at (2 p + c) * 4096: its writes alternate, so that one torn leaves the other
//!     0  magic, u64     8  identity, u64    16  page, u64    24  sequence, u64    32  sum, u64
//!    64  252 entries: block, u64; dirty units, u64, bit by bit; 0 where nothing is dirty
//! ```
//!
//! Little-endian. Of two good copies the one with the higher sequence counts. What is clean is not
//! written down: after a power cut a cache is empty but for what the disks lack.

use crate::map_sum::sum;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Entries of a page.
pub(super) const ENTRIES: u64 = 252;
const MAGIC: u64 = 0x6d63_6c65_7669_7264; // "drivelcm"
const ENTRIES_AT: usize = 64;
const SUM_AT: usize = 32;

/// A slot as the map has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Entry {
    pub block: u64,
    pub dirty: u64,
}

/// A page that is whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Page {
    pub sequence: u64,
    pub entries: Vec<Entry>,
}

/// Where a copy lies.
pub(super) fn place(page: u32, sequence: u64) -> u64 {
    (2 * u64::from(page) + sequence % 2) * PAGE_BYTES
}

/// Fills `bytes` with a page.
pub(super) fn encode(bytes: &mut [u8], identity: u64, page: u32, sequence: u64, entries: &[Entry]) {
    bytes[..PAGE_BYTES as usize].fill(0);
    let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    put(0, MAGIC);
    put(8, identity);
    put(16, page.into());
    put(24, sequence);
    for (number, entry) in entries.iter().enumerate() {
        put(ENTRIES_AT + 16 * number, entry.block);
        put(ENTRIES_AT + 16 * number + 8, entry.dirty);
    }
    let sum = sum(&bytes[..PAGE_BYTES as usize], SUM_AT);
    bytes[SUM_AT..SUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Reads a page; `None` of what is no whole page of this cache.
pub(super) fn decode(bytes: &[u8], identity: u64, page: u32) -> Option<Page> {
    let bytes = bytes.get(..PAGE_BYTES as usize)?;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let is_ours = word(0) == MAGIC && word(8) == identity && word(16) == u64::from(page);
    if !is_ours || word(SUM_AT) != sum(bytes, SUM_AT) {
        return None;
    }
    let entry = |number: usize| {
        let at = ENTRIES_AT + 16 * number;
        Entry { block: word(at), dirty: word(at + 8) }
    };
    Some(Page { sequence: word(24), entries: (0..ENTRIES as usize).map(entry).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_page_reads_back_and_no_other_page_does(
            entries in prop::collection::vec((0u64.., 0u64..), 0..252),
            sequence in 0u64..,
            flipped in 0usize..4096 * 8,
        ) {
            let entry = |(block, dirty)| Entry { block, dirty };
            let mut entries: Vec<Entry> = entries.into_iter().map(entry).collect();
            let mut bytes = vec![0xaa; 4096];
            encode(&mut bytes, 7, 3, sequence, &entries);
            entries.resize(252, Entry::default());
            prop_assert_eq!(decode(&bytes, 7, 3), Some(Page { sequence, entries }));
            prop_assert_eq!(decode(&bytes, 8, 3), None);
            prop_assert_eq!(decode(&bytes, 7, 4), None);
            bytes[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert_eq!(decode(&bytes, 7, 3), None);
        }

        #[test]
        fn any_bytes_are_a_page_or_none(bytes in prop::collection::vec(0u8.., 0..5000)) {
            prop_assert_eq!(decode(&bytes, 7, 3), None);
        }
    }
}
