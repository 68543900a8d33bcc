//! Names and settings become what they stand for; everything that cannot be built is refused here,
//! in a sentence.

use super::{
    array::{ResolvedArray, resolve_array},
    beside::ResolvedBeside,
    cached::{is_write_through, resolve_cache},
    elevator::{ResolvedElevator, resolve_elevator},
    layer_words,
    layers::{Family, LAYERS, QUEUE_DEPTH, RAM_BYTES},
    managed::{ResolvedFlash, resolve_flash},
    named::{ResolvedDrive, device_queue_depth, drives, unequal},
    placed::{resolve_pin, resolve_tier},
    second::{note_on_small_files, second_keys, with_second},
    settings::Settings,
    text::{BadStack, Part, Stack},
};
use crate::catalog::{Catalog, HostEntry, parse_kernel};
use block::names::did_you_mean;
use model::{
    Level,
    fs::{Barrier, DataMode, Discard, Elevator, FileSystemParams, Kernel, Kind, LazyCount},
};

/// A stack of things that exist.
pub(super) struct Resolved<'c> {
    pub drives: Vec<ResolvedDrive<'c>>,
    pub port: &'c HostEntry,
    pub array: Option<ResolvedArray<'c>>,
    pub elevator: Option<ResolvedElevator>,
    /// The layer with a flash drive beside the disks.
    pub beside: Option<ResolvedBeside<'c>>,
    pub flash: Option<ResolvedFlash>,
    pub files: Option<ResolvedFiles>,
    /// Memory of the file system's page cache, bytes.
    pub ram_bytes: Option<u64>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl<'c> Resolved<'c> {
    /// The drives, and the flash drive beside them.
    pub fn all_drives(&self) -> impl Iterator<Item = &ResolvedDrive<'c>> {
        self.drives.iter().chain(self.beside.as_ref().map(|layer| &layer.drive))
    }
}

pub(super) struct ResolvedFiles {
    /// As it was written, for a description.
    pub text: String,
    pub params: FileSystemParams,
}

pub(super) fn resolve<'c>(
    stack: &Stack,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<Resolved<'c>, BadStack> {
    let (drives, port, mut notes) = drives(stack, catalog, seed)?;
    let families = stack.layers.iter().map(family).collect::<Result<Vec<_>, _>>()?;
    check_order(stack, &families)?;
    let (mut array, mut elevator, mut beside, mut flash, mut files) =
        (None, None, None, None, None);
    for (layer, family) in stack.layers.iter().zip(families) {
        match family {
            Family::Array(level) => array = Some(resolve_array(layer, level, &drives, catalog)?),
            Family::Elevator(choice) => {
                elevator = Some(resolve_elevator(layer, choice, device_queue_depth(&drives))?);
            }
            Family::Cache(preset) => beside = Some(resolve_cache(layer, preset, catalog, seed)?),
            Family::Pin => beside = Some(resolve_pin(layer, catalog, seed)?),
            Family::Tier => beside = Some(resolve_tier(layer, catalog, seed)?),
            Family::Files => {
                beside = with_second(layer, beside, flash.is_some(), catalog, seed)?;
                notes.extend(note_on_small_files(layer));
                let through = is_write_through(&drives, beside.as_ref());
                files = Some(resolve_files(layer, &drives, elevator.as_ref(), through)?);
            }
            Family::Flash => {
                flash = Some(resolve_flash(layer, &drives, array.as_ref(), QUEUE_DEPTH)?);
            }
        }
    }
    if array.is_some() {
        notes.extend(unequal(&drives));
        let memory = array.as_ref().and_then(|array: &ResolvedArray<'_>| array.memory.as_ref());
        notes.extend(memory.map(|memory| memory.note.clone()));
    }
    let ram_bytes = files.as_ref().map(|files: &ResolvedFiles| files.params.ram_bytes);
    Ok(Resolved { drives, port, array, elevator, beside, flash, files, ram_bytes, notes })
}

