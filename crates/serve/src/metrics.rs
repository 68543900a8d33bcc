//! What a server does and how its volume stands, for a monitoring system that asks by HTTP.
//!
//! ```text
//!   the server's thread   turn: a snapshot, if one is wanted         snapshot
//!   a thread of its own   request -> snapshot -> OpenMetrics text    page
//! ```
//!
//! The server never waits for it: it looks at a flag in every turn, and leaves a copy of its
//! counters where one is wanted. One client is answered at a time, within a second.

mod page;
mod snapshot;

use crate::error::{InWords, StartError};
use nbd::{Address, Listener, Traffic};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionbio,
    net::{Shutdown, shutdown, sockopt},
};
use snapshot::{Exchange, Snapshot};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use target::serve::ServedEngine;
use web::http::{Answer, HEAD_BYTES_MAX, Kind, Method, Refusal, Request, head_length, host};

/// For a client to send its request, and again to take the answer.
const CLIENT_TIME: Duration = Duration::from_secs(1);
/// How often the thread looks whether it is to end.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Whoever is on this machine.
    Local,
    /// Whoever reaches the address.
    Remote,
}

/// Where the metrics are told. Dropping it ends that.
pub struct Metrics {
    exchange: Arc<Exchange>,
    started: Instant,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An address that metrics can be asked at.
pub struct Door {
    listener: Listener,
    reach: Reach,
}

impl Door {
    /// Listens at `word`, `unix:PATH` or `tcp:HOST:PORT`.
    ///
    /// # Errors
    /// A sentence with the cure: no address, taken, or one that other machines reach and that was
    /// not meant so.
    pub fn open(word: &OsStr, reach: Reach) -> Result<Self, StartError> {
        let address = Address::of_word(word)?;
        if let Address::Unix(path) = &address {
            ::host::missing::refuse_in_kernels_place(path)?;
        }
        if let Address::Tcp(socket) = &address
            && reach == Reach::Local
            && !host::is_loopback(socket.ip())
        {
            return Err(StartError::Reachable { address: *socket });
        }
        Ok(Self { listener: Listener::bind(&address)?, reach })
    }

    /// Where it is; for port 0 the port that the system chose.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }
}

impl Metrics {
    /// Begins to tell them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(door: Door, engine: &ServedEngine) -> Result<Self, StartError> {
        let started = Instant::now();
        let first = Snapshot::of(engine, &Traffic::default(), started);
        let exchange = Arc::new(Exchange::new(first));
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, ended) = (Arc::clone(&exchange), Arc::clone(&stop));
        let tell = move || {
            while !ended.load(Ordering::Relaxed) {
                if let Some(client) = next(&door.listener) {
                    // A client that goes away is its own affair.
                    let _ = serve(client, &door, &asked);
                }
            }
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(tell);
        let thread = Some(thread.in_words(|| "no thread for the metrics".to_owned())?);
        Ok(Self { exchange, started, stop, thread })
    }

    /// Leaves the numbers where they are read, if somebody wants to.
    pub fn turn(&self, engine: &ServedEngine, traffic: &Traffic) {
        self.exchange.answer(|| Snapshot::of(engine, traffic, self.started));
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // If it panicked it has said so; its listener is gone either way.
            let _ = thread.join();
        }
    }
}

/// Waits a little for something to come.
pub(crate) fn is_readable(from: &impl AsFd) -> bool {
    let glance = Timespec::try_from(GLANCE).expect("a fraction of a second");
    let mut waiting = [PollFd::new(from, PollFlags::IN)];
    poll(&mut waiting, Some(&glance)).is_ok_and(|heard| heard > 0)
}

/// The next client; none after a while without one.
pub(crate) fn next(listener: &Listener) -> Option<OwnedFd> {
    if !is_readable(listener) {
        return None;
    }
    listener.accept().unwrap_or_else(|_| {
        // Such as no descriptor left for this process, which passes.
        thread::sleep(GLANCE);
        None
    })
}

fn serve(client: OwnedFd, door: &Door, exchange: &Exchange) -> io::Result<()> {
    ioctl_fionbio(&client, false)?;
    for way in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
        sockopt::set_socket_timeout(&client, way, Some(CLIENT_TIME))?;
    }
    let mut client = File::from(client);
    let (method, answer) = match head(&mut client)?.and_then(|head| Request::parse(&head)) {
        Ok(request) => (request.method, answer(&request, door, exchange)),
        Err(refusal) => (Method::Get, Answer::refused(refusal)),
    };
    client.write_all(&answer.bytes(method))?;
    shutdown(&client, Shutdown::Write)?;
    Ok(())
}

fn answer(request: &Request, door: &Door, exchange: &Exchange) -> Answer {
    if let (Address::Tcp(socket), Reach::Local) = (door.address(), door.reach)
        && !host::is_ours(&request.host, *socket)
    {
        return Answer::refused(Refusal::Host);
    }
    match &request.path[..] {
        [name] if name == "metrics" => Answer::of(Kind::OpenMetrics, page::page(&exchange.ask())),
        _ => Answer {
            status: "404 Not Found",
            ..Answer::of(Kind::Text, "There is /metrics here and nothing else.\n")
        },
    }
}

/// The bytes of a whole head. The outer error is the connection's, the inner one the client's.
fn head(client: &mut File) -> io::Result<Result<Vec<u8>, Refusal>> {
    let end = Instant::now() + CLIENT_TIME;
    let (mut head, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let bytes = match client.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Err(Refusal::TooSlow));
            }
            outcome => outcome?,
        };
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..bytes]);
        if let Some(length) = head_length(&head).filter(|&length| length <= HEAD_BYTES_MAX) {
            head.truncate(length);
            return Ok(Ok(head));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Ok(Err(Refusal::TooLong));
        }
        if Instant::now() >= end {
            return Ok(Err(Refusal::TooSlow));
        }
    }
}
