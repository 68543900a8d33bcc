//! Links of the Markdown pages, and every page of `docs/` that a text names, lead somewhere.

use super::sources::files_below;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Kinds of files in which pages are named.
const NAMING: [&str; 4] = ["rs", "md", "toml", "service"];

/// Reads the pages at the root and all below these.
pub fn check(root: &Path) -> Result<()> {
    println!("what links and texts name in docs/ is there");
    let is_naming = |path: &Path| {
        let kind = path.extension().unwrap_or_default().to_string_lossy();
        NAMING.contains(&kind.as_ref()) && !path.ends_with("xtask/src/check/links.rs")
    };
    let mut files: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)).into();
    for folder in ["crates", "xtask", "docs", "studies", "methods", "catalog", "examples"] {
        files.extend(files_below(&root.join(folder), &is_naming)?);
    }
    files.push(root.join("fuzz/README.md"));
    let mut complaints = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let path = path.strip_prefix(root).expect("it was found below the root");
        let is_there = |wanted: &Path| root.join(wanted).exists();
        complaints.extend(complaints_about(path, &text, &is_there));
    }
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

fn complaints_about(path: &Path, text: &str, is_there: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let is_page = path.extension().is_some_and(|kind| kind == "md");
    let mut complaints = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let links = if is_page { links(line) } else { Vec::new() };
        let from_here = links.into_iter().map(|link| resolved(path, link));
        let named = named(line).into_iter().map(PathBuf::from);
        for wanted in from_here.chain(named).filter(|wanted| !is_there(wanted)) {
            let (path, wanted) = (path.display(), wanted.display());
            complaints.push(format!("{path}:{number}: `{wanted}` is not there"));
        }
    }
    complaints
}

/// Paths that Markdown links on a line lead to, other sites and places on the same page left out.
fn links(line: &str) -> Vec<&str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = ends.map(|link| link.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains(':')).collect()
}

/// Pages of `docs/` that a line names in words.
fn named(line: &str) -> Vec<&str> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let starts = line.match_indices("docs/").filter(|&(at, _)| {
        let before = &line[..at];
        before.ends_with("../") || !before.ends_with(is_of_path)
    });
    let words = starts.map(|(at, _)| {
        let rest = &line[at..];
        let end = rest.find(|letter: char| !is_of_path(letter)).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    });
    words.filter(|word| word.ends_with(".md") || word.ends_with(".json")).collect()
}

/// A link of the page at `path` as a path from the root.
fn resolved(path: &Path, link: &str) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.parent().unwrap_or(Path::new("")).join(link).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => resolved.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages moved into folders, and texts went on naming the places where they had been.
    #[test]
    fn a_page_that_is_not_there_is_found_in_links_and_in_words() {
        let is_there = |path: &Path| path == Path::new("docs/reference/nbd.md");
        let about = |path: &str, text: &str| complaints_about(Path::new(path), text, &is_there);
        assert_eq!(about("docs/guide/README.md", "[here](../reference/nbd.md#flush)"), [""; 0]);
        assert_eq!(about("docs/guide/README.md", "[other](https://x.org/a.md)"), [""; 0]);
        assert_eq!(
            about("docs/guide/README.md", "a\n[here](nbd.md)"),
            ["docs/guide/README.md:2: `docs/guide/nbd.md` is not there"]
        );
        assert_eq!(about("crates/a/src/b.rs", "/// See docs/reference/nbd.md."), [""; 0]);
        assert_eq!(
            about("crates/a/src/b.rs", "\"as docs/nbd.md says\""),
            ["crates/a/src/b.rs:1: `docs/nbd.md` is not there"]
        );
        assert_eq!(
            about("crates/a/src/b.rs", "include_str!(\"../../../docs/x.json\")"),
            ["crates/a/src/b.rs:1: `docs/x.json` is not there"]
        );
    }
}
