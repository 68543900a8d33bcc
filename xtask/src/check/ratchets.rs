//! What there is too much of, counted: no count may rise, and one that fell stays down.
//!
//! ```text
//!   files of the repository -> Count of each kind, with its places -> against `xtask/ratchets.toml`
//! ```

use super::{
    circles,
    sources::{self, KEYWORD},
};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Columns of a line.
const COLUMNS_MAX: usize = 100;
/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// Lines of a file.
const FILE_LINES_MAX: usize = 600;
/// Places that are named when there are too many.
const SHOWN: usize = 10;
/// Pages that a program writes: how wide their tables are is the matter of what they tell.
const MADE: &[&str] = &["docs/results/five-documents.md", "docs/results/guest-scenarios.md"];
/// Rooms that turn words into orders, and so may name flags; and the tests' own, which calls
/// programs of the system.
const NAMES_FLAGS: &[&str] = &["crates/drivelab/", "crates/testkit/", "xtask/"];

/// What is counted, by its name in the file of limits.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Lines of Rust over the width, comments apart; a long text in quotes is most of them.
    WideCode,
    WideComments,
    /// Of Markdown, but for tables, whose rows cannot be broken.
    WideProse,
    WideTables,
    LongFunctions,
    LongFiles,
    /// `x/mod.rs`, where `x.rs` beside `x/` is the other style.
    ModFiles,
    /// Flags that library rooms name, which only the binary knows.
    FlagsInRooms,
    /// Groups of files in a room that use each other.
    Circles,
}

type Places = BTreeMap<Kind, Vec<String>>;

/// Counts, and compares with what is allowed.
pub fn check(root: &Path) -> Result<()> {
    println!(
        "line width, function and file length, module style, flags in rooms, circles: none more"
    );
    let limits = fs::read_to_string(root.join("xtask/ratchets.toml")).context("the limits")?;
    let limits: BTreeMap<Kind, usize> = toml::from_str(&limits).context("xtask/ratchets.toml")?;
    let wanted = |path: &Path| {
        path.extension().is_some_and(|extension| extension == "rs" || extension == "md")
    };
    let mut files = Vec::new();
    for directory in ["crates", "xtask", "fuzz/fuzz_targets", "docs", "studies"] {
        files.extend(sources::files_below(&root.join(directory), &wanted)?);
    }
    let beside = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "fuzz/README.md"];
    files.extend(beside.map(|name| root.join(name)));
    let mut places = Places::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).map_or(path.clone(), PathBuf::from);
        look(&path.to_string_lossy(), &text, &mut places);
    }
    places.insert(Kind::Circles, circles::find(root)?);
    let complaints = complaints(&limits, &places);
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

fn complaints(limits: &BTreeMap<Kind, usize>, places: &Places) -> Vec<String> {
    let none = Vec::new();
    let mut complaints = Vec::new();
    for kind in places.keys().filter(|kind| !limits.contains_key(kind)) {
        complaints.push(format!("xtask/ratchets.toml does not say how many {kind:?} there may be"));
    }
    for (kind, limit) in limits {
        let found = places.get(kind).unwrap_or(&none);
        if found.len() > *limit {
            let last = found.len().saturating_sub(SHOWN);
            complaints.push(format!("{kind:?}: {}, and {limit} are the most:", found.len()));
            complaints.extend(found[last..].iter().map(|place| format!("  {place}")));
        } else if found.len() < *limit {
            let text = "fell: write that into xtask/ratchets.toml, so that it stays";
            complaints
                .push(format!("{kind:?}: {limit} are allowed, and {} are: it {text}", found.len()));
        }
    }
    complaints
}

fn look(path: &str, text: &str, places: &mut Places) {
    let mut add = |kind, place: String| places.entry(kind).or_default().push(place);
    let is_rust = path.ends_with(".rs");
    let is_made = MADE.contains(&path);
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| is_wide(line)) {
        let start = line.trim_start();
        let kind = match is_rust {
            true if start.starts_with("//") => Kind::WideComments,
            true => Kind::WideCode,
            false if start.starts_with('|') && is_made => continue,
            false if start.starts_with('|') => Kind::WideTables,
            false => Kind::WideProse,
        };
        add(kind, format!("{path}:{number}"));
    }
    if !is_rust {
        return;
    }
    if text.lines().count() > FILE_LINES_MAX {
        add(Kind::LongFiles, format!("{path}: {} lines", text.lines().count()));
    }
    if path.ends_with("/mod.rs") && path.contains("/src/") {
        add(Kind::ModFiles, path.to_owned());
    }
    for (number, lines) in long_functions(text) {
        add(Kind::LongFunctions, format!("{path}:{number}: {lines} lines"));
    }
    let is_room = path.contains("/src/") && !NAMES_FLAGS.iter().any(|room| path.starts_with(room));
    if is_room {
        let code = sources::until_tests(text);
        for (line, number) in code.zip(1..).filter(|(line, _)| names_flag(line)) {
            add(Kind::FlagsInRooms, format!("{path}:{number}: {}", line.trim()));
        }
    }
}

