//! How long a trace's transfers are, as a stream can draw them.

use crate::steady::Lengths;
use lab::workload::BlockMix;
use std::collections::BTreeMap;
use trace::{
    Characterisation,
    characterise::{BLOCK_BYTES, Sizes},
};

/// The smallest unit of a drive.
const SECTOR_BYTES: u64 = 512;
/// Longer transfers are drawn as of this length: what is in flight has to be held in memory, and a
/// kernel cuts them, too.
pub(super) const LARGEST_BYTES: u64 = 1 << 20;

/// Of both kinds and of each. One that does not occur is as both together.
pub(super) fn of(seen: &Characterisation) -> Option<Lengths> {
    let smallest = smallest_bytes(seen);
    let [reads, writes] = &seen.sizes;
    let all = mix(&[reads, writes], smallest)?;
    let one = |sizes| mix(&[sizes], smallest).unwrap_or_else(|| all.clone());
    Some(Lengths { reads: one(reads), writes: one(writes), all })
}

/// Whole blocks of 4 KiB where most transfers are, else sectors.
pub(super) fn smallest_bytes(seen: &Characterisation) -> u64 {
    if seen.aligned * 2 >= seen.transfers() { BLOCK_BYTES } else { SECTOR_BYTES }
}

fn mix(all: &[&Sizes], smallest: u64) -> Option<BlockMix> {
    let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
    for size in all.iter().flat_map(|sizes| &sizes.counts) {
        let bytes = size.bytes.clamp(smallest, LARGEST_BYTES);
        let below = smallest << (bytes / smallest).ilog2();
        let part = (bytes - below) as f64 / below as f64;
        for (bytes, part) in [(below, 1.0 - part), (2 * below, part)] {
            if part > 0.0 {
                *shares.entry(bytes as u32).or_insert(0.0) += part * size.count as f64;
            }
        }
    }
    BlockMix::of_shares(shares)
}
