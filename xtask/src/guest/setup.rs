//! A guest for other commands of `cargo xtask` than `guest`.

use super::{
    NEEDED, built, contents,
    contents::Errand,
    kernel::{Kernel, Package},
    lines_of, locked,
    machine::Parts,
    place, skipped,
};
use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// A kernel and a program; nobody else uses the rig meanwhile.
pub struct Setup {
    package: Package,
    program: PathBuf,
    _lock: File,
}

/// What is done in a guest.
pub struct Trial<'a> {
    /// For bash in the guest, with the names of its drives.
    pub script: &'a str,
    /// More files, by their paths in the guest.
    pub files: &'a [(&'a str, &'a [u8])],
    /// Its drives, by serial number and socket.
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
    fs::create_dir_all(place().join("run")).context("the rig's directory")?;
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

    /// The program, on this machine; its history is the rig's own.
    pub fn drivelab(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("XDG_DATA_HOME", self.place()).env("XDG_STATE_HOME", self.place());
        command
    }

    /// Runs a script in a guest of its own; all that it said, by line.
    ///
    /// # Errors
    /// It did not end well: with its last lines.
    pub fn command(&self, trial: &Trial<'_>) -> Result<Vec<String>> {
        const LAST: usize = 20;
        let archive = self.place().join("root");
        let Trial { script, files, ref served, limit } = *trial;
        let errand = Errand::Command { text: script, files, drives: served.len() };
        contents::write(&archive, &self.package, &self.program, &errand)?;
        let parts = Parts {
            served: served.clone(),
            kernel: &self.package,
            archive: &archive,
            directory: self.place().join("0"),
            processors: thread::available_parallelism().map_or(1, usize::from).min(2),
            ends: Instant::now() + limit,
        };
        let mut said = Vec::new();
        if let Err(error) = lines_of(&parts, limit, |line| said.push(line)) {
            bail!("{error:#}\n{}", said[said.len().saturating_sub(LAST)..].join("\n"));
        }
        Ok(said)
    }
}
