//! The power cut: of every sector one version stays, be it the one on the medium, one that the
//! cache held, or one in flight. Which one is somebody's choice: a seed's, or that of whoever
//! enumerates.

use super::{Change, Media, Value};
use block::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

/// How finely a power cut may part what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grain {
    /// Each sector by itself: every state that the fault model admits. Asked once for each sector
    /// with more than one distinct version, with their number. Where a drive does not tear a write
    /// of several sectors, it is asked of that one whether it is lost (0) or whole (1), and of each
    /// sector of its neighbours' that lies on it.
    Sector,
    /// Each write by itself, in the order of completion, then those in flight: lost (0), torn in
    /// its middle (1, where the drive tears it), or whole (the last). Fewer states, all admitted:
    /// for enumerating what [`Grain::Sector`] makes too many of.
    Write,
    /// As [`Grain::Write`], and torn anywhere: of one that is, asked at which of its inner sectors,
    /// from the second on (0), and whether what stands before it stays (0) or the rest (1). For
    /// draws: half of a write is a whole number of most programs' pages.
    Place,
}

/// What a power cut did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Sectors that had a version beside the one on the medium.
    pub sectors_at_risk: u64,
    /// Sectors that no longer read as they did before the cut.
    pub sectors_changed: u64,
    /// A hash of what stayed in the sectors at risk: tells apart the states that cuts of one moment
    /// left.
    pub survivors: u64,
}

impl Loss {
    /// Of two media together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sectors_at_risk: self.sectors_at_risk + other.sectors_at_risk,
            sectors_changed: self.sectors_changed + other.sectors_changed,
            survivors: mix(self.survivors, other.survivors),
        }
    }
}

/// Where a version of a sector stands.
#[derive(Clone, Copy, Debug)]
enum Source {
    Durable,
    Cached(u64),
    InFlight(u64),
}

impl Media {
    /// The power goes and comes back: each sector keeps one of its versions since its last flush,
    /// the durable one included. Nothing is in flight or cached afterwards.
    ///
    /// The seed decides how finely and how much is lost as well, from next to nothing to next to
    /// all, so that many seeds reach the rare states too.
    pub fn power_cut(&mut self, seed: u64) -> Loss {
        let mut rng = Rng::new(seed, 0x0070_6f77_6572);
        let grain = if rng.below(2) == 0 { Grain::Sector } else { Grain::Write };
        let newest_of_64 = [0, 32, 60, 63][rng.below(4) as usize];
        self.power_cut_with(grain, &mut |choices| {
            let newest = rng.below(64) < newest_of_64;
            if newest { choices - 1 } else { rng.below(choices as u64) as usize }
        })
    }

    /// The same with every choice made by `choose`: told how many there are, it says which, from 0.
    ///
    /// # Panics
    /// When `choose` answers with a choice that there is not.
    pub fn power_cut_with(&mut self, grain: Grain, choose: &mut dyn FnMut(usize) -> usize) -> Loss {
        let mut checked = |choices| {
            let choice = choose(choices);
            assert!(choice < choices, "choice {choice} of {choices}");
            choice
        };
        let candidates = self.candidates();
        let kept = match grain {
            Grain::Sector => self.keep_by_sector(&candidates, &mut checked),
            Grain::Write => self.keep_by_write(&candidates, &mut checked, false),
            Grain::Place => self.keep_by_write(&candidates, &mut checked, true),
        };
        let before = |sector| self.newest(sector).map_or(Source::Durable, Source::Cached);
        let stays = |&sector: &u64| {
            let now = kept.get(&sector).copied().unwrap_or(Source::Durable);
            self.cell(sector, now) == self.cell(sector, before(sector))
        };
        let sectors_at_risk = candidates.len() as u64;
        let sectors_changed =
            sectors_at_risk - candidates.keys().filter(|s| stays(s)).count() as u64;
        let survivors = candidates.keys().fold(0, |hash, &sector| {
            let now = kept.get(&sector).copied().unwrap_or(Source::Durable);
            mix(mix(hash, sector), self.cell(sector, now).map_or(0, hash_of))
        });
        self.keep(&kept);
        Loss { sectors_at_risk, sectors_changed, survivors }
    }

