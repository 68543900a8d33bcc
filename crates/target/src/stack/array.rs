//! The layers `/raid0` to `/raid10`: what their settings stand for.

use super::{
    controller::{ResolvedMemory, resolve_memory},
    layers::CHUNK_BYTES,
    named::ResolvedDrive,
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::{Catalog, HostEntry, Reality};
use block::names::did_you_mean;
use model::{ArrayParams, Level, Rebuild};

/// The driver of an array that names none: fitted on a host of 2007, and for drives of its years.
const PERIOD_DRIVER: &str = "md";
/// The same for drives that came later.
const PRESENT_DRIVER: &str = "host";

pub(super) struct ResolvedArray<'c> {
    /// As it was written, for a description.
    pub text: String,
    pub level: Level,
    pub chunk_bytes: u32,
    pub driver: &'c HostEntry,
    /// The memory of a controller, where the driver has one.
    pub memory: Option<ResolvedMemory>,
    /// Members that are missing.
    pub degraded: Vec<u16>,
    /// At which pace the missing ones are rebuilt, if they are.
    pub rebuild: Option<Rebuild>,
}

impl ResolvedArray<'_> {
    pub fn params(&self) -> ArrayParams {
        ArrayParams { level: self.level, chunk_bytes: self.chunk_bytes }
    }
}

pub(super) fn resolve_array<'c>(
    layer: &Part,
    level: Level,
    drives: &[ResolvedDrive<'_>],
    catalog: &'c Catalog,
) -> Result<ResolvedArray<'c>, BadStack> {
    let settings = Settings::of(layer);
    let chunk_bytes = settings.bytes("chunk", 4096..=64 << 20)?.unwrap_or(CHUNK_BYTES);
    if !chunk_bytes.is_power_of_two() {
        let text = settings.text("chunk").unwrap_or_default();
        return Err(settings.wrong("chunk", text, "is no power of two, such as 64K"));
    }
    let layouts: &[(&str, ())] = match level {
        Level::Raid0 | Level::Raid1 => &[("plain", ())],
        Level::Raid5 | Level::Raid6 => &[("left-symmetric", ())],
        Level::Raid10 => &[("near2", ())],
    };
    settings.word("layout", layouts)?;
    let name = settings.text("driver").unwrap_or(default_driver(drives));
    let driver = catalog.driver(name).ok_or_else(|| {
        let names = || catalog.drivers().iter().map(HostEntry::name);
        let near = did_you_mean(name, names());
        let names = names().collect::<Vec<_>>().join(", ");
        settings.wrong("driver", name, &format!("is no array driver.{near} Drivers: {names}"))
    })?;
    let params = ArrayParams { level, chunk_bytes: chunk_bytes as u32 };
    let memory = resolve_memory(&settings, &params, drives.len() as u64, driver, catalog)?;
    let last = drives.len() as u64 - 1;
    let degraded = settings.count("degraded", 0..=last)?;
    if level == Level::Raid0 && degraded.is_some() {
        return Err(BadStack::Text(
            "`raid0:degraded=`: without redundancy a missing member is the end of it: leave it out"
                .to_owned(),
        ));
    }
    let rebuild = rebuild(&settings, degraded.is_some())?;
    settings.finish()?;
    Ok(ResolvedArray {
        text: layer.to_string(),
        level,
        chunk_bytes: chunk_bytes as u32,
        driver,
        memory,
        degraded: degraded.map(|member| member as u16).into_iter().collect(),
        rebuild,
    })
}

/// What an array's host costs is fitted on EasyCo's host of 2007 alone. Drives that came with a
/// kernel from 3.0 on, and those of no study, would be held back by it.
fn default_driver(drives: &[ResolvedDrive<'_>]) -> &'static str {
    let is_later = |drive: &ResolvedDrive<'_>| {
        let generic = drive.entry.entry.reality == Reality::Generic;
        generic || drive.entry.kernel.is_some_and(|kernel| kernel >= (3, 0, 0))
    };
    if drives.iter().any(is_later) { PRESENT_DRIVER } else { PERIOD_DRIVER }
}

/// `rebuild=on`, at md's default pace (`sync_speed_max`, `sync_speed_min`), or `rebuild=50MB`,
/// bytes a second while nobody asks for anything.
fn rebuild(settings: &Settings<'_>, is_degraded: bool) -> Result<Option<Rebuild>, BadStack> {
    const IDLE_BYTES_PER_S: u64 = 200_000 << 10;
    const BUSY_BYTES_PER_S: u64 = 1_000 << 10;
    let idle_bytes_per_s = match settings.text("rebuild") {
        None => return Ok(None),
        Some(text) if !is_degraded => {
            let about =
                "has nothing to rebuild: write `degraded=` with a member's number beside it";
            return Err(settings.wrong("rebuild", text, about));
        }
        Some("on") => IDLE_BYTES_PER_S,
        Some(_) => settings.bytes("rebuild", BUSY_BYTES_PER_S..=100_000_000_000)?.unwrap_or(0),
    };
    Ok(Some(Rebuild { idle_bytes_per_s, busy_bytes_per_s: BUSY_BYTES_PER_S }))
}

#[cfg(test)]
mod tests {
    use super::super::resolve::resolve;
    use super::*;

    #[test]
    fn present_day_drives_are_not_held_to_a_host_of_2007() {
        let catalog = Catalog::built_in().expect("a test reads it");
        let driver = |text: &str| {
            let resolved = resolve(&text.parse().expect("a stack"), &catalog, 0).expect("resolved");
            resolved.array.expect("an array").driver.name().to_owned()
        };
        assert_eq!(driver("2xnvme-tlc/raid0"), "host");
        assert_eq!(driver("2xwd-1002fbys/raid1"), "host");
        assert_eq!(driver("4xmtron-pro-32/raid5"), "md");
        assert_eq!(driver("2xnvme-tlc/raid0:driver=md"), "md");
    }
}
