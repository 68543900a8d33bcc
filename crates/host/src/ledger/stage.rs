//! The changes themselves: each is made through the ledger, by the program or the file that a
//! person would use.

use super::{
    Change, DriveMark, Inherited, Ledger,
    held::Held,
    inherit,
    put_back::{kernel_cache, loops_over, unmount},
};
use crate::{
    directory::Directory,
    error::{ErrorKind, HostError},
    program::Program,
    roots::Roots,
    setting::{Attribute, Switch, WriteCache, refuse_shared, said},
};
use engine::raw::LoopDevice;
use std::{
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
    process::Child,
    sync::Arc,
};

/// How a file system is mounted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mounting {
    /// Its name: `ext4`.
    pub fs: String,
    /// As mount(8) takes them after `-o`; may be empty.
    pub options: String,
}

/// The command that puts a loop device over a file, or over its first `bytes_max` bytes.
pub fn attaching(file: &Path, bytes_max: Option<u64>) -> Program {
    let limited = "losetup --find --show --direct-io=on --sizelimit=";
    let (unlimited, limit) = limited.rsplit_once(' ').expect("it has words");
    let mut words: Vec<String> = unlimited.split(' ').map(str::to_owned).collect();
    words.extend(bytes_max.map(|bytes| format!("{limit}{bytes}")));
    words.push(file.display().to_string());
    Program::new(words)
}

impl Mounting {
    /// The command that mounts `source` at `at`.
    pub fn program(&self, source: &Path, at: &Path) -> Program {
        let [source, at] = [source, at].map(|path| path.display().to_string());
        let mut words = vec!["mount".to_owned(), "-t".to_owned(), self.fs.clone()];
        if !self.options.is_empty() {
            words.extend(["-o".to_owned(), self.options.clone()]);
        }
        words.extend([source, at]);
        Program::new(words)
    }

    /// Unmounts `source` from `at` and mounts it there again, so that nothing of it is left in
    /// memory. The ledger's line of the first mount stands for this one, too.
    ///
    /// # Errors
    /// When somebody uses it, or mount(8)'s.
    pub fn mount_anew(
        &self,
        source: &Path,
        at: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), HostError> {
        unmount(&source.display().to_string(), at, &self.fs, &Roots::default(), say)?;
        let program = self.program(source, at);
        say(&program.to_string());
        program.run().map(drop)
    }
}

impl Ledger {
    /// Makes an empty file in `directory` that only its owner may read.
    ///
    /// # Errors
    /// When there is something, or the system's.
    pub fn file(&mut self, directory: &Directory, name: &OsStr) -> Result<Arc<File>, HostError> {
        let path = directory.path().join(name);
        refuse_existing(directory, name)?;
        self.make_held(Change::File { path: path.clone() }, || {
            let made = directory.create(name);
            let file = Arc::new(made.map_err(|error| HostError::io("create", &path, error))?);
            let (directory, name) = (directory.clone(), name.to_owned());
            let held = Held::File { directory, name, file: Arc::clone(&file) };
            Ok((file, held))
        })
    }

    /// Makes a directory in `parent` that only its owner may enter.
    ///
    /// # Errors
    /// When there is something, or the system's.
    pub fn new_directory(
        &mut self,
        parent: &Directory,
        name: &OsStr,
    ) -> Result<Directory, HostError> {
        let path = parent.path().join(name);
        refuse_existing(parent, name)?;
        self.make_held(Change::Directory { path: path.clone() }, || {
            let made = parent.make(name);
            let directory = made.map_err(|error| HostError::io("create", &path, error))?;
            let (parent, name) = (parent.clone(), name.to_owned());
            Ok((directory.clone(), Held::Directory { parent, name, directory }))
        })
    }

    /// Attaches a loop device to `file`, which is open for reading and writing and lies at `path`,
    /// past the page cache where that is possible, over no more than `bytes_max` bytes; its path.
    /// It is held open until it is put back, so that it stays over that file.
    ///
    /// # Errors
    /// When there is one over the file already, or the system's.
    pub fn loop_device(
        &mut self,
        file: &File,
        path: &Path,
        bytes_max: Option<u64>,
    ) -> Result<PathBuf, HostError> {
        if let Some(there) = loops_over(path, self.roots()).first() {
            let sentence =
                format!("{} is over {} already: detach it", there.display(), path.display());
            return Err(HostError::new(ErrorKind::Exists, sentence));
        }
        self.say(&attaching(path, bytes_max).to_string());
        self.make_held(Change::Loop { file: path.to_owned() }, || {
            let attached = LoopDevice::attach(file, path, bytes_max);
            let device =
                attached.map_err(|error| HostError::io("put a loop device over", path, error))?;
            Ok((device.path().to_owned(), Held::Loop(device)))
        })
    }

