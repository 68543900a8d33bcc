//! What cannot be had, as sentences that name the option.

use anyhow::{Error, anyhow};
use matrix::{Axis, MatrixError, NoDevice, RefusalKind};

/// An axis as its option is spelled.
fn option(axis: Axis) -> String {
    format!("--{axis}")
}

/// An error of the matrix; where an option is at fault, with its name and the cure.
pub fn in_words(error: MatrixError) -> Error {
    let refusal = match error {
        MatrixError::Refused(refusal) => refusal,
        MatrixError::Axis(bad) => return anyhow!(bad.worded(option)),
        other => return other.into(),
    };
    let text = refusal.text;
    match refusal.kind {
        RefusalKind::Directory => anyhow!("--loop {text}"),
        RefusalKind::KernelsDirectory => anyhow!("--loop: {text}"),
        RefusalKind::FileBytes => anyhow!("--loop-size {text}"),
        RefusalKind::NoDevice(NoDevice::Directory(path)) => anyhow!(
            "{text}: `--loop {}` makes them on a loop device over a scratch file in it",
            path.display()
        ),
        RefusalKind::NoDevice(NoDevice::File) => anyhow!(
            "{text}: attach it with `losetup`, or measure on a scratch file of its own with \
             --loop DIR"
        ),
        RefusalKind::NoDevice(NoDevice::Nothing) => anyhow!("{text}, model:STACK, or --loop DIR"),
        RefusalKind::NoDevice(NoDevice::Other) => anyhow!(
            "{text}: name one, or model:STACK, or use --loop DIR for a scratch file in a directory"
        ),
        RefusalKind::NotRoot => anyhow!("{text}: run it as root (`sudo drivelab matrix ...`)"),
        RefusalKind::Level(axis) => anyhow!("{} {text}", option(axis)),
        RefusalKind::NoAxisOfFile(axis) => {
            anyhow!("{}: {text}; name a block device or model:STACK, or leave it out", option(axis))
        }
        RefusalKind::NoAxis(axis) => anyhow!("{text}; or leave {} out", option(axis)),
        RefusalKind::NoChecker => anyhow!("{text}; or leave the check out: --no-power-cut"),
        RefusalKind::SmallForFileSystem(fs) => {
            anyhow!("{text}: name a larger one, or leave {fs} out with --fs")
        }
        RefusalKind::SmallForArea => {
            anyhow!("{text}: name a larger one, or a smaller area with --size")
        }
        RefusalKind::Pivot => anyhow!("--pivot {text}"),
        RefusalKind::Method => anyhow!("--method {text}"),
        RefusalKind::NoPlan => anyhow!("{text}"),
        RefusalKind::Wears => {
            anyhow!("{text}: name fewer settings or --passes, or add --yes")
        }
    }
}
