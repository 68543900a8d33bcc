//! Crates as cargo uploads them.

use super::{Ground, cargo, tools::output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// Packs every crate that may be published. `cargo publish --workspace --dry-run` also builds each.
pub fn pack(ground: &Ground, allow_dirty: bool) -> Result<Vec<PathBuf>> {
    let metadata = output(cargo(ground).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo's metadata")?;
    let target = metadata["target_directory"].as_str().context("cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata")?;
    let is_public = |package: &&Value| package["publish"].is_null();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = packages.iter().filter(is_public).map(name).collect();
    ensure!(names.len() > 10, "only {names:?} may be published");
    let mut command = cargo(ground);
    command.args(["package", "--no-verify", "--locked"]);
    for name in &names {
        command.args(["--package", name]);
    }
    if allow_dirty {
        command.arg("--allow-dirty");
    }
    output(&mut command)?;
    let mut made = Vec::new();
    for name in names {
        let file = format!("{name}-{}.crate", ground.version);
        let from = PathBuf::from(target).join("package").join(&file);
        let to = ground.to.join(file);
        fs::copy(&from, &to).with_context(|| from.display().to_string())?;
        made.push(to);
    }
    Ok(made)
}
