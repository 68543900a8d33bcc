//! Why there is no disk, and how serving one can end badly: sentences. Where the cure is an option,
//! the kind says which.

use block::{IoError, display_bytes};
use std::{io, io::ErrorKind, path::PathBuf};
use thiserror::Error;

/// Why there is no disk.
#[derive(Debug, Error)]
pub enum Refusal {
    /// /dev/ublk-control is not there.
    #[error(
        "there is no /dev/ublk-control: load the driver with `modprobe ublk_drv` (Linux 6.4 or \
         later, CONFIG_BLK_DEV_UBLK)"
    )]
    NoDriver,
    /// It may not be used.
    #[error("/dev/ublk-control: {0}: making disks takes root (CAP_SYS_ADMIN)")]
    NoRight(io::Error),
    /// The driver does not know what is asked of it.
    #[error("the ublk driver of this kernel is too old ({0}): Linux 6.4 or later")]
    TooOld(io::Error),
    /// io_uring, through which all is asked.
    #[error(
        "io_uring, which ublk is spoken through, is not to be had ({0}): allow it (the sysctl \
         kernel.io_uring_disabled, a container's seccomp filter)"
    )]
    NoRing(io::Error),
    /// A command failed.
    #[error("ublk device {id}: the kernel refuses to {what}: {source}")]
    Refused {
        /// The device's number.
        id: String,
        /// What the kernel was to do.
        what: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// The queue's device node cannot be opened.
    #[error("{}: {source}: it is made by devtmpfs or udev; see that one of them serves /dev here", path.display())]
    NoQueue {
        /// The node.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A block that is longer than a page.
    #[error("blocks of {}: a disk has 4 KiB at most", display_bytes((*bytes).into()))]
    LongBlocks {
        /// Its length.
        bytes: u32,
    },
    /// Transfers that are shorter than a page.
    #[error("transfers of {} at most: a disk takes 4 KiB", display_bytes((*bytes).into()))]
    ShortTransfers {
        /// The longest.
        bytes: u32,
    },
    /// Not one block.
    #[error(
        "{bytes} B are less than a disk's smallest block: make it larger, as with `truncate -s 1G`"
    )]
    Empty {
        /// All of it.
        bytes: u64,
    },
    /// The number is another device's.
    #[error("{}", taken(*id, *server, *is_ours))]
    Taken {
        /// The number.
        id: u32,
        /// Its living server.
        server: Option<u32>,
        /// Whether it was made by drivelab.
        is_ours: bool,
    },
    /// The target has a device of another number, whose server was killed.
    #[error("this target's disk is /dev/ublkb{id}, whose server was killed")]
    OtherNumber {
        /// That number.
        id: u32,
    },
    /// It waits for a server that goes on with it, and this one does not.
    #[error("/dev/ublkb{id} waits for its server, which was killed")]
    NotRestartable {
        /// Its number.
        id: u32,
    },
    /// The old server is not gone.
    #[error("/dev/ublkb{id} is still served{}: end that first", process(*server))]
    StillServed {
        /// Its number.
        id: u32,
        /// Its server.
        server: Option<u32>,
    },
    /// The waiting disk is another one than the target would be.
    #[error(
        "/dev/ublkb{id} waits for its server, but is not what this target is now: {difference}"
    )]
    Changed {
        /// Its number.
        id: u32,
        /// What is different, and how.
        difference: String,
    },
    /// A server was killed while it took the disk up again.
    #[error(
        "/dev/ublkb{id} cannot be taken up again ({source}): its server was killed before it was \
         ready"
    )]
    Stuck {
        /// Its number.
        id: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Nothing to remove.
    #[error("there is no ublk device {id}: `ls /dev/ublkc*` lists those that there are")]
    NoDevice {
        /// The number.
        id: u32,
    },
    /// Not to be removed under its server.
    #[error("/dev/ublkb{id} is served{}: end that, and its disk goes with it", process(*server))]
    Served {
        /// The number.
        id: u32,
        /// Its server.
        server: Option<u32>,
    },
}

impl Refusal {
    /// Why the driver cannot be asked at all.
    pub(crate) fn of_control(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::NoDriver,
            // A node without its driver.
            _ if matches!(error.raw_os_error(), Some(ENXIO | ENODEV)) => Self::NoDriver,
            ErrorKind::PermissionDenied => Self::NoRight(error),
            ErrorKind::InvalidInput => Self::TooOld(error),
            _ => Self::NoRing(error),
        }
    }

    /// Why a command failed.
    pub(crate) fn of_command(id: Option<u32>, what: &'static str, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(EPERM | EACCES) => Self::NoRight(source),
            Some(EOPNOTSUPP) => Self::TooOld(source),
            _ => {
                let id = id.map_or_else(|| "(new)".to_owned(), |id| id.to_string());
                Self::Refused { id, what, source }
            }
        }
    }
}

const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();
const EACCES: i32 = rustix::io::Errno::ACCESS.raw_os_error();
const EOPNOTSUPP: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();
const ENXIO: i32 = rustix::io::Errno::NXIO.raw_os_error();
const ENODEV: i32 = rustix::io::Errno::NODEV.raw_os_error();

fn process(server: Option<u32>) -> String {
    server.map_or_else(String::new, |server| format!(" by process {server}"))
}

fn taken(id: u32, server: Option<u32>, is_ours: bool) -> String {
    match (server, is_ours) {
        (Some(server), _) => {
            format!("/dev/ublkb{id} is served by process {server}")
        }
        (None, true) => format!("/dev/ublkb{id} was left by a killed server of another target"),
        (None, false) => format!("ublk device {id} was left by another program"),
    }
}

/// How serving ended badly.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no disk.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A flush or a forced write failed.
    #[error(
        "a flush or a forced write failed ({0:?}): writes since the last good flush may be lost, so \
         everything after it was refused; {cure}, then start the server anew", cure = cure(*.0)
    )]
    NotDurable(IoError),
    /// What the system still held of the disk could not be written to it.
    #[error("what the system still held of the disk could not be written: {0}")]
    Unwritten(io::Error),
    /// The system gave no more events.
    #[error("ublk: {0}")]
    System(#[from] io::Error),
}

/// What is to be done about a change that could not be made durable.
fn cure(error: IoError) -> &'static str {
    const ENOSPC: IoError = IoError::Os(28);
    match error {
        ENOSPC => "make room on the file system below",
        _ => "check the drive",
    }
}
