//! Drives made smaller so that what happens on them stays what it was.
//!
//! A page-mapped drive keeps its planes, its rates and its spare; its superblocks become fewer and
//! shorter, their erasure likewise, and its buffer smaller. Of a shingled disk capacity, media
//! cache and its map shrink together, so that as many cached writes fall into a zone as before.
//! Other drives cost nothing to model and stay as they are.

use model::PageMappedParams;
use study::TrialError;
use target::{
    catalog::{BadCatalog, Catalog, DriveEntry, DriveKind, DriveSettings, Parameter, Value},
    stack::{self, BadStack, Member, Stack},
};

/// Superblocks that a page-mapped drive is left with. With half of them the ones that are being
/// filled count: a drive then has more spare than it says.
const SUPERBLOCKS: u64 = 137;
/// Most mapping units of a superblock. With a fifth of them chance makes the emptiest superblock so
/// much emptier than the average that a third less is copied.
const SUPERBLOCK_UNITS: u64 = 5120;
/// Write buffers and fast caches are made as small as this, bytes, or as what all planes program at
/// a time, some times over: full is full, and a small one is full sooner.
const BUFFER_BYTES: u64 = 4 << 20;
const BUFFER_PAGES: u64 = 4;
/// Capacities stay multiples of this.
const GRAIN_BYTES: u64 = 1 << 20;

/// A stack whose drives are small.
pub struct Shrunk {
    /// The same text, but for the drives' `capacity=`.
    pub stack: Stack,
    /// What its names mean now.
    pub catalog: Catalog,
    /// How many times smaller every drive is.
    pub divisor: f64,
    /// How many times shorter the superblocks of page-mapped drives are.
    pub shortened: f64,
    /// What a segment of the managed volume has on the whole drives, if superblocks became
    /// shorter; the stack says nothing of it then.
    pub segment: Option<Segment>,
    /// What buffers and fast caches of all drives hold together, bytes.
    pub held_bytes: u64,
    /// Whether a drive has an arm: distances count.
    pub turns: bool,
}

/// A segment of a managed volume.
#[derive(Clone, Copy)]
pub struct Segment {
    /// So many erase units, or stripes.
    pub units: u64,
    /// Whether the stack named it.
    pub is_chosen: bool,
}

