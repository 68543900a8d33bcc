//! Why the ranking is as it is, what would change it, and what it rests on: plain sentences.

use crate::{
    Advice,
    candidates::Source,
    check::CHECKED,
    modelled::{Answered, Basis},
    question::{Asked, Price},
    rank::{Crossing, Lifetime, Place, fastest, neighbours, price_at_par, sturdiest},
    steady::{Order, Rating, rating},
};
use report::number;
use std::collections::BTreeMap;
use target::catalog::{DriveEntry, Reality};

/// What the models err by: between 1 and 9 % on average in what they were not fitted on
/// (docs/results/accuracy.md). Costs that are closer are not told apart.
const MODEL_ERROR: f64 = 0.1;
/// A check that is further off than this, as a share of what was computed, is no rounding
/// (docs/guide/advice.md).
const CHECK_OFF: f64 = 0.2;

/// A sentence, and what the reader can do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Whole sentences; one with a cure lacks its end.
    pub text: String,
    /// How it ends.
    pub cure: Option<Cure>,
}

/// What the reader can tell, or ask for, to have another answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cure {
    /// A price of anything.
    AnyPrice,
    /// A price of today, or that old ones will do.
    NewPrices,
    /// Prices of today, for those that are old.
    TodaysPrices,
    /// How much is written a day.
    WritesPerDay,
}

impl Reason {
    fn with(cure: Cure, text: String) -> Self {
        Self { text, cure: Some(cure) }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, cure: None }
    }
}

/// Why the first is first.
pub fn because(advice: &Advice<'_>) -> Vec<Reason> {
    let mut sentences: Vec<String> = Vec::new();
    let Some(first) = advice.ranking.ranked.first() else {
        return vec![nothing(advice)];
    };
    let (offer, reads) = (&advice.offers[first.offer], advice.question.need.reads);
    sentences.push(format!(
        "{} does {} operations a second for {}, {} each: it reads {} and writes {} a second; {} \
         would be {} of the mix.",
        offer.name,
        number::iops(first.iops.value),
        advice.question.money(offer.price.expect("it is ranked")),
        cost(advice, first),
        number::iops(offer.read.value),
        number::iops(offer.write.value),
        formula(reads, offer.read.value, offer.write.value),
        number::iops(first.computed.value),
    ));
    sentences.extend(second(advice, first));
    sentences.extend(checks(advice));
    sentences.into_iter().map(Reason::from).collect()
}

/// Why nothing is ranked.
fn nothing(advice: &Advice<'_>) -> Reason {
    let (question, compared) = (advice.question, &advice.ranking.compared);
    if compared.is_empty() {
        let text = format!("Nothing is ranked, for nothing has a price in {}", question.currency);
        return Reason::with(Cure::AnyPrice, text);
    }
    let years = f64::from(question.price_age_months) / 12.0;
    let text = format!(
        "Nothing is ranked, for the only prices known are of {}, older than {years} years",
        price_years(advice, compared)
    );
    Reason::with(Cure::NewPrices, text)
}

