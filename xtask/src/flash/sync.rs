//! One flush for each 4 KiB write, as a database's log asks for: how many a second, and what they
//! cost the drives; at a unit of 4 KiB, and on stripes of 192 KiB with the synchronous ring and
//! without.

use super::{Table, failed};
use anyhow::Result;
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream};
use target::{catalog::Catalog, stack};

/// One whose random writes cost a read-modify-erase cycle, one with a page map, one that loses no
/// acknowledged write, a disk.
const DRIVES: [&str; 4] = ["mtron-pro-32", "sata-tlc", "nvme-plp", "generic-15k-sas-hdd"];
/// What stands on it, in the table's words.
const STACKS: [(&str, &str); 5] = [
    ("the drive", "D"),
    ("managed, unit 4 KiB", "D/flash"),
    ("RAID-5 of 3+1", "4xD/raid5:chunk=64K"),
    ("managed, no ring", "4xD/raid5:chunk=64K/flash:ring=0"),
    ("managed, ring", "4xD/raid5:chunk=64K/flash:ring=48M"),
];
const DEPTHS: [u16; 2] = [1, 16];
const COUNT: u64 = 2_000;
/// Written at random within so much: little of it twice, and nothing needs to be cleaned.
const SPAN_BLOCKS: u64 = 65_536;
const BLOCK_BYTES: u32 = 4096;

/// The section of the page.
pub fn run(catalog: &Catalog) -> Result<String> {
    let mut page = String::new();
    for drive in DRIVES {
        let mut table = Table::new(
            "| stack | callers | writes/s | volume wrote | drives wrote | drives read | records | flushes |",
        );
        for (name, stack) in STACKS {
            let stack = stack.replacen('D', drive, 1);
            for depth in DEPTHS {
                let seen = measure(catalog, &stack, depth)?;
                let of_volume = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                let volume = seen.volume.as_ref();
                table.line(
                    &format!("{name}, `{stack}`"),
                    &[
                        format!("{depth}"),
                        format!("{:.0}", seen.rate),
                        of_volume(volume.map(|volume| format!("{:.2}", volume.written))),
                        format!("{:.2}", seen.written),
                        format!("{:.2}", seen.read),
                        of_volume(volume.map(|volume| volume.records.to_string())),
                        of_volume(volume.map(|volume| volume.flushes.to_string())),
                    ],
                );
            }
        }
        page += &table.text;
        page += "\n";
    }
    Ok(page)
}

struct Seen {
    /// Writes a second.
    rate: f64,
    /// Bytes of the drives for each of the host's.
    written: f64,
    read: f64,
    volume: Option<OfVolume>,
}

struct OfVolume {
    /// Blocks for each of the host's.
    written: f64,
    /// Of the ring.
    records: u64,
    /// Of the drive, for those who waited.
    flushes: u64,
}

fn measure(catalog: &Catalog, text: &str, depth: u16) -> Result<Seen> {
    let mut opened = stack::open(&text.parse()?, catalog, 1)?;
    let span = SPAN_BLOCKS.min(opened.contract().capacity_bytes / u64::from(BLOCK_BYTES));
    let before = (opened.traffic.written_bytes(), opened.traffic.read_bytes());
    let blocks = opened.managed().and_then(flash::Volume::lifetime).map(|life| life.drive_blocks);
    let stream = Stream { threads: depth, ..Stream::new(Op::Commit, Pattern::Random, BLOCK_BYTES) };
    let area = Area { offset: 0, bytes: span * u64::from(BLOCK_BYTES) };
    let mut callers = Counted::new(&mut opened, &stream, area, 1);
    let pace = callers.run(&mut opened, Length::of(COUNT)).map_err(failed)?;
    let per_byte = |bytes: u64| bytes as f64 / (COUNT * u64::from(BLOCK_BYTES)) as f64;
    let volume = opened.managed().and_then(|volume| {
        let (life, counters) = (volume.lifetime()?, volume.counters()?);
        let written = (life.drive_blocks - blocks?) as f64 / COUNT as f64;
        Some(OfVolume { written, records: counters.records, flushes: counters.flushes })
    });
    Ok(Seen {
        rate: pace.iops(),
        written: per_byte(opened.traffic.written_bytes() - before.0),
        read: per_byte(opened.traffic.read_bytes() - before.1),
        volume,
    })
}
