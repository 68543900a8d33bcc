//! Carrying out what a disk is asked for: one request of the kernel's is one request to the engine,
//! but for zeroes that have to be written, piece by piece, and for a range that is to be durable
//! when it is discarded. Knows no kernel.
//!
//! After a flush or a forced write has failed, nobody knows which of the answered writes are lost:
//! every change is answered with EIO from then on, as a server of NBD does.

use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Tag,
};
use engine::ublk::{Asked, Operation, Parameters};
use nbd::{
    Outcome, Traffic,
    protocol::{self, Discarded, Holes, Pieces, Request},
};
use rustix::io::Errno;

/// Tag of a flush of the server's own; the others are places of the queue.
const OWN_FLUSH: Tag = Tag::OWN;

/// What the kernel is told of a request.
#[derive(Debug)]
pub struct Answer {
    /// Its place in the queue.
    pub tag: u16,
    /// Bytes of a transfer, 0 for what moves none, a negative error number for a failure.
    pub result: i32,
    /// The memory of its place.
    pub buffer: Buf,
}

/// A request at the engine.
#[derive(Debug)]
struct Job {
    request: Request,
    begun: Instant,
    /// First byte that is not done, and not under way.
    next: u64,
    /// A flush is under way that makes it durable.
    is_flushing: bool,
    /// Its memory, unless the engine has it.
    memory: Option<Buf>,
}

/// The engine, and everything that is under way at it.
#[derive(Debug)]
pub struct Service<E> {
    pub engine: E,
    parameters: Parameters,
    discarded: Discarded,
    jobs: Vec<Option<Job>>,
    under_way: usize,
    /// A flush of the server's own is under way.
    own_flush: bool,
    /// Why nothing that changes the drive is promised any more.
    lost: Option<IoError>,
    pub traffic: Traffic,
    /// When the last request was begun, or the last answer of the engine finished.
    now: Instant,
}

impl<E: Engine> Service<E> {
    /// For a disk of those parameters with so many places.
    pub fn new(engine: E, parameters: Parameters, discarded: Discarded, queue_depth: u16) -> Self {
        let geometry = engine.geometry(Drive(0));
        assert!(u32::from(queue_depth) <= geometry.queue_depth, "more places than the engine has");
        assert!(parameters.transfer_bytes_max <= geometry.transfer_bytes_max, "longer transfers");
        assert!(parameters.size_bytes <= geometry.capacity_bytes, "a disk beyond its engine's end");
        Self {
            engine,
            parameters,
            discarded,
            jobs: (0..queue_depth).map(|_| None).collect(),
            under_way: 0,
            own_flush: false,
            lost: None,
            traffic: Traffic::default(),
            now: Instant(0),
        }
    }

    /// Whether the engine owes an answer.
    pub fn is_busy(&self) -> bool {
        self.under_way > 0 || self.own_flush
    }

    /// Why acknowledged writes cannot be relied on, if they cannot.
    pub fn lost(&self) -> Option<IoError> {
        self.lost
    }

    /// Begins a request; one that makes no sense is answered at once.
    pub fn begin(&mut self, asked: Asked) -> Option<Answer> {
        let Asked { tag, operation, forced, no_hole, offset, bytes, buffer } = asked;
        let command = match operation {
            Operation::Read => protocol::Command::Read(Pieces::Many),
            Operation::Write => protocol::Command::Write,
            Operation::Flush => protocol::Command::Flush,
            Operation::Discard => protocol::Command::Trim,
            Operation::WriteZeroes if no_hole => protocol::Command::WriteZeroes(Holes::Forbidden),
            Operation::WriteZeroes => protocol::Command::WriteZeroes(Holes::Allowed),
            Operation::Unknown(_) => return Some(refused(tag, Errno::OPNOTSUPP, buffer)),
        };
        if let Err(error) = self.check(operation, offset, bytes) {
            return Some(refused(tag, error, buffer));
        }
        let durability = if forced { Durability::Fua } else { Durability::Cached };
        // A flush is about no range, whatever stands there.
        let (offset, bytes) = if operation == Operation::Flush { (0, 0) } else { (offset, bytes) };
        let cookie = u64::from(tag);
        let request = Request { cookie, command, offset, bytes: bytes as u32, durability };
        self.now = self.now.max(self.engine.now());
        let (begun, memory) = (self.now, Some(buffer));
        let job = Job { request, begun, next: offset, is_flushing: false, memory };
        let place = &mut self.jobs[usize::from(tag)];
        assert!(place.is_none(), "place {tag} is asked for twice");
        *place = Some(job);
        self.under_way += 1;
        self.go_on(tag);
        None
    }

