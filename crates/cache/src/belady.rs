//! The fewest misses that any policy can have, which must know the future for it (Belady, 1966).
//!
//! What is used last of all goes, and that may be the block that was just asked for: a cache need
//! not take it in. So this is a bound for caches that pass some blocks by, too.

use crate::store::Table;
use std::collections::BinaryHeap;

/// Never used again.
const NEVER: u32 = u32::MAX;

/// Misses of the best cache of `capacity` blocks; first uses are among them.
///
/// # Panics
/// Of 2^30 accesses or more.
pub fn misses_min(blocks: &[u64], capacity: usize) -> u64 {
    assert!(blocks.len() < 1 << 30, "too many accesses for 32 bits");
    let next = next_uses(blocks);
    // By next use, the latest on top. A block is held exactly where its latest entry says its next
    // use is still to come: `held` has the access at which that entry was made.
    let mut heap: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let mut is_held = vec![false; blocks.len()];
    let (mut held, mut misses) = (0, 0);
    // Which access brought the block of this one in, or used it last: the one before.
    let mut before = vec![NEVER; blocks.len()];
    for (at, &use_next) in next.iter().enumerate() {
        if use_next != NEVER {
            before[use_next as usize] = at as u32;
        }
    }
    for at in 0..blocks.len() {
        let earlier = before[at];
        if earlier != NEVER && is_held[earlier as usize] {
            is_held[earlier as usize] = false;
        } else {
            misses += 1;
            held += 1;
        }
        is_held[at] = true;
        heap.push((next[at], at as u32));
        while held > capacity {
            let (_, entry) = heap.pop().expect("more is held than fits");
            if std::mem::take(&mut is_held[entry as usize]) {
                held -= 1;
            }
        }
    }
    misses
}

/// For each access, when its block is used again.
fn next_uses(blocks: &[u64]) -> Vec<u32> {
    let mut next = vec![NEVER; blocks.len()];
    // The slot of a block in the table is its first access; `latest` has the last one seen.
    let mut latest = vec![NEVER; blocks.len()];
    let mut table = Table::new(blocks.len());
    for (at, &block) in blocks.iter().enumerate() {
        match table.get(block, |slot| blocks[slot as usize] == block) {
            Some(first) => {
                next[latest[first as usize] as usize] = at as u32;
                latest[first as usize] = at as u32;
            }
            None => {
                table.insert(block, at as u32);
                latest[at] = at as u32;
            }
        }
    }
    next
}
