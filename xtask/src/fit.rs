//! `cargo xtask fit`: finds the catalog's fitted numbers again, from the printed figures alone.
//!
//! ```text
//!   cells that a unit may see -> search -> numbers with from = "fit" -> catalog/*.toml
//! ```
//!
//! A unit is a drive, or what its figures share with a port. Every number that the search may move
//! says `from = "fit"` in its file; nothing else is touched.

mod unit;

use crate::{accuracy::table, check::root};
use anyhow::{Context, Result, bail, ensure};

use std::{fs, path::PathBuf};
use study::{Basis, Case, Effort, cases, relative_error, run as run_trial};
use target::{
    catalog::{Catalog, HostEntry},
    search::{Grain, descend},
};
pub use unit::{Handle, UNITS, Unit};

/// What is fitted.
#[derive(clap::Args)]
pub struct Options {
    /// Leaves the catalog as it is.
    #[arg(long)]
    dry_run: bool,
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
    let mut chosen = options.units.clone();
    if chosen.is_empty() {
        chosen = UNITS.iter().collect();
    }
    let mut catalog = Catalog::built_in()?;
    for unit in chosen {
        fit_one(unit, &mut catalog)?;
        if !options.dry_run {
            write(unit, &catalog)?;
        }
    }
    Ok(())
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
    let before = loss(catalog, &seen);
    search(catalog, &handles, &seen, Grain { first: 0.1, last: 0.002 })?;
    let rounded: Vec<f64> = handles.iter().map(|handle| rounded(handle.value(catalog))).collect();
    put(catalog, &handles, &rounded)?;
    let after = loss(catalog, &seen);
    for handle in &handles {
        println!("  {handle} = {}", handle.shown(catalog));
    }
    println!("  loss {before:.4} -> {after:.4}");
    let outcomes = seen.iter().map(|case| run_trial(case, catalog, Effort::REPORT));
    let modelled = outcomes.map(|outcome| outcome.map(|seen| seen.value));
    let modelled = modelled.collect::<Result<Vec<_>, _>>()?;
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
    let best = descend(&mut point, grain, &mut |point| {
        // What cannot be built is no candidate.
        match put(catalog, handles, point) {
            Ok(()) => loss(catalog, seen),
            Err(_) => f64::INFINITY,
        }
    });
    put(catalog, handles, &point)?;
    Ok(best)
}

fn put(catalog: &mut Catalog, handles: &[Handle], point: &[f64]) -> Result<()> {
    handles.iter().zip(point).try_for_each(|(handle, &value)| handle.set(catalog, value))
}

/// To four digits: what is beyond, the figures cannot tell.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just printed")
}

/// Mean size of the errors; what is beyond 8 % counts five times more, because a cell beyond 10 %
/// is to be explained. Beyond 30 % it is beyond the model, and must not bend what can be met.
/// Infinite where a stack cannot be built.
fn loss(catalog: &Catalog, seen: &[Case]) -> f64 {
    let sum: f64 = seen
        .iter()
        .map(|case| match run_trial(case, catalog, Effort::SEARCH) {
            Ok(outcome) => {
                let error = relative_error(outcome.value, case.figure.value).abs().min(0.3);
                error + 5.0 * (error - 0.08).max(0.0)
            }
            Err(_) => f64::INFINITY,
        })
        .sum();
    sum / seen.len() as f64
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