    /// Takes in one answer of the engine; says what the kernel is told, if a request is over.
    pub fn complete(&mut self, completion: Completion) -> Option<Answer> {
        let Completion { tag, finished, result, payload, .. } = completion;
        self.now = self.now.max(finished);
        if tag == OWN_FLUSH {
            self.own_flush = false;
            self.note_flush(result);
            return None;
        }
        let number = tag.0 as u16;
        let job = self.jobs[usize::from(number)].as_mut().expect("place is in flight");
        if let Payload::Bytes(buffer) = payload {
            job.memory = Some(buffer);
        }
        let (request, is_flushing) = (job.request, job.is_flushing);
        let is_over = job.next == end(&request);
        // A discard is a hint: a drive that cannot take it has not failed.
        let is_hint = request.command == protocol::Command::Trim && !is_flushing;
        let result = match result {
            Err(IoError::Os(number)) if is_hint && number == Errno::OPNOTSUPP.raw_os_error() => {
                Ok(())
            }
            result => result,
        };
        match result {
            Ok(()) if !is_over => {
                self.go_on(number);
                return None;
            }
            Ok(()) if !is_flushing && self.needs_flush(&request) => {
                self.flush_for(number);
                return None;
            }
            _ => {}
        }
        if is_flushing || request.command == protocol::Command::Flush {
            self.note_flush(result);
        } else if let Err(error) = result {
            self.note_failure(&request, error);
        }
        Some(self.conclude(number, result))
    }

    /// Submits a flush of the server's own, which [`lost`](Self::lost) tells the outcome of.
    pub fn flush_last(&mut self) {
        assert!(self.under_way == 0, "the engine's queue has a place for it");
        self.own_flush = true;
        self.submit(OWN_FLUSH, Command::Flush);
    }

    fn check(&self, operation: Operation, offset: u64, bytes: u64) -> Result<(), Errno> {
        let Parameters { size_bytes, logical_block_bytes, transfer_bytes_max, read_only, .. } =
            self.parameters;
        let longest = match operation {
            Operation::Flush => return Ok(()),
            Operation::Read | Operation::Write => u64::from(transfer_bytes_max),
            _ => u64::from(u32::MAX),
        };
        let is_whole = (offset | bytes).is_multiple_of(logical_block_bytes.into());
        let is_inside = bytes > 0 && offset.checked_add(bytes).is_some_and(|end| end <= size_bytes);
        if !is_whole || !is_inside || bytes > longest {
            return Err(Errno::INVAL);
        }
        if read_only && operation != Operation::Read { Err(Errno::PERM) } else { Ok(()) }
    }

