//! The layer `/cache`: a flash drive of the catalog in front of what lies below, and presets that
//! stand for what exists.

use super::{
    open::{LayerInfo, QUEUE_DEPTH},
    resolve::{ResolvedDrive, find_drive},
    settings::Settings,
    text::{BadStack, Member, Part},
};
use crate::catalog::{Catalog, DriveSettings, HostEntry};
use block::{Data, Drive, Engine, Geometry, Rng, Stack, display_bytes, names::did_you_mean};
use model::{
    Attached, BLOCKS_MAX, BLOCKS_MIN, Cached, MapPlace, Own, Policy, Port, SsdCache,
    SsdCacheParams, WriteMode,
};

/// Names of the layer; what they are set to unless something else is written.
pub(super) const CACHES: [(&str, Preset); 3] = [
    ("cache", PLAIN),
    // drivers/md/bcache of Linux 6.1: writethrough, LRU, sequential_cutoff 4 MiB, and once it is
    // set to write back, writeback_percent 10.
    ("bcache", PLAIN),
    // drivers/md/dm-cache: it knows no streams (smq); its policy is like 2Q in that it promotes
    // what comes back. lvmcache's mode is writethrough.
    ("dm-cache", Preset { policy: Policy::TwoQ, bypass_bytes: 0, ..PLAIN }),
];

const PLAIN: Preset = Preset {
    mode: WriteMode::Through,
    policy: Policy::Lru,
    bypass_bytes: 4 << 20,
    dirty_per_mille: 100,
};

/// Blocks of a cache that names none, at least.
const BLOCK_BYTES: u32 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Preset {
    mode: WriteMode,
    policy: Policy,
    bypass_bytes: u64,
    dirty_per_mille: u32,
}

pub(super) struct ResolvedCache<'c> {
    /// As it was written, for a description.
    pub text: String,
    pub drive: ResolvedDrive<'c>,
    port: &'c HostEntry,
    params: SsdCacheParams,
}

pub(super) fn resolve_cache<'c>(
    layer: &Part,
    preset: Preset,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<ResolvedCache<'c>, BadStack> {
    let settings = Settings::of(layer);
    let Some(name) = settings.text("ssd") else {
        return Err(BadStack::Text(format!(
            "`{}` names no flash drive: write one, such as `/{}:ssd=nvme-tlc,size=32G`",
            layer.name, layer.name
        )));
    };
    let (drive, port) = flash_drive(name, catalog, seed)?;
    let capacity = drive.entry.capacity(&drive.settings);
    let size_bytes = settings.bytes("size", 1 << 20..=capacity.max(1 << 20))?.unwrap_or(capacity);
    let modes = [
        ("writeback", WriteMode::Back),
        ("writethrough", WriteMode::Through),
        ("writearound", WriteMode::Around),
    ];
    let policies = Policy::ALL.map(|policy| (policy.name(), policy));
    let maps = [("persistent", MapPlace::Persistent), ("memory", MapPlace::Memory)];
    let params = SsdCacheParams {
        size_bytes,
        block_bytes: block_bytes(&settings, size_bytes)?,
        mode: settings.word("mode", &modes)?.unwrap_or(preset.mode),
        policy: settings.word("policy", &policies)?.unwrap_or(preset.policy),
        map: settings.word("map", &maps)?.unwrap_or(MapPlace::Persistent),
        bypass_bytes: settings.bytes("bypass-seq", 0..=1 << 40)?.unwrap_or(preset.bypass_bytes),
        dirty_per_mille: settings.per_mille("dirty")?.unwrap_or(preset.dirty_per_mille),
    };
    check_blocks(&settings, &params)?;
    settings.finish()?;
    Ok(ResolvedCache { text: layer.to_string(), drive, port, params })
}

/// The drive with its own port, which it does not share with the disks.
fn flash_drive<'c>(
    name: &str,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<(ResolvedDrive<'c>, &'c HostEntry), BadStack> {
    let drive = Part { name: name.to_owned(), settings: Vec::new() };
    let entry = find_drive(&Member { count: 1, drive }, catalog)?;
    if entry.kind == crate::catalog::DriveKind::Disk {
        let flash = catalog.drives().iter().filter(|drive| drive.kind != entry.kind);
        let near = did_you_mean(name, flash.map(|drive| drive.name()));
        return Err(BadStack::Text(format!(
            "`ssd={name}` is a disk: a cache in front of disks is flash, such as \
             `ssd=nvme-tlc`.{near}"
        )));
    }
    let port = catalog.port(&entry.port).expect("the catalog checked its ports");
    let seed = Rng::new(seed, 0xd2_0000).next();
    let settings = DriveSettings { port: port.limits(), seed, ..DriveSettings::default() };
    Ok((ResolvedDrive { entry, settings }, port))
}

