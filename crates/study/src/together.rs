//! Many cases at once: loads on one stack share a drive, and several threads share the stacks.

use crate::{Case, Effort, Load, Outcome, Trial, TrialError, in_parallel, run, run_loads};
use std::collections::{BTreeMap, BTreeSet};
use target::catalog::Catalog;

/// Loads that are done on one drive; more are cut, so that threads have something to share.
const LOADS_MAX: usize = 18;

/// What is done on one stack by one thread.
enum Piece<'c> {
    One(usize),
    Loads(&'c str, Vec<Load>),
}

/// What the models give beside each case, on `threads` threads. Values do not depend on their
/// number.
pub fn run_all(
    cases: &[Case],
    catalog: &Catalog,
    effort: Effort,
    threads: usize,
) -> Vec<Result<Outcome, TrialError>> {
    let mut stacks: BTreeMap<&str, BTreeSet<Load>> = BTreeMap::new();
    for case in cases {
        if let Trial::Load(load) = case.trial {
            stacks.entry(&case.stack).or_default().insert(load);
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for (stack, loads) in stacks {
        let loads: Vec<Load> = loads.into_iter().collect();
        pieces.extend(loads.chunks(LOADS_MAX).map(|part| Piece::Loads(stack, part.to_vec())));
    }
    let is_load = |case: &Case| matches!(case.trial, Trial::Load(_));
    pieces.extend((0..cases.len()).filter(|&at| !is_load(&cases[at])).map(Piece::One));

    let mut outcomes: Vec<Option<Result<Outcome, TrialError>>> = vec![None; cases.len()];
    let mut under_load = BTreeMap::new();
    let done = in_parallel(
        &pieces,
        threads,
        &|_, _| (),
        |_| 1,
        |piece| match piece {
            Piece::One(at) => (Some(run(&cases[*at], catalog, effort)), None),
            Piece::Loads(stack, loads) => (None, Some(run_loads(stack, loads, catalog, effort))),
        },
    );
    for (piece, done) in pieces.iter().zip(done) {
        match (piece, done) {
            (Piece::One(at), (outcome, _)) => outcomes[*at] = outcome,
            (Piece::Loads(stack, loads), (_, Some(Ok(seen)))) => {
                under_load
                    .extend(loads.iter().map(|load| (*stack, *load)).zip(seen.into_iter().map(Ok)));
            }
            (Piece::Loads(stack, loads), (_, Some(Err(error)))) => {
                under_load.extend(loads.iter().map(|load| ((*stack, *load), Err(error.clone()))));
            }
            (Piece::Loads(..), (_, None)) => unreachable!("loads give outcomes of loads"),
        }
    }
    let of_load = |case: &Case, load: Load| {
        let seen = under_load[&(case.stack.as_str(), load)].as_ref().map_err(Clone::clone)?;
        Ok(Outcome { value: seen.value(&case.figure)?, hash: seen.hash })
    };
    cases
        .iter()
        .zip(outcomes)
        .map(|(case, outcome)| match (case.trial, outcome) {
            (Trial::Load(load), _) => of_load(case, load),
            (_, outcome) => outcome.expect("every case is a piece"),
        })
        .collect()
}
