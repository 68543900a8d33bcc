//! What to buy for a mix of reads and writes: a ranking by price for delivered operations, over
//! plain numbers.
//!
//! ```text
//!   Need {reads, budget, capacity, wear}, Offer {price, rates, endurance}...
//!     -> Need::admits: what cannot be, before anything is modelled
//!     -> rank: Place {iops of the mix, price per IOPS, lifetime}...     rank.rs
//!     -> what_if: at which price and which mix another comes first      what_if.rs
//! ```
//!
//! It knows no drive and no model; `docs/guide/advice.md` has the formulas and their sources.

#[cfg(test)]
mod tests;
mod what_if;

pub use what_if::{Crossing, Neighbours, fastest, neighbours, price_at_par, sturdiest};

use report::derive::{Figure, mix};

/// Days of a year that a lifetime counts with.
const DAYS_OF_A_YEAR: f64 = 365.0;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Need {
    /// Share of the operations that read, 0 to 1.
    pub reads: f64,
    /// The most that may be spent; prices are in the same currency.
    pub budget: f64,
    /// Bytes that must find room.
    pub capacity_bytes: Option<u64>,
    /// Bytes that are written a day; without it no lifetime is computed.
    pub written_bytes_per_day: Option<f64>,
    /// How long it must last, years.
    pub years: f64,
}

/// Something that could be bought.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// What it is called.
    pub name: String,
    /// What it costs in the budget's currency; none where that is not known.
    pub price: Option<f64>,
    /// Whether that is what it costs now.
    pub purpose: Purpose,
    /// Room for data, bytes.
    pub capacity_bytes: u64,
    /// Operations per second when all of them read.
    pub read: Figure,
    /// Operations per second when all of them write.
    pub write: Figure,
    /// What became of the mix itself, run on all of it as it stands.
    pub check: Check,
    /// How much may be written to it.
    pub endurance: Endurance,
    /// How many drives may die, whichever they are, without loss.
    pub spare_drives: u32,
}

/// What an offer is ranked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Its price is young enough to buy at.
    Buy,
    /// Its price is an old one: it says what was paid for what.
    Compare,
}

/// Whether the mix was run on an offer as it stands: its drives, its array, its managed volume.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Check {
    /// It did so many operations a second.
    Done(f64),
    /// Not yet.
    Due,
    /// It cannot be.
    Impossible,
}

/// How much may be written over a life.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Endurance {
    /// Nobody says.
    Unknown,
    /// Writing does not wear it.
    Unbounded,
    /// So much.
    Rated {
        /// What all drives together are rated for, bytes.
        bytes: f64,
        /// Bytes that count against it for each byte that the host writes.
        per_host_byte: f64,
    },
}

/// How long it lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lifetime {
    /// The endurance or the writes of a day are not known.
    Unknown,
    /// Writing does not wear it.
    Unbounded,
    /// Years.
    Years(f64),
}

/// Why something is out of the question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Refusal {
    /// It costs more than may be spent.
    Budget,
    /// It holds less than must find room.
    Capacity,
    /// It is worn out after so many years.
    Lifetime(f64),
}

/// An offer with what it is worth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Index among the offers.
    pub offer: usize,
    /// Operations per second of the mix: as checked, else as computed.
    pub iops: Figure,
    /// The same, computed from the rates of reads and of writes.
    pub computed: Figure,
    /// Whether the mix itself was run.
    pub is_checked: bool,
    /// Price for one of them; none without a price.
    pub price_per_iops: Option<Figure>,
    /// How long it lasts.
    pub lifetime: Lifetime,
}

/// All offers, each in one of four lists.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ranking {
    /// Those that were checked before those that were not, and of both those that cost least for an
    /// operation a second first; equals by name.
    pub ranked: Vec<Place>,
    /// Those whose price is an old one, in the same order.
    pub compared: Vec<Place>,
    /// Those without a price, the fastest first.
    pub unpriced: Vec<Place>,
    /// Those that are out of the question, in their own order.
    pub refused: Vec<(usize, Refusal)>,
}

