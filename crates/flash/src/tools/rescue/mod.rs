//! What is left of a damaged volume, copied to where it is safe. The drive that it comes from is
//! never written.
//!
//! ```text
//!   survey    every block of the drive: superblocks, roots, chunks       survey.rs
//!   rebuild   the newest map: pages, the log over them, the ring         pages.rs, rebuild.rs, ring.rs
//!   copy out  every block that fits its checksum; else an older version  copy.rs
//! ```
//!
//! What cannot be known: without a root, and without the page that mapped it, a block that was
//! trimmed long ago may come back, because the chunk that said so may have been overwritten; such
//! blocks are *doubtful*. Where a chunk is missing whose number must have been given, nobody knows
//! which blocks were written in it: they come out as they were before, and every block that nothing
//! younger speaks of is doubtful. Chunks that two epochs gave the same number are told apart by
//! where the later epoch's others begin; if none of those is left, the stale tail counts.

mod copy;
mod count;
mod pages;
mod rebuild;
mod ring;
mod survey;

use self::rebuild::Rebuilt;
use super::{ToolError, Watch, scan::Reader};
use crate::{format::VolumeId, shape::BLOCK_BYTES};
use block::{Data, Drive, Engine, IoError, counted, one_or};
use std::ops::Range;

/// Takes a block of the volume, with its offset there. An error ends the copying.
pub type Destination<'a> = dyn FnMut(u64, &[u8]) -> Result<(), IoError> + 'a;

/// What is known beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// Which volume, where the drive held several; else the one of which most is left.
    pub volume: Option<VolumeId>,
    /// Its size, where no superblock is left to say it.
    pub exported_bytes: Option<u64>,
}

/// What the map was rebuilt from, the most trustworthy first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A whole root, its pages, and all chunks behind it: as at every opening.
    Root,
    /// The newest pages that are in chunks, and what chunks say.
    Pages,
    /// Chunks alone.
    Chunks,
}

/// A volume found, and its map rebuilt.
#[derive(Debug)]
pub struct Survey {
    id: VolumeId,
    exported_bytes: u64,
    rebuilt: Rebuilt,
    /// What is known before anything is copied.
    report: RescueReport,
}

/// What was found, and what came of it. Ranges are of the volume's blocks, 4,096 B each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RescueReport {
    /// Of every volume of which something was found, with its chunks; the rescued one first.
    pub volumes: Vec<(VolumeId, u64)>,
    /// Superblocks of the rescued one, wherever they lay.
    pub superblocks: u64,
    /// What its map was rebuilt from.
    pub basis: Basis,
    /// Chunks that count.
    pub chunks: u64,
    /// Chunks of a tail that a later opening had cut off.
    pub chunks_void: u64,
    /// Chunks beyond the end of the log, which no flush had covered.
    pub chunks_cut: u64,
    /// Numbers of chunks that must have been written and are nowhere.
    pub chunks_missing: u64,
    /// Records of the synchronous ring that were flushed, that no chunk holds, and that are
    /// nowhere.
    pub records_missing: u64,
    /// Pages of the map that were meant and are damaged.
    pub pages_damaged: u64,
    /// Of the drive, what could not be read at all.
    pub bytes_unreadable: u64,
    /// Blocks that were copied out and are what was written last, as far as can be known.
    pub recovered: Vec<Range<u32>>,
    /// Blocks that may be older than what was written last, or trimmed since. All were copied out
    /// but those that are not mapped: of these a version lies behind the end of the log, or the
    /// page that said so is damaged.
    pub doubtful: Vec<Range<u32>>,
    /// Blocks that were mapped and of which no version can be read.
    pub lost: Vec<Range<u32>>,
}

impl RescueReport {
    /// Blocks in ranges.
    pub fn blocks(ranges: &[Range<u32>]) -> u64 {
        ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
    }

