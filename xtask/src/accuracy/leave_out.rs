//! What the fit is worth where it has not looked: every drive is fitted again without one block
//! size, and asked for that size; drives of today without one depth or load.

use super::options::in_parallel;
use crate::fit::{self, UNITS, Unit};
use anyhow::Result;
use std::collections::BTreeSet;
use study::{Case, Effort, ErrorSummary, Group, LoadDemand, Trial, relative_error, run_all};
use target::catalog::Catalog;
use target::search::Grain;

/// How far a drive's own fit is off at block sizes that it had not seen.
pub struct LeftOut {
    /// The unit of the fit.
    pub name: &'static str,
    /// Block sizes or depths left out, one after the other.
    pub left_out: usize,
    /// Over all cells, each predicted by the fit without its size.
    pub errors: ErrorSummary,
}

/// Fits every drive with several block sizes that often; minutes. Drives of today are left out:
/// they have [`depths`].
pub fn run(catalog: &Catalog, threads: usize) -> Result<Vec<LeftOut>> {
    let is_meant = |unit: &&Unit| {
        let cases = unit.cases();
        keys_of(&cases, size_of).len() > 2 && cases.iter().all(|case| case.group != Group::Today)
    };
    let units: Vec<&Unit> = UNITS.iter().filter(is_meant).collect();
    in_parallel(&units, threads, |unit| leave_out(unit, catalog, size_of, &|_| true))
}

/// The same of drives of today, without one depth or load after the other; the errors are of rates
/// and mean latencies. A search over their loads takes minutes each.
pub fn depths(catalog: &Catalog, names: &[String]) -> Result<Vec<LeftOut>> {
    let is_meant = |unit: &&Unit| {
        let is_asked = names.is_empty() || names.iter().any(|name| name == unit.name);
        is_asked && keys_of(&unit.cases(), depth_of).len() > 2
    };
    let counts = |case: &Case| matches!(case.figure.metric.as_str(), "iops" | "mean_us");
    UNITS.iter().filter(is_meant).map(|unit| leave_out(unit, catalog, depth_of, &counts)).collect()
}

/// What of a case is left out: cases with the same are left out together.
type Key = fn(&Case) -> Option<u64>;

fn size_of(case: &Case) -> Option<u64> {
    case.figure.block_bytes
}

fn depth_of(case: &Case) -> Option<u64> {
    let Trial::Load(load) = case.trial else { return None };
    Some(match load.demand {
        LoadDemand::Depth { requests, .. } => requests.into(),
        LoadDemand::Writes { per_s, .. } => per_s.into(),
    })
}

fn keys_of(cases: &[Case], key: Key) -> BTreeSet<u64> {
    cases.iter().filter_map(key).collect()
}

fn leave_out(
    unit: &Unit,
    catalog: &Catalog,
    key: Key,
    counts: &dyn Fn(&Case) -> bool,
) -> Result<LeftOut> {
    let cases = unit.cases();
    let keys = keys_of(&cases, key);
    let mut errors = Vec::new();
    // A search that looks at the same cases finds the same: of many loads it looks at some.
    let mut found: Option<(Vec<Case>, Catalog)> = None;
    for &left in &keys {
        let is_left_out = |case: &&Case| key(case) == Some(left);
        let kept: Vec<Case> = cases.iter().filter(|case| !is_left_out(case)).cloned().collect();
        let searched = fit::thinned(&kept);
        if found.as_ref().is_none_or(|(cases, _)| *cases != searched) {
            let mut catalog = catalog.clone();
            // From the fit with all, whose steps are known to be fine enough; loads are noisier.
            let last = if searched.len() == kept.len() { 0.004 } else { 0.01 };
            let handles = unit.handles(&catalog);
            fit::search(&mut catalog, &handles, &searched, Grain { first: 0.02, last })?;
            found = Some((searched, catalog));
        }
        let (_, catalog) = found.as_ref().expect("it was just found");
        let asked: Vec<Case> = cases.iter().filter(is_left_out).cloned().collect();
        for (case, outcome) in asked.iter().zip(run_all(&asked, catalog, Effort::REPORT, 1)) {
            let value = outcome?.value;
            if counts(case) {
                errors.push(relative_error(value, case.figure.value));
            }
        }
    }
    let errors = ErrorSummary::of(&errors).expect("a unit has cells");
    Ok(LeftOut { name: unit.name, left_out: keys.len(), errors })
}
