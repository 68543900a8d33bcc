//! The superblock: what a volume is, and where its newest checkpoint lies.

use super::{Fields, NUMBER_MAX, VERSION, VolumeId, structure_crc, u32_at, u64_at};
use crate::shape::{Checksums, Classes, Parity, Shape};

const MAGIC: &[u8; 8] = b"DLFLASH\0";
pub(super) const CRC_AT: usize = 132;
const BYTES: usize = 4096;

/// A generation of the superblock, without its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// The volume's.
    pub id: VolumeId,
    /// The highest one counts.
    pub generation: u64,
    /// What was chosen at creation, with the size that it has now.
    pub shape: Shape,
    /// Of each root area: fixed at creation, whatever the volume's size becomes.
    pub root_bytes: u64,
    /// Of the last opening that reached its end.
    pub epoch: u32,
    /// The highest ever begun.
    pub epoch_reserved: u32,
    /// First sequence number of `epoch`.
    pub first_seq: u64,
    /// Of the newest root, which says in which area it is.
    pub root_generation: u64,
    /// Every chunk up to this one was durable.
    pub durable_seq: u64,
    /// What of the ring was durable when this was written, in the epoch `epoch`.
    pub ring: RingMark,
    /// What became of the log before `first_seq`.
    pub before: Before,
    /// Whether the volume was stopped cleanly: nothing is rolled forward then.
    pub clean: bool,
}

/// The last record of the ring that is known to be durable. All 0: none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingMark {
    /// Its number.
    pub last: u64,
    /// From here on records were needed then; `last` and 1 where none was.
    pub first: u64,
    /// The last chunk that had its number when `last` was begun.
    pub after: u64,
}

/// What the opening that began `epoch` made of the log before `first_seq`. Who rolls forward over
/// that number must make the same of it, and the ring's records of then are gone. All 0: nobody
/// said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// Whose chunks counted.
    pub epoch: u32,
    /// The ring's newest record that counted, if any did.
    pub record: Option<RecordMark>,
}

/// What decides about chunks of a record of the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordMark {
    /// The last sequence number given when it was begun.
    pub after: u64,
    /// For each stream of the host, how many entries of its open chunk records held then.
    pub recorded: [u16; 2],
}

/// What a block that should be a superblock is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A whole superblock.
    Valid(Superblock),
    /// Not a superblock, or a damaged one.
    Nothing,
    /// Whole, and of a version or with features that this code does not know.
    Unknown {
        /// Its version.
        version: u32,
        /// Its feature bits.
        features: u32,
    },
}

impl Superblock {
    /// The bytes for the copy at `offset`.
    pub fn encode(&self, offset: u64, bytes: &mut [u8]) {
        let bytes = &mut bytes[..BYTES];
        bytes.fill(0);
        let features = u32::from(self.shape.parity == Parity::Protected)
            | u32::from(self.shape.checksums == Checksums::OnRead) << 1;
        let mut fields = Fields(bytes);
        fields.put(0, MAGIC);
        fields.u32(8, VERSION);
        fields.u32(12, features);
        fields.put(16, &self.id.0);
        let shape = &self.shape;
        let wide = [
            (32, offset),
            (40, self.generation),
            (48, shape.device_bytes),
            (56, shape.exported_bytes),
            (64, shape.stripe_bytes),
            (72, shape.erase_unit_bytes),
            (80, shape.segment_bytes),
            (88, shape.chunk_bytes),
            (104, self.first_seq),
            (112, self.root_generation),
            (120, self.durable_seq),
            (136, self.root_bytes),
            (144, shape.ring_bytes),
            (168, self.ring.last),
            (176, self.ring.first),
            (184, self.ring.after),
            (200, self.before.record.map_or(0, |record| record.after + 1)),
        ];
        for (at, value) in wide {
            fields.u64(at, value);
        }
        fields.u32(96, self.epoch);
        fields.u32(100, self.epoch_reserved);
        fields.u32(128, u32::from(self.clean));
        fields.u32(192, self.before.epoch);
        for (at, count) in [196, 198].into_iter().zip(self.before.recorded()) {
            fields.put(at, &count.to_le_bytes());
        }
        fields.put(160, &[shape.classes.host, shape.classes.cleaner]);
        let crc = structure_crc(self.id, offset, bytes, CRC_AT);
        Fields(bytes).u32(CRC_AT, crc);
    }

    /// What the block read at `offset` is.
    pub fn decode(offset: u64, bytes: &[u8]) -> Found {
        let bytes = &bytes[..BYTES];
        if &bytes[..8] != MAGIC {
            return Found::Nothing;
        }
        let id = VolumeId(bytes[16..32].try_into().expect("16 bytes"));
        let sealed = structure_crc(id, offset, bytes, CRC_AT) == u32_at(bytes, CRC_AT);
        if !sealed || u64_at(bytes, 32) != offset {
            return Found::Nothing;
        }
        let (version, features) = (u32_at(bytes, 8), u32_at(bytes, 12));
        if version != VERSION || features > 3 {
            return Found::Unknown { version, features };
        }
        let wide = |at| u64_at(bytes, at);
        let shape = Shape {
            device_bytes: wide(48),
            exported_bytes: wide(56),
            stripe_bytes: wide(64),
            erase_unit_bytes: wide(72),
            segment_bytes: wide(80),
            chunk_bytes: wide(88),
            ring_bytes: wide(144),
            parity: if features & 1 == 1 { Parity::Protected } else { Parity::None },
            checksums: if features & 2 == 2 { Checksums::OnRead } else { Checksums::OnCleaning },
            classes: Classes { host: bytes[160], cleaner: bytes[161] },
        };
        let unit =
            |bytes: u64| bytes > 0 && bytes.is_multiple_of(4096) && bytes <= shape.device_bytes;
        let possible = |at| wide(at) < NUMBER_MAX;
        if ![40, 104, 112, 120, 168, 176, 184, 200].into_iter().all(possible)
            || u32_at(bytes, 100) == u32::MAX
        {
            return Found::Nothing;
        }
        if !unit(shape.stripe_bytes) || !unit(shape.erase_unit_bytes) {
            return Found::Nothing;
        }
        Found::Valid(Self {
            id,
            generation: wide(40),
            shape,
            root_bytes: wide(136),
            epoch: u32_at(bytes, 96),
            epoch_reserved: u32_at(bytes, 100),
            first_seq: wide(104),
            root_generation: wide(112),
            durable_seq: wide(120),
            ring: RingMark { last: wide(168), first: wide(176), after: wide(184) },
            before: Before::decode(bytes),
            clean: u32_at(bytes, 128) == 1,
        })
    }
}

impl Before {
    fn decode(superblock: &[u8]) -> Self {
        let count =
            |at: usize| u16::from_le_bytes(superblock[at..at + 2].try_into().expect("two bytes"));
        let recorded = [count(196), count(198)];
        let after = u64_at(superblock, 200).checked_sub(1);
        let record = after.map(|after| RecordMark { after, recorded });
        Self { epoch: u32_at(superblock, 192), record }
    }

    fn recorded(&self) -> [u16; 2] {
        self.record.map_or([0; 2], |record| record.recorded)
    }

    /// Whether that opening said so.
    pub fn is_known(&self) -> bool {
        self.epoch != 0
    }
}
