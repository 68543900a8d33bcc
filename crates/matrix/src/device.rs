//! What the configurations are put on: a loop device over a scratch file, a block device, or a
//! model behind NBD, FUSE and a loop device, which is started anew for each configuration.

use crate::{
    attached::Attached,
    axes::{Axes, Configuration},
    axis::Axis,
    durability::Machine,
    error::{InWords, MatrixError, NoDevice, Refusal, RefusalKind},
    journal::{Journals, Outside},
    journal_place::Place,
    order::Choice,
    serving::Serving,
};
use block::display_bytes;
use engine::Clock;
use host::{
    Consent, Directory, ErrorKind, HostError, Ledger, Presence, Program, Reserved, Roots,
    guard::identity_at,
    judge_destruction,
    setting::{Switch, WriteCache},
};
use record::TargetInfo;
use std::{
    ffi::OsStr,
    fs,
    io::{self, Seek, SeekFrom},
    num::NonZeroU32,
    path::{Path, PathBuf},
};
use target::{
    Pace, Permission, TargetText,
    catalog::Catalog,
    stack::{Member, Stack, has_volatile_cache},
};

/// Where a matrix takes place.
pub enum TestDevice {
    /// A loop device over a scratch file.
    Loop {
        /// Where the file is made.
        directory: Directory,
        /// Its size.
        bytes: u64,
        /// Devices that journals go onto.
        journals: Journals,
    },
    /// A block device that was agreed to, kept from the first turn to the last.
    Device {
        /// Held.
        device: Reserved,
        /// The kernel's: `sdb`.
        name: String,
        /// Whether it is still there.
        presence: Box<Presence>,
        /// Devices that journals go onto.
        journals: Journals,
    },
    /// Modelled drives.
    Model {
        /// Which.
        stack: Stack,
    },
}

impl TestDevice {
    /// What is there, and whether it may be written. Nothing is changed.
    ///
    /// # Errors
    /// What is there is no place for a matrix, or may not be written.
    pub fn choose(choice: &Choice, axes: &Axes) -> Result<Self, MatrixError> {
        match choice {
            Choice::Loop { directory, bytes, consent } => {
                let room = in_directory(directory, *bytes)?;
                let journals = Journals::choose(axes, Some(room.left_bytes), None, consent)?;
                Ok(Self::Loop { directory: room.directory, bytes: *bytes, journals })
            }
            Choice::Target { word, consent } => named(word, consent, axes),
        }
    }

    /// Devices that journals go onto; a model has none.
    pub(crate) fn journals(&self) -> Option<&Journals> {
        match self {
            Self::Loop { journals, .. } | Self::Device { journals, .. } => Some(journals),
            Self::Model { .. } => None,
        }
    }

    /// Where the drive's own write cache stands, as the drive says; `None` where there is none to
    /// ask.
    fn cache(&self) -> Option<Result<WriteCache, HostError>> {
        let Self::Device { device, .. } = self else { return None };
        Some(Switch::find(device.path(), &Roots::default()).map(|(_, cache)| cache))
    }

    /// What the drive says of its write cache now.
    pub fn cache_now(&self) -> Option<String> {
        let Self::Device { device, .. } = self else { return None };
        Some(match self.cache()? {
            Ok(cache) => {
                format!("{} says that its write cache is {cache}", device.path().display())
            }
            Err(error) => error.to_string(),
        })
    }

    /// A sentence where the drive's write cache is not what this configuration switched it to.
    ///
    /// # Errors
    /// When the drive does not answer.
    pub fn cache_that_moved(
        &self,
        configuration: &Configuration,
    ) -> Result<Option<String>, MatrixError> {
        let Some(level) = configuration.level(Axis::WriteCache) else { return Ok(None) };
        let Some(now) = self.cache().transpose()? else { return Ok(None) };
        Ok((now != WriteCache::from(level == "on")).then(|| {
            format!(
                "a turn that began with the write cache {level} ended with it {now}, as after a \
                 reset of the drive: run it again"
            )
        }))
    }

    /// What the configurations are put on, bytes.
    pub fn bytes(&self) -> Result<u64, MatrixError> {
        match self {
            Self::Loop { bytes, .. } => Ok(*bytes),
            Self::Device { device, .. } => {
                let opened = fs::File::open(device.path());
                let end = opened.and_then(|mut device| device.seek(SeekFrom::End(0)));
                end.in_words(&format!("cannot look at {}", device.path().display()))
            }
            Self::Model { stack } => {
                Ok(target::stack::open(stack, &Catalog::load()?, 0)?.contract().capacity_bytes)
            }
        }
    }

