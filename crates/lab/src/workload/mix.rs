//! Operations of several sizes in one stream, as fio's `bssplit`.

use block::{Rng, display_bytes, parse_bytes};
use std::fmt;

/// Most sizes of a mix: as many as fio takes.
const SIZES_MAX: usize = 64;
/// Marks the draws of sizes, which no other draw depends on.
const SIZES: u64 = 1 << 43;
/// Percents add up to a hundred within this: three thirds of 33.33 do.
const ROUNDING: f64 = 0.05;

/// Sizes and the share of the operations that each has. All are multiples of the smallest.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockMix(Vec<(u32, f64)>);

impl BlockMix {
    /// Reads `4K:60,64K:40`, percents of the operations. Blocks go up to `bytes_max`.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn parse(text: &str, bytes_max: u64) -> Result<Self, String> {
        let wrong = |what: String| format!("block = `{text}`: {what}");
        let mut sizes = Vec::new();
        for part in text.split(',') {
            let (size, percent) = part.split_once(':').ok_or_else(|| {
                wrong(format!("`{part}` has no percentage, such as 4K:60,64K:40"))
            })?;
            let bytes = parse_bytes(size.trim()).map_err(|error| format!("block: {error}"))?;
            if !(1..=bytes_max).contains(&bytes) {
                let most = display_bytes(bytes_max);
                return Err(wrong(format!("blocks go from 1 B to {most}")));
            }
            let percent = percent.trim().parse::<f64>().ok();
            let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
            let percent = percent.ok_or_else(|| {
                wrong(format!("`{part}`: percent above 0, to 100, after the colon"))
            })?;
            sizes.push((bytes as u32, percent));
        }
        if sizes.len() > SIZES_MAX {
            return Err(wrong(format!("{} sizes are more than {SIZES_MAX}", sizes.len())));
        }
        let sum: f64 = sizes.iter().map(|(_, percent)| percent).sum();
        if (sum - 100.0).abs() > ROUNDING {
            return Err(wrong(format!("its percents add up to {sum}, not to 100")));
        }
        sizes.sort_unstable_by_key(|(bytes, _)| *bytes);
        if sizes.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong("a size stands there twice".to_owned()));
        }
        let mix = Self(sizes);
        let smallest = mix.smallest();
        match mix.0.iter().find(|(bytes, _)| !bytes.is_multiple_of(smallest)) {
            Some((bytes, _)) => Err(wrong(format!(
                "{bytes} B is no multiple of its smallest block of {smallest} B, on multiples of \
                 which all operations lie"
            ))),
            None => Ok(mix),
        }
    }

    /// Sizes with the share of the operations that each has, whatever these add up to. `None` where
    /// they are no mix: none or too many of them, no whole multiples of the smallest, no share.
    pub fn of_shares(shares: impl IntoIterator<Item = (u32, f64)>) -> Option<Self> {
        let mut sizes: Vec<(u32, f64)> = shares.into_iter().collect();
        let sum: f64 = sizes.iter().map(|(_, share)| share).sum();
        // Divided first: of one size all are 1, and so no more than 100.
        sizes.iter_mut().for_each(|(_, share)| *share = *share / sum * 100.0);
        sizes.sort_unstable_by_key(|(bytes, _)| *bytes);
        let smallest = sizes.first()?.0;
        let is_mix = smallest > 0
            && sizes.len() <= SIZES_MAX
            && sizes.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && sizes.iter().all(|(bytes, percent)| {
                bytes.is_multiple_of(smallest) && *percent > 0.0 && *percent <= 100.0
            });
        is_mix.then_some(Self(sizes))
    }

    /// The sizes, smallest first, and the percent of the operations that each has.
    pub fn sizes(&self) -> &[(u32, f64)] {
        &self.0
    }

    /// The smallest size: all offsets are multiples of it, from the start of the area on.
    pub fn smallest(&self) -> u32 {
        self.0.first().expect("a mix has sizes").0
    }

    /// The largest size.
    pub fn largest(&self) -> u32 {
        self.0.last().expect("a mix has sizes").0
    }

    /// Bytes of an operation in the mean.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|(_, percent)| percent).sum();
        self.0.iter().map(|(bytes, percent)| f64::from(*bytes) * percent / sum).sum()
    }
}

