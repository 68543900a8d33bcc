//! The layer `/cache`: a flash drive of the catalog in front of what lies below, and presets that
//! stand for what exists. And what is done with any drive beside the disks.

use super::{
    beside::{Beside, ResolvedBeside, ResolvedCache, flash_drive, no_flash_drive},
    layers::{LayerInfo, Preset, QUEUE_DEPTH},
    managed::{Found, ResolvedFlash, resolve_flash, with_flash_beside},
    named::ResolvedDrive,
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::Catalog;
use block::{Data, Drive, Engine, Geometry, Stack, display_bytes};
use model::{
    Attached, BLOCKS_MAX, BLOCKS_MIN, Cached, MapPlace, Own, Policy, Port, SsdCache,
    SsdCacheParams, SsdCacheTally, Takes, WriteCaching, WriteMode, fs::Placement,
};

/// What a cache lies on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Drive,
    Flash,
}

pub(super) fn resolve_cache<'c>(
    layer: &Part,
    preset: Preset,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<ResolvedBeside<'c>, BadStack> {
    let settings = Settings::of(layer);
    let name = settings.text("ssd").ok_or_else(|| no_flash_drive(layer, "size=32G"))?;
    let (drive, port) = flash_drive(name, catalog, seed)?;
    let capacity = drive.entry.capacity(&drive.settings);
    let size = settings.bytes("size", 1 << 20..=capacity.max(1 << 20))?;
    let size_bytes = size.unwrap_or(capacity);
    let modes = [
        ("writeback", WriteMode::Back),
        ("writethrough", WriteMode::Through),
        ("writearound", WriteMode::Around),
    ];
    let policies = Policy::ALL.map(|policy| (policy.name(), policy));
    let maps = [("persistent", MapPlace::Persistent), ("memory", MapPlace::Memory)];
    let fills = [("request", Takes::ReadsAndWrites), ("block", Takes::WholeBlocks)];
    let takes = match preset.takes {
        Takes::WritesAlone => Takes::WritesAlone,
        takes => settings.word("fill", &fills)?.unwrap_or(takes),
    };
    let dirty_per_mille = settings.per_mille("dirty")?.unwrap_or(preset.dirty_per_mille);
    let params = SsdCacheParams {
        size_bytes,
        block_bytes: block_bytes(&settings, preset.block_bytes, size_bytes)?,
        mode: settings.word("mode", &modes)?.unwrap_or(preset.mode),
        policy: settings.word("policy", &policies)?.unwrap_or(preset.policy),
        map: settings.word("map", &maps)?.unwrap_or(MapPlace::Persistent),
        bypass_bytes: settings.bytes("bypass-seq", 0..=1 << 40)?.unwrap_or(preset.bypass_bytes),
        dirty_per_mille,
        pause_ns: preset.pause_ns,
        clean_per_mille: dirty_per_mille * preset.clean_of_dirty_per_mille / 1000,
        takes,
    };
    if params.takes == Takes::WritesAlone && params.mode != WriteMode::Back {
        let text = settings.text("mode").unwrap_or_default();
        let about = "leaves nothing on flash: it holds writes alone, which go back; leave it out";
        return Err(settings.wrong("mode", text, about));
    }
    check_blocks(&settings, &params)?;
    let home = home(&settings, &drive)?;
    settings.finish()?;
    let cache = ResolvedCache { params, size_is_set: size.is_some(), home };
    Ok(ResolvedBeside { text: layer.to_string(), drive, port, layer: Beside::Cache(cache) })
}

/// `home=flash`: a managed volume on the flash drive, with the spare of `spare=`.
fn home(
    settings: &Settings<'_>,
    drive: &ResolvedDrive<'_>,
) -> Result<Option<Box<ResolvedFlash>>, BadStack> {
    let homes = [("drive", Home::Drive), ("flash", Home::Flash)];
    let home = settings.word("home", &homes)?.unwrap_or(Home::Drive);
    let spare = settings.text("spare");
    match (home, spare) {
        (Home::Drive, Some(text)) => {
            Err(settings.wrong("spare", text, "is that of a managed volume: write `home=flash`"))
        }
        (Home::Drive, None) => Ok(None),
        (Home::Flash, spare) => {
            let spare = spare.map(|text| ("spare".to_owned(), text.to_owned()));
            let part = Part { name: "flash".to_owned(), settings: spare.into_iter().collect() };
            let volume = resolve_flash(&part, std::slice::from_ref(drive), None, QUEUE_DEPTH)?;
            Ok(Some(Box::new(volume)))
        }
    }
}

