//! A trace that was named on the command line: its file or files opened, its volume chosen.

use anyhow::{Context, Error, Result, anyhow, bail};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};
use trace::{Trace, TraceError};

/// The word for all volumes together.
const ALL: &str = "all";
/// Most files of one trace: a processor each.
const PARTS_MAX: usize = 8192;

/// A trace and which of its volumes is meant.
pub struct Named<'a> {
    /// A file, `-`, or what blktrace's files begin with.
    pub file: &'a Path,
    /// As it was typed.
    pub volume: Option<&'a str>,
}

impl Named<'_> {
    /// The file's name in sentences.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// The volume that was named.
    pub fn chosen(&self) -> Option<&str> {
        self.volume.filter(|volume| *volume != ALL)
    }

    /// Opens it.
    pub fn open(&self) -> Result<Trace> {
        let mut trace = trace::open_together(self.parts()?).map_err(|error| self.wrong(error))?;
        if let Some(volume) = self.chosen() {
            trace.choose(volume);
        }
        Ok(trace)
    }

    fn parts(&self) -> Result<Vec<Box<dyn Read + Send>>> {
        if self.file == Path::new("-") {
            return Ok(vec![Box::new(io::stdin())]);
        }
        let open = |path: &Path| -> Result<Box<dyn Read + Send>> {
            let cannot = || format!("cannot open the trace {}", path.display());
            let file = File::open(path).with_context(cannot)?;
            if file.metadata().with_context(cannot)?.is_dir() {
                bail!("{} is a directory: name the trace in it", path.display());
            }
            Ok(Box::new(file))
        };
        let part = |number: usize| {
            let mut name = self.file.as_os_str().to_owned();
            name.push(format!(".blktrace.{number}"));
            PathBuf::from(name)
        };
        if self.file.exists() || !part(0).exists() {
            return Ok(vec![open(self.file)?]);
        }
        let parts = (0..PARTS_MAX).map(part).take_while(|path| path.exists());
        parts.map(|path| open(&path)).collect()
    }

    /// An error of the trace, with its file.
    pub fn wrong(&self, error: TraceError) -> Error {
        anyhow!("{}: {error}", self.name())
    }

    /// Refuses a trace of several volumes of which none was named, and a volume that it has not.
    pub fn check(&self, trace: &Trace) -> Result<()> {
        let volumes = trace.volumes().by_count();
        let known = || trace::page::volumes(trace.volumes());
        match self.volume {
            None if volumes.len() > 1 => bail!(
                "{} has {}: choose one with --volume NAME, or --volume all for all together",
                self.name(),
                known()
            ),
            Some(volume) if volume != ALL && !volumes.iter().any(|(name, _)| *name == volume) => {
                bail!("--volume {volume}: {} has {}", self.name(), known())
            }
            _ => Ok(()),
        }
    }
}
