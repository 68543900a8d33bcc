//! Sockets around a site: one request a connection, one thread a connection, everything bounded.

use crate::http::{Answer, HEAD_BYTES_MAX, Method, Refusal, Request, head_length, host};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// Connections at once: a browser opens six.
pub const CONNECTIONS_MAX: usize = 32;
/// For a whole head to come.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// For an answer to be taken.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// For a client to close, so that its last answer is not lost with bytes that it still sends.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Who has been idle for so long makes room for another, when all places are taken.
const PATIENCE: Duration = Duration::from_millis(200);
/// Before the server looks again for room.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a waiting thread looks whether the server is to end.
const GLANCE: Duration = Duration::from_millis(200);

/// Answers requests, from several threads.
pub trait Site: Sync {
    /// The answer to a request that is well formed and for this server.
    fn answer(&self, request: &Request) -> Answer;
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on `address`; with port 0 on any port that is free.
    ///
    /// # Errors
    /// The port is taken, or the address is not this machine's.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is raised; what is under way then is cut short.
    ///
    /// # Errors
    /// The listening socket fails.
    pub fn run(&self, site: &dyn Site, stop: &AtomicBool) -> io::Result<()> {
        let places = &Places::default();
        thread::scope(|scope| {
            while !stop.load(SeqCst) {
                let Some(stream) = self.next(places)? else { continue };
                // Where the system has no descriptor or thread left, the client is dropped.
                let Ok(place) = places.take(&stream) else { continue };
                let own = Arc::clone(&place);
                let serve = move || {
                    // A client that goes away is its own affair.
                    let _ =
                        Connection { stream, address: self.address, place: &own, stop }.serve(site);
                    places.leave(&own);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    places.leave(&place);
                }
            }
            Ok(())
        })
    }

    /// The next connection; `None` after a while without one, or without a place for it: it waits
    /// with the kernel until there is one.
    fn next(&self, places: &Places) -> io::Result<Option<TcpStream>> {
        let glance = Timespec::try_from(GLANCE).expect("a fraction of a second");
        let mut waiting = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut waiting, Some(&glance)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        if !places.make_room() {
            thread::sleep(PAUSE);
            return Ok(None);
        }
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            // The client was gone before it was taken.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            // Such as no file left for this process, which passes when a client goes.
            Err(_) => {
                thread::sleep(PAUSE);
                Ok(None)
            }
        }
    }
}

/// Those who are connected, at most [`CONNECTIONS_MAX`].
#[derive(Default)]
struct Places {
    taken: Mutex<Vec<Arc<Place>>>,
}

/// One of them.
struct Place {
    stream: TcpStream,
    /// Since when nothing is lost with it: it has not asked yet, takes nothing of its answer, or
    /// has all of it and stays.
    idle: Mutex<Option<Instant>>,
}

impl Places {
    /// Whether there is a place, or is now: one that has been idle longest is dropped, if for
    /// [`PATIENCE`] or longer. A client that is let in has that long to ask, whoever floods the
    /// server.
    fn make_room(&self) -> bool {
        let mut taken = self.locked();
        if taken.len() < CONNECTIONS_MAX {
            return true;
        }
        let idle = taken.iter().enumerate().filter_map(|(at, place)| Some((place.since()?, at)));
        match idle.min() {
            Some((since, at)) if since.elapsed() >= PATIENCE => {
                // Its thread sees the end of it.
                let _ = taken.swap_remove(at).stream.shutdown(Shutdown::Both);
                true
            }
            _ => false,
        }
    }

    fn take(&self, stream: &TcpStream) -> io::Result<Arc<Place>> {
        let idle = Mutex::new(Some(Instant::now()));
        let place = Arc::new(Place { stream: stream.try_clone()?, idle });
        self.locked().push(Arc::clone(&place));
        Ok(place)
    }

    fn leave(&self, place: &Arc<Place>) {
        self.locked().retain(|taken| !Arc::ptr_eq(taken, place));
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Arc<Place>>> {
        self.taken.lock().expect("nobody panics who holds it")
    }
}

impl Place {
    fn since(&self) -> Option<Instant> {
        *self.idle.lock().expect("nobody panics who holds it")
    }

