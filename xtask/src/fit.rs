//! `cargo xtask fit`: finds the catalog's fitted numbers again, from the printed figures alone.
//!
//! ```text
//!   cells that a unit may see -> search -> numbers with from = "fit" -> catalog/*.toml
//! ```
//!
//! A unit is a drive, or what its figures share with a port. Every number that the search may move
//! says `from = "fit"` in its file; nothing else is touched.

mod kinds;
mod unit;

use crate::{accuracy::table, check::root};
use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};
use study::{Basis, Case, Effort, Load, Trial, TrialError, cases, relative_error, run_all};
use target::{
    catalog::{Catalog, DriveEntry, HostEntry},
    search::{Grain, descend},
};
pub use unit::{Handle, UNITS, Unit};

/// What is fitted.
#[derive(clap::Args)]
pub struct Options {
    /// Leaves the catalog as it is.
    #[arg(long)]
    dry_run: bool,
    /// Prints the cells at the present numbers and searches nothing.
    #[arg(long)]
    show: bool,
    /// Only this: writes the medians of the generic kinds into their files.
    #[arg(long, conflicts_with_all = ["dry_run", "show", "units"])]
    kinds: bool,
    /// These drives or hosts alone.
    #[arg(value_name = "UNIT", value_parser = unit_named)]
    units: Vec<&'static Unit>,
}

