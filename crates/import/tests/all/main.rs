//! Real outputs of programs, as they are, cut and changed.

mod corpus;
mod damaged;

use record::Record;
use std::{fs, path::PathBuf};

/// A file of the corpus.
fn content(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All of them, by name.
fn names() -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(path).expect("the corpus is there");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("it is there").file_name().into_string().expect("a name")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

const NOW: &str = "2026-11-25T04:00:00Z";

fn import(name: &str) -> Record {
    import::import(name, &content(name), NOW).unwrap_or_else(|error| panic!("{name}: {error}"))
}