    /// Mounts `source` at the directory `at`.
    ///
    /// # Errors
    /// mount's.
    pub fn mount(&mut self, source: &Path, at: &Path, how: &Mounting) -> Result<(), HostError> {
        let program = how.program(source, at);
        self.say(&program.to_string());
        let change = Change::Mount {
            source: source.display().to_string(),
            at: at.to_owned(),
            fs: how.fs.clone(),
            options: how.options.clone(),
        };
        self.make(change, || program.run().map(drop))
    }

    /// Whether [`write_cache`](Self::write_cache) can switch, asked before anything is changed.
    ///
    /// # Errors
    /// When the drive has no switch; when others use the same drive.
    pub fn check_write_cache(device: &Path, roots: &Roots) -> Result<(), HostError> {
        refuse_shared(device, roots)?;
        Switch::find(device, roots).map(drop)
    }

    /// Switches a drive's own write cache, and reads back from the drive whether it did; changes
    /// nothing where it stands so already. Gives what the drive says, and what the kernel makes of
    /// it.
    ///
    /// # Errors
    /// When the drive has no switch, or does not obey it; when others use the same drive.
    pub fn write_cache(&mut self, device: &Path, wanted: WriteCache) -> Result<String, HostError> {
        let roots = self.roots().clone();
        let (switch, was) = Switch::find(device, &roots)?;
        if was != wanted {
            refuse_shared(device, &roots)?;
            self.say(&switch.telling(device, wanted, &roots));
            let device = device.to_owned();
            let drive = DriveMark::of(&device, &roots);
            let kernel = kernel_cache(&device, &roots);
            let now = wanted;
            let change =
                Change::WriteCache { device: device.clone(), switch, was, now, kernel, drive };
            self.make(change, || switch.write(&device, wanted, &roots))?;
        }
        let said = said(device, wanted, &roots);
        self.say(&format!("# {said}"));
        Ok(said)
    }

    /// Sets a setting of the kernel's queue; does nothing where it stands so already.
    ///
    /// # Errors
    /// When the device has no such setting, or the kernel does not take it.
    pub fn queue(
        &mut self,
        device: &str,
        attribute: Attribute,
        wanted: &str,
    ) -> Result<(), HostError> {
        let roots = self.roots().clone();
        let was = attribute.read(device, &roots)?;
        if was == wanted {
            return Ok(());
        }
        self.say(&format!("echo '{wanted}' > /sys/block/{device}/queue/{attribute}"));
        let (device, now) = (device.to_owned(), wanted.to_owned());
        let drive = DriveMark::of_name(&device, &roots);
        let change = Change::Queue { device: device.clone(), attribute, was, now, drive };
        self.make(change, || attribute.write(&device, wanted, &roots))
    }

    /// Starts a process by `start`; `mark` is an argument of it that no other process of `program`
    /// has. A line that stands for such a process already stands for this one, too.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn process(
        &mut self,
        program: &str,
        mark: &str,
        start: impl FnOnce() -> Result<Child, HostError>,
    ) -> Result<Child, HostError> {
        let change = Change::Process { program: program.to_owned(), mark: mark.to_owned() };
        let failed = |error| HostError::io("start", Path::new(program), error);
        // It may outlive us, and must not be taken for us.
        inherit(&self.file, Inherited::No).map_err(failed)?;
        let started = match self.standing.iter().any(|(_, known)| *known == change) {
            true => start(),
            false => self.make(change, start),
        };
        inherit(&self.file, Inherited::Yes).map_err(failed)?;
        started
    }
}

/// What is there already is not ours to remove later.
fn refuse_existing(directory: &Directory, name: &OsStr) -> Result<(), HostError> {
    if !directory.has_name(name) {
        return Ok(());
    }
    let path = directory.path().join(name);
    let sentence = format!("{} exists already: name another place", path.display());
    Err(HostError::new(ErrorKind::Exists, sentence))
}