    /// What is known of the drive; `None` where a file stands for it.
    pub fn info(&self) -> Result<Option<TargetInfo>, MatrixError> {
        let text = match self {
            Self::Loop { .. } => return Ok(None),
            Self::Device { device, .. } => TargetText::Path(device.path().to_owned()),
            Self::Model { stack } => TargetText::Model(stack.clone()),
        };
        let permission = Permission { reads_only: true, ..Permission::default() };
        let target = target::open(&text, &permission, Pace::real(Clock::start()), 0)?;
        Ok(Some(target.info().clone()))
    }

    /// Which it is, in a word.
    pub fn describe_short(&self) -> String {
        match self {
            Self::Loop { .. } => "the loop device over the scratch file".to_owned(),
            Self::Device { device, .. } => device.path().display().to_string(),
            Self::Model { stack } => format!("model:{stack}"),
        }
    }

    /// What stands above the tables; the time of a model's drives passes so many times slower.
    pub fn describe(&self, slower: Option<NonZeroU32>) -> String {
        let time = match slower {
            Some(times) => format!("in its own time, {times} times slower"),
            None => "in real time".to_owned(),
        };
        match self {
            Self::Loop { directory, bytes, .. } => format!(
                "a loop device of {} over a file in {}: this ranks file systems over this host's file system, not a device",
                display_bytes(*bytes),
                directory.path().display()
            ),
            Self::Device { device, .. } => device.path().display().to_string(),
            Self::Model { stack } => format!(
                "model:{stack}, served over NBD and attached by nbdfuse and a loop device, {time}"
            ),
        }
    }

    /// Says so where the device is not there any more.
    pub fn gone(&self) -> Option<String> {
        match self {
            Self::Device { device, presence, journals, .. } => {
                presence.sentence(&device.path().display().to_string()).or_else(|| journals.gone())
            }
            Self::Loop { journals, .. } => journals.gone(),
            Self::Model { .. } => None,
        }
    }

    /// What is known of the drive under a configuration: a model says whether its write cache is
    /// volatile.
    pub fn machine(&self, configuration: &Configuration) -> Machine {
        let volatile_cache = match self {
            Self::Model { stack } => is_volatile(stack, configuration.level(Axis::WriteCache)).ok(),
            Self::Loop { .. } | Self::Device { .. } => None,
        };
        Machine { volatile_cache }
    }

    /// The one modelled drive that it is, by its name in the catalog.
    pub fn drive(&self) -> Option<String> {
        let Self::Model { stack } = self else { return None };
        match &stack.members[..] {
            [only] if only.count == 1 && stack.layers.is_empty() => Some(only.drive.name.clone()),
            _ => None,
        }
    }

    /// Refuses, before anything is touched, what cannot be had here.
    ///
    /// # Errors
    /// A sentence with the cure.
    pub fn check(&self, configurations: &[Configuration]) -> Result<(), MatrixError> {
        // A name with a letter wrong comes before a program that is missing: installing it helps
        // nobody who typed that.
        if matches!(self, Self::Model { .. }) {
            self.bytes()?;
        }
        if !host::environment::is_root() {
            let text = "matrix attaches devices and mounts file systems".to_owned();
            return Err(Refusal::new(RefusalKind::NotRoot, text).into());
        }
        let mut programs = vec!["mount", "umount", "wipefs"];
        if matches!(self, Self::Model { .. }) {
            programs.push("nbdfuse");
        }
        for name in programs {
            Program::new([name]).require()?;
        }
        check_file_systems(configurations)?;
        let has = |axis| configurations.iter().any(|one| one.level(axis).is_some());
        if has(Axis::WriteCache) {
            self.check_write_cache()?;
        }
        self.check_schedulers(configurations)
    }

    fn check_write_cache(&self) -> Result<(), MatrixError> {
        match self {
            Self::Loop { .. } => {
                let text = "a loop device has no write cache of its own to switch, and the drive \
                            below it belongs to others";
                let kind = RefusalKind::NoAxisOfFile(Axis::WriteCache);
                Err(Refusal::new(kind, text.to_owned()).into())
            }
            Self::Device { device, .. } => {
                Ledger::check_write_cache(device.path(), &Roots::default()).map_err(|error| {
                    let kind = RefusalKind::NoAxis(Axis::WriteCache);
                    Refusal::new(kind, error.to_string()).into()
                })
            }
            Self::Model { .. } => Ok(()),
        }
    }

    fn check_schedulers(&self, configurations: &[Configuration]) -> Result<(), MatrixError> {
        let Self::Device { name, .. } = self else { return Ok(()) };
        let choices = host::setting::Attribute::Scheduler.choices(name, &Roots::default());
        let mut asked = configurations.iter().filter_map(|one| one.level(Axis::Scheduler));
        let missing = asked.find(|wanted| !choices.iter().any(|known| known == wanted));
        missing.map_or(Ok(()), |wanted| {
            let text = format!(
                "{wanted}: this kernel offers {} for {name}: name one of them, or load its module",
                choices.join(", ")
            );
            Err(Refusal::new(RefusalKind::Level(Axis::Scheduler), text).into())
        })
    }

