//! Names and settings become what they stand for; everything that cannot be built is refused here,
//! in a sentence.

use super::{
    array::{ResolvedArray, resolve_array},
    cached::{CACHES, Preset, ResolvedBeside, is_write_through, resolve_cache},
    elevator::{Choice, ELEVATORS, ResolvedElevator, resolve_elevator},
    layer_words,
    managed::{ResolvedFlash, resolve_flash},
    open::QUEUE_DEPTH,
    placed::{resolve_pin, resolve_tier},
    second::{note_on_small_files, second_keys, with_second},
    settings::Settings,
    text::{BadStack, Member, Part, Stack},
};
use crate::catalog::{
    Catalog, DriveEntry, DriveSettings, HostEntry, Past, PortLimits, parse_kernel,
};
use block::{Rng, display_bytes, names::did_you_mean};
use model::{
    Level, WriteCaching,
    fs::{Barrier, DataMode, Discard, Elevator, FileSystemParams, Kernel, Kind, LazyCount},
};

/// Memory of a file-system layer that names none.
pub const RAM_BYTES: u64 = 2 << 30;
/// The chunk of an array that names none: md's default when the arrays of the studies were built.
pub const CHUNK_BYTES: u64 = 64 << 10;
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

pub(super) struct ResolvedDrive<'c> {
    pub entry: &'c DriveEntry,
    pub settings: DriveSettings,
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

/// A layer's name, and what kind of layer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Array(Level),
    Elevator(Choice),
    Cache(Preset),
    Pin,
    Tier,
    Files,
    Flash,
}

pub(super) const LAYERS: &[(&str, Family)] = &[
    ("raid0", Family::Array(Level::Raid0)),
    ("raid1", Family::Array(Level::Raid1)),
    ("raid5", Family::Array(Level::Raid5)),
    ("raid6", Family::Array(Level::Raid6)),
    ("raid10", Family::Array(Level::Raid10)),
    ("ext2", Family::Files),
    ("ext3", Family::Files),
    ("ext4", Family::Files),
    ("xfs", Family::Files),
    ("flash", Family::Flash),
    (ELEVATORS[0].0, Family::Elevator(ELEVATORS[0].1)),
    (ELEVATORS[1].0, Family::Elevator(ELEVATORS[1].1)),
    (ELEVATORS[2].0, Family::Elevator(ELEVATORS[2].1)),
    (ELEVATORS[3].0, Family::Elevator(ELEVATORS[3].1)),
    (CACHES[0].0, Family::Cache(CACHES[0].1)),
    (CACHES[1].0, Family::Cache(CACHES[1].1)),
    (CACHES[2].0, Family::Cache(CACHES[2].1)),
    (CACHES[3].0, Family::Cache(CACHES[3].1)),
    ("pin", Family::Pin),
    ("tier", Family::Tier),
];

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

type Drives<'c> = (Vec<ResolvedDrive<'c>>, &'c HostEntry, Vec<String>);

fn drives<'c>(stack: &Stack, catalog: &'c Catalog, seed: u64) -> Result<Drives<'c>, BadStack> {
    let (mut drives, mut notes) = (Vec::new(), Vec::new());
    let mut ports: Vec<(&HostEntry, bool)> = Vec::new();
    for member in &stack.members {
        let entry = find_drive(member, catalog)?;
        let settings = Settings::of(&member.drive);
        let port = match settings.text("port") {
            Some(name) => (find_port(name, catalog)?, true),
            None => (catalog.port(&entry.port).expect("the catalog checked its ports"), false),
        };
        ports.push(port);
        let own_seed = settings.count("seed", 0..=u64::MAX)?;
        let common = drive_settings(&settings, entry)?;
        settings.finish()?;
        for number in 0..u64::from(member.count) {
            let mut rng = match own_seed {
                Some(own) => Rng::new(own, 0xd0_0000 + number),
                None => Rng::new(seed, 0xd1_0000 + drives.len() as u64),
            };
            drives.push(ResolvedDrive {
                entry,
                settings: DriveSettings { seed: rng.next(), ..common },
            });
        }
    }
    let chosen = one_port(&ports)?;
    for drive in &mut drives {
        drive.settings.port = chosen.limits();
    }
    notes.extend(ports.iter().map(|(port, _)| *port).find(|port| *port != chosen).map(|other| {
        format!(
            "the drives share one port, `{}`, though some were measured on `{}`",
            chosen.name(),
            other.name()
        )
    }));
    Ok((drives, chosen, notes))
}

/// The drives of a stack hang on one controller: the first that is named, or the first drive's own.
fn one_port<'c>(ports: &[(&'c HostEntry, bool)]) -> Result<&'c HostEntry, BadStack> {
    let mut named = ports.iter().filter(|(_, is_named)| *is_named).map(|(port, _)| *port);
    let Some(first) = named.next() else { return Ok(ports[0].0) };
    match named.find(|port| *port != first) {
        None => Ok(first),
        Some(other) => Err(BadStack::Text(format!(
            "the drives of a stack share one port, and both `{}` and `{}` are named: leave one out",
            first.name(),
            other.name()
        ))),
    }
}