    fn set_idle(&self, is_idle: bool) {
        let mut idle = self.idle.lock().expect("nobody panics who holds it");
        *idle = if is_idle { idle.or_else(|| Some(Instant::now())) } else { None };
    }
}

/// One client.
struct Connection<'s> {
    stream: TcpStream,
    address: SocketAddr,
    place: &'s Place,
    stop: &'s AtomicBool,
}

impl Connection<'_> {
    fn serve(mut self, site: &dyn Site) -> io::Result<()> {
        let request = match self.head()?.map(|head| Request::parse(&head)) {
            Ok(Ok(request)) => request,
            Ok(Err(refusal)) | Err(refusal) => return self.refuse(refusal),
        };
        self.place.set_idle(false);
        if !host::is_ours(&request.host, self.address) {
            return self.send(&Answer::refused(Refusal::Host), request.method);
        }
        let answer = catch_unwind(AssertUnwindSafe(|| site.answer(&request)));
        let answer = answer.unwrap_or_else(|_| Answer {
            status: "500 Internal Server Error",
            ..Answer::of(crate::http::Kind::Text, "This page failed; please report it as a bug.\n")
        });
        self.send(&answer, request.method)
    }

    fn refuse(mut self, refusal: Refusal) -> io::Result<()> {
        self.send(&Answer::refused(refusal), Method::Get)
    }

    /// The bytes of a whole head. The outer error is the connection's, the inner one the client's.
    fn head(&mut self) -> io::Result<Result<Vec<u8>, Refusal>> {
        let end = Instant::now() + HEAD_TIME;
        let mut head = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match self.read(&mut piece, end)? {
                None => return Ok(Err(Refusal::TooSlow)),
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(bytes) => head.extend_from_slice(&piece[..bytes]),
            }
            if let Some(length) = head_length(&head) {
                head.truncate(length);
                return Ok(if length > HEAD_BYTES_MAX { Err(Refusal::TooLong) } else { Ok(head) });
            }
            if head.len() > HEAD_BYTES_MAX {
                return Ok(Err(Refusal::TooLong));
            }
        }
    }

    /// Reads what is there; `None` when nothing came until `end`.
    fn read(&mut self, piece: &mut [u8], end: Instant) -> io::Result<Option<usize>> {
        while let Some(glance) = self.glance(end)? {
            self.stream.set_read_timeout(Some(glance))?;
            match self.stream.read(piece) {
                Err(error) if is_early(&error) => {}
                outcome => return outcome.map(Some),
            }
        }
        Ok(None)
    }

    /// Writes the answer, then waits a moment for the client to close: closing with unread bytes
    /// would take back what it has not read yet.
    fn send(&mut self, answer: &Answer, method: Method) -> io::Result<()> {
        let bytes = answer.bytes(method);
        let mut rest = &bytes[..];
        let end = Instant::now() + ANSWER_TIME;
        while !rest.is_empty() {
            let Some(glance) = self.glance(end)? else { return Err(ErrorKind::TimedOut.into()) };
            self.stream.set_write_timeout(Some(glance))?;
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    rest = &rest[bytes..];
                    self.place.set_idle(false);
                }
                Err(error) if is_early(&error) => self.place.set_idle(true),
                Err(error) => return Err(error),
            }
        }
        self.place.set_idle(true);
        self.stream.shutdown(Shutdown::Write)?;
        let end = Instant::now() + CLOSE_TIME;
        let mut piece = [0; 4096];
        while self.read(&mut piece, end)?.is_some_and(|bytes| bytes > 0) {}
        Ok(())
    }

    /// How long to wait at most before looking again; `None` at `end`, an error when the server is
    /// to end.
    fn glance(&self, end: Instant) -> io::Result<Option<Duration>> {
        if self.stop.load(SeqCst) {
            return Err(ErrorKind::Interrupted.into());
        }
        let left = end.saturating_duration_since(Instant::now());
        Ok((!left.is_zero()).then_some(left.min(GLANCE)))
    }
}

/// Nothing happened within a glance, or a signal came.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
