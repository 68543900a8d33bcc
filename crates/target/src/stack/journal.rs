//! `/ext4:journal-on=NAME` and `/xfs:log-on=NAME`: the journal of a file system on a drive of its
//! own, beside the one that the file system lies on.

use super::{
    cached::{Beside, ResolvedBeside, second_drive},
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::Catalog;

/// The setting of a file system that names the drive; XFS calls its journal a log.
pub(super) fn key(file_system: &str) -> Option<&'static str> {
    match file_system {
        "ext3" | "ext4" => Some("journal-on"),
        "xfs" => Some("log-on"),
        _ => None,
    }
}

/// What stands beside the drive under the file system `layer`: what is there already, or the drive
/// of its journal.
///
/// # Errors
/// Both; a name that no drive has.
pub(super) fn with_journal<'c>(
    layer: &Part,
    beside: Option<ResolvedBeside<'c>>,
    is_managed: bool,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<Option<ResolvedBeside<'c>>, BadStack> {
    let settings = Settings::of(layer);
    let named = key(&layer.name).and_then(|key| Some((key, settings.text(key)?)));
    let Some((key, name)) = named else { return Ok(beside) };
    let lower = match &beside {
        Some(beside) => Some(beside.text.as_str()),
        None => is_managed.then_some("flash"),
    };
    if let Some(lower) = lower {
        return Err(BadStack::Text(format!(
            "`{key}={name}` above `{lower}`: a journal on a second drive stands beside a drive or \
             an array alone; leave one of them out"
        )));
    }
    let (drive, port) = second_drive(name, catalog, seed)?;
    let text = format!("{key}={name}");
    Ok(Some(ResolvedBeside { text, drive, port, layer: Beside::Journal }))
}
