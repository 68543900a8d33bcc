//! IOzone's automatic mode on a modelled file system: one test at one file size and record size.
//!
//! As there, every file is written anew, written again, then read, one record after the other; it
//! is flushed between the tests, outside their time, and never leaves the page cache on purpose.
//! So what a test costs is memory's time until the dirty limit, or the end of memory, makes it the
//! drive's.

use crate::{
    Op,
    pass::{TrialError, cell_of, pass},
};
use lab::workload::{Length, Pace};
use model::fs::{Memory, Through};
use target::stack::Opened;

/// A test of IOzone's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SurfaceTest {
    /// Into a new file.
    Write,
    /// Over it.
    Rewrite,
    /// After that.
    Read,
    /// Over it, through a stream with a buffer of one record.
    Fwrite,
    /// After that, through such a stream.
    Fread,
}

impl SurfaceTest {
    /// From the operation of a cell, `iozone-fread`.
    pub(crate) fn named(op: &str) -> Option<Self> {
        Some(match op {
            "iozone-write" => Self::Write,
            "iozone-rewrite" => Self::Rewrite,
            "iozone-read" => Self::Read,
            "iozone-fwrite" => Self::Fwrite,
            "iozone-fread" => Self::Fread,
            _ => return None,
        })
    }

    /// Which way the bytes go.
    pub fn op(self) -> Op {
        match self {
            Self::Read | Self::Fread => Op::Read,
            Self::Write | Self::Rewrite | Self::Fwrite => Op::Write,
        }
    }

    /// In the method `iozone`.
    fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Rewrite => "re-write",
            Self::Read => "read",
            Self::Fwrite => "fwrite",
            Self::Fread => "fread",
        }
    }

    fn through(self) -> Through {
        match self {
            Self::Write | Self::Rewrite | Self::Read => Through::Call,
            Self::Fwrite | Self::Fread => Through::Stream,
        }
    }
}

/// Does a test on a file system that is opened anew; bytes a second.
pub(crate) fn run(
    opened: &mut Opened,
    test: SurfaceTest,
    record: u32,
    file_bytes: u64,
) -> Result<f64, TrialError> {
    /// Records of the passes whose time does not count.
    const UNTIMED: u32 = 1 << 20;
    let files = opened.file_system().expect("the study's stacks have a file system");
    files.set_memory(Memory::AMD_X2, test.through());
    if test != SurfaceTest::Write {
        once_over(opened, SurfaceTest::Write, UNTIMED, file_bytes)?;
    }
    let pace = once_over(opened, test, record, file_bytes)?;
    Ok(file_bytes as f64 / pace.seconds)
}

/// The cell of the method `iozone` that is this test: once over the file in records, after a flush
/// or into a new file.
fn once_over(
    opened: &mut Opened,
    test: SurfaceTest,
    record: u32,
    file_bytes: u64,
) -> Result<Pace, TrialError> {
    let record = u64::from(record).min(file_bytes);
    let settings = [("file", file_bytes), ("block", record)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_string()));
    let cell = cell_of("iozone", &settings, |cell| cell.coordinates["test"] == test.name());
    pass(opened, &cell, Length::of(file_bytes / record))
}
