//! What the source files themselves must keep to: where `unsafe` may stand, and how long they are.

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The only places where `unsafe` may stand, from the workspace's root.
const UNSAFE_ALLOWED: &[&str] =
    &["crates/engine/", "crates/host/", "crates/block/", "xtask/src/bench/"];
/// In two parts, or this file would accuse itself.
const KEYWORD: &str = concat!("un", "safe");
/// More than this is two stories in one file.
const LINES_MAX: usize = 1000;

/// Reads every Rust file of the rooms and of xtask.
pub fn check(root: &Path) -> Result<()> {
    println!("`unsafe` only in {UNSAFE_ALLOWED:?}; no file over {LINES_MAX} lines");
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let mut files = files_below(&root.join("crates"), &is_rust)?;
    files.extend(files_below(&root.join("xtask"), &is_rust)?);
    ensure!(files.len() > 20, "only {} Rust files found below {}", files.len(), root.display());
    let mut complaints = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).expect("it was found below the root");
        complaints.extend(complaints_about(&path.to_string_lossy(), &text));
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// Every file below `directory` that is `wanted`, but for hidden directories. Build products lie at the workspace's
/// root, where nobody looks.
fn files_below(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') {
            files.extend(files_below(&path, wanted)?);
        } else if path.is_file() && wanted(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn complaints_about(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        complaints.push(format!("{path}: {lines} lines, and {LINES_MAX} are the most: split it"));
    }
    if !UNSAFE_ALLOWED.iter().any(|place| path.starts_with(place)) {
        for (line, number) in text.lines().zip(1..) {
            if uses_unsafe(line) {
                complaints.push(format!("{path}:{number}: `unsafe` has no place here"));
            }
        }
    }
    complaints
}

/// Whether the keyword opens a block, function, trait, impl or extern on this line.
fn uses_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let mut words = code.split(|c: char| c.is_whitespace() || "({;,=>".contains(c));
    // A string or a comment that merely speaks of it has it in quotes.
    words.any(|word| word == KEYWORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A room is called `target`, and directories of that name were passed over as build products.
    #[test]
    fn every_room_is_looked_into() {
        let root = crate::check::root();
        let is_root = |path: &Path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        let files = files_below(&root.join("crates"), &is_root).expect("rooms");
        for room in fs::read_dir(root.join("crates")).expect("rooms").flatten() {
            assert!(files.iter().any(|file| file.starts_with(room.path())), "{:?}", room.path());
        }
    }

    #[test]
    fn the_keyword_is_found_in_code_and_not_in_words_about_it() {
        for line in ["    KEY { x() }", "KEY fn x()", "let a = KEY{ x() };", "x(KEY {y})"] {
            assert!(uses_unsafe(&line.replace("KEY", KEYWORD)), "{line}");
        }
        for line in ["#![forbid(KEY_code)]", "// KEY { x() }", "    \"`KEY` only\""] {
            assert!(!uses_unsafe(&line.replace("KEY", KEYWORD)), "{line}");
        }
    }

    #[test]
    fn a_file_is_judged_by_where_it_lies_and_how_long_it_is() {
        let code = format!("{KEYWORD} {{ x() }}\n");
        assert_eq!(complaints_about("crates/lab/src/x.rs", &code).len(), 1);
        assert!(complaints_about("crates/engine/src/x.rs", &code).is_empty());
        assert!(complaints_about("xtask/src/bench/hand.rs", &code).is_empty());
        assert_eq!(complaints_about("xtask/src/check.rs", &code).len(), 1);
        assert_eq!(complaints_about("crates/lab/src/x.rs", &"\n".repeat(1001)).len(), 1);
    }
}
