//! Loop devices by descriptor (linux/loop.h, loop(4)): no path is handed to a program that walks it
//! again.

use super::device::ioctl;
use std::{
    ffi::{c_int, c_void},
    fs::File,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    ptr,
};

const LOOP_CLR_FD: u32 = 0x4c01;
const LOOP_GET_STATUS64: u32 = 0x4c05;
/// Linux 5.8.
const LOOP_CONFIGURE: u32 = 0x4c0a;
const LOOP_CTL_GET_FREE: u32 = 0x4c82;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Between finding a free device and taking it another process may be quicker.
const ATTEMPTS: u32 = 64;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo>() == 232 && size_of::<LoopConfig>() == 304);

/// The file or device behind a loop device, as stat(2) names it, whatever its name is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopBacking {
    /// `st_dev` of the file or device node.
    pub device: u64,
    /// Its `st_ino`.
    pub inode: u64,
    /// `st_rdev` of a block device; `None` of a file.
    pub block_device: Option<u64>,
}

impl LoopBacking {
    /// Whether it is the file of this device and inode.
    fn is(&self, device: u64, inode: u64) -> bool {
        (self.device, self.inode, self.block_device) == (device, inode, None)
    }
}

/// A loop device over a file of ours, held open for reading, so that it cannot be given another
/// file meanwhile.
#[derive(Debug)]
pub struct LoopDevice {
    device: File,
    path: PathBuf,
}

impl LoopDevice {
    /// Puts a free loop device over `file`, which must be open for reading and writing; past the
    /// page cache where its file system allows that; over its first `bytes_max` bytes, where there
    /// is a limit. `shown` is the file's path, which losetup(8) will list.
    ///
    /// # Errors
    /// Those of /dev/loop-control and of `LOOP_CONFIGURE` (EINVAL before Linux 5.8).
    ///
    /// # Panics
    /// If the kernel put another file below: nothing may be written there.
    pub fn attach(file: &File, shown: &Path, bytes_max: Option<u64>) -> io::Result<Self> {
        let meta = file.metadata()?;
        let mut last = io::Error::from_raw_os_error(libc::EBUSY);
        for _ in 0..ATTEMPTS {
            let path = free()?;
            match configure(&path, file, shown, bytes_max) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => last = error,
                Err(error) => return Err(error),
                Ok(device) => {
                    let found = loop_backing(&device)?;
                    let is_ours = found.is_some_and(|found| found.is(meta.dev(), meta.ino()));
                    assert!(is_ours, "the kernel put another file below: {found:?}");
                    return Ok(Self { device, path });
                }
            }
        }
        Err(last)
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device, open for reading.
    pub fn device(&self) -> &File {
        &self.device
    }

    /// Takes the file away from it; the kernel does so when the last opener has closed it. What it
    /// is over is not asked: it cannot have been given another file while we had it open, and where
    /// a server behind that file is gone, there is no answer.
    ///
    /// # Errors
    /// Those of `LOOP_CLR_FD`. That somebody has detached it already is none.
    pub fn detach(self) -> io::Result<()> {
        // SAFETY: LOOP_CLR_FD takes no argument.
        match unsafe { ioctl(&self.device, LOOP_CLR_FD, ptr::null_mut()) } {
            Err(error) if error.raw_os_error() != Some(libc::ENXIO) => Err(error),
            _ => Ok(()),
        }
    }
}

/// What a loop device is over; `None` when it is over nothing.
///
/// # Errors
/// ENOTTY if `device` is no loop device; what the file system below says, ENOTCONN where its server
/// is gone.
pub fn loop_backing(device: &File) -> io::Result<Option<LoopBacking>> {
    let mut info = LoopInfo::empty();
    // SAFETY: LOOP_GET_STATUS64 stores a loop_info64, whose layout is asserted above.
    match unsafe { ioctl(device, LOOP_GET_STATUS64, (&raw mut info).cast()) } {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        answer => drop(answer?),
    }
    let LoopInfo { device, inode, rdevice, .. } = info;
    // Some kernels give a file its file system's number there, others 0.
    let block_device = (rdevice != 0 && rdevice != device).then_some(rdevice);
    Ok(Some(LoopBacking { device, inode, block_device }))
}

impl LoopInfo {
    fn empty() -> Self {
        Self {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: 0,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        }
    }
}

/// The path of a free loop device; the kernel makes one where there is none.
fn free() -> io::Result<PathBuf> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    // SAFETY: LOOP_CTL_GET_FREE takes no argument.
    let number = unsafe {
        libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _, ptr::null_mut::<c_void>())
    };
    match number {
        c_int::MIN..0 => Err(io::Error::last_os_error()),
        number => Ok(PathBuf::from(format!("/dev/loop{number}"))),
    }
}

/// The device stays open for reading: while a writer has it open, some kernels refuse to mount it.
fn configure(path: &Path, file: &File, shown: &Path, bytes_max: Option<u64>) -> io::Result<File> {
    let writable =
        File::options().read(true).write(true).custom_flags(libc::O_CLOEXEC).open(path)?;
    // 0 stands for no limit.
    let size_limit = bytes_max.unwrap_or(0);
    let mut info = LoopInfo { flags: LO_FLAGS_DIRECT_IO, size_limit, ..LoopInfo::empty() };
    let name = shown.as_os_str().as_encoded_bytes();
    // The last byte stays zero, as in a string of C.
    let kept = name.len().min(info.file_name.len() - 1);
    info.file_name[..kept].copy_from_slice(&name[..kept]);
    let descriptor = u32::try_from(file.as_raw_fd()).expect("an open descriptor is not negative");
    let mut config = LoopConfig { descriptor, block_bytes: 0, info, reserved: [0; 8] };
    // SAFETY: LOOP_CONFIGURE reads a loop_config, whose layout is asserted above.
    unsafe { ioctl(&writable, LOOP_CONFIGURE, (&raw mut config).cast()) }?;
    crate::reopen(
        &writable,
        path,
        crate::Access::Read,
        crate::Caching::Buffered,
        crate::Syncing::None,
    )
    .map_err(io::Error::other)
}
