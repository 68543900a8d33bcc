//! What the source files themselves must keep to: where `unsafe` may stand, how long they are, and
//! what panics where nobody reads.

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The only places where `unsafe` may stand, from the workspace's root.
const UNSAFE_ALLOWED: &[&str] = &["crates/engine/", "crates/block/", "xtask/src/bench/"];
/// In two parts, or this file would accuse itself.
pub const KEYWORD: &str = concat!("un", "safe");
/// What panics in a user's hands, and what does not. In two parts, as above.
const PANICS: [(&str, &str); 6] = [
    (concat!("eprint", "ln!("), "`output::talk!`, which nobody needs to read"),
    (concat!("eprint", "!("), "`output::draw!`, which nobody needs to read"),
    (concat!("print", "ln!("), "`output::print`, which tells that nobody reads"),
    (concat!("print", "!("), "`output::print`, which tells that nobody reads"),
    (concat!("db", "g!("), "nothing: it is left over"),
    (concat!("env::", "args()"), "`env::args_os()`: paths are OsStr"),
];
/// More than this is two stories in one file.
const LINES_MAX: usize = 1000;

/// Reads every Rust file of the rooms and of xtask.
pub fn check(root: &Path) -> Result<()> {
    println!(
        "`unsafe` only in {UNSAFE_ALLOWED:?}; no file over {LINES_MAX} lines; nothing in the rooms \
         that panics where nobody reads"
    );
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let mut files = files_below(&root.join("crates"), &is_rust)?;
    files.extend(files_below(&root.join("xtask"), &is_rust)?);
    ensure!(files.len() > 20, "only {} Rust files found below {}", files.len(), root.display());
    let (mut complaints, mut texts) = (Vec::new(), Vec::new());
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).expect("it was found below the root").to_owned();
        complaints.extend(complaints_about(&path.to_string_lossy(), &text));
        texts.push((path, text));
    }
    let tests = texts.iter().flat_map(|(path, text)| test_modules(path, text));
    let tests: Vec<PathBuf> = tests.collect();
    for (path, text) in &texts {
        // What tests share says why it skips where the tests' runner shows it.
        let in_rooms = path.starts_with("crates")
            && path.iter().nth(2) == Some("src".as_ref())
            && !path.starts_with("crates/testkit");
        if in_rooms && !tests.iter().any(|module| path.with_extension("").starts_with(module)) {
            complaints.extend(panics(&path.to_string_lossy(), text));
        }
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// Every file below `directory` that is `wanted`, but for hidden directories and those that links
/// lead to, which are read where they are. Build products lie at the workspace's root, where nobody
/// looks.
pub fn files_below(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if path.is_symlink() || name.starts_with('.') {
                continue;
            }
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

/// Modules that stand in files of their own and are compiled for tests alone.
pub fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let own = path.with_extension("");
    let names_its_directory = ["lib", "main", "mod"].iter().any(|name| own.ends_with(name));
    let below = if names_its_directory { own.with_file_name("") } else { own };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let modules = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let name = |pair: &[&str]| {
        let name = pair[1].rsplit_once("mod ")?.1.strip_suffix(';')?;
        Some(below.join(name))
    };
    modules.filter_map(name).collect()
}

/// A file's lines up to its tests.
pub fn until_tests(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| !line.ends_with("mod tests {"))
}

/// What of a room's file, up to its tests, panics in a user's hands.
fn panics(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (line, number) in until_tests(text).zip(1..) {
        let code = line.split("//").next().unwrap_or_default();
        let found = PANICS.iter().find(|(word, _)| code.contains(word));
        complaints.extend(found.map(|(word, instead)| {
            format!("{path}:{number}: `{word}` panics where nobody reads it: write {instead}")
        }));
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

    /// `run . 2>&1 | head -1` panicked in one of 39 such lines.
    #[test]
    fn what_panics_in_a_users_hands_is_found_outside_tests() {
        for (word, _) in PANICS {
            let line = format!("    {word}\"x\");\n");
            assert_eq!(panics("x.rs", &line).len(), 1, "{word}");
            let tested = format!("fn x() {{}}\n\n#[cfg(test)]\nmod tests {{\n{line}}}\n");
            assert!(panics("x.rs", &tested).is_empty());
            assert!(panics("x.rs", &format!("// {word}\n")).is_empty());
        }
        let text = "mod a;\n#[cfg(test)]\nmod crash;\n\n#[cfg(test)]\npub(crate) mod rig;\n";
        let modules = |path: &str| test_modules(Path::new(path), text);
        let paths = |names: [&str; 2]| names.map(PathBuf::from).to_vec();
        assert_eq!(modules("src/lib.rs"), paths(["src/crash", "src/rig"]));
        assert_eq!(modules("src/ublk.rs"), paths(["src/ublk/crash", "src/ublk/rig"]));
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
