//! Job files of the kinds that people have: checks of Kubernetes volumes, mixes of data centres,
//! presets of desktops, each in our own words.

use crate::common::method;
use std::{fs, path::Path};

/// Every one of them was refused before job files were read; each becomes a method that `lab`
/// takes.
#[test]
fn all_of_our_own_job_files_become_methods() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/jobs");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the folder is in the repository") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a text");
        let method = method(&text);
        assert!(!method.cells.is_empty(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}
