//! How a volume that is not in use stands.

use super::{ToolError, Watch, look};
use crate::{
    format::VolumeId,
    layout::Layout,
    lifetime::Lifetime,
    map::LOST,
    segments::{Segments, State},
    volume::{Look, OpenReport},
};
use block::Engine;
use std::ops::Range;

/// How many segments are in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentCounts {
    /// To be written next: the clean pool.
    pub free: u64,
    /// Where the streams go on.
    pub open: u64,
    /// Written, with live blocks.
    pub closed: u64,
    /// Empty; the next checkpoint sets them free.
    pub prefree: u64,
    /// A write to them failed.
    pub retired: u64,
}

/// A volume as it stands on its drive, with what the next opening would roll forward.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Of the volume.
    pub id: VolumeId,
    /// Where everything is, and how much must stay free.
    pub layout: Layout,
    /// What opening found, or would find: whether it was stopped cleanly, and what is damaged.
    pub report: OpenReport,
    /// Counts since creation.
    pub lifetime: Lifetime,
    /// Openings that began, creation included.
    pub openings: u32,
    /// Blocks of the volume that hold data.
    pub mapped_blocks: u64,
    /// Blocks whose data were lost: reading them is an error.
    pub lost_blocks: u64,
    /// Those of them that the map names, in order.
    pub lost: Vec<Range<u32>>,
    /// By state.
    pub segments: SegmentCounts,
    /// Chunks ever appended: the last sequence number.
    pub last_seq: u64,
}

impl Status {
    /// Share of the volume that holds data, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.mapped_blocks as f64 / f64::from(self.layout.exported_blocks)
    }

    /// Share of the segments' space that holds no data of the volume's, 0 to 1: what decides write
    /// amplification.
    pub fn spare(&self) -> f64 {
        let blocks = u64::from(self.layout.segments) * u64::from(self.layout.segment_blocks);
        1.0 - self.mapped_blocks as f64 / blocks as f64
    }

    /// Bytes that can be written before anything must be cleaned.
    pub fn clean_pool_bytes(&self) -> u64 {
        self.segments.free * self.layout.shape.segment_bytes
    }

    /// Share of what was written to the drive that was padding, 0 to 1; none before anything was.
    pub fn padding(&self) -> Option<f64> {
        let Lifetime { padding_blocks, drive_blocks, .. } = self.lifetime;
        (drive_blocks > 0).then(|| padding_blocks as f64 / drive_blocks as f64)
    }

    /// How often the whole drive was written.
    pub fn drive_writes(&self) -> f64 {
        self.lifetime.drive_writes(self.layout.shape.device_bytes)
    }
}

/// Reads superblocks, root and map, and rolls forward in memory. Writes nothing.
///
/// # Errors
/// [`ToolError`], with the cure.
pub fn status(engine: &mut dyn Engine, watch: &mut Watch) -> Result<Status, ToolError> {
    let look = look(engine, watch)?;
    Ok(Status::of(&look))
}

impl Status {
    pub(super) fn of(look: &Look) -> Self {
        let lost = lost(look);
        let lost_count: u64 = lost.iter().map(|range| range.len() as u64).sum();
        let lost_blocks = lost_count + look.report.record_blocks_lost;
        Self {
            id: look.superblock.id,
            layout: look.layout,
            report: look.report,
            lifetime: look.root.lifetime,
            openings: look.superblock.epoch_reserved,
            mapped_blocks: look.mapped_blocks.saturating_sub(lost_blocks),
            lost_blocks,
            lost,
            segments: SegmentCounts::of(&look.segments),
            last_seq: look.report.first_seq - 1,
        }
    }
}

/// Blocks that the map calls lost, in ranges.
fn lost(look: &Look) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (block, _) in look.map.iter().filter(|&(_, location)| location == LOST) {
        match ranges.last_mut().filter(|range| range.end == block) {
            Some(range) => range.end += 1,
            None => ranges.push(block..block + 1),
        }
    }
    ranges
}

impl SegmentCounts {
    fn of(segments: &Segments) -> Self {
        let mut counts = Self::default();
        for (_, segment) in segments.iter() {
            let count = match segment.state {
                State::Free => &mut counts.free,
                State::Open => &mut counts.open,
                State::Closed => &mut counts.closed,
                State::Prefree => &mut counts.prefree,
                State::Retired => &mut counts.retired,
            };
            *count += 1;
        }
        counts
    }
}
