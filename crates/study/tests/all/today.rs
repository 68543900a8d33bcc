//! What stands for the measurements of drives of today.

use study::{Effort, Study, cases, relative_error, run};
use target::catalog::Catalog;

/// The published rate of the CM7-R follows the load up to its ceiling, though 896 writes are
/// outstanding in each of its pauses. Ours dropped what came meanwhile, and was 9 % short.
#[test]
fn what_cannot_be_asked_in_a_pause_is_asked_after_it() {
    let catalog = Catalog::built_in().expect("a catalog");
    let is_meant = |case: &study::Case| {
        case.figure.study == Study::Today
            && case.figure.device == "kioxia-cm7r-3840"
            && case.figure.setting("load") == Some("250000")
            && case.figure.metric == "iops"
    };
    let case = cases().into_iter().find(is_meant).expect("a published rate");
    let outcome = run(&case, &catalog, Effort::REPORT).expect("a trial");
    let error = relative_error(outcome.value, case.figure.value);
    assert!(error.abs() < 0.02, "{error}");
}
