//! What would change a ranking.

use super::{Need, Offer, Place, Ranking};

/// Another mix, and who comes first from there on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing {
    /// Share of reads, 0 to 1, at which both cost the same for an operation a second.
    pub reads: f64,
    /// Index of the offer that comes first beyond it.
    pub offer: usize,
}

/// The nearest mixes at which the first is overtaken.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Neighbours {
    /// With fewer reads.
    pub below: Option<Crossing>,
    /// With more.
    pub above: Option<Crossing>,
}

/// Shares of reads are told apart from here on.
const SHARE_MIN: f64 = 1e-6;

/// The price at which `place` costs as much for an operation a second as `other`.
pub fn price_at_par(place: &Place, other: &Place) -> Option<f64> {
    other.price_per_iops.map(|cost| cost.value * place.iops.value)
}

/// The nearest mixes at which another of the ranked comes before the first. What an offer costs for
/// an operation a second, price x (f/R + (1-f)/W), is a straight line over f, so that two of them
/// cross once.
pub fn neighbours(need: &Need, offers: &[Offer], ranking: &Ranking) -> Neighbours {
    let mut found = Neighbours::default();
    let Some((first, others)) = ranking.ranked.split_first() else { return found };
    let [at, slope] = line(&offers[first.offer], first);
    for other in others {
        let [other_at, other_slope] = line(&offers[other.offer], other);
        // It would be first already, had it been checked.
        if other_at + need.reads * other_slope < at + need.reads * slope {
            continue;
        }
        let reads = (other_at - at) / (slope - other_slope);
        // Beyond nothing but reads, or none, there is no mix.
        if !(SHARE_MIN..=1.0 - SHARE_MIN).contains(&reads) {
            continue;
        }
        let crossing = Some(Crossing { reads, offer: other.offer });
        // Lines of drives that differ in number alone may lie upon each other.
        if reads > need.reads + SHARE_MIN && found.above.is_none_or(|known| reads < known.reads) {
            found.above = crossing;
        }
        if reads < need.reads - SHARE_MIN && found.below.is_none_or(|known| reads > known.reads) {
            found.below = crossing;
        }
    }
    found
}

/// Cost of an operation a second without reads, and what a share of reads of 1 adds. What a check
/// found to be off is taken to be as far off at every mix.
fn line(offer: &Offer, place: &Place) -> [f64; 2] {
    let price = offer.price.expect("what is ranked has a price");
    let price = price * place.computed.value / place.iops.value;
    let write = price / offer.write.value;
    [write, price / offer.read.value - write]
}

/// The ranked one that does most operations, whatever it costs; of equals the one that comes first.
pub fn fastest(ranking: &Ranking) -> Option<&Place> {
    let faster = |best: &'_ Place, place: &'_ Place| place.iops.value > best.iops.value;
    ranking.ranked.iter().reduce(|best, place| if faster(best, place) { place } else { best })
}

/// The first of the ranked that outlives the death of a drive.
pub fn sturdiest<'r>(offers: &[Offer], ranking: &'r Ranking) -> Option<&'r Place> {
    ranking.ranked.iter().find(|place| offers[place.offer].spare_drives > 0)
}
