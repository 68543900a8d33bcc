//! A drive beside those that a stack begins with: what it is there for, and how it is found.

use super::{
    managed::ResolvedFlash,
    named::{ResolvedDrive, find_drive},
    text::{BadStack, Member, Part},
};
use crate::catalog::{Catalog, DriveKind, DriveSettings, HostEntry};
use block::{Rng, names::did_you_mean};
use model::{SsdCacheParams, fs::Placement};

/// A layer with a flash drive beside the disks.
pub(super) struct ResolvedBeside<'c> {
    /// As it was written, for a description.
    pub text: String,
    pub drive: ResolvedDrive<'c>,
    pub port: &'c HostEntry,
    pub layer: Beside,
}

/// Which layer.
pub(super) enum Beside {
    Cache(ResolvedCache),
    Pin(Range),
    Tier(TierSettings),
    /// What a file system places there is all that lies there.
    Files(Placement),
}

/// A cache on flash.
pub(super) struct ResolvedCache {
    pub params: SsdCacheParams,
    /// Whether the user chose how large it is.
    pub size_is_set: bool,
    /// The managed volume on the flash drive that it lies on, if it lies on one.
    pub home: Option<Box<ResolvedFlash>>,
}

/// A range of a volume, whose size is not known yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Range {
    /// Percent, 0 to 100.
    Percent(f64, f64),
    /// Bytes.
    Bytes(u64, u64),
}

/// A tier; its extents may depend on what lies below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TierSettings {
    pub size_bytes: u64,
    pub extent_bytes: Option<u64>,
    pub epoch_ns: u64,
}

pub(super) fn no_flash_drive(layer: &Part, example: &str) -> BadStack {
    BadStack::Text(format!(
        "`{}` names no flash drive: write one, such as `/{}:ssd=nvme-tlc,{example}`",
        layer.name, layer.name
    ))
}

/// The flash drive with its own port, which it does not share with the disks.
pub(super) fn flash_drive<'c>(
    name: &str,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<(ResolvedDrive<'c>, &'c HostEntry), BadStack> {
    let (drive, port) = second_drive(name, catalog, seed)?;
    if drive.entry.kind == DriveKind::Disk {
        let flash = catalog.drives().iter().filter(|drive| drive.kind != DriveKind::Disk);
        let near = did_you_mean(name, flash.map(|drive| drive.name()));
        return Err(BadStack::Text(format!(
            "`ssd={name}` is a disk: what stands beside disks is flash, such as \
             `ssd=nvme-tlc`.{near}"
        )));
    }
    Ok((drive, port))
}

/// Any drive with its own port.
pub(super) fn second_drive<'c>(
    name: &str,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<(ResolvedDrive<'c>, &'c HostEntry), BadStack> {
    let drive = Part { name: name.to_owned(), settings: Vec::new() };
    let entry = find_drive(&Member { count: 1, drive }, catalog)?;
    let port = catalog.port(&entry.port).expect("the catalog checked its ports");
    let seed = Rng::new(seed, 0xd2_0000).next();
    let settings = DriveSettings { port: port.limits(), seed, ..DriveSettings::default() };
    Ok((ResolvedDrive { entry, settings }, port))
}
