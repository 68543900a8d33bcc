//! Where in the tested area a stream works, to the byte.

use block::parse_bytes;
use std::fmt;

/// A place or a length: a share of what the cell works on and bytes on top.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Reach {
    /// Of the cell's file or the tested area, 0 to 1.
    pub share: f64,
    /// On top of it.
    pub bytes: u64,
}

impl Reach {
    /// Reads `10GiB`, `80%`, `25%+1MiB`.
    pub fn parse(text: &str) -> Option<Self> {
        let (share, bytes) = match text.split_once('%') {
            None => (0.0, parse_bytes(text).ok()?),
            Some((percent, rest)) => {
                let share = percent.trim().parse::<f64>().ok()? / 100.0;
                let bytes = match rest.trim() {
                    "" => 0,
                    rest => parse_bytes(rest.strip_prefix('+')?).ok()?,
                };
                (share, bytes)
            }
        };
        (0.0..=1.0).contains(&share).then_some(Self { share, bytes })
    }

    /// In bytes of `whole`; the share's part is a multiple of `grain`.
    pub fn of(self, whole: u64, grain: u64) -> u64 {
        let share = if self.share == 1.0 { whole } else { (whole as f64 * self.share) as u64 };
        let share = if self.share == 1.0 { share } else { share / grain * grain };
        share.saturating_add(self.bytes)
    }
}

/// As [`Reach::parse`] reads it.
impl fmt::Display for Reach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.share, self.bytes) {
            (0.0, bytes) => write!(formatter, "{bytes}"),
            (share, 0) => write!(formatter, "{}%", share * 100.0),
            (share, bytes) => write!(formatter, "{}%+{bytes}", share * 100.0),
        }
    }
}

/// Where a stream works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StreamPlace {
    /// Its first byte.
    pub start: Reach,
    /// How far it goes; no further than the end of what the cell works on.
    pub length: Reach,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_is_a_share_bytes_or_both() {
        let of = |text: &str| Reach::parse(text).expect(text).of(1000 << 20, 1 << 20);
        assert_eq!((of("4096"), of("1GiB")), (4096, 1 << 30));
        assert_eq!((of("80%"), of("100%")), (800 << 20, 1000 << 20));
        assert_eq!(of("25%+1MiB"), 251 << 20);
        assert_eq!(of("33.33%"), 333 << 20);
        for text in ["", "101%", "-1%", "5%4K", "x%", "4x"] {
            assert_eq!(Reach::parse(text), None, "{text}");
        }
        for text in ["4096", "80%", "25%+1048576"] {
            assert_eq!(Reach::parse(text).expect(text).to_string(), text);
        }
    }
}
