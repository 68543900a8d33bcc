//! Whether a matrix has room where it is to take place, and what it writes there, before anything
//! is touched.

use crate::{
    axes::{Configuration, fill_percent},
    cut,
    device::TestDevice,
    error::{MatrixError, Refusal, RefusalKind},
    order::{Caller, MatrixOrder, PowerCuts},
    wear,
};
use block::display_bytes;
use host::Roots;
use lab::{plan::Plan, target::Offer};
use record::TargetInfo;
use std::path::Path;

/// What a file system's mkfs asks for at least, bytes: mkfs.xfs(8) since 5.19, and what mkfs.btrfs
/// says of a device of 108 MiB.
const SMALLEST: [(&str, u64); 2] = [("xfs", 300 << 20), ("btrfs", 114_294_784)];
/// Of a file system's size, what a tested area may take: the rest is for its own books.
const USABLE_PERCENT: u64 = 85;
/// Bytes of an ext file system for each inode, as mke2fs.conf(5) has it by default; others make
/// inodes as they need them.
const BYTES_PER_INODE: u64 = 16 << 10;

/// What a matrix would write, known before it is begun.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// At most, bytes: fills and all rounds.
    pub written_bytes: u64,
    /// Whether there is anything that writing could wear.
    pub wears: bool,
    /// What is known of the drive.
    pub target: Option<TargetInfo>,
}

/// Plans every method for the place, and does nothing.
///
/// # Errors
/// A place that is too small for a file system or a method, with the size that is needed.
pub fn foresee(order: &MatrixOrder) -> Result<Foreseen, MatrixError> {
    let device = &TestDevice::choose(&order.choice, &order.axes)?;
    let configurations = order.axes.configurations();
    let (plans, bytes) = plans(order, device, &configurations)?;
    wear::check(order, device, &configurations, &plans, bytes)?;
    let written = wear::all_bytes(order.rounds, &configurations, &plans, bytes);
    Ok(Foreseen {
        written_bytes: u64::try_from(written).unwrap_or(u64::MAX),
        wears: !matches!(device, TestDevice::Model { .. }),
        target: device.info()?,
    })
}

/// Refuses, before anything is touched, what cannot be had, for want of a program, of room or of a
/// kernel's module.
///
/// # Errors
/// What is missing, with the cure.
pub fn check(order: &MatrixOrder, caller: &Caller, device: &TestDevice) -> Result<(), MatrixError> {
    caller.check_place()?;
    let configurations = order.axes.configurations();
    device.check(&configurations)?;
    plans(order, device, &configurations)?;
    if order.cuts != PowerCuts::All || !matches!(device, TestDevice::Model { .. }) {
        return Ok(());
    }
    for program in configurations.iter().filter_map(|one| cut::checker(one, Path::new(""))) {
        program
            .require()
            .map_err(|error| Refusal::new(RefusalKind::NoChecker, error.to_string()))?;
    }
    Ok(())
}

/// A plan for each method, and the size of the device.
fn plans(
    order: &MatrixOrder,
    device: &TestDevice,
    configurations: &[Configuration],
) -> Result<(Vec<Plan>, u64), MatrixError> {
    let bytes = device.bytes()?;
    let place = device.describe_short();
    let has = display_bytes(bytes);
    for (fs, least) in SMALLEST {
        if bytes < least && configurations.iter().any(|one| one.fs() == fs) {
            let least = display_bytes(least);
            let text = format!("{fs} needs a device of {least} or more, and {place} has {has}");
            return Err(Refusal::new(RefusalKind::SmallForFileSystem(fs), text).into());
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
    for order in &order.methods {
        let plan = |capacity| Plan::new(order.method.clone(), &order.options, &offers(capacity));
        let method = &order.method.file.name;
        plans.push(match (plan(usable), plan(u64::MAX / 2)) {
            (Err(_), Ok(roomy)) if roomy.span_bytes > usable => {
                let needed = roomy.span_bytes.div_ceil(percent).saturating_mul(100);
                let text = format!(
                    "{place} is too small for {method}: its area of {} needs a device of {}, and \
                     this one has {has} ({percent} % of it for the area)",
                    display_bytes(roomy.span_bytes),
                    display_bytes(needed.div_ceil(1 << 20) << 20),
                );
                return Err(Refusal::new(RefusalKind::SmallForArea, text).into());
            }
            (Err(error), _) => {
                let text = format!("method {method} on {place}: {error}");
                return Err(Refusal::new(RefusalKind::NoPlan, text).into());
            }
            (Ok(plan), _) => plan,
        });
    }
    Ok((plans, bytes))
}

/// What a configuration offers on a device with this offer: a file system has files.
pub(crate) fn offer_under(configuration: &Configuration, device: &Offer) -> Offer {
    let files_max = match configuration.is_raw() {
        true => device.files_max.clone(),
        false => Ok(device.capacity_bytes / BYTES_PER_INODE),
    };
    Offer { files_max, ..device.clone() }
}

/// What of the device the tested area may take. Where there are old files, they are at least half
/// of what there is.
pub(crate) fn usable_percent(configurations: &[Configuration]) -> u64 {
    let filled = configurations.iter().map(fill_percent).filter(|percent| *percent > 0).min();
    filled.map_or(USABLE_PERCENT, |least| USABLE_PERCENT.min(u64::from(least) / 2))
}
