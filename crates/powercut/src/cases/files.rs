//! Files as careful applications write them: beside their place, fsync, rename, fsync of the
//! directory. Every second one replaces an older file.

use super::{Contents, Failure, Setting, contents, promise};
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

/// Whether a file is flushed before it is renamed.
fn is_flushed(settings: &[Setting]) -> bool {
    !settings.iter().any(|(key, value)| key == "fsync" && value == "off")
}

/// A name that is written twice, so that half of the renames replace something.
fn name(id: u64) -> String {
    format!("file-{}", id / 2)
}

pub fn run(settings: &[Setting], at: &Path, said: &mut dyn Write) -> Result<(), Failure> {
    let directory = File::open(at)?;
    for id in 0.. {
        let beside = at.join("new");
        let mut file = File::create(&beside)?;
        file.write_all(contents(id).as_bytes())?;
        if is_flushed(settings) {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(&beside, at.join(name(id)))?;
        directory.sync_all()?;
        promise(said, id)?;
    }
    Ok(())
}

pub fn check(
    at: &Path,
    promised: &[u64],
    contents: &mut Contents,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    for &id in promised {
        let there = match fs::read(at.join(name(id))) {
            Ok(there) => there,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                writeln!(said, "lost {id}")?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut holds = |id: u64| there == contents.of(id).as_bytes();
        // The next one may have taken its place already, promised or not.
        let kept = holds(id) || id % 2 == 0 && holds(id + 1);
        let is_older = id % 2 == 1 && holds(id - 1);
        if !kept {
            writeln!(said, "{} {id}", if is_older { "lost" } else { "torn" })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(at: &Path, promised: &[u64]) -> String {
        let mut said = Vec::new();
        check(at, promised, &mut Contents::default(), &mut said).expect("it can be read");
        String::from_utf8(said).expect("text")
    }

    #[test]
    fn what_is_missing_older_or_something_else_is_told_apart() {
        let at = tempfile::tempdir().expect("room");
        let write = |name: &str, text: &str| fs::write(at.path().join(name), text).expect("room");
        write("file-0", &contents(1));
        write("file-1", &contents(2));
        write("file-2", "");
        write("file-3", &contents(7)[1..]);
        assert_eq!(checked(at.path(), &[0, 1, 2]), "");
        assert_eq!(checked(at.path(), &[3, 4, 7, 8]), "lost 3\ntorn 4\ntorn 7\nlost 8\n");
    }
}
