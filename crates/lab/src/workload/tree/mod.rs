//! File trees: operations on whole files and directories instead of blocks of one file.
//!
//! ```text
//!   TreeCell (op, order, layout)  ->  TreeWorker (one a thread)  -- Act -->  Tree
//!     TreeLayout: path and size of file i       ^ bytes or an error -----------'
//!     TreeOrder: in which order                 `-> Recorder: histogram and ticks -> runner
//! ```
//!
//! A tree's files are numbered from 0; number, layout and seed give path and size. A worker owns a
//! range of numbers, whatever the order it visits them in. docs/reference/tree-workloads.md has the
//! whole design.

mod layout;
mod shared;
mod stage;
mod worker;

pub use layout::{FileSize, Naming, TREE_FILES_MAX, TreeLayout};
pub use shared::{SharedTree, SharedTreeWorker, TreeEnd};
pub use stage::Stage;
pub use worker::{TreeBudget, TreeWorker, TreeWorkerPlan};

use block::{Instant, IoError};
use std::fmt;

/// What one operation does to a tree. A latency covers all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeOp {
    /// Make a new file, write all its bytes, close it.
    Create,
    /// Open a file, write all its bytes over the old ones, close it.
    WriteFile,
    /// Open a file, read all of it, close it.
    ReadFile,
    /// Ask for a file's attributes by its name.
    Stat,
    /// List a directory to its end.
    Readdir,
    /// Give a file another name in its directory.
    Rename,
    /// Give a file a second name in its directory.
    Link,
    /// Remove a name of a file: the second one where there is one.
    Unlink,
    /// Make an empty directory.
    Mkdir,
    /// Remove it.
    Rmdir,
}

impl TreeOp {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Create,
        Self::WriteFile,
        Self::ReadFile,
        Self::Stat,
        Self::Readdir,
        Self::Rename,
        Self::Link,
        Self::Unlink,
        Self::Mkdir,
        Self::Rmdir,
    ];

    /// The word in method files, records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::WriteFile => "write_file",
            Self::ReadFile => "read_file",
            Self::Stat => "stat",
            Self::Readdir => "readdir",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Unlink => "unlink",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
        }
    }

    /// Reads [`TreeOp::name`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == text)
    }

    /// Whether the tree or its files are not what they were.
    pub fn writes(self) -> bool {
        !matches!(self, Self::ReadFile | Self::Stat | Self::Readdir)
    }

    /// Whether it moves the bytes of files, not names and attributes alone.
    pub fn moves_bytes(self) -> bool {
        matches!(self, Self::Create | Self::WriteFile | Self::ReadFile)
    }

    /// Whether it can be done again and again to the same file: only then may time end a cell.
    pub fn repeats(self) -> bool {
        matches!(self, Self::WriteFile | Self::ReadFile | Self::Stat | Self::Readdir)
    }
}

/// In which order the files are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TreeOrder {
    /// By number: the order they are created in.
    #[default]
    Creation,
    /// As the file system lists them.
    Readdir,
    /// Shuffled by the seed.
    Random,
}

impl TreeOrder {
    /// Every word that [`TreeOrder::parse`] knows.
    pub const NAMES: &[&str] = &["creation", "readdir", "random"];

    /// The word in method files and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Readdir => "readdir",
            Self::Random => "random",
        }
    }

    /// Reads [`TreeOrder::name`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Creation, Self::Readdir, Self::Random].into_iter().find(|order| order.name() == text)
    }
}

/// What is made durable before an operation counts as done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TreeSync {
    /// Nothing: the page cache has it.
    #[default]
    None,
    /// The file, with fsync(2).
    File,
    /// The directory that holds the name, with fsync(2).
    Directory,
    /// The file, then its directory.
    Both,
}

impl TreeSync {
    /// Every word that [`TreeSync::parse`] knows.
    pub const NAMES: &[&str] = &["none", "file", "directory", "both"];

    /// Reads the names above.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "none" => Self::None,
            "file" => Self::File,
            "directory" => Self::Directory,
            "both" => Self::Both,
            _ => return None,
        })
    }

    /// Whether the file itself is made durable.
    pub fn file(self) -> bool {
        matches!(self, Self::File | Self::Both)
    }

    /// Whether its directory is.
    pub fn directory(self) -> bool {
        matches!(self, Self::Directory | Self::Both)
    }
}

impl fmt::Display for TreeSync {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "none",
            Self::File => "file",
            Self::Directory => "directory",
            Self::Both => "both",
        })
    }
}

/// What a cell does to a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeCell {
    /// The operation.
    pub op: TreeOp,
    /// In which order the files have their turn.
    pub order: TreeOrder,
    /// What is durable when an operation is done.
    pub sync: TreeSync,
    /// The tree.
    pub layout: TreeLayout,
    /// What the cells before have made of it.
    pub stage: Stage,
    /// Whether the tree is removed and its directories made anew before, outside the timing.
    pub tree: TreeState,
}

/// What a cell needs of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeState {
    /// As the cell before left it.
    AsIs,
    /// Without files: its own directories alone.
    New,
}

impl TreeCell {
    /// Operations that visit everything once.
    pub fn operations(&self) -> u64 {
        match self.op {
            TreeOp::Readdir => u64::from(self.layout.directories),
            _ => self.layout.files,
        }
    }

    /// Bytes of files that are written when everything is visited once, with this seed.
    pub fn written_bytes(&self, seed: u64) -> u64 {
        match self.op {
            TreeOp::Create | TreeOp::WriteFile => self.layout.bytes(seed),
            _ => 0,
        }
    }
}

/// One operation, ready to be carried out. Paths are relative to the tree's root, without a leading
/// slash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Act<'a> {
    /// What to do.
    pub op: TreeOp,
    /// To what: a file, or a directory; empty for the root.
    pub path: &'a str,
    /// The new name of `rename` and `link`; else empty.
    pub to: &'a str,
    /// The directory that holds the name; empty for the root.
    pub parent: &'a str,
    /// Number of the file, which its contents begin with.
    pub number: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// What must be durable in the end.
    pub sync: TreeSync,
}

/// A directory of our own in which files are made and removed: what the laboratory asks of a file
/// system.
pub trait Tree {
    /// The time now.
    fn now(&mut self) -> Instant;

    /// Carries an operation out; says how many bytes of the file it moved.
    ///
    /// # Errors
    /// The system's.
    fn carry_out(&mut self, act: &Act<'_>) -> Result<u64, IoError>;

    /// Calls `each` with every name in a directory, in the file system's order, without `.` and
    /// `..`.
    ///
    /// # Errors
    /// The system's.
    fn list(&mut self, directory: &str, each: &mut dyn FnMut(&str)) -> Result<(), IoError>;

    /// Makes everything durable; gives the time when it was.
    ///
    /// # Errors
    /// The system's.
    fn flush(&mut self) -> Result<Instant, IoError>;
}