fn block_bytes(settings: &Settings<'_>, size_bytes: u64) -> Result<u32, BadStack> {
    let Some(bytes) = settings.bytes("block", 4096..=1 << 20)? else {
        let fitting = |block: &u64| size_bytes / block <= BLOCKS_MAX;
        let blocks = (0..=4).map(|power| u64::from(BLOCK_BYTES) << power);
        return Ok(blocks.into_iter().find(fitting).unwrap_or(1 << 20) as u32);
    };
    if !bytes.is_power_of_two() {
        let text = settings.text("block").unwrap_or_default();
        return Err(settings.wrong("block", text, "is no power of two, such as 64K"));
    }
    Ok(bytes as u32)
}

/// So few blocks that none can move, or so many that their map does not fit into memory.
fn check_blocks(settings: &Settings<'_>, params: &SsdCacheParams) -> Result<(), BadStack> {
    let (blocks, size) = (params.blocks(), display_bytes(params.size_bytes));
    let block = display_bytes(params.block_bytes.into());
    if blocks < BLOCKS_MIN {
        let about = format!("holds {blocks} blocks of {block}: {BLOCKS_MIN} are the fewest");
        return Err(settings.wrong("size", &size, &about));
    }
    if blocks > BLOCKS_MAX {
        let about = format!("makes {blocks} blocks of {size}: at most {BLOCKS_MAX}; write more");
        return Err(settings.wrong("block", &block, &about));
    }
    Ok(())
}

impl ResolvedCache<'_> {
    /// Whether a completed write may lie on flash alone.
    pub fn holds_writes(&self) -> bool {
        self.params.mode == WriteMode::Back
    }

    /// The flash drive behind its own port: a machine, and how it is attached.
    pub fn machine(&self) -> Result<(Box<dyn Cached>, Attached), BadStack> {
        let machine = self.drive.entry.build(&self.drive.settings, QUEUE_DEPTH)?;
        let attached = self.drive.entry.attached(&*machine, &self.drive.settings);
        let port = Port::new(self.port.port(None), &[attached], QUEUE_DEPTH + 1);
        let own = Own::new(port, machine);
        let geometry = block::Machine::geometry(&own, Drive(0));
        Ok((Box::new(own), Attached { geometry, ..attached }))
    }

    /// Sets the cache on `engine`, whose drive 0 are the disks and drive 1 is flash.
    pub fn set_on(
        &self,
        mut engine: Box<dyn Engine>,
        layers: &mut Vec<LayerInfo>,
    ) -> Result<Box<dyn Engine>, BadStack> {
        let Geometry { capacity_bytes, .. } = engine.geometry(Drive(0));
        if self.params.size_bytes >= capacity_bytes {
            return Err(BadStack::Text(format!(
                "`{}` takes {} in front of {}: flash that is no smaller than what it caches for \
                 needs no disks; write a smaller `size=`, or run `model:{}` alone",
                self.text,
                display_bytes(self.params.size_bytes),
                display_bytes(capacity_bytes),
                self.drive.entry.name()
            )));
        }
        let io = |error| BadStack::Io { layer: self.text.clone(), error };
        let machine = SsdCache::open(self.params, &mut engine).map_err(io)?;
        layers.push(LayerInfo {
            text: self.text.clone(),
            kind: "ssd_cache",
            bytes: capacity_bytes,
            title: Some(self.drive.entry.entry.title.clone()),
            rotational: None,
        });
        Ok(Box::new(Stack::new(machine, engine)))
    }
}

/// What is passed on beside the disks: the flash drive, where there is one.
pub(super) fn beside(geometry: Option<Geometry>, is_served: bool) -> Vec<Geometry> {
    let stored = |geometry: Geometry| match is_served {
        true => Geometry { data: Data::Stored, ..geometry },
        false => geometry,
    };
    geometry.map(stored).into_iter().collect()
}
