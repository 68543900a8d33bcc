//! Looks at what a cut left: mounts it, has the program check it, unmounts it, and has the file
//! system's own check look at it.
//!
//! ```text
//!   forget what the kernel has cached of the loop device
//!   Image::take: the file in memory becomes what is left
//!   mount, which replays the journal -> the program's check -> umount
//!   the file system's check, of the file itself
//! ```
//!
//! Loop device and mount point stay from cut to cut, and the ledger has a line of each.

use super::{
    ReplayOrder,
    checker::Checker,
    image::{Image, Untaken},
};
use crate::{
    error::PowerCutError,
    order::{Place, PowerCutOrder},
    recording::failed,
    round::{Rig, file_system},
};
use host::{
    Directory, Ledger,
    ledger::{Mounting, Remounting},
};
use matrix::{Caller, rig};
use record::PowerCutRound;
use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};
use target::{replayed::Left, write_log::WriteLogError};

/// How often a file system is mounted whose identifier the kernel knows of another device: who
/// mounted that has yet to have it forgotten.
const ATTEMPTS: u32 = 100;

/// What looks at images.
pub struct Judge<'a> {
    order: &'a PowerCutOrder,
    caller: &'a Caller,
    stop: &'a AtomicBool,
    image: Image,
    mount: Remounting,
    checker: Checker,
}

impl<'a> Judge<'a> {
    /// An empty file in memory, as large as what the file system takes of the drives, under a loop
    /// device.
    pub fn new(
        ledger: &mut Ledger,
        order: &'a ReplayOrder,
        caller: &'a Caller,
        stop: &'a AtomicBool,
        block_bytes: u32,
    ) -> Result<Self, PowerCutError> {
        let (base, bytes) = (&caller.place, order.file_system_bytes());
        let order = &order.order;
        let memory = base.join("memory");
        ledger.new_directory(&Directory::open_canonical(base)?, "memory".as_ref())?;
        // What no flush of the check's is to wait for a disk; pages are taken when they are
        // written.
        let mounting = Mounting { fs: "tmpfs".to_owned(), options: "mode=700,size=90%".to_owned() };
        ledger.mount(Path::new("tmpfs"), &memory, &mounting)?;
        let file = ledger.file(&Directory::open_canonical(&memory)?, "image".as_ref())?;
        let path = memory.join("image");
        let image = Image::new(file, path.clone(), bytes, block_bytes);
        let image = image.map_err(|error| failed(&path, error.into()))?;
        let device = ledger.loop_device(image.file(), &path, Some(bytes))?;
        let mount = rig::remounting(ledger, &order.configuration, &device, &base.join("mount"))?;
        Ok(Self { order, caller, stop, image, mount, checker: Checker::default() })
    }

    /// Where it is mounted.
    pub fn at(&self) -> &Path {
        self.mount.at()
    }

    /// The log has written there.
    pub fn touch(&mut self, offset: u64, bytes: u64) {
        self.image.touch(offset, bytes);
    }

    /// Looks at what is left, and at what of it was promised.
    pub fn look(
        &mut self,
        ledger: &mut Ledger,
        mut left: Left,
        promised: &[String],
        found: &mut PowerCutRound,
    ) -> Result<(), PowerCutError> {
        self.mount.forget()?;
        if let Err(error) = self.image.take(&mut left) {
            let Untaken::Drives(error) = error else { return Err(error.into()) };
            found.promises.lost = found.promises.made;
            found.broken = Some(format!("what is left cannot be read: {error:?}"));
            return Ok(());
        }
        drop(left);
        ledger.say(&self.mount.shown());
        let since = Instant::now();
        let mounted = self.mount.mount(ATTEMPTS);
        found.mounted_after_s = since.elapsed().as_secs_f64();
        if let Err(error) = mounted {
            self.uninterrupted()?;
            ledger.say(&error.to_string());
            found.promises.lost = found.promises.made;
            return Ok(());
        }
        let asked = self.ask(ledger, promised, found);
        if asked.is_err() {
            // One that is not done yet would go on in the empty directory.
            self.checker.end();
        }
        ledger.say(&format!("umount {}", self.mount.at().display()));
        self.mount.unmount()?;
        asked?;
        found.file_system = file_system(ledger, self.order, self.image.path());
        // Ctrl-C goes to mount and fsck, too: what they say then is said of nothing.
        self.uninterrupted()
    }

    fn ask(
        &mut self,
        ledger: &mut Ledger,
        promised: &[String],
        found: &mut PowerCutRound,
    ) -> Result<(), PowerCutError> {
        let (order, caller, stop) = (self.order, self.caller, self.stop);
        let at = self.mount.at().to_owned();
        if order.program.checks_again {
            return self.checker.ask(ledger, order, &at, promised, found, stop);
        }
        let (children, workload) = (Vec::new(), None);
        let mut rig = Rig { order, caller, stop, round: found.round, children, workload };
        let asked = rig.ask(ledger, &Place::Directory(at), promised, found);
        rig.end_workload();
        asked
    }

    fn uninterrupted(&self) -> Result<(), PowerCutError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(PowerCutError::Interrupted),
            false => Ok(()),
        }
    }
}

impl Drop for Judge<'_> {
    fn drop(&mut self) {
        self.checker.end();
    }
}

impl From<Untaken> for PowerCutError {
    fn from(error: Untaken) -> Self {
        match error {
            Untaken::Image(path, error) => failed(&path, WriteLogError::Io(error)),
            Untaken::Drives(error) => Self::NoReplay(format!("the drives answer {error:?}")),
        }
    }
}
