//! What nobody may touch: a tree, a file and a loop device of root's, and the yard of another user
//! beside them.

use super::other::{Aims, USER};
use crate::common::{LoopDevice, fill, hash, hash_device};
use std::{
    fs::{self, File},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Whose the measured directory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The other user's.
    His,
    /// The other user's, sticky.
    HisSticky,
    /// Root's, for everybody, sticky: as /tmp is. It lies in a directory of his.
    Shared,
}

impl Owner {
    pub const ALL: [Self; 3] = [Self::His, Self::HisSticky, Self::Shared];
}

/// The stage of a race.
pub struct Stage {
    device: LoopDevice,
    /// While it is open, nobody who detaches it by name, such as another test, takes it away.
    _open: File,
    top: TempDir,
    before: Vec<(PathBuf, u64)>,
    device_before: u64,
}

impl Stage {
    /// In `parent`; `None` without root or loop devices.
    pub fn new(parent: &Path) -> Option<Self> {
        let device = LoopDevice::of_zeros(1 << 20)?;
        let open = File::open(&device.path).expect("it is there");
        fill(&device.path, 1 << 20);
        let top = tempfile::tempdir_in(parent).expect("a directory");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(top.path(), all.clone()).expect("root's");
        let tree = top.path().join("precious/tree");
        for below in ["t0", "t1/t0", "t2"] {
            fs::create_dir_all(tree.join(below)).expect("directories");
            for name in ["f000000000000000007", "0", "data"] {
                fill(&tree.join(below).join(name), 8 << 10);
            }
        }
        fill(&top.path().join("precious/file"), 64 << 10);
        fs::create_dir(top.path().join("yard")).expect("a yard");
        chown(top.path().join("yard"), Some(USER), Some(USER)).expect("root may");
        let device_before = hash_device(&device);
        let mut stage = Self { device, _open: open, top, before: Vec::new(), device_before };
        stage.before = stage.look();
        Some(stage)
    }

    pub fn yard(&self) -> PathBuf {
        self.top.path().join("yard")
    }

    pub fn area(&self) -> PathBuf {
        self.yard().join("area")
    }

    pub fn aims(&self) -> Aims {
        let precious = self.top.path().join("precious");
        let (tree, file) = (precious.join("tree"), precious.join("file"));
        Aims { tree, file, device: self.device.path.clone() }
    }

    /// The measured directory, new.
    pub fn begin(&self, owner: Owner) {
        for left in fs::read_dir(self.yard()).expect("a yard").flatten() {
            let path = left.path();
            let gone = match left.file_type().expect("a type").is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            gone.expect("root may");
        }
        let area = self.area();
        fs::create_dir(&area).expect("a directory");
        let (user, mode) = match owner {
            Owner::His => (USER, 0o755),
            Owner::HisSticky => (USER, 0o1777),
            Owner::Shared => (0, 0o1777),
        };
        chown(&area, Some(user), Some(user)).expect("root may");
        fs::set_permissions(&area, fs::Permissions::from_mode(mode)).expect("root may");
    }

    /// Fails where a byte or a name outside the yard is not what it was.
    pub fn check(&self, story: &str) {
        assert_eq!(self.look(), self.before, "{story}: precious files are not what they were");
    }

    /// Likewise, with the device.
    pub fn check_all(&self, story: &str) {
        self.check(story);
        let device = hash_device(&self.device);
        assert_eq!(device, self.device_before, "{story}: the device is not what it was");
    }

    /// Bytes that root's files still take in the yard.
    pub fn left_bytes(&self) -> u64 {
        let mut bytes = 0;
        walk(&self.yard(), &mut |path| {
            let meta = fs::symlink_metadata(path).expect("it is there");
            bytes += if meta.is_file() && meta.uid() == 0 { meta.len() } else { 0 };
        });
        bytes
    }

    /// Every name, with what it holds.
    fn look(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        walk(&self.top.path().join("precious"), &mut |path| {
            let meta = fs::symlink_metadata(path).expect("it is there");
            let held = if meta.is_file() { hash(path) ^ u64::from(meta.mode()) } else { 0 };
            found.push((path.to_owned(), held));
        });
        found.sort();
        found
    }
}

fn walk(directory: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(directory).expect("listed").flatten() {
        each(&entry.path());
        if entry.file_type().expect("a type").is_dir() {
            walk(&entry.path(), each);
        }
    }
}
