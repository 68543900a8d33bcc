//! What is installed, below a directory that stands for `/`: the program, and what it writes of
//! itself.

use super::{
    Ground, Part,
    tools::{gzip, output, run, write},
};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Where each shell of a distribution looks; Debian's zsh has a directory of its own for packages.
const BASH: &str = "usr/share/bash-completion/completions/drivelab";
const FISH: &str = "usr/share/fish/vendor_completions.d/drivelab.fish";
const ZSH: &str = "usr/share/zsh/site-functions/_drivelab";
const ZSH_DEBIAN: &str = "usr/share/zsh/vendor-completions/_drivelab";

/// The program, stripped, and its pages.
pub struct Tree {
    program: PathBuf,
}

impl Tree {
    /// Of a program, which must need nothing.
    pub fn new(ground: &Ground, program: &Path) -> Result<Self> {
        let place = ground.room("program")?.join("drivelab");
        fs::copy(program, &place).with_context(|| program.display().to_string())?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        run(Command::new("strip").arg("--strip-all").arg(&place))?;
        // What the loader would have to be found for says so in its headers.
        let headers = output(Command::new("readelf").arg("--program-headers").arg(&place))?;
        ensure!(
            !headers.contains("INTERP"),
            "{} needs a loader and libraries: build it with `-C target-feature=+crt-static`, or \
             leave --program out",
            program.display()
        );
        let said = output(Command::new(&place).arg("--version"))?;
        ensure!(
            said.trim() == format!("drivelab {}", ground.version),
            "{} says that it is `{}`, and this is drivelab {}",
            program.display(),
            said.trim(),
            ground.version
        );
        Ok(Self { program: place })
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Puts the program to `place`, below `top`.
    pub fn put_program(&self, top: &Path, place: &str) -> Result<()> {
        let path = top.join(place);
        fs::create_dir_all(path.parent().expect("it has a name"))?;
        fs::copy(&self.program, &path).with_context(|| path.display().to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Puts everything below `top`, as a package of this kind has it.
    pub fn put(&self, ground: &Ground, top: &Path, part: Part) -> Result<()> {
        self.put_program(top, "usr/bin/drivelab")?;
        let zsh = if part == Part::Deb { ZSH_DEBIAN } else { ZSH };
        for (shell, place) in [("bash", BASH), ("fish", FISH), ("zsh", zsh)] {
            let script = output(Command::new(&self.program).args(["completions", shell]))?;
            write(&top.join(place), &script)?;
        }
        let pages = top.join("usr/share/man/man1");
        fs::create_dir_all(&pages)?;
        run(Command::new(&self.program).arg("man").arg("--to").arg(&pages))?;
        for page in fs::read_dir(&pages)? {
            gzip(&page?.path())?;
        }
        let documents = top.join("usr/share/doc/drivelab");
        for unit in ["drivelab-serve@.service", "drivelab-ublk@.service"] {
            let text = fs::read_to_string(ground.root.join("examples").join(unit)).context(unit)?;
            // The archive is unpacked below /usr/local; a package is not.
            let text = match part {
                Part::Archive => text,
                _ => text.replace("/usr/local/bin/drivelab", "/usr/bin/drivelab"),
            };
            write(&documents.join("examples").join(unit), &text)?;
        }
        Ok(())
    }

    /// The licences, as they lie in the repository.
    pub fn put_licences(&self, ground: &Ground, directory: &Path) -> Result<()> {
        for name in LICENCES {
            let text = fs::read_to_string(ground.root.join(name)).context(name)?;
            write(&directory.join(name), &text)?;
        }
        Ok(())
    }
}

/// Files of the repository.
pub const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
