//! `memory:SIZE`: a drive of RAM that keeps bytes as long as the process lives.

use crate::stack::{BadStack, Part, part};
use block::{Data, Geometry, display_bytes, parse_bytes};
use engine::{Clock, Memory};
use lab::target::TargetError;
use std::{fmt, str::FromStr};

/// Requests outstanding.
const QUEUE_DEPTH: u32 = 4096;
/// Longest request.
const TRANSFER_BYTES_MAX: u32 = 16 << 20;
/// Transfers are multiples of this, as on drives.
const SECTOR_BYTES: u32 = 512;

/// What stands after `memory:`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryText {
    /// The drive's size.
    pub bytes: u64,
    /// A managed volume on it.
    pub flash: Option<Part>,
    text: String,
}

impl MemoryText {
    /// The drive, all zeroes.
    pub fn engine(&self, clock: Clock) -> Memory {
        let geometry = Geometry {
            capacity_bytes: self.bytes,
            block_bytes: SECTOR_BYTES,
            transfer_bytes_max: TRANSFER_BYTES_MAX,
            queue_depth: QUEUE_DEPTH,
            data: Data::Stored,
        };
        Memory::new(clock, geometry)
    }

    /// Whether it fits into this machine, all of it written.
    ///
    /// # Errors
    /// One sentence, when it is more than three quarters of `memory_bytes`: the rest of the machine
    /// wants to live.
    pub fn check(&self, memory_bytes: u64) -> Result<(), TargetError> {
        let room = memory_bytes / 4 * 3;
        if self.bytes <= room {
            return Ok(());
        }
        Err(TargetError::refused(format!(
            "`memory:{self}` takes up to {}, and this machine has {}: take {} at most",
            display_bytes(self.bytes),
            display_bytes(memory_bytes),
            display_bytes(room >> 20 << 20)
        )))
    }
}

impl FromStr for MemoryText {
    type Err = BadStack;

    fn from_str(text: &str) -> Result<Self, BadStack> {
        let (size, layer) = match text.split_once('/') {
            Some((size, layer)) => (size, Some(layer)),
            None => (text, None),
        };
        let bytes = parse_bytes(size).map_err(|bad| {
            BadStack::Text(format!("`memory:{text}`: {bad}; write one, such as `memory:1G`"))
        })?;
        if bytes == 0 || !bytes.is_multiple_of(u64::from(SECTOR_BYTES)) {
            return Err(BadStack::Text(format!(
                "`memory:{text}`: a drive is of whole sectors of {SECTOR_BYTES} B, such as `memory:1G`"
            )));
        }
        let flash = layer.map(|layer| part(text, layer)).transpose()?;
        if let Some(layer) = flash.as_ref().filter(|layer| layer.name != "flash") {
            return Err(BadStack::Text(format!(
                "`memory:{text}`: on a drive of memory only a managed volume can lie, `/flash`, and `{}` is none; \
                 models keep no bytes: `model:` has all layers",
                layer.name
            )));
        }
        Ok(Self { bytes, flash, text: text.to_owned() })
    }
}

impl fmt::Display for MemoryText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_and_a_managed_volume_are_read_and_the_rest_is_refused() {
        let read = |text: &str| text.parse::<MemoryText>();
        assert_eq!(read("1G").expect("a size").bytes, 1 << 30);
        let layered = read("64M/flash:spare=28%").expect("a layer");
        assert_eq!(layered.flash.expect("it was named").settings.len(), 1);
        for (text, word) in [
            ("", "is not a size"),
            ("lots", "such as `memory:1G`"),
            ("0", "whole sectors"),
            ("1000", "whole sectors"),
            ("1G/ext4", "`ext4` is none"),
            ("1G/", "nothing where a name should stand"),
        ] {
            let refusal = read(text).expect_err(text).to_string();
            assert!(refusal.contains(word), "{text}: {refusal}");
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        let text: MemoryText = "8G".parse().expect("a size");
        text.check(16 << 30).expect("half of it");
        let refusal = text.check(8 << 30).expect_err("all of it").to_string();
        assert!(refusal.ends_with("take 6 GiB at most"), "{refusal}");
    }
}
