//! One flush for each 4 KiB write, as a database's log asks for: how many a second, and what they
//! cost the drives; at a unit of 4 KiB, and on stripes of 192 KiB with the synchronous ring and
//! without.

use super::Table;
use anyhow::{Result, ensure};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
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
const DEPTHS: [usize; 2] = [1, 16];
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

fn measure(catalog: &Catalog, text: &str, depth: usize) -> Result<Seen> {
    let mut opened = stack::open(&text.parse()?, catalog, 1)?;
    let span = SPAN_BLOCKS.min(opened.contract().capacity_bytes / u64::from(BLOCK_BYTES));
    let before = (opened.now(), opened.traffic.written_bytes(), opened.traffic.read_bytes());
    let blocks = opened.managed().and_then(flash::Volume::lifetime).map(|life| life.drive_blocks);
    synchronous(&mut opened, depth, span)?;
    let seconds = opened.now().since(before.0) as f64 / 1e9;
    let per_byte = |bytes: u64| bytes as f64 / (COUNT * u64::from(BLOCK_BYTES)) as f64;
    let volume = opened.managed().and_then(|volume| {
        let (life, counters) = (volume.lifetime()?, volume.counters()?);
        let written = (life.drive_blocks - blocks?) as f64 / COUNT as f64;
        Some(OfVolume { written, records: counters.records, flushes: counters.flushes })
    });
    Ok(Seen {
        rate: COUNT as f64 / seconds,
        written: per_byte(opened.traffic.written_bytes() - before.1),
        read: per_byte(opened.traffic.read_bytes() - before.2),
        volume,
    })
}

/// So many callers, each of whom writes, flushes, and writes again.
fn synchronous(engine: &mut impl Engine, depth: usize, span: u64) -> Result<()> {
    let mut rng = Rng::new(1, 1);
    let mut flushing = vec![true; depth];
    let (mut sent, mut ended) = (0, 0);
    let mut done: Vec<Completion> = Vec::with_capacity(depth);
    let mut next = |caller: usize, engine: &mut dyn Engine| {
        let command = if flushing[caller] {
            if sent == COUNT {
                return;
            }
            sent += 1;
            let offset = rng.below(span) * u64::from(BLOCK_BYTES);
            let (at, from) = (Extent { offset, bytes: BLOCK_BYTES }, Payload::None);
            Command::Write { at, from, durability: Durability::Cached }
        } else {
            Command::Flush
        };
        flushing[caller] = !flushing[caller];
        let (tag, actor) = (Tag(caller as u64), Actor(caller as u16));
        engine.submit(Request { tag, actor, drive: Drive(0), command });
    };
    (0..depth).for_each(|caller| next(caller, engine));
    while ended < 2 * COUNT {
        engine.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            ensure!(completion.result.is_ok(), "a request failed: {:?}", completion.result);
            ended += 1;
            next(completion.tag.0 as usize, engine);
        }
    }
    Ok(())
}
