//! An OCI image (image-spec 1.0), from scratch: the program and an empty directory to work in.
//!
//! ```text
//!   layer.tar -> sum (diff_id) -> .gz -> blobs/sha256/LAYER
//!   config: what runs, diff_id -> blobs/sha256/CONFIG     manifest: both -> blobs/sha256/MANIFEST
//!   index.json, oci-layout  -> all of it in a .tar, as podman, skopeo and docker load it
//! ```

use super::{
    Ground,
    tools::{gzip, output, sha256, tar, write},
    tree::Tree,
};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Makes it.
pub fn pack(ground: &Ground, tree: &Tree) -> Result<PathBuf> {
    let room = ground.room("image")?;
    let top = room.join("top");
    tree.put_program(&top, "usr/bin/drivelab")?;
    tree.put_licences(ground, &top.join("usr/share/doc/drivelab"))?;
    // To work in, for scratch files, and for the history.
    for directory in ["work", "tmp", "root"] {
        fs::create_dir(top.join(directory))?;
    }
    let layer = room.join("layer.tar");
    tar(ground, &top, &layer)?;
    let unpacked_sum = sha256(&layer)?;
    let layout = room.join("layout");
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let layer = blob(&layout, &gzip(&layer)?, "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let created = output(
        Command::new("date")
            .args(["--utc", "+%Y-%m-%dT%H:%M:%SZ"])
            .arg(format!("--date=@{}", ground.epoch)),
    )?;
    let config = config(&ground.version, created.trim(), &unpacked_sum);
    let config = document(&layout, &room, &config, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
    });
    let mut manifest = document(&layout, &room, &manifest, MANIFEST)?;
    manifest["platform"] = json!({ "architecture": "amd64", "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": ground.version });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    write(&layout.join("index.json"), &index.to_string())?;
    write(&layout.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    let image = ground.to.join(format!("drivelab-{}-oci.tar", ground.version));
    tar(ground, &layout, &image)?;
    Ok(image)
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn config(version: &str, created: &str, layer_sum: &str) -> Value {
    json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/drivelab"],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/bin", "HOME=/root"],
            "WorkingDir": "/work",
            "Labels": {
                "org.opencontainers.image.title": "drivelab",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer_sum}")] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    })
}

fn document(layout: &Path, room: &Path, value: &Value, media_type: &str) -> Result<Value> {
    let path = room.join("document.json");
    write(&path, &value.to_string())?;
    blob(layout, &path, media_type)
}

/// Moves a file to its place by its sum; what refers to it.
fn blob(layout: &Path, path: &Path, media_type: &str) -> Result<Value> {
    let sum = sha256(path)?;
    let bytes = fs::metadata(path)?.len();
    fs::rename(path, layout.join("blobs/sha256").join(&sum)).with_context(|| sum.clone())?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{sum}"), "size": bytes }))
}