    /// Makes the device ready for one configuration. `base` is a directory of this run's own.
    pub fn attach(
        &self,
        ledger: &mut Ledger,
        base: &Path,
        configuration: &Configuration,
        serving: &Serving,
    ) -> Result<Attached, MatrixError> {
        match self {
            Self::Loop { directory, bytes, journals } => {
                let device = over_file(ledger, directory, *bytes, "")?;
                let mut attached = Attached::new(device, Vec::new())?;
                attached.journal = match Place::of_journal(configuration) {
                    Place::File(bytes) => {
                        let device = over_file(ledger, directory, bytes, "-journal")?;
                        let identity = identity_at(&device, &Roots::default())?;
                        Some((Outside { device, bytes }, identity))
                    }
                    _ => journals.judged_again(configuration)?,
                };
                Ok(attached)
            }
            Self::Device { device, journals, .. } => {
                // Somebody may have put it to use, or another in its place, since the last turn.
                device.judge_again(&Roots::default())?;
                Ok(Attached {
                    device: device.path().to_owned(),
                    identity: device.identity().clone(),
                    journal: journals.judged_again(configuration)?,
                    children: Vec::new(),
                })
            }
            Self::Model { stack } => {
                let stack = with_write_cache(stack, configuration.level(Axis::WriteCache));
                serving.attach(ledger, base, &format!("model:{stack}"))
            }
        }
    }

    /// A device that answers at once, by the same path: what the path itself costs. `None` where
    /// there is no such path.
    pub fn floor(
        &self,
        ledger: &mut Ledger,
        base: &Path,
        bytes: u64,
        serving: &Serving,
    ) -> Result<Option<Attached>, MatrixError> {
        match self {
            Self::Model { .. } => {
                // Memory answers in this machine's time.
                let serving = Serving { slower: None, ..serving.clone() };
                serving.attach(ledger, base, &format!("memory:{bytes}")).map(Some)
            }
            Self::Loop { .. } | Self::Device { .. } => Ok(None),
        }
    }

    /// Takes the last file system off a device that stays, so that the guard finds it as empty as
    /// before.
    pub fn clear(&self, ledger: &mut Ledger) -> Result<(), MatrixError> {
        let first = match self {
            Self::Device { device, .. } => Some(device),
            Self::Loop { .. } | Self::Model { .. } => None,
        };
        let second = self.journals().into_iter().flat_map(Journals::devices);
        for device in first.into_iter().chain(second) {
            device.check(&Roots::default())?;
            let program = wiping(device.path());
            ledger.say(&program.to_string());
            program.run()?;
        }
        Ok(())
    }
}

/// A loop device over a new file of this process's own.
fn over_file(
    ledger: &mut Ledger,
    directory: &Directory,
    bytes: u64,
    what: &str,
) -> Result<PathBuf, MatrixError> {
    let name = format!(".drivelab-matrix-{}{what}", std::process::id());
    let path = directory.path().join(&name);
    let file = ledger.file(directory, name.as_ref())?;
    ledger.say(&format!("truncate -s {bytes} {}", path.display()));
    file.set_len(bytes).in_words(&format!("cannot make {} that long", path.display()))?;
    Ok(ledger.loop_device(&file, &path, None)?)
}

/// A directory that a scratch file fits into, and what is left beside it.
struct Room {
    directory: Directory,
    left_bytes: u64,
}

fn in_directory(directory: &Path, bytes: u64) -> Result<Room, MatrixError> {
    let refused = |kind, text| MatrixError::from(Refusal::new(kind, text));
    let directory = Directory::open(directory).map_err(|error| {
        let text = match error.kind() {
            ErrorKind::NotFound => format!(
                "{}: nothing is there.{} To make a scratch file in it, name a directory",
                directory.display(),
                target::did_you_mean(directory)
            ),
            _ => format!("{}: name a directory: {error}", directory.display()),
        };
        refused(RefusalKind::Directory, text)
    })?;
    host::missing::refuse_kernels_place(directory.path())
        .map_err(|error| refused(RefusalKind::KernelsDirectory, error.to_string()))?;
    let shown = directory.path().display().to_string();
    if !host::scratch::takes_direct_io(&directory) {
        let text = format!(
            "{shown}: the file system there refuses O_DIRECT, so that memory would be measured: \
             name a directory on another one"
        );
        return Err(refused(RefusalKind::Directory, text));
    }
    let room = host::scratch::bytes_available(&directory)?;
    if bytes > room {
        let (bytes, room) = (display_bytes(bytes), display_bytes(room));
        let text =
            format!("{bytes} does not fit into {shown}, where {room} may be taken: name less");
        return Err(refused(RefusalKind::FileBytes, text));
    }
    Ok(Room { directory, left_bytes: room - bytes })
}

