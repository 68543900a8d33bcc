//! What is compared: a target of a run, under a short name.

use super::Money;
use record::{BlockLayer, Cell, Record, TargetInfo};

/// A record and what the report knows beside it.
#[derive(Clone, Debug)]
pub struct Run<'r> {
    /// What was measured.
    pub record: &'r Record,
    /// What the drives of each target cost, as far as it is known; may be shorter than the list of
    /// targets.
    pub prices: Vec<Option<Money>>,
}

/// One target of one run.
#[derive(Clone, Debug)]
pub struct Subject<'r> {
    /// Unique among the subjects: the run's label or the target as typed, the run's id where that
    /// is not enough.
    pub name: String,
    /// Where its cells come from.
    pub record: &'r Record,
    /// Index into the record's targets.
    pub target: usize,
    /// In the method's order.
    pub cells: Vec<&'r Cell>,
    /// What its drives cost.
    pub price: Option<Money>,
}

/// The targets of all runs, in order.
pub fn subjects<'r>(runs: &[Run<'r>]) -> Vec<Subject<'r>> {
    let mut subjects: Vec<Subject<'r>> = runs.iter().flat_map(of_run).collect();
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    for (at, subject) in subjects.iter_mut().enumerate() {
        if names.iter().filter(|name| **name == names[at]).count() > 1 {
            subject.name = format!("{} ({})", names[at], subject.record.id);
        }
    }
    // The same record may be named twice.
    for at in 1..subjects.len() {
        let earlier = subjects[..at].iter().filter(|other| other.name == subjects[at].name).count();
        if earlier > 0 {
            subjects[at].name += &format!(" #{}", earlier + 1);
        }
    }
    subjects
}

/// Drives of one kind under a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drives {
    /// A model's name in the catalog, without its settings; else the model that the drive gives, or
    /// its device.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Size of each.
    pub bytes: u64,
}

/// The drives under a target. A model's record has a layer for each kind of drive,
/// `4xNAME:port=...`; a machine's one for each drive.
pub fn drives(target: &TargetInfo) -> Vec<Drives> {
    target.stack.iter().filter_map(drives_of).collect()
}

fn drives_of(layer: &BlockLayer) -> Option<Drives> {
    let drive = layer.drive.as_ref()?;
    let bytes = layer.bytes;
    if drive.transport.as_deref() != Some("model") {
        let name = drive.model.as_ref().unwrap_or(&layer.name).clone();
        return Some(Drives { name, count: 1, bytes });
    }
    let text = layer.name.split(':').next().unwrap_or_default();
    let (count, name) = match text.split_once('x').map(|(count, name)| (count.parse(), name)) {
        Some((Ok(count), name)) => (count, name),
        _ => (1, text),
    };
    Some(Drives { name: name.to_owned(), count, bytes })
}

/// As it was typed; `.` and its like say nothing outside the place where they were typed.
pub(super) fn typed(target: &TargetInfo) -> &str {
    let is_relative = target.text.starts_with('.');
    target.path.as_deref().filter(|_| is_relative).unwrap_or(&target.text)
}

fn of_run<'r>(run: &Run<'r>) -> Vec<Subject<'r>> {
    let record = run.record;
    let mut targets: Vec<usize> = record.cells.iter().map(|cell| cell.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let several = targets.len() > 1;
    let subject = |target: usize| {
        let typed = record.targets.get(target).map_or("", typed);
        let label = record.labels.get("label").map(String::as_str);
        let name = match (label, several) {
            (Some(label), false) => label.to_owned(),
            (Some(label), true) => format!("{label}: {typed}"),
            (None, _) => typed.to_owned(),
        };
        let cells = record.cells.iter().filter(|cell| cell.target == target).collect();
        let price = run.prices.get(target).cloned().flatten();
        Subject { name, record, target, cells, price }
    };
    targets.iter().copied().map(subject).collect()
}
