//! Opening without writing: the same steps, up to the map that recovery would arrive at. What
//! `status`, `check` and `resize` go by.

use super::{Located, OpenError, OpenReport, Opening, Step};
use crate::{
    down::Reach,
    format::{Entry, Root, Superblock},
    layout::Layout,
    map::{Map, UNMAPPED},
    segments::Segments,
    volume::replays::Replay,
};
use block::Geometry;
use std::{collections::BTreeMap, ops::Range};

/// What a volume is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To be used: an epoch is reserved, and what was rolled forward is made durable.
    Use,
    /// To be read and never written: what was rolled forward, and what the ring held, stay in
    /// memory.
    Read,
    /// To be looked at: nothing is written.
    Look,
}

impl Purpose {
    pub fn reach(self) -> Reach {
        match self {
            Self::Use => Reach::Change,
            Self::Read | Self::Look => Reach::Read,
        }
    }
}

/// What is on a drive, as opening would find it.
#[derive(Debug)]
pub(crate) struct Look {
    pub superblock: Superblock,
    pub layout: Layout,
    pub root: Root,
    /// With what was rolled forward.
    pub map: Map,
    /// Pages that could not be read: their blocks are lost.
    pub pages_lost: Vec<u32>,
    /// Segments that are free by the root and hold live blocks by the map.
    pub contradictory: Vec<u32>,
    /// With live blocks counted.
    pub segments: Segments,
    pub report: OpenReport,
    /// What is said in chunks behind the log's end.
    pub cut: Vec<Entry>,
    /// Where chunks or records are missing: blocks that something younger speaks of.
    pub known_since_gap: Vec<Range<u32>>,
    /// Blocks that hold data once the ring's records are in the log too, which only an opening that
    /// writes does.
    pub mapped_blocks: u64,
}

impl Opening {
    pub fn look(below: Geometry) -> Self {
        Self::at(below, Step::Superblocks, Purpose::Look)
    }

    /// What was found, once everything is known.
    pub fn into_look(mut self) -> Result<Look, OpenError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        assert_eq!(self.step, Step::Open, "the steps came to their end");
        let Located { superblock, layout } = self.volume.take().expect("the superblock was read");
        let map = self.map.take().expect("the pages were read");
        let known_since_gap = self.known_since_gap();
        let (segments, _, _) = self.segments(&layout, &map);
        let mapped_blocks = mapped_with(&map, &self.replays);
        let Self { root, pages_lost, contradictory, report, cut, .. } = self;
        Ok(Look {
            superblock,
            layout,
            root,
            map,
            pages_lost,
            contradictory,
            segments,
            report,
            cut,
            known_since_gap,
            mapped_blocks,
        })
    }
}

fn mapped_with(map: &Map, replays: &[Replay]) -> u64 {
    let mut changed = BTreeMap::new();
    for replay in replays {
        match *replay {
            Replay::Write(block, _) | Replay::Lost(block) => _ = changed.insert(block, true),
            Replay::Trim(first, end) => {
                changed.range_mut(first..end).for_each(|(_, mapped)| *mapped = false);
                let mut next = map.next_mapped(first, end);
                while let Some(block) = next {
                    changed.insert(block, false);
                    next = map.next_mapped(block + 1, end);
                }
            }
        }
    }
    let before = |block: u32| u64::from(map.get(block).0 != UNMAPPED);
    let changes = changed.iter();
    changes.fold(u64::from(map.mapped()), |mapped, (&block, &now)| {
        mapped + u64::from(now) - before(block)
    })
}
