//! What the block layer says of a device, and two things it does to one (linux/fs.h).

use std::{
    ffi::c_void,
    fs::File,
    io,
    ops::Range,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

// Numbers from include/uapi/linux/fs.h; `_IO(0x12, n)` is 0x1200 + n on every architecture we run
// on.
const BLKROGET: u32 = 0x125e;
const BLKFLSBUF: u32 = 0x1261;
const BLKDISCARD: u32 = 0x1277;
const BLKIOOPT: u32 = 0x1279;
/// `_IOR(0x12, 114, size_t)` with a `size_t` of eight bytes.
const BLKGETSIZE64: u32 = 0x8008_1272;

/// The device's size in bytes.
///
/// # Errors
/// ENOTTY if `file` is no block device.
pub fn device_bytes(file: &File) -> io::Result<u64> {
    let mut bytes = 0u64;
    // SAFETY: BLKGETSIZE64 stores a u64 (it says size_t, but writes 64 bits).
    unsafe { ioctl(file, BLKGETSIZE64, (&raw mut bytes).cast()) }?;
    Ok(bytes)
}

/// Whether `file` is a block device that the kernel has no more: pulled out, or fallen off its bus.
/// Such a one has no size, and no place in sysfs.
pub fn is_gone(file: &File) -> bool {
    let Ok(facts) = file.metadata() else { return false };
    if !facts.file_type().is_block_device() {
        return false;
    }
    match device_bytes(file) {
        Ok(0) => return true,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) => {
            return true;
        }
        _ => {}
    }
    let (major, minor) = (rustix::fs::major(facts.rdev()), rustix::fs::minor(facts.rdev()));
    let all = Path::new("/sys/dev/block");
    all.is_dir() && !all.join(format!("{major}:{minor}")).exists()
}

/// The smallest unit the device can be asked for, in bytes.
///
/// # Errors
/// ENOTTY if `file` is no block device.
pub fn logical_block_bytes(file: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(file)?)
}

/// The smallest unit the device says it writes without reading first, in bytes.
///
/// # Errors
/// ENOTTY if `file` is no block device.
pub fn physical_block_bytes(file: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blkpbszget(file)?)
}

/// The transfer length the device says it likes best, in bytes; 0 if it does not say.
///
/// # Errors
/// ENOTTY if `file` is no block device.
pub fn optimal_io_bytes(file: &File) -> io::Result<u32> {
    let mut bytes = 0u32;
    // SAFETY: BLKIOOPT stores an unsigned int.
    unsafe { ioctl(file, BLKIOOPT, (&raw mut bytes).cast()) }?;
    Ok(bytes)
}

/// Whether the device refuses writes.
///
/// # Errors
/// ENOTTY if `file` is no block device.
pub fn is_read_only(file: &File) -> io::Result<bool> {
    let mut answer = 0i32;
    // SAFETY: BLKROGET stores an int.
    unsafe { ioctl(file, BLKROGET, (&raw mut answer).cast()) }?;
    Ok(answer != 0)
}

/// Tells the device that a range's contents are no longer needed; waits for its answer.
///
/// # Errors
/// ENOTTY if `file` is no block device, EOPNOTSUPP if it cannot discard, EINVAL if the range splits
/// a logical block or leaves the device.
pub fn discard_device(file: &File, range: Range<u64>) -> io::Result<()> {
    let mut words = [range.start, range.end.saturating_sub(range.start)];
    // SAFETY: BLKDISCARD reads two u64: offset and length.
    unsafe { ioctl(file, BLKDISCARD, words.as_mut_ptr().cast()) }.map(drop)
}

/// Writes out what the page cache holds of the device and drops it.
///
/// # Errors
/// ENOTTY if `file` is no block device, EACCES for a user without CAP_SYS_ADMIN.
pub fn drop_device_cache(file: &File) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(file, BLKFLSBUF, std::ptr::null_mut()) }.map(drop)
}

/// Gives what the call gives.
///
/// # Safety
/// `argument` is what `request` reads or writes.
pub(super) unsafe fn ioctl(file: &File, request: u32, argument: *mut c_void) -> io::Result<i32> {
    // SAFETY: the descriptor is open; the argument is the caller's promise.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}
