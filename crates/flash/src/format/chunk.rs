//! The chunk: what is appended to the log in one write.

use super::{Fields, NUMBER_MAX, VERSION, VolumeId, structure_crc, u16_at, u32_at, u64_at};
use crate::lifetime::Lifetime;

const MAGIC: u32 = u32::from_le_bytes(*b"DLch");
pub(super) const CRC_AT: usize = 60;
/// The header without its entries.
pub const HEADER_BYTES: usize = 64;
/// One entry.
pub const ENTRY_BYTES: usize = 16;

/// What an entry does to the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The host wrote the block.
    Write,
    /// The cleaner copied it from the location in the argument.
    Copy,
    /// The argument says how many blocks are no longer mapped.
    Trim,
    /// The cleaner could not read the location in the argument.
    Lost,
    /// A page of the map.
    Page,
}

impl Kind {
    /// Whether a block of data goes with it.
    pub fn has_data(self) -> bool {
        matches!(self, Self::Write | Self::Copy | Self::Page)
    }

    /// Whether it is a block of the volume's.
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::Write | Self::Copy)
    }

    fn code(self) -> u8 {
        match self {
            Self::Write => 1,
            Self::Copy => 2,
            Self::Trim => 3,
            Self::Lost => 4,
            Self::Page => 5,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::Write, Self::Copy, Self::Trim, Self::Lost, Self::Page]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// One entry of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Of the volume, or the first of those trimmed; for a page of the map its number.
    pub block: u32,
    /// What it does to the map.
    pub kind: Kind,
    /// A location or a number of blocks, by kind.
    pub argument: u32,
    /// Of the data, with the block's number; see [`super::block_crc`].
    pub crc: u32,
}

impl Entry {
    pub(crate) fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let kind = Kind::from_code(bytes[at + 4])?;
        let (block, argument, crc) =
            (u32_at(bytes, at), u32_at(bytes, at + 8), u32_at(bytes, at + 12));
        Some(Self { block, kind, argument, crc })
    }
}

pub(super) fn put_entry(fields: &mut Fields<'_>, at: usize, entry: &Entry) {
    fields.u32(at, entry.block);
    fields.put(at + 4, &[entry.kind.code()]);
    fields.u32(at + 8, entry.argument);
    fields.u32(at + 12, entry.crc);
}

/// A chunk's header, without its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Who appended it: a class of the host's or the cleaner's, or the map.
    pub stream: u8,
    /// 0, and one more wherever it was written anew because a write had failed.
    pub attempt: u8,
    /// Its sequence number.
    pub seq: u64,
    /// Every chunk up to this one was durable when it was written.
    pub durable_seq: u64,
    /// Of the opening that wrote it.
    pub epoch: u32,
    /// Length with padding.
    pub blocks: u32,
    /// So many of its entries count even where the next chunk of the host's other class is lost.
    pub sure: u16,
}

/// Puts header and entries to the front of the chunk that goes to `offset`.
pub fn encode_chunk(
    id: VolumeId,
    offset: u64,
    header: &Header,
    entries: &[Entry],
    header_bytes: usize,
    bytes: &mut [u8],
) {
    let bytes = &mut bytes[..header_bytes];
    bytes.fill(0);
    let mut fields = Fields(bytes);
    fields.u32(0, MAGIC);
    fields.put(4, &(VERSION as u16).to_le_bytes());
    fields.put(6, &[header.stream, header.attempt]);
    fields.put(8, &id.0);
    fields.u64(24, offset);
    fields.u64(32, header.seq);
    fields.u64(40, header.durable_seq);
    fields.u32(48, header.epoch);
    fields.put(52, &(entries.len() as u16).to_le_bytes());
    fields.put(54, &header.sure.to_le_bytes());
    fields.u32(56, header.blocks);
    for (entry, index) in entries.iter().zip(0..) {
        put_entry(&mut fields, HEADER_BYTES + index * ENTRY_BYTES, entry);
    }
    let end = HEADER_BYTES + entries.len() * ENTRY_BYTES;
    let crc = structure_crc(id, offset, &bytes[..end], CRC_AT);
    Fields(bytes).u32(CRC_AT, crc);
}

/// The header and entries of the chunk at `offset`, if there is one. `bytes` holds at least its
/// header.
pub fn decode_chunk(id: VolumeId, offset: u64, bytes: &[u8]) -> Option<(Header, Vec<Entry>)> {
    if u32_at(bytes, 0) != MAGIC || u32::from(u16_at(bytes, 4)) != VERSION {
        return None;
    }
    let count = usize::from(u16_at(bytes, 52));
    let end = HEADER_BYTES + count.checked_mul(ENTRY_BYTES)?;
    if end > bytes.len()
        || u64_at(bytes, 24) != offset
        || bytes[8..24] != id.0
        || structure_crc(id, offset, &bytes[..end], CRC_AT) != u32_at(bytes, CRC_AT)
    {
        return None;
    }
    let entries: Option<Vec<_>> =
        (HEADER_BYTES..end).step_by(ENTRY_BYTES).map(|at| Entry::read(bytes, at)).collect();
    let header = Header {
        stream: bytes[6],
        attempt: bytes[7],
        seq: u64_at(bytes, 32),
        durable_seq: u64_at(bytes, 40),
        epoch: u32_at(bytes, 48),
        blocks: u32_at(bytes, 56),
        sure: u16_at(bytes, 54),
    };
    let possible = header.seq.max(header.durable_seq) < NUMBER_MAX;
    Some((header, entries.filter(|_| possible)?))
}

/// A chunk with these entries goes to the drive.
pub fn count_chunk(lifetime: &mut Lifetime, entries: &[Entry], header_blocks: u32, blocks: u32) {
    let mut data_blocks = 0;
    for entry in entries {
        let count = match entry.kind {
            Kind::Write => &mut lifetime.host_blocks,
            Kind::Copy => &mut lifetime.copied_blocks,
            Kind::Page => &mut lifetime.page_blocks,
            Kind::Trim | Kind::Lost => continue,
        };
        *count += 1;
        data_blocks += 1;
    }
    lifetime.header_blocks += u64::from(header_blocks);
    lifetime.padding_blocks += u64::from(blocks) - u64::from(header_blocks) - data_blocks;
    lifetime.drive_blocks += u64::from(blocks);
}
