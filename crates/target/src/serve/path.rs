//! Files and block devices, as they are.

use super::{
    Hold, QUEUE_DEPTH, Served, ServedEngine, Sharing, TRANSFER_BYTES_MAX, Wishes, WriteCache,
};
use crate::{did_you_mean, volume::lock};
use block::{Data, Discarded, Engine, Geometry};
use engine::{
    Access, Caching, Clock, Create, OpenError, OpenErrorKind, Sync, Syncing, Uring, UringOptions,
    open_file, raw, reopen,
};
use host::{Cleared, DeviceNumber, Permit, Reason, Roots};
use lab::target::TargetError;
use record::TargetKind;
use std::{fs::File, io, os::unix::fs::MetadataExt, path::Path};

/// Logical blocks of any drive are multiples of this.
const SECTOR_BYTES: u32 = 512;

/// Opens a file or block device to be served.
pub fn serve(path: &Path, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    let shown = path.display();
    let info = host::target_info(path, &path.to_string_lossy(), &Roots::default());
    let info = info.map_err(|error| TargetError::refused(error.to_string()))?;
    match info.kind {
        TargetKind::File => serve_file(path, wishes, clock),
        TargetKind::BlockDevice => serve_device(path, wishes, clock),
        TargetKind::NewFile => Err(TargetError::refused(format!(
            "there is no {shown}.{} To serve a new file, make it with `truncate -s 10G {shown}`",
            did_you_mean(path)
        ))),
        _ => Err(TargetError::refused(format!(
            "{shown} is a directory, and what is served is a file or a block device: make a file in it with \
             `truncate -s 10G {}`",
            path.join("disk.img").display()
        ))),
    }
}

fn serve_file(path: &Path, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    let shown = path.display();
    let permit = match wishes.sharing {
        Sharing::ReadOnly => None,
        Sharing::ReadWrite => {
            let cleared = host::judge_file(path, &Roots::default()).map_err(refused)?;
            Some(agreed(cleared, path, wishes)?)
        }
    };
    let (file, caching) = match &permit {
        Some(permit) => open_held(permit)?,
        None => open(path, wishes.sharing)?,
    };
    lock(&file, path)?;
    let bytes = file.metadata().map_err(|error| io_error(path, &error))?.len();
    if bytes == 0 {
        return Err(TargetError::refused(format!(
            "{shown} is empty: give it a size with `truncate -s 10G {shown}`"
        )));
    }
    let block_bytes = block_bytes(&file, caching, bytes);
    // Behind the end there is nothing to lose: it only tells whether this file system can.
    let punches = raw::punch_hole(&file, bytes.next_multiple_of(4096), 4096).is_ok();
    let again = file.try_clone().map_err(|error| io_error(path, &error))?;
    let hold = match permit {
        Some(permit) => Hold::Permitted(permit, again),
        None => Hold::File(again),
    };
    let file = match caching {
        // A block that does not divide the file's size cannot be read past the page cache.
        Caching::Direct if block_bytes == 1 => {
            let access = access(wishes.sharing);
            reopen(&file, path, access, Caching::Buffered, Syncing::None).map_err(open_error)?
        }
        _ => file,
    };
    let engine = engine(file, bytes, block_bytes, clock).map_err(|error| io_error(path, &error))?;
    Ok(Served {
        engine: ServedEngine::Plain(wishes.cached(engine)),
        bytes,
        discarded: if punches { Discarded::ReadsZero } else { Discarded::Unknown },
        write_cache: WriteCache::Volatile,
        description: format!("the file {shown}"),
        hold,
    })
}

fn serve_device(path: &Path, wishes: &Wishes, clock: Clock) -> Result<Served, TargetError> {
    if wishes.sharing == Sharing::ReadOnly {
        let (file, caching) = open(path, wishes.sharing)?;
        lock(&file, path)?;
        let hold = Hold::File(file.try_clone().map_err(|error| io_error(path, &error))?);
        refuse_if_used(path, &file)?;
        return serve_open_device(path, (file, caching), hold, wishes, clock);
    }
    let cleared = host::judge_lending(path, &Roots::default()).map_err(refused)?;
    let permit = agreed(cleared, path, wishes)?;
    let (file, caching) = open_held(&permit)?;
    lock(&file, path)?;
    let lock = file.try_clone().map_err(|error| io_error(path, &error))?;
    serve_open_device(path, (file, caching), Hold::Permitted(permit, lock), wishes, clock)
}

