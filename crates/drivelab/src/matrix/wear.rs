//! What all turns of a matrix write together, and when somebody has to agree to that.

use super::{MatrixArguments, fill_percent, ground::Ground};
use anyhow::{Result, bail};
use block::display_bytes;
use host::scratch::bytes_total;
use lab::plan::Plan;
use report::number::counted;
use study::matrix::Configuration;

/// Half of a file system's files are written again before it is filled: filling one writes its size
/// and half of that.
const CHURN_FACTOR: f64 = 1.5;

/// Most bytes that all turns of a matrix write. `device_bytes` is the size of what the
/// configurations are put on; a method that
/// writes twice as much as another counts for twice.
pub fn all_bytes(
    arguments: &MatrixArguments,
    configurations: &[Configuration],
    plans: &[Plan],
    device_bytes: u64,
) -> u128 {
    // A plan's bytes are those of all its passes on one target, which is filled once; here it is
    // new in each round.
    let again = |plan: &Plan| {
        let rounds = u128::from(arguments.passes.saturating_sub(1));
        u128::from(plan.fill) * u128::from(plan.fill_span_bytes) * rounds
    };
    let measured = plans.iter().map(|plan| u128::from(plan.written_bytes_max) + again(plan)).sum();
    written(configurations, measured, device_bytes, arguments.passes)
}

/// Refuses a matrix that would write the whole drive more than once, unless it was agreed to.
pub fn check(
    arguments: &MatrixArguments,
    ground: &Ground,
    configurations: &[Configuration],
    plans: &[Plan],
    device_bytes: u64,
) -> Result<()> {
    let drive_bytes = match ground {
        // Nothing wears out.
        Ground::Model { .. } => return Ok(()),
        Ground::Device { .. } => device_bytes,
        Ground::Loop { directory, .. } => bytes_total(directory)?,
    };
    let written = all_bytes(arguments, configurations, plans, device_bytes);
    if written > u128::from(drive_bytes) && !arguments.yes {
        bail!(
            "this matrix writes up to {} in {}, {:.1} times the drive below: name fewer settings or --passes, or add --yes",
            display_bytes(u64::try_from(written).unwrap_or(u64::MAX)),
            counted(configurations.len() as u64 * u64::from(arguments.passes), "turn"),
            written as f64 / drive_bytes as f64
        );
    }
    Ok(())
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
    use study::matrix::{Axes, Axis};

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
