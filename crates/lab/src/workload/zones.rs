//! Parts of an area, each with its share of the accesses.

use block::Rng;
use std::fmt;

/// Most parts of one area.
const ZONES_MAX: usize = 16;

/// Shares of the accesses and of the area, from its beginning (fio: `zoned:50/5:30/15:20/80`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Zones {
    count: usize,
    /// Percent of the accesses, percent of the blocks.
    zones: [(f32, f32); ZONES_MAX],
}

impl Zones {
    /// Reads `50/5:30/15:20/80`: percent of the accesses, percent of the area. What is left out at
    /// the end of either is shared equally.
    pub fn parse(text: &str) -> Option<Self> {
        let mut written = Vec::new();
        for zone in text.split(':') {
            let (access, size) = zone.split_once('/').unwrap_or((zone, ""));
            let percent = |text: &str| match text.trim() {
                "" => Some(None),
                text => text.parse().ok().filter(|share| (0.0..=100.0).contains(share)).map(Some),
            };
            written.push((percent(access)?, percent(size)?));
        }
        if written.len() > ZONES_MAX {
            return None;
        }
        let accesses = completed(written.iter().map(|(access, _)| *access))?;
        let sizes = completed(written.iter().map(|(_, size)| *size))?;
        let mut zones = [(0.0, 0.0); ZONES_MAX];
        for (zone, (access, size)) in zones.iter_mut().zip(accesses.into_iter().zip(sizes)) {
            *zone = (access as f32, size as f32);
        }
        Some(Self { count: written.len(), zones })
    }

    fn each(&self) -> &[(f32, f32)] {
        &self.zones[..self.count]
    }
}

/// The shares, those that are not written filled in; together all of it.
fn completed(shares: impl Iterator<Item = Option<f64>> + Clone) -> Option<Vec<f64>> {
    let known: f64 = shares.clone().flatten().sum();
    let open = shares.clone().filter(Option::is_none).count();
    let rest = if open > 0 { (100.0 - known) / open as f64 } else { 0.0 };
    let whole = known + rest * open as f64;
    let fits = (whole - 100.0).abs() < 0.01 && rest >= 0.0;
    fits.then(|| shares.map(|share| share.unwrap_or(rest)).collect())
}

impl fmt::Display for Zones {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (access, size)) in self.each().iter().enumerate() {
            let colon = if at > 0 { ":" } else { "" };
            write!(formatter, "{colon}{access}/{size}")?;
        }
        Ok(())
    }
}

/// Draws of blocks.
#[derive(Clone, Debug)]
pub(super) struct ZoneWalk {
    rng: Rng,
    /// Draws up to this are of the zone; its first block, and how many it has.
    zones: Vec<(u64, u64, u64)>,
}

impl ZoneWalk {
    /// Of an area of so many blocks.
    pub fn new(zones: &Zones, blocks: u64, rng: Rng) -> Self {
        let (mut access, mut size) = (0.0, 0.0);
        let mut all = Vec::new();
        for (zone_access, zone_size) in zones.each() {
            let at = |percent: f64| ((blocks as f64 * percent / 100.0).round() as u64).min(blocks);
            let first = at(size);
            access += f64::from(*zone_access);
            size += f64::from(*zone_size);
            let count = (at(size) - first).max(1);
            let threshold = (access / 100.0 * u64::MAX as f64) as u64;
            all.push((threshold, first.min(blocks - count.min(blocks)), count.min(blocks)));
        }
        Self { rng, zones: all }
    }

    #[inline(never)]
    pub fn next(&mut self) -> u64 {
        let draw = self.rng.next();
        let found = self.zones.iter().find(|(threshold, ..)| draw <= *threshold);
        let (_, first, count) = found.or(self.zones.last()).copied().unwrap_or((0, 0, 1));
        first + self.rng.below(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JESD219's client workload says where accesses go by zones; as `hot_cold` it had two.
    #[test]
    fn each_zone_has_its_share_of_the_accesses() {
        let zones = Zones::parse("50/5:30/15:20/80").expect("zones");
        let mut walk = ZoneWalk::new(&zones, 1000, Rng::new(1, 1));
        let mut counts = [0u64; 3];
        for _ in 0..100_000 {
            let block = walk.next();
            assert!(block < 1000);
            counts[if block < 50 { 0 } else { usize::from(block >= 200) + 1 }] += 1;
        }
        for (count, expected) in counts.into_iter().zip([50_000, 30_000, 20_000]) {
            assert!(u64::abs_diff(count, expected) < 1000, "{counts:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_the_rest() {
        let text = |text| Zones::parse(text).map(|zones| zones.to_string());
        assert_eq!(text("50/5:30/15:20/"), Some("50/5:30/15:20/80".to_owned()));
        assert_eq!(text("60/20:/"), Some("60/20:40/80".to_owned()));
        for wrong in ["50/5:30/15", "x/5", "120/100", "60/20:60/80", ""] {
            assert_eq!(text(wrong).filter(|_| !wrong.is_empty()), None, "{wrong}");
        }
    }

    #[test]
    fn a_small_area_has_a_block_for_every_zone() {
        let zones = Zones::parse("50/5:30/15:20/80").expect("zones");
        for blocks in 1..40 {
            let mut walk = ZoneWalk::new(&zones, blocks, Rng::new(2, 2));
            assert!((0..1000).all(|_| walk.next() < blocks), "{blocks}");
        }
    }
}
