//! What the cleaner reads of a victim: its live blocks, in as few requests as pay.

use super::core::Core;
use crate::{
    format::Entry,
    layout::{BLOCK_BYTES, Layout},
    map::LOST,
};
use block::{Extent, IoError, Payload};

/// Blocks of one read: live ones, and the holes between that cost less than another request.
#[derive(Debug)]
pub(super) struct Run {
    pub location: u32,
    /// With the holes.
    pub length: u32,
    pub live: Vec<Live>,
    pub data: Payload,
    pub error: Option<IoError>,
    pub attempts: u8,
    pub state: Reading,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub location: u32,
    pub block: u32,
    /// None where neither header nor map knows one.
    pub crc: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    Waiting,
    Asked,
    Here,
}

impl Run {
    pub fn new(first: Live) -> Self {
        Self {
            location: first.location,
            length: 1,
            live: vec![first],
            data: Payload::None,
            error: None,
            attempts: 0,
            state: Reading::Waiting,
        }
    }

    pub fn extent(&self) -> Extent {
        let bytes = self.length * BLOCK_BYTES as u32;
        Extent { offset: Layout::offset(self.location), bytes }
    }

    fn end(&self) -> u32 {
        self.location + self.length
    }
}

/// Joins blocks in order of location where the hole between is of at most `hole` blocks. A run is
/// no longer than `most`.
fn runs(live: impl Iterator<Item = Live>, hole: u32, most: u32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for next in live {
        let last = runs.last_mut().filter(|run| {
            next.location - run.end() <= hole && next.location + 1 - run.location <= most
        });
        match last {
            Some(run) => {
                run.length = next.location + 1 - run.location;
                run.live.push(next);
            }
            None => runs.push(Run::new(next)),
        }
    }
    runs
}

impl Core {
    fn join(&self, live: impl Iterator<Item = Live>) -> Vec<Run> {
        let hole = self.settings.hole_bytes / BLOCK_BYTES;
        runs(live, hole.min(u64::from(u32::MAX)) as u32, self.layout.chunk_blocks)
    }

    /// What is alive of the chunk at `place` with these entries.
    pub fn runs_of_chunk(&self, place: u32, entries: &[Entry]) -> Vec<Run> {
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        let blocks = with_data.zip(place + self.layout.header_blocks..);
        let live = blocks.filter(|(entry, location)| {
            entry.block < self.layout.exported_blocks && self.map.get(entry.block).0 == *location
        });
        self.join(live.map(|(entry, location)| Live {
            location,
            block: entry.block,
            crc: Some(entry.crc),
        }))
    }

    /// The same for a run that only times and can read no header.
    pub fn runs_by_owner(&self, segment: u32, from: u32, end: u32) -> Vec<Run> {
        let owners = self.owners.as_ref().expect("a run that only times knows the owners");
        let first = self.layout.location(segment);
        let live = (first + from..first + end).filter_map(|location| {
            let block = owners[(location - self.layout.first_block) as usize];
            (self.map.get(block).0 == location).then_some(Live { location, block, crc: None })
        });
        self.join(live)
    }

    /// What the map has in a segment whose headers are damaged.
    pub fn runs_by_map(&self, segment: u32) -> Vec<Run> {
        let within = self.map.iter().filter(|&(_, location)| {
            location > LOST && self.layout.segment_of(location) == segment
        });
        let mut live: Vec<Live> = within
            .map(|(block, location)| Live { location, block, crc: self.map.get(block).1 })
            .collect();
        live.sort_unstable_by_key(|live| live.location);
        self.join(live.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(places: &[u32], hole: u32, most: u32) -> Vec<(u32, u32)> {
        let live = places.iter().map(|&location| Live { location, block: 0, crc: None });
        runs(live, hole, most).iter().map(|run| (run.location, run.length)).collect()
    }

    #[test]
    fn a_hole_is_read_where_it_is_short_and_the_read_not_too_long() {
        let places = [10, 11, 13, 16, 17, 18, 19];
        assert_eq!(lengths(&places, 0, 100), [(10, 2), (13, 1), (16, 4)]);
        assert_eq!(lengths(&places, 1, 100), [(10, 4), (16, 4)]);
        assert_eq!(lengths(&places, 2, 100), [(10, 10)]);
        assert_eq!(lengths(&places, 2, 9), [(10, 9), (19, 1)]);
    }
}