/// `2008 and 2009`: of when the prices of some places are.
pub fn price_years(advice: &Advice<'_>, places: &[Place]) -> String {
    let asked = |place: &Place| match advice.answered[place.offer].0.price.asked() {
        Asked::On(date) => date.year.to_string(),
        _ => "no known year".to_owned(),
    };
    let mut years: Vec<String> = places.iter().map(asked).collect();
    years.sort();
    years.dedup();
    match years.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// `1 / (0.70/21.3k + 0.30/11.2k)`
fn formula(reads: f64, read: f64, write: f64) -> String {
    format!(
        "1 / ({:.2}/{} + {:.2}/{})",
        reads,
        number::iops(read),
        1.0 - reads,
        number::iops(write)
    )
}

/// `0.0483 USD`
fn cost(advice: &Advice<'_>, place: &Place) -> String {
    let cost = place.price_per_iops.expect("it is ranked").value;
    format!("{} {}", number::three_digits(cost), advice.question.currency)
}

fn second(advice: &Advice<'_>, first: &Place) -> Option<String> {
    let second = advice.ranking.ranked.get(1)?;
    let costs = [first, second].map(|place| place.price_per_iops.expect("it is ranked").value);
    let more = costs[1] / costs[0] - 1.0;
    let name = &advice.offers[second.offer].name;
    if more < 0.0 {
        let less = number::percent(-more);
        return Some(format!(
            "{name} comes second, for what it would do is computed and not checked: by that it \
             would cost {less} less."
        ));
    }
    let text = format!("{name} comes second and costs {} more for the same", number::percent(more));
    Some(if more < MODEL_ERROR {
        format!("{text}: less than the models err by, so take the two as equal.")
    } else {
        text + "."
    })
}

/// What running the first few as they stand has shown.
fn checks(advice: &Advice<'_>) -> Vec<String> {
    let first = || advice.ranking.ranked.iter().take(CHECKED);
    let words = |place: &Place| {
        let off = place.off()?;
        let size = number::percent(off.abs());
        let way = if off < 0.0 { "less" } else { "more" };
        let name = &advice.offers[place.offer].name;
        let rate = number::iops(place.iops.value);
        Some(format!("{name} does {rate} ({size} {way} than computed)"))
    };
    let list: Vec<String> = first().filter_map(words).collect();
    let mut sentences = Vec::new();
    if !list.is_empty() {
        sentences.push(format!(
            "Checked as they stand, by running the mix on the model: {}.",
            list.join("; ")
        ));
    }
    if first().any(is_off) {
        sentences.push(
            "Trust less what is marked `!`: its check is more than 20 % off, so that another mix or \
             another block may change its place."
                .to_owned(),
        );
    }
    let unchecked: Vec<&str> = first()
        .filter(|place| !place.is_checked)
        .map(|place| advice.offers[place.offer].name.as_str())
        .collect();
    if !unchecked.is_empty() {
        sentences
            .push(format!("Not checked, and so ranked below what was: {}.", unchecked.join(", ")));
    }
    sentences
}

/// Whether a check lies so far from what was computed that the row is to be doubted.
pub fn is_off(place: &Place) -> bool {
    place.off().is_some_and(|off| off.abs() > CHECK_OFF)
}

/// What would make another the first.
pub fn would_change(advice: &Advice<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let ranked = &advice.ranking.ranked;
    let Some(first) = ranked.first() else { return sentences };
    let name = |place: &Place| {
        let doubt = if place.is_checked { "" } else { " (not checked)" };
        format!("{}{doubt}", advice.offers[place.offer].name)
    };
    let below = |amount: f64| advice.question.money(amount.floor());
    // What stands on the same drives costs as much as they do.
    let names = |place: &Place| -> Vec<&str> {
        drives_of(advice, place).into_iter().map(DriveEntry::name).collect()
    };
    let is_other = |place: &&Place| names(place) != names(first) || names(place).is_empty();
    if let Some(second) = ranked[1..].iter().find(is_other) {
        let (dearer, cheaper) = (price_at_par(first, second), price_at_par(second, first));
        sentences.push(format!(
            "Prices: {} stays first up to {}, and as long as {} costs more than {}.",
            name(first),
            below(dearer.expect("it is ranked")),
            name(second),
            below(cheaper.expect("it is ranked"))
        ));
    }
    sentences.push(mixes(advice));
    if let Some(fastest) = fastest(&advice.ranking).filter(|place| place.offer != first.offer) {
        sentences.push(format!(
            "If speed counts and not its price: {} does {} a second for {}.",
            name(fastest),
            number::iops(fastest.iops.value),
            advice.question.money(advice.offers[fastest.offer].price.expect("it is ranked"))
        ));
    }
    if advice.offers[first.offer].spare_drives == 0 {
        sentences.push(match sturdiest(&advice.offers, &advice.ranking) {
            Some(place) => format!(
                "If a drive may die: {} is the first that outlives one, at {} an operation a second.",
                name(place),
                cost(advice, place)
            ),
            None => "If a drive may die: nothing that is ranked outlives one.".to_owned(),
        });
    }
    let par = |place: &Place| Some((*place, price_at_par(place, first)?));
    let unpriced = advice.ranking.unpriced.iter().filter_map(par).next();
    if let Some((place, price)) = unpriced {
        sentences.push(format!(
            "A price that is not known: {} would come first at less than {}.",
            name(&place),
            below(price)
        ));
    }
    sentences
}

/// From which shares of reads on another comes first.
fn mixes(advice: &Advice<'_>) -> String {
    let first = &advice.offers[advice.ranking.ranked[0].offer].name;
    let found = neighbours(&advice.question.need, &advice.offers, &advice.ranking);
    let name = |crossing: Crossing| advice.offers[crossing.offer].name.as_str();
    let percent = |crossing: Crossing| format!("{:.1} %", crossing.reads * 100.0);
    let mut parts = Vec::new();
    if let Some(crossing) = found.below {
        parts.push(format!("with less than {} reads {}", percent(crossing), name(crossing)));
    }
    if let Some(crossing) = found.above {
        parts.push(format!("with more than {} reads {}", percent(crossing), name(crossing)));
    }
    if parts.is_empty() {
        return format!("The mix: {first} comes first at every share of reads.");
    }
    format!("The mix: {} would come first.", parts.join(", "))
}

/// What the answer rests on.
pub fn assumed(advice: &Advice<'_>) -> Vec<Reason> {
    let mut sentences: Vec<String> = Vec::new();
    let is =
        |kind: fn(&Basis) -> bool| advice.answered.iter().any(|(_, answer)| kind(&answer.basis));
    if is(|basis| matches!(basis, Basis::Modelled { .. })) {
        sentences.push(state(advice));
    }
    if is(|basis| matches!(basis, Basis::Modelled { between: Some(_), .. })) {
        sentences.push(
            "Arrays of flash drives are modelled with 2, 4 and 8 drives (RAID-5: 3, 5, 8; RAID-10: 4, 8); the rates of the others \
             are interpolated."
                .to_owned(),
        );
    }
    if is(|basis| matches!(basis, Basis::Computed { .. })) {
        sentences.push(
            "Writes to managed volumes are not modelled one by one but computed: the drives' \
             sequential rate, times what uniform random overwriting leaves of it at that fill \
             (docs/results/flash.md). A drive that maps pages cleans below that log: what it \
             copies is measured with segments that come free in any order (docs/guide/advice.md)."
                .to_owned(),
        );
    }
    sentences.extend(runs(advice));
    let mut reasons: Vec<Reason> = sentences.into_iter().map(Reason::from).collect();
    reasons.extend(prices(advice));
    reasons.extend(models(advice).map(Reason::from));
    reasons.push(lifetimes(advice));
    reasons.extend(advice.notes.iter().map(|note| Reason::from(format!("{note}."))));
    reasons
}

fn state(advice: &Advice<'_>) -> String {
    let fullness = match advice.question.need.capacity_bytes {
        Some(bytes) => format!(
            "{} of data lie on each, and the rest was never written or is trimmed",
            number::capacity(bytes)
        ),
        None => "every drive is full of data".to_owned(),
    };
    let past = match advice.question.workload.order {
        Order::Random => "overwritten at random for long",
        Order::Sequential => "overwritten in order",
    };
    format!(
        "The state after a year: {fullness}; all of that was {past}, and fast caches are used up. Rates are those of models \
         in virtual time, of one thread, without a file system."
    )
}

fn runs(advice: &Advice<'_>) -> Vec<String> {
    let of_run = |(_, answer): &(_, Answered)| match &answer.basis {
        Basis::Measured { run, flags } if flags.is_empty() => Some(format!(
            "{} is as run {run} measured it, in the state in which the drive was.",
            answer.offer.name
        )),
        Basis::Measured { run, flags } => {
            let flags: Vec<&str> = flags.iter().map(|flag| flag.name()).collect();
            Some(format!(
                "{} is as run {run} measured it, with flags: {}; `drivelab show {run}` explains them.",
                answer.offer.name,
                flags.join(", ")
            ))
        }
        _ => None,
    };
    advice.answered.iter().filter_map(of_run).collect()
}

/// Whose prices, and of when: drives and RUNs by name, each once.
fn prices(advice: &Advice<'_>) -> Option<Reason> {
    let question = advice.question;
    let mut known: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for place in advice.ranking.ranked.iter().chain(&advice.ranking.compared) {
        let (candidate, _) = &advice.answered[place.offer];
        let Price::Known { source, asked, .. } = &candidate.price else { continue };
        let run = matches!(candidate.source, Source::Recorded(_));
        let own = run.then_some((candidate.name.as_str(), source.as_str(), *asked));
        let of_drive = |drive: &'_ DriveEntry| {
            let given = question.given(drive.name()).is_some();
            let printed = drive.price.as_ref().filter(|_| !given);
            match printed {
                Some(price) => (price.source.clone(), price.date.map_or(Asked::Never, Asked::On)),
                None => ("as given".to_owned(), Asked::Now),
            }
        };
        for drive in drives_of(advice, place) {
            let (source, asked) = of_drive(drive);
            let names = known.entry(said(&source, asked)).or_default();
            if !names.contains(&drive.name()) {
                names.push(drive.name());
            }
        }
        if let Some((name, source, asked)) = own {
            known.entry(said(source, asked)).or_default().push(name);
        }
    }
    let lists: Vec<String> =
        known.iter().map(|(said, names)| format!("{}: {said}", names.join(", "))).collect();
    let all_given = known.keys().all(|said| said == "as given");
    let text = format!("Prices, {} - {}.", question.currency, lists.join("; "));
    let cure = (!all_given).then_some(Cure::TodaysPrices);
    (!lists.is_empty()).then_some(Reason { text, cure })
}

