//! What the methods of a study need and write, all together, before the first byte of any.

use super::{
    arguments::StudyArguments,
    on::{Order, Ready},
};
use crate::{
    matrix,
    run::{self, Foreseen},
};
use anyhow::{Error, Result, bail};
use block::display_bytes;
use lab::plan::PlanError;
use record::TargetInfo;
use study::Study;

/// What a study writes unasked, its methods together: as much as a quick run.
const WRITTEN_BYTES_MAX: u64 = 8 << 30;

/// What is known of all methods together.
pub struct Kept {
    /// The targets, as far as they are known before.
    pub targets: Vec<TargetInfo>,
    /// What will be written, in a sentence; empty where nothing wears.
    pub writes: String,
}

/// Refuses methods for which there is no room, or that write more than was agreed to.
pub fn keep(study: Study, orders: &mut [Ready<'_>], arguments: &StudyArguments) -> Result<Kept> {
    let limit = arguments.max_written.unwrap_or(WRITTEN_BYTES_MAX);
    let (mut all, mut each, mut targets) = (0u64, Vec::new(), Vec::new());
    let mut question = None;
    for ready in orders.iter_mut() {
        let method = &ready.on.method;
        let about = |error: Error| match error.is::<PlanError>() {
            true => error.context(format!("method {method}")),
            false => error,
        };
        let mut seen = foresee(&ready.order).map_err(about)?;
        if let Order::Run(order) = &mut ready.order {
            // Cells that time bounds share what is left; the others write what they must.
            let left = seen.wears.then(|| limit.saturating_sub(all));
            order.max_written = left.or(arguments.max_written);
            if seen.is_shared && seen.wears {
                seen = foresee(&ready.order).map_err(about)?;
            }
        }
        question = question.or(seen.question.map(|text| format!("method {method}: {text}")));
        let written = if seen.wears { seen.written_bytes } else { 0 };
        if written > 0 {
            each.push(format!("{method} {}", display_bytes(written)));
        }
        all = all.saturating_add(written);
        targets.extend(seen.target);
    }
    let (each, name) = (each.join(", "), study.name());
    if all > limit && !arguments.dry_run {
        let limit = display_bytes(limit);
        match arguments.max_written {
            Some(_) => bail!(
                "{name} writes up to {} here ({each}), more than --max-written {limit}: raise it, or lower --size or \
                 --passes",
                display_bytes(all)
            ),
            None => bail!(
                "{name} writes up to {} here ({each}), and no more than {limit} unasked: agree to it with \
                 --max-written {}MiB, or lower --size or --passes",
                display_bytes(all),
                // Whole, so that what is typed suffices.
                all.div_ceil(1 << 20)
            ),
        }
    }
    if let (Some(question), false) = (question, arguments.dry_run) {
        bail!("{question}");
    }
    let writes = match all {
        0 => String::new(),
        all => format!("at most {} in all: {each}", display_bytes(all)),
    };
    Ok(Kept { targets, writes })
}

fn foresee(order: &Order) -> Result<Foreseen> {
    match order {
        Order::Run(order) => run::foresee(order),
        Order::Matrix(order) => matrix::foresee(order),
    }
}
