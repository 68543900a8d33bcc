//! Programs of the system that change something: mkfs, mount, losetup, hdparm.

use crate::error::{ErrorKind, HostError};
use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

/// The programs live in sbin, which the path of a plain user lacks.
pub(crate) fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/local/sbin:/usr/sbin:/sbin");
    path
}

/// A command as it would be typed, and what carries it out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    words: Vec<String>,
}

impl Program {
    /// From the program's name and its arguments.
    ///
    /// # Panics
    /// Without a name.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        assert!(!words.is_empty(), "a program has a name");
        Self { words }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.words[0]
    }

    /// Whether it is installed.
    pub fn is_installed(&self) -> bool {
        self.file().is_some()
    }

    /// Where it is.
    fn file(&self) -> Option<PathBuf> {
        let path = search_path();
        let places = std::env::split_paths(&path).map(|directory| directory.join(self.name()));
        places.into_iter().find(|place| place.is_file())
    }

    /// Runs it to its end; its standard output.
    ///
    /// # Errors
    /// That it is not installed, or what it said on standard error.
    pub fn run(&self) -> Result<String, HostError> {
        // By its file, it starts without a copy of this process's memory map; by its name it would
        // be looked for in a changed path, which takes one.
        let mut command = Command::new(self.file().ok_or_else(|| self.absent())?);
        command.arg0(self.name());
        command.args(&self.words[1..]).env("PATH", search_path()).env("LC_ALL", "C");
        let output = command.stdin(Stdio::null()).output().map_err(|error| self.not_run(&error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // The reason comes first; mkfs shows how it is used after it, mount that dmesg may know
        // more.
        let said = said.lines().map(str::trim).find(|line| !line.is_empty());
        let said = said.map_or_else(|| output.status.to_string(), str::to_owned);
        Err(HostError::new(ErrorKind::Io, format!("`{self}` failed: {said}")))
    }

    /// Refuses it, with its package, where it is not installed.
    ///
    /// # Errors
    /// That.
    pub fn require(&self) -> Result<(), HostError> {
        if self.is_installed() { Ok(()) } else { Err(self.absent()) }
    }

    fn absent(&self) -> HostError {
        HostError::new(
            ErrorKind::NotFound,
            format!("there is no {} on this machine: install {}", self.name(), self.package()),
        )
    }

    fn not_run(&self, error: &io::Error) -> HostError {
        match error.kind() {
            io::ErrorKind::NotFound => self.absent(),
            _ => HostError::new(ErrorKind::Io, format!("cannot run `{self}`: {error}")),
        }
    }

    /// What brings the program, as most distributions name it.
    fn package(&self) -> &str {
        match self.name() {
            "mkfs.ext2" | "mkfs.ext3" | "mkfs.ext4" => "e2fsprogs",
            "mkfs.xfs" => "xfsprogs",
            "mkfs.btrfs" => "btrfs-progs",
            "mkfs.f2fs" => "f2fs-tools",
            "mount" | "umount" | "losetup" | "wipefs" | "blkdiscard" => "util-linux",
            "nbdfuse" => "libnbd-bin (or libnbd)",
            "nvme" => "nvme-cli",
            name => name,
        }
    }
}

impl std::fmt::Display for Program {
    /// As one would type it into a shell.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%".contains(c);
            if !word.is_empty() && word.chars().all(is_plain) {
                write!(formatter, "{space}{word}")?;
            } else {
                write!(formatter, "{space}'{}'", word.replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_written_as_a_shell_would_read_it() {
        let program =
            Program::new(["mount", "-o", "noatime,discard", "/dev/loop0", "/mnt/it's here"]);
        assert_eq!(program.to_string(), r"mount -o noatime,discard /dev/loop0 '/mnt/it'\''s here'");
    }

    #[test]
    fn what_a_program_says_first_is_the_error() {
        // mkfs.xfs on 250 MiB was reported as "<value> is xxx (512 byte blocks).", the end of its
        // usage.
        let usage = "echo; echo 'no such device' >&2; echo 'usage: <value> is xxx' >&2; exit 3";
        let error = Program::new(["sh", "-c", usage]).run().expect_err("it fails").to_string();
        assert!(error.ends_with("failed: no such device"), "{error}");
        assert_eq!(Program::new(["echo", "1"]).run().expect("it runs"), "1\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let absent = Program::new(["mkfs.absent-file-system"]);
        assert!(!absent.is_installed() && Program::new(["sh"]).is_installed());
        let error = absent.run().expect_err("it is absent");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("install mkfs.absent"), "{error}");
    }
}