impl fmt::Display for BlockMix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (bytes, percent)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let size = display_bytes(u64::from(*bytes)).replace(' ', "").replace("iB", "");
            write!(formatter, "{comma}{size}:{percent}")?;
        }
        Ok(())
    }
}

/// One worker's draws from a mix.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Draws up to the first number have the size beside it.
    thresholds: Vec<(u64, u32)>,
    largest: u32,
    rng: Rng,
    left_bytes: u64,
}

impl Sizes {
    /// For the worker of this number, which asks for so many bytes at most.
    pub fn new(mix: &BlockMix, seed: u64, worker: u64, left_bytes: u64) -> Self {
        let sum: f64 = mix.0.iter().map(|(_, percent)| percent).sum();
        let mut below = 0.0;
        let mut thresholds: Vec<_> = mix
            .0
            .iter()
            .map(|(bytes, percent)| {
                below += percent / sum;
                ((below * u64::MAX as f64) as u64, *bytes)
            })
            .collect();
        thresholds.last_mut().expect("a mix has sizes").0 = u64::MAX;
        let rng = Rng::new(seed, SIZES | worker);
        Self { thresholds, largest: mix.largest(), rng, left_bytes }
    }

    /// Bytes of the next operation.
    pub fn draw(&mut self) -> u32 {
        let drawn = self.rng.next();
        let found = self.thresholds.iter().find(|(threshold, _)| drawn <= *threshold);
        let bytes = found.expect("the last threshold is the largest number").1;
        self.left_bytes = self.left_bytes.saturating_sub(u64::from(bytes));
        bytes
    }

    /// Whether the bytes that are left might not do for another operation.
    pub fn is_spent(&self) -> bool {
        self.left_bytes < u64::from(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_as_it_is_written_and_drawn_as_it_says() {
        let mix = BlockMix::parse("64K:40,4K:60", 1 << 20).expect("a mix");
        assert_eq!(mix.to_string(), "4K:60,64K:40");
        assert_eq!((mix.smallest(), mix.largest()), (4096, 65_536));
        assert!((mix.mean() - (0.6 * 4096.0 + 0.4 * 65_536.0)).abs() < 1e-9);
        let mut sizes = Sizes::new(&mix, 7, 0, u64::MAX);
        let small = (0..100_000).filter(|_| sizes.draw() == 4096).count();
        // Four standard deviations of a binomial are 620.
        assert!(small.abs_diff(60_000) < 620, "{small}");
        assert!(BlockMix::parse("512:33.33,1K:33.33,2K:33.33", 1 << 20).is_ok());
    }

    /// A trace of ten million accesses, all of 4 KiB, had "no reads and no writes": its only size
    /// got 100.00000000000001 %.
    #[test]
    fn an_only_size_has_all_whatever_its_count() {
        for count in (1..2_000).chain([6_999_287, 9_999_999, 10_000_000, u64::MAX / 3]) {
            let mix = BlockMix::of_shares([(4096, count as f64)]);
            assert_eq!(mix.expect("a mix").sizes(), [(4096, 100.0)], "{count}");
        }
    }

    #[test]
    fn shares_of_any_sum_are_a_mix_and_sizes_that_do_not_fit_are_none() {
        let mix = BlockMix::of_shares([(65_536, 2.0), (4096, 3.0)]).expect("a mix");
        assert_eq!(mix, BlockMix::parse("4K:60,64K:40", 1 << 20).expect("a mix"));
        for no_mix in [&[][..], &[(4096, 0.0)], &[(4096, 1.0), (6144, 1.0)], &[(0, 1.0)]] {
            assert_eq!(BlockMix::of_shares(no_mix.iter().copied()), None, "{no_mix:?}");
        }
    }

    #[test]
    fn a_mix_that_is_none_is_refused_with_the_cure() {
        let cases = [
            ("4K:60,64K", "no percentage"),
            ("4K:60,64K:30", "add up to 90"),
            ("4K:60,6K:40", "no multiple of its smallest block of 4096 B"),
            ("4K:50,4096:50", "twice"),
            ("4K:0,8K:100", "percent above 0"),
            ("4K:50,2M:50", "to 1 MiB"),
            ("4x:50,8K:50", "64KiB"),
        ];
        for (text, cure) in cases {
            let seen = BlockMix::parse(text, 1 << 20).expect_err(text);
            assert!(seen.contains(cure), "{text}: {seen}");
        }
    }
}
