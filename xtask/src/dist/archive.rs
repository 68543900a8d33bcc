//! The program as it is, and with its pages to be unpacked below `/usr/local`.

use super::{
    Ground, Part,
    tools::{gzip, tar},
    tree::Tree,
};
use anyhow::{Context, Result};
use std::{fs, path::PathBuf};

/// Makes both.
pub fn pack(ground: &Ground, tree: &Tree) -> Result<Vec<PathBuf>> {
    let name = format!("drivelab-{}-x86_64-linux", ground.version);
    let alone = ground.to.join(&name);
    fs::copy(tree.program(), &alone).with_context(|| alone.display().to_string())?;
    let room = ground.room("archive")?;
    tree.put(ground, &room, Part::Archive)?;
    tree.put_licences(ground, &room.join("usr/share/doc/drivelab"))?;
    let archive = ground.to.join(name + ".tar");
    // `bin`, `share`: what is below /usr.
    tar(ground, &room.join("usr"), &archive)?;
    Ok(vec![alone, gzip(&archive)?])
}
