//! One configuration made ready on a device: wiped, settings set, formatted, mounted, filled.

use crate::{
    attached::Attached,
    axes::Configuration,
    axis::Axis,
    device::wiping,
    error::MatrixError,
    journal::{self, Outside},
    wording::{formatted, mount_options},
};
use host::{
    Directory, Ledger, Program,
    ledger::{Mounting, Remounting},
    setting::{Attribute, WriteCache},
};
use std::path::{Path, PathBuf};

/// The commands that lead to a configuration, without what attaches the device.
pub fn commands(
    configuration: &Configuration,
    device: &Path,
    journal: Option<&Outside>,
    at: &Path,
) -> Vec<String> {
    let both = devices(device, journal);
    let mut lines: Vec<String> =
        both.iter().flat_map(|one| emptying(one)).map(|program| program.to_string()).collect();
    for device in both {
        for (attribute, wanted) in queue_settings(configuration) {
            let name = name_of(device);
            lines.push(format!("echo '{wanted}' > /sys/block/{name}/queue/{attribute}"));
        }
    }
    let programs = formatting(configuration, device, journal);
    lines.extend(programs.iter().map(ToString::to_string));
    if !programs.is_empty() {
        lines.push(mounting(configuration, journal).program(device, at).to_string());
    }
    lines
}

/// A device that is ready.
pub struct Ready {
    /// What is to be measured: the mount point, or the device itself.
    pub path: PathBuf,
    /// What the drive said of its write cache, where it is a setting.
    pub cache: Option<String>,
}

/// Does them.
///
/// # Errors
/// Those of the programs; before each that writes, that the device's name leads to another by now.
pub fn set(
    ledger: &mut Ledger,
    configuration: &Configuration,
    attached: &Attached,
    at: &Path,
    switches_cache: bool,
) -> Result<Ready, MatrixError> {
    let (device, journal) = (&attached.device, attached.journal());
    let both = devices(device, journal);
    for program in both.iter().flat_map(|one| emptying(one)) {
        attached.check()?;
        ledger.say(&program.to_string());
        let done = program.run();
        // A device that cannot discard is not emptied; its file systems are gone all the same.
        if program.name() != "blkdiscard" {
            done?;
        }
    }
    attached.check()?;
    let mut cache = None;
    if let Some(level) = configuration.level(Axis::WriteCache).filter(|_| switches_cache) {
        cache = Some(ledger.write_cache(device, WriteCache::from(level == "on"))?);
    }
    for device in both {
        for (attribute, wanted) in queue_settings(configuration) {
            ledger.queue(name_of(device), attribute, &wanted)?;
        }
    }
    let programs = formatting(configuration, device, journal);
    if programs.is_empty() {
        return Ok(Ready { path: device.to_owned(), cache });
    }
    for program in programs {
        attached.check()?;
        ledger.say(&program.to_string());
        program.run()?;
    }
    make_mount_point(ledger, at)?;
    attached.check()?;
    ledger.mount(device, at, &mounting(configuration, journal))?;
    check_discard(configuration, at)?;
    Ok(Ready { path: at.to_owned(), cache })
}

/// Mounts again what is on a model already, whose journal is inside.
///
/// # Errors
/// It cannot be mounted.
pub fn mount_again(
    ledger: &mut Ledger,
    configuration: &Configuration,
    device: &Path,
    at: &Path,
) -> Result<(), MatrixError> {
    make_mount_point(ledger, at)?;
    Ok(ledger.mount(device, at, &mounting(configuration, None))?)
}

/// Mounts and unmounts again and again what is on a model, whose journal is inside. Others that
/// bear the same identifier may be mounted beside it.
///
/// # Errors
/// Nothing can be mounted there.
pub fn remounting(
    ledger: &mut Ledger,
    configuration: &Configuration,
    device: &Path,
    at: &Path,
) -> Result<Remounting, MatrixError> {
    make_mount_point(ledger, at)?;
    let mut how = mounting(configuration, None);
    if how.fs == "xfs" {
        how.options = if how.options.is_empty() { String::new() } else { how.options + "," };
        how.options += "nouuid";
    }
    Ok(ledger.remounting(device, at, how)?)
}