fn block_bytes(settings: &Settings<'_>, least: u32, size_bytes: u64) -> Result<u32, BadStack> {
    let Some(bytes) = settings.bytes("block", 4096..=1 << 20)? else {
        let fitting = |block: &u64| size_bytes / block <= BLOCKS_MAX;
        let blocks = (0..=8).map(|power| u64::from(least) << power);
        let blocks = blocks.filter(|&block| block <= 1 << 20);
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

/// Whether every drive's write cache is off, and no flash holds what the disks lack. The block
/// layer sends no FLUSH to a drive that says it has none.
pub(super) fn is_write_through(
    drives: &[ResolvedDrive<'_>],
    beside: Option<&ResolvedBeside<'_>>,
) -> bool {
    beside.is_none_or(ResolvedBeside::is_write_through)
        && drives.iter().all(|drive| drive.entry.write_cache(&drive.settings) == WriteCaching::Off)
}

impl ResolvedBeside<'_> {
    /// Whether a flush has nothing to do on flash: nothing lies there alone, or the drive has no
    /// volatile cache.
    pub fn is_write_through(&self) -> bool {
        match &self.layer {
            Beside::Cache(cache) => cache.params.mode != WriteMode::Back,
            Beside::Pin(_) | Beside::Tier(_) | Beside::Files(_) => {
                self.drive.entry.write_cache(&self.drive.settings) == WriteCaching::Off
            }
        }
    }

    /// Whether what was written to the flash drive may be in a volume's memory.
    pub fn has_volume(&self) -> bool {
        matches!(&self.layer, Beside::Cache(cache) if cache.home.is_some())
    }

    /// What of a file system lies there, if the drive is one's second.
    pub fn placement(&self) -> Option<Placement> {
        match self.layer {
            Beside::Files(placement) => Some(placement),
            _ => None,
        }
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

    /// Sets the layer on `engine`, whose drive 0 are the disks and drive 1 is flash.
    pub fn set_on(
        &self,
        mut engine: Box<dyn Engine>,
        (found, seed): (Found, u64),
        layers: &mut Vec<LayerInfo>,
        ssd_cache: &mut Option<SsdCacheTally>,
    ) -> Result<Box<dyn Engine>, BadStack> {
        let mut bytes_of = Drive(0);
        let (kind, engine): (_, Box<dyn Engine>) = match &self.layer {
            Beside::Files(placement) => {
                bytes_of = Drive(1);
                (placed_kind(*placement), engine)
            }
            Beside::Cache(cache) => {
                if let Some(home) = &cache.home {
                    engine = with_flash_beside(engine, home, found, seed)?;
                }
                let params = self.fitted(cache, engine.geometry(Drive(1)).capacity_bytes)?;
                let Geometry { capacity_bytes, .. } = engine.geometry(Drive(0));
                self.check_smaller(params.size_bytes, capacity_bytes)?;
                let io = |error| BadStack::Io { layer: self.text.clone(), error };
                let machine = SsdCache::open(params, &mut engine).map_err(io)?;
                *ssd_cache = Some(machine.tally());
                ("ssd_cache", Box::new(Stack::new(machine, engine)))
            }
            Beside::Pin(range) => {
                let machine = self.pin(*range, &*engine)?;
                ("pin", Box::new(Stack::new(machine, engine)))
            }
            Beside::Tier(tier) => {
                let machine = self.tier(*tier, &mut engine)?;
                ("tier", Box::new(Stack::new(machine, engine)))
            }
        };
        layers.push(LayerInfo {
            text: self.text.clone(),
            kind,
            bytes: engine.geometry(bytes_of).capacity_bytes,
            title: Some(self.drive.entry.entry.title.clone()),
            rotational: None,
        });
        Ok(engine)
    }

    /// A cache as large as what it lies on, unless a size was chosen.
    fn fitted(&self, cache: &ResolvedCache, home_bytes: u64) -> Result<SsdCacheParams, BadStack> {
        let mut params = cache.params;
        if cache.size_is_set && params.size_bytes > home_bytes {
            return Err(BadStack::Text(format!(
                "`{}` takes {}, and the managed volume on `{}` has {}: write a smaller `size=` or \
                 `spare=`",
                self.text,
                display_bytes(params.size_bytes),
                self.drive.entry.name(),
                display_bytes(home_bytes)
            )));
        }
        params.size_bytes = params.size_bytes.min(home_bytes);
        if params.blocks() < BLOCKS_MIN {
            return Err(BadStack::Text(format!(
                "`{}` holds {} blocks: {BLOCKS_MIN} are the fewest; write a smaller `block=`",
                self.text,
                params.blocks()
            )));
        }
        Ok(params)
    }

    /// Flash that is no smaller than the disks makes them needless.
    pub fn check_smaller(&self, size_bytes: u64, disks_bytes: u64) -> Result<(), BadStack> {
        if size_bytes < disks_bytes {
            return Ok(());
        }
        Err(BadStack::Text(format!(
            "`{}` takes {} in front of {}: flash that is no smaller than the disks below it needs \
             no disks; write a smaller `size=`, or run `model:{}` alone",
            self.text,
            display_bytes(size_bytes),
            display_bytes(disks_bytes),
            self.drive.entry.name()
        )))
    }
}

/// What a second drive of a file system is for, in a word.
fn placed_kind(placement: Placement) -> &'static str {
    match placement {
        Placement { metadata: true, .. } => "metadata",
        Placement { journal: true, .. } => "journal",
        Placement { .. } => "small_files",
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
