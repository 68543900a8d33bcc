//! Files of a room that use each other in a circle, so that none can be read first. A parent and
//! its child may use each other: together they are one module.
//!
//! ```text
//!   crates/ROOM/src/**.rs -> paths that begin with crate, super or self
//!     -> which file uses which -> groups in which each reaches each
//! ```

use super::sources;
use anyhow::{Context, Result, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A module of a room: the names that lead to it.
type Module = Vec<String>;
/// Which modules each one uses.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Every circle of every room, as `crates/host: directory, scratch use each other`.
pub fn find(root: &Path) -> Result<Vec<String>> {
    let (mut found, mut files) = (Vec::new(), 0);
    let rooms = fs::read_dir(root.join("crates")).context("crates")?;
    let mut rooms = rooms.map(|room| Ok(room?.path())).collect::<Result<Vec<_>>>()?;
    rooms.sort();
    for room in rooms.iter().filter(|room| room.join("src").is_dir()) {
        let texts = texts(&room.join("src"))?;
        files += texts.len();
        let name = room.strip_prefix(root).unwrap_or(room).display();
        found.extend(circles(&uses(&texts)).iter().map(|circle| {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            format!("{name}: {} use each other", names.join(", "))
        }));
    }
    ensure!(files > 100, "only {files} modules found below {}", root.display());
    Ok(found)
}

/// The modules below `source` with their texts, but for those of tests.
fn texts(source: &Path) -> Result<BTreeMap<Module, String>> {
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let (mut texts, mut tests) = (BTreeMap::new(), Vec::new());
    for path in sources::files_below(source, &is_rust)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        tests.extend(sources::test_modules(&path, &text).iter().map(|path| module(source, path)));
        texts.insert(module(source, &path.with_extension("")), text);
    }
    texts.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    Ok(texts)
}

/// The module of a file without its extension: `x` and `x/mod` are one.
fn module(source: &Path, file: &Path) -> Module {
    let below = file.strip_prefix(source).unwrap_or(file);
    let mut names: Module = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let names_its_directory = match &names[..] {
        [only] => only == "lib" || only == "main",
        [.., last] => last == "mod",
        [] => false,
    };
    if names_its_directory {
        names.pop();
    }
    names
}

fn uses(texts: &BTreeMap<Module, String>) -> Uses {
    let of = |(module, text): (&Module, &String)| {
        let code = code(text);
        let used = paths(&code).into_iter().filter_map(|path| lead(&path, module, texts));
        let is_kin = |used: &Module| used.starts_with(module) || module.starts_with(used);
        (module.clone(), used.filter(|used| !is_kin(used)).collect())
    };
    texts.iter().map(of).collect()
}

/// A file's lines up to its tests, without comments.
fn code(text: &str) -> String {
    let lines = sources::until_tests(text);
    lines.map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// Every path that begins with `crate`, `super` or `self`, those in braces one by one.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let begins = matches!(name, "crate" | "super" | "self") && before != ':';
        if begins && rest[name.len()..].starts_with("::") {
            rest = tree(rest, &mut Vec::new(), &mut found);
            before = ' ';
            continue;
        }
        let step = name.len().max(first.len_utf8());
        before = rest[..step].chars().next_back().unwrap_or(' ');
        rest = &rest[step..];
    }
    found
}

/// Reads one path or tree of paths after `above`; what is left.
fn tree<'t>(text: &'t str, above: &mut Vec<&'t str>, found: &mut Vec<Vec<&'t str>>) -> &'t str {
    let depth = above.len();
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        above.push(name);
        let Some(after) = after.strip_prefix("::") else {
            found.push(above.clone());
            rest = after;
            break;
        };
        rest = after;
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                rest = tree(rest, above, found);
                // `as` and the other name, up to the next path.
                let next = rest.find([',', '}']).unwrap_or(rest.len());
                rest = rest[next..].trim_start_matches(',').trim_start();
            }
            rest = rest.strip_prefix('}').unwrap_or(rest);
            break;
        }
    }
    above.truncate(depth);
    rest
}

/// The module that a path in `module` leads to: the last of its names that is one.
fn lead(path: &[&str], module: &Module, texts: &BTreeMap<Module, String>) -> Option<Module> {
    let mut names = path.iter().peekable();
    let mut at = match **names.peek()? {
        "crate" => Module::new(),
        _ => module.clone(),
    };
    while let Some(name) = names.next_if(|name| matches!(**name, "crate" | "super" | "self")) {
        if *name == "super" {
            at.pop();
        }
    }
    for name in names {
        at.push((*name).to_owned());
        if !texts.contains_key(&at) {
            at.pop();
            break;
        }
    }
    texts.contains_key(&at).then_some(at)
}

/// Groups of more than one module in which each reaches each.
fn circles(uses: &Uses) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reached_from(module, uses))).collect();
    let mut circles = BTreeSet::new();
    for (module, reached) in &reach {
        if reached.contains(module) {
            let back = reached.iter().filter(|other| reach[**other].contains(module));
            circles.insert(back.map(|other| (*other).clone()).collect::<Vec<Module>>());
        }
    }
    circles.into_iter().collect()
}

fn reached_from<'u>(module: &Module, uses: &'u Uses) -> BTreeSet<&'u Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = uses[module].iter().collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(&uses[next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(name, text): &(&str, &str)| {
            (module(Path::new(""), Path::new(name)), (*text).to_owned())
        };
        let circles = circles(&uses(&files.iter().map(file).collect()));
        let name = |circle: &Vec<Module>| {
            circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" ")
        };
        circles.iter().map(name).collect()
    }

    /// Of 15 circles 6 were left once, and later there were 19: nothing counted them.
    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let both = [("a", "use crate::b::B;"), ("b", "fn b() { crate::a::a() }"), ("c", "")];
        assert_eq!(room(&both), ["a b"]);
        let three = [
            ("x/a", "use super::b;"),
            ("x/b", "use crate::{z, x::{c::{D, E as F}, f}};"),
            ("x/c", "pub use super::super::x::a::A;"),
            ("x/mod", ""),
        ];
        assert_eq!(room(&three), ["x::a x::b x::c"]);
    }

    #[test]
    fn what_goes_one_way_is_none_and_neither_are_parent_and_child_comments_and_tests() {
        assert!(room(&[("a", "use crate::b::B;"), ("b", "use crate::c;"), ("c", "")]).is_empty());
        assert!(room(&[("a", "use self::b::B;"), ("a/b", "use super::A;")]).is_empty());
        let comment = [("a", "// crate::b::B\n"), ("b", "use crate::a::A;")];
        assert!(room(&comment).is_empty());
        let tested = [("a", "mod tests {\n    use crate::b::B;\n}\n"), ("b", "use crate::a::A;")];
        assert!(room(&tested).is_empty());
        // Neither path begins with the word `crate`.
        let elsewhere = [("a", "my_crate::b(); other::crate::b();"), ("b", "use crate::a;")];
        assert!(room(&elsewhere).is_empty());
    }

    #[test]
    fn a_path_leads_to_the_last_module_that_it_names() {
        let of = |code| paths(code).iter().map(|path| path.join(" ")).collect::<Vec<_>>();
        assert_eq!(
            of("use crate::{a::{B, c}, d as e, super::f};"),
            ["crate a B", "crate a c", "crate d", "crate super f"]
        );
        assert_eq!(of("let x = super::y::<u8>(self::Z);"), ["super y ", "self Z"]);
    }
}
