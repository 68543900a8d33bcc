//! What the device mapper says of one of its devices (linux/dm-ioctl.h).

use super::device::ioctl;
use std::{fs::File, io};

/// Bytes of `struct dm_ioctl`, before what it carries.
pub const HEAD_BYTES: usize = 312;
/// `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: u32 = 0xc138_fd0c;
/// What the table was loaded with, and not how it stands.
const STATUS_TABLE: u32 = 1 << 4;
/// The answer did not fit.
const BUFFER_FULL: u32 = 1 << 8;
/// Without it, asking a thin device how it stands writes its metadata out.
const NO_FLUSH: u32 = 1 << 11;
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What is asked of a mapped device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapQuestion {
    /// What it was made of.
    Table,
    /// How it stands.
    Status,
}

/// The answer of the device mapper for device MAJOR:MINOR: a `struct dm_ioctl` and what follows it,
/// as the kernel wrote it. `control` is `/dev/mapper/control`.
///
/// # Errors
/// ENXIO if it is no mapped device, EACCES for a user without CAP_SYS_ADMIN, EMSGSIZE for an answer
/// beyond 1 MiB.
pub fn mapped(
    control: &File,
    (major, minor): (u32, u32),
    question: MapQuestion,
) -> io::Result<Vec<u8>> {
    let flags = NO_FLUSH | if question == MapQuestion::Table { STATUS_TABLE } else { 0 };
    let device = u64::from(minor & 0xff) | u64::from(major) << 8 | u64::from(minor & !0xff) << 12;
    let mut bytes = 16 << 10;
    while bytes <= ANSWER_BYTES_MAX {
        let mut answer = vec![0u8; bytes];
        let mut put = |at: usize, value: &[u8]| answer[at..at + value.len()].copy_from_slice(value);
        // The oldest interface that all kernels of ours answer: 4.0.0.
        put(0, &4u32.to_ne_bytes());
        put(12, &(bytes as u32).to_ne_bytes());
        put(16, &(HEAD_BYTES as u32).to_ne_bytes());
        put(28, &flags.to_ne_bytes());
        put(40, &device.to_ne_bytes());
        // SAFETY: the kernel reads and writes no more than `data_size` bytes, which are there.
        unsafe { ioctl(control, DM_TABLE_STATUS, answer.as_mut_ptr().cast()) }?;
        let word = |at: usize| {
            u32::from_ne_bytes(answer[at..at + 4].try_into().expect("four bytes of the head"))
        };
        if word(28) & BUFFER_FULL == 0 {
            return Ok(answer);
        }
        bytes *= 4;
    }
    Err(io::Error::from_raw_os_error(libc::EMSGSIZE))
}
