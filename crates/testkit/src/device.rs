//! Loop devices and mounts that are undone on drop.

use super::program::system;
use std::{
    fs::{self, File},
    io::Result,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// A directory of its own where Cargo has tests put their files, `target/tmp`: `/tmp` may be in
/// memory, where O_DIRECT and loop devices behave otherwise.
fn directory() -> TempDir {
    let program = std::env::current_exe().expect("the test's program has a path");
    // target/debug/deps/NAME
    let target = program.ancestors().nth(3).expect("it is in Cargo's target directory");
    let place = target.join("tmp");
    fs::create_dir_all(&place).expect("a directory");
    tempfile::tempdir_in(place).expect("a directory")
}

/// A loop device over a file of its own; detached on drop.
pub struct LoopDevice {
    /// `/dev/loopN`.
    pub path: PathBuf,
    /// The file behind it.
    pub image: PathBuf,
    directory: Option<TempDir>,
}

impl LoopDevice {
    /// Attaches `bytes` of zeros; `None` without root or loop devices.
    pub fn of_zeros(bytes: u64) -> Option<Self> {
        Self::attach(|image| image.set_len(bytes), &[])
    }

    /// Attaches a file that `fill` wrote, with further options of losetup(8), such as `-P` or `-r`.
    pub fn attach(fill: impl FnOnce(&mut File) -> Result<()>, options: &[&str]) -> Option<Self> {
        let directory = directory();
        let image = directory.path().join("image");
        fill(&mut File::create_new(&image).expect("an image")).expect("the image is filled");
        let mut device = Self::over(image, options)?;
        device.directory = Some(directory);
        Some(device)
    }

    /// Attaches a file that stays where it is.
    pub fn over(image: PathBuf, options: &[&str]) -> Option<Self> {
        let image = fs::canonicalize(image).expect("it is there");
        let text = image.to_str().expect("plain names").to_owned();
        // Between finding a free device and taking it, another test may be quicker.
        let attach = || system("losetup", &[options, &["--find", "--show", &text][..]].concat());
        let path = (0..5).find_map(|_| attach())?;
        let device = Self { path: PathBuf::from(path.trim()), image, directory: None };
        // A name keeps what was set under it. A matrix that was killed had left three of them with
        // the cache off: no flush went down, and databases lost commits that were acknowledged.
        let cache = format!("/sys/block/{}/queue/write_cache", device.name());
        // Where there is none it cannot be set, and need not.
        let _ = fs::write(cache, "write back");
        Some(device)
    }

    /// `loopN`.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).expect("a kernel name")
    }

    /// The device's path as text.
    pub fn text(&self) -> &str {
        self.path.to_str().expect("plain names")
    }

    /// The first partition: found by the kernel or, where it reads no partition tables, told to it.
    pub fn first_partition(&self, start_sectors: u64, sectors: u64) -> Option<PathBuf> {
        let path = PathBuf::from(format!("{}p1", self.text()));
        if !path.exists() {
            let (start, length) = (start_sectors.to_string(), sectors.to_string());
            system("addpart", &[self.text(), "1", &start, &length])?;
        }
        path.exists().then_some(path)
    }

    /// Makes a file system with `program` and mounts it.
    pub fn mounted(&self, program: &str, options: &[&str]) -> Option<Mounted> {
        system(program, &["-q", self.text()])?;
        Mounted::new(&self.path, options)
    }

    /// A fresh directory beside the image, such as a mount point.
    ///
    /// # Panics
    /// If the image is not in a directory of its own.
    pub fn directory(&self, name: &str) -> PathBuf {
        let own = self.directory.as_ref().expect("the image has a directory of its own");
        let path = own.path().join(name);
        fs::create_dir(&path).expect("a fresh directory");
        path
    }

    /// Detaches it if `image` is still behind it: once a test has detached it, the name may be
    /// another test's.
    pub fn detach_from(&self, image: &Path) {
        let sysfs = format!("/sys/block/{}/loop/backing_file", self.name());
        let backing = fs::read_to_string(sysfs).unwrap_or_default();
        let image = fs::canonicalize(image).unwrap_or_else(|_| image.to_owned());
        let backing = backing.trim_end();
        // What is served by a server that was killed is deleted to the kernel: its device was left.
        if Path::new(backing.strip_suffix(" (deleted)").unwrap_or(backing)) == image {
            system("losetup", &["--detach", self.text()]);
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.detach_from(&self.image);
    }
}

/// A mount, undone on drop. Declare it after the device that it stands on.
pub struct Mounted {
    place: PathBuf,
    /// Removed after the unmount.
    own: Option<TempDir>,
}

impl Mounted {
    /// On a directory of its own; `None` when the kernel refuses.
    pub fn new(device: &Path, options: &[&str]) -> Option<Self> {
        let own = directory();
        let mut mounted = Self::on(device, own.path().to_owned(), options)?;
        mounted.own = Some(own);
        Some(mounted)
    }

    /// On that directory or file; `None` when the kernel refuses.
    pub fn on(device: &Path, place: PathBuf, options: &[&str]) -> Option<Self> {
        let device = device.to_str().expect("plain names");
        let text = place.to_str().expect("plain names");
        system("mount", &[options, &[device, text][..]].concat())?;
        Some(Self { place, own: None })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// The same as text.
    pub fn text(&self) -> &str {
        self.path().to_str().expect("plain names")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A loop device above lets go of its file a moment after it was detached.
        let try_it = |_: &u32| {
            thread::sleep(Duration::from_millis(20));
            system("umount", &["--quiet", self.text()]).is_some()
        };
        if (0..20).find(try_it).is_none() {
            system("umount", &["--lazy", self.text()]);
        }
    }
}
