//! Each flag in a line of a page: how grave it is, what it means, and the cure, in a few words. The
//! sentences are the flag's own.

use crate::terminal::style::Paint;
use Severity::{Circumstance, Doubt, Wrong};
use record::Flag;

/// How much a flag takes from a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Severity {
    /// It says under what conditions the number holds.
    Circumstance,
    /// The number may be another one next time, or the drive may do more.
    Doubt,
    /// The number is not the drive's, or a promise of the drive's is not kept.
    Wrong,
}

impl Severity {
    /// What it looks like.
    pub fn paint(self) -> Paint {
        match self {
            Self::Circumstance => Paint::Faint,
            Self::Doubt => Paint::Alert,
            Self::Wrong => Paint::Wrong,
        }
    }
}

/// What a line says of a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub severity: Severity,
    pub means: &'static str,
    pub cure: &'static str,
}

/// The line of a flag; one that is not in the table is a doubt, in the flag's own words.
pub(super) fn of(flag: Flag) -> Line {
    known(flag).unwrap_or_else(|| Line {
        severity: Severity::Doubt,
        means: flag.meaning().split([':', ';', '.']).next().unwrap_or_default(),
        cure: flag.cure(),
    })
}

fn known(flag: Flag) -> Option<Line> {
    let &(_, severity, means, cure) = LINES.iter().find(|line| line.0 == flag)?;
    Some(Line { severity, means, cure })
}

/// A test asks that every flag is here.
const LINES: &[(Flag, Severity, &str, &str)] = &[
    (Flag::NotConverged, Doubt, "not precise or steady enough", "more --max-time, --max-written"),
    (Flag::Insufficient, Doubt, "too few operations to say", "raise --max-time or --size"),
    (Flag::Drifting, Doubt, "the rate was still changing", "raise --max-time, or precondition"),
    (Flag::LeftSteadyState, Doubt, "the rate changed for good", "run longer: which one lasts?"),
    (Flag::WarmUp, Doubt, "it began at another rate, which is not counted", "see --explain"),
    (Flag::CpuLimited, Doubt, "the CPU was the limit", "more threads or larger blocks"),
    (Flag::EngineLimited, Doubt, "the engine's cost shows", "compare with `run null:`"),
    (Flag::LinkLimited, Circumstance, "as fast as the link", "check slot, cable, port"),
    (Flag::LinkDegraded, Doubt, "drive and slot can do more", "reseat it; another slot or cable"),
    (Flag::CutTransfers, Doubt, "blocks went in pieces", "ask in huge pages: io=direct,hugepages"),
    (Flag::CacheServed, Wrong, "read from memory, not from the drive", "use --io direct"),
    (Flag::FitsInMemory, Wrong, "all of it fits into memory", "more --size, or --io direct"),
    (Flag::NotDurable, Doubt, "a power cut would lose some of it", "--set flush=timed"),
    (Flag::ForeignIo, Doubt, "other programs used the drive meanwhile", "stop them, run again"),
    (Flag::Steal, Doubt, "the hypervisor took CPU time", "run on a quieter host"),
    (
        Flag::VirtualDisk,
        Circumstance,
        "the hypervisor's and neighbours' numbers too",
        "run on the host",
    ),
    (Flag::CompressibleData, Circumstance, "the data compress", "use --data random"),
    (Flag::CompressingTarget, Doubt, "it stores what compresses faster", "--data random"),
    (Flag::MemoryBacked, Wrong, "this is memory, not a drive", "name a directory on a drive"),
    (Flag::NetworkBacked, Circumstance, "over a network", "read it as network and server"),
    (Flag::FuseBacked, Circumstance, "through a user-space file system", "name one underneath"),
    (Flag::OverlayBacked, Circumstance, "on a layered file system", "name a directory underneath"),
    (Flag::CopyOnWrite, Circumstance, "the file system's numbers, not the drive's", "read them so"),
    (Flag::Encrypted, Circumstance, "the drive and a cipher", "read it as both together"),
    (Flag::PathFloor, Doubt, "the path to the drive takes its share", "run on the drive itself"),
    (Flag::LoopDevice, Circumstance, "a file of another file system", "run on its drive"),
    (Flag::SparseFile, Wrong, "holes are read from no drive", "`cp --sparse=never` it"),
    (Flag::UnwrittenExtents, Wrong, "never written: read from no drive", "write the file once"),
    (Flag::DeallocatedBlocks, Wrong, "zeros, read from no drive", "write the drive once"),
    (Flag::VolatileCache, Circumstance, "a power cut loses plain writes", "read the durable ones"),
    (Flag::LyingFlush, Wrong, "flushes are too fast to be true", "trust it with no commits"),
    (Flag::Burst, Doubt, "a fast cache took the writes", "--method saturation: what lasts"),
    (Flag::BurstCredit, Doubt, "a quota was the limit", "run longer than a credit lasts"),
    (Flag::ThermalThrottling, Doubt, "it slowed as it warmed up", "cool it, run again"),
    (Flag::IoErrors, Wrong, "requests failed; this is of the others", "see `dmesg`"),
    (Flag::Stalled, Wrong, "no answer for too long: a mean over both", "`dmesg`, --explain"),
    (Flag::Resync, Wrong, "the array was at work for itself", "wait, see /proc/mdstat"),
    (Flag::Degraded, Wrong, "the array lacks a member", "replace it, let it rebuild"),
    (Flag::Allocating, Doubt, "blocks were allocated on the way", "write it all once before"),
    (Flag::DriveErrors, Wrong, "the drive counts new errors, or warns", "save what is on it"),
    (Flag::DepthNotReached, Doubt, "less deep than asked", "more threads, --engine uring"),
    (Flag::Misaligned, Doubt, "starts inside a physical block", "repartition at 1 MiB"),
    (Flag::RotationalMismatch, Circumstance, "seeks are not what the system says", "trust them"),
    (Flag::CoordinatedOmission, Wrong, "stalls hid later requests", "quote the open loop's"),
    (Flag::RateNotReached, Doubt, "the asked rate was not kept", "lower the rate"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{WIDTH_MIN, style::columns_of};

    /// A line that was cut lost its cure.
    #[test]
    fn every_flag_has_a_line_of_its_own_that_fits_80_columns() {
        for &flag in Flag::ALL {
            let line = known(flag).unwrap_or_else(|| panic!("no line for {flag}: write one"));
            let text = super::super::line_of(flag, "all", line.cure);
            assert!(columns_of(&text) <= 80, "{} columns: {text}", columns_of(&text));
            assert!(text.len() > WIDTH_MIN && !line.cure.ends_with('.'), "{text}");
        }
    }
}