    /// How many sectors have a version beside the one on the medium: a power cut could take them.
    pub fn sectors_at_risk(&self) -> u64 {
        self.candidates().len() as u64
    }

    /// In how many ways a power cut could go now; `u64::MAX` for more than that. At
    /// [`Grain::Sector`] each leaves another state, at [`Grain::Place`] all torn ones of a write
    /// count as one.
    pub fn ways_to_cut(&self, grain: Grain) -> u64 {
        let mut ways = 1u64;
        self.clone().power_cut_with(grain, &mut |choices| {
            ways = ways.saturating_mul(choices as u64);
            0
        });
        ways
    }

    /// For every sector with more versions than the durable one: those, oldest first.
    fn candidates(&self) -> BTreeMap<u64, Vec<Source>> {
        let mut candidates = BTreeMap::<u64, Vec<Source>>::new();
        for &(sector, number) in &self.versions {
            candidates.entry(sector).or_default().push(Source::Cached(number));
        }
        for (&id, change) in &self.in_flight {
            for sector in self.touched(change) {
                candidates.entry(sector).or_default().push(Source::InFlight(id));
            }
        }
        candidates
    }

    fn keep_by_sector(
        &self,
        candidates: &BTreeMap<u64, Vec<Source>>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> BTreeMap<u64, Source> {
        let mut kept = self.keep_untorn(candidates, choose);
        let bound: BTreeSet<u64> = kept.keys().copied().collect();
        for (&sector, sources) in candidates {
            if bound.contains(&sector) {
                continue;
            }
            let mut distinct = vec![Source::Durable];
            for &source in sources {
                let cell = self.cell(sector, source);
                if distinct.iter().all(|&other| self.cell(sector, other) != cell) {
                    distinct.push(source);
                }
            }
            if distinct.len() > 1 {
                kept.insert(sector, distinct[choose(distinct.len())]);
            }
        }
        kept
    }

    /// Of the sectors of writes that the drive does not tear, what is kept: write by write, sector
    /// by sector of the others that lie there.
    fn keep_untorn(
        &self,
        candidates: &BTreeMap<u64, Vec<Source>>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> BTreeMap<u64, Source> {
        if self.atomic_bytes == u64::from(self.sector_bytes) {
            return BTreeMap::new();
        }
        let writes = by_write(candidates);
        let untorn =
            |(source, sectors): &(Source, Vec<u64>)| sectors.len() > 1 && !self.is_torn(*source);
        let whole = writes.iter().filter(|write| untorn(write));
        let bound: BTreeSet<u64> = whole.flat_map(|(_, sectors)| sectors).copied().collect();
        let mut kept: BTreeMap<u64, Source> =
            bound.iter().map(|&sector| (sector, Source::Durable)).collect();
        for write in &writes {
            let (source, sectors) = write;
            if untorn(write) {
                if choose(2) == 1 {
                    kept.extend(sectors.iter().map(|&sector| (sector, *source)));
                }
                continue;
            }
            for &sector in sectors.iter().filter(|sector| bound.contains(sector)) {
                if choose(2) == 1 {
                    kept.insert(sector, *source);
                }
            }
        }
        kept
    }

    fn keep_by_write(
        &self,
        candidates: &BTreeMap<u64, Vec<Source>>,
        choose: &mut dyn FnMut(usize) -> usize,
        is_torn_anywhere: bool,
    ) -> BTreeMap<u64, Source> {
        let mut kept = BTreeMap::new();
        for (source, sectors) in by_write(candidates) {
            let torn = usize::from(sectors.len() > 1 && self.is_torn(source));
            let landed = match choose(2 + torn) {
                0 => &[],
                1 if torn == 1 && is_torn_anywhere => {
                    let (before, rest) = sectors.split_at(1 + choose(sectors.len() - 1));
                    if choose(2) == 0 { before } else { rest }
                }
                1 if torn == 1 => &sectors[..sectors.len() / 2],
                _ => &sectors[..],
            };
            kept.extend(landed.iter().map(|&sector| (sector, source)));
        }
        kept
    }

    /// Whether a power cut may part the sectors of that write: of one of at most the drive's atomic
    /// unit, within one such unit, it does not. A discard may always be parted.
    fn is_torn(&self, source: Source) -> bool {
        let Change { sectors, value, .. } = match source {
            Source::Durable => return false,
            Source::Cached(number) => &self.cached[self.index_of(number)].change,
            Source::InFlight(id) => &self.in_flight[&id],
        };
        let unit = self.atomic_bytes / u64::from(self.sector_bytes);
        matches!(value, Value::Zero) || sectors.start / unit != (sectors.end - 1) / unit
    }

    /// The cell of that version; none if it cannot be read.
    fn cell(&self, sector: u64, source: Source) -> Option<&[u8]> {
        match source {
            Source::Durable if self.damaged.contains(&sector) => None,
            Source::Durable => Some(self.durable.get(sector)),
            Source::Cached(number) => Some(self.version(sector, number)),
            Source::InFlight(id) => {
                Some(self.in_flight[&id].cell(sector, self.durable.cell_bytes()))
            }
        }
    }

    /// Puts the chosen versions on the medium and forgets the rest.
    fn keep(&mut self, kept: &BTreeMap<u64, Source>) {
        self.revision += 1;
        self.versions.clear();
        self.cached_bytes = 0;
        self.owed = 0;
        let (cached, in_flight) = (mem::take(&mut self.cached), mem::take(&mut self.in_flight));
        let oldest = cached.front().map_or(0, |oldest| oldest.number);
        for (&sector, &source) in kept {
            match source {
                Source::Durable => {}
                Source::Cached(number) => {
                    self.settle(sector, &cached[(number - oldest) as usize].change);
                }
                Source::InFlight(id) => self.settle(sector, &in_flight[&id]),
            }
        }
    }
}

/// The writes that candidates are of, each with its sectors: in the order of completion, then those
/// in flight.
fn by_write(candidates: &BTreeMap<u64, Vec<Source>>) -> Vec<(Source, Vec<u64>)> {
    let (mut cached, mut in_flight) = (BTreeMap::new(), BTreeMap::new());
    for (&sector, sources) in candidates {
        for &source in sources {
            let (writes, number) = match source {
                Source::Cached(number) => (&mut cached, number),
                Source::InFlight(id) => (&mut in_flight, id),
                Source::Durable => unreachable!("the durable version is no candidate"),
            };
            writes.entry(number).or_insert_with(|| (source, Vec::new())).1.push(sector);
        }
    }
    cached.into_values().chain(in_flight.into_values()).collect()
}

/// A word more in a hash: one round of FNV-1a over 64 bits, its high bits folded back.
fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    product.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// In four lanes, so that the processor need not wait for one product before the next.
fn hash_of(cell: &[u8]) -> u64 {
    let (words, _) = cell.as_chunks::<8>();
    let mut lanes = [cell.len() as u64, 1, 2, 3];
    for words in words.chunks(lanes.len()) {
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    lanes.into_iter().fold(0, mix)
}

/// All ways to answer a series of questions, one after the other: an odometer whose wheels are as
/// many and as large as the questions turn out to be.
///
/// ```
/// # use model::Choices;
/// let (mut choices, mut seen) = (Choices::default(), Vec::new());
/// loop {
///     let first = choices.pick(2);
///     seen.push(if first == 0 { (0, 0) } else { (1, choices.pick(3)) });
///     if !choices.advance() {
///         break;
///     }
/// }
/// assert_eq!(seen, [(0, 0), (1, 0), (1, 1), (1, 2)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// What was answered, and to a question of how many choices.
    taken: Vec<(usize, usize)>,
    asked: usize,
}

impl Choices {
    /// The answer to the next question of this round, which has `choices` of them.
    ///
    /// # Panics
    /// When the round asks something else than the one before did after the same answers.
    pub fn pick(&mut self, choices: usize) -> usize {
        assert!(choices > 0, "a question without an answer");
        if self.asked == self.taken.len() {
            self.taken.push((0, choices));
        }
        let (pick, before) = self.taken[self.asked];
        assert_eq!(before, choices, "the same answers lead to the same question");
        self.asked += 1;
        pick
    }

    /// On to the next round; whether there is one.
    pub fn advance(&mut self) -> bool {
        self.taken.truncate(self.asked);
        self.asked = 0;
        while let Some((pick, choices)) = self.taken.last_mut() {
            *pick += 1;
            if pick < choices {
                return true;
            }
            self.taken.pop();
        }
        false
    }
}
