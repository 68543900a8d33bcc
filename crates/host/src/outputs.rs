//! Files that one command writes: all of them are checked before any of them is written, and none
//! takes the place of somebody else's.

use crate::{Destination, HostError, missing};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Whether a file that is there may go: of an older report its writer says so.
pub type IsOurs = dyn Fn(File) -> io::Result<bool>;

/// What becomes of a file that is somebody else's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// It stays, and nothing is written.
    Kept,
    /// It is overwritten.
    Overwritten,
}

/// Why something cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Several files are to stand in it.
    #[error(
        "{} is a file, but a report of several files needs a directory: name another",
        .0.display()
    )]
    NoDirectory(PathBuf),
    /// A file is to be it.
    #[error("{} is a directory: name a file in it", .0.display())]
    Directory(PathBuf),
    /// The directory that it is to stand in is not there.
    #[error(
        "the directory {at} does not exist: make it with `mkdir -p {at}`, or name another",
        at = .0.display()
    )]
    NoParent(PathBuf),
    /// Two files of one name.
    #[error("{} is named twice: name two files", .0.display())]
    NamedTwice(PathBuf),
    /// `-` twice.
    #[error("two reports cannot share stdout: name a file for one")]
    StdoutTwice,
    /// What is there is somebody else's.
    #[error("{} exists and is no report of drivelab's", .0.display())]
    Foreign(PathBuf),
    /// A directory where no files are.
    #[error(transparent)]
    Place(HostError),
    /// What is there cannot be replaced.
    #[error(transparent)]
    Destination(#[from] HostError),
    /// A system call failed.
    #[error("{what}")]
    Io {
        /// What could not be done.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// Everything that one command writes.
pub struct Outputs {
    foreign: Foreign,
    files: Vec<(PathBuf, Vec<u8>)>,
    stdout: Option<Vec<u8>>,
    directories: Vec<PathBuf>,
}

impl Outputs {
    /// Nothing yet.
    pub fn new(foreign: Foreign) -> Self {
        Self { foreign, files: Vec::new(), stdout: None, directories: Vec::new() }
    }

    /// A directory that is made when its parent exists.
    ///
    /// # Errors
    /// It cannot be one.
    pub fn directory(&mut self, path: &Path) -> Result<(), OutputError> {
        if path.is_dir() {
            return Ok(());
        }
        if path.exists() {
            return Err(OutputError::NoDirectory(path.to_owned()));
        }
        parent_exists(path)?;
        missing::refuse_in_kernels_place(path).map_err(OutputError::Place)?;
        self.directories.push(path.to_owned());
        Ok(())
    }

    /// A file, or stdout when the path is `-`.
    ///
    /// # Errors
    /// It cannot be written, or what is there may not go.
    pub fn add(
        &mut self,
        path: &Path,
        bytes: Vec<u8>,
        is_ours: &IsOurs,
    ) -> Result<(), OutputError> {
        if path == Path::new("-") {
            return match self.stdout.replace(bytes) {
                Some(_) => Err(OutputError::StdoutTwice),
                None => Ok(()),
            };
        }
        if self.files.iter().any(|(other, _)| other == path) {
            return Err(OutputError::NamedTwice(path.to_owned()));
        }
        let is_made = self.directories.iter().any(|made| path.starts_with(made));
        if !is_made {
            parent_exists(path)?;
        }
        if path.is_dir() {
            return Err(OutputError::Directory(path.to_owned()));
        }
        let replaces = !is_made && Destination::of(path)?.replaces();
        if replaces && self.foreign == Foreign::Kept {
            let ours = File::open(path).and_then(is_ours).map_err(|source| OutputError::Io {
                what: format!("cannot read {} to see what it is", path.display()),
                source,
            })?;
            if !ours {
                return Err(OutputError::Foreign(path.to_owned()));
            }
        }
        self.files.push((path.to_owned(), bytes));
        Ok(())
    }

    /// Makes the directories; what is to be written, stdout last, as `-`.
    ///
    /// # Errors
    /// The system's.
    pub fn ready(self) -> Result<Vec<(PathBuf, Vec<u8>)>, OutputError> {
        for directory in &self.directories {
            fs::create_dir(directory).map_err(|source| OutputError::Io {
                what: format!("cannot make the directory {}", directory.display()),
                source,
            })?;
        }
        let stdout = self.stdout.map(|bytes| (PathBuf::from("-"), bytes));
        Ok(self.files.into_iter().chain(stdout).collect())
    }
}

fn parent_exists(path: &Path) -> Result<(), OutputError> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !parent.is_dir() => Err(OutputError::NoParent(parent.to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn is_ours(mut file: File) -> io::Result<bool> {
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text == "ours")
    }

    #[test]
    fn only_what_is_ours_is_replaced_unless_that_is_agreed_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report.csv");
        let add = |foreign| Outputs::new(foreign).add(&path, b"new".to_vec(), &is_ours);
        add(Foreign::Kept).expect("nothing is there");
        fs::write(&path, "ours").expect("a file");
        add(Foreign::Kept).expect("a file of ours");
        fs::write(&path, "my thesis").expect("a file");
        let refused = add(Foreign::Kept).expect_err("refused");
        assert!(matches!(refused, OutputError::Foreign(_)), "{refused}");
        add(Foreign::Overwritten).expect("agreed to");
        assert_eq!(fs::read(&path).expect("a file"), b"my thesis", "nothing is written yet");
    }

    #[test]
    fn everything_is_checked_before_anything_is_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let mut outputs = Outputs::new(Foreign::Kept);
        let mut add = |path: &Path| outputs.add(path, Vec::new(), &is_ours);
        add(&at("a.csv")).expect("fine");
        assert!(matches!(add(&at("no/b.csv")), Err(OutputError::NoParent(_))));
        assert!(matches!(add(directory.path()), Err(OutputError::Directory(_))));
        assert!(matches!(add(&at("a.csv")), Err(OutputError::NamedTwice(_))));
        add(Path::new("-")).expect("fine");
        assert!(matches!(add(Path::new("-")), Err(OutputError::StdoutTwice)));
        outputs.directory(&at("drawings")).expect("fine");
        outputs.add(&at("drawings/a.svg"), Vec::new(), &is_ours).expect("in what will be made");
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
        let files = outputs.ready().expect("room");
        let paths: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
        assert_eq!(paths, [&at("a.csv"), &at("drawings/a.svg"), Path::new("-")]);
        assert!(at("drawings").is_dir());
    }
}
