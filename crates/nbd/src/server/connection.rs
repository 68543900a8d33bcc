//! One client: its socket, what it sent and what it is owed.

use super::{
    incoming::{Incoming, SLICES_MAX},
    outgoing::{Outgoing, Sent},
    stream::Stream,
};
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
/// So many bytes of heads may wait for a client that does not read; then it is no longer listened
/// to.
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
    /// The payload of the write that is current.
    pub incoming: Incoming,
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
            incoming: Incoming::new(),
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

    /// Whether its handshake is not done: nothing is lost with it.
    pub fn is_haggling(&self) -> bool {
        let done = self.session.is_transmitting() || self.session.is_over();
        self.presence == Presence::Here && !done
    }

    /// Whether a write of its client has come in as a whole and is not at the engine as a whole: it
    /// is carried out, also when the client is gone.
    pub fn owes_write(&self) -> bool {
        self.current.is_some() && self.incoming.is_whole()
    }

    /// Reads what is there: payload straight to where it belongs, the rest into the inbox.
    pub fn read(&mut self) {
        let Some(socket) = &self.socket else { return };
        assert!(self.unread.is_empty(), "bytes are wanted only when there are none");
        let mut slices: [IoSliceMut<'_>; SLICES_MAX + 1] =
            std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (count, direct_bytes) = self.incoming.room(&mut slices[..SLICES_MAX]);
        // More payload than slices goes where it belongs in the next turns.
        if direct_bytes == self.session.payload_left() as usize || count == 0 {
            slices[count] = IoSliceMut::new(&mut self.inbox);
        }
        let outcome = loop {
            match readv(socket, &mut slices[..=count]) {
                Err(Errno::INTR) => {}
                outcome => break outcome,
            }
        };
        match outcome {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                let paid = bytes.min(direct_bytes);
                if paid > 0 {
                    self.incoming.received(paid);
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

    /// Moves payload from the inbox to where it belongs; says whether all of the write is there.
    pub fn fill(&mut self) -> bool {
        let bytes = self.incoming.copy_from(&self.inbox[self.unread.clone()]);
        if bytes > 0 {
            self.session.payload_received(bytes as u32);
            self.unread.start += bytes;
        }
        self.incoming.is_whole()
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

    /// Closes the socket and gives back all memory that no engine works on, or is to.
    pub fn close(&mut self, mut release: impl FnMut(Buf)) {
        self.socket = None;
        self.presence = Presence::Gone;
        self.unread = 0..0;
        self.outgoing.clear(&mut release);
        if !self.owes_write() {
            self.incoming.close().for_each(&mut release);
        }
        self.stream.break_off().for_each(release);
    }
}
