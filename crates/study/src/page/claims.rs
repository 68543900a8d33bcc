//! The claims of a study, each with its verdict and what it rests on.

use crate::{
    BadClaim, Claim, Dossier, Judgement, Models, Verdict,
    expression::{Coordinates, Value},
};
use report::terminal::{Page, Paint};

/// More values than this are told by their range.
const SHOWN: usize = 3;

/// All claims with their verdicts, and how many there are of each.
///
/// # Errors
/// A claim's expression that is wrong.
pub fn claims(page: &mut Page, dossier: &Dossier, models: &Models) -> Result<(), BadClaim> {
    let mut counts = [0; Verdict::ALL.len()];
    for claim in &dossier.claims {
        let judgement = claim.judge(&dossier.printed, Some(&models.book))?;
        counts[judgement.verdict as usize] += 1;
        page.gap();
        let paint = match judgement.verdict {
            Verdict::Supported => Paint::Good,
            Verdict::Contradicted => Paint::Alert,
            Verdict::Rounded | Verdict::ModelOnly => Paint::Strong,
            Verdict::Answered => Paint::Good,
            Verdict::NotCheckable | Verdict::Open | Verdict::NotBuilt => Paint::Faint,
        };
        let head = format!("{}: {}", claim.file.id, judgement.verdict.name());
        page.hanging("", &head, paint);
        page.hanging("  ", &sentence(claim), Paint::Plain);
        if let Some(rule) = claim.rule() {
            page.hanging("  ", &format!("Rule: {rule}"), Paint::Faint);
        }
        if let Some(command) = &claim.file.command {
            page.hanging("  ", &format!("Ask: `{command}`"), Paint::Plain);
        }
        let because = because(dossier, &judgement);
        if !because.is_empty() {
            page.hanging("  ", &because, Paint::Faint);
        }
    }
    page.gap();
    match dossier.claims.len() {
        0 => page.line("It makes no claims."),
        count => page.line(&format!("{count} claims: {}", tally(&counts))),
    }
    Ok(())
}

/// `13 supported, 11 rounded, ...`: `counts` in the order of [`Verdict::ALL`].
pub fn tally(counts: &[usize; Verdict::ALL.len()]) -> String {
    let pairs = Verdict::ALL.iter().zip(counts);
    let pairs = pairs.filter(|(_, count)| **count > 0);
    let told = pairs.map(|(verdict, count)| format!("{count} {}", verdict.name()));
    told.collect::<Vec<_>>().join(", ")
}

fn sentence(claim: &Claim) -> String {
    let kind = match claim.file.kind {
        crate::ClaimKind::Fact => String::new(),
        kind => format!("({}) ", kind.name()),
    };
    let printed = match claim.file.printed.as_str() {
        "" => String::new(),
        printed => format!(" Printed: {printed}."),
    };
    format!("{kind}{}{printed}", claim.file.text)
}

/// What the verdict rests on, in one sentence.
pub fn because(dossier: &Dossier, judgement: &Judgement) -> String {
    let mut parts = Vec::new();
    if let Some(text) = told(dossier, &judgement.values, judgement.holds) {
        parts.push(if judgement.holds.is_some() { text } else { format!("Computed: {text}") });
    }
    if let Some(seen) = &judgement.modelled {
        let word = match (judgement.verdict, seen.agrees) {
            (Verdict::Answered, _) => "modelled",
            (_, true) => "the model agrees",
            (_, false) => "the model does not agree",
        };
        let text = told(dossier, &seen.values, seen.holds);
        parts.push(format!("{word}: {}", text.unwrap_or_default()));
    }
    for (words, values) in &judgement.also {
        parts.push(format!("{words}: {}", self::values(dossier, values)));
    }
    parts.extend(judgement.because.iter().cloned());
    parts.join("; ")
}

/// Values in words; of comparisons, how many hold, and one that does not.
fn told(dossier: &Dossier, values: &[Value], holds: Option<(usize, usize)>) -> Option<String> {
    let Some((holding, count)) = holds else {
        return (!values.is_empty()).then(|| self::values(dossier, values));
    };
    let mut text = match (holding, count) {
        (1, 1) => "the comparison holds".to_owned(),
        (0, 1) => "the comparison does not hold".to_owned(),
        _ => format!("{holding} of {count} comparisons hold"),
    };
    if let Some(value) = values.iter().find(|value| holding < count && value.number == 0.0) {
        text += &format!("; not {}", place(dossier, &value.from));
    }
    Some(text)
}

fn values(dossier: &Dossier, values: &[Value]) -> String {
    if values.len() <= SHOWN {
        let one = |value: &Value| match place(dossier, &value.from) {
            place if place.is_empty() => plain(value.number),
            place => format!("{} ({place})", plain(value.number)),
        };
        return values.iter().map(one).collect::<Vec<_>>().join(", ");
    }
    let numbers = values.iter().map(|value| value.number);
    let low = numbers.clone().fold(f64::INFINITY, f64::min);
    let high = numbers.fold(f64::NEG_INFINITY, f64::max);
    format!("{} to {} over {} values", plain(low), plain(high), values.len())
}

/// Four digits at least, and whole numbers whole.
fn plain(number: f64) -> String {
    match number.abs() {
        size if number.fract() == 0.0 || size >= 1000.0 => format!("{number:.0}"),
        size if size >= 100.0 => format!("{number:.1}"),
        size if size >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

/// Which devices, and at which size or setting.
fn place(dossier: &Dossier, from: &[Coordinates]) -> String {
    let mut words = Vec::new();
    for key in ["device", "op", "fs", "wc", "trim", "block", "threads"] {
        let mut seen: Vec<String> = Vec::new();
        for value in from.iter().filter_map(|at| at.get(key)) {
            let word = match (key, value.as_str()) {
                // What almost every cell of the studies says needs no word.
                ("threads", "1") => continue,
                ("threads", _) => format!("{value} threads"),
                (_, value) => dossier.word(key, value),
            };
            if !seen.contains(&word) {
                seen.push(word);
            }
        }
        let many = from.len() > 4 || (key != "device" && seen.len() > 1);
        if !many {
            words.extend(seen);
        }
    }
    words.join(", ")
}
