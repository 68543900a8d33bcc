//! A small client: it says what it is told to say and reads what comes.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const DF: u16 = 4;

/// How the client wants its replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replies {
    Simple,
    Structured,
}

/// A reply as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// 0 if all went well.
    pub error: u32,
    /// Where, if a chunk said so.
    pub error_offset: Option<u64>,
    /// What was read, by offset.
    pub data: BTreeMap<u64, Vec<u8>>,
    /// Pairs of length and status.
    pub status: Vec<(u32, u32)>,
}

pub struct Client {
    pub stream: UnixStream,
    replies: Replies,
    pub size_bytes: u64,
    pub flags: u16,
    next_cookie: u64,
    /// Lengths and offsets of reads under way: a simple reply does not tell them.
    reads: BTreeMap<u64, (u64, u32)>,
    /// Replies whose last chunk is still to come.
    partial: BTreeMap<u64, Reply>,
    /// Replies that came while another was awaited.
    early: BTreeMap<u64, Reply>,
}

impl Client {
    pub fn connect(path: &Path, replies: Replies) -> Self {
        let mut stream = UnixStream::connect(path).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3u32.to_be_bytes()).expect("client flags");
        let mut client = Self {
            stream,
            replies,
            size_bytes: 0,
            flags: 0,
            next_cookie: 1,
            reads: BTreeMap::new(),
            partial: BTreeMap::new(),
            early: BTreeMap::new(),
        };
        if replies == Replies::Structured {
            client.option(8, &[]);
            let mut query = vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 15];
            query.extend(b"base:allocation");
            client.option(10, &query);
        }
        let facts = client.option(7, &[0; 6]);
        client.size_bytes = u64::from_be_bytes(facts[2..10].try_into().expect("eight bytes"));
        client.flags = u16::from_be_bytes([facts[10], facts[11]]);
        client
    }

    /// Sends an option; the data of its first reply.
    fn option(&mut self, kind: u32, data: &[u8]) -> Vec<u8> {
        let mut message = b"IHAVEOPT".to_vec();
        message.extend(kind.to_be_bytes());
        message.extend((data.len() as u32).to_be_bytes());
        message.extend(data);
        self.stream.write_all(&message).expect("the server reads");
        let mut first = None;
        loop {
            let head = self.take(20);
            let reply = u32::from_be_bytes(head[12..16].try_into().expect("four bytes"));
            let bytes = u32::from_be_bytes(head[16..].try_into().expect("four bytes"));
            let data = self.take(bytes as usize);
            assert!(reply < 1 << 31, "option {kind} was refused with {reply:x}");
            if reply == 1 {
                return first.unwrap_or_default();
            }
            first.get_or_insert(data);
        }
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        self.stream.read_exact(&mut taken).expect("the server answers");
        taken
    }

    /// Sends a request and says under which cookie.
    pub fn send(&mut self, flags: u16, kind: u16, offset: u64, bytes: u32, data: &[u8]) -> u64 {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        if kind == READ {
            self.reads.insert(cookie, (offset, bytes));
        }
        let message = request(flags, kind, cookie, offset, bytes, data);
        self.stream.write_all(&message).expect("the server reads");
        cookie
    }

    /// Waits for the reply to one request.
    pub fn reply_to(&mut self, cookie: u64) -> Reply {
        loop {
            if let Some(reply) = self.early.remove(&cookie) {
                return reply;
            }
            let (cookie, reply) = self.any_reply();
            self.early.insert(cookie, reply);
        }
    }

    /// Waits for a reply to any request.
    pub fn any_reply(&mut self) -> (u64, Reply) {
        loop {
            let magic = self.word(4) as u32;
            let complete = match magic {
                0x6744_6698 => self.simple(),
                0x668e_33ef => self.chunk(),
                other => panic!("a reply that begins with {other:08x}"),
            };
            if let Some(done) = complete {
                return done;
            }
        }
    }

    fn word(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    fn simple(&mut self) -> Option<(u64, Reply)> {
        let error = self.word(4) as u32;
        let cookie = self.word(8);
        let mut reply = Reply { error, ..Reply::default() };
        if let Some((offset, bytes)) = self.reads.remove(&cookie) {
            assert_eq!(self.replies, Replies::Simple, "a simple reply to a read");
            if error == 0 {
                reply.data.insert(offset, self.take(bytes as usize));
            }
        }
        Some((cookie, reply))
    }

    fn chunk(&mut self) -> Option<(u64, Reply)> {
        assert_eq!(self.replies, Replies::Structured, "nobody asked for chunks");
        let (flags, kind) = (self.word(2), self.word(2));
        let (cookie, bytes) = (self.word(8), self.word(4) as usize);
        let payload = self.take(bytes);
        let mut reply = self.partial.remove(&cookie).unwrap_or_default();
        let word = |from: usize, to: usize| {
            payload[from..to].iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        match kind {
            0 => assert_eq!((bytes, flags), (0, 1)),
            1 => drop(reply.data.insert(word(0, 8), payload[8..].to_vec())),
            5 => {
                for at in (4..bytes).step_by(8) {
                    reply.status.push((word(at, at + 4) as u32, word(at + 4, at + 8) as u32));
                }
            }
            0x8001 => reply.error = word(0, 4) as u32,
            0x8002 => {
                reply.error = word(0, 4) as u32;
                reply.error_offset = Some(word(6, 14));
            }
            other => panic!("chunk {other:x}"),
        }
        if flags & 1 == 0 {
            self.partial.insert(cookie, reply);
            return None;
        }
        self.reads.remove(&cookie);
        Some((cookie, reply))
    }

    /// Sends a request and waits for its reply.
    pub fn ask(&mut self, flags: u16, kind: u16, offset: u64, bytes: u32, data: &[u8]) -> Reply {
        let cookie = self.send(flags, kind, offset, bytes, data);
        self.reply_to(cookie)
    }

    pub fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> u32 {
        self.ask(flags, WRITE, offset, data.len() as u32, data).error
    }

    /// Writes, with simple replies and nothing else under way; fails when the server is gone.
    pub fn try_write(&mut self, offset: u64, data: &[u8]) -> io::Result<u32> {
        assert_eq!(self.replies, Replies::Simple);
        self.stream.write_all(&request(0, WRITE, 0, offset, data.len() as u32, data))?;
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        Ok(u32::from_be_bytes(reply[4..8].try_into().expect("four bytes")))
    }

    /// Reads, and puts the pieces together.
    pub fn read(&mut self, offset: u64, bytes: u32) -> Result<Vec<u8>, u32> {
        let reply = self.ask(0, READ, offset, bytes, &[]);
        if reply.error != 0 {
            return Err(reply.error);
        }
        let mut whole = Vec::new();
        for (at, piece) in reply.data {
            assert_eq!(at, offset + whole.len() as u64, "a gap or an overlap");
            whole.extend(piece);
        }
        assert_eq!(whole.len(), bytes as usize, "all that was asked for");
        Ok(whole)
    }

    pub fn flush(&mut self) -> u32 {
        self.ask(0, FLUSH, 0, 0, &[]).error
    }

    /// Says goodbye and waits until the server has closed.
    pub fn leave(mut self) {
        self.send(0, DISC, 0, 0, &[]);
        assert_eq!(self.stream.read(&mut [0; 1]).expect("an end"), 0, "nothing follows");
    }
}

/// A request as the wire has it.
pub fn request(
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    bytes: u32,
    data: &[u8],
) -> Vec<u8> {
    let mut message = Vec::with_capacity(28 + data.len());
    message.extend(0x2560_9513u32.to_be_bytes());
    message.extend(flags.to_be_bytes());
    message.extend(kind.to_be_bytes());
    message.extend(cookie.to_be_bytes());
    message.extend(offset.to_be_bytes());
    message.extend(bytes.to_be_bytes());
    message.extend(data);
    message
}
