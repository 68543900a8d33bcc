//! The answer on a terminal: a ranking, its reasons, and what is left out of it.

use crate::{
    Advice, Price, money,
    rank::{Lifetime, Place, Refusal, price_at_par},
    reasons::{self, Reason},
    steady::Order,
};
use report::{
    number,
    terminal::{Align, Page, Paint, Style, Table},
};

/// Names that a line about what is left out lists.
const NAMES_MAX: usize = 4;

/// How the reader is told of the options of a command: a page knows none.
pub trait Hints {
    /// A reason as a sentence, with its cure.
    fn sentence(&self, reason: Reason) -> String;
    /// How all of `count` lines are printed, behind a colon.
    fn prints_all(&self, count: usize) -> String;
    /// How what has no price in `currency` is ranked.
    fn ranks_unpriced(&self, currency: &str) -> String;
}

fn sentences(reasons: Vec<Reason>, hints: &dyn Hints) -> Vec<String> {
    reasons.into_iter().map(|reason| hints.sentence(reason)).collect()
}

/// Everything, in order; of each table the first `limit` lines.
pub fn page(advice: &Advice<'_>, limit: usize, style: &Style, hints: &dyn Hints) -> String {
    let mut page = Page::new(style);
    page.heading(&question(advice));
    page.gap();
    let cut = Cut { limit, hints };
    ranked(&mut page, advice, &advice.ranking.ranked, &cut);
    list(&mut page, "Why", sentences(reasons::because(advice), hints));
    list(&mut page, "What would change it", reasons::would_change(advice));
    compared(&mut page, advice, &cut);
    unpriced(&mut page, advice, &cut);
    list(&mut page, "Left out", left_out(advice));
    if let Some(traced) = &advice.question.trace {
        let taken = traced.taken(advice.question.need.capacity_bytes);
        list(&mut page, "Of the trace", [taken, traced.left_out()].concat());
    }
    list(&mut page, "Assumed", sentences(reasons::assumed(advice), hints));
    page.finish()
}

/// `70 % reads, 30 % writes of 8 KiB at random, 32 in flight; up to 1000 USD, 60 GB`
fn question(advice: &Advice<'_>) -> String {
    let (need, workload) = (&advice.question.need, &advice.question.workload);
    let percent =
        |share: f64| format!("{} %", number::significant(share * 100.0).trim_end_matches(".0"));
    let order = match workload.order {
        Order::Random if workload.sequential > 0.0 => {
            format!("at random, {} in sequence", percent(workload.sequential))
        }
        Order::Random => "at random".to_owned(),
        Order::Sequential => "in order".to_owned(),
    };
    let mean = if workload.lengths.is_some() { " in the mean" } else { "" };
    let mut text = format!(
        "{} reads, {} writes of {}{mean} {order}, {} in flight; up to {}",
        percent(need.reads),
        percent(1.0 - need.reads),
        number::size(workload.block_bytes.into()),
        workload.depth,
        advice.question.money(need.budget),
    );
    if let Some(traced) = &advice.question.trace {
        text = format!("{}: {text}", traced.title);
    }
    if let Some(bytes) = need.capacity_bytes {
        text += &format!(", room for {}", number::capacity(bytes));
    }
    if let Some(a_day) = need.written_bytes_per_day {
        text +=
            &format!(", {} written a day for {} years", number::capacity(a_day as u64), need.years);
    }
    text
}

fn list(page: &mut Page<'_>, heading: &str, sentences: Vec<String>) {
    if sentences.is_empty() {
        return;
    }
    page.heading(heading);
    for sentence in sentences {
        page.hanging("- ", &sentence, Paint::Plain);
    }
}

/// How many lines of a table are printed, and how to print all.
struct Cut<'h> {
    limit: usize,
    hints: &'h dyn Hints,
}

/// What is not ranked because its price is an old one.
fn compared(page: &mut Page<'_>, advice: &Advice<'_>, cut: &Cut<'_>) {
    let places = &advice.ranking.compared;
    if places.is_empty() {
        return;
    }
    let years = reasons::price_years(advice, places);
    page.heading(&format!("For comparison, at prices of {years}: nothing to buy at these today"));
    ranked(page, advice, places, cut);
}

fn ranked(page: &mut Page<'_>, advice: &Advice<'_>, places: &[Place], cut: &Cut<'_>) {
    if places.is_empty() {
        return;
    }
    let has_years = advice.question.need.written_bytes_per_day.is_some();
    let per_iops = format!("{}/IOPS", advice.question.currency);
    let mut heads = vec![
        ("", Align::Right),
        ("what", Align::Left),
        (advice.question.currency.as_str(), Align::Right),
        ("asked", Align::Left),
        ("holds", Align::Right),
        ("IOPS", Align::Right),
        ("check", Align::Right),
        (per_iops.as_str(), Align::Right),
    ];
    heads.extend(has_years.then_some(("lasts", Align::Right)));
    let mut table = Table::new(&heads);
    for (at, place) in places.iter().take(cut.limit).enumerate() {
        let offer = &advice.offers[place.offer];
        let price = offer.price.expect("it is ranked");
        let mut row = vec![
            (at + 1).to_string(),
            page.style.clean(&offer.name),
            money(price, "").trim_end().to_owned(),
            advice.answered[place.offer].0.price.asked().brief(),
            number::capacity(offer.capacity_bytes),
            number::iops(place.iops.value),
            checked(place),
            number::three_digits(place.price_per_iops.expect("it is ranked").value),
        ];
        row.extend(has_years.then(|| lasts(place.lifetime)));
        let paint = if at == 0 { Paint::Strong } else { Paint::Plain };
        table.painted_row(row.into_iter().map(|field| (field, paint)).collect());
    }
    page.table(&table);
    if places.len() > cut.limit {
        let all = cut.hints.prints_all(places.len());
        page.line(&format!("and {} more: {all}", places.len() - cut.limit));
    }
}