/// `PC Gamer, 2026-01-09`.
fn said(source: &str, asked: Asked) -> String {
    match asked {
        Asked::On(date) => format!("{source}, asked {date}"),
        Asked::Now => source.to_owned(),
        Asked::Never => format!("{source}, of no known date"),
    }
}

/// How well the drives are known.
fn models(advice: &Advice<'_>) -> Option<String> {
    let mut weak: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut drives = Vec::new();
    let ranking = &advice.ranking;
    for place in ranking.ranked.iter().chain(&ranking.compared).chain(&ranking.unpriced) {
        drives.extend(drives_of(advice, place));
    }
    drives.sort_by_key(|drive| drive.name());
    drives.dedup_by_key(|drive| drive.name());
    for drive in &drives {
        match (drive.entry.reality, drive.fitted()) {
            (Reality::Generic, _) => {
                weak.entry("typical of a kind and no product").or_default().push(drive.name())
            }
            (Reality::Product, 0) => weak.entry("assumed").or_default().push(drive.name()),
            (Reality::Product, _) => {}
        }
    }
    let lists: Vec<String> =
        weak.iter().map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect();
    match (drives.is_empty(), lists.is_empty()) {
        (true, _) => None,
        (false, true) => {
            Some("The models are fitted on published figures of these drives.".to_owned())
        }
        (false, false) => Some(format!(
            "The models are fitted on published figures of these drives, but for those that are {}.",
            lists.join("; ")
        )),
    }
}

