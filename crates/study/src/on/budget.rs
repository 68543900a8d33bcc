//! What the methods of a study need and write, all together, before the first byte of any.

use super::{Asked, CannotMeasure, Ordered, Ready};
use crate::Study;
use block::display_bytes;
use record::TargetInfo;
use run::{CannotRun, Effect, Foreseen, Prepared, Wear};

/// What a study writes unasked, its methods together: as much as a quick run.
const WRITTEN_BYTES_MAX: u64 = 8 << 30;

/// What is known of all methods together.
pub struct Kept {
    /// The targets, as far as they are known before.
    pub targets: Vec<TargetInfo>,
    /// What will be written, in a sentence; empty where nothing wears.
    pub writes: String,
}

/// Shares the bytes that may be written among the orders, and refuses methods for which there is no
/// room.
///
/// # Errors
/// That, and methods that write more together than was agreed to.
pub fn keep(study: Study, orders: &mut [Ready<'_>], asked: &Asked) -> Result<Kept, CannotMeasure> {
    let given = asked.options.written_bytes_max;
    let limit_bytes = given.unwrap_or(WRITTEN_BYTES_MAX);
    let (mut all, mut each, mut targets) = (0u64, Vec::new(), Vec::new());
    let mut question = None;
    for ready in orders.iter_mut() {
        let method = &ready.on.method;
        let about = |error: CannotMeasure| match error {
            CannotMeasure::Run(CannotRun::Plan(_) | CannotRun::Refused(_)) => {
                CannotMeasure::Method { method: method.clone(), error: Box::new(error) }
            }
            other => other,
        };
        let mut seen = foresee(&ready.order).map_err(about)?;
        if let Ordered::Run(order) = &mut ready.order {
            // Cells that time bounds share what is left; the others write what they must.
            let left = seen.wears.then(|| limit_bytes.saturating_sub(all));
            order.method.limit_written(left.or(given));
            if seen.is_shared && seen.wears {
                seen = foresee(&ready.order).map_err(about)?;
            }
        }
        let asks = seen.must_agree.map(|refusal| about(CannotRun::from(refusal).into()));
        question = question.or(asks);
        let written = if seen.wears { seen.written_bytes } else { 0 };
        if written > 0 {
            each.push(format!("{method} {}", display_bytes(written)));
        }
        all = all.saturating_add(written);
        targets.extend(seen.target);
    }
    let each = each.join(", ");
    if asked.effect == Effect::Measure {
        if all > limit_bytes {
            let wear = if given.is_some() { Wear::AgreedTo } else { Wear::Unasked };
            let written_bytes = all;
            return Err(CannotMeasure::OverBudget {
                study,
                written_bytes,
                each,
                limit_bytes,
                wear,
            });
        }
        if let Some(question) = question {
            return Err(question);
        }
    }
    let writes = match all {
        0 => String::new(),
        all => format!("at most {} in all: {each}", display_bytes(all)),
    };
    Ok(Kept { targets, writes })
}

fn foresee(order: &Ordered) -> Result<Foreseen, CannotMeasure> {
    match order {
        Ordered::Run(order) => Ok(Prepared::new(order.as_ref().clone())?.foresee()),
        Ordered::Matrix(order) => {
            let seen = matrix::foresee(order)?;
            Ok(Foreseen {
                written_bytes: seen.written_bytes,
                wears: seen.wears,
                is_shared: false,
                must_agree: None,
                target: seen.target,
            })
        }
    }
}
