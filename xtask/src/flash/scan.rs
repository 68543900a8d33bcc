//! Reading sequentially what was written at random: where a managed volume takes its price back.

use super::Table;
use super::bed::{Bed, LINE_BYTES, linear, open, random_write, rate, read, write};
use anyhow::Result;
use block::Rng;
use flash::BLOCK_BYTES;
use target::catalog::Catalog;

/// Flash that merges, a disk, a disk whose tracks overlap.
const DRIVES: [&str; 3] = ["mtron-pro-32", "generic-15k-sas-hdd", "hdd-smr"];
/// The longest that is read at each point.
const READ_BYTES: u64 = 1 << 30;
/// Callers of random writes on the bare drive.
const DEPTH: usize = 32;

/// The section of the page; on so many bytes of each drive, half of them mapped.
pub fn run(catalog: &Catalog, bytes: u64) -> Result<String> {
    let mut table = Table::new(
        "| drive | bare, MiB/s | bare after random writes | managed, written sequentially | managed after random writes | of bare |",
    );
    for drive in DRIVES {
        let half = bytes / 2 / LINE_BYTES * LINE_BYTES;
        let part = READ_BYTES.min(half);
        let mut bare = open(catalog, drive)?;
        linear(&mut bare, write, half)?;
        let sequential = linear(&mut bare, read, part)?;
        // Few: they take minutes each thousand on a drive that merges, and a block in place stays
        // in place.
        let mut rng = Rng::new(1, 1);
        rate(&mut bare, DEPTH, part / BLOCK_BYTES / 16, |_| {
            random_write(&mut rng, part / BLOCK_BYTES)
        })?;
        let bare_after = linear(&mut bare, read, part)?;
        let text = format!("{drive}/flash:spare=50%,drive-size={}M", bytes >> 20);
        let mut bed = Bed::new(catalog, &text)?;
        let managed = linear(&mut bed.opened, read, part)?;
        bed.overwrite(bed.blocks * 2, &mut Rng::new(1, 1))?;
        let after = linear(&mut bed.opened, read, part)?;
        table.line(
            &format!("`{drive}`"),
            &[
                format!("{sequential:.1}"),
                format!("{:.3}", bare_after / sequential),
                format!("{:.3}", managed / sequential),
                format!("{after:.2} MiB/s"),
                format!("{:.4}", after / sequential),
            ],
        );
    }
    Ok(table.text)
}
