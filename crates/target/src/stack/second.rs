//! What a file system puts on a second drive, beside the one that it lies on: its journal
//! (`/ext4:journal-on=NAME`, `/xfs:log-on=NAME`), its metadata (`metadata-on=NAME`), its small
//! files (`small-files-on=NAME`).

use super::{
    beside::{Beside, ResolvedBeside, second_drive},
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::Catalog;
use model::fs::Placement;

/// Files of up to so many bytes are small where nothing is said.
const SMALL_BYTES: u64 = 64 << 10;
/// Largest file that may be called small.
const SMALL_BYTES_MAX: u64 = 1 << 30;

/// The settings of a file system that say what lies on a second drive; XFS calls its journal a log.
pub(super) fn second_keys(file_system: &str) -> &'static [&'static str] {
    match file_system {
        "ext3" | "ext4" => &["journal-on", "metadata-on", "small-files-on", "small"],
        "xfs" => &["log-on", "metadata-on", "small-files-on", "small"],
        _ => &[],
    }
}

/// What stands beside the drive under the file system `layer`: what is there already, or the drive
/// of its journal, its metadata or its small files.
///
/// # Errors
/// Both; several drives; a journal apart from the metadata; a name that no drive has; a size that
/// is none.
pub(super) fn with_second<'c>(
    layer: &Part,
    beside: Option<ResolvedBeside<'c>>,
    is_managed: bool,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<Option<ResolvedBeside<'c>>, BadStack> {
    let settings = Settings::of(layer);
    let [journal, metadata, small_files, _] = second_keys(&layer.name) else { return Ok(beside) };
    let small_bytes = small_bytes(&settings)?;
    let of = |key| settings.text(key).map(|name| (key, name));
    let placement = Placement {
        journal: of(journal).is_some(),
        metadata: of(metadata).is_some(),
        small_bytes: if of(small_files).is_some() { small_bytes } else { 0 },
    };
    let named = [journal, metadata, small_files].into_iter().filter_map(|key| of(key));
    let named: Vec<(&str, &str)> = named.collect();
    let Some(&(key, name)) = named.first() else { return Ok(beside) };
    let wrong = |about: String| Err(BadStack::Text(about));
    if placement.journal && placement.metadata {
        return wrong(format!(
            "`{journal}=` beside `{metadata}=`: the journal lies with the metadata; leave \
             `{journal}=` out"
        ));
    }
    if let Some((other_key, other)) = named.iter().find(|(_, other)| *other != name) {
        return wrong(format!(
            "`{key}={name}` and `{other_key}={other}`: one drive stands beside the first; name the \
             same drive in both"
        ));
    }
    let lower = match &beside {
        Some(beside) => Some(beside.text.as_str()),
        None => is_managed.then_some("flash"),
    };
    if let Some(lower) = lower {
        let what = match key {
            _ if placement.metadata => "metadata",
            _ if placement.journal => "a journal",
            _ => "small files",
        };
        return wrong(format!(
            "`{key}={name}` above `{lower}`: {what} on a second drive stands beside a drive or an \
             array alone; leave one of them out"
        ));
    }
    let (drive, port) = second_drive(name, catalog, seed)?;
    let words: Vec<String> = named.iter().map(|(key, name)| format!("{key}={name}")).collect();
    let small = settings.text("small").map(|text| format!(",small={text}")).unwrap_or_default();
    let text = words.join(",") + &small;
    Ok(Some(ResolvedBeside { text, drive, port, layer: Beside::Files(placement) }))
}

fn small_bytes(settings: &Settings<'_>) -> Result<u64, BadStack> {
    let asked = settings.bytes("small", 1..=SMALL_BYTES_MAX)?;
    match (asked, settings.text("small-files-on")) {
        (Some(_), None) => {
            let text = settings.text("small").unwrap_or_default();
            let about = "says which files are small, and nothing where they lie: write \
                         `small-files-on=` with a drive's name beside it, or leave it out";
            Err(settings.wrong("small", text, about))
        }
        _ => Ok(asked.unwrap_or(SMALL_BYTES)),
    }
}

/// What a method of blocks has to know.
pub(super) fn note_on_small_files(layer: &Part) -> Option<String> {
    let has_small = layer.settings.iter().any(|(key, _)| key == "small-files-on");
    has_small.then(|| {
        "`small-files-on=` concerns file trees: the one file of a method on blocks lies on the \
         first drive"
            .to_owned()
    })
}
