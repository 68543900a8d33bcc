//! VMware's vscsi records, as CloudPhysics published them: fixed size, little-endian, LBA in
//! sectors of 512 bytes, time in microseconds. The version is the high byte of `ver`.
//!
//! ```text
//!   1: sn u32, len u32, nSG u32, cmd u16, ver u16, lbn u64, ts u64            32 bytes
//!   2: cmd u16, ver u16, sn u32, len u32, nSG u32, lbn u64, ts u64, rt u64    40 bytes
//! ```

use super::{
    Decoder, Found,
    fields::{SECTOR_BYTES, access},
};
use crate::{
    access::{Access, Op},
    error::{Bad, Kind, Place, TraceError},
    source::{Source, unreadable},
    volumes::Volumes,
};
use std::io::Read;

const RECORD_BYTES: [usize; 2] = [32, 40];
/// Where `ver` stands in a record of each version.
const VERSION_AT: [usize; 2] = [14, 2];
/// So many records at least must say their version.
const RECORDS_MIN: usize = 2;
/// SCSI commands by their operation code (SBC-4).
const READS: [u16; 4] = [0x08, 0x28, 0xa8, 0x88];
const WRITES: [u16; 8] = [0x0a, 0x2a, 0xaa, 0x8a, 0x2e, 0x8e, 0x41, 0x93];
const FLUSHES: [u16; 2] = [0x35, 0x91];
const UNMAP: u16 = 0x42;

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from(u16_at(record, at)) | u32::from(u16_at(record, at + 2)) << 16
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at)) | u64::from(u32_at(record, at + 4)) << 32
}

/// Which version's records these are, if any.
pub(super) fn recognise(head: &[u8]) -> Option<u8> {
    [2usize, 1].into_iter().find_map(|version| {
        let records = head.chunks_exact(RECORD_BYTES[version - 1]);
        let is_ours = |record: &[u8]| {
            let (command, at) = if version == 1 { (12, 14) } else { (0, 2) };
            usize::from(u16_at(record, at) >> 8) == version && u16_at(record, command) < 0x100
        };
        let count = records.clone().take(64).count();
        let all = count >= RECORDS_MIN && records.take(64).all(is_ours);
        all.then_some(version as u8)
    })
}

/// A file's records.
pub(super) struct Records {
    source: Source,
    version: u8,
    at: u64,
    next_at: u64,
}

impl Records {
    pub fn new(source: Source, version: u8) -> Self {
        Self { source, version, at: 0, next_at: 0 }
    }

    fn found(&self, record: &[u8], volumes: &mut Volumes) -> Result<Found, Bad> {
        let (command_at, length_at) = if self.version == 1 { (12, 4) } else { (0, 8) };
        let version = u16_at(record, VERSION_AT[usize::from(self.version) - 1]) >> 8;
        if version != u16::from(self.version) {
            let wanted = format!("version {}, as of the first record", self.version);
            return Err(Bad::event("ver", version.into(), &wanted));
        }
        let command = u16_at(record, command_at);
        let (bytes, sector) = (u64::from(u32_at(record, length_at)), u64_at(record, 16));
        let time = u64_at(record, 24);
        let wrong = || Bad::event("ts", time, "microseconds that fit 64 bits as ns");
        let at_ns = time.checked_mul(1000).ok_or_else(wrong)?;
        let op = match command {
            _ if READS.contains(&command) => Op::Read,
            _ if WRITES.contains(&command) => Op::Write,
            _ if FLUSHES.contains(&command) => Op::Flush,
            // Its ranges are in a list that the trace does not have.
            UNMAP => return Ok(Found::Other),
            _ => return Ok(Found::Other),
        };
        let volume = volumes.number("0")?;
        if op == Op::Flush {
            return Ok(Found::Access(Access { at_ns, op, volume, offset: 0, bytes: 0 }));
        }
        let offset = sector.checked_mul(SECTOR_BYTES);
        let offset = offset.ok_or_else(|| Bad::event("lbn", sector, "below 2^55"))?;
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

impl Decoder for Records {
    fn next(&mut self, volumes: &mut Volumes) -> Result<Found, TraceError> {
        self.at = self.next_at;
        let wanted = RECORD_BYTES[usize::from(self.version) - 1];
        let mut record = [0; 40];
        let mut filled = 0;
        while filled < wanted {
            match self.source.read(&mut record[filled..wanted]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(Place::Byte(self.at), &error)),
            }
        }
        if filled == 0 {
            return Ok(Found::End);
        }
        let place = Place::Byte(self.at);
        if filled < wanted {
            let message = format!(
                "the last record is cut off: what is before can be used, cut off by `head -c {}`",
                self.at
            );
            return Err(TraceError { kind: Kind::Cut, place, part: 0, message });
        }
        self.next_at += wanted as u64;
        let found = self.found(&record[..wanted], volumes);
        found.map_err(|bad| TraceError::at(place, bad))
    }

    fn place(&self) -> Place {
        Place::Byte(self.at)
    }
}
