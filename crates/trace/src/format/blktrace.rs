//! blktrace's binary events (linux/blktrace_api.h), version 7, in the byte order of the machine
//! that wrote them. As in fio, what was queued (Q) is what was asked for; merges, splits and
//! completions are the kernel's own.
//!
//! ```text
//!    0 magic<<8|version u32   4 sequence u32   8 time u64, ns   16 sector u64, 512 B
//!   24 bytes u32   28 action u32   32 pid u32   36 device u32   40 cpu u32
//!   44 error u16   46 payload length u16, then so many bytes
//! ```

use super::{
    Decoder, Format, Found,
    fields::{SECTOR_BYTES, access},
};
use crate::{
    access::{Access, Op},
    error::{Bad, Kind, Place, TraceError},
    source::{Source, unreadable},
    volumes::Volumes,
};
use std::io::{Read, copy, sink};

const EVENT_BYTES: usize = 48;
/// The upper three bytes of the first word: `eat`.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Low half of an action: which step of a request's way it is.
const QUEUED: u32 = 1;
/// Among the bits of the low half, not of the step: the payload names a control group.
const CGROUP: u32 = 1 << 8;
const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
/// A passed-through command: its sector means nothing.
const PASSED: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// Whether these are events, and in which byte order.
pub(super) fn recognise(head: &[u8]) -> Result<Option<Format>, TraceError> {
    let Some(word) = head.first_chunk::<4>() else { return Ok(None) };
    for (word, big_endian) in
        [(u32::from_le_bytes(*word), false), (u32::from_be_bytes(*word), true)]
    {
        if word & !0xff != MAGIC {
            continue;
        }
        let version = word & 0xff;
        if version == VERSION {
            return Ok(Some(Format::Blktrace { big_endian }));
        }
        let message = format!(
            "it is blktrace's binary format in version {version}, and version {VERSION} is read: \
             print it with blkparse and name that text"
        );
        return Err(TraceError { kind: Kind::Version, place: Place::Byte(0), part: 0, message });
    }
    Ok(None)
}

/// A file's events.
pub(super) struct Events {
    source: Source,
    big_endian: bool,
    /// Of the event that was read last.
    at: u64,
    next_at: u64,
    /// The write behind a flush in one event.
    second: Option<Access>,
}

impl Events {
    pub fn new(source: Source, big_endian: bool) -> Self {
        Self { source, big_endian, at: 0, next_at: 0, second: None }
    }

    fn word(&self, event: &[u8; EVENT_BYTES], at: usize) -> u32 {
        let bytes = [event[at], event[at + 1], event[at + 2], event[at + 3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn long(&self, event: &[u8; EVENT_BYTES], at: usize) -> u64 {
        let (a, b) = (u64::from(self.word(event, at)), u64::from(self.word(event, at + 4)));
        if self.big_endian { a << 32 | b } else { b << 32 | a }
    }

    fn error(&self, bad: Bad) -> TraceError {
        TraceError::at(Place::Byte(self.at), bad)
    }

    /// One event with its payload passed over; whether there was one.
    fn read(&mut self, event: &mut [u8; EVENT_BYTES]) -> Result<bool, TraceError> {
        self.at = self.next_at;
        let mut filled = 0;
        while filled < EVENT_BYTES {
            match self.source.read(&mut event[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(Place::Byte(self.at), &error)),
            }
        }
        if filled == 0 {
            return Ok(false);
        }
        if filled < EVENT_BYTES {
            return Err(self.cut());
        }
        let first = self.word(event, 0);
        if first != MAGIC | VERSION {
            let message = format!(
                "an event begins with {first:#010x} and not with {:#010x}: the trace is damaged \
                 here; what is before can be used, cut off by `head -c {}`",
                MAGIC | VERSION,
                self.at
            );
            return Err(self.error(Bad { kind: Kind::Field, message }));
        }
        let low = if self.big_endian { [event[46], event[47]] } else { [event[47], event[46]] };
        let payload = u64::from(u16::from_be_bytes(low));
        let skipped = copy(&mut self.source.by_ref().take(payload), &mut sink());
        let skipped = skipped.map_err(|error| unreadable(Place::Byte(self.at), &error))?;
        if skipped < payload {
            return Err(self.cut());
        }
        self.next_at = self.at + EVENT_BYTES as u64 + payload;
        Ok(true)
    }

    fn cut(&self) -> TraceError {
        let message = format!(
            "the last event is cut off: what is before can be used, cut off by `head -c {}`",
            self.at
        );
        self.error(Bad { kind: Kind::Cut, message })
    }

    fn found(&mut self, event: &[u8; EVENT_BYTES], volumes: &mut Volumes) -> Result<Found, Bad> {
        let action = self.word(event, 28);
        let (step, category) = (action & 0xffff & !CGROUP, action >> CATEGORY_SHIFT);
        if category & NOTIFY != 0 || step != QUEUED || category & PASSED != 0 {
            return Ok(Found::Other);
        }
        let device = self.word(event, 36);
        let volume = volumes.number(&format!("{},{}", device >> 20, device & 0xf_ffff))?;
        let (at_ns, sector) = (self.long(event, 8), self.long(event, 16));
        let bytes = u64::from(self.word(event, 24));
        let flush = Access { at_ns, op: Op::Flush, volume, offset: 0, bytes: 0 };
        if bytes == 0 {
            let is_flush = category & FLUSH != 0;
            return Ok(if is_flush { Found::Access(flush) } else { Found::Other });
        }
        let op = match category {
            _ if category & DISCARD != 0 => Op::Trim,
            _ if category & WRITE != 0 => Op::Write,
            _ => Op::Read,
        };
        let offset = sector.checked_mul(SECTOR_BYTES);
        let offset = offset.ok_or_else(|| Bad::event("sector", sector, "below 2^55"))?;
        let transfer = access(at_ns, op, volume, offset, bytes)?;
        if category & FLUSH == 0 {
            return Ok(Found::Access(transfer));
        }
        self.second = Some(transfer);
        Ok(Found::Access(flush))
    }
}

impl Decoder for Events {
    fn next(&mut self, volumes: &mut Volumes) -> Result<Found, TraceError> {
        if let Some(access) = self.second.take() {
            return Ok(Found::Access(access));
        }
        let mut event = [0; EVENT_BYTES];
        if !self.read(&mut event)? {
            return Ok(Found::End);
        }
        self.found(&event, volumes).map_err(|bad| self.error(bad))
    }

    fn place(&self) -> Place {
        Place::Byte(self.at)
    }
}
