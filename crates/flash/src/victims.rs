//! Which segments could be emptied, by how full they are and how old: a choice looks at a few of
//! them, not at the drive's thousands.

use std::collections::BTreeSet;

/// Degrees of fullness that are told apart. Within a degree the oldest stands for all, so a choice
/// by cost and benefit errs by less than this part of a segment.
const DEGREES: u32 = 64;
/// Of those in which everything is alive: emptying them gives nothing back.
const FULL: u8 = DEGREES as u8;
const NOT_LISTED: u8 = u8::MAX;

/// The segments that may be emptied.
#[derive(Clone, Debug)]
pub(crate) struct Victims {
    /// (last sequence number, segment) by degree; the last set is of full ones.
    degrees: Vec<BTreeSet<(u64, u32)>>,
    listed: Vec<u8>,
    /// Live blocks of a full one.
    full: u32,
}

impl Victims {
    pub fn new(segments: u32, full: u32) -> Self {
        Self {
            degrees: vec![BTreeSet::new(); DEGREES as usize + 1],
            listed: vec![NOT_LISTED; segments as usize],
            full,
        }
    }

    fn degree(&self, live: u32, retired: bool) -> u8 {
        let degree = (u64::from(live) * u64::from(DEGREES) / u64::from(self.full)) as u8;
        // What is retired is worth emptying however full it is.
        degree.min(if retired { FULL - 1 } else { FULL })
    }

    /// Lists a segment with so many live blocks, or moves it.
    #[inline]
    pub fn list(&mut self, segment: u32, last_seq: u64, live: u32, retired: bool) {
        let degree = self.degree(live, retired);
        if self.listed[segment as usize] != degree {
            self.strike(segment, last_seq);
            self.listed[segment as usize] = degree;
            self.degrees[usize::from(degree)].insert((last_seq, segment));
        }
    }

    /// Takes a segment off the list, if it is on it.
    #[inline]
    pub fn strike(&mut self, segment: u32, last_seq: u64) {
        let degree = std::mem::replace(&mut self.listed[segment as usize], NOT_LISTED);
        if degree != NOT_LISTED {
            let found = self.degrees[usize::from(degree)].remove(&(last_seq, segment));
            assert!(found, "segment {segment} was listed with another number");
        }
    }

    /// The one that was filled first, be it full.
    pub fn oldest(&self) -> Option<u32> {
        let first = self.degrees.iter().filter_map(|degree| degree.first());
        first.min().map(|&(_, segment)| segment)
    }

    /// The emptiest, by a count of live blocks.
    pub fn emptiest(&self, live: impl Fn(u32) -> u32) -> Option<u32> {
        let degrees = &self.degrees[..usize::from(FULL)];
        let degree = degrees.iter().find(|degree| !degree.is_empty())?;
        degree.iter().map(|&(_, segment)| segment).min_by_key(|&segment| (live(segment), segment))
    }

    /// The oldest of each degree that is not full.
    pub fn oldest_of_each(&self) -> impl Iterator<Item = u32> + '_ {
        let degrees = self.degrees[..usize::from(FULL)].iter();
        degrees.filter_map(|degree| degree.first()).map(|&(_, segment)| segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Rng;
    use std::collections::BTreeMap;

    /// Against a plain list that is searched from end to end.
    #[test]
    fn choices_are_those_of_a_search_through_everything() {
        let (mut victims, mut plain) = (Victims::new(200, 500), BTreeMap::new());
        let mut rng = Rng::new(1, 1);
        for round in 0..20_000u64 {
            let segment = rng.below(200) as u32;
            match plain.get(&segment).copied() {
                Some((last_seq, _)) if rng.below(3) == 0 => {
                    victims.strike(segment, last_seq);
                    plain.remove(&segment);
                }
                before => {
                    let last_seq = before.map_or(round, |(last_seq, _)| last_seq);
                    let live = 1 + rng.below(500) as u32;
                    victims.list(segment, last_seq, live, false);
                    plain.insert(segment, (last_seq, live));
                }
            }
            let oldest = plain.iter().min_by_key(|(_, (last_seq, _))| *last_seq);
            assert_eq!(victims.oldest(), oldest.map(|(&segment, _)| segment));
            let some_dead = plain.iter().filter(|(_, (_, live))| *live < 500);
            let emptiest = some_dead.clone().min_by_key(|(segment, (_, live))| (*live, **segment));
            let seen = victims.emptiest(|segment| plain[&segment].1);
            assert_eq!(seen, emptiest.map(|(&segment, _)| segment));
            for segment in victims.oldest_of_each() {
                let (last_seq, live) = plain[&segment];
                let older = some_dead.clone().find(|(_, (seq, other))| {
                    *seq < last_seq && other * 64 / 500 == live * 64 / 500
                });
                assert_eq!(older, None, "as full as segment {segment}, and older");
            }
        }
    }
}
