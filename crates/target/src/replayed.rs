//! A stack of modelled drives in virtual time on which a log of writes is replayed, and what a
//! power cut at any moment of it would leave.
//!
//! ```text
//!   write_log::Reader -> Operation -> Replayed::begin, until, finish     one after the other
//!                                       | left_by_cut(seed): the media are cloned, the clones cut
//!                                       v
//!                                     Remains: what the media hold
//!                                       | open
//!                                       v
//!                                     Left: the stack as after a power cut; read, nothing else
//! ```
//!
//! Operations are sent one at a time, in the order of the log. What of them the drives may have on
//! their media at any moment is docs/reference/fault-model.md's.

use crate::{
    catalog::Catalog,
    serve::{Flushes, Loss},
    stack::{Kept, Opened, Power, Purpose, Stack, open_for},
    write_log::Operation,
};
use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Geometry, Instant, IoError,
    Pages, Payload, Request, Tag, submit_and_wait,
};
use lab::target::TargetError;
use std::rc::Rc;

/// Longest request: some models take any length, and a buffer has that of the longest.
const TRANSFER_BYTES_MAX: u32 = 1 << 20;

/// The stack while the log is replayed.
pub struct Replayed {
    opened: Opened,
    stack: Stack,
    /// What is opened after a cut.
    back: Stack,
    catalog: Catalog,
    geometry: Geometry,
    buffer: Option<Buf>,
    is_under_way: bool,
    done: Vec<Completion>,
}

/// What a power cut left on the media, and in a controller's memory. A clone costs nothing.
#[derive(Clone, Debug)]
pub struct Remains(Rc<Kept>);

/// The stack, opened on what a power cut left.
pub struct Left {
    engine: Contents,
    buffer: Option<Buf>,
}

enum Contents {
    /// One drive and nothing on it: its medium says what it holds.
    Medium(Remains),
    /// The stack, opened again.
    Opened(Box<Opened>),
}

impl Replayed {
    /// The stack on new drives that make this of flushes; after a cut its array lacks
    /// `lost_member`.
    ///
    /// # Errors
    /// A sentence: the stack cannot be built.
    pub fn open(
        stack: &Stack,
        flushes: Flushes,
        lost_member: Option<u16>,
    ) -> Result<Self, TargetError> {
        let back = lost_member.map(|member| crate::serve::without(stack, member)).transpose()?;
        let catalog = Catalog::load()?;
        let purpose = Purpose::Replayed(Power::MayGo(flushes));
        let mut opened = open_for(purpose, stack, &catalog, 0)?;
        let mut geometry = opened.contract();
        geometry.transfer_bytes_max = geometry.transfer_bytes_max.min(TRANSFER_BYTES_MAX);
        let buffer = opened.pool(1, geometry.transfer_bytes_max as usize, Pages::Usual).pop();
        Ok(Self {
            opened,
            stack: stack.clone(),
            back: back.unwrap_or_else(|| stack.clone()),
            catalog,
            geometry,
            buffer,
            is_under_way: false,
            done: Vec::with_capacity(1),
        })
    }

