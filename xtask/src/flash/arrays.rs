//! RAID-5 of four and of eight such drives: bursts beside (n-1) single drives, and whether any stripe was partial.

use super::bed::{Bed, MIB, Plan, bare};
use anyhow::Result;
use block::Rng;
use flash::{BLOCK_BYTES, Parity};
use std::fmt::Write as _;
use target::catalog::Catalog;

const DRIVE: &str = "mtron-pro-32";
/// A member's part of a stripe.
const MEMBER_BYTES: u64 = 64 << 10;

/// The section of the page.
pub fn run(catalog: &Catalog, device_bytes: u64) -> Result<String> {
    let mut page = String::new();
    writeln!(
        page,
        "| drives | host | burst/s | of (n-1) managed drives | drives read for a byte written | pool |"
    )?;
    writeln!(page, "|---:|---|---:|---:|---:|---:|")?;
    let plan = super::drive::plan(device_bytes, 0.50);
    let (single, _, _) = burst(catalog, DRIVE, &plan)?;
    for members in [4u64, 8] {
        for (host, driver) in [("unlimited", "host"), ("of 2007", "md")] {
            let text = format!("{members}x{DRIVE}/raid5:chunk=64K,driver={driver}");
            let stripe_bytes = MEMBER_BYTES * (members - 1);
            // The next multiples of a stripe: 8 MiB and 4 MiB a member.
            let plan = Plan {
                device_bytes: device_bytes * (members - 1) / stripe_bytes * stripe_bytes,
                stripe_bytes,
                segment_bytes: 8 * MIB * (members - 1),
                chunk_bytes: 4 * MIB * (members - 1),
                parity: Parity::Protected,
                ..plan
            };
            let (seen, read, pool) = burst(catalog, &text, &plan)?;
            let line = format!(
                "| {members} | {host} | {seen:.0} | {:.1} % | {read:.3} | {} MiB |",
                100.0 * seen / single / (members - 1) as f64,
                pool / MIB
            );
            eprintln!("{line}");
            writeln!(page, "{line}")?;
        }
    }
    writeln!(
        page,
        "\nOne managed drive: {single:.0} writes/s. A partial stripe would have to be read before it is written."
    )?;
    Ok(page)
}

/// Writes a second on the pool of a volume written once, bytes that the drives read for each of the host's, and the
/// pool.
fn burst(catalog: &Catalog, text: &str, plan: &Plan) -> Result<(f64, f64, u64)> {
    let mut bed = Bed::new(bare(catalog, text)?, plan)?;
    bed.rest(60);
    let pool = bed.counters()?.clean_pool_bytes;
    let before = bed.stack.engine.traffic.read_bytes();
    let count = pool / BLOCK_BYTES / 2;
    let rate = bed.burst(count, &mut Rng::new(1, 1))?;
    let read = bed.stack.engine.traffic.read_bytes() - before;
    Ok((rate, read as f64 / (count * BLOCK_BYTES) as f64, pool))
}
