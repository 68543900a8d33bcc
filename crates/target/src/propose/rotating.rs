//! The numbers of a disk: seeks from reads over a part and over all of it.

use super::{
    Proposal, Seen,
    figures::Figures,
    sheet::{Mechanism, Pair, Unit, table},
    twin::Bench,
};
use crate::{
    catalog::{DriveEntry, DriveSettings, Value},
    search::{Grain, descend},
};
use std::fmt::Write;

/// Seeks of the closed forms, moved until the model reads as the disk did.
pub(super) fn fit(
    seen: &Seen<'_>,
    figures: &Figures,
    bench: &Bench,
    tell: &mut dyn FnMut(&str),
) -> Proposal {
    tell("seeks");
    let mut entry = DriveEntry::parse("the fitted disk", &seen.disk())
        .expect("a file of our own writing can be read");
    let measured = cells(figures);
    let seeks = ["settle", "average_seek"];
    let mut point = seeks.map(|name| number(&entry, name));
    let mut loss = |point: &[f64]| {
        let mut tried = entry.clone();
        set(&mut tried, point);
        let errors =
            measured.iter().filter(|(name, _)| ["size-4K", "wide"].contains(&name.as_str()));
        errors
            .map(|(name, iops)| {
                let modelled = iops_of(&tried, bench, name);
                modelled.map_or(f64::INFINITY, |modelled| (modelled / iops).ln().abs())
            })
            .sum()
    };
    descend(&mut point, Grain { first: 0.3, last: 0.01 }, &mut loss);
    set(&mut entry, &point.map(|value| (value * 1000.0).round() / 1000.0));
    let pairs = |is_of: &dyn Fn(&str) -> bool| -> Vec<Pair> {
        let own = measured.iter().filter(|(name, _)| is_of(name));
        own.filter_map(|(name, measured)| {
            let (name, measured) = (name.clone(), *measured);
            let modelled = iops_of(&entry, bench, &name)?;
            Some(Pair { name, measured, modelled, unit: Unit::Operations })
        })
        .collect()
    };
    let seeks = pairs(&|name| name == "size-4K" || name == "wide");
    let sizes = pairs(&|name| name.starts_with("size-") && name != "size-4K");
    let errors = table(&[
        Mechanism { name: "seeks", pairs: seeks },
        Mechanism { name: "size, predicted", pairs: sizes },
        Mechanism { name: "depth, predicted", pairs: pairs(&|name| name.starts_with("depth-")) },
        Mechanism { name: "streams", pairs: pairs(&|name| name.starts_with("stream-")) },
    ]);
    let mut toml = String::from("# The model beside the run:\n");
    for line in &errors {
        writeln!(toml, "#   {line}").expect("a string takes it");
    }
    Proposal { toml: toml + entry.entry.text(), errors }
}

/// The cells of reads, operations per second.
fn cells(figures: &Figures) -> Vec<(String, f64)> {
    let wide = figures.wide_ns.map(|ns| ("wide".to_owned(), 1e9 / ns));
    figures.reads.iter().chain(&figures.streams).cloned().chain(wide).collect()
}

fn number(entry: &DriveEntry, name: &str) -> f64 {
    match entry.entry.parameters[name].value {
        Value::Number(number) => number,
        Value::Word(_) => unreachable!("a time is a number"),
    }
}

/// Settle and average seek; the full stroke is twice the average, as it was proposed.
fn set(entry: &mut DriveEntry, point: &[f64]) {
    let stroke =
        [("settle", point[0]), ("average_seek", point[1]), ("full_stroke", 2.0 * point[1])];
    for (name, value) in stroke {
        entry.entry.set(name, value).expect("the file has it");
    }
}

fn iops_of(entry: &DriveEntry, bench: &Bench, name: &str) -> Option<f64> {
    bench.disk_iops(&entry.disk(&DriveSettings::default()).ok()?, name)
}
