//! Before a disk goes: what the system still holds of it is written to it, while it is served.

use engine::raw;
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

/// Whether somebody uses a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Nobody holds it.
    Free,
    /// It is mounted, or part of something.
    Held,
}

/// How a disk went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// Whether somebody used it when it went.
    pub r#use: Use,
    /// Whether the device is gone; else it goes when whoever has it open closes it.
    pub is_gone: bool,
}

/// Writing out what the system holds of a disk, on a thread of its own: the server's must answer
/// what that asks for.
pub struct WritingOut(JoinHandle<io::Result<Use>>);

impl WritingOut {
    /// Begins it for disk `id` and its partitions.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(id: u32) -> io::Result<Self> {
        let write_out = move || {
            let mut r#use = Use::Free;
            for path in nodes(id)? {
                r#use = if write_out(&path)? == Use::Held { Use::Held } else { r#use };
            }
            Ok(r#use)
        };
        thread::Builder::new().name("release".to_owned()).spawn(write_out).map(Self)
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    /// Whether somebody holds the disk, once it has ended.
    ///
    /// # Errors
    /// The first that writing met.
    pub fn outcome(self) -> io::Result<Use> {
        self.0.join().expect("writing out does not panic")
    }
}

/// The nodes of a disk's partitions, and of the disk.
fn nodes(id: u32) -> io::Result<Vec<PathBuf>> {
    let disk = format!("ublkb{id}");
    let mut nodes = Vec::new();
    for entry in fs::read_dir(Path::new("/sys/class/block").join(&disk))? {
        let name = entry?.file_name();
        let is_partition = name.to_str().is_some_and(|name| name.starts_with(&disk));
        if is_partition {
            nodes.push(Path::new("/dev").join(name));
        }
    }
    nodes.push(Path::new("/dev").join(disk));
    Ok(nodes)
}

/// Writes out what the page cache and a mounted file system hold, and flushes.
fn write_out(path: &Path) -> io::Result<Use> {
    let exclusive = OFlags::EXCL.bits() as i32;
    let held = File::options().read(true).custom_flags(exclusive).open(path);
    let r#use = match held {
        Ok(_) => Use::Free,
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Use::Held,
        // Nobody can have opened what has no node.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Use::Free),
        Err(error) => return Err(error),
    };
    let disk = File::open(path)?;
    // BLKFLSBUF has a mounted file system write everything out, too.
    raw::drop_device_cache(&disk)?;
    disk.sync_all()?;
    Ok(r#use)
}
