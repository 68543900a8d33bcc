//! What one cell gives away about the others: a limiter that holds one holds all of its kind.

use record::{Burst, Cell, FastCacheKind, Flag, Record};

/// Rates are the same when they differ by no more.
const SAME: f64 = 0.01;

/// In a single cell at depth 32 nothing tells a limiter from a drive with that rate: every
/// operation waits. A cell at the rate of one where it was seen, in blocks of the same size, is
/// held as well.
pub(super) fn tell_of_all(record: &mut Record) {
    let flag = Flag::BurstCredit;
    let is_seen = |cell: &&Cell| cell.flags.contains(&flag);
    let place = |cell: &Cell| (cell.target, cell.block_bytes);
    let of_cell = |cell: &Cell| (place(cell), cell.iops, cell.threads * cell.queue_depth);
    let seen: Vec<_> = record.cells.iter().filter(is_seen).map(of_cell).collect();
    for cell in &mut record.cells {
        let is_held = |(at, iops, _): &&(_, f64, _)| {
            *at == place(cell) && (cell.iops / iops - 1.0).abs() <= SAME
        };
        let Some((.., in_flight)) = seen.iter().find(is_held) else { continue };
        let iops = cell.iops;
        cell.flag(
            flag,
            &format!("{iops:.0} IOPS, as with {in_flight} in flight, which a quota held"),
        );
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
