//! What to do, in sentences.

use crate::{
    Answer, Found,
    probe::misses,
    reckon::Lasts,
    way::{Kind, Mode},
};
use block::display_bytes;
use cache::Policy;
use report::number;

/// A gain below is none: models and checks scatter by as much.
const GAIN_LEAST: f64 = 1.1;
/// A share of hits below is none.
const HITS_LEAST: f64 = 0.02;
/// What a check may be off from what was reckoned.
pub const OFF_MOST: f64 = 0.1;
/// Memory up to which "buy memory" is an answer, bytes.
const MEMORY_MOST: u64 = 64 << 30;
/// A little more flash.
const MORE_BYTES: u64 = 10_000_000_000;
/// A share of hits that is worth a sentence.
const MORE_LEAST: f64 = 0.005;

impl Answer {
    /// The answer first, then what it depends on.
    pub fn verdict(&self) -> Vec<String> {
        let mut sentences = vec![self.answer()];
        sentences.extend(self.no_flash_for_its_rate());
        if self.hits_most() >= HITS_LEAST {
            sentences.extend(self.memory());
            sentences.extend(self.more());
            sentences.extend(self.breaks_even());
            sentences.extend(self.lost());
        }
        sentences.extend(self.off());
        sentences
    }

    /// The fastest cache, where there is one that does anything.
    pub fn best_cache(&self) -> Option<&Found> {
        self.found.iter().find(|found| found.way.shape().is_some())
    }

    /// Share of the blocks that a cache of all that is touched hits.
    fn hits_most(&self) -> f64 {
        let largest = self.seen.footprint_bytes().next_power_of_two();
        1.0 - misses(&self.seen, Policy::Lru, largest)
    }

    fn answer(&self) -> String {
        let disks = self.disks().iops();
        let hits = self.hits_most();
        if hits < HITS_LEAST {
            return format!(
                "No cache helps its reads: {} of its accesses ask for a block again, and the \
                 working set is larger than any cache of what it touches ({}).",
                number::percent(hits),
                number::size(self.seen.footprint_bytes())
            );
        }
        let best = &self.found[0];
        let gain = best.iops() / disks;
        if gain < GAIN_LEAST {
            return format!(
                "No flash is needed: the disks alone do {} operations a second, the fastest way \
                 {} times as many.",
                number::iops(disks),
                number::significant(gain)
            );
        }
        let mut text = format!(
            "Fastest: {}, {} times the disks alone",
            best.way.name(),
            number::significant(gain)
        );
        if best.way.shape().is_none()
            && let Some(cache) = self.best_cache()
        {
            text += &format!(
                "; of the caches: {}, {} times",
                cache.way.name(),
                number::significant(cache.iops() / disks)
            );
        }
        text + "."
    }

    /// The trace's own rate may be less than what the disks do.
    fn no_flash_for_its_rate(&self) -> Option<String> {
        let [.., second] = &self.seen.like.bursts;
        let (peak, disks) = (second.peak as f64, self.disks().iops());
        let has_time = self.seen.like.seconds() >= 1.0;
        (has_time && peak > 0.0 && disks >= peak).then(|| {
            format!(
                "At its own pace it needs no flash: its busiest second asks for {}, and the disks \
                 do {} a second.",
                number::iops(peak),
                number::iops(disks)
            )
        })
    }

    /// A page cache that holds what is read again.
    fn memory(&self) -> Option<String> {
        let caches = &self.seen.like.blocks.caches;
        let reads = self.seen.like.of(trace::Op::Read).operations as f64 / self.seen.requests();
        let least = caches.last()?.read_misses?;
        let enough = caches.iter().find(|point| {
            point.read_misses.is_some_and(|missed| 1.0 - missed >= 0.95 * (1.0 - least))
        })?;
        let hits = 1.0 - enough.read_misses?;
        (reads > 0.5 && hits > 0.5 && enough.cache_bytes <= MEMORY_MOST).then(|| {
            format!(
                "More memory instead: a page cache of {} answers {} of its reads, and flash gains \
                 nothing for those.",
                display_bytes(enough.cache_bytes),
                number::percent(hits)
            )
        })
    }

    /// What the next bytes of flash bring.
    fn more(&self) -> Option<String> {
        let cache = self.best_cache()?;
        let (_, shape) = cache.way.shape()?;
        let at = |bytes| 1.0 - misses(&self.seen, shape.policy, bytes);
        let (now, then) = (at(shape.size_bytes), at(shape.size_bytes + MORE_BYTES));
        (then - now >= MORE_LEAST).then(|| {
            format!(
                "10 GB more than {}: {} of all accesses hit instead of {}.",
                display_bytes(shape.size_bytes),
                number::percent(then),
                number::percent(now)
            )
        })
    }

    /// Up to which price a cache is worth more than disks for the same operations.
    fn breaks_even(&self) -> Option<String> {
        let cache = self.best_cache()?;
        let (ssd, _) = cache.way.shape()?;
        let disks = self.disks();
        let price = disks.way.price?;
        let at_par = (cache.iops() / disks.iops() - 1.0) * price;
        (at_par > 0.0).then(|| {
            format!(
                "As long as one {ssd} costs less than {at_par:.0} {}, {} costs less an operation \
                 than more disks.",
                self.question.currency,
                cache.way.name()
            )
        })
    }

    /// What a power cut leaves of the cache that comes first.
    fn lost(&self) -> Option<String> {
        let (_, shape) = self.best_cache()?.way.shape()?;
        Some(match shape.mode {
            Mode::Back => {
                "After a power cut writeback has what was flushed, if its map is on flash as here; \
                 without the SSD the disks are out of date: a dead SSD is lost data."
                    .to_owned()
            }
            Mode::Through | Mode::Around => {
                "After a power cut the disks have all that was flushed; the cache starts empty, \
                 and a dead SSD loses nothing."
                    .to_owned()
            }
        })
    }

    /// Where what was reckoned is not what a replay found.
    fn off(&self) -> Option<String> {
        let off = |found: &&Found| found.off().is_some_and(|off| off.abs() > OFF_MOST);
        let off: Vec<String> =
            self.found.iter().filter(off).map(|found| found.way.name()).collect();
        let others = self.found.iter().filter(|found| found.checked.is_none()).count();
        (others > 0 && !off.is_empty()).then(|| {
            format!(
                "{} of {} replayed ways are more than 10 % off what was reckoned of them: what was \
                 only reckoned, `~`, is as doubtful.",
                off.len(),
                self.found.len() - others
            )
        })
    }
}

impl Found {
    /// How far the replay is from what was reckoned, as a share.
    pub fn off(&self) -> Option<f64> {
        Some(self.checked?.iops / self.reckoned.iops - 1.0)
    }

    /// How long flash lasts, in a table.
    pub fn lasts(&self) -> String {
        match self.reckoned.lasts {
            Lasts::NoWear => "no wear".to_owned(),
            Lasts::Unknown => "?".to_owned(),
            Lasts::Years(years) if years >= 100.0 => "> 100 y".to_owned(),
            Lasts::Years(years) => format!("{:.1} y", (years * 10.0).floor() / 10.0),
        }
    }

    /// What is lost with the flash drive.
    pub fn depends_on_flash(&self) -> bool {
        match &self.way.kind {
            Kind::Disks => false,
            Kind::Flash { .. } => true,
            Kind::Cache { shape, .. } => shape.mode == Mode::Back,
        }
    }
}
