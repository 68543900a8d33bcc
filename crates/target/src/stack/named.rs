//! The drives that a STACK names, found in the catalog, with their settings and their port.

use super::{
    layers::LAYERS,
    settings::Settings,
    text::{BadStack, Member, Stack},
};
use crate::catalog::{Catalog, DriveEntry, DriveSettings, HostEntry, Past, PortLimits};
use block::{Rng, display_bytes, names::did_you_mean};
use model::WriteCaching;

/// A drive with its settings.
pub(super) struct ResolvedDrive<'c> {
    pub entry: &'c DriveEntry,
    pub settings: DriveSettings,
}

/// Drives, their port, and what the user should know.
pub(super) type Drives<'c> = (Vec<ResolvedDrive<'c>>, &'c HostEntry, Vec<String>);

/// The drives of a stack.
///
/// # Errors
/// A name that no drive or port has; a setting that is none; two ports.
pub(super) fn drives<'c>(
    stack: &Stack,
    catalog: &'c Catalog,
    seed: u64,
) -> Result<Drives<'c>, BadStack> {
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
pub(super) fn unequal(drives: &[ResolvedDrive<'_>]) -> Option<String> {
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
pub(super) fn device_queue_depth(drives: &[ResolvedDrive<'_>]) -> u32 {
    drives.iter().map(|drive| drive.entry.commands(&drive.settings).min(31)).sum()
}
