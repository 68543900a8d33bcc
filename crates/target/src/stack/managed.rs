//! The managed-flash layer: what its settings stand for, and a volume on a drive or an array.

use super::{
    array::ResolvedArray,
    layers::LayerInfo,
    named::ResolvedDrive,
    settings::Settings,
    text::{BadStack, Part},
};
use crate::catalog::DriveKind;
use block::{Command, Drive, Engine, IoError, Rng, Stack, submit_to_and_wait};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Cleaning, IdleCleaning, Parity, Shape, Size, Topology, Volume,
    VolumeId, Wishes,
};
use model::{Beside, Level};
use record::{Flag, ManagedFlash, Warning};

/// Spare of a volume that names none, in thousandths: that of drives sold for servers, where even
/// uniform random writes cost no more than a copied block for each written one.
pub const SPARE_PER_MILLE: u32 = 280;
/// What a request takes that the volume answers from memory, ns: 4 KiB copied and their checksum
/// computed, at some 10 GB/s each, and the map.
const ANSWER_NS: u64 = 1_000;
/// An erase unit so large that fewer fit onto the drive is not kept to.
const UNITS_MIN: u64 = 256;

/// The volume of a drive or an array.
pub type Managed = Stack<Volume, Box<dyn Engine>>;

/// A layer `/flash` with its settings; what was not set is found when the size below is known.
pub(super) struct ResolvedFlash {
    /// As it was written, for a description.
    pub text: String,
    wishes: Wishes,
    stripe_bytes: u64,
    erase_unit_bytes: u64,
    /// Whether the user chose the erase unit.
    erase_unit_is_set: bool,
    parity: Parity,
    /// Only so much of what lies below is used.
    drive_bytes: Option<u64>,
    settings: flash::Settings,
}

/// The words of `cleaning=`.
pub(crate) const CLEANINGS: &[(&str, Cleaning)] = &[
    ("fifo", Cleaning::Fifo),
    ("greedy", Cleaning::Greedy),
    ("cost-benefit", Cleaning::CostBenefit),
    ("sepbit", Cleaning::SepBit),
    ("auto", Cleaning::Auto),
];
/// The words of `checksums=`.
const CHECKSUMS: &[(&str, Checksums)] =
    &[("read", Checksums::OnRead), ("cleaning", Checksums::OnCleaning)];

