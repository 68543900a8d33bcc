//! What the fit is worth where it has not looked: every drive is fitted again without one block
//! size, and asked for that size.

use super::options::in_parallel;
use crate::fit::{self, UNITS, Unit};
use anyhow::Result;
use std::collections::BTreeSet;
use study::{Case, Effort, ErrorSummary, Group, relative_error, run as run_trial};
use target::catalog::Catalog;
use target::search::Grain;

/// How far a drive's own fit is off at block sizes that it had not seen.
pub struct LeftOut {
    /// The unit of the fit.
    pub name: &'static str,
    /// Block sizes left out, one after the other.
    pub sizes: usize,
    /// Over all cells, each predicted by the fit without its size.
    pub errors: ErrorSummary,
}

/// Fits every drive with several block sizes that often; minutes. Drives of today are left out:
/// a search over their loads takes minutes each.
pub fn run(catalog: &Catalog, threads: usize) -> Result<Vec<LeftOut>> {
    let is_meant = |unit: &&Unit| {
        let cases = unit.cases();
        sizes_of(&cases).len() > 2 && cases.iter().all(|case| case.group != Group::Today)
    };
    let units: Vec<&Unit> = UNITS.iter().filter(is_meant).collect();
    in_parallel(&units, threads, |unit| leave_out(unit, catalog))
}

fn sizes_of(cases: &[Case]) -> BTreeSet<u64> {
    cases.iter().filter_map(|case| case.figure.block_bytes).collect()
}

fn leave_out(unit: &Unit, catalog: &Catalog) -> Result<LeftOut> {
    let cases = unit.cases();
    let sizes = sizes_of(&cases);
    let mut errors = Vec::new();
    for &size in &sizes {
        let is_left_out = |case: &&Case| case.figure.block_bytes == Some(size);
        let kept: Vec<Case> = cases.iter().filter(|case| !is_left_out(case)).cloned().collect();
        let mut catalog = catalog.clone();
        // From the fit with all sizes, whose steps are known to be fine enough.
        let grain = Grain { first: 0.02, last: 0.004 };
        let handles = unit.handles(&catalog);
        fit::search(&mut catalog, &handles, &kept, grain)?;
        for case in cases.iter().filter(is_left_out) {
            let outcome = run_trial(case, &catalog, Effort::REPORT)?;
            errors.push(relative_error(outcome.value, case.figure.value));
        }
    }
    let errors = ErrorSummary::of(&errors).expect("a unit has cells");
    Ok(LeftOut { name: unit.name, sizes: sizes.len(), errors })
}
