//! Whether a matrix has room where it is to take place, and what it writes there, before anything
//! is touched.

use super::{MatrixArguments, ground, ground::Ground, offer_under, orders, usable_percent, wear};
use crate::run::Foreseen;
use anyhow::{Result, bail};
use block::display_bytes;
use host::Roots;
use lab::{order::Order, plan::Plan, target::Offer};
use study::matrix::Configuration;

/// What a file system's mkfs asks for at least, bytes: mkfs.xfs(8) since 5.19, and what mkfs.btrfs
/// says of a device of 108 MiB.
const SMALLEST: [(&str, u64); 2] = [("xfs", 300 << 20), ("btrfs", 114_294_784)];

/// Plans every method for the place, and does nothing.
///
/// # Errors
/// A place that is none, and one that is too small for a file system or a method, with the size
/// that is needed.
pub fn foresee(arguments: &MatrixArguments) -> Result<Foreseen> {
    let configurations = arguments.axes()?.configurations();
    let ground = ground(arguments)?;
    let orders = orders(arguments, 0)?;
    let (plans, bytes) = plans(&ground, &configurations, &orders)?;
    if !arguments.dry_run {
        wear::check(arguments, &ground, &configurations, &plans, bytes)?;
    }
    let written = wear::all_bytes(arguments, &configurations, &plans, bytes);
    Ok(Foreseen {
        written_bytes: u64::try_from(written).unwrap_or(u64::MAX),
        wears: !matches!(ground, Ground::Model { .. }),
        is_shared: false,
        question: None,
        target: ground.info()?,
    })
}

/// A plan for each method, and the size of the device.
pub fn plans(
    ground: &Ground,
    configurations: &[Configuration],
    orders: &[Order],
) -> Result<(Vec<Plan>, u64)> {
    let bytes = ground.bytes()?;
    let place = ground.describe_short();
    for (fs, least) in SMALLEST {
        if bytes < least && configurations.iter().any(|one| one.fs() == fs) {
            bail!(
                "{fs} needs a device of {} or more, and {place} has {}: name a larger one, or leave {fs} out with --fs",
                display_bytes(least),
                display_bytes(bytes)
            );
        }
    }
    let percent = usable_percent(configurations);
    let usable = bytes / 100 * percent;
    let offers = |capacity_bytes: u64| -> Vec<Offer> {
        // What a real place cannot do is left out by its own plan.
        let memory_bytes = host::environment::memory_usable(&Roots::default()).unwrap_or(0);
        let offer = Offer { memory_bytes, ..Offer::everything(capacity_bytes) };
        configurations.iter().map(|one| offer_under(one, &offer)).collect()
    };
    let mut plans = Vec::new();
    for order in orders {
        let plan = |capacity| Plan::new(order.method.clone(), &order.options, &offers(capacity));
        let method = &order.method.file.name;
        plans.push(match (plan(usable), plan(u64::MAX / 2)) {
            (Err(_), Ok(roomy)) if roomy.span_bytes > usable => {
                let needed = roomy.span_bytes.div_ceil(percent).saturating_mul(100);
                bail!(
                    "{place} is too small for {method}: its area of {} needs a device of {}, and this one has {} \
                     ({percent} % of it for the area): name a larger one, or a smaller area with --size",
                    display_bytes(roomy.span_bytes),
                    display_bytes(needed.div_ceil(1 << 20) << 20),
                    display_bytes(bytes)
                )
            }
            (Err(error), _) => bail!("method {method} on {place}: {error}"),
            (Ok(plan), _) => plan,
        });
    }
    Ok((plans, bytes))
}
