//! A file that holds what a power cut left, for a loop device.
//!
//! Mounting it replays a journal, and a check may write to it: before the next cut it is compared
//! with what that one left, wherever something was ever written by either, and only what differs is
//! written. What nobody has written is a hole.

use block::IoError;
use rustix::{
    fs::{FallocateFlags, SeekFrom, fallocate, seek},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use target::replayed::Left;

/// So much is compared and written at a time.
const CHUNK_BYTES: u64 = 64 << 10;

/// The file.
pub struct Image {
    file: Arc<File>,
    path: PathBuf,
    bytes: u64,
    block_bytes: u64,
    /// Chunks that the log wrote so far: what it did not write is zeroes on the drives.
    touched: BTreeSet<u64>,
    wanted: Vec<u8>,
    there: Vec<u8>,
}

/// Why the file does not hold it.
#[derive(Debug)]
pub enum Untaken {
    /// The file's.
    Image(PathBuf, io::Error),
    /// What is left cannot be read.
    Drives(IoError),
}

impl Image {
    /// An empty file becomes one hole of so many bytes.
    pub fn new(file: Arc<File>, path: PathBuf, bytes: u64, block_bytes: u32) -> io::Result<Self> {
        file.set_len(bytes)?;
        let [wanted, there] = [0, 1].map(|_| vec![0; CHUNK_BYTES as usize]);
        let (block_bytes, touched) = (u64::from(block_bytes), BTreeSet::new());
        Ok(Self { file, path, bytes, block_bytes, touched, wanted, there })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The log has written there.
    pub fn touch(&mut self, offset: u64, bytes: u64) {
        let end = (offset + bytes).min(self.bytes);
        if offset < end {
            self.touched.extend(offset / CHUNK_BYTES..end.div_ceil(CHUNK_BYTES));
        }
    }

    /// Holds what is left from now on.
    pub fn take(&mut self, left: &mut Left) -> Result<(), Untaken> {
        for chunk in self.written_besides().map_err(|error| self.failed(error))? {
            let offset = chunk * CHUNK_BYTES;
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let punched = fallocate(&*self.file, flags, offset, CHUNK_BYTES);
            punched.map_err(|error| self.failed(error.into()))?;
        }
        for &chunk in &self.touched {
            let offset = chunk * CHUNK_BYTES;
            let length = CHUNK_BYTES.min(self.bytes - offset);
            // A file system's size need not be a multiple of the drives' blocks.
            let whole = length.next_multiple_of(self.block_bytes) as usize;
            self.wanted.resize(whole.max(CHUNK_BYTES as usize), 0);
            left.read(offset, &mut self.wanted[..whole]).map_err(Untaken::Drives)?;
            let (wanted, there) =
                (&self.wanted[..length as usize], &mut self.there[..length as usize]);
            let read = self.file.read_exact_at(there, offset);
            let taken = read.and_then(|()| match wanted == there {
                true => Ok(()),
                false => self.file.write_all_at(wanted, offset),
            });
            taken.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// Chunks that hold something and that the log never wrote.
    fn written_besides(&self) -> io::Result<Vec<u64>> {
        let mut besides = Vec::new();
        let mut at = 0;
        while at < self.bytes {
            let start = match seek(&*self.file, SeekFrom::Data(at)) {
                Ok(start) => start,
                Err(Errno::NXIO) => break,
                Err(error) => return Err(error.into()),
            };
            at = seek(&*self.file, SeekFrom::Hole(start))?;
            let chunks = start / CHUNK_BYTES..at.div_ceil(CHUNK_BYTES);
            besides.extend(chunks.filter(|chunk| !self.touched.contains(chunk)));
        }
        besides.dedup();
        Ok(besides)
    }

    fn failed(&self, error: io::Error) -> Untaken {
        Untaken::Image(self.path.clone(), error)
    }
}
