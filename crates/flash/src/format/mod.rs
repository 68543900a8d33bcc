//! What lies on the drive, byte by byte: `docs/reference/flash-format.md` in code. Bytes in,
//! structures out; nothing here knows where they came from.

mod chunk;
mod record;
mod root;
mod superblock;

use std::fmt;

use chunk::put_entry;
pub(crate) use chunk::{ENTRY_BYTES, HEADER_BYTES, count_chunk, encode_chunk};
pub use chunk::{Entry, Header, Kind, decode_chunk};
pub(crate) use record::{MissingRecords, RECORD_ENTRIES, encode_record};
pub use record::{RecordHeader, decode_record};
pub(crate) use root::{PAYLOAD_BYTES, RootStream, root_block_generation};
pub use root::{Root, SegmentRecord, decode_root, encode_root};
pub use superblock::{Before, Found, RecordMark, RingMark, Superblock};

/// Tells volumes apart: random, chosen at creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VolumeId(pub [u8; 16]);

/// 32 hexadecimal digits.
impl fmt::Display for VolumeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The version of the format that this code writes and reads.
pub const VERSION: u32 = 1;

/// Sequence numbers, generations and counts on the drive are below this: at a thousand million a
/// second nobody gets there in a hundred years, and who adds one need not look.
const NUMBER_MAX: u64 = 1 << 62;

/// A structure's CRC: over its identity (volume, own offset) and its bytes, the field at `field`
/// taken as 0.
fn structure_crc(id: VolumeId, offset: u64, bytes: &[u8], field: usize) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&id.0), &offset.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &bytes[..field]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc32c::crc32c_append(crc, &bytes[field + 4..])
}

/// A block's CRC: over its number and its data, so that another block's data are no substitute.
pub fn block_crc(block: u32, data: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&u64::from(block).to_le_bytes()), data)
}

/// Gives the structure that a block seems to be a good checksum, as that volume's in that place:
/// what a forger can do, and a fuzzer must.
#[cfg(feature = "testing")]
pub fn reseal(id: VolumeId, offset: u64, block: &mut [u8]) {
    let with_entries = |start: usize, count: usize| start + count * ENTRY_BYTES;
    let (crc_at, end) = match &block[..4] {
        b"DLFL" => (superblock::CRC_AT, block.len()),
        b"DLrt" => (root::CRC_AT, block.len()),
        b"DLch" => (chunk::CRC_AT, with_entries(HEADER_BYTES, u16_at(block, 52).into())),
        b"DLrc" => (
            record::CRC_AT,
            with_entries(record::HEADER_BYTES, (u32_at(block, 76) as usize).min(block.len())),
        ),
        _ => return,
    };
    let end = end.min(block.len());
    let crc = structure_crc(id, offset, &block[..end], crc_at);
    Fields(block).u32(crc_at, crc);
}

/// Numbers at fixed places.
struct Fields<'a>(&'a mut [u8]);

impl Fields<'_> {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn u32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    fn u64(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_le_bytes());
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