impl Shrunk {
    /// Shrinks the drives of `stack`, all by the same factor.
    pub fn new(stack: &Stack, catalog: &Catalog) -> Result<Self, TrialError> {
        let (stack, catalog) = &sized(stack, catalog)?;
        let mut names: Vec<&str> = stack.members.iter().map(|m| m.drive.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let drives = || names.iter().filter_map(|name| catalog.drive(name));
        let divisor = drives().map(divisor).fold(1.0, f64::max);
        let shortened = match divisor > 1.0 {
            true => drives().map(shortened).fold(1.0, f64::max),
            false => 1.0,
        };
        let mut stack = stack.clone();
        let segment = match shortened > 1.0 {
            true => without_segments(&mut stack, catalog)?,
            false => None,
        };
        let mut small = catalog.clone();
        for name in &names {
            if let Some(drive) = small.drive_mut(name).filter(|_| divisor > 1.0) {
                shrink(drive, divisor).map_err(BadStack::Catalog)?;
            }
        }
        let held = |member: &target::stack::Member| {
            let drive = small.drive(&member.drive.name)?;
            let parts = ["write_buffer", "slc_cache", "media_cache"];
            let held = parts.iter().filter_map(|part| drive.entry.parameters.get(*part));
            Some(held.map(|part| part.base() as u64).sum::<u64>() * u64::from(member.count))
        };
        let held_bytes = stack.members.iter().filter_map(held).sum();
        let turns = drives().any(|drive| drive.kind == DriveKind::Disk);
        Ok(Self { stack, catalog: small, divisor, shortened, segment, held_bytes, turns })
    }
}

/// The stack without `capacity=`, and a catalog whose drives are as large as that said.
fn sized(stack: &Stack, catalog: &Catalog) -> Result<(Stack, Catalog), TrialError> {
    let (mut sized, mut catalog) = (stack.clone(), catalog.clone());
    for member in &mut sized.members {
        let is_capacity = |(key, _): &(String, String)| key == "capacity";
        if !member.drive.settings.iter().any(is_capacity) {
            continue;
        }
        let alone = Member { count: 1, drive: member.drive.clone() };
        let alone = Stack { members: vec![alone], layers: Vec::new() };
        let capacity_bytes = stack::open(&alone, &catalog, 0)?.contract().capacity_bytes;
        if let Some(drive) = catalog.drive_mut(&member.drive.name) {
            drive.capacity_bytes = capacity_bytes;
            member.drive.settings.retain(|setting| !is_capacity(setting));
        }
    }
    Ok((sized, catalog))
}

/// A segment of the stack's managed volume, if it has one, whose `segment=` is taken away.
fn without_segments(stack: &mut Stack, catalog: &Catalog) -> Result<Option<Segment>, TrialError> {
    let mut layers = stack.layers.iter().filter(|layer| layer.name == "flash");
    let Some(layer) = layers.next() else { return Ok(None) };
    let is_segment = |(key, _): &(String, String)| key == "segment";
    let is_chosen = layer.settings.iter().any(is_segment);
    let whole = stack::open(stack, catalog, 0)?;
    let layout = whole.managed().and_then(flash::Volume::layout);
    let units = layout.map(|layout| layout.shape.segment_bytes / layout.shape.unit_bytes());
    for layer in stack.layers.iter_mut().filter(|layer| layer.name == "flash") {
        layer.settings.retain(|setting| !is_segment(setting));
    }
    Ok(units.map(|units| Segment { units, is_chosen }))
}

/// How many times smaller a drive may be.
pub(super) fn divisor(drive: &DriveEntry) -> f64 {
    let bytes = |name: &str| drive.entry.parameters.get(name).map(Parameter::base);
    match (drive.kind, bytes("media_cache"), bytes("shingled_zone")) {
        (DriveKind::PageMapped, ..) => {
            let Ok(whole) = drive.page_mapped(&DriveSettings::default()) else { return 1.0 };
            let units = whole.superblocks() * whole.units_per_superblock();
            let small = SUPERBLOCKS * superblock_units(&whole);
            (units as f64 / small as f64).max(1.0)
        }
        // The cache holds a zone at least.
        (DriveKind::Disk, Some(cache), Some(zone)) => (cache / zone).max(1.0),
        _ => 1.0,
    }
}

/// How many times shorter the superblocks of a drive that is made smaller are.
fn shortened(drive: &DriveEntry) -> f64 {
    if drive.kind != DriveKind::PageMapped {
        return 1.0;
    }
    let whole = drive.page_mapped(&DriveSettings::default());
    whole.map_or(1.0, |whole| f64::from(whole.pages_per_block) / pages_per_block(&whole) as f64)
}

/// Units of a shortened superblock.
fn superblock_units(whole: &PageMappedParams) -> u64 {
    whole.units_per_superblock() / u64::from(whole.pages_per_block) * pages_per_block(whole)
}

/// Pages that a block is left with.
fn pages_per_block(whole: &PageMappedParams) -> u64 {
    let pages = u64::from(whole.pages_per_block);
    let units_a_page = whole.units_per_superblock() / pages;
    SUPERBLOCK_UNITS.div_ceil(units_a_page).min(pages)
}

/// One `divisor`th of a drive.
pub(super) fn shrink(drive: &mut DriveEntry, divisor: f64) -> Result<(), BadCatalog> {
    let whole = (drive.kind == DriveKind::PageMapped)
        .then(|| drive.page_mapped(&DriveSettings::default()))
        .transpose()?;
    let grains = (drive.capacity_bytes as f64 / divisor) as u64 / GRAIN_BYTES;
    drive.capacity_bytes = grains.max(1) * GRAIN_BYTES;
    if let Some(whole) = whole {
        let pages = pages_per_block(&whole);
        scale(drive, "erase", pages as f64 / f64::from(whole.pages_per_block))?;
        drive.entry.set("pages_per_block", pages as f64)?;
        let page_of_all = u64::from(whole.planes()) * u64::from(whole.nand_page_bytes);
        let buffer_bytes = BUFFER_BYTES.max(BUFFER_PAGES * page_of_all) as f64;
        scale(drive, "write_buffer", (buffer_bytes / whole.write_buffer_bytes as f64).min(1.0))?;
        // As much flash for each unit that is exported as before.
        let physical = whole.superblocks() * whole.units_per_superblock();
        let share = physical as f64 / whole.units() as f64;
        let small = drive.page_mapped(&DriveSettings::default())?;
        let (units, superblock) = (small.units() as f64, small.units_per_superblock() as f64);
        let physical = (units * share / superblock).round() * superblock;
        drive.entry.set("over_provisioning", ((physical / units - 1.0) * 1000.0).ceil() / 10.0)?;
    }
    // What a cache takes for a while is no steady rate.
    for cache in ["slc_cache", "slc_dynamic"] {
        if let Some(cache_bytes) = drive.entry.parameters.get(cache).map(Parameter::base) {
            scale(drive, cache, (BUFFER_BYTES as f64 / cache_bytes).min(1.0))?;
        }
    }
    for of_media_cache in ["media_cache", "media_cache_pieces"] {
        if drive.entry.parameters.contains_key(of_media_cache) {
            scale(drive, of_media_cache, 1.0 / divisor)?;
        }
    }
    Ok(())
}

/// Multiplies a parameter in its own unit.
fn scale(drive: &mut DriveEntry, name: &str, factor: f64) -> Result<(), BadCatalog> {
    let parameter = &drive.entry.parameters[name];
    let Value::Number(number) = parameter.value else { return Ok(()) };
    drive.entry.set(name, number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use target::catalog::Past;

    #[test]
    fn a_small_drive_has_the_spare_of_the_large_one() {
        let catalog = Catalog::built_in().expect("a catalog");
        for drive in catalog.drives().iter().filter(|drive| drive.kind == DriveKind::PageMapped) {
            let mut small = drive.clone();
            shrink(&mut small, divisor(drive)).expect("it shrinks");
            small.build(&DriveSettings::default(), 4).expect("it can be built");
            let settings = DriveSettings { past: Some(Past::Steady), ..DriveSettings::default() };
            let spare = |drive: &DriveEntry| {
                let params = drive.page_mapped(&settings).expect("parameters");
                let physical = params.superblocks() * params.units_per_superblock();
                1.0 - params.units() as f64 / physical as f64
            };
            let (whole, part) = (spare(drive), spare(&small));
            assert!((part / whole - 1.0).abs() < 0.02, "{}: {part} of {whole}", drive.name());
            assert!(small.capacity_bytes < 3 << 30, "{}", drive.name());
        }
    }
}
