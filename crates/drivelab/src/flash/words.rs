//! Shares, bars and sizes as all verbs of `flash` print them.

use crate::output;
use block::{counted, display_bytes};
use flash::{BLOCK_BYTES, Layout, Parity, predict};

/// `72.5 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A share as a bar of so many characters.
pub fn bar(share: f64, width: usize) -> String {
    report::terminal::bar(share, width, &output::style())
}

/// Blocks as a size.
pub fn blocks(count: u64) -> String {
    display_bytes(count * BLOCK_BYTES)
}

/// How a volume is laid out, in words.
pub fn layout(layout: &Layout) -> String {
    let shape = &layout.shape;
    let mut text = format!(
        "{} of {}, written in chunks of up to {}, aligned to {}",
        counted(layout.segments, "segment"),
        display_bytes(shape.segment_bytes),
        display_bytes(shape.chunk_bytes),
        display_bytes(layout.unit_bytes)
    );
    match shape.parity {
        Parity::None => text += "; no parity below",
        Parity::Protected => {
            text += &format!(
                "; parity below: only whole stripes of {} are written",
                display_bytes(shape.stripe_bytes)
            );
            if shape.ring_bytes > 0 {
                let ring = display_bytes(shape.ring_bytes);
                text += &format!(", and small synchronous writes to a ring of {ring}");
            }
        }
    }
    text
}

/// What random writes will have of the drive's sequential write rate, by fill: a table of ten lines
/// and a bar each.
pub fn curve(layout: &Layout) -> String {
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
            bar(point.efficiency, 20)
        );
    }
    text
}