/// Clients could change all of it.
fn agreed(cleared: Cleared, path: &Path, wishes: &Wishes) -> Result<Permit, TargetError> {
    let shown = path.display();
    cleared.confirm(&wishes.consent).map_err(|refusal| match &refusal.reason {
        Reason::NotConfirmed { expected, typed, .. } if typed.is_empty() => {
            TargetError::refused(format!(
                "{shown} exists, and clients could change all of it: agree with `--destroy \
                 {expected}`, or serve it with --read-only"
            ))
        }
        _ => refused(refusal),
    })
}

/// What changes while it is read shows nobody a state that ever was.
fn refuse_if_used(path: &Path, file: &File) -> Result<(), TargetError> {
    let facts = file.metadata().map_err(|error| io_error(path, &error))?;
    let number = DeviceNumber::from_raw(facts.rdev());
    match host::judge_claims(number, &Roots::default()) {
        // Neither keeps anybody from reading.
        Ok(()) | Err(Reason::ReadOnly | Reason::Zoned) => Ok(()),
        Err(reason) => Err(TargetError::refused(format!(
            "{}: {}, and what others change meanwhile cannot be served: take it out of use first",
            path.display(),
            reason.found()
        ))),
    }
}

fn serve_open_device(
    path: &Path,
    (file, caching): (File, Caching),
    hold: Hold,
    wishes: &Wishes,
    clock: Clock,
) -> Result<Served, TargetError> {
    let bytes = raw::device_bytes(&file).map_err(|error| io_error(path, &error))?;
    let logical = raw::logical_block_bytes(&file).unwrap_or(SECTOR_BYTES);
    let block_bytes = match caching {
        Caching::Direct => logical,
        Caching::Buffered => 1,
    };
    let engine = engine(file, bytes, block_bytes, clock).map_err(|error| io_error(path, &error))?;
    Ok(Served {
        engine: ServedEngine::Plain(wishes.cached(engine)),
        bytes,
        discarded: Discarded::Unknown,
        write_cache: WriteCache::Volatile,
        description: format!("the block device {}", path.display()),
        hold,
    })
}

/// Past the page cache where the file system allows it: what is measured over the network is then
/// the drive.
fn open(path: &Path, sharing: Sharing) -> Result<(File, Caching), TargetError> {
    let access = access(sharing);
    or_buffered(|caching| open_file(path, access, caching, Syncing::None, Create::Existing))
}

/// The very file or device that was agreed to.
fn open_held(permit: &Permit) -> Result<(File, Caching), TargetError> {
    let (held, path) = (permit.file(), permit.path());
    or_buffered(|caching| reopen(held, path, Access::ReadWrite, caching, Syncing::None))
}

fn or_buffered(
    open: impl Fn(Caching) -> Result<File, OpenError>,
) -> Result<(File, Caching), TargetError> {
    match open(Caching::Direct) {
        Ok(file) => Ok((file, Caching::Direct)),
        Err(error) if error.kind == OpenErrorKind::DirectRefused => {
            Ok((open(Caching::Buffered).map_err(open_error)?, Caching::Buffered))
        }
        Err(error) => Err(open_error(error)),
    }
}

fn access(sharing: Sharing) -> Access {
    match sharing {
        Sharing::ReadOnly => Access::Read,
        Sharing::ReadWrite => Access::ReadWrite,
    }
}

/// What transfers must be multiples of; 1 through the page cache, and where the file's size is no
/// such multiple.
fn block_bytes(file: &File, caching: Caching, bytes: u64) -> u32 {
    let alignment = raw::direct_alignment(file).ok().flatten();
    let aligned = alignment.map_or(SECTOR_BYTES, |alignment| alignment.offset_bytes);
    let whole = bytes.is_multiple_of(u64::from(aligned));
    if caching == Caching::Direct && whole { aligned } else { 1 }
}

/// io_uring; blocking calls where there is none.
fn engine(
    file: File,
    capacity_bytes: u64,
    block_bytes: u32,
    clock: Clock,
) -> io::Result<Box<dyn Engine>> {
    let geometry = |queue_depth| Geometry {
        capacity_bytes,
        block_bytes,
        transfer_bytes_max: TRANSFER_BYTES_MAX,
        queue_depth,
        data: Data::Stored,
    };
    let again = file.try_clone()?;
    Ok(match Uring::new(clock, file, geometry(QUEUE_DEPTH), UringOptions::pollable()) {
        Ok(engine) => Box::new(engine),
        Err(_) => Box::new(Sync::new(clock, again, geometry(1))),
    })
}

fn refused(refusal: host::Refusal) -> TargetError {
    TargetError::refused(format!("{refusal}, or serve it with --read-only"))
}

fn open_error(error: OpenError) -> TargetError {
    TargetError::refused(error.to_string())
}

fn io_error(path: &Path, error: &std::io::Error) -> TargetError {
    TargetError {
        kind: lab::target::TargetErrorKind::Io,
        message: format!("{}: {error}", path.display()),
    }
}
