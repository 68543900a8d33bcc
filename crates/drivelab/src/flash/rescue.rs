//! `drivelab flash rescue`.

use super::{arguments::RescueArguments, check::FOUND, ranges, watch::Watcher, words};
use crate::{
    interrupt,
    output::{self, hanging},
};
use anyhow::{Context, Result, bail};
use block::{IoError, counted, display_bytes};
use engine::Clock;
use flash::{
    VolumeId,
    tools::{Plan, RescueReport, ToolError, survey},
};
use host::directory::remove_made;
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    process::ExitCode,
};
use target::volume::{HeldDrive, Use};

/// Ranges that are printed of a kind; all are in the count.
const RANGES_MAX: usize = 8;

/// Copies out what is readable of a damaged volume.
pub fn rescue(arguments: &RescueArguments) -> Result<ExitCode> {
    let path = &arguments.path;
    let plan = Plan {
        volume: arguments.volume.as_deref().map(volume_id).transpose()?,
        exported_bytes: arguments.size,
    };
    let mut drive = HeldDrive::open(path, Use::Read, Clock::start())?;
    let watcher = Watcher::new(arguments.quiet)?;
    let outcome = survey(&mut *drive.engine, &plan, &mut |progress| watcher.see(progress));
    let found = match outcome {
        Ok(found) => found,
        Err(error) => return ended(&watcher, error, path, None),
    };
    let to = &arguments.to;
    let file = make(to, found.exported_bytes())?;
    let exported_bytes = found.exported_bytes();
    let mut failed = None;
    let mut put = |offset: u64, data: &[u8]| {
        file.write_all_at(data, offset).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            failed = Some(error);
            IoError::Os(errno)
        })
    };
    let outcome =
        found.copy_out(&mut *drive.engine, &mut put, &mut |progress| watcher.see(progress));
    if let Some(error) = failed {
        let _ = remove_made(to, &file);
        bail!("--to: cannot write {}: {error}; it was removed again", to.display());
    }
    let report = match outcome {
        Ok(report) => report,
        Err(error) => return ended(&watcher, error, path, Some((to, &file))),
    };
    file.sync_all()
        .and_then(|()| engine::raw::sync_directory_of(to))
        .with_context(|| format!("--to: cannot flush {}", to.display()))?;
    watcher.finish();
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&as_json(path, to, exported_bytes, &report))? + "\n",
        false => described(path, to, exported_bytes, &report),
    };
    output::print(&text)?;
    let is_whole = report.doubtful.is_empty() && report.lost.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

/// A new file, with holes where the volume has no data.
fn make(path: &Path, bytes: u64) -> Result<File> {
    host::missing::refuse_in_kernels_place(path).context("--to")?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = made.with_context(|| {
        format!("--to: cannot make {}; name a file that does not exist yet", path.display())
    })?;
    file.set_len(bytes).with_context(|| format!("--to: cannot size {}", path.display()))?;
    Ok(file)
}

fn ended(
    watcher: &Watcher,
    error: ToolError,
    path: &Path,
    unfinished: Option<(&Path, &File)>,
) -> Result<ExitCode> {
    watcher.finish();
    if let Some((unfinished, file)) = unfinished {
        let _ = remove_made(unfinished, file);
    }
    if error == ToolError::Stopped {
        output::talk!("drivelab: interrupted: nothing was kept");
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    bail!("{}: {error}", path.display())
}

/// As `status` and `rescue` print it: 32 hexadecimal digits.
fn volume_id(text: &str) -> Result<VolumeId> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).step_by(2).map(byte).collect();
    let id = bytes.filter(|_| text.len() == 32).and_then(|bytes| bytes.try_into().ok());
    id.map(VolumeId).with_context(|| {
        format!("--volume: `{text}` is no volume's id: it has 32 hexadecimal digits")
    })
}

fn described(path: &Path, to: &Path, exported_bytes: u64, report: &RescueReport) -> String {
    let size = |ranges: &[Range<u32>]| words::blocks(RescueReport::blocks(ranges));
    let id = report.volumes.first().map_or_else(String::new, |(id, _)| id.to_string());
    let mut text = hanging(
        "volume    ",
        &format!("{} in {}: {id}", display_bytes(exported_bytes), path.display()),
    );
    text += &hanging(
        "found     ",
        &format!(
            "{}, {}; {} of the drive cannot be read",
            counted(report.superblocks, "superblock"),
            counted(report.chunks, "chunk"),
            display_bytes(report.bytes_unreadable)
        ),
    );
    text += &hanging("copied    ", &format!("{} to {}", size(&report.recovered), to.display()));
    for (label, ranges) in [("doubtful  ", &report.doubtful), ("lost      ", &report.lost)] {
        let list = match ranges.is_empty() {
            true => "nothing".to_owned(),
            false => format!("{}: {}", size(ranges), offsets(ranges)),
        };
        text += &hanging(label, &list);
    }
    for note in report.notes() {
        text += &hanging("note      ", &note);
    }
    text
}

/// What was found and what came of it, with every range.
fn as_json(path: &Path, to: &Path, exported_bytes: u64, report: &RescueReport) -> Value {
    let object = json!({
        "path": null,
        "to": null,
        "id": report.volumes.first().map(|(id, _)| id.to_string()),
        "exported_bytes": exported_bytes,
        "superblocks": report.superblocks,
        "chunks": report.chunks,
        "chunks_missing": report.chunks_missing,
        "bytes_unreadable": report.bytes_unreadable,
        "recovered": ranges::list_as_json(&report.recovered),
        "doubtful": ranges::list_as_json(&report.doubtful),
        "lost": ranges::list_as_json(&report.lost),
        "notes": report.notes(),
    });
    output::with_paths(object, &[("path", path), ("to", to)])
}

/// Ranges as bytes of the copy.
fn offsets(ranges: &[Range<u32>]) -> String {
    let bytes = |block: u32| u64::from(block) * flash::BLOCK_BYTES;
    let each = ranges.iter().take(RANGES_MAX);
    let shown: Vec<String> =
        each.map(|range| format!("{}..{}", bytes(range.start), bytes(range.end))).collect();
    let rest = ranges.len().saturating_sub(RANGES_MAX);
    let more = match rest {
        0 => String::new(),
        _ => format!(" and {rest} more ranges: --json lists them"),
    };
    format!("bytes {}{more}", shown.join(", "))
}