fn is_wide(line: &str) -> bool {
    line.chars().count() > COLUMNS_MAX
}

/// First line and length of each function that is too long. The formatter sees to it that a
/// function ends where it began, column for column.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| opens_function(line)) {
        let end = " ".repeat(indent(line)) + "}";
        let length = lines[at..].iter().position(|line| *line == end).map(|lines| lines + 1);
        found.extend(length.filter(|length| *length > FUNCTION_LINES_MAX).map(|it| (at + 1, it)));
    }
    found
}

fn opens_function(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let before = |word: &&str| !["pub", "const", "async", "extern", "\"C\""].contains(word);
    let first = words.find(|word| before(word) && !word.starts_with("pub(") && *word != KEYWORD);
    first == Some("fn") && !line.trim_end().ends_with(';') && !line.trim_end().ends_with('}')
}

/// Whether a text in quotes names a flag, such as `--size`.
fn names_flag(line: &str) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") {
        return false;
    }
    code.split("--").skip(1).any(|after| {
        let word: String =
            after.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        word.len() > 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Kind> {
        let mut places = Places::new();
        look(path, text, &mut places);
        places.into_keys().collect()
    }

    #[test]
    fn each_offence_is_found_where_it_is_one() {
        let wide = "x".repeat(101);
        assert_eq!(found("crates/lab/src/x.rs", &wide), [Kind::WideCode]);
        assert_eq!(found("crates/lab/src/x.rs", &format!("    // {wide}")), [Kind::WideComments]);
        assert_eq!(found("notes/x.md", &wide), [Kind::WideProse]);
        assert_eq!(found("notes/x.md", &format!("| {wide} |")), [Kind::WideTables]);
        assert_eq!(found(MADE[1], &format!("| {wide} |")), []);
        assert_eq!(found(MADE[1], &wide), [Kind::WideProse]);
        assert_eq!(found("notes/x.md", &"ä".repeat(100)), []);
        assert_eq!(found("crates/lab/src/x.rs", &"\n".repeat(601)), [Kind::LongFiles]);
        assert_eq!(found("crates/lab/src/x/mod.rs", ""), [Kind::ModFiles]);
        assert_eq!(found("crates/lab/tests/common/mod.rs", ""), []);
        let flag = "    \"pass a smaller --size\",\n";
        assert_eq!(found("crates/lab/src/x.rs", flag), [Kind::FlagsInRooms]);
        assert_eq!(found("crates/drivelab/src/x.rs", flag), []);
        assert_eq!(found("crates/lab/src/x.rs", "// like --size\nlet a = b - -c;\n"), []);
        let tested = format!("mod tests {{\n{flag}}}\n");
        assert_eq!(found("crates/lab/src/x.rs", &tested), []);
    }

    #[test]
    fn a_function_is_long_from_its_first_line_to_its_brace() {
        let function = |lines| {
            format!("impl X {{\n    pub fn x() {{\n{}    }}\n}}\n", "        y();\n".repeat(lines))
        };
        assert_eq!(long_functions(&function(68)), []);
        assert_eq!(long_functions(&function(69)), [(2, 71)]);
        assert_eq!(long_functions("    fn declared();\n"), []);
    }

    #[test]
    fn a_count_may_neither_rise_nor_be_left_too_high() {
        let places = Places::from([(Kind::ModFiles, vec!["a".to_owned(), "b".to_owned()])]);
        let with = |limit| complaints(&BTreeMap::from([(Kind::ModFiles, limit)]), &places);
        assert_eq!(with(2), [""; 0]);
        assert!(with(1)[0].contains("ModFiles: 2, and 1 are the most"));
        assert!(with(3)[0].contains("it fell"));
        assert_eq!(complaints(&BTreeMap::new(), &places).len(), 1);
    }
}
