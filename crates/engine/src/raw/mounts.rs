//! Mounting and unmounting without mount(8), which takes a process each.

use super::device::ioctl;
use std::{
    ffi::{CString, OsStr},
    fs::File,
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
};

/// Mounts `source`, a file system `fs`, at the directory `at`, writable and without flags;
/// `options` are the file system's own, with commas between, or empty.
///
/// # Errors
/// Those of mount(2): EINVAL of an option that the file system does not know.
pub fn mount(source: &Path, at: &Path, fs: &str, options: &str) -> io::Result<()> {
    let (source, at) = (text(source.as_os_str())?, text(at.as_os_str())?);
    let (fs, options) = (text(fs.as_ref())?, text(options.as_ref())?);
    let data = if options.is_empty() { ptr::null() } else { options.as_ptr() };
    // SAFETY: all four are texts that end in a zero and live until the call is over.
    let done = unsafe { libc::mount(source.as_ptr(), at.as_ptr(), fs.as_ptr(), 0, data.cast()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unmounts what is on top at `at`, which is followed through no link.
///
/// # Errors
/// Those of umount2(2): EBUSY while somebody uses it.
pub fn unmount(at: &Path) -> io::Result<()> {
    let at = text(at.as_os_str())?;
    // SAFETY: a text that ends in a zero and lives until the call is over.
    let done = unsafe { libc::umount2(at.as_ptr(), libc::UMOUNT_NOFOLLOW) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has btrfs forget a device of which nothing is mounted (linux/btrfs.h).
///
/// # Errors
/// Those of `BTRFS_IOC_FORGET_DEV`, EBUSY of one that is mounted.
pub fn forget_btrfs(device: &Path) -> io::Result<()> {
    let control = File::options().read(true).write(true).open("/dev/btrfs-control")?;
    let mut arguments = BtrfsArguments { _descriptor: 0, name: [0; BTRFS_NAME_BYTES] };
    let name = device.as_os_str().as_bytes();
    if name.len() >= BTRFS_NAME_BYTES {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    arguments.name[..name.len()].copy_from_slice(name);
    // SAFETY: BTRFS_IOC_FORGET_DEV reads a btrfs_ioctl_vol_args, which is laid out so.
    unsafe { ioctl(&control, BTRFS_IOC_FORGET_DEV, (&raw mut arguments).cast()) }.map(drop)
}

const BTRFS_NAME_BYTES: usize = 4088;
/// `_IOW(0x94, 5, struct btrfs_ioctl_vol_args)`.
const BTRFS_IOC_FORGET_DEV: u32 = 0x5000_9405;

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct BtrfsArguments {
    _descriptor: i64,
    name: [u8; BTRFS_NAME_BYTES],
}

fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
