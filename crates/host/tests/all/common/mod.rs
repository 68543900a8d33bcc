//! Machines made of files.

use host::Roots;
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::PathBuf,
};
use tempfile::TempDir;

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
            ("max_segments", "168"),
            ("max_sectors_kb", "1280"),
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
