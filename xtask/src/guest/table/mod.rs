//! The table of scenarios, a file for each thing that is tried. Those that take a drive away come
//! last.

mod consent;
mod failures;
mod measures;
mod refusals;
mod serving;
mod settings;

use super::scenario::Scenario;

/// All scenarios, in the order in which they run.
pub fn all() -> Vec<&'static Scenario> {
    [refusals::ALL, consent::ALL, measures::ALL, settings::ALL, serving::ALL, failures::ALL]
        .into_iter()
        .flatten()
        .collect()
}
