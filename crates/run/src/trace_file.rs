//! A trace in a file, or in the files that blktrace writes, a processor each.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};
use trace::{Trace, TraceError, page};

/// Most files of one trace: a processor each.
const PARTS_MAX: usize = 8192;

/// A trace and which of its volumes is meant.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// A file, `-` for standard input, or what the names of blktrace's files begin with.
    pub file: PathBuf,
    /// Which volumes.
    pub volume: Volume,
    /// The trace itself, where it is in no file; `file` is its name then.
    pub made: Option<Arc<[u8]>>,
}

/// Which volumes of a trace are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Volume {
    /// The one that it has.
    Only,
    /// All together.
    All,
    /// This one.
    Named(String),
}

/// Why a trace is of no use.
#[derive(Debug, thiserror::Error)]
pub enum CannotTrace {
    /// The file.
    #[error("cannot open the trace {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    /// What is in it.
    #[error("{0}: {1}")]
    Trace(String, TraceError),
    /// It has several volumes, and none was chosen.
    #[error("{0} has {1}")]
    Several(String, String),
    /// It has not the volume that was chosen.
    #[error("{0} has {1}, and not {2}")]
    NoVolume(String, String, String),
    /// Nothing is in it that a drive was asked.
    #[error("{0} has no access to a drive: name another trace")]
    Nothing(String),
    /// It can be read once, and has to be read twice.
    #[error(
        "a trace is read before it is replayed, and standard input can be read once: name a file"
    )]
    Once,
}

impl TraceFile {
    /// Its name in sentences.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// The volume that was chosen.
    pub fn chosen(&self) -> Option<&str> {
        match &self.volume {
            Volume::Named(name) => Some(name),
            Volume::Only | Volume::All => None,
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// A file that cannot be opened, or is no trace.
    pub fn open(&self) -> Result<Trace, CannotTrace> {
        let parts = self.parts()?;
        let mut trace = trace::open_together(parts).map_err(|error| self.wrong(error))?;
        if let Some(volume) = self.chosen() {
            trace.choose(volume);
        }
        Ok(trace)
    }

    fn parts(&self) -> Result<Vec<Box<dyn Read + Send>>, CannotTrace> {
        if let Some(made) = &self.made {
            return Ok(vec![Box::new(io::Cursor::new(made.clone()))]);
        }
        if self.is_stdin() {
            return Ok(vec![Box::new(io::stdin())]);
        }
        let open = |path: &Path| -> Result<Box<dyn Read + Send>, CannotTrace> {
            let file = record::input::open(path);
            Ok(Box::new(file.map_err(|error| CannotTrace::Open(path.to_owned(), error))?))
        };
        if !self.is_in_parts() {
            return Ok(vec![open(&self.file)?]);
        }
        let parts = (0..PARTS_MAX).map(|number| self.part(number));
        parts.take_while(|path| path.exists()).map(|path| open(&path)).collect()
    }

    /// The file of one processor.
    fn part(&self, number: usize) -> PathBuf {
        let mut name = self.file.as_os_str().to_owned();
        name.push(format!(".blktrace.{number}"));
        PathBuf::from(name)
    }

    /// Whether it is what the names of blktrace's files begin with.
    fn is_in_parts(&self) -> bool {
        let is_file = self.made.is_none() && !self.is_stdin();
        is_file && !self.file.exists() && self.part(0).exists()
    }

    /// An error of the trace, with its file.
    pub fn wrong(&self, error: TraceError) -> CannotTrace {
        let name = match self.is_in_parts() {
            true => self.part(error.part).display().to_string(),
            false => self.name(),
        };
        CannotTrace::Trace(name, error)
    }

    /// Refuses a trace of several volumes of which none was chosen, and a volume that it has not;
    /// when all of it has been read.
    ///
    /// # Errors
    /// Which volumes there are.
    pub fn check(&self, trace: &Trace) -> Result<(), CannotTrace> {
        let volumes = trace.volumes().by_count();
        let known = || page::volumes(trace.volumes());
        match &self.volume {
            _ if volumes.is_empty() => Err(CannotTrace::Nothing(self.name())),
            Volume::Only if volumes.len() > 1 => Err(CannotTrace::Several(self.name(), known())),
            Volume::Named(volume) if !volumes.iter().any(|(name, _)| name == volume) => {
                Err(CannotTrace::NoVolume(self.name(), known(), volume.clone()))
            }
            _ => Ok(()),
        }
    }
}
