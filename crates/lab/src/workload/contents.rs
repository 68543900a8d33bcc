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
    /// Each eight bytes follow from their place on the target, so that what is read back can be
    /// checked; incompressible as well.
    Stamped,
}

impl Contents {
    /// Every text that [`Contents::parse`] knows.
    pub const NAMES: &[&str] = &["random", "zeros", "compressible:50", "stamped"];

    /// Reads `random`, `zeros`, `compressible:50` (percent).
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "random" => Self::Random,
            "zeros" => Self::Zeros,
            "stamped" => Self::Stamped,
            _ => {
                let percent = text.strip_prefix("compressible:")?.parse().ok()?;
                (1..=99).contains(&percent).then_some(Self::Compressible { percent })?
            }
        })
    }

    /// Whether a target could store it in less space.
    pub fn is_compressible(self) -> bool {
        !matches!(self, Self::Random | Self::Stamped)
    }

    /// Prepares a fresh (zeroed) buffer.
    pub fn fill(self, bytes: &mut [u8], rng: &mut Rng) {
        let kept_percent = match self {
            Self::Random => 100,
            Self::Zeros | Self::Stamped => return,
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
    pub fn refresh(self, bytes: &mut [u8], offset: u64, rng: &mut Rng) {
        match self {
            Self::Zeros => return,
            Self::Stamped => return stamp(bytes, offset),
            Self::Random | Self::Compressible { .. } => {}
        }
        for unit in bytes.chunks_mut(UNIT_BYTES) {
            if let Some(word) = unit.first_chunk_mut::<8>() {
                *word = rng.next().to_le_bytes();
            }
        }
    }
}

/// The eight bytes of the target that begin at byte `8 * word`.
fn stamp_of(word: u64) -> [u8; 8] {
    // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of a place changes
    // half of the bits.
    let mut z = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x6472_6976_656c_6162);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// What stands at each byte from `offset` on: the first word may be a part of one.
fn stamps(offset: u64) -> impl Iterator<Item = ([u8; 8], usize)> {
    let skipped = std::iter::once((offset % 8) as usize).chain(std::iter::repeat(0));
    (offset / 8..).map(stamp_of).zip(skipped)
}

#[inline(never)]
fn stamp(bytes: &mut [u8], offset: u64) {
    let mut rest = bytes;
    for (word, skipped) in stamps(offset) {
        let count = (8 - skipped).min(rest.len());
        let (now, later) = rest.split_at_mut(count);
        now.copy_from_slice(&word[skipped..skipped + count]);
        rest = later;
        if rest.is_empty() {
            return;
        }
    }
}

/// Whether these bytes, read at `offset`, are those that [`Contents::Stamped`] writes there.
#[inline(never)]
pub fn is_stamped(bytes: &[u8], offset: u64) -> bool {
    let mut rest = bytes;
    for (word, skipped) in stamps(offset) {
        let count = (8 - skipped).min(rest.len());
        let (now, later) = rest.split_at(count);
        if now != &word[skipped..skipped + count] {
            return false;
        }
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    true
}

impl fmt::Display for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => formatter.write_str("random"),
            Self::Zeros => formatter.write_str("zeros"),
            Self::Stamped => formatter.write_str("stamped"),
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

    /// A block at the wrong place, a torn one, a byte that flipped: each is found, whatever the
    /// size and the alignment of what is read.
    #[test]
    fn stamps_belong_to_their_place() {
        let mut rng = Rng::new(1, 1);
        let mut whole = vec![0; 16_384];
        Contents::Stamped.refresh(&mut whole, 1 << 40, &mut rng);
        for (at, length) in [(0, 16_384), (4096, 4096), (1, 7), (3, 2300), (8, 1), (16_383, 1)] {
            let part = &whole[at..at + length];
            assert!(is_stamped(part, (1 << 40) + at as u64), "{at} {length}");
            if length > 8 {
                assert!(!is_stamped(part, (1 << 40) + at as u64 + 4096), "{at} {length}");
            }
        }
        let mut again = vec![0; 100];
        Contents::Stamped.refresh(&mut again, (1 << 40) + 5, &mut rng);
        assert_eq!(again, whole[5..105]);
        whole[9000] ^= 1;
        assert!(!is_stamped(&whole[8192..12_288], (1 << 40) + 8192));
        assert!(!is_stamped(&[0; 512], 0));
    }

    #[test]
    fn a_refreshed_buffer_differs_in_every_unit() {
        let mut rng = Rng::new(1, 1);
        let mut bytes = vec![0; 2 * UNIT_BYTES];
        Contents::Random.fill(&mut bytes, &mut rng);
        let before = bytes.clone();
        Contents::Random.refresh(&mut bytes, 0, &mut rng);
        assert!(bytes.chunks(UNIT_BYTES).zip(before.chunks(UNIT_BYTES)).all(|(a, b)| a != b));
        let mut zeros = vec![0; 512];
        Contents::Zeros.refresh(&mut zeros, 0, &mut rng);
        assert!(zeros.iter().all(|&byte| byte == 0));
    }
}
