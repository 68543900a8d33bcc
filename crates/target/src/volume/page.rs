//! What is printed of managed volumes: text of 80 columns, and JSON.
//!
//! ```text
//!   Site, Layout            create.rs   what will be made, the memory it needs, its efficiency
//!   flash::tools::Status    status.rs   how it stands
//!   flash::tools::CheckReport, RescueReport, Resized
//!                           check.rs, rescue.rs, resize.rs
//! ```
//!
//! Options of a command line are the caller's: where a page ends in one, it comes as a hint.

pub mod check;
pub mod create;
pub mod rescue;
pub mod resize;
pub mod status;

use block::{counted, display_bytes};
use flash::{BLOCK_BYTES, Layout, Parity};
use serde_json::{Value, json};
use std::ops::Range;

/// `72.5 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Blocks as a size.
fn blocks(count: u64) -> String {
    display_bytes(count * BLOCK_BYTES)
}

/// How a volume is laid out, in words.
fn layout_line(layout: &Layout) -> String {
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

/// A range of blocks as JSON has it, in bytes of the volume.
fn range_json(blocks: &Range<u32>) -> Value {
    json!({
        "offset": u64::from(blocks.start) * BLOCK_BYTES,
        "bytes": u64::from(blocks.end - blocks.start) * BLOCK_BYTES,
    })
}

/// All of them, in order.
fn ranges_json(ranges: &[Range<u32>]) -> Value {
    ranges.iter().map(range_json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_in_bytes() {
        let told = ranges_json(&[2..3, 1 << 31..(1 << 31) + 2]);
        assert_eq!(
            told,
            json!([
                {"offset": 8192, "bytes": 4096},
                {"offset": 8_796_093_022_208u64, "bytes": 8192},
            ])
        );
    }
}
