//! What a target turns out to be able to do, tried before anything is planned: direct I/O and
//! io_uring on a real descriptor, holes and zeroed ranges on a file of one block made for it.

use super::{Place, open_error, refused};
use block::{Data, Geometry};
use engine::{
    Access as OpenAccess, Clock, OpenError, OpenErrorKind, Uring, UringOptions, UringUnavailable,
    raw, reopen,
};
use host::Scratch;
use lab::{
    target::TargetError,
    workload::{Caching, Syncing},
};
use record::TargetInfo;
use std::{fs::File, path::Path};

/// What direct I/O and io_uring say on a real descriptor.
pub(super) struct Probe {
    pub direct: Result<(), OpenError>,
    pub uring: Result<(), UringUnavailable>,
    /// Whether a file made here takes holes, and zeroes by command.
    pub trim: Result<(), String>,
    pub write_zeroes: Result<(), String>,
    pub alignment_bytes: Option<u32>,
}

impl Probe {
    pub fn of(place: &Place, path: &Path) -> Result<Self, TargetError> {
        // The scratch file of the probe must live until the end of it.
        let scratch = match place.directory() {
            Some(directory) => {
                host::remove_orphans(directory).map_err(refused)?;
                Some(Scratch::create(directory, 4096).map_err(refused)?)
            }
            None => None,
        };
        let held = scratch.as_ref().map(Scratch::file).or(place.file());
        let held = held.expect("a place has a directory or a file");
        let open = |caching| reopen(held, path, OpenAccess::Read, caching, Syncing::None);
        let (file, direct) = match open(Caching::Direct) {
            Ok(file) => (file, Ok(())),
            Err(error) if error.kind == OpenErrorKind::DirectRefused => {
                let file = open(Caching::Buffered).map_err(open_error)?;
                (file, Err(error))
            }
            Err(error) => return Err(open_error(error)),
        };
        let alignment = raw::direct_alignment(&file).ok().flatten();
        let alignment_bytes = alignment.map(|alignment| alignment.offset_bytes);
        // Only what was made for it is changed; the kernel zeroes blocks of any device.
        let made = scratch.as_ref().map(Scratch::file);
        let try_on = |change: fn(&File, u64, u64) -> std::io::Result<()>, cure: &str| {
            let outcome = made.map_or(Ok(()), |file| change(file, 0, 4096));
            outcome.map_err(|error| format!("{}: {error}: {cure}", path.display()))
        };
        let trim = try_on(raw::punch_hole, NO_HOLES);
        let write_zeroes = try_on(raw::zero_range, NO_ZERO_RANGE);
        Ok(Self { direct, uring: try_uring(file), trim, write_zeroes, alignment_bytes })
    }
}

/// Why a cell that trims is left out.
const NO_HOLES: &str = "this file system punches no holes into files, so that nothing can be \
                        trimmed; use a directory on ext4, XFS, btrfs or tmpfs";
/// Why a cell that zeroes is left out.
const NO_ZERO_RANGE: &str = "this file system zeroes no ranges of files by command; use a \
                             directory on ext4, XFS or btrfs, or op = `write` with data = `zeros`";

/// Whether a device takes discards.
pub(super) fn trimmable(info: &TargetInfo) -> Result<(), String> {
    let queue = info.stack.first().and_then(|layer| layer.queue.as_ref());
    match queue.and_then(|queue| queue.discard_bytes_max) {
        Some(0) => Err(format!(
            "{} takes no TRIM (discard_max_bytes is 0): use a drive that does; behind a USB bridge \
             or a RAID controller connect it directly",
            info.text
        )),
        _ => Ok(()),
    }
}

fn try_uring(file: File) -> Result<(), UringUnavailable> {
    let geometry = Geometry {
        capacity_bytes: 4096,
        block_bytes: 1,
        transfer_bytes_max: 4096,
        queue_depth: 2,
        data: Data::Stored,
    };
    // The calibrated clock costs a calibration; a ring that only proves itself needs none.
    let ring = Uring::new(Clock::start_monotonic(), file, geometry, UringOptions::default());
    ring.map(drop)
}