pub(super) fn find_drive<'c>(
    member: &Member,
    catalog: &'c Catalog,
) -> Result<&'c DriveEntry, BadStack> {
    let name = member.drive.name.as_str();
    catalog.drive(name).ok_or_else(|| {
        if let Some(counted) = counted(name, catalog) {
            let several = counted.split('/').next().unwrap_or_default();
            return BadStack::Text(format!(
                "there is no drive `{name}`. Several drives are written with an `x`, under an \
                 array: `{several}`"
            ));
        }
        let own = if name.ends_with(".toml") {
            " A drive of your own is named by its name, and its file lies in ~/.config/drivelab/drives."
        } else if LAYERS.iter().any(|(layer, _)| *layer == name) {
            " It is a layer: a drive stands first, such as `4xmtron-pro-32/raid5`."
        } else if catalog.port(name).is_some() {
            " It is a port: a drive names it, such as `mtron-pro-32:port=onboard`."
        } else if catalog.driver(name).is_some() {
            " It is an array driver: an array names it, such as `/raid5:driver=md`."
        } else {
            ""
        };
        let said = match own {
            "" => catalog.did_you_mean_drive(name),
            own => own.to_owned(),
        };
        BadStack::Text(format!("there is no drive `{name}`.{said} `drivelab drives` lists them"))
    })
}

/// `4xNAME/raid0` for `4NAME`, where the count lacks its `x`; with the layers that follow, if any
/// do.
pub fn counted(text: &str, catalog: &Catalog) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = text.split_at_checked(digits).filter(|(count, _)| !count.is_empty())?;
    let (name, layers) = match rest.split_once('/') {
        Some((name, layers)) => (name, layers),
        None => (rest, "raid0"),
    };
    catalog.drive(name).map(|_| format!("{count}x{name}/{layers}"))
}

fn find_port<'c>(name: &str, catalog: &'c Catalog) -> Result<&'c HostEntry, BadStack> {
    catalog.port(name).ok_or_else(|| {
        let near = did_you_mean(name, catalog.port_names());
        let ports = catalog.port_names().collect::<Vec<_>>().join(", ");
        BadStack::Text(format!("there is no port `{name}`.{near} Ports: {ports}"))
    })
}

fn drive_settings(settings: &Settings<'_>, entry: &DriveEntry) -> Result<DriveSettings, BadStack> {
    let caching = [("on", WriteCaching::On), ("off", WriteCaching::Off)];
    let past = [("fresh", Past::Fresh), ("steady", Past::Steady)];
    Ok(DriveSettings {
        write_cache: settings.word("write-cache", &caching)?,
        past: settings.word("state", &past)?,
        used_per_mille: settings.per_mille("used")?,
        command_queue: settings.count("command-queue", 1..=256)?.map(|count| count as u32),
        capacity_bytes: capacity(settings, entry)?,
        atomic_write_bytes: atomic_write(settings)?,
        map_memory_bytes: settings.bytes("map-memory", 4096..=64 << 30)?,
        port: PortLimits::default(),
        seed: 0,
    })
}

/// A drive with less flash: some sectors at least, and never more than it has.
fn capacity(settings: &Settings<'_>, entry: &DriveEntry) -> Result<Option<u64>, BadStack> {
    const LEAST_BYTES: u64 = 1 << 20;
    let asked = settings.bytes("capacity", LEAST_BYTES..=entry.capacity_bytes.max(LEAST_BYTES))?;
    match asked.filter(|bytes| !bytes.is_multiple_of(512)) {
        None => Ok(asked),
        Some(_) => {
            let text = settings.text("capacity").unwrap_or_default();
            Err(settings.wrong("capacity", text, "is not of whole sectors of 512 B, such as 2G"))
        }
    }
}

/// What NVM Express calls the atomic write unit of a power failure.
fn atomic_write(settings: &Settings<'_>) -> Result<Option<u64>, BadStack> {
    let asked = settings.bytes("atomic-write", 512..=1 << 20)?;
    match asked.filter(|bytes| !bytes.is_power_of_two()) {
        None => Ok(asked),
        Some(_) => {
            let text = settings.text("atomic-write").unwrap_or_default();
            Err(settings.wrong("atomic-write", text, "is no power of two, such as 16K"))
        }
    }
}

/// Members of different size, said once.
fn unequal(drives: &[ResolvedDrive<'_>]) -> Option<String> {
    let sizes = || drives.iter().map(|drive| drive.entry.capacity(&drive.settings));
    let (least, most) = (sizes().min()?, sizes().max()?);
    (least != most).then(|| {
        format!(
            "the members hold from {} to {}: the smallest rules, and what the others have more is not used",
            display_bytes(least),
            display_bytes(most)
        )
    })
}

/// libata gives a drive with a command queue 31 commands; md has no limit of its own.
fn device_queue_depth(drives: &[ResolvedDrive<'_>]) -> u32 {
    drives.iter().map(|drive| drive.entry.commands(&drive.settings).min(31)).sum()
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