/// What is known of wear.
fn lifetimes(advice: &Advice<'_>) -> Reason {
    let Some(a_day) = advice.question.need.written_bytes_per_day else {
        return Reason::with(Cure::WritesPerDay, "No lifetime is judged".to_owned());
    };
    let mut assumed: Vec<&str> = Vec::new();
    let mut unknown = false;
    let ranking = &advice.ranking;
    for place in ranking.ranked.iter().chain(&ranking.compared).chain(&ranking.unpriced) {
        unknown |= place.lifetime == Lifetime::Unknown;
        for drive in drives_of(advice, place) {
            let is_assumed = matches!(rating(drive), Rating::Cycles { is_assumed: true, .. });
            if is_assumed && !assumed.contains(&drive.name()) {
                assumed.push(drive.name());
            }
        }
    }
    assumed.sort_unstable();
    let mut text = format!(
        "Lifetimes: capacity x erase cycles over write amplification x {} a day x 365.",
        number::capacity(a_day as u64)
    );
    if !assumed.is_empty() {
        text += &format!(" Cycles are typical, not the maker's, of {}.", assumed.join(", "));
    }
    if unknown {
        text += " Where it says `not known`, neither cycles nor an endurance are: such a drive is not excluded.";
    }
    text.into()
}

/// The catalog's drives under a place.
fn drives_of<'a>(advice: &'a Advice<'_>, place: &Place) -> Vec<&'a DriveEntry> {
    let (candidate, _) = &advice.answered[place.offer];
    match &candidate.source {
        Source::Modelled { base, .. } => {
            let names = base.members.iter().map(|member| member.drive.name.as_str());
            names.filter_map(|name| advice.catalog.drive(name)).collect()
        }
        Source::Recorded(_) => Vec::new(),
    }
}
