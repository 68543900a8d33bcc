//! A TARGET that is not there: what it may have been meant to be, and whether it may be a new file.
//!
//! ```text
//!   nvme-tlc, 4xnvme-tlc/raid5     model:nvme-tlc ...   the catalog's names without their scheme
//!   sda1                           /dev/sda1            a device without its directory
//!   /mnt/scrtch, disk.imh          what lies beside it  crates/host/src/missing.rs
//!   fresh.img                      a new file: its ending says that it is meant
//! ```

use crate::{
    catalog::Catalog,
    stack::{Stack, counted},
};
use block::names::{edits, nearest};
use host::{Roots, missing};
use lab::target::TargetError;
use std::path::Path;

/// Shorter names without their ending are too short to be mistyped ones of others.
const STEM_MIN: usize = 4;

/// ` Did you mean ...?`, or nothing where nothing is near `path`.
pub fn did_you_mean(path: &Path) -> String {
    let roots = Roots::default();
    let device = missing::device_of_name(path, &roots);
    let device = device.iter().map(|device| device.display().to_string());
    let others: Vec<String> = device.chain(models(&path.to_string_lossy())).collect();
    missing::did_you_mean(path, &others, &roots)
}

/// Refuses a file to be made and measured that looks like something mistyped: a model, a device, a
/// directory (no ending), or a file that lies beside it.
///
/// # Errors
/// A sentence with what may be meant, and how a new file is named.
pub fn refuse_mistyped(path: &Path) -> Result<(), TargetError> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let shown = path.display();
    let stack = models(&path.to_string_lossy());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let has_parent = parent.is_none_or(Path::is_dir);
    let is_kernels = missing::refuse_in_kernels_place(path).is_err();
    let is_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if stack.is_empty() && (!has_parent || is_kernels || is_directory) {
        // It can be no new file, and why is said where it is looked at.
        return Ok(());
    }
    if path.extension().is_some() && stack.is_empty() {
        return match of_beside(path) {
            None => Ok(()),
            Some(near) => Err(TargetError::refused(format!(
                "there is no {shown}. Did you mean `{near}`? A new file, which is made and \
                 removed, needs a name that is less like it"
            ))),
        };
    }
    let near = did_you_mean(path);
    let new = match has_parent && !is_directory {
        true => format!(" A new file, which is made and removed, needs an ending: `{shown}.img`"),
        false => String::new(),
    };
    Err(TargetError::refused(format!("there is no {shown}.{near}{new}").trim_end_matches('.')))
}

/// A file beside it whose name differs in one or two letters, none of them a digit.
fn of_beside(path: &Path) -> Option<String> {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let name = path.file_name()?.to_str()?;
    let stem = path.file_stem()?.to_str()?;
    let is_like = |near: &String| {
        let near = near.rsplit('/').next().unwrap_or_default();
        edits(name, near) <= 2 && letters(name) != letters(near)
    };
    let near = missing::nearest_paths(path, &Roots::default());
    let near = near.iter().map(|path| path.display().to_string());
    near.filter(|_| stem.len() >= STEM_MIN).find(is_like)
}

/// STACKs that the text may be without `model:`: as it is, with a count that lacks its `x`, or one
/// drive whose name is near.
fn models(text: &str) -> Vec<String> {
    let Ok(catalog) = Catalog::load() else { return Vec::new() };
    let is_known = |stack: &Stack| {
        stack.members.iter().all(|member| catalog.drive(&member.drive.name).is_some())
    };
    if text.parse::<Stack>().is_ok_and(|stack| is_known(&stack)) {
        return vec![format!("model:{text}")];
    }
    if let Some(counted) = counted(text, &catalog) {
        return vec![format!("model:{counted}")];
    }
    let near = nearest(text, catalog.drive_names());
    near.into_iter().map(|name| format!("model:{name}")).collect()
}
