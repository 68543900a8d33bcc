//! A package for Fedora, SUSE and what comes of them, by rpmbuild, of files that are there already.

use super::{
    Ground, Part,
    deb::{ABOUT, SUMMARY},
    tools::{output, run, write},
    tree::Tree,
};
use anyhow::{Context, Result};
use std::{fs, path::PathBuf, process::Command};

/// Makes it.
pub fn pack(ground: &Ground, tree: &Tree) -> Result<PathBuf> {
    let room = ground.room("rpm")?;
    let top = room.join("top");
    tree.put(ground, &top, Part::Rpm)?;
    tree.put_licences(ground, &top.join("usr/share/licenses/drivelab"))?;
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&top))?;
    let specification = room.join("drivelab.spec");
    let top_text = top.to_str().context("the path of the repository is no text")?;
    write(&specification, &specification_of(ground, top_text)?)?;
    let set = |name: &str, value: &str| ["--define".to_owned(), format!("{name} {value}")];
    run(Command::new("rpmbuild")
        .args(["-bb", "--target", "x86_64"])
        .args(set("_topdir", &room.join("build").to_string_lossy()))
        // Names and times of this machine stay out of it.
        .args(set("_buildhost", "localhost"))
        .args(set("use_source_date_epoch_as_buildtime", "1"))
        .args(set("clamp_mtime_to_source_date_epoch", "1"))
        .args(set("source_date_epoch_from_changelog", "0"))
        // The program is stripped, and every rpm since 2009 reads this.
        .args(set("__os_install_post", "%{nil}"))
        .args(set("debug_package", "%{nil}"))
        .args(set("_build_id_links", "none"))
        .args(set("_binary_payload", "w9.xzdio"))
        .arg(&specification)
        .env("SOURCE_DATE_EPOCH", ground.epoch.to_string()))?;
    let name = format!("drivelab-{}-1.x86_64.rpm", ground.version);
    let made = room.join("build/RPMS/x86_64").join(&name);
    let package = ground.to.join(name);
    fs::copy(&made, &package).with_context(|| made.display().to_string())?;
    Ok(package)
}

fn specification_of(ground: &Ground, top: &str) -> Result<String> {
    let date = output(
        Command::new("date")
            .args(["--utc", "+%a %b %d %Y"])
            .arg(format!("--date=@{}", ground.epoch))
            .env("LC_ALL", "C"),
    )?;
    let (version, date) = (&ground.version, date.trim());
    Ok(format!(
        "Name: drivelab\n\
         Version: {version}\n\
         Release: 1\n\
         Summary: Storage laboratory: measures drives and models them\n\
         License: MIT OR Apache-2.0\n\
         # It has all that it needs in it.\n\
         AutoReqProv: no\n\n\
         %description\n{ABOUT}\n\n\
         %install\n\
         mkdir -p %{{buildroot}}\n\
         cp -a '{top}/.' %{{buildroot}}\n\
         find %{{buildroot}} -exec touch --no-dereference --date=@{epoch} {{}} +\n\n\
         %files\n\
         %defattr(-, root, root, -)\n\
         /usr/bin/drivelab\n\
         %doc /usr/share/doc/drivelab\n\
         %license /usr/share/licenses/drivelab\n\
         /usr/share/man/man1/drivelab*\n\
         /usr/share/bash-completion/completions/drivelab\n\
         /usr/share/fish/vendor_completions.d/drivelab.fish\n\
         /usr/share/zsh/site-functions/_drivelab\n\n\
         %changelog\n\
         * {date} The drivelab authors - {version}-1\n\
         - {SUMMARY}\n",
        epoch = ground.epoch
    ))
}