/// Reads a layer's settings; `array` is what it lies on, if that is one.
pub(super) fn resolve_flash(
    layer: &Part,
    drives: &[ResolvedDrive<'_>],
    array: Option<&ResolvedArray<'_>>,
    queue_depth: u32,
) -> Result<ResolvedFlash, BadStack> {
    const SIZES: std::ops::RangeInclusive<u64> = BLOCK_BYTES..=1 << 40;
    let settings = Settings::of(layer);
    let spare = settings.per_mille("spare")?.unwrap_or(SPARE_PER_MILLE);
    let erase_unit = settings.bytes("erase-unit", SIZES)?;
    let (stripe_bytes, parity) =
        array.map_or((BLOCK_BYTES, Parity::None), |array| array_stripe(array, drives.len() as u64));
    let defaults = flash::Settings::default();
    let cleaning = settings.word("cleaning", CLEANINGS)?.unwrap_or(defaults.cleaning);
    let resolved = ResolvedFlash {
        text: layer.to_string(),
        wishes: Wishes {
            size: Size::Spare(spare),
            segment_bytes: settings.bytes("segment", SIZES)?,
            chunk_bytes: settings.bytes("chunk", 2 * BLOCK_BYTES..=64 << 20)?,
            ring_bytes: settings.bytes("ring", 0..=1 << 40)?.or_else(|| ring_bytes(drives)),
            checksums: settings.word("checksums", CHECKSUMS)?.unwrap_or(Checksums::OnRead),
            classes: match cleaning {
                Cleaning::SepBit | Cleaning::Auto => Classes::SEPBIT,
                Cleaning::Fifo | Cleaning::Greedy | Cleaning::CostBenefit => Classes::TWO,
            },
        },
        stripe_bytes: settings.bytes("stripe", SIZES)?.unwrap_or(stripe_bytes),
        erase_unit_bytes: erase_unit.unwrap_or_else(|| erase_unit_bytes(drives, array)),
        erase_unit_is_set: erase_unit.is_some(),
        parity,
        drive_bytes: settings.bytes("drive-size", 16 << 20..=1 << 44)?,
        settings: flash::Settings {
            queue_depth,
            answer_ns: ANSWER_NS,
            cleaning,
            idle: Some(IdleCleaning::default()),
            ..defaults
        },
    };
    settings.finish()?;
    Ok(resolved)
}

/// No ring where each small write is a merge: a record is one in two members, and filling up the
/// stripe sequentially is nearly twice as fast (docs/results/flash.md). A seek makes no difference,
/// and elsewhere the ring is faster.
fn ring_bytes(drives: &[ResolvedDrive<'_>]) -> Option<u64> {
    let merges = |drive: &ResolvedDrive<'_>| drive.entry.kind == DriveKind::BlockMapped;
    drives.iter().any(merges).then_some(0)
}

/// How much of an array lies on one row of it, and whether the row has parity.
fn array_stripe(array: &ResolvedArray<'_>, members: u64) -> (u64, Parity) {
    let parity = match array.level {
        Level::Raid5 | Level::Raid6 => Parity::Protected,
        Level::Raid0 | Level::Raid1 | Level::Raid10 => Parity::None,
    };
    match array.level {
        // Every member holds everything: there are no rows.
        Level::Raid1 => (BLOCK_BYTES, parity),
        level => (u64::from(array.chunk_bytes) * data_members(level, members), parity),
    }
}

fn data_members(level: Level, members: u64) -> u64 {
    match level {
        Level::Raid0 => members,
        Level::Raid1 => 1,
        Level::Raid5 => members - 1,
        Level::Raid6 => members - 2,
        Level::Raid10 => members / 2,
    }
}

/// What all members erase at once covers so much of the array.
fn erase_unit_bytes(drives: &[ResolvedDrive<'_>], array: Option<&ResolvedArray<'_>>) -> u64 {
    let of_drive = |drive: &ResolvedDrive<'_>| drive.entry.erase_unit_bytes();
    let own = drives.iter().filter_map(of_drive).max().unwrap_or(BLOCK_BYTES);
    match array {
        Some(array) => {
            own.max(u64::from(array.chunk_bytes)) * data_members(array.level, drives.len() as u64)
        }
        None => own,
    }
}

/// A new volume on a drive of memory.
///
/// # Errors
/// What cannot be, in a sentence.
pub(crate) fn on_memory(
    below: Box<dyn Engine>,
    layer: &Part,
    seed: u64,
) -> Result<Managed, BadStack> {
    let mut resolved = resolve_flash(layer, &[], None, crate::volume::QUEUE_DEPTH)?;
    resolved.settings.answer_ns = 1;
    with_flash(below, &resolved, Found::Nothing, seed, &mut Vec::new())
}

/// What is on the drives already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    /// The volume that this stack had before its power was cut.
    Volume,
}

/// Sets a new volume on `below`, or recovers the one that is there, and waits until it is open.
pub(super) fn with_flash(
    below: Box<dyn Engine>,
    layer: &ResolvedFlash,
    found: Found,
    seed: u64,
    layers: &mut Vec<LayerInfo>,
) -> Result<Managed, BadStack> {
    let (volume, exported_bytes) = volume(below.geometry(Drive(0)), layer, found, seed)?;
    let mut stack = Stack::new(volume, below);
    let opened = flush(&mut stack, Drive(0));
    layer.check_open(&stack.machine, opened)?;
    layers.push(LayerInfo {
        text: layer.text.clone(),
        kind: "managed_flash",
        bytes: exported_bytes,
        title: None,
        rotational: None,
    });
    Ok(stack)
}

/// Sets a volume on drive 1 of `engine`, past which drive 0 is reached, and waits until it is open.
pub(super) fn with_flash_beside(
    engine: Box<dyn Engine>,
    layer: &ResolvedFlash,
    found: Found,
    seed: u64,
) -> Result<Box<dyn Engine>, BadStack> {
    let (volume, _) = volume(engine.geometry(Drive(1)), layer, found, seed)?;
    let first = engine.geometry(Drive(0));
    let mut stack = Stack::new(Beside::second(volume, first), engine);
    let opened = flush(&mut stack, Drive(1));
    layer.check_open(stack.machine.machine(), opened)?;
    Ok(Box::new(stack))
}

impl ResolvedFlash {
    /// What its first flush said.
    fn check_open(&self, volume: &Volume, opened: Result<(), IoError>) -> Result<(), BadStack> {
        if let Some(error) = volume.open_error() {
            return Err(BadStack::Open { layer: self.text.clone(), error });
        }
        opened.map_err(|error| BadStack::Io { layer: self.text.clone(), error })
    }
}

/// A volume that is to be opened on a drive, and how large it is if it is new.
fn volume(
    geometry: block::Geometry,
    layer: &ResolvedFlash,
    found: Found,
    seed: u64,
) -> Result<(Volume, u64), BadStack> {
    let refused = |refusal| BadStack::Volume { layer: layer.text.clone(), refusal };
    // A rest that is no whole block is nobody's.
    let bytes = layer.drive_bytes.unwrap_or(u64::MAX).min(geometry.capacity_bytes);
    let whole = bytes / BLOCK_BYTES * BLOCK_BYTES;
    let geometry = block::Geometry { capacity_bytes: whole, ..geometry };
    let fits = layer.erase_unit_is_set || layer.erase_unit_bytes <= whole / UNITS_MIN;
    let topology = Topology {
        device_bytes: whole,
        transfer_bytes_max: u64::from(geometry.transfer_bytes_max),
        stripe_bytes: layer.stripe_bytes,
        erase_unit_bytes: if fits { layer.erase_unit_bytes } else { BLOCK_BYTES },
        parity: layer.parity,
    };
    let shape = Shape::propose(&topology, &layer.wishes).map_err(refused)?;
    let volume = match found {
        Found::Volume => Volume::open(geometry, layer.settings),
        Found::Nothing => {
            Volume::create(geometry, shape, volume_id(seed), layer.settings).map_err(refused)?
        }
    };
    Ok((volume, shape.exported_bytes))
}

fn volume_id(seed: u64) -> VolumeId {
    let mut id = [0; 16];
    Rng::new(seed, 0xf1a5).fill(&mut id);
    VolumeId(id)
}

/// One flush with nothing else in flight: a volume answers its first one when it is open.
fn flush(engine: &mut impl Engine, drive: Drive) -> Result<(), IoError> {
    submit_to_and_wait(engine, drive, Command::Flush).result
}

/// How a volume stands and what it has done, for records; nothing before it is open.
pub(crate) fn standing(volume: &Volume) -> Option<ManagedFlash> {
    let (counters, layout) = (volume.counters()?, volume.layout()?);
    let bytes = |blocks: u64| blocks * BLOCK_BYTES;
    let on_top = counters.copied_blocks
        + counters.page_blocks
        + counters.header_blocks
        + counters.record_blocks
        + counters.padding_blocks;
    let host = counters.host_blocks;
    Some(ManagedFlash {
        exported_bytes: layout.shape.exported_bytes,
        mapped_bytes: bytes(counters.mapped_blocks),
        segment_bytes: layout.shape.segment_bytes,
        segments: u64::from(layout.segments),
        free_segments: counters.free_segments,
        prefree_segments: counters.prefree_segments,
        clean_pool_bytes: counters.clean_pool_bytes,
        host_bytes: bytes(host),
        copied_bytes: bytes(counters.copied_blocks),
        map_bytes: bytes(counters.page_blocks),
        header_bytes: bytes(counters.header_blocks),
        padding_bytes: bytes(counters.padding_blocks),
        record_bytes: bytes(counters.record_blocks),
        write_amplification: (host > 0).then(|| (host + on_top) as f64 / host as f64),
        cleaned_segments: counters.cleaned,
        checkpoints: counters.checkpoints,
        checksum_errors: counters.checksum_errors,
    })
}

/// A flag where reads of the first `span_bytes` would find blocks that nobody wrote: those are
/// answered from the map.
pub(crate) fn unmapped(volume: &Volume, span_bytes: u64) -> Option<Warning> {
    /// As for drives: what the flag's meaning says.
    const SHARE_MAX: f64 = 0.05;
    let end = (span_bytes / BLOCK_BYTES).max(1);
    let mapped = volume.mappings().filter(|(block, _)| u64::from(*block) < end).count();
    let share = 1.0 - mapped as f64 / end as f64;
    (share > SHARE_MAX).then(|| {
        let flag = Flag::DeallocatedBlocks;
        let text = format!(
            "{:.1} % of the tested area is not mapped in the managed volume: {}",
            100.0 * share,
            flag.cure()
        );
        Warning { flag: Some(flag), text }
    })
}
