//! The table of scenarios, a file for each thing that is tried. Those that take a drive away come
//! last.

mod consent;
mod databases;
mod failures;
mod measures;
mod quick;
mod refusals;
mod screens;
mod serving;
mod settings;

use super::scenario::Scenario;
pub use quick::QUICK;

/// All scenarios, in the order in which they are listed.
pub fn all() -> Vec<&'static Scenario> {
    let parts = [
        refusals::ALL,
        consent::ALL,
        screens::ALL,
        measures::ALL,
        settings::ALL,
        serving::ALL,
        databases::ALL,
        failures::ALL,
    ];
    parts.into_iter().flatten().collect()
}