    /// What cannot be known, and what is missing: a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.volumes.len() > 1 {
            let others: Vec<String> = self.volumes[1..]
                .iter()
                .map(|(id, chunks)| format!("{id} ({})", counted(*chunks, "chunk")))
                .collect();
            notes.push(format!("the drive also holds what is left of {}", others.join(", ")));
        }
        match self.basis {
            Basis::Root => {}
            Basis::Pages => notes.push(
                "no whole root was left: the map was rebuilt from its pages and the log; blocks trimmed in \
                 the log's lost parts may have come back, and are listed as doubtful"
                    .to_owned(),
            ),
            Basis::Chunks => notes.push(
                "neither root nor pages of the map were left: the newest surviving version of each block \
                 counts, and blocks that were trimmed may have come back"
                    .to_owned(),
            ),
        }
        if self.chunks_missing > 0 {
            notes.push(format!(
                "{} of the log {} missing: which blocks were written or trimmed there is not known, and \
                 those read as they were before; all that nothing younger speaks of are listed as \
                 doubtful",
                counted(self.chunks_missing, "chunk"),
                one_or(&self.chunks_missing, "is", "are")
            ));
        }
        if self.records_missing > 0 {
            notes.push(format!(
                "{} of the synchronous ring {} missing: which blocks were written or trimmed there is \
                 not known; all that nothing younger speaks of are listed as doubtful",
                counted(self.records_missing, "record"),
                one_or(&self.records_missing, "is", "are")
            ));
        }
        if self.pages_damaged > 0 {
            notes.push(format!(
                "{} of the map {} damaged: the blocks there were found by the log alone, and those that \
                 it does not speak of are listed as doubtful",
                counted(self.pages_damaged, "page"),
                one_or(&self.pages_damaged, "is", "are")
            ));
        }
        if self.chunks_cut > 0 {
            notes.push(format!(
                "{} behind the end of the log {} not count, as no flush is known to have covered what is \
                 there; the blocks are listed as doubtful",
                counted(self.chunks_cut, "chunk"),
                one_or(&self.chunks_cut, "does", "do")
            ));
        }
        notes
    }
}

/// Reads the whole drive and puts together the newest map of one volume. Writes nothing.
///
/// # Errors
/// [`ToolError::NothingLeft`]; [`ToolError::Io`] where the drive is gone altogether: what cannot be read in
/// places is no error.
pub fn survey(
    source: &mut dyn Engine,
    plan: &Plan,
    watch: &mut Watch,
) -> Result<Survey, ToolError> {
    let below = source.geometry(Drive(0));
    assert_eq!(below.data, Data::Stored, "nothing can be read from a drive that only times");
    let debris = survey::survey(source, watch)?;
    let mut volumes: Vec<(VolumeId, u64)> = debris
        .volumes
        .iter()
        .map(|(id, remains)| (VolumeId(*id), remains.chunks.len() as u64))
        .filter(|(id, chunks)| *chunks > 0 || debris.volumes[&id.0].superblock().is_some())
        .collect();
    volumes.sort_by_key(|&(id, chunks)| (Some(id) != plan.volume, std::cmp::Reverse(chunks)));
    let found = volumes.first().filter(|(id, _)| plan.volume.is_none_or(|wanted| wanted == *id));
    let &(id, _) = found.ok_or(ToolError::NothingLeft)?;
    let device_blocks = (below.capacity_bytes / BLOCK_BYTES).min(u64::from(u32::MAX)) as u32;
    let mut reader = Reader::new(source);
    let (rebuilt, exported_bytes) = Rebuilt::new(&mut reader, &debris, id, plan, device_blocks)?;
    let report = RescueReport {
        volumes,
        superblocks: debris.volumes[&id.0].superblocks.len() as u64,
        basis: rebuilt.basis,
        chunks: rebuilt.counted.chunks.len() as u64,
        chunks_void: rebuilt.counted.void,
        chunks_cut: rebuilt.counted.cut.len() as u64,
        chunks_missing: rebuilt.missing,
        records_missing: rebuilt.records_missing,
        pages_damaged: rebuilt.pages_damaged.len() as u64,
        bytes_unreadable: debris.bytes_unreadable,
        recovered: Vec::new(),
        doubtful: Vec::new(),
        lost: Vec::new(),
    };
    Ok(Survey { id, exported_bytes, rebuilt, report })
}

impl Survey {
    /// The volume's size, as the superblock, the plan, the root or the highest block written say:
    /// how large the destination must be, or may become.
    pub fn exported_bytes(&self) -> u64 {
        self.exported_bytes
    }

    /// Blocks that hold data by the rebuilt map.
    pub fn mapped_blocks(&self) -> u64 {
        u64::from(self.rebuilt.map.mapped())
    }

    /// What is known before anything is copied.
    pub fn report(&self) -> &RescueReport {
        &self.report
    }

    /// Reads every mapped block, gives what fits its checksum to `destination` with its offset in
    /// the volume, and tries older versions of what does not. What is not mapped is not given: the
    /// destination starts empty.
    ///
    /// # Errors
    /// Whatever `destination` returns, as [`ToolError::Io`].
    pub fn copy_out(
        self,
        source: &mut dyn Engine,
        destination: &mut Destination,
        watch: &mut Watch,
    ) -> Result<RescueReport, ToolError> {
        copy::copy_out(self, &mut Reader::new(source), destination, watch)
    }
}
