//! What of a study cannot be had, as sentences that name the option.

use crate::{matrix, run};
use ::matrix::Wear;
use anyhow::{Error, anyhow};
use block::display_bytes;
use study::on::{CannotMeasure, LeftOut};

/// What cannot be measured, with the option and the cure.
pub fn in_words(error: CannotMeasure) -> Error {
    match error {
        CannotMeasure::NoFileSystems(_) => anyhow!("--loop: {error}: use --on with the directory"),
        CannotMeasure::NotRoot => anyhow!(
            "{error} (`sudo drivelab study ...`); --on with a directory measures the one that is \
             there"
        ),
        CannotMeasure::NoFileSystem(left) => {
            anyhow!("{}", left.into_iter().map(left_out).collect::<Vec<_>>().join("; "))
        }
        CannotMeasure::OverBudget { study, written_bytes, each, limit_bytes, wear } => {
            let (name, limit) = (study.name(), display_bytes(limit_bytes));
            let writes =
                format!("{name} writes up to {} here ({each})", display_bytes(written_bytes));
            match wear {
                Wear::AgreedTo => anyhow!(
                    "{writes}, more than --max-written {limit}: raise it, or lower --size or \
                     --passes"
                ),
                // Whole, so that what is typed suffices.
                Wear::Unasked => anyhow!(
                    "{writes}, and no more than {limit} unasked: agree to it with --max-written \
                     {}MiB, or lower --size or --passes",
                    written_bytes.div_ceil(1 << 20)
                ),
            }
        }
        CannotMeasure::Method { method, error } => {
            in_words(*error).context(format!("method {method}"))
        }
        CannotMeasure::Run(error) => run::in_words(error),
        CannotMeasure::Matrix(error) => matrix::in_words(error),
        other @ (CannotMeasure::Text(_) | CannotMeasure::Order(_) | CannotMeasure::Size(_)) => {
            other.into()
        }
    }
}

/// What of the study's settings is not to be had.
pub fn left_out(left: LeftOut) -> String {
    match left {
        LeftOut::FileSystem { name, error } => format!("{name}: {}", matrix::in_words(error)),
        LeftOut::Setting(error) => matrix::in_words(error).to_string(),
        LeftOut::AsTheyAre(settings) => format!(
            "{}: taken as they are here; --loop DIR, a block device or a model vary them",
            settings.join(", ")
        ),
    }
}
