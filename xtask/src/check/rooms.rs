//! Who sees whom: the rooms form a star, and `cargo metadata` says whether it still is one.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{env, path::Path, process::Command};

/// A room, and the rooms it may see. A room that is not listed here has no place in the house yet.
const SIGHT: &[(&str, &[&str])] = &[
    ("block", &[]),
    ("engine", &["block"]),
    ("host", &["block", "engine", "record"]),
    ("model", &["block"]),
    ("flash", &["block", "model"]),
    ("nbd", &["block"]),
    ("ublk", &["block", "engine", "nbd"]),
    ("record", &[]),
    ("lab", &["block", "record"]),
    ("target", &["block", "engine", "host", "model", "flash", "lab", "record"]),
    ("report", &["block", "lab", "record"]),
    ("web", &["record", "report"]),
    ("study", &["block", "model", "target", "lab", "record", "report"]),
    (
        "drivelab",
        &[
            "block", "engine", "host", "model", "flash", "nbd", "lab", "target", "record",
            "report", "study", "ublk", "web",
        ],
    ),
    ("xtask", &["block", "engine", "flash", "host", "lab", "model", "study", "target"]),
];

/// Compares the workspace's dependencies, those of tests included, with [`SIGHT`].
pub fn check(root: &Path) -> Result<()> {
    println!("cargo metadata --no-deps, against the list of who sees whom");
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo's metadata")?;
    let complaints = complaints(&metadata);
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

fn complaints(metadata: &Value) -> Vec<String> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    if packages.is_empty() {
        return vec!["cargo's metadata names no package".to_owned()];
    }
    let mut complaints = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, sight)) = SIGHT.iter().find(|(room, _)| *room == name) else {
            complaints.push(format!("`{name}` is no room: add it to xtask/src/check/rooms.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap_or(&empty) {
            let seen = dependency["name"].as_str().unwrap_or_default();
            let is_room = SIGHT.iter().any(|(room, _)| *room == seen);
            if is_room && !sight.contains(&seen) {
                complaints.push(format!("`{name}` must not see `{seen}`"));
            }
            if !is_room && name == "block" {
                complaints.push(format!("`block` depends on nothing, and now on `{seen}`"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(packages: &[(&str, &[&str])]) -> Vec<String> {
        let packages: Vec<Value> = packages
            .iter()
            .map(|(name, seen)| {
                let seen: Vec<Value> = seen.iter().map(|name| json!({ "name": name })).collect();
                json!({ "name": name, "dependencies": seen })
            })
            .collect();
        complaints(&json!({ "packages": packages }))
    }

    #[test]
    fn a_room_may_see_what_it_is_allowed_and_any_crate_from_outside() {
        assert!(of(&[("engine", &["block", "libc"]), ("block", &[])]).is_empty());
    }

    #[test]
    fn a_look_into_the_wrong_room_is_named() {
        assert_eq!(of(&[("lab", &["block", "engine"])]), ["`lab` must not see `engine`"]);
        assert_eq!(of(&[("block", &["libc"])]).len(), 1);
        assert_eq!(of(&[("attic", &[])]).len(), 1);
        assert_eq!(complaints(&json!({})).len(), 1);
    }

    #[test]
    fn the_list_itself_has_no_circle() {
        let mut placed: Vec<&str> = Vec::new();
        while placed.len() < SIGHT.len() {
            let before = placed.len();
            for (room, sight) in SIGHT {
                let ready = sight.iter().all(|seen| placed.contains(seen));
                if ready && !placed.contains(room) {
                    placed.push(room);
                }
            }
            assert!(placed.len() > before, "a circle among those not in {placed:?}");
        }
    }
}
