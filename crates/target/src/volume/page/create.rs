//! A volume that is about to be made.

use super::{blocks, layout_line, percent};
use crate::volume::{Site, Sparse, settings};
use block::display_bytes;
use flash::{Checksums, Layout, predict};
use report::terminal::{Style, bar, hanging};

/// What the program takes before it opens anything: its code as far as it is used, libraries,
/// tables.
const PROGRAM_BYTES: u64 = 16 << 20;

/// What the page cannot know of itself.
pub struct Circumstances<'h> {
    /// What it is called to make one: `Makes`, `Would make`.
    pub verb: &'h str,
    /// What a server's clients take at most.
    pub clients_bytes: u64,
    /// How all space of a file with holes is taken now.
    pub takes_all: &'h str,
}

/// Layout, memory, recovery, and what random writes will have of the drive's rate.
pub fn text(site: &Site, layout: &Layout, around: &Circumstances<'_>, style: &Style) -> String {
    let shape = &layout.shape;
    let exported = display_bytes(shape.exported_bytes);
    let spare = 1.0 - shape.exported_bytes as f64 / shape.device_bytes as f64;
    let size = match layout.mapped_max < layout.exported_blocks {
        true => format!(
            "{exported}, thin: {} can be written at a time, then writes to new places get \"no \
             space\"",
            blocks(layout.mapped_max.into())
        ),
        false => format!("{exported}, spare {}", percent(spare)),
    };
    let recovery = format!(
        "after a power cut at most {} of appends are read again",
        display_bytes(u64::from(layout.window) * shape.segment_bytes)
    );
    let space = |sparse: &Sparse| hanging("space     ", &space(sparse, around.takes_all));
    hanging("", &format!("{} a managed volume on {}.", around.verb, site.what))
        + "\n"
        + &hanging("size      ", &size)
        + &hanging("layout    ", &layout_line(layout))
        + &site.sparse.as_ref().map_or_else(String::new, space)
        + &hanging("memory    ", &memory(layout, around.clients_bytes))
        + &hanging("recovery  ", &recovery)
        + "\n"
        + &hanging(
            "",
            "What uniform random overwriting will have of the drive's sequential write rate, \
             reads of the cleaner free; bursts into the clean pool have nearly all of it:",
        )
        + &curve(layout, style)
}

/// What a server of the volume takes at most. While it recovers, what recovery takes stands in for
/// chunks, reads and clients.
fn memory(layout: &Layout, clients_bytes: u64) -> String {
    let each = match layout.shape.checksums {
        Checksums::OnRead => "8 B a block, checksums verified on every read",
        Checksums::OnCleaning => "4 B a block, checksums verified on cleaning and check only",
    };
    let dram = flash::dram(layout, &settings(false));
    let total = dram.total_bytes(clients_bytes) + PROGRAM_BYTES;
    let parts = [
        (format!("map {{}} ({each})"), dram.map_bytes),
        ("segments {}".to_owned(), dram.segment_bytes),
        ("chunks {}".to_owned(), dram.chunk_bytes),
        ("reads {}".to_owned(), dram.read_bytes),
        ("clients {}".to_owned(), clients_bytes),
        ("program {}".to_owned(), PROGRAM_BYTES),
    ];
    let parts = parts.map(|(words, bytes)| words.replace("{}", &display_bytes(bytes)));
    let recovery = display_bytes(dram.recovery_bytes);
    format!(
        "{} at most to serve it, all of it full: {}; in recovery {recovery} instead of chunks, \
         reads and clients",
        display_bytes(total),
        parts.join(", ")
    )
}

/// What a file with holes will still ask of its file system.
fn space(sparse: &Sparse, takes_all: &str) -> String {
    let short = match sparse.free_bytes < sparse.missing_bytes {
        true => ", too little: when that is full, writes fail",
        false => "",
    };
    format!(
        "the file has holes: as it fills it takes {} more of its file system, which has {} \
         free{short}; {takes_all}",
        display_bytes(sparse.missing_bytes),
        display_bytes(sparse.free_bytes)
    )
}

/// What random writes will have of the drive's sequential write rate, by fill: a table of ten lines
/// and a bar each.
fn curve(layout: &Layout, style: &Style) -> String {
    let mut text =
        String::from("  mapped  of the drive  write amplification  of the sequential rate\n");
    for point in predict::efficiency_curve(layout, 0.0, 10) {
        let mapped =
            point.live * layout.shape.device_bytes as f64 / layout.shape.exported_bytes as f64;
        let amplification = match point.write_amplification {
            huge if huge >= 100.0 => ">100".to_owned(),
            amplification => format!("{amplification:.2}"),
        };
        text += &format!(
            "{:>8} {:>14} {:>20} {:>9}  {}\n",
            percent(mapped),
            percent(point.live),
            amplification,
            percent(point.efficiency),
            bar(point.efficiency, 20, style)
        );
    }
    text
}