fn named(word: &OsStr, consent: &Consent, axes: &Axes) -> Result<TestDevice, MatrixError> {
    match TargetText::of_word(word)? {
        TargetText::Model(stack) => {
            target::stack::open(&stack, &Catalog::load()?, 0)?;
            Journals::refuse_of_model(axes)?;
            Ok(TestDevice::Model { stack })
        }
        TargetText::Path(path) => {
            refuse_no_device(&path)?;
            let journals = Journals::choose(axes, None, Some(&path), consent)?;
            let cleared = judge_destruction(&path, &Roots::default())?;
            let device = cleared.confirm(consent)?.reserve()?;
            let name = device.path().file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default().to_owned();
            let presence = Presence::of_device(device.path(), &Roots::default()).into();
            Ok(TestDevice::Device { name, device, presence, journals })
        }
        _ => {
            let text = format!("{} is no block device", word.to_string_lossy());
            Err(Refusal::new(RefusalKind::NoDevice(NoDevice::Other), text).into())
        }
    }
}

/// Says what a matrix on a directory or on nothing wants; the guard says the rest.
fn refuse_no_device(path: &Path) -> Result<(), Refusal> {
    let shown = path.display();
    let (what, text) = match fs::metadata(path) {
        Ok(found) if found.is_dir() => (
            NoDevice::Directory(path.to_owned()),
            format!("{shown} is a directory, and a matrix makes file systems"),
        ),
        Ok(found) if found.is_file() => {
            (NoDevice::File, format!("{shown} is a file, and a matrix takes a block device"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let near = target::did_you_mean(path);
            (NoDevice::Nothing, format!("there is no {shown}.{near} A matrix takes a block device"))
        }
        _ => return Ok(()),
    };
    Err(Refusal::new(RefusalKind::NoDevice(what), text))
}

/// Refuses, before anything is touched, what cannot be mounted here from an image.
///
/// # Errors
/// A sentence with the cure.
pub fn check_image(configuration: &Configuration) -> Result<(), MatrixError> {
    if !host::environment::is_root() {
        let text = "it attaches loop devices and mounts file systems".to_owned();
        return Err(Refusal::new(RefusalKind::NotRoot, text).into());
    }
    check_kernel(configuration.fs())
}

fn check_kernel(fs: &str) -> Result<(), MatrixError> {
    if host::environment::can_mount(fs, &Roots::default()) {
        return Ok(());
    }
    let text = format!("{fs}: this kernel has no {fs}: load its module, or leave it out");
    Err(Refusal::new(RefusalKind::Level(Axis::Fs), text).into())
}

fn check_file_systems(configurations: &[Configuration]) -> Result<(), MatrixError> {
    let mut fs: Vec<&str> = configurations.iter().map(Configuration::fs).collect();
    fs.sort_unstable();
    fs.dedup();
    for fs in fs.into_iter().filter(|fs| *fs != "raw") {
        Program::new([format!("mkfs.{fs}")]).require()?;
        check_kernel(fs)?;
    }
    Ok(())
}

/// Takes every file system off a device.
pub(crate) fn wiping(device: &Path) -> Program {
    Program::new(["wipefs", "-a", "-q", &device.display().to_string()])
}

/// Whether a model's completed writes can be lost.
fn is_volatile(stack: &Stack, write_cache: Option<&str>) -> Result<bool, MatrixError> {
    Ok(has_volatile_cache(&with_write_cache(stack, write_cache), &Catalog::load()?)?)
}

/// The stack with the write cache of every drive set.
pub fn with_write_cache(stack: &Stack, level: Option<&str>) -> Stack {
    let Some(level) = level else { return stack.clone() };
    let set = |member: &Member| {
        let mut member = member.clone();
        member.drive.settings.retain(|(key, _)| key != "write-cache");
        member.drive.settings.push(("write-cache".to_owned(), level.to_owned()));
        member
    };
    Stack { members: stack.members.iter().map(set).collect(), layers: stack.layers.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_write_cache_of_every_drive_is_set_once() {
        let stack = |text: &str| text.parse::<Stack>().expect("a stack");
        let set = |text| with_write_cache(&stack(text), Some("off")).to_string();
        assert_eq!(set("intel-520-120"), "intel-520-120:write-cache=off");
        assert_eq!(
            set("2xa:port=esata,write-cache=on+b/raid5:chunk=64K/flash"),
            "2xa:port=esata,write-cache=off+b:write-cache=off/raid5:chunk=64K/flash"
        );
        assert_eq!(with_write_cache(&stack("a"), None), stack("a"));
    }
}
