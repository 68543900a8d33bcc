//! The fuzz targets are a workspace of their own with a lock file of their own. A room that takes a
//! new crate has it in the lock file of the house, and the fuzz targets are built with `--locked`
//! only by `.ci/run`, twenty minutes later: two changes were refused there for that alone.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What rooms depend on, by cargo's metadata, and the lock file does not have; rooms that it does
/// not name are not built there.
pub fn missing(lock: &str, metadata: &Value) -> Result<Vec<String>> {
    let lock: toml::Table = lock.parse().context("fuzz/Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let locked: BTreeMap<&str, BTreeSet<&str>> = packages
        .context("fuzz/Cargo.lock has no `package`")?
        .iter()
        .filter_map(|package| {
            let listed = package.get("dependencies").and_then(toml::Value::as_array);
            // `name`, or `name version` where there are two.
            let names = listed.into_iter().flatten().filter_map(|entry| entry.as_str());
            let names = names.filter_map(|entry| entry.split(' ').next()).collect();
            Some((package.get("name")?.as_str()?, names))
        })
        .collect();
    let mut missing = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(has) = locked.get(name) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let needs = dependency["name"].as_str().unwrap_or_default();
            let is_built = dependency["optional"] != true && dependency["kind"] != "dev";
            if is_built && !has.contains(needs) {
                missing.push(format!(
                    "fuzz/Cargo.lock: `{name}` needs `{needs}`: run `cargo metadata` in fuzz/ and \
                     commit the file"
                ));
            }
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"drivelab-import\"\n\
                        dependencies = [\n \"jiff\",\n \"csv 1.4.0\",\n]\n";

    fn of(dependencies: &Value) -> Vec<String> {
        let metadata = json!({ "packages": [
            { "name": "drivelab-import", "dependencies": dependencies },
            { "name": "drivelab-web", "dependencies": [{ "name": "libc" }] },
        ]});
        missing(LOCK, &metadata).expect("a lock file")
    }

    #[test]
    fn a_crate_that_the_fuzz_targets_do_not_know_is_named() {
        assert_eq!(of(&json!([{ "name": "csv" }, { "name": "jiff" }])), [""; 0]);
        let found = of(&json!([{ "name": "csv" }, { "name": "serde", "kind": null }]));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`drivelab-import` needs `serde`"), "{found:?}");
    }

    #[test]
    fn what_is_not_built_there_does_not_count() {
        let tests = json!([{ "name": "tempfile", "kind": "dev" }]);
        assert_eq!(of(&tests), [""; 0]);
        assert_eq!(of(&json!([{ "name": "rusqlite", "optional": true }])), [""; 0]);
        assert!(missing("version = 4", &json!({})).is_err(), "no package in it");
    }
}