fn family(layer: &Part) -> Result<Family, BadStack> {
    let found = LAYERS.iter().find(|(name, _)| *name == layer.name);
    found.map(|(_, family)| *family).ok_or_else(|| {
        let names = || LAYERS.iter().map(|(name, _)| *name);
        if let Some(here) = layer_words::instead(&layer.name) {
            return BadStack::Text(format!("there is no layer `{}`: {here}", layer.name));
        }
        let near = did_you_mean(&layer.name, names());
        BadStack::Text(format!(
            "there is no layer `{}`.{near} Layers: {}",
            layer.name,
            names().collect::<Vec<_>>().join(", ")
        ))
    })
}

/// Drives, then at most one array, elevator, flash beside them, managed volume, file system.
fn check_order(stack: &Stack, families: &[Family]) -> Result<(), BadStack> {
    let mut below: Option<(&str, Family)> = None;
    let mut single = stack.drives() == 1;
    for (layer, &family) in stack.layers.iter().zip(families) {
        let name = layer.name.as_str();
        check_beside(name, family, below)?;
        match (family, below) {
            (Family::Array(_), Some((lower, Family::Files))) => {
                return Err(BadStack::Text(format!(
                    "`{lower}` lies below `{name}`: a file system stands on top of the array; write \
                     `/{name}/{lower}`"
                )));
            }
            (Family::Files, Some((lower, Family::Files))) => {
                return Err(BadStack::Text(format!(
                    "`{name}` on `{lower}`: one file system is enough; leave one of them out"
                )));
            }
            (Family::Elevator(_), Some((lower, Family::Files | Family::Flash))) => {
                return Err(BadStack::Text(format!(
                    "`{lower}` lies below `{name}`: an elevator stands right on the drive or the \
                     array; write `/{name}/{lower}`"
                )));
            }
            (Family::Elevator(_), Some((lower, Family::Elevator(_)))) => {
                return Err(BadStack::Text(format!(
                    "`{name}` on `{lower}`: one elevator is enough; leave one of them out"
                )));
            }
            (Family::Array(_), Some((lower, Family::Elevator(_)))) => {
                return Err(BadStack::Text(format!(
                    "`{lower}` lies below `{name}`: an elevator stands on top of the array; write \
                     `/{name}/{lower}`"
                )));
            }
            (Family::Flash, Some((lower, Family::Files))) => {
                return Err(BadStack::Text(format!(
                    "`{lower}` lies below `{name}`: a managed volume takes the whole drive, and the file system \
                     stands on top of it; write `/{name}/{lower}`"
                )));
            }
            (Family::Flash, Some((lower, Family::Flash))) => {
                return Err(BadStack::Text(format!(
                    "`{name}` on `{lower}`: one managed volume is enough; leave one of them out"
                )));
            }
            (Family::Array(_), _) if single => {
                return Err(BadStack::Text(match below {
                    Some((lower, _)) => format!(
                        "`{name}` on `{lower}`, which is one drive already: leave one of them out"
                    ),
                    None => format!(
                        "`{name}` of one drive: write a count in front, such as `4x{}/{name}`",
                        stack.members[0].drive.name
                    ),
                }));
            }
            (Family::Array(level), _) => {
                check_members(name, level, stack.drives())?;
                single = true;
            }
            _ if !single => return Err(several(stack, name)),
            _ => {}
        }
        below = Some((name, family));
    }
    if single { Ok(()) } else { Err(several(stack, "")) }
}

/// Flash beside disks stands on the drive, the array or its elevator, and below the rest.
fn check_beside(name: &str, family: Family, below: Option<(&str, Family)>) -> Result<(), BadStack> {
    let Some((lower, under)) = below else { return Ok(()) };
    let word = |family| match family {
        Family::Cache(_) => Some("cache"),
        Family::Pin => Some("pinned range"),
        Family::Tier => Some("tier"),
        _ => None,
    };
    let about = match (word(family), word(under), family, under) {
        (Some(own), Some(other), ..) if own == other => {
            format!("`{name}` on `{lower}`: one {own} is enough; leave one of them out")
        }
        (Some(_), Some(_), ..) => format!(
            "`{name}` on `{lower}`: one flash drive beside the disks is enough; leave one of them \
             out"
        ),
        (Some(own), None, _, Family::Files | Family::Flash)
        | (None, Some(own), Family::Array(_) | Family::Elevator(_), _) => format!(
            "`{lower}` lies below `{name}`: a {own} stands on the drive, the array or its \
             elevator, and the rest on top of it; write `/{name}` before `/{lower}`"
        ),
        _ => return Ok(()),
    };
    Err(BadStack::Text(about))
}

