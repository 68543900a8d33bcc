//! What to do, in sentences.

use crate::{AllFlash, Answer, Found, mode::Mode, probe::misses, reckon::Lasts, way::Kind};
use block::display_bytes;
use cache::Policy;
use report::number;

/// A gain below is none: models and checks scatter by as much.
pub(crate) const GAIN_LEAST: f64 = 1.1;
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
        }
        if self.best_beside().is_some_and(|best| self.gain(best) >= GAIN_LEAST) {
            sentences.extend(self.breaks_even());
            sentences.extend(self.lost());
            sentences.extend(self.in_hindsight());
        }
        sentences.extend(self.for_the_money());
        sentences.extend(self.off());
        sentences
    }

    /// The fastest cache, where there is one that does anything.
    pub fn best_cache(&self) -> Option<&Found> {
        self.found.iter().find(|found| found.way.shape().is_some())
    }

    /// The fastest of the ways that have disks and flash.
    pub fn best_beside(&self) -> Option<&Found> {
        self.found.iter().find(|found| found.way.beside().is_some())
    }

    /// How many times what the disks alone do.
    fn gain(&self, found: &Found) -> f64 {
        found.iops() / self.disks().iops()
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
        let gain = self.gain(best);
        if gain < GAIN_LEAST {
            return no_flash(disks, gain);
        }
        let mut text = format!(
            "Fastest: {}, {} times the disks alone",
            best.way.name(),
            number::significant(gain)
        );
        if best.way.beside().is_none()
            && let Some(beside) = self.best_beside()
        {
            text += &format!(
                "; with the disks: {}, {} times",
                beside.way.name(),
                number::significant(self.gain(beside))
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

    /// Up to which price flash beside the disks is worth more than disks for the same operations.
    fn breaks_even(&self) -> Option<String> {
        let best = self.best_beside()?;
        let ssd = best.way.beside()?;
        let price = self.disks().way.price?;
        let currency = &self.question.prices.currency;
        breaks_even((ssd, &best.way.name()), self.gain(best), price, currency)
    }

    /// A cache and a tier learn; a range was chosen.
    fn in_hindsight(&self) -> Option<String> {
        let is_pin = matches!(self.best_beside()?.way.kind, Kind::Pin { .. });
        is_pin
            .then(|| "The range was chosen with all of the trace known: its best case.".to_owned())
    }

    /// Flash alone for what the disks cost.
    fn for_the_money(&self) -> Option<String> {
        let price = self.disks().way.price?;
        let parts: Vec<String> = self.all_flash.iter().map(|it| self.bought(it)).collect();
        let currency = &self.question.prices.currency;
        let text = || format!("All flash for {price:.0} {currency}, the disks' price: ");
        (!parts.is_empty()).then(|| text() + &parts.join("; ") + ".")
    }

    fn bought(&self, it: &AllFlash) -> String {
        let room = self.seen.like.room_bytes;
        let AllFlash { ssd, count, .. } = it;
        match it {
            AllFlash { count: 0, .. } => format!("not one {ssd}"),
            AllFlash { holds: false, .. } => format!(
                "{count}x {ssd}, whose {} do not hold the {} that the trace reaches over",
                number::size(it.capacity_bytes),
                number::size(room)
            ),
            _ => {
                let kind = Kind::Flash { ssd: ssd.clone(), count: *count };
                let found = self.found.iter().find(|found| found.way.kind == kind);
                let gain = found.map_or_else(String::new, |found| {
                    format!(", {} times", number::significant(self.gain(found)))
                });
                format!("{count}x {ssd}{gain}")
            }
        }
    }

    /// What a power cut and a dead SSD leave of the fastest way with disks and flash.
    fn lost(&self) -> Option<String> {
        let kind = &self.best_beside()?.way.kind;
        Some(format!(
            "{}: a power cut leaves {}; without the SSD {}.",
            kind.word(),
            kind.after_power_cut(),
            kind.without_ssd()
        ))
    }

    /// Where what was reckoned is not what a replay found.
    fn off(&self) -> Option<String> {
        let off = |found: &&Found| found.off().is_some_and(|off| off.abs() > OFF_MOST);
        let replayed = self.found.iter().filter(|found| found.off().is_some()).count();
        let off: Vec<String> =
            self.found.iter().filter(off).map(|found| found.way.name()).collect();
        let others = self.found.iter().filter(|found| found.checked.is_none()).count();
        (others > 0 && !off.is_empty()).then(|| {
            format!(
                "{} of {} replayed ways are more than 10 % off what was reckoned of them: what was \
                 only reckoned, `~`, is as doubtful.",
                off.len(),
                replayed
            )
        })
    }
}

/// Flash gains too little.
pub(crate) fn no_flash(disks_iops: f64, gain: f64) -> String {
    format!(
        "No flash is needed: the disks alone do {} operations a second, the fastest way {} times \
         as many.",
        number::iops(disks_iops),
        number::significant(gain)
    )
}

/// Up to which price of the drive `ssd` the way with it does more for the money than more disks,
/// `gain` being how many times what the disks do; `None` where it gains nothing.
pub(crate) fn breaks_even(
    (ssd, way): (&str, &str),
    gain: f64,
    disks_price: f64,
    currency: &str,
) -> Option<String> {
    let at_par = (gain - 1.0) * disks_price;
    (at_par > 0.0).then(|| {
        format!(
            "As long as one {ssd} costs less than {at_par:.0} {currency}, {way} costs less an \
             operation than more disks."
        )
    })
}

impl Mode {
    /// What is there of a cache of this mode after a power cut.
    pub(crate) fn after_power_cut(self) -> &'static str {
        match self {
            Self::Back => "what was flushed, if the map is on flash as here",
            Self::Through | Self::Around => "what was flushed, and an empty cache",
        }
    }

    /// What is there when the flash drive has died.
    pub(crate) fn without_ssd(self) -> &'static str {
        match self {
            Self::Back => "the disks are out of date: a dead SSD is lost data",
            Self::Through | Self::Around => "nothing is lost",
        }
    }
}

