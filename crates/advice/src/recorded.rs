//! Rates of a run: what was measured, as it was measured.

use crate::{
    candidates::{Candidate, Measured, Source},
    prices,
    question::{Asked, Price, Question},
    steady::Order,
};
use record::{Cell, Flag};
use report::{derive::Figure, number, runs::Subject};
use target::catalog::{Catalog, PriceDate};

/// A price that the record keeps is of the day of the run; that of a model's drives is as old as
/// the oldest in the catalog.
fn asked(subject: &Subject<'_>, catalog: &Catalog) -> Asked {
    let target = &subject.record.targets[subject.target];
    let date = match &target.price {
        Some(_) => subject.record.started.get(..10).and_then(PriceDate::parse),
        None => prices::printed_in(target, catalog),
    };
    date.map_or(Asked::Never, Asked::On)
}

/// A target of a run that is called `word`.
///
/// # Errors
/// A run without the cells of the workload.
pub fn candidate(
    word: &str,
    subject: &Subject<'_>,
    catalog: &Catalog,
    question: &Question,
) -> Result<Candidate, Lacks> {
    let target = &subject.record.targets[subject.target];
    let measured = measured(subject, question)?;
    let given = question.given(word).or_else(|| question.given(&subject.name));
    let price = match (given, &subject.price) {
        (Some(amount), _) => {
            Price::Known { amount, source: "as given".to_owned(), asked: Asked::Now }
        }
        (None, Some(money)) if money.currency == question.currency => {
            let source = format!("run {}", subject.record.id);
            let asked = asked(subject, catalog);
            Price::Known { amount: money.amount, source, asked }
        }
        (None, Some(money)) => Price::Foreign(money.clone()),
        (None, None) => Price::Unknown(String::new()),
    };
    let name =
        if word == subject.name { word.to_owned() } else { format!("{word}: {}", subject.name) };
    Ok(Candidate {
        name,
        source: Source::Recorded(measured),
        price,
        capacity_bytes: target.capacity_bytes,
        spare_drives: 0,
    })
}

/// The cells of the workload.
fn measured(subject: &Subject<'_>, question: &Question) -> Result<Measured, Lacks> {
    let workload = &question.workload;
    let is_of_workload = |cell: &&&Cell| {
        let pattern = match workload.order {
            Order::Random => ["random", "permutation"].contains(&cell.pattern.as_str()),
            Order::Sequential => cell.pattern == "seq",
        };
        let in_flight = u64::from(cell.threads) * u64::from(cell.queue_depth);
        pattern
            && cell.block_bytes == u64::from(workload.block_bytes)
            && in_flight == u64::from(workload.depth)
            && cell.io == "direct"
            && cell.iops > 0.0
    };
    let cells = || subject.cells.iter().filter(is_of_workload);
    let of_op = |op: &str| cells().find(|cell| cell.op == op).copied();
    let (Some(read), Some(write)) = (of_op("read"), of_op("write")) else {
        return Err(Lacks::of(subject, question));
    };
    let percent = workload.reads * 100.0;
    let same_mix = |cell: &&&Cell| {
        let read_percent = cell.coordinates.get("read_percent").and_then(|value| value.as_f64());
        cell.op == format!("mixed:{percent}") || cell.op == "mixed" && read_percent == Some(percent)
    };
    let mixed = cells().find(same_mix).map(|cell| cell.iops);
    let mut flags: Vec<Flag> =
        [read, write].into_iter().flat_map(|cell| cell.flags.clone()).collect();
    flags.sort_unstable();
    flags.dedup();
    Ok(Measured {
        run: subject.record.id.clone(),
        read: Figure::iops(read),
        write: Figure::iops(write),
        mixed,
        flags,
    })
}

/// A run without the cells of a workload.
#[derive(Clone, PartialEq, Debug)]
pub struct Lacks {
    /// The run.
    pub run: String,
    /// What it ran on.
    pub target: String,
    /// `random` or `seq`.
    pub pattern: &'static str,
    /// What it has instead, in words.
    pub seen: String,
}

impl Lacks {
    fn of(subject: &Subject<'_>, question: &Question) -> Self {
        let pattern = match question.workload.order {
            Order::Random => "random",
            Order::Sequential => "seq",
        };
        let mut seen: Vec<String> = subject
            .cells
            .iter()
            .filter(|cell| cell.io == "direct" && ["read", "write"].contains(&cell.op.as_str()))
            .filter(|cell| {
                cell.pattern == pattern || pattern == "random" && cell.pattern == "permutation"
            })
            .map(|cell| {
                let in_flight = u64::from(cell.threads) * u64::from(cell.queue_depth);
                format!("{} with {in_flight} in flight", number::size(cell.block_bytes))
            })
            .collect();
        seen.sort();
        seen.dedup();
        let few = if seen.len() > 4 { seen.len() - 4 } else { 0 };
        seen.truncate(4);
        let seen = match (seen.is_empty(), few) {
            (true, _) => "none at all".to_owned(),
            (false, 0) => seen.join(", "),
            (false, more) => format!("{} and {more} more", seen.join(", ")),
        };
        Self {
            run: subject.record.id.clone(),
            target: subject.record.targets[subject.target].text.clone(),
            pattern,
            seen,
        }
    }
}
