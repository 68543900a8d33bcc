//! What was served from a fast cache in front of something slower: while there is room in it, a
//! rate is a burst.

use crate::{Cell, ManagedPass, Pass};
use serde::{Deserialize, Serialize};

/// What takes writes faster than they can go on for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FastCacheKind {
    /// A drive's memory.
    WriteCache,
    /// Where a shingled disk puts what is not written in order.
    MediaCache,
    /// Flash used at one bit a cell.
    SlcCache,
    /// Segments of a managed flash volume that need no cleaning before they are written.
    CleanPool,
    /// Something that was seen by its cliff alone.
    Unknown,
}

impl FastCacheKind {
    /// In sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteCache => "write cache",
            Self::MediaCache => "media cache",
            Self::SlcCache => "SLC cache",
            Self::CleanPool => "clean pool",
            Self::Unknown => "fast cache",
        }
    }
}

/// What the modelled drives' caches of one kind did during a pass, all drives together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FastCachePass {
    /// Which.
    pub kind: FastCacheKind,
    /// What it holds at most.
    pub capacity_bytes: u64,
    /// What was in it when the pass began, and not yet where it is to stay.
    pub held_before_bytes: u64,
    /// What was when it had ended.
    pub held_after_bytes: u64,
    /// What was written into it meanwhile.
    pub taken_bytes: u64,
}

/// A pass of which writes went, all the time or at first, into a fast cache that filled up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Burst {
    /// Into which.
    pub cache: FastCacheKind,
    /// Share of what was written that the cache still held at the end; absent where it was seen by
    /// its cliff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The rate that lasts, operations a second, where the pass went on until it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting_iops: Option<f64>,
    /// The headline is of the rate that lasts, within 10 %: the burst was cut off, or was short.
    pub cut: bool,
}

/// What a cell's bursts come to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellBurst {
    /// Operations a second that last, where every burst ended in sight.
    pub lasting_iops: Option<f64>,
    /// The headline is of the rate that lasts.
    pub cut: bool,
}

impl CellBurst {
    /// Over all passes; `None` where no pass was a burst.
    pub fn of(passes: &[Pass]) -> Option<Self> {
        let bursts = || passes.iter().filter_map(|pass| pass.burst);
        bursts().next()?;
        let mut lasting: Vec<f64> = bursts().filter_map(|burst| burst.lasting_iops).collect();
        let all_seen = lasting.len() == bursts().count();
        lasting.sort_by(f64::total_cmp);
        Some(Self {
            lasting_iops: lasting.get(lasting.len() / 2).copied().filter(|_| all_seen),
            cut: bursts().all(|burst| burst.cut),
        })
    }
}

impl Cell {
    /// Whether its rate is a burst, or comes after one.
    pub fn burst(&self) -> Option<CellBurst> {
        CellBurst::of(&self.passes)
    }
}

/// What is to be said beside a verdict on two cells, the baseline's first: which was a burst, or
/// that rates are compared which last after one. Nothing where neither was a burst.
pub fn beside_verdict(
    baseline: Option<CellBurst>,
    other: Option<CellBurst>,
) -> Option<&'static str> {
    let is_burst = |cell: Option<CellBurst>| cell.is_some_and(|burst| !burst.cut);
    match (is_burst(baseline), is_burst(other)) {
        (true, true) => Some("both: burst"),
        (true, false) => Some("baseline: burst"),
        (false, true) => Some("this: burst"),
        (false, false) => baseline.or(other).map(|_| "after a burst"),
    }
}

/// Of what a pass wrote, the share that went into a managed volume's clean pool without being made
/// up for by cleaning; nothing where it wrote nothing.
pub fn share_of_clean_pool(pass: &ManagedPass) -> Option<f64> {
    let used = pass.clean_pool_before_bytes.saturating_sub(pass.clean_pool_after_bytes);
    (pass.host_bytes > 0).then(|| (used as f64 / pass.host_bytes as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_the_side_that_was_a_burst() {
        let burst = |cut| Some(CellBurst { lasting_iops: None, cut });
        assert_eq!(beside_verdict(None, None), None);
        assert_eq!(beside_verdict(None, burst(false)), Some("this: burst"));
        assert_eq!(beside_verdict(burst(false), burst(true)), Some("baseline: burst"));
        assert_eq!(beside_verdict(burst(false), burst(false)), Some("both: burst"));
        assert_eq!(beside_verdict(burst(true), None), Some("after a burst"));
    }
}
