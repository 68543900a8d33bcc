//! A record of the synchronous ring: what open chunks of the host hold and no earlier record does.

use super::{
    ENTRY_BYTES, Entry, Fields, Kind, NUMBER_MAX, VERSION, VolumeId, put_entry, structure_crc,
    u16_at, u32_at, u64_at,
};

const MAGIC: u32 = u32::from_le_bytes(*b"DLrc");
pub(super) const CRC_AT: usize = 84;
pub(super) const HEADER_BYTES: usize = 96;
const BLOCK_BYTES: usize = 4096;
/// Entries that a record's header has room for.
pub const RECORD_ENTRIES: usize = (BLOCK_BYTES - HEADER_BYTES) / ENTRY_BYTES;

/// A record's header, without its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordHeader {
    /// 1, 2, 3, ... in an epoch.
    pub number: u64,
    /// The last chunk that had its number when this was written: the entries are newer than those
    /// of all the host's chunks up to it.
    pub after: u64,
    /// This record and all from here on are needed until their chunks are durable.
    pub first: u64,
    /// Every chunk up to this one was durable, and every record before this one.
    pub durable_seq: u64,
    /// So many entries of the open chunk of each of the host's streams are in this record and those
    /// before it.
    pub recorded: [u16; 2],
    /// Of the opening that wrote it.
    pub epoch: u32,
    /// Length: the header and the data.
    pub blocks: u32,
}

/// Records that were durable, that no chunk is known to hold, and that are nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissingRecords {
    pub count: u64,
    /// The highest number of one; 0: none is missing.
    pub last: u64,
    /// Of the record behind that one: every chunk of the host's with a higher number is younger.
    pub after: u64,
}

impl MissingRecords {
    /// What lies between the records that are there, (number, after) of each in order: those that
    /// `first` says are needed, up to `end`, whose own `after` is `end_after`. A record whose
    /// successor was begun before chunk `held` is in a chunk. Gaps are counted as a whole: numbers
    /// may be forged, and then there are more than anybody could count one by one.
    pub fn between(
        records: impl Iterator<Item = (u64, u64)>,
        first: u64,
        end: u64,
        end_after: u64,
        held: u64,
    ) -> Self {
        let mut missing = Self::default();
        let mut next = first.max(1);
        for (number, after) in records.chain([(end, end_after)]) {
            let gap = next..number.min(end);
            if !gap.is_empty() && after >= held {
                let count = missing.count + (gap.end - gap.start);
                missing = Self { count, last: gap.end - 1, after };
            }
            next = next.max(number + 1);
        }
        missing
    }
}

/// Puts header and entries, each with the number of its stream, into the first block of the record
/// that goes to `offset`.
pub fn encode_record<'a>(
    id: VolumeId,
    offset: u64,
    header: &RecordHeader,
    entries: impl Iterator<Item = (u8, &'a Entry)>,
    bytes: &mut [u8],
) {
    let bytes = &mut bytes[..BLOCK_BYTES];
    bytes.fill(0);
    let mut fields = Fields(bytes);
    let mut end = HEADER_BYTES;
    for (stream, entry) in entries {
        put_entry(&mut fields, end, entry);
        fields.put(end + 5, &[stream]);
        end += ENTRY_BYTES;
    }
    fields.u32(0, MAGIC);
    fields.put(4, &(VERSION as u16).to_le_bytes());
    fields.put(8, &id.0);
    fields.u64(24, offset);
    fields.u64(32, header.number);
    fields.u64(40, header.after);
    fields.u64(48, header.first);
    fields.u64(56, header.durable_seq);
    fields.put(64, &header.recorded[0].to_le_bytes());
    fields.put(66, &header.recorded[1].to_le_bytes());
    fields.u32(72, header.epoch);
    fields.u32(76, ((end - HEADER_BYTES) / ENTRY_BYTES) as u32);
    fields.u32(80, header.blocks);
    let crc = structure_crc(id, offset, &bytes[..end], CRC_AT);
    Fields(bytes).u32(CRC_AT, crc);
}

/// The header and entries of the record at `offset`, if there is one. `bytes` holds at least its
/// first block.
pub fn decode_record(
    id: VolumeId,
    offset: u64,
    bytes: &[u8],
) -> Option<(RecordHeader, Vec<(u8, Entry)>)> {
    if u32_at(bytes, 0) != MAGIC || u32::from(u16_at(bytes, 4)) != VERSION {
        return None;
    }
    let count = u32_at(bytes, 76) as usize;
    let end = HEADER_BYTES + count * ENTRY_BYTES;
    if count > RECORD_ENTRIES
        || u64_at(bytes, 24) != offset
        || bytes[8..24] != id.0
        || structure_crc(id, offset, &bytes[..end], CRC_AT) != u32_at(bytes, CRC_AT)
    {
        return None;
    }
    let entry = |at: usize| {
        let entry = Entry::read(bytes, at)?;
        matches!(entry.kind, Kind::Write | Kind::Trim).then_some((bytes[at + 5], entry))
    };
    let entries: Option<Vec<_>> = (HEADER_BYTES..end).step_by(ENTRY_BYTES).map(entry).collect();
    let header = RecordHeader {
        number: u64_at(bytes, 32),
        after: u64_at(bytes, 40),
        first: u64_at(bytes, 48),
        durable_seq: u64_at(bytes, 56),
        recorded: [u16_at(bytes, 64), u16_at(bytes, 66)],
        epoch: u32_at(bytes, 72),
        blocks: u32_at(bytes, 80),
    };
    let numbers = [header.number, header.after, header.first, header.durable_seq];
    if numbers.into_iter().any(|number| number >= NUMBER_MAX) {
        return None;
    }
    let with_data = |entries: &Vec<(u8, Entry)>| {
        entries.iter().filter(|(_, entry)| entry.kind.has_data()).count()
    };
    let entries = entries.filter(|entries| with_data(entries) + 1 == header.blocks as usize)?;
    Some((header, entries))
}

#[cfg(test)]
mod tests {
    use super::MissingRecords;
    use block::Rng;
    use std::collections::BTreeMap;

    /// The same, one by one.
    fn counted(
        records: &BTreeMap<u64, u64>,
        first: u64,
        end: u64,
        end_after: u64,
        held: u64,
    ) -> MissingRecords {
        let mut missing = MissingRecords::default();
        for number in first.max(1)..end {
            let after = records.range(number..).next().map_or(end_after, |(_, &after)| after);
            if !records.contains_key(&number) && after >= held {
                missing = MissingRecords { count: missing.count + 1, last: number, after };
            }
        }
        missing
    }

    #[test]
    fn gaps_counted_as_a_whole_are_those_counted_one_by_one() {
        let mut rng = Rng::new(1, 168);
        for _ in 0..20_000 {
            let mut after = 0;
            let mut records = BTreeMap::new();
            for number in 1..rng.below(20) {
                after += rng.below(3);
                if rng.below(3) > 0 {
                    records.insert(number, after);
                }
            }
            let newest = records.last_key_value().map_or(0, |(&number, _)| number);
            let (first, end) = (rng.below(22), newest.max(rng.below(24)));
            let (end_after, held) = (after + rng.below(3), rng.below(after + 4));
            let pairs = records.iter().map(|(&number, &after)| (number, after));
            let found = MissingRecords::between(pairs, first, end, end_after, held);
            let wanted = counted(&records, first, end, end_after, held);
            assert_eq!(found, wanted, "{records:?}, {first}..{end}, {end_after}, {held}");
        }
    }
}
