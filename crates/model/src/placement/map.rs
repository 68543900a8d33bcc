//! The map on flash: in which place each extent lies.
//!
//! ```text
//!   two copies of the head, at 0 and 4096
//!     0  magic, u64     8  version, u64    16  bytes of an extent, u64
//!    24  places on the disks, u64          32  places on flash, u64       56  sum, u64
//!   page p, copy c at 8192 + (2 p + c) * 4096: its writes alternate, so that one torn leaves the
//!   other
//!     0  magic, u64     8  page, u64       16  sequence, u64              56  sum, u64
//!    64  1008 entries: the place of extent 1008 p + i, u32; 0 .. on the disks, then on flash
//! ```
//!
//! Little-endian; the rest is 0. The sum is over all of the 4096 bytes but itself. Of two good
//! copies the one with the higher sequence counts. A new map has all of its pages, twice, before
//! its head.

use super::shape::Shape;
use crate::map_sum::sum;
use block::IoError;
use std::fmt;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Entries of a page.
pub(super) const ENTRIES: u64 = (PAGE_BYTES - ENTRIES_AT as u64) / 4;
const ENTRIES_AT: usize = 64;
const SUM_AT: usize = 56;
const HEAD_MAGIC: u64 = 0x7265_6974_6c76_7264; // "drvltier"
const PAGE_MAGIC: u64 = 0x7061_6d74_6c76_7264; // "drvltmap"
const VERSION: u64 = 1;

/// Why a map cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadMap {
    /// A drive below failed.
    Io(IoError),
    /// It is the map of a tier of another version, another size or other disks.
    Other,
    /// Neither copy of this page is whole.
    Page(u32),
    /// It says of this extent that it lies where there is no place, or where another one lies.
    Place(u32),
}

impl std::error::Error for BadMap {}

impl fmt::Display for BadMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "the drive below failed: {error:?}"),
            Self::Other => formatter.write_str(
                "flash holds the map of another tier: open it with the `size` and `block`, and on \
                 the disks, that it was made with",
            ),
            Self::Page(page) => write!(
                formatter,
                "page {page} of its map is damaged in both copies, so that nobody knows where its \
                 extents lie: make the tier anew, and restore from a backup"
            ),
            Self::Place(extent) => write!(
                formatter,
                "its map says of extent {extent} that it lies where it cannot: make the tier anew, \
                 and restore from a backup"
            ),
        }
    }
}

/// Where a copy lies.
pub(super) fn place(page: u32, sequence: u64) -> u64 {
    (2 + 2 * u64::from(page) + sequence % 2) * PAGE_BYTES
}

/// Fills `bytes` with a page.
pub(super) fn encode(bytes: &mut [u8], page: u32, sequence: u64, places: &[u32]) {
    let bytes = &mut bytes[..PAGE_BYTES as usize];
    words(bytes, &[PAGE_MAGIC, page.into(), sequence]);
    for (entry, place) in bytes[ENTRIES_AT..].chunks_exact_mut(4).zip(places) {
        entry.copy_from_slice(&place.to_le_bytes());
    }
    seal(bytes);
}

/// Reads a page: its sequence and its places; `None` of what is no whole page of this number.
pub(super) fn decode(bytes: &[u8], page: u32) -> Option<(u64, Vec<u32>)> {
    let bytes = bytes.get(..PAGE_BYTES as usize)?;
    if word(bytes, 0) != PAGE_MAGIC || word(bytes, 8) != u64::from(page) || !is_sealed(bytes) {
        return None;
    }
    let places = bytes[ENTRIES_AT..].chunks_exact(4);
    let places = places.map(|entry| u32::from_le_bytes(entry.try_into().expect("four bytes")));
    Some((word(bytes, 16), places.collect()))
}

/// Fills `bytes` with the head.
pub(super) fn encode_head(bytes: &mut [u8], extent_bytes: u64, shape: &Shape) {
    let bytes = &mut bytes[..PAGE_BYTES as usize];
    let (disks, flash) = (shape.disks.into(), shape.flash.into());
    words(bytes, &[HEAD_MAGIC, VERSION, extent_bytes, disks, flash]);
    seal(bytes);
}

/// Whether this is the head of such a tier; `None` of what is no head.
pub(super) fn is_head_of(bytes: &[u8], extent_bytes: u64, shape: &Shape) -> Option<bool> {
    let bytes = bytes.get(..PAGE_BYTES as usize)?;
    if word(bytes, 0) != HEAD_MAGIC || !is_sealed(bytes) {
        return None;
    }
    let found = [8, 16, 24, 32].map(|at| word(bytes, at));
    Some(found == [VERSION, extent_bytes, shape.disks.into(), shape.flash.into()])
}

fn words(bytes: &mut [u8], words: &[u64]) {
    bytes.fill(0);
    for (at, word) in bytes.chunks_exact_mut(8).zip(words) {
        at.copy_from_slice(&word.to_le_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn seal(bytes: &mut [u8]) {
    let sum = sum(bytes, SUM_AT);
    bytes[SUM_AT..SUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(bytes: &[u8]) -> bool {
    word(bytes, SUM_AT) == sum(bytes, SUM_AT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape { disks: 100, flash: 10, pages: 1, data_at: 1 << 20 };

    proptest! {
        #[test]
        fn a_page_reads_back_and_no_other_page_does(
            mut places in prop::collection::vec(0u32.., 0..1008),
            sequence in 0u64..,
            flipped in 0usize..4096 * 8,
        ) {
            let mut bytes = vec![0xaa; 4096];
            encode(&mut bytes, 3, sequence, &places);
            places.resize(1008, 0);
            prop_assert_eq!(decode(&bytes, 3), Some((sequence, places)));
            prop_assert_eq!(decode(&bytes, 4), None);
            prop_assert_eq!(is_head_of(&bytes, 1 << 20, &SHAPE), None);
            bytes[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert_eq!(decode(&bytes, 3), None);
        }

        #[test]
        fn any_bytes_are_a_page_or_none(bytes in prop::collection::vec(0u8.., 0..5000)) {
            prop_assert_eq!(decode(&bytes, 3), None);
            prop_assert_eq!(is_head_of(&bytes, 1 << 20, &SHAPE), None);
        }
    }

    #[test]
    fn a_head_is_of_one_shape() {
        let mut bytes = vec![0xaa; 4096];
        encode_head(&mut bytes, 1 << 20, &SHAPE);
        assert_eq!(is_head_of(&bytes, 1 << 20, &SHAPE), Some(true));
        assert_eq!(is_head_of(&bytes, 2 << 20, &SHAPE), Some(false));
        assert_eq!(is_head_of(&bytes, 1 << 20, &Shape { flash: 11, ..SHAPE }), Some(false));
        assert_eq!(decode(&bytes, 0), None);
        bytes[4000] ^= 1;
        assert_eq!(is_head_of(&bytes, 1 << 20, &SHAPE), None);
    }
}
