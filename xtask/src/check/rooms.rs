//! Who sees whom: ARCHITECTURE.md says who may, and `cargo metadata` who does; and whether the fuzz
//! targets' lock file has what rooms depend on.

use super::locks;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

/// What stands above the table in ARCHITECTURE.md.
const HEAD: &str = "| room | sees |";

/// Rooms, and the rooms that each may see.
type Sight = BTreeMap<String, Vec<String>>;

/// Compares the workspace's dependencies, those of tests included, with the table.
pub fn check(root: &Path) -> Result<()> {
    println!(
        "cargo metadata --no-deps, against ARCHITECTURE.md's table of who sees whom and \
         fuzz/Cargo.lock"
    );
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    let sight = sight(&page)?;
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo's metadata")?;
    let mut complaints = complaints(&sight, &metadata);
    let lock = fs::read_to_string(root.join("fuzz/Cargo.lock")).context("fuzz/Cargo.lock")?;
    complaints.extend(locks::missing(&lock, &metadata)?);
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// The table as the page has it: rooms in backquotes, and `all` for every one.
fn sight(page: &str) -> Result<Sight> {
    let rows = page.lines().skip_while(|line| *line != HEAD).skip(2);
    let rows: Vec<Vec<&str>> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    ensure!(!rows.is_empty(), "ARCHITECTURE.md has no table under `{HEAD}`");
    let quoted = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut sight = Sight::new();
    let rooms: Vec<String> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    for row in &rows {
        let [room, sees] = row[..] else { bail!("ARCHITECTURE.md: {row:?} is no row of two") };
        let seen = if sees == "all" { rooms.clone() } else { quoted(sees) };
        sight.insert(quoted(room).pop().with_context(|| format!("{room} names no room"))?, seen);
    }
    Ok(sight)
}

fn complaints(sight: &Sight, metadata: &Value) -> Vec<String> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    if packages.is_empty() {
        return vec!["cargo's metadata names no package".to_owned()];
    }
    let mut complaints = Vec::new();
    for package in packages {
        let name = room(&package["name"]);
        let Some(allowed) = sight.get(name) else {
            complaints.push(format!("`{name}` is no room: add it to the table of ARCHITECTURE.md"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap_or(&empty) {
            let seen = room(&dependency["name"]);
            let is_room = sight.contains_key(seen);
            if is_room && !allowed.iter().any(|room| room == seen) {
                complaints.push(format!("`{name}` must not see `{seen}`"));
            }
            if !is_room && name == "block" {
                complaints.push(format!("`block` depends on nothing, and now on `{seen}`"));
            }
        }
    }
    complaints
}

/// The room that a package is: packages are called `drivelab-ROOM`, since the registry has one
/// name for all the world.
fn room(name: &Value) -> &str {
    let name = name.as_str().unwrap_or_default();
    name.strip_prefix("drivelab-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PAGE: &str = "| room | sees |\n|---|---|\n| `block` | nothing |\n| `lab` | `block` |\n\
                        | `engine` | `block` (its numbers); its tests `lab` |\n| `all_of_it` | all |\n";

    fn of(packages: &[(&str, &[&str])]) -> Vec<String> {
        let packages: Vec<Value> = packages
            .iter()
            .map(|(name, seen)| {
                let seen: Vec<Value> = seen.iter().map(|name| json!({ "name": name })).collect();
                json!({ "name": name, "dependencies": seen })
            })
            .collect();
        complaints(&sight(PAGE).expect("a table"), &json!({ "packages": packages }))
    }

    #[test]
    fn a_room_may_see_what_it_is_allowed_and_any_crate_from_outside() {
        assert!(of(&[("engine", &["block", "libc"]), ("block", &[])]).is_empty());
        assert!(of(&[("drivelab-engine", &["drivelab-block"])]).is_empty());
    }

    #[test]
    fn a_look_into_the_wrong_room_is_named() {
        assert_eq!(of(&[("lab", &["block", "engine"])]), ["`lab` must not see `engine`"]);
        assert_eq!(of(&[("drivelab-lab", &["drivelab-engine"])]), ["`lab` must not see `engine`"]);
        assert_eq!(of(&[("block", &["libc"])]).len(), 1);
        assert_eq!(of(&[("attic", &[])]).len(), 1);
        assert_eq!(complaints(&sight(PAGE).expect("a table"), &json!({})).len(), 1);
        assert!(of(&[("engine", &["lab"]), ("all_of_it", &["lab", "engine"])]).is_empty());
        assert!(sight("| `block` | nothing |").is_err(), "no table");
    }

    #[test]
    fn the_table_itself_has_no_circle() {
        let page = fs::read_to_string(crate::check::root().join("ARCHITECTURE.md"));
        let mut sight = sight(&page.expect("a page")).expect("a table");
        // What sees all is seen by nobody.
        let all = sight.len();
        sight.retain(|_, seen| seen.len() < all);
        while !sight.is_empty() {
            let waits = |seen: &Vec<String>| seen.iter().any(|room| sight.contains_key(room));
            let free: Vec<String> = sight
                .iter()
                .filter(|(_, seen)| !waits(seen))
                .map(|(room, _)| room.clone())
                .collect();
            assert!(!free.is_empty(), "a circle among {sight:?}");
            sight.retain(|room, _| !free.contains(room));
        }
    }
}
