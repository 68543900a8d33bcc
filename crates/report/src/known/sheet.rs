//! Where in `NAME=FILE` the name ends.

use super::Named;
use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// `NAME=SOURCE`, where NAME is known and may hold a `=` of its own, as a STACK does; else SOURCE.
/// What is a file is no pair.
pub fn parted<'t>(
    named: &[Named<'_>],
    text: &'t OsStr,
    is_file: &dyn Fn(&Path) -> bool,
) -> (Option<&'t str>, &'t OsStr) {
    let Some(text) = text.to_str() else { return parted_by_bytes(text, is_file) };
    let of_run = |run: &Named<'_>| {
        let targets = run.targets.iter().map(|target| target.text.len());
        targets.chain([run.word.len(), run.id.len()]).collect::<Vec<_>>()
    };
    let mut lengths: Vec<usize> = named.iter().flat_map(of_run).collect();
    lengths.sort_unstable();
    for length in lengths.into_iter().rev() {
        let Some((name, rest)) = text.split_at_checked(length) else { continue };
        let is_known = named.iter().any(|run| !run.targets_of(name).is_empty());
        if let Some(source) = rest.strip_prefix('=').filter(|_| is_known) {
            return (Some(name), OsStr::new(source));
        }
    }
    match text.split_once('=') {
        Some((name, source)) if !is_file(Path::new(text)) && !name.contains('/') => {
            (Some(name), OsStr::new(source))
        }
        _ => (None, OsStr::new(text)),
    }
}

/// The same where FILE is no text.
fn parted_by_bytes<'t>(
    text: &'t OsStr,
    is_file: &dyn Fn(&Path) -> bool,
) -> (Option<&'t str>, &'t OsStr) {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').filter(|_| !is_file(Path::new(text)));
    let name = at.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
    match name.filter(|name| !name.contains('/')) {
        Some(name) => (Some(name), OsStr::from_bytes(&bytes[name.len() + 1..])),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::TargetInfo;
    use std::borrow::Cow;

    #[test]
    fn a_name_may_hold_an_equals_sign_of_its_own() {
        let target = serde_json::json!({
            "text": "model:qlc:state=steady", "kind": "model", "capacity_bytes": 0,
            "stack": [], "flags": [], "warnings": [],
        });
        let targets: [TargetInfo; 1] = [serde_json::from_value(target).expect("a target")];
        let named = [Named { word: Cow::Borrowed("last"), id: "r-1", targets: &targets }];
        let parts = |text: &'static str, is_file: bool| {
            let (name, source) = parted(&named, OsStr::new(text), &|_| is_file);
            (name, source.to_str().expect("text"))
        };
        let whole = "model:qlc:state=steady";
        assert_eq!(parts("model:qlc:state=steady=a=b.toml", false), (Some(whole), "a=b.toml"));
        assert_eq!(parts("last=catalog", false), (Some("last"), "catalog"));
        assert_eq!(parts("catalog", false), (None, "catalog"));
        assert_eq!(parts("mine=1.toml", true), (None, "mine=1.toml"), "a file of this name");
        assert_eq!(parts("a/b=1.toml", false), (None, "a/b=1.toml"));
        let bytes = OsStr::from_bytes(b"last=\xff.toml");
        assert_eq!(
            parted(&named, bytes, &|_| false),
            (Some("last"), OsStr::from_bytes(b"\xff.toml"))
        );
    }
}
