//! Whether what a pass wrote went into a fast cache that was still filling, or filled up meanwhile.
//!
//! Two things tell. A model says how much of what its drives were given lies in their caches, and a
//! managed volume how much of its clean pool is gone. Any other drive shows it by its cliff: the
//! rate fell for good.

use super::pass::{PassDone, StreamPass};
use crate::{target::FastCache, workload::Stream};
use record::{Burst, FastCacheKind, FastCachePass, ManagedPass, share_of_clean_pool};
use stats::TICK_NS;

/// A rate is a burst where a cache kept more than this share of what was written: the rate that
/// lasts is as much lower at least.
const SHARE_MIN: f64 = 0.10;
/// A cache with less room than this share of its size is full.
const FULL: f64 = 0.05;
/// A cache that ran full after it had taken this share of a pass leaves some of it to see the rest.
const SHARE_WITH_REST: f64 = 0.80;
/// A clean pool is used up when less than this share of what it had is left.
const POOL_USED_UP: f64 = 0.25;

/// What the caches of each kind did between two looks at them.
pub(super) fn between(before: &[FastCache], after: &[FastCache]) -> Vec<FastCachePass> {
    let of_kind = |after: &FastCache| {
        let before = before.iter().find(|before| before.kind == after.kind)?;
        Some(FastCachePass {
            kind: after.kind,
            capacity_bytes: after.capacity_bytes,
            held_before_bytes: before.held_bytes,
            held_after_bytes: after.held_bytes,
            taken_bytes: after.taken_bytes - before.taken_bytes,
        })
    };
    after.iter().filter_map(of_kind).collect()
}

/// What is known of the caches when a pass is over.
pub(super) struct Caches<'a> {
    pub drives: &'a [FastCachePass],
    /// Bytes that the drives were given in the pass.
    pub drive_written_bytes: u64,
    pub volume: Option<ManagedPass>,
}

/// A cache that kept some of what was written.
#[derive(Clone, Copy)]
struct Kept {
    kind: FastCacheKind,
    share: f64,
    is_full: bool,
}

impl Caches<'_> {
    /// The cache that kept most.
    fn most(&self) -> Option<Kept> {
        let of_drives = self.drives.iter().map(|cache| {
            let kept = cache.held_after_bytes.saturating_sub(cache.held_before_bytes);
            let room = cache.capacity_bytes.saturating_sub(cache.held_after_bytes);
            Kept {
                kind: cache.kind,
                share: (kept as f64 / self.drive_written_bytes.max(1) as f64).min(1.0),
                is_full: room as f64 <= FULL * cache.capacity_bytes as f64,
            }
        });
        let of_volume = self.volume.and_then(|pass| {
            let [before, after] = [pass.clean_pool_before_bytes, pass.clean_pool_after_bytes];
            let is_full = after as f64 <= POOL_USED_UP * before as f64;
            Some(Kept {
                kind: FastCacheKind::CleanPool,
                share: share_of_clean_pool(&pass)?,
                is_full,
            })
        });
        of_drives.chain(of_volume).max_by(|one, two| one.share.total_cmp(&two.share))
    }
}

/// Whether the pass of a stream was a burst, all of it or at first.
pub(super) fn of_pass(stream: &Stream, pass: &StreamPass, caches: &Caches<'_>) -> Option<Burst> {
    if !stream.op.stores() {
        return None;
    }
    let kept = caches.most().filter(|kept| kept.share > SHARE_MIN);
    let fall = pass.changes.iter().find(|change| change.ends_burst());
    let (cache, share) =
        kept.map_or((FastCacheKind::Unknown, None), |kept| (kept.kind, Some(kept.share)));
    let on_and_on = Burst { cache, share, lasting_iops: None, cut: false };
    match (fall, kept) {
        (None, None) => None,
        // What followed the fall went into the next cache.
        (Some(_), Some(kept)) if !kept.is_full => Some(on_and_on),
        (Some(fall), _) => {
            let lasting = fall.operations_per_tick_after * 1e9 / TICK_NS as f64;
            let headline = match pass.stop {
                Some(_) => pass.assessment.operations_per_second,
                None => pass.operations as f64 / pass.seconds,
            };
            let cut = headline <= (1.0 + SHARE_MIN) * lasting;
            Some(Burst { lasting_iops: Some(lasting), cut, ..on_and_on })
        }
        // It ran full, and the rate stayed as it was.
        (None, Some(kept)) if kept.is_full && kept.share <= SHARE_WITH_REST => None,
        (None, Some(_)) => Some(on_and_on),
    }
}

/// Adds to a pass what is known of the caches.
pub(super) fn look(streams: &[Stream], done: &mut PassDone, caches: &Caches<'_>) {
    for (stream, pass) in streams.iter().zip(&mut done.streams) {
        pass.burst = of_pass(stream, pass, caches);
    }
    done.fast_caches = caches.drives.to_vec();
}