    /// What it takes.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.opened.now()
    }

    /// Sends an operation; `payload` has the bytes of a write. Of one that is longer than the stack
    /// takes at once the last piece is under way then.
    ///
    /// # Errors
    /// The stack's.
    ///
    /// # Panics
    /// While one is under way, or of one beyond the stack's end.
    pub fn begin(&mut self, operation: Operation, payload: &[u8]) -> Result<(), IoError> {
        assert!(!self.is_under_way, "one at a time");
        match operation {
            Operation::Flush => self.submit(Command::Flush),
            Operation::Discard { offset, bytes } => {
                // Whole blocks alone, as every discard; what is cut off stays as it is.
                let block = u64::from(self.geometry.block_bytes);
                let start = offset.next_multiple_of(block);
                let end = (offset + bytes) / block * block;
                if start < end {
                    self.submit(Command::Discard { offset: start, len: end - start });
                }
            }
            Operation::Write { offset, bytes, is_fua } => {
                assert!(bytes == payload.len() as u64, "a write has its bytes");
                let durability = if is_fua { Durability::Fua } else { Durability::Cached };
                let most = u64::from(self.geometry.transfer_bytes_max);
                let most = (most - most % u64::from(self.geometry.block_bytes)) as usize;
                let mut at = offset;
                let mut rest = payload;
                while !rest.is_empty() {
                    self.finish()?;
                    let room = most - (at % u64::from(self.geometry.block_bytes)) as usize;
                    let (piece, later) = rest.split_at(room.min(rest.len()));
                    self.write(at, piece, durability)?;
                    at += piece.len() as u64;
                    rest = later;
                }
            }
        }
        Ok(())
    }

    /// Lets time pass until then, or until what is under way is answered: whether it is.
    ///
    /// # Errors
    /// Its answer.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, IoError> {
        while self.is_under_way && (self.done.is_empty() && self.opened.now() < until) {
            self.opened.wait(until, &mut self.done);
        }
        let Some(completion) = self.done.pop() else { return Ok(!self.is_under_way) };
        self.is_under_way = false;
        if let Payload::Bytes(buffer) = completion.payload {
            self.buffer = Some(buffer);
        }
        completion.result.map(|()| true)
    }

    /// Lets time pass until what is under way is answered.
    ///
    /// # Errors
    /// Its answer.
    pub fn finish(&mut self) -> Result<(), IoError> {
        self.run_until(Instant::NEVER).map(drop)
    }

    /// What would be there if the power went now; nothing happens to the stack.
    pub fn left_by_cut(&self, seed: u64) -> (Remains, Loss) {
        let (kept, loss) = self.opened.left_by_cut(seed);
        (Remains(Rc::new(kept)), loss)
    }

    /// The stack on what is left.
    ///
    /// # Errors
    /// A managed volume on the drives that cannot be recovered.
    pub fn open_left(&self, remains: &Remains) -> Result<Left, TargetError> {
        if self.is_plain() {
            return Ok(Left { engine: Contents::Medium(remains.clone()), buffer: None });
        }
        let purpose = Purpose::Replayed(Power::Back((*remains.0).clone()));
        let mut opened = Box::new(open_for(purpose, &self.back, &self.catalog, 0)?);
        let buffer = opened.pool(1, self.geometry.transfer_bytes_max as usize, Pages::Usual).pop();
        Ok(Left { engine: Contents::Opened(opened), buffer })
    }

    /// Whether it is one drive and nothing else.
    fn is_plain(&self) -> bool {
        matches!(&self.stack.members[..], [one] if one.count == 1) && self.stack.layers.is_empty()
    }

    /// One piece, merged into whole blocks where the log's are smaller.
    fn write(&mut self, at: u64, piece: &[u8], durability: Durability) -> Result<(), IoError> {
        let block = u64::from(self.geometry.block_bytes);
        let start = at / block * block;
        let end = (at + piece.len() as u64).next_multiple_of(block);
        let span = Extent { offset: start, bytes: (end - start) as u32 };
        let mut buffer = self.buffer.take().expect("nothing is under way");
        if u64::from(span.bytes) != piece.len() as u64 {
            self.submit(Command::Read { at: span, into: Payload::Bytes(buffer) });
            self.finish()?;
            buffer = self.buffer.take().expect("it came back");
        }
        let from = (at - start) as usize;
        buffer.bytes_mut()[from..from + piece.len()].copy_from_slice(piece);
        self.submit(Command::Write { at: span, from: Payload::Bytes(buffer), durability });
        Ok(())
    }

    fn submit(&mut self, command: Command) {
        self.opened.submit(Request { tag: Tag(1), actor: Actor(0), drive: Drive(0), command });
        self.is_under_way = true;
    }
}

impl Remains {
    /// Whether every byte of all media, and of a controller's memory, is the same.
    pub fn holds_same(&self, other: &Self) -> bool {
        let (own, others) = (&self.0.media, &other.0.media);
        let mut pairs = own.iter().zip(others);
        own.len() == others.len()
            && self.0.memory == other.0.memory
            && pairs.all(|(one, two)| one.holds_same(two))
    }
}

impl Left {
    /// Fills `into` from there on: whole blocks, no more than the stack takes at once.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), IoError> {
        match &mut self.engine {
            Contents::Medium(Remains(kept)) => {
                let media = &kept.media;
                let first = offset / u64::from(media[0].sector_bytes());
                match media[0].read_settled(first, into) {
                    true => Ok(()),
                    false => Err(IoError::Medium),
                }
            }
            Contents::Opened(opened) => {
                let at = Extent { offset, bytes: into.len() as u32 };
                let buffer = Payload::Bytes(self.buffer.take().expect("it came back"));
                let read = submit_and_wait(&mut **opened, Command::Read { at, into: buffer });
                let Payload::Bytes(buffer) = read.payload else { panic!("it has no bytes") };
                into.copy_from_slice(&buffer.bytes()[..into.len()]);
                self.buffer = Some(buffer);
                read.result
            }
        }
    }
}
