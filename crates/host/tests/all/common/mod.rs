//! Fixtures: machines made of files, and loop devices that are detached whatever happens.

use host::Roots;
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Says why a test does not run, or fails it where DRIVELAB_NO_SKIP=1.
pub fn skip(needs: &str) {
    assert!(
        std::env::var_os("DRIVELAB_NO_SKIP").is_none_or(|value| value != "1"),
        "needs {needs}, and DRIVELAB_NO_SKIP=1 forbids skipping"
    );
    eprintln!("skipped: needs {needs}");
}

/// Unwraps what the environment must offer, or leaves the test.
macro_rules! need {
    ($value:expr, $needs:expr) => {
        match $value {
            Some(value) => value,
            None => return $crate::common::skip($needs),
        }
    };
}

/// Runs a program; its output when it succeeded.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
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

/// A loop device over a sparse file of its own; detached on drop.
pub struct LoopDevice {
    /// `/dev/loopN`.
    pub path: PathBuf,
    /// The file behind it.
    pub image: PathBuf,
    directory: TempDir,
}

impl LoopDevice {
    /// Attaches `bytes` of zeros; `None` without root or loop devices.
    pub fn of_zeros(bytes: u64) -> Option<Self> {
        Self::attach(|image| image.set_len(bytes), &[])
    }

    /// Attaches a file that `fill` wrote, with further options of losetup(8), such as `-P` or `-r`.
    pub fn attach(
        fill: impl FnOnce(&mut File) -> std::io::Result<()>,
        options: &[&str],
    ) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let image = directory.path().join("image");
        fill(&mut File::create_new(&image).expect("an image")).expect("the image is filled");
        let image = fs::canonicalize(image).expect("it was made");
        let text = image.to_str().expect("plain names").to_owned();
        // Between finding a free device and taking it, another test may be quicker.
        let path = (0..5)
            .find_map(|_| run("losetup", &[options, &["--find", "--show", &text][..]].concat()))?;
        Some(Self { path: PathBuf::from(path.trim()), image, directory })
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
    /// `None` without either.
    pub fn first_partition(&self, start_sectors: u64, sectors: u64) -> Option<PathBuf> {
        let path = PathBuf::from(format!("{}p1", self.text()));
        if !path.exists() {
            let (start, length) = (start_sectors.to_string(), sectors.to_string());
            run("addpart", &[self.text(), "1", &start, &length])?;
        }
        path.exists().then_some(path)
    }

    /// A fresh directory beside the image, such as a mount point.
    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::create_dir(&path).expect("a fresh directory");
        path
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // One that the test detached itself may be another test's by now.
        let sysfs = format!("/sys/block/{}/loop/backing_file", self.name());
        let backing = fs::read_to_string(sysfs).unwrap_or_default();
        if Path::new(backing.trim_end()) == self.image {
            run("losetup", &["--detach", self.text()]);
        }
    }
}

/// A mount, undone on drop. Declare it after the device that it stands on.
pub struct Mounted(pub PathBuf);

impl Mounted {
    /// `None` when the kernel refuses.
    pub fn new(device: &Path, mount_point: PathBuf, options: &[&str]) -> Option<Self> {
        let device = device.to_str().expect("plain names");
        let place = mount_point.to_str().expect("plain names").to_owned();
        run("mount", &[options, &[device, &place][..]].concat())?;
        Some(Self(mount_point))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().expect("plain names")]);
    }
}

/// A machine made of files below a temporary directory.
pub struct FakeMachine {
    _top: TempDir,
    /// What to hand to the code under test.
    pub roots: Roots,
}

impl FakeMachine {
    /// Without any device or mount.
    pub fn new() -> Self {
        let top = tempfile::tempdir().expect("a directory");
        let roots = Roots::below(&fs::canonicalize(top.path()).expect("it exists"));
        for folder in ["proc/self", "sys/block", "sys/class/block", "sys/dev/block", "dev"] {
            fs::create_dir_all(top.path().join(folder)).expect("a directory");
        }
        Self { _top: top, roots }
    }

    /// A path in the fake tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.roots.proc.parent().expect("below the top").join(path)
    }

    /// Writes a text, its directories included.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// Appends a line.
    pub fn append(&self, path: &str, line: &str) {
        let path = self.path(path);
        let mut file = File::options().create(true).append(true).open(path).expect("a file");
        writeln!(file, "{line}").expect("a line");
    }

    /// A disk of 1 GiB at `sys/devices/BUS/block/NAME`.
    pub fn disk(&self, bus: &str, name: &str, number: &str) {
        let directory = format!("sys/devices/{bus}/block/{name}");
        self.device(&directory, name, number, 1 << 30);
        for (file, text) in [
            ("scheduler", "none [mq-deadline]"),
            ("read_ahead_kb", "128"),
            ("write_cache", "write through"),
            ("fua", "1"),
            ("rotational", "0"),
            ("logical_block_size", "512"),
            ("physical_block_size", "4096"),
            ("nr_requests", "64"),
            ("discard_max_bytes", "0"),
            ("zoned", "none"),
        ] {
            self.write(&format!("{directory}/queue/{file}"), format!("{text}\n"));
        }
        symlink(self.path(&directory), self.path(&format!("sys/block/{name}"))).expect("a link");
    }

    /// A file of the disk or partition `name`.
    pub fn attribute(&self, name: &str, file: &str, text: &str) {
        let directory = self.path(&format!("sys/class/block/{name}"));
        let path = fs::canonicalize(directory).expect("a device").join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// A partition of 256 MiB.
    pub fn partition(&self, disk: &str, name: &str, number: &str, start_sectors: u64) {
        let disk = fs::canonicalize(self.path(&format!("sys/block/{disk}"))).expect("a disk");
        let top = self.path("");
        let disk = disk.strip_prefix(&top).expect("below the top").to_str().expect("plain names");
        let directory = format!("{disk}/{name}");
        self.device(&directory, name, number, 256 << 20);
        self.write(&format!("{directory}/partition"), "1\n");
        self.write(&format!("{directory}/start"), format!("{start_sectors}\n"));
    }

    /// Puts `above` (an array, a mapping) onto `below`.
    pub fn stack(&self, above: &str, below: &str) {
        for (one, folder, other) in [(above, "slaves", below), (below, "holders", above)] {
            let at = |name: &str| {
                fs::canonicalize(self.path(&format!("sys/class/block/{name}"))).expect("a device")
            };
            let folder = at(one).join(folder);
            fs::create_dir_all(&folder).expect("a directory");
            symlink(at(other), folder.join(other)).expect("a link");
        }
    }

    /// A line of the mount table; `place` is a path in the fake tree or, with a leading slash, as
    /// it is.
    pub fn mount(&self, number: &str, place: &str, kind: &str, source: &str, options: &str) {
        let place = self.path(place);
        fs::create_dir_all(&place).ok();
        let place = place.display();
        self.append(
            "proc/self/mountinfo",
            &format!("9 8 {number} / {place} rw,relatime - {kind} {source} {options}"),
        );
    }

    fn device(&self, directory: &str, name: &str, number: &str, bytes: u64) {
        self.write(&format!("{directory}/dev"), format!("{number}\n"));
        self.write(&format!("{directory}/size"), format!("{}\n", bytes / 512));
        self.write(&format!("{directory}/ro"), "0\n");
        self.write(&format!("dev/{name}"), "");
        let directory = self.path(directory);
        symlink(&directory, self.path(&format!("sys/class/block/{name}"))).expect("a link");
        symlink(&directory, self.path(&format!("sys/dev/block/{number}"))).expect("a link");
    }
}
