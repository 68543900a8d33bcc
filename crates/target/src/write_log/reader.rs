//! Reading a log: whatever the bytes are, an entry that makes sense or a sentence.

use super::{
    Entry, HEAD_BYTES, Head, Kind, MAGIC, Operation, TEXT_BYTES_MAX, VERSION, WRITE_BYTES_MAX,
    WriteLogError,
};
use std::io::{BufReader, ErrorKind, Read};

/// Reads ahead by so many bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// A log that is read from its beginning, an entry at a time, in bounded memory.
pub struct Reader<R> {
    from: BufReader<R>,
    head: Head,
    payload: Vec<u8>,
    /// Bytes read so far.
    at: u64,
    /// The number of the next entry.
    next: u64,
    operations: u64,
    last: Option<Kind>,
}

/// What the head of an entry says.
struct Said {
    kind: Kind,
    is_fua: bool,
    offset: u64,
    bytes: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// It is no log, or one of another version.
    pub fn new(from: R) -> Result<Self, WriteLogError> {
        let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
        let mut bytes = [0; HEAD_BYTES];
        match from.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(WriteLogError::NoLog);
            }
            read => read?,
        }
        if bytes[..8] != MAGIC {
            return Err(WriteLogError::NoLog);
        }
        let version = u32_at(&bytes, 8);
        if version != VERSION {
            return Err(WriteLogError::Version(version));
        }
        let damaged = |what| Err(WriteLogError::Damaged { at: 0, what });
        if u32_at(&bytes, 28) != crc32c::crc32c(&bytes[..28]) {
            return damaged("its checksum");
        }
        let head = Head { device_bytes: u64_at(&bytes, 16), block_bytes: u32_at(&bytes, 12) };
        let block = u64::from(head.block_bytes);
        let is_sound = head.block_bytes.is_power_of_two()
            && head.device_bytes > 0
            && head.device_bytes.is_multiple_of(block);
        if !is_sound {
            return damaged("the size of the target");
        }
        let at = HEAD_BYTES as u64;
        Ok(Self { from, head, payload: Vec::new(), at, next: 0, operations: 0, last: None })
    }

    /// The head.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The bytes of the write that was read last.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The length of the log up to the entry that was read last, that included.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// The next entry; none at the end.
    ///
    /// # Errors
    /// It is damaged, or stops before its end.
    pub fn entry(&mut self) -> Result<Option<Entry>, WriteLogError> {
        let at = self.at;
        let Some(said) = self.said()? else { return Err(WriteLogError::NoEnd) };
        let operation = match said.kind {
            Kind::Write | Kind::Zeroes => {
                let Said { offset, bytes, is_fua, .. } = said;
                Operation::Write { offset, bytes, is_fua }
            }
            Kind::Discard => Operation::Discard { offset: said.offset, bytes: said.bytes },
            Kind::Flush => Operation::Flush,
            Kind::Promise => {
                let id = std::str::from_utf8(&self.payload).ok();
                let id = id.filter(|id| !id.is_empty() && said.offset <= at);
                let Some(id) = id else { return damaged(at, "a promise") };
                return Ok(Some(Entry::Promise { log_bytes: said.offset, id: id.to_owned() }));
            }
            Kind::Command => {
                let Ok(words) = serde_json::from_slice(&self.payload) else {
                    return damaged(at, "the command line");
                };
                return Ok(Some(Entry::Command(words)));
            }
            Kind::End => {
                if said.offset != self.operations {
                    return damaged(at, "the number of operations");
                }
                if self.from.read(&mut [0])? != 0 {
                    return damaged(self.at, "something is behind the end");
                }
                return Ok(None);
            }
        };
        self.operations += 1;
        Ok(Some(Entry::Operation(operation)))
    }

    /// The next operation of a log that may have no end yet; none behind the last one.
    pub(super) fn next_operation(&mut self) -> Result<Option<Operation>, WriteLogError> {
        match self.entry() {
            Ok(Some(Entry::Operation(operation))) => Ok(Some(operation)),
            Ok(_) => damaged(self.at, "it is ended already"),
            Err(WriteLogError::NoEnd) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// An entry with a good checksum that fits the target; none where the file ends.
    fn said(&mut self) -> Result<Option<Said>, WriteLogError> {
        let at = self.at;
        let mut bytes = [0; HEAD_BYTES];
        let first = self.from.read(&mut bytes[..1])?;
        if first == 0 {
            return Ok(None);
        }
        self.whole(at, |from| from.read_exact(&mut bytes[1..]))?;
        let Some(kind) = Kind::of(bytes[4]) else { return damaged(at, "a kind of entry") };
        let said = Said {
            kind,
            is_fua: bytes[5] == 1,
            offset: u64_at(&bytes, 16),
            bytes: u64_at(&bytes, 24),
        };
        self.check(at, &said)?;
        let length = if kind.has_payload() { said.bytes as usize } else { 0 };
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(length, 0);
        self.whole(at, |from| from.read_exact(&mut payload))?;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[4..]), &payload);
        if u32_at(&bytes, 0) != checksum {
            return damaged(at, "a checksum");
        }
        if bytes[5] > 1 || bytes[6..8] != [0, 0] || u64_at(&bytes, 8) != self.next {
            return damaged(at, "an entry's number");
        }
        let is_in_order = match self.last {
            None => true,
            Some(last) => kind.is_operation() && last.is_operation() || kind >= last,
        };
        if !is_in_order || matches!(self.last, Some(Kind::End)) {
            return damaged(at, "the order of entries");
        }
        if kind == Kind::Zeroes {
            payload.resize(said.bytes as usize, 0);
        }
        self.payload = payload;
        self.at += (HEAD_BYTES + length) as u64;
        self.next += 1;
        self.last = Some(kind);
        Ok(Some(said))
    }

    /// Whether its numbers can be: before memory is had for them.
    fn check(&self, at: u64, said: &Said) -> Result<(), WriteLogError> {
        let block = u64::from(self.head.block_bytes);
        let is_sound = match said.kind {
            Kind::Write | Kind::Zeroes | Kind::Discard => {
                let end = said.offset.checked_add(said.bytes);
                let is_long = said.kind != Kind::Discard && said.bytes > WRITE_BYTES_MAX;
                said.bytes > 0
                    && !is_long
                    && said.offset.is_multiple_of(block)
                    && said.bytes.is_multiple_of(block)
                    && end.is_some_and(|end| end <= self.head.device_bytes)
            }
            Kind::Promise | Kind::Command => said.bytes <= TEXT_BYTES_MAX,
            Kind::Flush | Kind::End => said.bytes == 0,
        };
        if is_sound { Ok(()) } else { damaged(at, "a place or a length") }
    }

    fn whole(
        &mut self,
        at: u64,
        read: impl FnOnce(&mut BufReader<R>) -> std::io::Result<()>,
    ) -> Result<(), WriteLogError> {
        match read(&mut self.from) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                damaged(at, "it stops within an entry")
            }
            read => Ok(read?),
        }
    }
}

fn damaged<T>(at: u64, what: &'static str) -> Result<T, WriteLogError> {
    Err(WriteLogError::Damaged { at, what })
}

fn u32_at(bytes: &[u8; HEAD_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8; HEAD_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
