//! What the configurations are put on: a loop device over a scratch file, a block device, or a
//! model behind NBD, FUSE and a loop device, which is started anew for each configuration.

use anyhow::{Context, Result, anyhow, bail};
use block::display_bytes;
use engine::Clock;
use host::{
    Consent, Directory, ErrorKind, HostError, Ledger, Permit, Presence, Program, Reserved, Roots,
    guard::{self, Identity},
    judge_destruction, judge_lending,
    ledger::{Change, Mark},
    setting::{Switch, WriteCache},
};
use record::TargetInfo;
use std::{
    ffi::OsStr,
    fs,
    io::{self, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use study::matrix::{Axis, Configuration, Machine};
use target::{
    Permission, TargetText,
    catalog::Catalog,
    stack::{Stack, has_volatile_cache},
};

/// How long a server or a file system in user space may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Where a matrix takes place.
pub enum Ground {
    /// A scratch file in this directory, of so many bytes.
    Loop { directory: Directory, bytes: u64 },
    /// A block device that was agreed to, kept from the first turn to the last.
    Device { device: Reserved, name: String, presence: Box<Presence> },
    /// Modelled drives.
    Model { text: String },
}

/// What is there while one configuration is measured.
pub struct Attached {
    /// The block device.
    pub device: PathBuf,
    /// Which it is: what has its name later is compared with it.
    identity: Identity,
    /// Processes of ours behind it.
    children: Vec<Child>,
}

impl Ground {
    /// From the command line: what is there, and whether it may be written. Nothing is changed.
    pub fn choose(
        target: Option<&OsStr>,
        directory: Option<&Path>,
        loop_bytes: u64,
        consent: &Consent,
    ) -> Result<Self> {
        if let Some(directory) = directory {
            let directory = Directory::open(directory).map_err(|error| match error.kind() {
                ErrorKind::NotFound => anyhow!(
                    "--loop {}: nothing is there.{} To make a scratch file in it, name a directory",
                    directory.display(),
                    target::did_you_mean(directory)
                ),
                _ => anyhow!("--loop {}: name a directory: {error}", directory.display()),
            })?;
            host::missing::refuse_kernels_place(directory.path())
                .map_err(|error| anyhow!("--loop: {error}"))?;
            if !host::scratch::takes_direct_io(&directory) {
                bail!(
                    "--loop {}: the file system there refuses O_DIRECT, so that memory would be measured: name a directory on another one",
                    directory.path().display()
                );
            }
            let room = host::scratch::bytes_available(&directory)?;
            if loop_bytes > room {
                bail!(
                    "--loop-size {} does not fit into {}, where {} may be taken: name less",
                    display_bytes(loop_bytes),
                    directory.path().display(),
                    display_bytes(room)
                );
            }
            return Ok(Self::Loop { directory, bytes: loop_bytes });
        }
        let word = target.expect("the command line has one or the other");
        let text = &*word.to_string_lossy();
        match TargetText::of_word(word)? {
            TargetText::Model(stack) => {
                target::stack::open(&stack, &Catalog::load()?, 0)?;
                Ok(Self::Model { text: text.to_owned() })
            }
            TargetText::Path(path) => {
                refuse_no_device(&path)?;
                let cleared = judge_destruction(&path, &Roots::default())?;
                let device = cleared.confirm(consent)?.reserve()?;
                let name = device.path().file_name().and_then(|name| name.to_str());
                let presence = Presence::of_device(device.path(), &Roots::default()).into();
                Ok(Self::Device { name: name.unwrap_or_default().to_owned(), device, presence })
            }
            _ => bail!(
                "{text} is no block device: name one, or model:STACK, or use --loop DIR for a scratch file in a directory"
            ),
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
    pub fn cache_that_moved(&self, configuration: &Configuration) -> Result<Option<String>> {
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
    pub fn bytes(&self) -> Result<u64> {
        match self {
            Self::Loop { bytes, .. } => Ok(*bytes),
            Self::Device { device, .. } => {
                let opened = fs::File::open(device.path());
                let end = opened.and_then(|mut device| device.seek(SeekFrom::End(0)));
                end.with_context(|| format!("cannot look at {}", device.path().display()))
            }
            Self::Model { text } => {
                let stack: Stack = text.strip_prefix("model:").expect("a model's text").parse()?;
                Ok(target::stack::open(&stack, &Catalog::load()?, 0)?.contract().capacity_bytes)
            }
        }
    }

    /// What is known of the drive; `None` where a file stands for it.
    pub fn info(&self) -> Result<Option<TargetInfo>> {
        let text = match self {
            Self::Loop { .. } => return Ok(None),
            Self::Device { device, .. } => TargetText::Path(device.path().to_owned()),
            Self::Model { text } => TargetText::of_word(text.as_ref())?,
        };
        let permission = Permission { reads_only: true, ..Permission::default() };
        let target = target::open(&text, &permission, Clock::start(), 0)?;
        Ok(Some(target.info().clone()))
    }

    /// Which it is, in a word.
    pub fn describe_short(&self) -> String {
        match self {
            Self::Loop { .. } => "the loop device of --loop-size".to_owned(),
            Self::Device { device, .. } => device.path().display().to_string(),
            Self::Model { text } => text.clone(),
        }
    }

    /// What stands above the tables.
    pub fn describe(&self) -> String {
        match self {
            Self::Loop { directory, bytes } => format!(
                "a loop device of {} over a file in {}: this ranks file systems over this host's file system, not a device",
                display_bytes(*bytes),
                directory.path().display()
            ),
            Self::Device { device, .. } => device.path().display().to_string(),
            Self::Model { text } => format!(
                "{text}, served over NBD and attached by nbdfuse and a loop device, in real time"
            ),
        }
    }

    /// Says so where the device is not there any more.
    pub fn gone(&self) -> Option<String> {
        match self {
            Self::Device { device, presence, .. } => {
                presence.sentence(&device.path().display().to_string())
            }
            Self::Loop { .. } | Self::Model { .. } => None,
        }
    }

    /// What is known of the drive under a configuration: a model says whether its write cache is
    /// volatile.
    pub fn machine(&self, configuration: &Configuration) -> Machine {
        let volatile_cache = match self {
            Self::Model { text } => is_volatile(text, configuration.level(Axis::WriteCache)).ok(),
            Self::Loop { .. } | Self::Device { .. } => None,
        };
        Machine { volatile_cache }
    }

    /// The one modelled drive that it is, by its name in the catalog.
    pub fn drive(&self) -> Option<String> {
        let Self::Model { text } = self else { return None };
        let stack: Stack = text.strip_prefix("model:")?.parse().ok()?;
        match &stack.members[..] {
            [only] if only.count == 1 && stack.layers.is_empty() => Some(only.drive.name.clone()),
            _ => None,
        }
    }

    /// Refuses, before anything is touched, what cannot be had here.
    pub fn check(&self, configurations: &[Configuration]) -> Result<()> {
        if !rustix::process::geteuid().is_root() {
            bail!(
                "matrix attaches devices and mounts file systems: run it as root (`sudo drivelab matrix ...`)"
            );
        }
        let mut programs = vec!["mount", "umount", "wipefs"];
        if matches!(self, Self::Model { .. }) {
            programs.push("nbdfuse");
        }
        for name in programs {
            Program::new([name]).require()?;
        }
        let mut fs: Vec<&str> = configurations.iter().map(Configuration::fs).collect();
        fs.sort_unstable();
        fs.dedup();
        for fs in fs.into_iter().filter(|fs| *fs != "raw") {
            Program::new([format!("mkfs.{fs}")]).require()?;
            if !host::environment::can_mount(fs, &Roots::default()) {
                bail!("--fs {fs}: this kernel has no {fs}: load its module, or leave it out");
            }
        }
        let has = |axis| configurations.iter().any(|one| one.level(axis).is_some());
        if has(Axis::WriteCache) {
            match self {
                Self::Loop { .. } => bail!(
                    "--write-cache: a loop device has no write cache of its own to switch, and the drive below it belongs to others; \
                     name a block device or model:STACK, or leave it out"
                ),
                Self::Device { device, .. } => {
                    Ledger::check_write_cache(device.path(), &Roots::default())
                        .map_err(|error| anyhow!("{error}; or leave --write-cache out"))?;
                }
                Self::Model { .. } => {}
            }
        }
        if let Self::Device { name, .. } = self {
            let choices = host::setting::Attribute::Scheduler.choices(name, &Roots::default());
            let asked = configurations.iter().filter_map(|one| one.level(Axis::Scheduler));
            for wanted in asked {
                if !choices.iter().any(|known| known == wanted) {
                    bail!(
                        "--scheduler {wanted}: this kernel offers {} for {name}: name one of them, or load its module",
                        choices.join(", ")
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes the device ready for one configuration. `base` is a directory of this run's own.
    pub fn attach(
        &self,
        ledger: &mut Ledger,
        base: &Path,
        configuration: &Configuration,
    ) -> Result<Attached> {
        match self {
            Self::Loop { directory, bytes } => {
                let name = format!(".drivelab-matrix-{}", std::process::id());
                let path = directory.path().join(&name);
                let file = ledger.file(directory, name.as_ref())?;
                ledger.say(&format!("truncate --size {bytes} {}", path.display()));
                file.set_len(*bytes)
                    .with_context(|| format!("cannot make {} that long", path.display()))?;
                Attached::new(ledger.loop_device(&file, &path)?, Vec::new())
            }
            Self::Device { device, .. } => {
                // Somebody may have put it to use, or another in its place, since the last turn.
                device.judge_again(&Roots::default())?;
                Ok(Attached {
                    device: device.path().to_owned(),
                    identity: device.identity().clone(),
                    children: Vec::new(),
                })
            }
            Self::Model { text } => {
                let cache = configuration.level(Axis::WriteCache);
                serve(ledger, base, &with_write_cache(text, cache)?)
            }
        }
    }

    /// A device that answers at once, by the same path: what the path itself costs. `None` where
    /// there is no such path.
    pub fn floor(&self, ledger: &mut Ledger, base: &Path, bytes: u64) -> Result<Option<Attached>> {
        match self {
            Self::Model { .. } => serve(ledger, base, &format!("memory:{bytes}")).map(Some),
            Self::Loop { .. } | Self::Device { .. } => Ok(None),
        }
    }

    /// Takes the last file system off a device that stays, so that the guard finds it as empty as
    /// before.
    pub fn clear(&self, ledger: &mut Ledger) -> Result<()> {
        let Self::Device { device, .. } = self else { return Ok(()) };
        device.check(&Roots::default())?;
        let path = device.path().display().to_string();
        let program = Program::new(["wipefs", "--all", "--quiet", &path]);
        ledger.say(&program.to_string());
        Ok(program.run().map(drop)?)
    }
}

impl Attached {
    /// What is at `device` now: a loop device that drivelab has just attached itself.
    pub fn new(device: PathBuf, children: Vec<Child>) -> Result<Self> {
        let identity = guard::identity_at(&device, &Roots::default())?;
        Ok(Self { device, identity, children })
    }

    /// Leave to overwrite this device, and no other that has its name by then.
    pub fn permission(&self) -> Permission {
        Permission { consent: Consent::to(self.identity.clone()), reads_only: false }
    }

    /// Refuses to go on by its name where that leads to another device by now.
    pub fn check(&self) -> Result<()> {
        Ok(self.checking()()?)
    }

    /// What [`check`](Self::check) does, for later.
    pub fn checking(&self) -> impl Fn() -> Result<(), HostError> + 'static {
        let (device, identity) = (self.device.clone(), self.identity.clone());
        move || Ok(guard::check(&device, &identity, &Roots::default())?)
    }

    /// The device held exclusively, to be written.
    pub fn permit(&self) -> Result<Permit> {
        let cleared = judge_lending(&self.device, &Roots::default())?;
        Ok(cleared.confirm(&Consent::to(self.identity.clone()))?)
    }

    /// Takes it away, and waits for the processes behind it.
    pub fn detach(mut self, ledger: &mut Ledger, mark: Mark) -> Result<()> {
        let failures = ledger.put_back_to(mark);
        for child in &mut self.children {
            let _ = child.wait();
        }
        match failures.first() {
            None => Ok(()),
            Some(failure) => bail!("{failure}; then `drivelab restore`"),
        }
    }
}

/// Whether a model's completed writes can be lost.
fn is_volatile(text: &str, write_cache: Option<&str>) -> Result<bool> {
    let text = with_write_cache(text, write_cache)?;
    let stack: Stack = text.strip_prefix("model:").expect("a model's text").parse()?;
    Ok(has_volatile_cache(&stack, &Catalog::load()?)?)
}

/// The stack's text with the write cache of every drive set.
pub fn with_write_cache(text: &str, level: Option<&str>) -> Result<String> {
    let Some(level) = level else { return Ok(text.to_owned()) };
    let mut stack: Stack = text.strip_prefix("model:").expect("a model's text").parse()?;
    for member in &mut stack.members {
        member.drive.set("write-cache", level);
    }
    Ok(format!("model:{stack}"))
}

/// Serves a target and attaches it: `drivelab serve`, nbdfuse, losetup.
fn serve(ledger: &mut Ledger, base: &Path, target: &str) -> Result<Attached> {
    let server = start_server(ledger, base, target, &[], Stdio::null())?;
    let (device, fuse) = connect(ledger, base)?;
    Attached::new(device, vec![server, fuse])
}

fn socket(base: &Path) -> PathBuf {
    base.join("nbd.sock")
}

/// Serves a target with these options more. What it prints goes to `said`.
pub fn start_server(
    ledger: &mut Ledger,
    base: &Path,
    target: &str,
    options: &[String],
    said: Stdio,
) -> Result<Child> {
    let socket = socket(base);
    let address = format!("unix:{}", socket.display());
    ledger.make(Change::File { path: socket.clone() }, || Ok(()))?;
    let own = std::env::current_exe().context("drivelab does not know where it is")?;
    let name = own.file_name().and_then(|name| name.to_str()).unwrap_or("drivelab").to_owned();
    let mut words = ["serve", target, "--nbd", &address, "--quiet"].map(str::to_owned).to_vec();
    words.extend(options.iter().cloned());
    ledger.say(&format!("drivelab {}", words.join(" ")));
    let mut server =
        ledger.process(&name, &address, || start(Command::new(&own).args(&words).stdout(said)))?;
    wait_for(&socket, &mut server, "drivelab serve")?;
    Ok(server)
}

/// Says what a matrix on a directory or on nothing wants; the guard says the rest.
fn refuse_no_device(path: &Path) -> Result<()> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => bail!(
            "{shown} is a directory, and a matrix makes file systems: `--loop {shown}` makes them \
             on a loop device over a scratch file in it"
        ),
        Ok(found) if found.is_file() => bail!(
            "{shown} is a file, and a matrix takes a block device: attach it with `losetup`, or \
             measure on a scratch file of its own with --loop DIR"
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "there is no {shown}.{} A matrix takes a block device, model:STACK, or --loop DIR",
            target::did_you_mean(path)
        ),
        _ => Ok(()),
    }
}

/// Attaches what is served: the block device, and nbdfuse.
pub fn connect(ledger: &mut Ledger, base: &Path) -> Result<(PathBuf, Child)> {
    let (socket, place) = (socket(base), base.join("nbd"));
    ledger.new_directory(&Directory::open_canonical(base)?, "nbd".as_ref())?;
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let words = [place.display().to_string(), uri.clone()];
    ledger.say(&Program::new(["nbdfuse", &words[0], &words[1]]).to_string());
    let mounted = Change::Mount {
        source: "nbdfuse".to_owned(),
        at: place.clone(),
        fs: "fuse".to_owned(),
        options: String::new(),
    };
    ledger.make(mounted, || Ok(()))?;
    let mut fuse = ledger.process("nbdfuse", &uri, || {
        start(Command::new("nbdfuse").args(&words).stdout(Stdio::null()))
    })?;
    let file = place.join("nbd");
    wait_for(&file, &mut fuse, "nbdfuse")?;
    let opened = fs::File::options().read(true).write(true).open(&file);
    let opened = opened.with_context(|| format!("cannot open {}", file.display()))?;
    Ok((ledger.loop_device(&opened, &file)?, fuse))
}

fn start(command: &mut Command) -> Result<Child, HostError> {
    // Ctrl-C is for us; they are ended in order.
    use std::os::unix::process::CommandExt;
    let command = command.stdin(Stdio::null()).stderr(Stdio::piped());
    let name = command.get_program().display().to_string();
    command.process_group(0).spawn().map_err(|error| HostError::starting(&name, error))
}

/// Until `path` is there; what the process said, if it ended instead.
fn wait_for(path: &Path, child: &mut Child, name: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        if let Some(status) = child.try_wait().context("a process of ours is lost")? {
            let mut said = String::new();
            if let Some(mut pipe) = child.stderr.take() {
                let _ = std::io::Read::read_to_string(&mut pipe, &mut said);
            }
            let said = said.lines().last().unwrap_or_default().to_owned();
            bail!("{name} ended with {status}: {said}");
        }
        if Instant::now() >= deadline {
            bail!("{name} did not come up within {} s", PATIENCE.as_secs());
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_write_cache_of_every_drive_is_set_once() {
        let set = |text| with_write_cache(text, Some("off")).expect("a stack");
        assert_eq!(set("model:intel-520-120"), "model:intel-520-120:write-cache=off");
        assert_eq!(
            set("model:2xa:port=esata,write-cache=on+b/raid5:chunk=64K/flash"),
            "model:2xa:port=esata,write-cache=off+b:write-cache=off/raid5:chunk=64K/flash"
        );
        assert_eq!(with_write_cache("model:a", None).expect("a stack"), "model:a");
    }
}
