//! A package for Debian: control file, copyright, changelog, sums, by dpkg-deb.

use super::{
    Ground, Part,
    tools::{gzip, output, run, write},
    tree::Tree,
};
use crate::check::files_below;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What people read of it before they install it.
pub const SUMMARY: &str = "storage laboratory: measures drives and models them";
/// The same in more words.
pub const ABOUT: &str = "\
drivelab says what a drive, volume or array really does for a workload:
every number with its interval, every doubt as a flag with its cure. It
models drives that are not there, manages flash volumes, and decides
between drives by their data sheets and prices.";
/// Whom a package names.
pub const MAINTAINER: &str = "The drivelab authors";

/// Makes it.
pub fn pack(ground: &Ground, tree: &Tree) -> Result<PathBuf> {
    let top = ground.room("deb")?;
    tree.put(ground, &top, Part::Deb)?;
    let documents = top.join("usr/share/doc/drivelab");
    write(&documents.join("copyright"), &copyright(ground)?)?;
    let changes = documents.join("changelog");
    write(&changes, &changelog(ground)?)?;
    gzip(&changes)?;
    write(&top.join("usr/share/lintian/overrides/drivelab"), OVERRIDES)?;
    let (sums, bytes) = sums(&top)?;
    write(&top.join("DEBIAN/md5sums"), &sums)?;
    write(&top.join("DEBIAN/control"), &control(ground, bytes))?;
    // Whatever this user's mask was.
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&top))?;
    let package = ground.to.join(format!("drivelab_{}_amd64.deb", ground.version));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "--threads-max=1", "-Zxz", "--build"])
        .arg(&top)
        .arg(&package)
        .env("SOURCE_DATE_EPOCH", ground.epoch.to_string()))?;
    Ok(package)
}

/// A program that needs nothing installed is what this package is.
const OVERRIDES: &str = "\
# It has all that it needs in it, so that one package fits every release.
drivelab: statically-linked-binary
drivelab: embedded-library
";

fn control(ground: &Ground, bytes: u64) -> String {
    let about: String = ABOUT.lines().map(|line| format!(" {line}\n")).collect();
    format!(
        "Package: drivelab\n\
         Version: {}\n\
         Architecture: amd64\n\
         Maintainer: {MAINTAINER} <{}>\n\
         Installed-Size: {}\n\
         Section: utils\n\
         Priority: optional\n\
         Description: {SUMMARY}\n{about}",
        ground.version,
        address(),
        bytes.div_ceil(1024),
    )
}

/// Debian wants an address; a maintainer who has one says so as Debian's programs are told.
fn address() -> String {
    std::env::var("DEBEMAIL").unwrap_or_else(|_| "drivelab@example.org".to_owned())
}

fn copyright(ground: &Ground) -> Result<String> {
    let mit = fs::read_to_string(ground.root.join("LICENSE-MIT")).context("LICENSE-MIT")?;
    let holder = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let holder = holder.context("LICENSE-MIT names no holder")?;
    let (_, terms) = mit.split_once("\n\nPermission").context("LICENSE-MIT has no terms")?;
    let terms: String = format!("Permission{terms}")
        .lines()
        .map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: drivelab\n\n\
         Files: *\n\
         Copyright: {holder}\n\
         License: Apache-2.0 or Expat\n\n\
         License: Apache-2.0\n \
         On Debian systems its text is in /usr/share/common-licenses/Apache-2.0.\n\n\
         License: Expat\n{terms}"
    ))
}

/// What is new stands in the repository's; this says which version it is.
fn changelog(ground: &Ground) -> Result<String> {
    let date = output(
        Command::new("date")
            .args(["--utc", "--rfc-email"])
            .arg(format!("--date=@{}", ground.epoch)),
    )?;
    Ok(format!(
        "drivelab ({}) unstable; urgency=medium\n\n  * drivelab {}.\n\n -- {MAINTAINER} <{}>  {}\n",
        ground.version,
        ground.version,
        address(),
        date.trim()
    ))
}

/// Sums of all files, as `dpkg --verify` reads them, and their bytes.
fn sums(top: &Path) -> Result<(String, u64)> {
    let usr = files_below(&top.join("usr"), &|_| true)?;
    ensure!(usr.len() > 20, "only {} files in the package", usr.len());
    let (mut sums, mut bytes) = (String::new(), 0);
    for path in usr {
        let line = output(Command::new("md5sum").arg(&path))?;
        let sum = line.split_whitespace().next().unwrap_or_default();
        let inside = path.strip_prefix(top).expect("it was found there");
        sums += &format!("{sum}  {}\n", inside.display());
        bytes += fs::metadata(&path)?.len();
    }
    Ok((sums, bytes))
}
