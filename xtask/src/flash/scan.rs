//! Reading sequentially what was written at random: where a managed volume takes its price back.

use super::Table;
use super::bed::{Bed, LINE_BYTES, open, random, sequential};
use anyhow::Result;
use flash::BLOCK_BYTES;
use lab::workload::Op;
use target::catalog::Catalog;

/// Flash that merges, a disk, a disk whose tracks overlap.
const DRIVES: [&str; 3] = ["mtron-pro-32", "generic-15k-sas-hdd", "hdd-smr"];
/// The longest that is read at each point.
const READ_BYTES: u64 = 1 << 30;
/// Callers of random writes on the bare drive.
const DEPTH: u16 = 32;

/// The section of the page; on so many bytes of each drive, half of them mapped.
pub fn run(catalog: &Catalog, bytes: u64) -> Result<String> {
    let mut table = Table::new(
        "| drive | bare, MiB/s | bare after random writes | managed, written sequentially | managed after random writes | of bare |",
    );
    for drive in DRIVES {
        let half = bytes / 2 / LINE_BYTES * LINE_BYTES;
        let part = READ_BYTES.min(half);
        let mut bare = open(catalog, drive)?;
        sequential(&mut bare, Op::Write, half)?;
        let before = sequential(&mut bare, Op::Read, part)?;
        // Few: they take minutes each thousand on a drive that merges, and a block in place stays
        // in place.
        let blocks = part / BLOCK_BYTES;
        random(&mut bare, Op::Write, DEPTH, blocks / 16, blocks, 1)?;
        let bare_after = sequential(&mut bare, Op::Read, part)?;
        let text = format!("{drive}/flash:spare=50%,drive-size={}M", bytes >> 20);
        let mut bed = Bed::new(catalog, &text)?;
        let managed = sequential(&mut bed.opened, Op::Read, part)?;
        bed.overwrite(bed.blocks * 2)?;
        let after = sequential(&mut bed.opened, Op::Read, part)?;
        table.line(
            &format!("`{drive}`"),
            &[
                format!("{before:.1}"),
                format!("{:.3}", bare_after / before),
                format!("{:.3}", managed / before),
                format!("{after:.2} MiB/s"),
                format!("{:.4}", after / before),
            ],
        );
    }
    Ok(table.text)
}
