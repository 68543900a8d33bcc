//! Everything that is alive, held against everything that speaks of it: superblocks, root, map,
//! segment table, chunk headers, checksums. Writes nothing; what a tail would roll forward is
//! rolled forward in memory.

mod findings;
mod segments;

pub use findings::{Finding, Severity};

use self::segments::Segments;
use super::{Status, ToolError, Watch, bits::Bits, look, scan::Reader};
use crate::{
    format::Kind,
    layout::Layout,
    map::LOST,
    segments::State,
    shape::BLOCK_BYTES,
    volume::{CopyState, Look, OpenError},
};
use block::Engine;
use std::{fmt, ops::Range};

/// What a check came to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Nothing was found, or nothing that matters.
    Healthy,
    /// All data are there; using the volume puts it right.
    Repairable,
    /// Data were lost, or may have been.
    Damaged,
    /// It cannot be opened.
    Unusable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Healthy => "healthy",
            Self::Repairable => "all data are there; the next opening repairs the rest",
            Self::Damaged => {
                "damaged: copy the volume with `drivelab flash rescue`, and put back from a backup what is \
                 listed as lost"
            }
            Self::Unusable => "unusable: `drivelab flash rescue` copies out what can be read",
        })
    }
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckReport {
    /// The volume as it stands; none if it cannot be opened.
    pub status: Option<Status>,
    /// The first of what is not as it should be.
    pub findings: Vec<Finding>,
    /// All of it, by [`Severity`] in its order.
    pub counts: [u64; 4],
    /// Live blocks whose data fit their checksum.
    pub blocks_verified: u64,
    /// Pages of the map that fit theirs.
    pub pages_verified: u64,
    /// Headers of chunks in segments with live blocks.
    pub chunks_verified: u64,
    /// Segments that were read.
    pub segments_read: u64,
    /// Read of the data.
    pub bytes_read: u64,
    findings_max: usize,
}

impl CheckReport {
    fn new(findings_max: usize) -> Self {
        Self {
            status: None,
            findings: Vec::new(),
            counts: [0; 4],
            blocks_verified: 0,
            pages_verified: 0,
            chunks_verified: 0,
            segments_read: 0,
            bytes_read: 0,
            findings_max,
        }
    }

    /// How many findings of a severity there are, those not listed included.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts[severity as usize]
    }

    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match self.counts {
            _ if self.status.is_none() => Verdict::Unusable,
            [_, 0, 0, 0] => Verdict::Healthy,
            [_, _, 0, 0] => Verdict::Repairable,
            _ => Verdict::Damaged,
        }
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.last_mut().is_some_and(|last| last.absorb(&finding)) {
            return;
        }
        self.counts[finding.severity() as usize] += 1;
        if self.findings.len() < self.findings_max {
            self.findings.push(finding);
        }
    }
}

