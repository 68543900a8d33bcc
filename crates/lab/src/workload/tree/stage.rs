//! What a row of cells has made of a tree, so that a cell that cannot be carried out is refused
//! before the first.

use super::{TreeOp, layout::Kind};

/// Which names there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stage {
    /// The files exist.
    pub files: bool,
    /// They have been renamed an odd number of times.
    pub renamed: bool,
    /// Each has a second name.
    pub linked: bool,
    /// The empty directories that `mkdir` makes exist.
    pub directories: bool,
}

impl Stage {
    /// What `op` makes of it.
    ///
    /// # Errors
    /// Why it cannot be done, with the cure.
    pub fn after(self, op: TreeOp) -> Result<Self, String> {
        let lacks = |what: &str, cure: &str| Err(format!("{} needs {what}: {cure}", op.name()));
        match op {
            // What was there is removed first.
            TreeOp::Create => Ok(Self { files: true, renamed: false, linked: false, ..self }),
            TreeOp::Mkdir if self.directories => {
                lacks("names that are free", "put an rmdir cell before it")
            }
            TreeOp::Mkdir => Ok(Self { directories: true, ..self }),
            TreeOp::Rmdir if !self.directories => {
                lacks("directories to remove", "put a mkdir cell before it")
            }
            TreeOp::Rmdir => Ok(Self { directories: false, ..self }),
            _ if !self.files => lacks("files", "put a create cell before it"),
            TreeOp::Link if self.linked => {
                lacks("names that are free", "put an unlink cell before it")
            }
            TreeOp::Link => Ok(Self { linked: true, ..self }),
            TreeOp::Rename => Ok(Self { renamed: !self.renamed, ..self }),
            TreeOp::Unlink if self.linked => Ok(Self { linked: false, ..self }),
            TreeOp::Unlink => Ok(Self { files: false, renamed: false, ..self }),
            TreeOp::WriteFile | TreeOp::ReadFile | TreeOp::Stat | TreeOp::Readdir => Ok(self),
        }
    }

    /// The name that `op` works on, and the one it gives.
    pub(super) fn kinds(self, op: TreeOp) -> (Kind, Option<Kind>) {
        let own = if self.renamed { Kind::Renamed } else { Kind::File };
        match op {
            TreeOp::Mkdir | TreeOp::Rmdir => (Kind::Directory, None),
            TreeOp::Rename if self.renamed => (own, Some(Kind::File)),
            TreeOp::Rename => (own, Some(Kind::Renamed)),
            TreeOp::Link => (own, Some(Kind::Link)),
            TreeOp::Unlink if self.linked => (Kind::Link, None),
            _ => (own, None),
        }
    }
}