fn several(stack: &Stack, layer: &str) -> BadStack {
    let count = stack.drives();
    let before = if layer.is_empty() { String::new() } else { format!(" before `/{layer}`") };
    BadStack::Text(format!(
        "{count} drives need an array layer that makes one of them{before}, such as `/raid0` or `/raid5`"
    ))
}

fn check_members(name: &str, level: Level, count: usize) -> Result<(), BadStack> {
    let least = match level {
        Level::Raid0 | Level::Raid1 | Level::Raid10 => 2,
        Level::Raid5 => 3,
        Level::Raid6 => 4,
    };
    if count < least {
        let cure = if count == 2 { ", or write `/raid1` or `/raid0`" } else { "" };
        return Err(BadStack::Text(format!(
            "`{name}` of {count} drives: it takes {least} at least; add some{cure}"
        )));
    }
    if level == Level::Raid10 && !count.is_multiple_of(2) {
        return Err(BadStack::Text(format!(
            "`{name}` of {count} drives: it takes pairs; add one, or leave one out"
        )));
    }
    Ok(())
}

fn resolve_files(
    layer: &Part,
    drives: &[ResolvedDrive<'_>],
    below: Option<&ResolvedElevator>,
    is_write_through: bool,
) -> Result<ResolvedFiles, BadStack> {
    let settings = Settings::of(layer);
    let kind = match layer.name.as_str() {
        "ext2" => Kind::Ext2,
        "ext3" => {
            let modes = [("ordered", DataMode::Ordered), ("writeback", DataMode::Writeback)];
            Kind::Ext3 { data: settings.word("data", &modes)?.unwrap_or(DataMode::Ordered) }
        }
        "ext4" => Kind::Ext4,
        _ => {
            let counts = [("0", LazyCount::Off), ("1", LazyCount::On)];
            Kind::Xfs { lazy_count: settings.word("lazy-count", &counts)?.unwrap_or(LazyCount::On) }
        }
    };
    let ram_bytes = settings.bytes("ram", 16 << 20..=1 << 44)?.unwrap_or(RAM_BYTES);
    let kernel = match settings.text("kernel") {
        Some(text) => Some(parse_kernel(text).ok_or_else(|| {
            settings.wrong("kernel", text, "is no kernel's version, such as 2.6.24 or 6.1")
        })?),
        None => drives[0].entry.kernel,
    };
    let mut params = FileSystemParams::of(Kernel::of_version(kernel), kind, ram_bytes);
    let elevators = [
        ("noop", Elevator::Noop),
        ("deadline", Elevator::Deadline),
        ("cfq", Elevator::Cfq),
        ("anticipatory", Elevator::Anticipatory),
    ];
    for key in second_keys(&layer.name) {
        settings.text(key);
    }
    let settings_elevator = settings.text("elevator");
    params.elevator = settings.word("elevator", &elevators)?.unwrap_or(params.elevator);
    if let Some(bytes) = settings.bytes("read-ahead", 0..=1 << 30)? {
        params.read_ahead_bytes = bytes / 4096 * 4096;
    }
    let discards = [("on", Discard::On), ("off", Discard::Off)];
    params.discard = settings.word("discard", &discards)?.unwrap_or(params.discard);
    if kind != Kind::Ext2 {
        let barriers = [("on", Barrier::On), ("off", Barrier::Off)];
        params.barrier = settings.word("barrier", &barriers)?.unwrap_or(params.barrier);
        params.processors = settings.count("cpus", 1..=4096)?.unwrap_or(0) as u32;
    }
    settings.finish()?;
    if is_write_through {
        params.barrier = Barrier::Off;
    }
    params.device_queue_depth = device_queue_depth(drives);
    if let Some(below) = below {
        if let Some(text) = settings_elevator {
            return Err(BadStack::Text(format!(
                "`{}:elevator={text}` above `{}`: one elevator is enough; leave one of them out",
                layer.name, below.text
            )));
        }
        below.stand_below(&mut params);
    }
    Ok(ResolvedFiles { text: layer.to_string(), params })
}
