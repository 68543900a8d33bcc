//! A guest for other commands of `cargo xtask` than `guest`.

use super::{
    NEEDED, built, contents,
    contents::Errand,
    kernel::{Kernel, Package},
    locked,
    machine::{self, Machine, Parts},
    place, skipped,
};
use anyhow::{Context, Result, ensure};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// A kernel, a program and a directory, which goes with this; nobody else uses the rig meanwhile.
pub struct Setup {
    pub(super) package: Package,
    pub(super) program: PathBuf,
    _lock: File,
}

/// What is done in a guest.
pub struct Trial<'a> {
    /// For bash in the guest, with the names of its drives.
    pub script: &'a str,
    /// More files, by their paths in the guest.
    pub files: &'a [(&'a str, &'a [u8])],
    /// Its drives, by serial number and socket; those of scenarios where there are none.
    pub served: Vec<(&'a str, &'a Path)>,
    /// How long it may take.
    pub limit: Duration,
}

/// Gets everything that a guest needs; says why where that cannot be had.
pub fn setup(kernel: Kernel, program: Option<&Path>) -> Result<Option<Setup>> {
    let missing = NEEDED.iter().find(|(program, _)| contents::found(program).is_none());
    if let Some((program, package)) = missing {
        skipped(&format!("no {program}: install {package}"))?;
        return Ok(None);
    }
    let lock = locked()?;
    let package = match kernel.fetched() {
        Ok(package) => package,
        Err(error) => {
            skipped(&format!("no kernel {}: {error:#}", kernel.name()))?;
            return Ok(None);
        }
    };
    let program = match program {
        Some(program) => fs::canonicalize(program).context("--program")?,
        None => built()?,
    };
    let run = place().join("run");
    if run.exists() {
        fs::remove_dir_all(&run).with_context(|| run.display().to_string())?;
    }
    fs::create_dir(&run).with_context(|| run.display().to_string())?;
    Ok(Some(Setup { package, program, _lock: lock }))
}

impl Setup {
    /// The guest's Linux.
    pub fn version(&self) -> &str {
        &self.package.version
    }

    /// A directory for what is made on the way.
    pub fn place(&self) -> PathBuf {
        place().join("run")
    }

    /// The program, on this machine; its history is the rig's own, and it ends with this process.
    pub fn drivelab(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.program);
        command.env("XDG_DATA_HOME", self.place()).env("XDG_STATE_HOME", self.place());
        command
    }

    /// Runs a script in a guest of its own, and hands on each line that it says.
    ///
    /// # Errors
    /// It did not end well.
    pub fn command(&self, trial: &Trial<'_>, mut tell: impl FnMut(String)) -> Result<()> {
        let archive = self.place().join("root");
        let Trial { script, files, ref served, limit } = *trial;
        let drives = if served.is_empty() { machine::drives().count() } else { served.len() };
        let errand = Errand::Command { text: script, files, drives };
        contents::write(&archive, &self.package, &self.program, &errand)?;
        let parts = Parts {
            served: served.clone(),
            kernel: &self.package,
            archive: &archive,
            directory: self.place().join("0"),
            processors: thread::available_parallelism().map_or(1, usize::from).min(2),
            ends: Instant::now() + limit,
        };
        let mut machine = Machine::start(&parts, None)?;
        machine.allow(limit);
        let mut code = None;
        while let Some(line) = machine.line()? {
            match line.strip_prefix("@@ exit ") {
                Some(text) => code = text.trim().parse::<i32>().ok(),
                None => tell(line),
            }
        }
        ensure!(code == Some(0), "the command ended with {code:?}");
        Ok(())
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // What stays is made anew by the next.
        let _ = fs::remove_dir_all(self.place());
    }
}