impl Need {
    /// Whether price and room allow it: known before anything is measured.
    ///
    /// # Errors
    /// What does not.
    pub fn admits(&self, price: Option<f64>, capacity_bytes: u64) -> Result<(), Refusal> {
        if price.is_some_and(|price| price > self.budget) {
            return Err(Refusal::Budget);
        }
        if self.capacity_bytes.is_some_and(|wanted| capacity_bytes < wanted) {
            return Err(Refusal::Capacity);
        }
        Ok(())
    }

    /// How long a rated endurance lasts: bytes / (bytes that count for each of the host's x the
    /// host's a day x 365).
    pub fn lifetime(&self, endurance: Endurance) -> Lifetime {
        match (endurance, self.written_bytes_per_day) {
            (Endurance::Unbounded, _) => Lifetime::Unbounded,
            (Endurance::Rated { bytes, per_host_byte }, Some(a_day)) if a_day > 0.0 => {
                Lifetime::Years(bytes / (per_host_byte * a_day * DAYS_OF_A_YEAR))
            }
            _ => Lifetime::Unknown,
        }
    }
}

impl Place {
    /// How far the check lies from what was computed, as a share of that; `None` without a check.
    pub fn off(&self) -> Option<f64> {
        self.is_checked.then(|| self.iops.value / self.computed.value - 1.0)
    }
}

/// Offers to be checked before the `first` can be named: of those that cost least, by all that is
/// known so far, the ones that were not.
pub fn due(offers: &[Offer], ranking: &Ranking, first: usize) -> Vec<usize> {
    let places = match ranking.ranked.is_empty() {
        true => &ranking.compared,
        false => &ranking.ranked,
    };
    let cost = |place: &Place| place.price_per_iops.map_or(f64::INFINITY, |cost| cost.value);
    let can_be = |place: &&Place| offers[place.offer].check != Check::Impossible;
    let mut places: Vec<&Place> = places.iter().filter(can_be).collect();
    places.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let first = places.into_iter().take(first).map(|place| place.offer);
    first.filter(|offer| offers[*offer].check == Check::Due).collect()
}

/// Ranks offers for a need.
///
/// # Panics
/// If a share, a rate or a price is none.
pub fn rank(need: &Need, offers: &[Offer]) -> Ranking {
    assert!((0.0..=1.0).contains(&need.reads), "a share of reads from 0 to 1: {}", need.reads);
    let mut ranking = Ranking::default();
    for (at, offer) in offers.iter().enumerate() {
        let rates = [offer.read.value, offer.write.value, offer.price.unwrap_or(1.0)];
        assert!(rates.iter().all(|value| *value > 0.0), "rates and prices above zero: {offer:?}");
        let lifetime = need.lifetime(offer.endurance);
        let admitted = need.admits(offer.price, offer.capacity_bytes);
        let refused = admitted.err().or(match lifetime {
            Lifetime::Years(years) if years < need.years => Some(Refusal::Lifetime(years)),
            _ => None,
        });
        if let Some(refusal) = refused {
            ranking.refused.push((at, refusal));
            continue;
        }
        let computed = mix(offer.read, offer.write, need.reads);
        let (iops, is_checked) = match offer.check {
            Check::Done(value) if value > 0.0 => (Figure { value, ci95: None }, true),
            _ => (computed, false),
        };
        let price_per_iops = offer.price.map(|price| iops.under(price));
        let place = Place { offer: at, iops, computed, is_checked, price_per_iops, lifetime };
        match (price_per_iops, offer.purpose) {
            (Some(_), Purpose::Buy) => ranking.ranked.push(place),
            (Some(_), Purpose::Compare) => ranking.compared.push(place),
            (None, _) => ranking.unpriced.push(place),
        }
    }
    let name = |place: &Place| offers[place.offer].name.as_str();
    let cost = |place: &Place| place.price_per_iops.map_or(f64::INFINITY, |cost| cost.value);
    for places in [&mut ranking.ranked, &mut ranking.compared] {
        let order = |a: &Place, b: &Place| cost(a).total_cmp(&cost(b));
        places.sort_by(|a, b| {
            b.is_checked
                .cmp(&a.is_checked)
                .then_with(|| order(a, b))
                .then_with(|| name(a).cmp(name(b)))
        });
    }
    ranking
        .unpriced
        .sort_by(|a, b| b.iops.value.total_cmp(&a.iops.value).then_with(|| name(a).cmp(name(b))));
    ranking
}
