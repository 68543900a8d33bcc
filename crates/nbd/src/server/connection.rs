//! One client: its socket, what it sent and what it is owed.

use super::{
    incoming::{Incoming, SLICES_MAX},
    outgoing::{Outgoing, Sent},
    stream::Stream,
};
use crate::protocol::{Command, Event, Export, HEADER_BYTES, Request, Session};
use block::Buf;
use rustix::io::{Errno, readv};
use std::{
    io::IoSliceMut,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// What is read ahead of a client at most: some two thousand requests, or sixteen writes of 4 KiB.
const INBOX_BYTES: usize = 64 << 10;
/// The payload of a write so long is not read ahead: received where it belongs it costs a system
/// call, received in the inbox it costs a copy, which takes longer.
const LONG_BYTES: u32 = 32 << 10;
/// So many requests after a long write another one is expected. Meanwhile no more is read ahead than
/// the head of one request.
const EXPECTED_WITHIN: u8 = 8;
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
    /// So many requests from now on, a long write is expected.
    expecting_long: u8,
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
            expecting_long: 0,
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
    pub fn is_blocked(&self) -> bool {
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
    pub fn is_negotiating(&self) -> bool {
        let done = self.session.is_transmitting() || self.session.is_over();
        self.presence == Presence::Here && !done
    }

    /// Whether a write of its client has come in as a whole and is not at the engine as a whole: it
    /// is carried out, also when the client is gone.
    pub fn owes_write(&self) -> bool {
        self.current.is_some() && self.incoming.is_whole()
    }

    /// Takes note of what the client asks for, to know what it may send next.
    pub fn note(&mut self, request: &Request) {
        let is_long = request.command == Command::Write && request.bytes >= LONG_BYTES;
        self.expecting_long =
            if is_long { EXPECTED_WITHIN } else { self.expecting_long.saturating_sub(1) };
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
            let is_short = self.expecting_long > 0 && !self.session.is_skipping();
            let ahead = if is_short { HEADER_BYTES } else { INBOX_BYTES };
            slices[count] = IoSliceMut::new(&mut self.inbox[..ahead]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::cut::Cutter;
    use block::{Data, Geometry};
    use std::{io::Write, os::unix::net::UnixStream};

    /// A client that has shaken hands, and its connection.
    fn pair() -> (UnixStream, Connection) {
        let geometry = Geometry {
            capacity_bytes: 1 << 20,
            block_bytes: 4096,
            transfer_bytes_max: 1 << 20,
            queue_depth: 8,
            data: Data::Stored,
        };
        let (mut client, server) = UnixStream::pair().expect("a pair of sockets");
        let mut connection = Connection::new(server.into(), Export::of(&geometry), 8);
        // Its flags, and the option EXPORT_NAME with no name.
        client.write_all(&[0, 0, 0, 3]).expect("room");
        client.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").expect("room");
        connection.read();
        while connection.receive().is_some() {}
        assert!(connection.session.is_transmitting());
        (client, connection)
    }

    fn write_request(cookie: u64, bytes: u32) -> Vec<u8> {
        let mut head = vec![0x25, 0x60, 0x95, 0x13, 0, 0, 0, 1];
        head.extend(cookie.to_be_bytes());
        head.extend(0u64.to_be_bytes());
        head.extend(bytes.to_be_bytes());
        head
    }

    /// Lets the connection take in one write; bytes of its payload that came by the inbox.
    fn copied_of_a_write(connection: &mut Connection, bytes: u32) -> usize {
        let request = loop {
            match connection.receive() {
                Some(Event::Asked(request)) => break request,
                Some(_) => {}
                None => connection.read(),
            }
        };
        connection.note(&request);
        let piece = Cutter::new(4096, bytes).change(0, bytes.into());
        connection.incoming.open([(piece, Buf::zeroed(bytes as usize))].into_iter());
        let copied = connection.unread.len().min(bytes as usize);
        while !connection.fill() {
            connection.read();
        }
        assert_eq!(connection.incoming.close().count(), 1);
        copied
    }

    /// Writes of 64 KiB, several under way: the rest of one payload came with the next head and
    /// nearly all of the next payload, so every byte was copied once more, out of the inbox.
    #[test]
    fn the_payload_of_a_long_write_behind_another_is_not_copied() {
        let (mut client, mut connection) = pair();
        let sender = std::thread::spawn(move || {
            for cookie in 0..4 {
                client.write_all(&write_request(cookie, 64 << 10)).expect("it is read");
                client.write_all(&vec![cookie as u8; 64 << 10]).expect("it is read");
            }
            client
        });
        let copied: Vec<usize> =
            (0..4).map(|_| copied_of_a_write(&mut connection, 64 << 10)).collect();
        drop(sender.join().expect("all was sent"));
        assert!(copied[1..].iter().all(|&bytes| bytes < HEADER_BYTES), "{copied:?}");
    }

    #[test]
    fn short_writes_come_many_at_a_time() {
        let (mut client, mut connection) = pair();
        for cookie in 0..8 {
            client.write_all(&write_request(cookie, 4096)).expect("room");
            client.write_all(&[7; 4096]).expect("room");
        }
        connection.read();
        let copied = (0..8).map(|_| copied_of_a_write(&mut connection, 4096));
        assert_eq!(copied.sum::<usize>(), 8 * 4096);
    }
}