    /// Hands the next piece of a request to the engine.
    fn go_on(&mut self, number: u16) {
        let piece_bytes_max = u64::from(self.parameters.transfer_bytes_max);
        let discards = self.discarded == Discarded::ReadsZero;
        let job = self.jobs[usize::from(number)].as_mut().expect("place is in flight");
        let Request { command, durability, .. } = job.request;
        let (offset, end) = (job.next, end(&job.request));
        job.next = end;
        let mut memory =
            || Payload::Bytes(job.memory.take().expect("the engine has given it back"));
        let at = Extent { offset, bytes: (end - offset).min(piece_bytes_max) as u32 };
        let command = match command {
            protocol::Command::Read(_) => Command::Read { at, into: memory() },
            protocol::Command::Write => Command::Write { at, from: memory(), durability },
            protocol::Command::Flush => Command::Flush,
            protocol::Command::Trim => Command::Discard { offset, len: end - offset },
            protocol::Command::WriteZeroes(Holes::Allowed) if discards => {
                Command::Discard { offset, len: end - offset }
            }
            protocol::Command::WriteZeroes(_) => {
                let mut zeroes = job.memory.take().expect("the engine has given it back");
                zeroes.bytes_mut()[..at.bytes as usize].fill(0);
                job.next = offset + u64::from(at.bytes);
                Command::Write { at, from: Payload::Bytes(zeroes), durability }
            }
            protocol::Command::Cache | protocol::Command::BlockStatus(_) => {
                unreachable!("the kernel asks for no such thing")
            }
        };
        self.submit(Tag(number.into()), command);
    }

    /// Whether a flush has to follow: an engine cannot force a discard.
    fn needs_flush(&self, request: &Request) -> bool {
        request.durability == Durability::Fua
            && matches!(
                request.command,
                protocol::Command::Trim | protocol::Command::WriteZeroes(Holes::Allowed)
            )
    }

    fn flush_for(&mut self, number: u16) {
        let job = self.jobs[usize::from(number)].as_mut().expect("place is in flight");
        job.is_flushing = true;
        self.submit(Tag(number.into()), Command::Flush);
    }

    fn submit(&mut self, tag: Tag, command: Command) {
        let (actor, drive) = (Actor(0), Drive(0));
        self.engine.submit(block::Request { tag, actor, drive, command });
    }

    fn note_flush(&mut self, result: Result<(), IoError>) {
        if let Err(error) = result {
            self.lost.get_or_insert(error);
        }
    }

    /// A forced change that failed may have used up the system's only report that earlier writes
    /// were lost, unless it just found no space.
    fn note_failure(&mut self, request: &Request, error: IoError) {
        let forced = request.durability == Durability::Fua;
        if forced && !matches!(error_number(error), Errno::NOSPC | Errno::OPNOTSUPP) {
            self.lost.get_or_insert(error);
        }
    }

    fn conclude(&mut self, number: u16, result: Result<(), IoError>) -> Answer {
        let job = self.jobs[usize::from(number)].take().expect("place is in flight");
        self.under_way -= 1;
        let Job { request, begun, memory, .. } = job;
        let moves =
            matches!(request.command, protocol::Command::Read(_) | protocol::Command::Write);
        let promises = !matches!(request.command, protocol::Command::Read(_));
        let result = match result {
            _ if promises && self.lost.is_some() => Err(Errno::IO),
            result => result.map_err(error_number),
        };
        let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Failed };
        self.traffic.count(&request, outcome, self.now.since(begun));
        self.traffic.refuses_changes = self.lost.is_some();
        let result = match result {
            Ok(()) if moves => request.bytes as i32,
            Ok(()) => 0,
            Err(error) => -error.raw_os_error(),
        };
        Answer { tag: number, result, buffer: memory.expect("its memory is back") }
    }
}

fn end(request: &Request) -> u64 {
    request.offset + u64::from(request.bytes)
}

fn refused(tag: u16, error: Errno, buffer: Buf) -> Answer {
    Answer { tag, result: -error.raw_os_error(), buffer }
}

/// What the kernel is told of an engine's failure: of the numbers that it knows as states of a
/// request (errno_to_blk_status in block/blk-core.c), those that say something to who asked.
fn error_number(error: IoError) -> Errno {
    match error {
        IoError::Medium | IoError::Altered => Errno::NODATA,
        IoError::Offline | IoError::Short => Errno::IO,
        IoError::Os(number) => match Errno::from_raw_os_error(number) {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Errno::NOSPC,
            Errno::OPNOTSUPP => Errno::OPNOTSUPP,
            Errno::NODATA => Errno::NODATA,
            _ => Errno::IO,
        },
    }
}

#[cfg(test)]
mod tests;
