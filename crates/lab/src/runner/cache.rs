//! What the page cache had to do with a pass: how much of the area lay in it before and after, what
//! the program had fetched from storage meanwhile, and what of the reads and writes was therefore
//! the drive's.

use super::pass::PassDone;
use crate::{
    method::{CacheState, CellBound, CellSpec, FinalFlush},
    target::Observation,
    workload::{Area, Caching, Op, Pattern, Stream, Syncing},
};
use record::{CachePass, TargetInfo};
use std::ops::Range;

/// File systems that read in the reader's own name, so that the kernel counts it as the reader's
/// (`task_io_account_read` in block/blk-core.c). Others leave it to threads of theirs.
const COUNTED_KINDS: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat"];

/// All that the cell's streams work on, and what lies in between.
pub(super) fn hull(areas: &[Area]) -> Range<u64> {
    let start = areas.iter().map(|area| area.offset).min().unwrap_or(0);
    let end = areas.iter().map(|area| area.offset + area.bytes).max().unwrap_or(0);
    start..end
}

/// Bytes that all streams of the cell read and wrote together.
pub(super) fn moved(cell: &CellSpec, done: &PassDone) -> (u64, u64) {
    let sum = |share: fn(Op) -> f64| {
        let each = cell.streams.iter().zip(&done.streams);
        each.map(|(stream, pass)| (pass.bytes as f64 * share(stream.op)) as u64).sum()
    };
    (sum(read_share), sum(Op::written_share))
}

fn read_share(op: Op) -> f64 {
    match op {
        Op::ReadModifyWrite | Op::ReadDirty { .. } => 1.0,
        Op::Trim => 0.0,
        _ => 1.0 - op.written_share(),
    }
}

/// For each stream that goes through the page cache, where that can be looked into.
pub(super) fn look(
    cell: &CellSpec,
    target: &TargetInfo,
    areas: &[Area],
    done: &PassDone,
    seen: (Observation, Observation),
) -> Vec<Option<CachePass>> {
    let hull = hull(areas);
    let view =
        View { cell, target, area_bytes: hull.end - hull.start, moved: moved(cell, done), seen };
    cell.streams.iter().map(|stream| view.of(stream)).collect()
}

/// One pass over a cell, as the page cache saw it.
struct View<'a> {
    cell: &'a CellSpec,
    target: &'a TargetInfo,
    area_bytes: u64,
    /// Read and written, bytes.
    moved: (u64, u64),
    /// Before and after.
    seen: (Observation, Observation),
}

impl View<'_> {
    fn of(&self, stream: &Stream) -> Option<CachePass> {
        let buffered = stream.io.caching == Caching::Buffered || stream.engine.is_stdio();
        if !buffered || self.cell.tree.is_some() || self.area_bytes == 0 {
            return None;
        }
        let (before, after) = self.seen;
        // The cache holds whole pages, and so perhaps more than the area.
        let inside = |bytes: u64| bytes.min(self.area_bytes);
        let mut found = CachePass {
            area_bytes: self.area_bytes,
            dropped: match self.cell.cache {
                CacheState::Dropped(means) => Some(means),
                CacheState::AsIs => None,
            },
            resident_before_bytes: inside(before.resident_bytes?),
            resident_after_bytes: inside(after.resident_bytes?),
            dirty_after_bytes: after.dirty_bytes.map(inside),
            fetched_bytes: self.fetched_bytes(),
            cached_share: None,
            fetched_share: None,
            unwritten_share: None,
            durable: None,
        };
        if read_share(stream.op) > 0.0 && self.moved.0 > 0 {
            let (cached, fetched) = self.answered(&found);
            (found.cached_share, found.fetched_share) = (Some(cached), Some(fetched));
        }
        if stream.op.stores() {
            let durable = self.is_durable(stream);
            found.durable = Some(durable);
            found.unwritten_share = self.unwritten_share(durable, found.dirty_after_bytes);
        }
        Some(found)
    }

    /// Bytes that came from storage: those fetched for this program or, where nobody counts them,
    /// those that the drive read for all.
    fn fetched_bytes(&self) -> Option<u64> {
        let grown = |of| self.seen.1.grown_since(&self.seen.0, of);
        let kind = self.target.file_system.as_ref().map(|found| found.kind.as_str());
        let is_counted =
            !self.target.stack.is_empty() && kind.is_none_or(|kind| COUNTED_KINDS.contains(&kind));
        let own = grown(|seen| seen.fetched_bytes).filter(|_| is_counted);
        own.or_else(|| grown(|seen| seen.drive_read_bytes))
    }

    /// The shares of the bytes read that memory and that the drive answered.
    ///
    /// What was in the cache before is no proof that it was found there: a file larger than the
    /// cache pushes out its own end while its beginning is read. Nor is all that was fetched the
    /// file's: a page of this very program may have been. So each bounds the other.
    fn answered(&self, found: &CachePass) -> (f64, f64) {
        let resident = found.resident_before_bytes as f64 / self.area_bytes as f64;
        let stayed = found.resident_before_bytes.min(found.resident_after_bytes);
        if stayed == self.area_bytes {
            return (1.0, 0.0);
        }
        let Some(fetched) = found.fetched_bytes else { return (resident, 1.0 - resident) };
        let fetched = (fetched as f64 / self.moved.0 as f64).min(1.0);
        // What a pass that comes back itself brought in, it found there the next time.
        let most = if self.reads_each_block_once() { resident } else { 1.0 };
        (most.min(1.0 - fetched), fetched)
    }

    fn reads_each_block_once(&self) -> bool {
        let visits_once = |stream: &Stream| {
            matches!(
                stream.pattern,
                Pattern::Sequential
                    | Pattern::Permutation
                    | Pattern::Backward
                    | Pattern::Strided { .. }
            )
        };
        self.cell.bound == CellBound::Once && self.cell.streams.iter().all(visits_once)
    }

    /// Whether each write was durable before the time was over.
    fn is_durable(&self, stream: &Stream) -> bool {
        let at_once = stream.op == Op::Commit || stream.flush_every == 1;
        // stdio opens its file without O_SYNC.
        let synced = stream.io.syncing != Syncing::None && !stream.engine.is_stdio();
        at_once || synced || self.cell.flush == FinalFlush::Timed
    }

    /// How much only memory had when the time was over. After an untimed flush nobody can say.
    fn unwritten_share(&self, durable: bool, dirty_after_bytes: Option<u64>) -> Option<f64> {
        if self.cell.flush == FinalFlush::Untimed && !durable {
            return None;
        }
        let written = self.moved.1.min(self.area_bytes).max(1);
        Some((dirty_after_bytes? as f64 / written as f64).min(1.0))
    }
}
