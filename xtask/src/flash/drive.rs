//! One drive of 2007 whose random writes merge: bursts, what is sustained against the limit, reads.

use super::bed::{Bed, DEPTH, MIB, Plan, bare, linear, rate, read, write};
use anyhow::Result;
use block::Rng;
use flash::{
    BLOCK_BYTES, Classes, Cleaning, Counters, IdleCleaning, Parity, Settings,
    predict::{limit, write_amplification},
};
use std::fmt::Write as _;
use target::catalog::Catalog;

const DRIVE: &str = "mtron-pro-32";

/// Chunks and segments of the volumes here. On this drive a change of streams costs 2.3 ms: 5 % of a chunk of 4 MiB.
pub fn plan(device_bytes: u64, live: f64) -> Plan {
    Plan {
        device_bytes,
        live,
        stripe_bytes: BLOCK_BYTES,
        segment_bytes: 8 * MIB,
        chunk_bytes: 4 * MIB,
        parity: Parity::None,
        classes: Classes::TWO,
        settings: Settings {
            queue_depth: 256,
            answer_ns: 1_000,
            cleaning: Cleaning::Greedy,
            idle: Some(IdleCleaning::default()),
            ..Settings::default()
        },
    }
}

/// The section of the page.
pub fn run(catalog: &Catalog, device_bytes: u64) -> Result<String> {
    let mut page = String::new();
    let mut drive = bare(catalog, DRIVE)?;
    let count = device_bytes / MIB / 2;
    let linear_write = linear(&mut drive, write, 256, count)?;
    let linear_read = linear(&mut drive, read, 256, count)?;
    let span = device_bytes / BLOCK_BYTES;
    let mut rng = Rng::new(2, 2);
    let bare_write = rate(&mut drive, DEPTH, 2_000, |_| write(rng.below(span), 1))?;
    let bare_read = rate(&mut drive, DEPTH, 20_000, |_| read(rng.below(span), 1))?;
    writeln!(
        page,
        "The drive alone: linear writes {linear_write:.1} MiB/s, linear reads {linear_read:.1} MiB/s (1 MiB each); 4 KiB at depth \
         {DEPTH}: {bare_write:.0} random writes/s, {bare_read:.0} random reads/s.\n"
    )?;
    writeln!(
        page,
        "| live | spare | writes/s | % of linear | WA | closed form | m | read at a time | limit, Br linear | of it | limit, Br as read | of it | pool | burst/s | % of linear | reads of bare | longest wait |"
    )?;
    writeln!(page, "|{}", "---:|".repeat(17))?;
    for live in [0.25, 0.50, 0.72] {
        let mut bed = Bed::new(bare(catalog, DRIVE)?, &plan(device_bytes, live))?;
        let line = one_fill(catalog, &mut bed, live, linear_write, linear_read, bare_read)?;
        eprintln!("{line}");
        writeln!(page, "{line}")?;
    }
    Ok(page)
}

fn one_fill(
    catalog: &Catalog,
    bed: &mut Bed<target::stack::Opened>,
    live: f64,
    linear_write: f64,
    linear_read: f64,
    bare_read: f64,
) -> Result<String> {
    let mut rng = Rng::new(1, 1);
    bed.write_at_random(bed.blocks * 10, &mut rng)?;
    let before = bed.counters()?;
    let writes = bed.write_at_random(bed.blocks, &mut rng)?;
    let now = bed.counters()?;
    let of = |field: fn(&Counters) -> u64| (field(&now) - field(&before)) as f64;
    let (host, copied) = (of(|c| c.host_blocks), of(|c| c.copied_blocks));
    let data = host + copied;
    let seen = data / host;
    let metadata = of(|c| c.page_blocks + c.header_blocks + c.padding_blocks) / data;
    let (reads, read_blocks) = (of(|c| c.victim_reads), of(|c| c.victim_read_blocks));
    let linear_blocks = linear_write * MIB as f64 / BLOCK_BYTES as f64;
    // What a live block costs as it was really read: scattered, with the holes that were read along.
    let run = (read_blocks / reads.max(1.0)).round().max(1.0) as u64;
    let scattered = scattered_read(catalog, run)? * copied / read_blocks.max(1.0);
    let ideal = limit(seen, metadata, linear_write / linear_read);
    let fair = limit(seen, metadata, linear_write / scattered.max(1.0));
    let layout = *bed.stack.machine.layout().expect("it is open");
    let spare = layout.spare(now.mapped_blocks);
    let efficiency = writes / linear_blocks;
    // Quiet, until idle cleaning ends at its limit.
    bed.rest(3_600);
    let pool = bed.counters()?.clean_pool_bytes;
    let burst = bed.burst((pool / BLOCK_BYTES).max(1), &mut rng)?;
    let span = bed.blocks;
    bed.rest(3_600);
    let managed_read = rate(&mut bed.stack, DEPTH, 20_000, |_| read(rng.below(span), 1))?;
    Ok(format!(
        "| {:.0} % | {:.1} % | {writes:.0} | {:.1} | {seen:.3} | {:.3} | {:.2} % | {:.1} KiB | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {} MiB | {burst:.0} | {:.1} | {:.3} | {:.0} ms |",
        100.0 * live,
        100.0 * spare,
        100.0 * efficiency,
        write_amplification(spare),
        100.0 * metadata,
        4.0 * read_blocks / reads.max(1.0),
        100.0 * ideal,
        100.0 * efficiency / ideal,
        100.0 * fair,
        100.0 * efficiency / fair,
        pool / MIB,
        100.0 * burst / linear_blocks,
        managed_read / bare_read,
        now.write_wait_ns_max as f64 / 1e6,
    ))
}

/// MiB/s of random reads of so many blocks, on the drive alone.
fn scattered_read(catalog: &Catalog, blocks: u64) -> Result<f64> {
    let mut drive = bare(catalog, DRIVE)?;
    let mut rng = Rng::new(3, 3);
    let rate = rate(&mut drive, 16, 5_000, |_| read(rng.below(1 << 18), blocks))?;
    Ok(rate * (blocks * BLOCK_BYTES) as f64 / MIB as f64)
}
