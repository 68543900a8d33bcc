//! One drive of 2007 whose random writes merge: bursts, what is sustained against the limit, reads.

use super::Table;
use super::bed::{Bed, DEPTH, MIB, open, random, sequential};
use anyhow::Result;
use flash::{
    BLOCK_BYTES, Counters,
    predict::{limit, write_amplification},
};
use lab::workload::Op;
use std::fmt::Write as _;
use target::catalog::Catalog;

pub const DRIVE: &str = "mtron-pro-32";
/// Mapped shares of the drive, in per cent.
const FILLS: [u32; 3] = [25, 50, 72];
/// Callers of reads.
const READ_DEPTHS: [u16; 3] = [1, 4, 32];
/// So much is read at each depth.
const READS: u64 = 20_000;
/// How often the mapped bytes are overwritten before anything counts.
const ROUNDS: u64 = 10;
/// Quiet for so long, idle cleaning has come to its limit.
pub const REST_SECONDS: u64 = 3_600;

/// What the drive does without a volume.
struct Bare {
    write_mib_per_s: f64,
    read_mib_per_s: f64,
    random_writes_per_s: f64,
    /// By depth.
    random_reads_per_s: [f64; 3],
}

/// The section of the page.
pub fn run(catalog: &Catalog, device_bytes: Option<u64>) -> Result<String> {
    let mut page = String::new();
    let bare = bare(catalog, device_bytes)?;
    writeln!(
        page,
        "`model:{DRIVE}` alone: sequential writes {:.1} MiB/s, sequential reads {:.1} MiB/s (1 MiB each); 4 KiB at depth \
         {DEPTH}: {:.0} random writes/s.\n",
        bare.write_mib_per_s, bare.read_mib_per_s, bare.random_writes_per_s
    )?;
    let part = device_bytes.map_or(String::new(), |bytes| format!(",drive-size={}M", bytes >> 20));
    let stack = |live: u32| format!("{DRIVE}/flash:spare={}%{part}", 100 - live);
    writeln!(page, "With a volume, `model:{}` and so on:\n", stack(FILLS[0]))?;
    let mut sustained = Table::new(
        "| live | spare | writes/s | % of sequential | WA | closed form | m | limit | of the limit | if reads were free | longest wait |",
    );
    let mut burst = Table::new("| live | clean pool | burst writes/s | % of sequential |");
    let mut reads = Table::new(&format!(
        "| live |{}",
        READ_DEPTHS.map(|depth| format!(" depth {depth}, reads/s | of bare |")).concat()
    ));
    for live in FILLS {
        let mut bed = Bed::new(catalog, &stack(live))?;
        sustained.line(&format!("{live} %"), &steady(&mut bed, &bare)?);
        burst.line(&format!("{live} %"), &burst_of(&mut bed, &bare)?);
        reads.line(&format!("{live} %"), &reads_of(&mut bed, &bare)?);
    }
    writeln!(page, "### Sustained\n\n{}", sustained.text)?;
    writeln!(page, "### Bursts\n\n{}", burst.text)?;
    writeln!(page, "### Reads\n\n{}", reads.text)?;
    Ok(page)
}

fn bare(catalog: &Catalog, device_bytes: Option<u64>) -> Result<Bare> {
    let mut drive = open(catalog, DRIVE)?;
    let bytes = device_bytes.unwrap_or(drive.contract().capacity_bytes);
    let blocks = bytes / BLOCK_BYTES;
    let write_mib_per_s = sequential(&mut drive, Op::Write, bytes)?;
    let read_mib_per_s = sequential(&mut drive, Op::Read, bytes)?;
    let random_writes_per_s = random(&mut drive, Op::Write, DEPTH, 2_000, blocks, 2)?;
    let mut random_reads_per_s = [0.0; 3];
    for (depth, seen) in READ_DEPTHS.into_iter().zip(&mut random_reads_per_s) {
        *seen = random(&mut drive, Op::Read, depth, READS, blocks, 2)?;
    }
    Ok(Bare { write_mib_per_s, read_mib_per_s, random_writes_per_s, random_reads_per_s })
}

impl Bare {
    /// Sequential writes as blocks.
    fn blocks_per_s(&self) -> f64 {
        self.write_mib_per_s * MIB / BLOCK_BYTES as f64
    }
}

fn steady(bed: &mut Bed, bare: &Bare) -> Result<Vec<String>> {
    bed.overwrite(bed.blocks * ROUNDS)?;
    let before = bed.counters();
    let writes = bed.overwrite(bed.blocks)?;
    let now = bed.counters();
    let of = |field: fn(&Counters) -> u64| (field(&now) - field(&before)) as f64;
    let (host, copied) = (of(|c| c.host_blocks), of(|c| c.copied_blocks));
    let data = host + copied;
    let seen = data / host;
    let metadata = of(|c| c.page_blocks + c.header_blocks + c.padding_blocks) / data;
    let serial = limit(seen, metadata, bare.write_mib_per_s / bare.read_mib_per_s);
    let free = limit(seen, metadata, 0.0);
    let spare = bed.layout().spare(now.mapped_blocks);
    let efficiency = writes / bare.blocks_per_s();
    Ok(vec![
        format!("{:.1} %", 100.0 * spare),
        format!("{writes:.0}"),
        format!("{:.1}", 100.0 * efficiency),
        format!("{seen:.3}"),
        format!("{:.3}", write_amplification(spare)),
        format!("{:.2} %", 100.0 * metadata),
        format!("{:.1} %", 100.0 * serial),
        format!("{:.1} %", 100.0 * efficiency / serial),
        format!("{:.1} %", 100.0 * efficiency / free),
        format!("{:.0} ms", now.write_wait_ns_max as f64 / 1e6),
    ])
}

/// As many writes as the pool takes, after idle cleaning has come to its limit.
fn burst_of(bed: &mut Bed, bare: &Bare) -> Result<Vec<String>> {
    bed.rest(REST_SECONDS);
    let pool = bed.counters().clean_pool_bytes;
    let rate = bed.overwrite((pool / BLOCK_BYTES).max(1))?;
    Ok(vec![
        format!("{} MiB", pool >> 20),
        format!("{rate:.0}"),
        format!("{:.1}", 100.0 * rate / bare.blocks_per_s()),
    ])
}

/// Of mapped blocks, at rest.
fn reads_of(bed: &mut Bed, bare: &Bare) -> Result<Vec<String>> {
    bed.rest(REST_SECONDS);
    let mut cells = Vec::new();
    for (depth, alone) in READ_DEPTHS.into_iter().zip(bare.random_reads_per_s) {
        let seen = bed.read(depth, READS)?;
        cells.push(format!("{seen:.0}"));
        cells.push(format!("{:.3}", seen / alone));
    }
    Ok(cells)
}
