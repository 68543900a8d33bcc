//! What one cell gives away about the others: a limiter that holds one holds all of its kind.

use record::{Burst, Cell, FastCacheKind, Flag, Record, Warning};

/// Rates are the same when they differ by no more.
const SAME: f64 = 0.01;

/// In a single cell at depth 32 nothing tells a limiter from a drive with that rate: every
/// operation waits. A cell at the rate of one where it was seen, in blocks of the same size, is
/// held as well.
pub(super) fn tell_of_all(record: &mut Record) {
    let seen: Vec<Cell> = record
        .cells
        .iter()
        .filter(|cell| cell.flags.contains(&Flag::BurstCredit))
        .cloned()
        .collect();
    for cell in &mut record.cells {
        let is_held = |held: &&Cell| {
            (held.target, held.block_bytes) == (cell.target, cell.block_bytes)
                && (cell.iops / held.iops - 1.0).abs() <= SAME
        };
        let Some(held) = seen.iter().find(is_held) else { continue };
        let flag = Flag::BurstCredit;
        if !cell.flags.contains(&flag) {
            let in_flight = held.threads * held.queue_depth;
            let text = format!(
                "{:.0} IOPS, as with {in_flight} in flight, which a quota held: {}",
                cell.iops,
                flag.cure()
            );
            cell.warnings.push(Warning { flag: Some(flag), text });
            cell.flags.push(flag);
            cell.flags.sort_unstable();
        }
        // What fell to the limiter's rate was its credit, and no cache that was full.
        let is_credit = |burst: &Burst| burst.cache == FastCacheKind::Unknown && burst.cut;
        for pass in &mut cell.passes {
            pass.burst = pass.burst.filter(|burst| !is_credit(burst));
        }
        if cell.burst().is_none() {
            cell.flags.retain(|flag| *flag != Flag::Burst);
            cell.warnings.retain(|warning| warning.flag != Some(Flag::Burst));
        }
    }
}