fn unit_named(name: &str) -> Result<&'static Unit> {
    let unit = UNITS.iter().find(|unit| unit.name == name);
    unit.with_context(|| {
        let names: Vec<_> = UNITS.iter().map(|unit| unit.name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// Fits the units that are named, all without a name, and writes the catalog.
pub fn run(options: &Options) -> Result<()> {
    if options.kinds {
        return kinds::write();
    }
    let mut chosen = options.units.clone();
    if chosen.is_empty() {
        chosen = UNITS.iter().collect();
    }
    let mut catalog = as_it_lies_there()?;
    for unit in chosen {
        if options.show {
            show(&catalog, &unit.cases())?;
            continue;
        }
        fit_one(unit, &mut catalog)?;
        if !options.dry_run {
            write(unit, &catalog)?;
        }
    }
    Ok(())
}

/// The catalog's drives and ports as their files are now, without building anything again.
pub fn as_it_lies_there() -> Result<Catalog> {
    let mut catalog = Catalog::built_in()?;
    let text = |file: &str| {
        let path = root().join(file);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let drives: Vec<String> = catalog.drive_names().map(str::to_owned).collect();
    for name in drives {
        let drive = catalog.drive_mut(&name).expect("it was just named");
        *drive = DriveEntry::parse(&drive.entry.file.clone(), &text(&drive.entry.file)?)?;
    }
    let ports: Vec<String> = catalog.port_names().map(str::to_owned).collect();
    for name in ports {
        let port = catalog.port_mut(&name).expect("it was just named");
        *port = HostEntry::parse_port(&port.entry.file.clone(), &text(&port.entry.file)?)?;
    }
    Ok(catalog)
}

fn fit_one(unit: &Unit, catalog: &mut Catalog) -> Result<()> {
    let seen = unit.cases();
    let handles = unit.handles(catalog);
    ensure!(!seen.is_empty() && !handles.is_empty(), "{}: nothing to fit", unit.name);
    let limit = unit.numbers_max(seen.len());
    if handles.len() > limit {
        bail!("{}: {} numbers on {} cells; {limit} at most", unit.name, handles.len(), seen.len());
    }
    println!("\n{}: {} numbers on {} cells", unit.name, handles.len(), seen.len());
    let searched = thinned(&seen);
    let before = loss(catalog, &seen);
    let grain = match seen.len() == searched.len() {
        true => Grain { first: 0.1, last: 0.002 },
        false => Grain { first: 0.1, last: 0.02 },
    };
    search(catalog, &handles, &searched, grain)?;
    let rounded: Vec<f64> = handles.iter().map(|handle| rounded(handle.value(catalog))).collect();
    put(catalog, &handles, &rounded)?;
    let after = loss(catalog, &seen);
    for handle in &handles {
        println!("  {handle} = {}", handle.shown(catalog));
    }
    println!("  loss {before:.4} -> {after:.4}");
    show(catalog, &seen)
}

fn show(catalog: &Catalog, seen: &[Case]) -> Result<()> {
    let modelled = values(catalog, seen, Effort::REPORT);
    let modelled = modelled.into_iter().collect::<Result<Vec<_>, _>>()?;
    table::print_cells(seen.iter().zip(modelled));
    Ok(())
}

/// Moves the numbers of `handles` until `seen` is met best; the loss there.
pub fn search(
    catalog: &mut Catalog,
    handles: &[Handle],
    seen: &[Case],
    grain: Grain,
) -> Result<f64> {
    let mut point: Vec<f64> = handles.iter().map(|handle| handle.value(catalog)).collect();
    let mut least = f64::INFINITY;
    let best = descend(&mut point, grain, &mut |point| {
        // What cannot be built is no candidate.
        let seen = match put(catalog, handles, point) {
            Ok(()) => loss(catalog, seen),
            Err(_) => f64::INFINITY,
        };
        if seen < least {
            least = seen;
            eprintln!("  {seen:.4}  {point:.4?}");
        }
        seen
    });
    put(catalog, handles, &point)?;
    Ok(best)
}

/// Most loads of one kind on one stack that a search looks at: a curve needs no more.
const LOADS_MAX: usize = 5;

/// The cases that a search looks at: of many loads of one kind the first, the last, and some
/// between.
pub fn thinned(seen: &[Case]) -> Vec<Case> {
    let mut kinds: BTreeMap<(&str, study::Op, u32), BTreeSet<Load>> = BTreeMap::new();
    for case in seen {
        if let Trial::Load(load) = case.trial {
            let kind = (case.stack.as_str(), load.op, load.block_bytes);
            kinds.entry(kind).or_default().insert(load);
        }
    }
    let mut kept: BTreeSet<(&str, Load)> = BTreeSet::new();
    for ((stack, ..), loads) in &kinds {
        let loads: Vec<Load> = loads.iter().copied().collect();
        let count = loads.len().min(LOADS_MAX);
        for number in 0..count {
            kept.insert((stack, loads[number * (loads.len() - 1) / (count - 1).max(1)]));
        }
    }
    let keeps = |case: &&Case| match case.trial {
        Trial::Load(load) => kept.contains(&(case.stack.as_str(), load)),
        _ => true,
    };
    seen.iter().filter(keeps).cloned().collect()
}

fn put(catalog: &mut Catalog, handles: &[Handle], point: &[f64]) -> Result<()> {
    handles.iter().zip(point).try_for_each(|(handle, &value)| handle.set(catalog, value))
}

/// To four digits: what is beyond, the figures cannot tell.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just printed")
}

/// Mean size of the errors; what is beyond 8 % counts five times more, because a cell beyond 10 %
/// is to be explained. Beyond [`most_counted`] it is beyond the model, and must not bend what can
/// be met. Infinite where a stack cannot be built.
fn loss(catalog: &Catalog, seen: &[Case]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (case, value) in seen.iter().zip(values(catalog, seen, Effort::SEARCH)) {
        let Ok(value) = value else { return f64::INFINITY };
        let error = relative_error(value, case.figure.value).abs().min(most_counted(case));
        let weight = weight_of(&case.figure.metric);
        sum += weight * (error + 5.0 * (error - 0.08).max(0.0));
        weights += weight;
    }
    sum / weights
}

/// Latencies under load span decades: a search begins far from them.
fn most_counted(case: &Case) -> f64 {
    if matches!(case.trial, Trial::Load(_)) { 0.8 } else { 0.3 }
}

/// A search has 2,000 operations a load: the tail is made of few of them.
fn weight_of(metric: &str) -> f64 {
    match metric {
        "p50_us" => 0.3,
        "p99_us" => 0.6,
        "p99.9_us" => 0.05,
        _ => 1.0,
    }
}

/// Threads that share the trials of a fit.
const THREADS: usize = 2;

/// What the models give beside each case.
fn values(catalog: &Catalog, seen: &[Case], effort: Effort) -> Vec<Result<f64, TrialError>> {
    let outcomes = run_all(seen, catalog, effort, THREADS);
    outcomes.into_iter().map(|outcome| outcome.map(|outcome| outcome.value)).collect()
}

/// Writes the files that a unit has changed.
fn write(unit: &Unit, catalog: &Catalog) -> Result<()> {
    for handle in unit.handles(catalog) {
        for (file, text) in handle.files(catalog) {
            let path: PathBuf = root().join(file);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

impl Unit {
    /// The cells that it may see.
    pub fn cases(&self) -> Vec<Case> {
        let sees = |basis: &Basis| matches!(basis, Basis::Fitted(name) if self.sees.contains(name));
        cases().into_iter().filter(|case| sees(&case.basis)).collect()
    }
}

/// The entry that a port's or driver's number stands in.
pub fn host_entry<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a HostEntry> {
    catalog.port(name).or_else(|| catalog.driver(name))
}
