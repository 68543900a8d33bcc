//! Makes a table of the pages in `docs/`, so that `drivelab docs` has each as it was built, and no
//! list must be kept of them.

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// Folders of pages that tell a user what to type and what it means; results are no manual.
const FOLDERS: [&str; 2] = ["guide", "reference"];

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut table = String::from("&[\n");
    for folder in FOLDERS {
        // The package has a link to the pages, and a packaged one a copy of them.
        let directory = package.join("docs").join(folder);
        println!("cargo::rerun-if-changed={}", directory.display());
        for name in pages_of(&directory) {
            let path = directory.join(&name);
            let path = path.to_str().expect("the path of the sources is text");
            writeln!(table, "    ({:?}, include_str!({path:?})),", format!("{folder}/{name}"))
                .expect("a text takes it");
        }
    }
    table.push_str("]\n");
    fs::write(out.join("pages.rs"), table).expect("cargo gave the directory to write to");
}

/// Names of the pages and schemas of a folder, in their order.
fn pages_of(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the pages are part of the package");
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().expect("pages have plain names"))
        .filter(|name| name.ends_with(".md") || name.ends_with(".schema.json"))
        .collect();
    names.sort();
    names
}
