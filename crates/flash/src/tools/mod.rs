//! What is done to a volume that nobody is using: looked at, checked, rescued, resized. Functions
//! over any
//! [`Engine`], with several reads in flight; all but `resize` never write to the volume's drive.
//!
//! ```text
//!   status   superblock, root, map, what would be rolled forward        status.rs
//!   check    the same, and every block that is alive                    check/
//!   rescue   every block of the drive, whatever is left of the rest     rescue/
//!   resize   another size for the volume, or for its drive              resize.rs
//! ```

mod bits;
mod check;
mod rescue;
mod resize;
mod scan;
mod status;

pub use check::{CheckReport, Finding, Severity, Verdict, check};
pub use rescue::{Basis, Destination, Plan, RescueReport, Survey, survey};
pub use resize::{Beyond, DeviceUse, NewSize, Resized, Room, resize};
pub use status::{SegmentCounts, Status, status};

use crate::{
    layout::Refusal,
    volume::{Look, OpenError, Opening},
};
use block::{Data, Drive, Effects, Engine, Instant, IoError, counted, one_or};
use std::{fmt, ops::ControlFlow};

/// How far a tool has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What it is doing, in words that fit "flash check: ...".
    pub doing: &'static str,
    /// Of it, in the unit of `total`.
    pub done: u64,
    /// 0 where it is not known beforehand.
    pub total: u64,
}

/// Is told how far a tool has come, and says whether it goes on. After [`ControlFlow::Break`] the
/// tool waits for what it has in flight and returns [`ToolError::Stopped`].
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Why a tool came to no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolError {
    /// The volume cannot be opened.
    Open(OpenError),
    /// On the whole drive nothing of a volume, or nothing of the one that was named, was found.
    NothingLeft,
    /// Of a resize: a size that cannot be.
    Refused(Refusal),
    /// Of a resize: there are data beyond the new end.
    InUseBeyond {
        /// So many blocks.
        blocks: u64,
        /// The smallest size that keeps them.
        least_bytes: u64,
    },
    /// Of a resize: the volume would be larger than what its drive can hold.
    Overcommits {
        /// What that is.
        bytes_max: u64,
    },
    /// Of a resize: so much must stay free that what the volume holds has no room.
    TooFull {
        /// What it holds.
        mapped_blocks: u64,
        /// What it could.
        blocks_max: u64,
    },
    /// Of a resize: the volume does not make sense to its own recovery.
    Doubtful,
    /// [`Watch`] said so.
    Stopped,
    /// The drive, or what is written to, failed.
    Io(IoError),
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(formatter),
            Self::NothingLeft => formatter.write_str(
                "nothing of such a volume was found on the whole drive: name the drive or file that it was \
                 created on",
            ),
            Self::Refused(refusal) => refusal.fmt(formatter),
            Self::InUseBeyond { blocks, least_bytes } => write!(
                formatter,
                "{} beyond the new end {} data: take {least_bytes} B or more, or say that what is there \
                 may be discarded",
                counted(*blocks, "block"),
                one_or(blocks, "holds", "hold")
            ),
            Self::Overcommits { bytes_max } => write!(
                formatter,
                "the drive can hold {} of the volume's data, as the rest must stay free for \
                 cleaning: choose that size or less",
                block::display_bytes(*bytes_max)
            ),
            Self::TooFull { mapped_blocks, blocks_max } => write!(
                formatter,
                "the volume holds {} of 4 KiB and could hold {blocks_max} then, as the rest \
                 must stay free for cleaning: discard something first, or choose a smaller size",
                counted(*mapped_blocks, "block")
            ),
            Self::Doubtful => formatter.write_str(
                "the volume is damaged, and so is left as it is: see `drivelab flash check`, and copy it with \
                 `drivelab flash rescue`",
            ),
            Self::Stopped => formatter.write_str("stopped before the end"),
            Self::Io(error) => OpenError::Io(*error).fmt(formatter),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<OpenError> for ToolError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => Self::Io(error),
            error => Self::Open(error),
        }
    }
}

/// What opening would find. Writes nothing.
pub(crate) fn look(engine: &mut dyn Engine, watch: &mut Watch) -> Result<Look, ToolError> {
    let below = engine.geometry(Drive(0));
    assert_eq!(below.data, Data::Stored, "nothing can be read from a drive that only times");
    let mut opening = Opening::look(below);
    let (mut effects, mut done) = (Effects::default(), Vec::new());
    let (mut outstanding, mut read, mut stopped) = (0, 0, false);
    opening.start();
    opening.drain_into(&mut effects);
    loop {
        for request in effects.down.drain(..) {
            engine.submit(request);
            outstanding += 1;
        }
        if outstanding == 0 {
            break;
        }
        engine.wait(Instant::NEVER, &mut done);
        outstanding -= done.len();
        read += done.len() as u64;
        done.drain(..).for_each(|completion| opening.on_completion(completion));
        let progress = Progress { doing: "reading the map", done: read, total: 0 };
        stopped = stopped || watch(progress).is_break();
        if !stopped {
            opening.drain_into(&mut effects);
        }
    }
    if stopped { Err(ToolError::Stopped) } else { Ok(opening.into_look()?) }
}
