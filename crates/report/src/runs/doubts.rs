//! Why numbers are less than they seem: every flag once, with where it was raised and by what.

use super::{Run, rates};
use crate::{
    document::{Doubt, Seen},
    number::counted,
};
use record::{Cell, Flag, Record, Warning};

/// Cells that are named one by one in a place, and places that a doubt lists.
const NAMED_MAX: usize = 6;

/// Every flag that stands anywhere.
pub fn doubts(runs: &[Run<'_>]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for &flag in Flag::ALL {
        // What was seen alike in several runs is said once.
        let mut sightings: Vec<(Seen, Vec<&str>)> = Vec::new();
        for run in runs {
            for seen in in_record(run.record, flag) {
                match sightings.iter_mut().find(|(known, _)| *known == seen) {
                    Some((_, ids)) => ids.push(&run.record.id),
                    None => sightings.push((seen, vec![&run.record.id])),
                }
            }
        }
        let seen = sightings.into_iter().map(|(seen, ids)| match ids.len() {
            _ if runs.len() == 1 => seen,
            count if count == runs.len() => {
                Seen { place: format!("all runs, {}", seen.place), ..seen }
            }
            _ => Seen { place: format!("run {}, {}", ids.join(", "), seen.place), ..seen },
        });
        let seen: Vec<Seen> = seen.collect();
        if !seen.is_empty() {
            let [name, meaning, cure] = [flag.name(), flag.meaning(), flag.cure()];
            let [name, meaning, cure] = [name, meaning, cure].map(str::to_owned);
            doubts.push(Doubt { name, meaning, cure, seen });
        }
    }
    doubts
}

fn in_record(record: &Record, flag: Flag) -> Vec<Seen> {
    let of_targets = record.targets.iter().flat_map(|target| &target.warnings);
    let around = findings(record.warnings.iter().chain(of_targets), flag);
    let targets: Vec<&str> = record
        .targets
        .iter()
        .filter(|target| target.flags.contains(&flag))
        .map(|target| target.text.as_str())
        .collect();
    let cells: Vec<&Cell> = record.cells.iter().filter(|cell| cell.flags.contains(&flag)).collect();
    if !targets.is_empty() {
        let place = match targets.len() == record.targets.len() {
            true => "all cells".to_owned(),
            false => format!("all cells on {}", targets.join(", ")),
        };
        return vec![Seen { place, finding: around }];
    }
    if cells.is_empty() {
        let is_raised = record.flags.contains(&flag) || !around.is_empty();
        let place = "the run as a whole".to_owned();
        return is_raised.then_some(Seen { place, finding: around }).into_iter().collect();
    }
    // Cells of which the same was found stand together.
    let mut groups: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in cells {
        let finding = findings(cell.warnings.iter(), flag);
        match groups.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((finding, vec![cell])),
        }
    }
    let hidden: usize = groups.iter().skip(NAMED_MAX).map(|(_, cells)| cells.len()).sum();
    let shown = groups.iter().take(NAMED_MAX);
    let mut seen: Vec<Seen> = shown
        .map(|(finding, cells)| Seen { place: place(record, cells), finding: finding.clone() })
        .collect();
    if hidden > 0 {
        seen.push(Seen { place: counted(hidden, "more cell"), finding: String::new() });
    }
    if !around.is_empty() {
        seen.push(Seen { place: "the run as a whole".to_owned(), finding: around });
    }
    seen
}

fn place(record: &Record, cells: &[&Cell]) -> String {
    if cells.len() == record.cells.len() && cells.len() > 1 {
        return "all cells".to_owned();
    }
    if cells.len() > NAMED_MAX {
        return format!("{} of {} cells", cells.len(), record.cells.len());
    }
    let name = |(cell, name): (&&Cell, String)| match record.targets.get(cell.target) {
        Some(target) if record.targets.len() > 1 => format!("{name} on {}", target.text),
        _ => name,
    };
    cells.iter().zip(rates::cell_names(cells)).map(name).collect::<Vec<_>>().join("; ")
}

/// What the warnings of a flag say, each once, without the cure, which the doubt gives.
fn findings<'w>(warnings: impl Iterator<Item = &'w Warning>, flag: Flag) -> String {
    let mut found: Vec<String> = Vec::new();
    for warning in warnings.filter(|warning| warning.flag == Some(flag)) {
        let text = warning.text.trim_end_matches('.');
        let text = text.strip_suffix(flag.cure()).unwrap_or(text);
        let text = text.trim_end_matches([':', ' ', '.', ';']).replace("+-", "\u{b1}");
        if !text.is_empty() && !found.contains(&text) {
            found.push(text);
        }
    }
    found.join("; ")
}