/// Reads everything that is alive and lists the first `findings_max` things that are not as they
/// should be.
///
/// # Errors
/// [`ToolError`] where there is nothing to be checked: no volume, one of a newer version, a drive that is
/// too small or offline. A volume that is there and cannot be opened is a finding.
pub fn check(
    engine: &mut dyn Engine,
    findings_max: usize,
    watch: &mut Watch,
) -> Result<CheckReport, ToolError> {
    let mut report = CheckReport::new(findings_max);
    let look = match look(engine, watch) {
        Ok(look) => look,
        Err(ToolError::Open(error @ (OpenError::Root { .. } | OpenError::Shape(_)))) => {
            report.find(Finding::Unopenable(error));
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    report.status = Some(Status::of(&look));
    check_opening(&look, &mut report);
    check_map(&look, &mut report);
    let mut segments = Segments::new(&look, &mut report);
    segments.read(&mut Reader::new(engine), watch)?;
    Ok(report)
}

/// What opening found.
fn check_opening(look: &Look, report: &mut CheckReport) {
    for (copy, state) in (0..).zip(look.report.superblocks) {
        if state != CopyState::Good {
            report.find(Finding::Superblock { copy, state });
        }
    }
    if let Some(offset) = look.report.root_damaged {
        report.find(Finding::Root { offset });
    }
    for &page in &look.pages_lost {
        let (entries, end) = (look.layout.page_entries, look.layout.exported_blocks);
        let offset = Layout::offset(look.root.directory[page as usize].0);
        let first = page * entries;
        let blocks = first..first.saturating_add(entries).min(end);
        report.find(Finding::Page { offset, blocks });
    }
    let opened = &look.report;
    if let Some(tail) = opened.tail {
        report.find(Finding::TailCut(tail));
        for blocks in tail_blocks(look) {
            report.find(Finding::TailBlocks { blocks });
        }
    }
    if opened.tail_unreadable > 0 {
        report.find(Finding::TailUnreadable { places: opened.tail_unreadable });
    }
    if opened.chunks_missing > 0 {
        report.find(Finding::ChunksMissing { chunks: opened.chunks_missing });
    }
    if opened.chunks_missing + opened.records_missing > 0 {
        let known = merged(look.known_since_gap.clone(), look.layout.exported_blocks);
        let starts = std::iter::once(0).chain(known.iter().map(|range| range.end));
        let ends = known.iter().map(|range| range.start).chain([look.layout.exported_blocks]);
        for blocks in starts.zip(ends).map(|(start, end)| start..end).filter(|r| !r.is_empty()) {
            report.find(Finding::MayBeOlder { blocks });
        }
    }
    if opened.records_cut > 0 {
        report.find(Finding::RecordCut);
    }
    if opened.records_missing > 0 {
        report.find(Finding::RecordsMissing { records: opened.records_missing });
    }
    if opened.record_blocks_lost > 0 {
        report.find(Finding::RecordBlocks { blocks: opened.record_blocks_lost });
    }
}

/// The blocks that the host had changed in chunks that do not count, in order, and each once.
fn tail_blocks(look: &Look) -> Vec<Range<u32>> {
    let of_host = look.cut.iter().filter(|entry| matches!(entry.kind, Kind::Write | Kind::Trim));
    let ranges = of_host.map(|entry| {
        let count = if entry.kind == Kind::Trim { entry.argument } else { 1 };
        entry.block..entry.block.saturating_add(count)
    });
    merged(ranges.collect(), look.layout.exported_blocks)
}

/// Those below `end`, in order and joined.
fn merged(mut ranges: Vec<Range<u32>>, end: u32) -> Vec<Range<u32>> {
    ranges.iter_mut().for_each(|range| range.end = range.end.min(end));
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    ranges
}

/// The map against itself and against the segment table.
fn check_map(look: &Look, report: &mut CheckReport) {
    let layout = &look.layout;
    for &segment in &look.contradictory {
        report.find(Finding::FreeSegment {
            offset: Layout::offset(layout.location(segment)),
            live_blocks: look.segments.get(segment).live,
        });
    }
    let mut taken = places(layout);
    for &(location, _) in look.root.directory.iter().filter(|page| page.0 != 0) {
        taken.insert(location);
    }
    for (block, location) in look.map.iter() {
        if location == LOST {
            let page_lost = look.pages_lost.contains(&(block / layout.page_entries));
            if !page_lost {
                report.find(Finding::KnownLost { blocks: block..block + 1 });
            }
            continue;
        }
        let offset = Layout::offset(location);
        let segment = look.segments.get(layout.segment_of(location));
        let at = (location - layout.first_block) % layout.segment_blocks;
        if !taken.insert(location) {
            report.find(Finding::SharedLocation { offset, block });
        } else if segment.state == State::Free || at >= segment.blocks {
            report.find(Finding::Unwritten { offset, block });
        }
    }
}

/// A set of locations.
fn places(layout: &Layout) -> Bits {
    Bits::new(layout.first_block, layout.segments as usize * layout.segment_blocks as usize)
}

/// Bytes of a block, as an index.
const BLOCK: usize = BLOCK_BYTES as usize;