/// In a directory of our own, which nobody else can enter.
fn make_mount_point(ledger: &mut Ledger, at: &Path) -> Result<(), MatrixError> {
    let (parent, name) = (at.parent(), at.file_name());
    let (parent, name) = parent.zip(name).expect("a mount point lies in a directory");
    ledger.new_directory(&Directory::open_canonical(parent)?, name)?;
    Ok(())
}

/// A mount option that the kernel drops without a word would make two levels the same.
fn check_discard(configuration: &Configuration, at: &Path) -> Result<(), MatrixError> {
    if configuration.level(Axis::Discard) != Some("on") {
        return Ok(());
    }
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = host::parse_mountinfo(&table);
    let mount = mounts.iter().rfind(|mount| Path::new(&mount.mount_point) == at);
    if mount.is_none_or(|mount| !mount.has_option("discard")) {
        let fs = configuration.fs();
        let text = format!("{fs} took the option discard and does not have it: leave discard out");
        return Err(MatrixError::Process(text));
    }
    Ok(())
}

fn emptying(device: &Path) -> [Program; 2] {
    // Without --force it opens the device exclusively: what somebody has mounted meanwhile is left
    // alone.
    [wiping(device), Program::new(["blkdiscard", &device.display().to_string()])]
}

/// What the configuration is put on, the first device first.
fn devices<'a>(device: &'a Path, journal: Option<&'a Outside>) -> Vec<&'a Path> {
    [device].into_iter().chain(journal.map(|outside| outside.device.as_path())).collect()
}

/// The kernel's name of a device.
fn name_of(device: &Path) -> &str {
    device.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn queue_settings(configuration: &Configuration) -> Vec<(Attribute, String)> {
    let flush = configuration.level(Axis::KernelFlush).map(|level| match level {
        "off" => "write through",
        _ => "write back",
    });
    [
        (Attribute::Scheduler, configuration.level(Axis::Scheduler)),
        (Attribute::ReadAheadKb, configuration.level(Axis::ReadAhead)),
        (Attribute::WriteCache, flush),
    ]
    .into_iter()
    .filter_map(|(attribute, level)| Some((attribute, level?.to_owned())))
    .collect()
}

/// What makes the file system, and before it the journal on a second device where that is a step of
/// its own; nothing for a raw device.
fn formatting(
    configuration: &Configuration,
    device: &Path,
    journal: Option<&Outside>,
) -> Vec<Program> {
    let Some(format) = formatted(configuration) else { return Vec::new() };
    let first = journal.and_then(|outside| journal::making(configuration, outside));
    let mut words = vec![format.program];
    words.extend(format.arguments);
    words.extend(journal.into_iter().flat_map(|outside| journal::naming(configuration, outside)));
    words.push(device.display().to_string());
    first.into_iter().chain([Program::new(words)]).collect()
}

/// What mounts the configuration's file system anew, logging through `say`; nothing for a raw
/// device.
pub fn remount(
    configuration: &Configuration,
    attached: &Attached,
    at: &Path,
    say: impl Fn(&str) + 'static,
) -> Option<target::Remount> {
    let (how, at) = (mounting(configuration, attached.journal()), at.to_owned());
    let (device, check) = (attached.device.clone(), attached.checking());
    let again = move || {
        check()?;
        how.mount_anew(&device, &at, &mut |step| say(step))
    };
    (!configuration.is_raw()).then(|| Box::new(again) as target::Remount)
}

fn mounting(configuration: &Configuration, journal: Option<&Outside>) -> Mounting {
    let own = journal.and_then(|outside| journal::mount_option(configuration, outside));
    let options = [Some(mount_options(configuration)), own];
    let options: Vec<String> = options.into_iter().flatten().filter(|it| !it.is_empty()).collect();
    Mounting { fs: configuration.fs().to_owned(), options: options.join(",") }
}
