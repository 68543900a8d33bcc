//! Writing a log: an entry is in the file before what it stands for is answered.

use super::{
    HEAD_BYTES, Head, Kind, MAGIC, Operation, Reader, VERSION, WRITE_BYTES_MAX, WriteLogError,
};
use std::{
    fs::File,
    io::{IoSlice, Seek, SeekFrom, Write},
    path::Path,
};

/// A log that is being written. Each entry is handed to the system whole and at once, without a
/// buffer here: the length of the file says how far the recording is.
#[derive(Debug)]
pub struct Writer {
    file: File,
    next: u64,
}

impl Writer {
    /// A new log in `file`, which is empty.
    ///
    /// # Errors
    /// The system's.
    pub fn new(mut file: File, head: Head) -> Result<Self, WriteLogError> {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&head.block_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&head.device_bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&checksum.to_le_bytes());
        file.write_all(&bytes)?;
        Ok(Self { file, next: 0 })
    }

    /// Adds an operation; `payload` has the bytes of a write.
    ///
    /// # Errors
    /// The system's.
    pub fn operation(&mut self, operation: Operation, payload: &[u8]) -> Result<(), WriteLogError> {
        match operation {
            Operation::Write { offset, bytes, is_fua } => {
                assert!(bytes == payload.len() as u64 && bytes <= WRITE_BYTES_MAX, "{bytes} B");
                match block::is_zero(payload) {
                    true => self.add(Kind::Zeroes, is_fua, (offset, bytes), &[]),
                    false => self.add(Kind::Write, is_fua, (offset, bytes), payload),
                }
            }
            Operation::Discard { offset, bytes } => {
                self.add(Kind::Discard, false, (offset, bytes), &[])
            }
            Operation::Flush => self.add(Kind::Flush, false, (0, 0), &[]),
        }
    }

    /// What cannot be kept is not kept by half: the log is emptied.
    pub fn give_up(self) {
        let _ = self.file.set_len(0);
    }

    fn add(
        &mut self,
        kind: Kind,
        is_fua: bool,
        (offset, bytes): (u64, u64),
        payload: &[u8],
    ) -> Result<(), WriteLogError> {
        let mut head = [0; HEAD_BYTES];
        head[4] = kind as u8;
        head[5] = u8::from(is_fua);
        head[8..16].copy_from_slice(&self.next.to_le_bytes());
        head[16..24].copy_from_slice(&offset.to_le_bytes());
        head[24..].copy_from_slice(&bytes.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[4..]), payload);
        head[..4].copy_from_slice(&checksum.to_le_bytes());
        let mut slices = [IoSlice::new(&head), IoSlice::new(payload)];
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let written = self.file.write_vectored(rest)?;
            if written == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into());
            }
            IoSlice::advance_slices(&mut rest, written);
        }
        self.next += 1;
        Ok(())
    }
}

/// Ends a log whose recording has ended: the promises, each with the length that the log had when
/// it was heard, and the command line.
///
/// # Errors
/// The system's; the log was given up, or is damaged.
pub fn finish(
    path: &Path,
    promises: &[(u64, String)],
    command: &[String],
) -> Result<(), WriteLogError> {
    let mut file = File::options().read(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        return Err(WriteLogError::NoEnd);
    }
    let mut reader = Reader::new(&file)?;
    let mut next = 0;
    while reader.next_operation()?.is_some() {
        next += 1;
    }
    let operations = next;
    file.seek(SeekFrom::End(0))?;
    let mut writer = Writer { file, next };
    for (log_bytes, id) in promises {
        writer.add(Kind::Promise, false, (*log_bytes, id.len() as u64), id.as_bytes())?;
    }
    let words = serde_json::to_vec(command).expect("words are text");
    writer.add(Kind::Command, false, (0, words.len() as u64), &words)?;
    writer.add(Kind::End, false, (operations, 0), &[])?;
    Ok(writer.file.sync_all()?)
}
