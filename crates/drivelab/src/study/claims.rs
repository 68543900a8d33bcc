//! The claims of a study, each with its verdict and what it rests on.

use report::terminal::{Page, Paint};
use study::{
    Claim, Dossier, Judgement, Models, Verdict,
    expression::{Coordinates, Value},
};

/// More values than this are told by their range.
const SHOWN: usize = 3;

/// All claims with their verdicts, and how many there are of each.
///
/// # Errors
/// A claim's expression that is wrong.
pub fn claims(page: &mut Page, dossier: &Dossier, models: &Models) -> Result<(), String> {
    let mut counts = [0; Verdict::ALL.len()];
    for claim in &dossier.claims {
        let judgement = claim.judge(&dossier.printed, Some(&models.book))?;
        let place = Verdict::ALL.iter().position(|verdict| *verdict == judgement.verdict);
        counts[place.expect("all verdicts are listed")] += 1;
        page.gap();
        let paint = match judgement.verdict {
            Verdict::Supported => Paint::Good,
            Verdict::Contradicted => Paint::Alert,
            Verdict::Rounded | Verdict::ModelOnly => Paint::Strong,
            Verdict::NotCheckable => Paint::Faint,
        };
        let head = format!("{}: {}", claim.file.id, judgement.verdict.name());
        page.hanging("", &head, paint);
        page.hanging("  ", &sentence(claim), Paint::Plain);
        let because = because(dossier, &judgement);
        if !because.is_empty() {
            page.hanging("  ", &because, Paint::Faint);
        }
    }
    page.gap();
    let told = Verdict::ALL
        .iter()
        .zip(counts)
        .map(|(verdict, count)| format!("{count} {}", verdict.name()));
    page.line(&format!("{} claims: {}", dossier.claims.len(), told.collect::<Vec<_>>().join(", ")));
    Ok(())
}

fn sentence(claim: &Claim) -> String {
    let kind = match claim.file.kind {
        study::ClaimKind::Fact => String::new(),
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
    match judgement.holds {
        Some((holding, count)) => {
            parts.push(format!("{holding} of {count} comparisons hold"));
            let failing = judgement.values.first().filter(|_| holding < count);
            parts.extend(failing.map(|value| format!("not {}", place(dossier, &value.from))));
        }
        None if !judgement.values.is_empty() => {
            parts.push(format!("Computed: {}", values(dossier, &judgement.values)));
        }
        None => {}
    }
    if let Some((holds, seen)) = &judgement.modelled {
        let word = if *holds { "agrees" } else { "does not agree" };
        parts.push(format!("the model {word}: {}", values(dossier, seen)));
    }
    parts.extend(judgement.because.iter().cloned());
    parts.join("; ")
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
            let word = match key {
                "threads" => format!("{value} threads"),
                _ => dossier.word(key, value),
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
