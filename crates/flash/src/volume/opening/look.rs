//! Opening without writing: the same steps, up to the map that recovery would arrive at. What `status`,
//! `check` and `resize` go by.

use super::{Located, OpenError, OpenReport, Opening, Step};
use crate::{
    format::{Root, Superblock},
    layout::Layout,
    map::Map,
    segments::Segments,
};
use block::Geometry;

/// What a volume is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To be used: an epoch is reserved, and what was rolled forward is made durable.
    Use,
    /// To be looked at: nothing is written.
    Look,
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
}

impl Opening {
    pub fn look(below: Geometry) -> Self {
        Self { purpose: Purpose::Look, ..Self::at(below, Step::Superblocks) }
    }

    /// What was found, once everything is known.
    pub fn into_look(mut self) -> Result<Look, OpenError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        assert_eq!(self.step, Step::Open, "the steps came to their end");
        let Located { superblock, layout } = self.volume.take().expect("the superblock was read");
        let map = self.map.take().expect("the pages were read");
        let (segments, _, _) = self.segments(&layout, &map);
        let Self { root, pages_lost, contradictory, report, .. } = self;
        Ok(Look { superblock, layout, root, map, pages_lost, contradictory, segments, report })
    }
}
