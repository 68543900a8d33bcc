//! What the cleaner reads of a victim: its live blocks, in as few requests as pay.

use super::log::Log;
use crate::{format::Entry, layout::Layout, map::LOST, shape::BLOCK_BYTES};
use block::{Extent, IoError, Payload};

/// Blocks of one read: live ones, and the holes between that cost less than another request.
#[derive(Clone, Debug)]
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

    /// Whether the location was read.
    pub fn holds(&self, location: u32) -> bool {
        (self.location..self.end()).contains(&location)
    }
}

/// Joins blocks in order of location where the hole between is of at most `hole` blocks. A run is
/// no longer than `most`. A map that is damaged may have two blocks at one location: each is read
/// for itself, and its checksum tells whose it is.
fn runs(live: impl Iterator<Item = Live>, hole: u32, most: u32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for next in live {
        let last = runs.last_mut().filter(|run| {
            let behind = next.location.checked_sub(run.end());
            behind.is_some_and(|behind| behind <= hole) && next.location + 1 - run.location <= most
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

/// How a victim's live blocks are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joining {
    /// Blocks of a hole that is read along, at most.
    pub hole: u32,
}

impl Joining {
    fn join(self, log: &Log, live: impl Iterator<Item = Live>) -> Vec<Run> {
        runs(live, self.hole, log.blocks.layout.chunk_blocks)
    }

    /// What is alive of the chunk at `place` with these entries.
    pub fn of_chunk(self, log: &Log, place: u32, entries: &[Entry]) -> Vec<Run> {
        let with_data = entries.iter().filter(|entry| entry.kind.has_data());
        let blocks = with_data.zip(place + log.blocks.layout.header_blocks..);
        let live = blocks.filter(|(entry, location)| {
            entry.block < log.blocks.layout.exported_blocks
                && log.blocks.location(entry.block) == *location
        });
        let live = live.map(|(entry, location)| Live {
            location,
            block: entry.block,
            crc: Some(entry.crc),
        });
        self.join(log, live)
    }

    /// The same for a run that only times and can read no header.
    pub fn by_owner(self, log: &Log, segment: u32, from: u32, end: u32) -> Vec<Run> {
        let first = log.blocks.layout.location(segment);
        let live = (first + from..first + end).filter_map(|location| {
            let block = log.blocks.owner(location);
            let is_live = log.blocks.location(block) == location;
            is_live.then_some(Live { location, block, crc: None })
        });
        self.join(log, live)
    }

    /// What the map has in a segment whose headers are damaged.
    pub fn by_map(self, log: &Log, segment: u32) -> Vec<Run> {
        let map = log.blocks.map();
        let within = map.iter().filter(|&(_, location)| {
            location > LOST && log.blocks.layout.segment_of(location) == segment
        });
        let mut live: Vec<Live> = within
            .map(|(block, location)| Live { location, block, crc: map.get(block).1 })
            .collect();
        live.sort_unstable_by_key(|live| live.location);
        self.join(log, live.into_iter())
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
