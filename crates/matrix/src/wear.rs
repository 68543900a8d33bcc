//! What all turns of a matrix write together, and when somebody has to agree to that.

use crate::{
    axes::{Configuration, fill_percent},
    device::TestDevice,
    error::{MatrixError, Refusal, RefusalKind},
    order::MatrixOrder,
};
use block::{counted, display_bytes};
use host::scratch::bytes_total;
use lab::plan::Plan;
use run::Wear;

/// Half of a file system's files are written again before it is filled: filling one writes its size
/// and half of that.
const CHURN_FACTOR: f64 = 1.5;

/// Most bytes that all turns of a matrix write. `device_bytes` is the size of what the
/// configurations are put on; a method that
/// writes twice as much as another counts for twice.
pub fn all_bytes(
    rounds: u32,
    configurations: &[Configuration],
    plans: &[Plan],
    device_bytes: u64,
) -> u128 {
    // A plan's bytes are those of all its passes on one target, which is filled once; here it is
    // new in each round.
    let again = |plan: &Plan| {
        let more = u128::from(rounds.saturating_sub(1));
        u128::from(plan.fill) * u128::from(plan.fill_span_bytes) * more
    };
    let measured = plans.iter().map(|plan| u128::from(plan.written_bytes_max) + again(plan)).sum();
    written(configurations, measured, device_bytes, rounds)
}

/// Refuses a matrix that would write the whole drive more than once, unless it was agreed to.
pub fn check(
    order: &MatrixOrder,
    device: &TestDevice,
    configurations: &[Configuration],
    plans: &[Plan],
    device_bytes: u64,
) -> Result<(), MatrixError> {
    let drive_bytes = match device {
        // Nothing wears out.
        TestDevice::Model { .. } => return Ok(()),
        TestDevice::Device { .. } => device_bytes,
        TestDevice::Loop { directory, .. } => bytes_total(directory)?,
    };
    let written = all_bytes(order.rounds, configurations, plans, device_bytes);
    if written <= u128::from(drive_bytes) || order.wear == Wear::AgreedTo {
        return Ok(());
    }
    let text = format!(
        "this matrix writes up to {} in {}, {:.1} times the drive below",
        display_bytes(u64::try_from(written).unwrap_or(u64::MAX)),
        counted(configurations.len() as u64 * u64::from(order.rounds), "turn"),
        written as f64 / drive_bytes as f64
    );
    Err(Refusal::new(RefusalKind::Wears, text).into())
}

/// Counted in 128 bits: a sum that wraps would pass for little.
fn written(
    configurations: &[Configuration],
    measured: u128,
    device_bytes: u64,
    passes: u32,
) -> u128 {
    let filled = |one: &Configuration| match fill_percent(one) {
        0 => 0.0,
        percent if one.is_raw() => device_bytes as f64 * f64::from(percent) / 100.0,
        _ => device_bytes as f64 * CHURN_FACTOR,
    };
    let filled: f64 = configurations.iter().map(filled).sum();
    measured * configurations.len() as u128 + (filled * f64::from(passes)) as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axes, Axis};

    #[test]
    fn every_turn_writes_its_method_and_its_filling() {
        let mut axes = Axes::default();
        axes.add(Axis::Fs, "raw,ext4").expect("levels");
        axes.add(Axis::Fill, "0,90").expect("levels");
        let all = axes.configurations();
        assert_eq!(all.len(), 4);
        // Four times the method; in each of two rounds 0.9 of the raw device and 1.5 of the file
        // system.
        assert_eq!(written(&all, 100, 1000, 2), 4 * 100 + 2 * (900 + 1500));
    }
}
