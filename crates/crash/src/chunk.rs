//! What a scan reads off a medium: sectors, checksums, chunks.

use flash::{
    BLOCK_BYTES, Layout,
    testing::{Entry, Header, block_crc},
};
use model::Media;

pub(super) struct Chunk {
    pub header: Header,
    pub entries: Vec<Entry>,
    /// First location.
    pub place: u32,
}

/// Sectors one after the other; none if one of them cannot be read.
pub(super) fn bytes_at(medium: &Media, offset: u64, length: u64) -> Option<Vec<u8>> {
    let sector_bytes = u64::from(medium.sector_bytes());
    let mut bytes = Vec::with_capacity(length as usize);
    for sector in offset / sector_bytes..(offset + length) / sector_bytes {
        bytes.extend_from_slice(medium.sector(sector)?);
    }
    Some(bytes)
}

pub(super) fn crc_at(medium: &Media, location: u32, block: u32) -> Option<u32> {
    if u64::from(medium.sector_bytes()) == BLOCK_BYTES {
        return Some(block_crc(block, medium.sector(u64::from(location))?));
    }
    Some(block_crc(block, &bytes_at(medium, Layout::offset(location), BLOCK_BYTES)?))
}
