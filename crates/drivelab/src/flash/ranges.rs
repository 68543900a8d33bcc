//! Ranges of a volume as JSON has them.

use serde_json::{Value, json};
use std::ops::Range;

/// A range of blocks, in bytes of the volume.
pub fn as_json(blocks: &Range<u32>) -> Value {
    json!({
        "offset": u64::from(blocks.start) * flash::BLOCK_BYTES,
        "bytes": u64::from(blocks.end - blocks.start) * flash::BLOCK_BYTES,
    })
}

/// All of them, in order.
pub fn list_as_json(ranges: &[Range<u32>]) -> Value {
    ranges.iter().map(as_json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_in_bytes() {
        let told = list_as_json(&[2..3, 1 << 31..(1 << 31) + 2]);
        assert_eq!(
            told,
            json!([
                {"offset": 8192, "bytes": 4096},
                {"offset": 8_796_093_022_208u64, "bytes": 8192},
            ])
        );
    }
}
