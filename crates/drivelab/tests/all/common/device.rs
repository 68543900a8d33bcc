//! Loop devices and mounts that are undone on drop, and hashes that show whether a byte changed.

use std::{
    fs::{self, File},
    io::{Read, Result, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Runs a program of the system; its output when it succeeded.
pub fn system(program: &str, arguments: &[&str]) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(program).args(arguments).env("PATH", path).output().ok()?;
    if !output.status.success() {
        eprintln!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// FNV-1a over a file's words: enough to see that none changed.
pub fn hash(path: &Path) -> u64 {
    let mut file = File::open(path).expect("readable");
    let mut piece = vec![0; 1 << 20];
    let mut hash = 0xcbf2_9ce4_8422_2325;
    loop {
        let bytes = file.read(&mut piece).expect("readable");
        if bytes == 0 {
            return hash;
        }
        for word in piece[..bytes].chunks(8) {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The hash of what is behind a loop device, once all of it has reached the file.
pub fn hash_device(device: &LoopDevice) -> u64 {
    File::open(&device.path).and_then(|open| open.sync_all()).expect("flushed");
    hash(&device.image)
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
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
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
        Some(Self { path: PathBuf::from(path.trim()), image, directory: None })
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

    /// Detaches it if `image` is still behind it: once a test has detached it, the name may be
    /// another test's.
    pub fn detach_from(&self, image: &Path) {
        let sysfs = format!("/sys/block/{}/loop/backing_file", self.name());
        let backing = fs::read_to_string(sysfs).unwrap_or_default();
        let image = fs::canonicalize(image).unwrap_or_else(|_| image.to_owned());
        if Path::new(backing.trim_end()) == image {
            system("losetup", &["--detach", self.text()]);
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.detach_from(&self.image);
    }
}

/// A mount on a directory of its own, undone on drop. Declare it after the device that it stands
/// on.
pub struct Mounted {
    place: TempDir,
}

impl Mounted {
    /// `None` when the kernel refuses.
    pub fn new(device: &Path, options: &[&str]) -> Option<Self> {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let device = device.to_str().expect("plain names");
        let text = place.path().to_str().expect("plain names");
        system("mount", &[options, &[device, text][..]].concat())?;
        Some(Self { place })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.place.path()
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

/// A table with one partition from 1 MiB to the end: no partitioning program is needed.
pub fn write_mbr(image: &mut File, bytes: u64) -> Result<()> {
    image.set_len(bytes)?;
    let mut sector = [0u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    let length = (bytes / 512 - 2048) as u32;
    sector[446 + 12..446 + 16].copy_from_slice(&length.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    image.seek(SeekFrom::Start(0))?;
    image.write_all(&sector)
}

/// Fills a file with bytes that no one compresses.
pub fn fill(path: &Path, bytes: u64) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 24) as u8
    };
    let contents: Vec<u8> = (0..bytes).map(|_| next()).collect();
    fs::write(path, contents).expect("a file");
}
