//! What is behind loop devices, and what is written to them.

use std::{
    fs::{self, File},
    io::{Result, Seek, SeekFrom, Write},
    path::Path,
};
use testkit::{LoopDevice, hash};

/// The hash of what is behind a loop device, once all of it has reached the file.
pub fn hash_device(device: &LoopDevice) -> u64 {
    File::open(&device.path).and_then(|open| open.sync_all()).expect("flushed");
    hash(&device.image)
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
