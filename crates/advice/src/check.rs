//! The first of a ranking are run as they stand: an array as that array, a managed volume as a
//! managed volume.
//!
//! What was computed for a managed volume and interpolated for an array may be far off, so that a
//! check may move a place down: then the next ones are run, until the first were all checked.

use crate::{
    candidates::{Candidate, Source},
    error::AdviceError,
    modelled::Answered,
    question::Question,
    rank::{Check, Offer, Ranking, due, rank},
    steady::Bench,
};
use std::thread;
use target::catalog::Catalog;

/// How many of the first are checked.
pub const CHECKED: usize = 3;
/// No more than this are run for an answer.
const CHECKS_MAX: usize = 8;

/// Ranks, checking the first. `progress` hears how many were run.
pub fn ranked(
    answered: &mut [(&Candidate, Answered)],
    catalog: &Catalog,
    question: &Question,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<(Vec<Offer>, Ranking), AdviceError> {
    let bench = Bench { catalog, workload: question.workload.clone(), seed: question.seed };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut run = 0;
    loop {
        let offers: Vec<Offer> = answered.iter().map(|(_, answer)| answer.offer.clone()).collect();
        let ranking = rank(&question.need, &offers);
        let mut next = due(&offers, &ranking, CHECKED);
        next.truncate(CHECKS_MAX - run);
        if next.is_empty() {
            return Ok((offers, ranking));
        }
        progress(run);
        let one = |at: &usize| {
            let (candidate, answer) = &answered[*at];
            check(candidate, &answer.offer, &bench, question)
        };
        let checks = study::in_parallel(&next, threads, &|_, _| (), |_| 1, one);
        for (at, check) in next.iter().zip(checks) {
            answered[*at].1.offer.check = check?;
        }
        run += next.len();
    }
}

fn check(
    candidate: &Candidate,
    offer: &Offer,
    bench: &Bench<'_>,
    question: &Question,
) -> Result<Check, AdviceError> {
    let Source::Modelled { base, volume, .. } = &candidate.source else {
        return Ok(Check::Impossible);
    };
    let wanted = question.need.capacity_bytes;
    let found = match volume {
        None => bench.bare(base, wanted).map(|rates| Some(rates.mixed)),
        Some(volume) => {
            let mut stack = base.clone();
            stack.layers.push(volume.clone());
            let fill = wanted.map_or(1.0, |bytes| bytes as f64 / offer.capacity_bytes as f64);
            bench.managed(&stack, fill)
        }
    };
    let trial = |error| AdviceError::Trial { stack: candidate.name.clone(), error };
    let found = found.map_err(trial)?;
    Ok(found.map_or(Check::Impossible, Check::Done))
}
