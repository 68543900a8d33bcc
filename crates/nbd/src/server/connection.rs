//! One client: its socket, what it sent and what it is owed.

use super::{cut::Piece, outgoing::Outgoing, outgoing::Sent, stream::Stream};
use crate::protocol::{Event, Export, Session};
use block::Buf;
use rustix::io::{Errno, readv};
use std::{
    io::IoSliceMut,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// What is read ahead of a client at most: some two thousand requests, or sixteen writes of 4 KiB.
const INBOX_BYTES: usize = 64 << 10;
/// So many bytes of heads may wait for a client that does not read; then it is no longer listened to.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// Whether a client is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It asks and listens.
    Here,
    /// It asks for nothing more, and is sent what it is owed.
    Leaving,
    /// It is not listened to and sent nothing; what it asked for may still be under way.
    Gone,
}

/// Why a connection does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// It needs bytes from its client.
    Bytes,
    /// It needs memory, a place in the engine's queue, or that something else ends first.
    Room,
    /// It needs only its next turn.
    Turn,
}

/// A piece of a write whose payload is coming in.
#[derive(Debug)]
pub struct Filling {
    pub buffer: Buf,
    pub piece: Piece,
    pub have: usize,
}

impl Filling {
    pub fn is_full(&self) -> bool {
        self.have == self.piece.bytes as usize
    }
}

/// One client. All its memory but the buffers is allocated when it comes.
#[derive(Debug)]
pub struct Connection {
    socket: Option<OwnedFd>,
    pub session: Session,
    pub outgoing: Outgoing,
    inbox: Box<[u8]>,
    /// Of the inbox, what is not taken in yet.
    unread: std::ops::Range<usize>,
    /// The client has shut its side.
    ended: bool,
    pub presence: Presence,
    pub need: Need,
    /// Operations begun and not answered.
    pub operations: u32,
    /// Buffers held: being filled, with the engine, or to be sent.
    pub held: u32,
    /// The operation that is being cut into pieces.
    pub current: Option<u32>,
    pub filling: Option<Filling>,
    pub stream: Stream,
    pub since: Instant,
}

impl Connection {
    /// Greets the client at `socket`, which may have `operations` under way.
    pub fn new(socket: OwnedFd, export: Export, operations: u32) -> Self {
        let mut outgoing = Outgoing::with_capacity(operations as usize);
        Self {
            socket: Some(socket),
            session: Session::new(export, outgoing.heads()),
            outgoing,
            inbox: vec![0; INBOX_BYTES].into(),
            unread: 0..0,
            ended: false,
            presence: Presence::Here,
            need: Need::Bytes,
            operations: 0,
            held: 0,
            current: None,
            filling: None,
            stream: Stream::new(),
            since: Instant::now(),
        }
    }

    /// The socket, unless the client is gone.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Whether bytes from the client are wanted.
    pub fn wants_bytes(&self) -> bool {
        self.presence == Presence::Here && self.need == Need::Bytes && !self.ended
    }

    /// Whether a client that does not read has been owed too much.
    pub fn is_clogged(&self) -> bool {
        self.outgoing.head_bytes() > HEAD_BYTES_MAX
    }

    /// Whether it has bytes from its client that are not taken in yet.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Whether its client will send nothing more.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the client is owed nothing and has asked for nothing.
    pub fn is_idle(&self) -> bool {
        let quiet = self.operations == 0 && self.outgoing.is_empty();
        quiet && self.unread.is_empty() && !self.session.is_amid()
    }

    /// Reads what is there: payload straight to where it belongs, the rest into the inbox.
    pub fn read(&mut self) {
        let Some(socket) = &self.socket else { return };
        assert!(self.unread.is_empty(), "bytes are wanted only when there are none");
        let direct = self.filling.as_ref().map_or(0..0, |filling| {
            let left = filling.piece.bytes as usize - filling.have;
            filling.have..filling.have + left
        });
        let direct_bytes = direct.len();
        let outcome = loop {
            let payload = match &mut self.filling {
                Some(filling) => &mut filling.buffer.bytes_mut()[direct.clone()],
                None => &mut [],
            };
            let mut pieces = [IoSliceMut::new(payload), IoSliceMut::new(&mut self.inbox)];
            match readv(socket, &mut pieces) {
                Err(Errno::INTR) => {}
                outcome => break outcome,
            }
        };
        match outcome {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                let paid = bytes.min(direct_bytes);
                if let Some(filling) = &mut self.filling {
                    filling.have += paid;
                    self.session.payload_received(paid as u32);
                }
                self.unread = 0..bytes - paid;
            }
            Err(Errno::AGAIN) => {}
            Err(_) => self.presence = Presence::Gone,
        }
    }

    /// Lets the session take in one message; nothing if there are no bytes.
    pub fn receive(&mut self) -> Option<Event> {
        if self.unread.is_empty() {
            return None;
        }
        let input = &self.inbox[self.unread.clone()];
        let (taken, event) = self.session.receive(input, self.outgoing.heads());
        self.unread.start += taken;
        Some(event)
    }

    /// Moves payload from the inbox to where it belongs; says whether all of the piece is there.
    pub fn fill(&mut self) -> bool {
        let filling = self.filling.as_mut().expect("a piece is being filled");
        let left = filling.piece.bytes as usize - filling.have;
        let bytes = left.min(self.unread.len());
        if bytes > 0 {
            let input = &self.inbox[self.unread.start..self.unread.start + bytes];
            filling.buffer.bytes_mut()[filling.have..filling.have + bytes].copy_from_slice(input);
            self.session.payload_received(bytes as u32);
            filling.have += bytes;
            self.unread.start += bytes;
        }
        filling.is_full()
    }

    /// Sends what can be sent; buffers go to `release`.
    pub fn send(&mut self, release: impl FnMut(Buf)) -> Sent {
        let Some(socket) = &self.socket else { return Sent::All };
        let sent = self.outgoing.send(socket, release);
        if sent == Sent::Gone {
            self.presence = Presence::Gone;
        }
        sent
    }

    /// Closes the socket and gives back all memory that no engine works on.
    pub fn close(&mut self, mut release: impl FnMut(Buf)) {
        self.socket = None;
        self.presence = Presence::Gone;
        self.unread = 0..0;
        self.outgoing.clear(&mut release);
        if let Some(filling) = self.filling.take() {
            release(filling.buffer);
        }
        self.stream.break_off().for_each(release);
    }
}
