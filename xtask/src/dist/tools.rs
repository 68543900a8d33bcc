//! Programs of the system that pack and unpack.

use super::Ground;
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Where Debian has each of them.
const PACKAGES: [(&str, &str); 5] = [
    ("dpkg-deb", "dpkg"),
    ("lintian", "lintian"),
    ("rpmbuild", "rpm"),
    ("rpm", "rpm"),
    ("strip", "binutils"),
];

/// Refuses where the program is not installed.
pub fn require(program: &str) -> Result<()> {
    started(Command::new(program).arg("--version")).map(drop)
}

/// Runs it; what it says is shown when it fails.
pub fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

/// Likewise, for what it prints.
pub fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let said = started(command)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !said.status.success() {
        bail!("{program} ended with {}:\n{}{}", said.status, text(&said.stdout), text(&said.stderr))
    }
    Ok(text(&said.stdout))
}

/// Likewise, however it ends.
pub fn started(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let package = PACKAGES.iter().find(|(name, _)| *name == program);
    let cure = package.map_or_else(String::new, |(_, it)| format!(": install the package {it}"));
    command.output().with_context(|| format!("{program} cannot be started{cure}"))
}

/// The sum of a file's bytes.
pub fn sha256(path: &Path) -> Result<String> {
    let line = output(Command::new("sha256sum").arg("--").arg(path))?;
    // A name with a backslash in it has one before the sum.
    let sum = line.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    ensure!(sum.len() == 64, "sha256sum said `{line}`");
    Ok(sum.to_owned())
}

/// Packs what is in a directory, in the order of names, as root's. Unpacking puts modes on
/// directories that are there: they are a system's, not those of the packer's umask.
pub fn tar(ground: &Ground, directory: &Path, archive: &Path) -> Result<()> {
    run(Command::new("tar")
        .args(["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg("--mode=u=rwX,go=rX")
        .arg(format!("--mtime=@{}", ground.epoch))
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(directory)
        .args(["--create", "."]))
}

/// Presses a file; it then ends in `.gz`.
pub fn gzip(path: &Path) -> Result<PathBuf> {
    run(Command::new("gzip").args(["--best", "--no-name", "--force", "--"]).arg(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    Ok(name.into())
}

/// Writes a text, and the directories above it.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let above = path.parent().expect("a file in a directory");
    fs::create_dir_all(above).with_context(|| above.display().to_string())?;
    fs::write(path, text).with_context(|| path.display().to_string())
}