/// How far the check is off: `-0.4 %`, `-39 % !`; `none` where only two rates are known.
fn checked(place: &Place) -> String {
    let Some(off) = place.off() else { return "none".to_owned() };
    let sign = if off < 0.0 { "-" } else { "+" };
    let mark = if reasons::is_off(place) { " !" } else { "" };
    format!("{sign}{}{mark}", number::percent(off.abs()))
}

/// Never more than it is.
fn lasts(lifetime: Lifetime) -> String {
    match lifetime {
        Lifetime::Unknown => "not known".to_owned(),
        Lifetime::Unbounded => "no wear".to_owned(),
        Lifetime::Years(years) if years >= 100.0 => "> 100 y".to_owned(),
        Lifetime::Years(years) => format!("{:.1} y", (years * 10.0).floor() / 10.0),
    }
}

fn unpriced(page: &mut Page<'_>, advice: &Advice<'_>, cut: &Cut<'_>) {
    let places = &advice.ranking.unpriced;
    if places.is_empty() {
        return;
    }
    page.heading(&format!("Not ranked: no price in {}", advice.question.currency));
    let is_foreign =
        |place: &Place| matches!(advice.answered[place.offer].0.price, Price::Foreign(_));
    let elsewhere = places.iter().any(is_foreign);
    let mut heads = vec![
        ("what", Align::Left),
        ("holds", Align::Right),
        ("IOPS", Align::Right),
        ("first below", Align::Right),
    ];
    heads.extend(elsewhere.then_some(("price", Align::Right)));
    let mut table = Table::new(&heads);
    let first = advice.ranking.ranked.first();
    for place in places.iter().take(cut.limit) {
        let (candidate, answer) = &advice.answered[place.offer];
        let at_par = first.and_then(|first| price_at_par(place, first));
        let mut row = vec![
            page.style.clean(&candidate.name),
            number::capacity(answer.offer.capacity_bytes),
            number::iops(place.iops.value),
            at_par.map_or_else(|| "-".to_owned(), |price| format!("{:.0}", price.floor())),
        ];
        row.extend(elsewhere.then(|| match &candidate.price {
            Price::Foreign(money) => crate::money(money.amount, &money.currency),
            _ => "-".to_owned(),
        }));
        table.row(row);
    }
    page.table(&table);
    let rest = places.len().saturating_sub(cut.limit);
    let more = if rest > 0 { format!("and {rest} more; ") } else { String::new() };
    let ranks = cut.hints.ranks_unpriced(&advice.question.currency);
    page.line(&format!("{more}{ranks}"));
}

/// A line for each reason.
fn left_out(advice: &Advice<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let of = |wanted: Refusal| {
        let found = advice.refused.iter().filter(move |(.., refusal)| *refusal == wanted);
        let mut found: Vec<_> = found.map(|(name, price, _)| (name.as_str(), *price)).collect();
        // Single drives say most.
        found.sort_by_key(|(name, _)| name.contains('/'));
        found
    };
    let dear = of(Refusal::Budget);
    let named = |(name, price): &(&str, Option<f64>)| {
        let price =
            price.map_or_else(String::new, |price| format!(" ({})", advice.question.money(price)));
        format!("{name}{price}")
    };
    if !dear.is_empty() {
        let names: Vec<String> = dear.iter().map(named).collect();
        lines.push(format!("{} cost more than the budget: {}.", dear.len(), some(&names)));
    }
    let small = of(Refusal::Capacity);
    if !small.is_empty() {
        let names: Vec<String> = small.iter().map(|(name, _)| (*name).to_owned()).collect();
        lines.push(format!("{} hold too little: {}.", small.len(), some(&names)));
    }
    let worn: Vec<String> = advice
        .ranking
        .refused
        .iter()
        .map(|(at, refusal)| match refusal {
            Refusal::Lifetime(years) => {
                format!("{} ({})", advice.offers[*at].name, lasts(Lifetime::Years(*years)))
            }
            _ => advice.offers[*at].name.clone(),
        })
        .collect();
    if !worn.is_empty() {
        let years = advice.question.need.years;
        lines.push(format!("{} would not last {years} years: {}.", worn.len(), some(&worn)));
    }
    let odd: Vec<String> =
        advice.impossible.iter().map(|(name, why)| format!("{name}, {why}")).collect();
    if !odd.is_empty() {
        lines.push(format!("{} cannot be made: {}.", odd.len(), some(&odd)));
    }
    lines
}

/// The first few of a list.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
