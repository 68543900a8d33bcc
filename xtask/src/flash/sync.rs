//! One flush for each 4 KiB write, as a database's log asks for: how many a second, and what they cost the drives;
//! at a unit of 4 KiB, and on stripes of 192 KiB with the synchronous ring and without.

use anyhow::{Result, ensure};
use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use target::{catalog::Catalog, stack};

/// One whose random writes cost a read-modify-erase cycle, one with a page map, one that loses no acknowledged write.
const DRIVES: [&str; 3] = ["mtron-pro-32", "sata-tlc", "nvme-plp"];
/// What stands on it, in the table's words.
const STACKS: [(&str, &str); 5] = [
    ("the drive", "D"),
    ("managed, unit 4 KiB", "D/flash"),
    ("RAID-5 of 3+1", "4xD/raid5:chunk=64K"),
    ("managed, no ring", "4xD/raid5:chunk=64K/flash:ring=0"),
    ("managed, with the ring", "4xD/raid5:chunk=64K/flash"),
];
const DEPTHS: [usize; 2] = [1, 16];
const COUNT: u64 = 2_000;
/// Written at random within so much: little of it twice, and nothing needs to be cleaned.
const SPAN_BLOCKS: u64 = 65_536;
const BLOCK_BYTES: u32 = 4096;

/// Prints the table.
pub fn run() -> Result<()> {
    let catalog = Catalog::built_in()?;
    println!("{COUNT} random writes of 4 KiB, each followed by a flush; virtual time.");
    println!(
        "volume: blocks that the volume writes for each of the host's; drives: bytes that they write and read"
    );
    println!("for each byte of the host's, parity included.");
    for drive in DRIVES {
        println!(
            "\n{drive:<24}{:>6}{:>12}{:>9}{:>9}{:>8}{:>9}{:>9}",
            "depth", "writes/s", "volume", "drives", "read", "records", "flushes"
        );
        for (name, stack) in STACKS {
            for depth in DEPTHS {
                let stack = stack.replacen('D', drive, 1);
                let seen = measure(&catalog, &stack, depth)?;
                let volume =
                    seen.volume.map_or("-".to_owned(), |[blocks, ..]| format!("{blocks:.2}"));
                let [records, flushes] = [1, 2].map(|at| {
                    seen.volume.map_or("-".to_owned(), |seen| format!("{:.0}", seen[at]))
                });
                println!(
                    "{:<24}{depth:>6}{:>12.0}{volume:>9}{:>9.2}{:>8.2}{records:>9}{flushes:>9}",
                    if depth == DEPTHS[0] { name } else { "" },
                    seen.rate,
                    seen.written,
                    seen.read
                );
            }
        }
    }
    Ok(())
}

struct Seen {
    /// Writes a second.
    rate: f64,
    /// Bytes of the drives for each of the host's.
    written: f64,
    read: f64,
    /// Of a managed volume: blocks written for each of the host's; records of the ring; flushes of the drive.
    volume: Option<[f64; 3]>,
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
        let blocks = (life.drive_blocks - blocks?) as f64 / COUNT as f64;
        Some([blocks, counters.records as f64, counters.flushes as f64])
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
