//! What is written: bytes that a target can neither compress nor deduplicate, unless asked for.

use block::Rng;
use std::fmt;

/// Compression and deduplication work on at most this many bytes at once in the targets we know.
const UNIT_BYTES: usize = 4096;

/// The data of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Contents {
    /// Incompressible, and no two blocks alike.
    #[default]
    Random,
    /// All zero, as `dd if=/dev/zero` sends.
    Zeros,
    /// Each 4 KiB has this many percent of zero bytes at its end, so that an ideal compressor saves
    /// as much.
    Compressible {
        /// Percent that can be saved, 1 to 99.
        percent: u8,
    },
}

impl Contents {
    /// Every text that [`Contents::parse`] knows.
    pub const NAMES: &[&str] = &["random", "zeros", "compressible:50"];

    /// Reads `random`, `zeros`, `compressible:50` (percent).
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "random" => Self::Random,
            "zeros" => Self::Zeros,
            _ => {
                let percent = text.strip_prefix("compressible:")?.parse().ok()?;
                (1..=99).contains(&percent).then_some(Self::Compressible { percent })?
            }
        })
    }

    /// Whether a target could store it in less space.
    pub fn is_compressible(self) -> bool {
        self != Self::Random
    }

    /// Prepares a fresh (zeroed) buffer.
    pub fn fill(self, bytes: &mut [u8], rng: &mut Rng) {
        let kept_percent = match self {
            Self::Random => 100,
            Self::Zeros => return,
            Self::Compressible { percent } => 100 - usize::from(percent),
        };
        for unit in bytes.chunks_mut(UNIT_BYTES) {
            let kept = unit.len() * kept_percent / 100;
            rng.fill(&mut unit[..kept]);
        }
    }

    /// Makes a recycled buffer differ from all earlier ones: one word in every 4 KiB. Costs a
    /// nanosecond a unit; refilling whole buffers would make large writes a test of the generator.
    #[inline]
    pub fn refresh(self, bytes: &mut [u8], rng: &mut Rng) {
        if self == Self::Zeros {
            return;
        }
        for unit in bytes.chunks_mut(UNIT_BYTES) {
            if let Some(word) = unit.first_chunk_mut::<8>() {
                *word = rng.next().to_le_bytes();
            }
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => formatter.write_str("random"),
            Self::Zeros => formatter.write_str("zeros"),
            Self::Compressible { percent } => write!(formatter, "compressible:{percent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_compressibility_is_kept_in_every_unit() {
        let mut bytes = vec![0; 3 * UNIT_BYTES];
        Contents::Compressible { percent: 25 }.fill(&mut bytes, &mut Rng::new(1, 1));
        for unit in bytes.chunks(UNIT_BYTES) {
            assert!(unit[UNIT_BYTES * 3 / 4..].iter().all(|&byte| byte == 0));
            let zeros = unit[..UNIT_BYTES * 3 / 4].iter().filter(|&&byte| byte == 0).count();
            assert!(zeros < 60, "{zeros} zero bytes among the random ones");
        }
    }

    #[test]
    fn a_refreshed_buffer_differs_in_every_unit() {
        let mut rng = Rng::new(1, 1);
        let mut bytes = vec![0; 2 * UNIT_BYTES];
        Contents::Random.fill(&mut bytes, &mut rng);
        let before = bytes.clone();
        Contents::Random.refresh(&mut bytes, &mut rng);
        assert!(bytes.chunks(UNIT_BYTES).zip(before.chunks(UNIT_BYTES)).all(|(a, b)| a != b));
        let mut zeros = vec![0; 512];
        Contents::Zeros.refresh(&mut zeros, &mut rng);
        assert!(zeros.iter().all(|&byte| byte == 0));
    }
}