impl Found {
    /// How far the replay is from what was reckoned, as a share.
    pub fn off(&self) -> Option<f64> {
        Some(self.checked?.iops / self.reckoned.iops? - 1.0)
    }

    /// What an operation a second costs.
    pub fn price_per_iops(&self) -> Option<f64> {
        Some(self.way.price? / self.iops())
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
}

impl Kind {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Disks => "disks alone",
            Self::Flash { .. } => "flash alone",
            Self::Cache { shape, .. } => shape.mode.name(),
            Self::Pin { .. } => "pin",
            Self::Tier { .. } => "tier",
        }
    }

    /// What is there after a power cut; all of them keep what was flushed
    /// (docs/reference/cache-layers.md).
    pub fn after_power_cut(&self) -> &'static str {
        match self {
            Self::Disks | Self::Flash { .. } => "what was flushed",
            Self::Cache { shape, .. } => shape.mode.after_power_cut(),
            Self::Pin { .. } => "what was flushed, for the range needs no map",
            Self::Tier { .. } => "what was flushed, for the map is on flash",
        }
    }

    /// What is there when the flash drives have died.
    pub fn without_ssd(&self) -> &'static str {
        match self {
            Self::Disks => "nothing is lost",
            Self::Flash { .. } => "all is lost",
            Self::Cache { shape, .. } => shape.mode.without_ssd(),
            Self::Pin { .. } => "the range is lost",
            Self::Tier { .. } => "what lay on it is lost",
        }
    }

    /// Whether data is lost with the flash drive.
    pub fn depends_on_flash(&self) -> bool {
        match self {
            Self::Disks => false,
            Self::Flash { .. } | Self::Pin { .. } | Self::Tier { .. } => true,
            Self::Cache { shape, .. } => shape.mode == Mode::Back,
        }
    }
}
