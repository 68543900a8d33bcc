//! Any engine behind a socket, on one thread.
//!
//! ```text
//!   clients -> sockets -> Connection: inbox -> Session -> Request
//!                 ^                                          | begin, go_on: cut into pieces
//!                 |                                       Service -> Engine::submit
//!                 | send                                     ^          | wait
//!                 +------------- Outgoing <- replies --------+----------+ Completion
//! ```
//!
//! One turn: sleep on listener, sockets and engine together; take in what the engine has done;
//! read; go on with every connection as far as it goes; let the engine work; send. A connection
//! that lacks memory, a place in the engine's queue or room for replies is not read from: that is
//! all the backpressure there is.

mod connection;
mod cut;
mod flushes;
mod incoming;
mod operation;
mod options;
mod outgoing;
mod pool;
mod service;
mod stream;
mod traffic;

use crate::{
    Listener,
    protocol::{Event, Export},
};
use block::{Completion, Engine, Instant, Pause};
use connection::{Connection, Need, Presence};
use flushes::Trust;
pub use options::{CONNECTIONS_MAX, Options, ServeError};
use outgoing::Sent;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::CWD,
    io::read,
};
use service::Service;
use std::{
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
    time::{self, Duration},
};
pub use traffic::{Kind, LATENCY_BOUNDS_NS, Outcome, Tally, Traffic};

/// Nobody is accepted for so long when the system has no descriptor to spare.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What is due so soon is waited for within the turn: going around would take longer.
const AT_ONCE_NS: u64 = 1_000;
/// So many requests of a connection are begun before the others have their turn and replies are
/// sent. Shorter turns let a client work on the first replies while the server works on the next:
/// fio at depth 32 over memory, 4 KiB random reads, median of five on two busy cores, had 59
/// thousand a second without a limit and 66 to 71 thousand with 8 or 4.
const BEGUN_A_TURN_MAX: u32 = 8;
/// Listener, engine, waker, connections, and one that is disconnected.
const POLLED_MAX: usize = CONNECTIONS_MAX + 4;

/// A server of one export.
///
/// Every write is acknowledged when its engine has completed it. What FLUSH and FUA cover is
/// durable when they are answered, on whatever connection it was written; if that ever fails, no
/// change is acknowledged any more. A client that goes away, sends garbage, sends half a request or
/// stops reading costs the others nothing but its share of memory.
#[derive(Debug)]
pub struct Server<E> {
    service: Service<E>,
    export: Export,
    options: Options,
    listener: Option<Listener>,
    /// Up to the last place that is taken, so that a turn passes over no empty ones behind. The
    /// place after all others is for those who are disconnected because these are taken.
    connections: Vec<Option<Connection>>,
    done: Vec<Completion>,
    /// The first connection to go on in the next turn, so that none is always last.
    first: usize,
    /// A connection can go on without another event: do not sleep.
    work_pending: bool,
    /// Until then nobody is accepted: the system had no descriptor to spare.
    accept_paused_until: Option<time::Instant>,
    /// Ends the sleep when it is readable: an eventfd that does not block.
    waker: Option<OwnedFd>,
}

impl<E: Engine> Server<E> {
    /// Serves `export` of drive 0 of `engine` to whoever comes to `listener`. Takes the engine's
    /// pool of buffers, so the engine must not have given one away.
    ///
    /// # Panics
    /// If the engine keeps no data or less than the export, or if an option is 0 or too large.
    pub fn new(engine: E, export: Export, listener: Listener, options: Options) -> Self {
        let Options { connections_max, requests_max, buffers, buffer_bytes, .. } = options;
        assert!((1..=CONNECTIONS_MAX).contains(&connections_max), "{connections_max} connections");
        assert!(requests_max > 0 && buffers > 0 && buffer_bytes > 0, "nothing to serve with");
        let places = connections_max + 1;
        let service = Service::new(engine, &export, places, requests_max, buffers, buffer_bytes);
        Self {
            service,
            export,
            listener: Some(listener),
            connections: Vec::with_capacity(places),
            options,
            done: Vec::with_capacity(1024),
            first: 0,
            work_pending: false,
            accept_paused_until: None,
            waker: None,
        }
    }

    /// From now on a turn begins at once when `waker` is readable, an eventfd that does not block:
    /// somebody wants to be seen by what looks on.
    pub fn wake_by(&mut self, waker: OwnedFd) {
        self.waker = Some(waker);
    }

    /// Serves until `stop` is set, which is seen within a tenth of a second. Then accepts nobody,
    /// answers new requests with ESHUTDOWN, finishes those under way, flushes the engine, and
    /// closes all sockets. `watch` sees the engine and the traffic so far after every turn, ten
    /// times a second at least: it must not keep the server waiting.
    ///
    /// # Errors
    /// [`ServeError::NotDurable`] if anything acknowledged may not be durable; whatever is still under way
    /// is finished then too.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut watch: impl FnMut(&E, &Traffic),
    ) -> Result<(), ServeError> {
        self.serve_until(|| stop.load(Ordering::Relaxed), &mut watch)?;
        self.finish()
    }

    /// Serves until `ended` says so, which is asked ten times a second at least, and leaves
    /// everything as it stands.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn serve_until(
        &mut self,
        ended: impl Fn() -> bool,
        watch: &mut impl FnMut(&E, &Traffic),
    ) -> Result<(), ServeError> {
        while !ended() {
            self.turn()?;
            watch(&self.service.engine, &self.service.traffic);
        }
        Ok(())
    }

    /// Ends as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn finish(&mut self) -> Result<(), ServeError> {
        self.listener = None;
        self.finish_requests()?;
        self.finish_engine()?;
        self.connections.clear();
        match self.service.trust() {
            Trust::Sound => Ok(()),
            Trust::Lost(error) => Err(ServeError::NotDurable(error)),
        }
    }

    /// The machine that it runs on loses its power and gets it back: every connection is gone
    /// without an answer, nothing is finished or flushed, and `restart` makes of the engine what is
    /// served from now on at the same place.
    ///
    /// # Errors
    /// Those of `restart`.
    ///
    /// # Panics
    /// As [`new`](Self::new), or when serving has ended.
    pub fn power_cycle<X>(self, restart: impl FnOnce(E) -> Result<E, X>) -> Result<Self, X> {
        let Self { service, export, options, listener, connections, waker, .. } = self;
        drop(connections);
        let traffic = Traffic { connections: 0, flush_under_way: false, ..service.traffic };
        let engine = restart(service.engine)?;
        let mut server = Self::new(engine, export, listener.expect("it serves"), options);
        server.service.traffic = traffic;
        server.waker = waker;
        Ok(server)
    }

    /// What clients have asked for so far.
    pub fn traffic(&self) -> Traffic {
        self.service.traffic
    }

    /// The engine, when serving has ended.
    ///
    /// # Panics
    /// If something is still under way at it, because [`run`](Self::run) has not returned normally.
    pub fn into_engine(self) -> E {
        assert!(!self.service.is_busy(), "the engine is at work");
        self.service.engine
    }

    /// Refuses what comes, until nobody is owed anything or patience ends.
    fn finish_requests(&mut self) -> Result<(), ServeError> {
        for connection in self.connections.iter_mut().flatten() {
            connection.session.refuse_all();
        }
        let deadline = time::Instant::now() + self.options.shutdown_limit;
        // At least one turn, so that what lies in the sockets gets its answer.
        self.work_pending = true;
        loop {
            self.turn()?;
            let all_idle = self.connections.iter().flatten().all(Connection::is_idle);
            if all_idle && !self.work_pending || time::Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    /// Waits for everything under way at the engine, and makes it durable.
    fn finish_engine(&mut self) -> Result<(), ServeError> {
        for number in 0..self.connections.len() {
            if self.connections[number].as_ref().is_some_and(|connection| !connection.is_idle()) {
                self.service.close(&mut self.connections, number as u16);
            }
        }
        self.settle()?;
        self.service.flush_last();
        self.settle()
    }

    fn settle(&mut self) -> Result<(), ServeError> {
        let owes = |place: &Option<Connection>| place.as_ref().is_some_and(Connection::owes_write);
        while self.service.is_busy()
            || self.service.wants_flush()
            || self.connections.iter().any(owes)
        {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), ServeError> {
        self.sleep()?;
        self.service.released = false;
        let (blocked, interrupted) = self.go_on();
        self.service.flush();
        if self.has_work() {
            self.ask_engine(Instant(0));
        }
        self.send();
        self.reap();
        self.work_pending =
            interrupted || self.service.released && (blocked || self.service.wants_flush());
        self.service.traffic.flush_under_way = self.service.flush_is_under_way();
        Ok(())
    }

    /// Sleeps until a client, the engine or the clock has something to say, and hears them.
    fn sleep(&mut self) -> Result<(), ServeError> {
        let pause = Pause::on(&self.service.engine, self.service.is_busy(), self.work_pending);
        let mut wanted = [(Wanted::Nothing, PollFlags::empty()); POLLED_MAX];
        let heard = self.poll(pause.limit_ns(), &mut wanted)?;
        let until = pause.until(&self.service.engine, heard > 0);
        self.ask_engine(until);
        for (who, flags) in wanted {
            match who {
                Wanted::Nothing => break,
                Wanted::Listener if !flags.is_empty() => self.accept(),
                Wanted::Waker if !flags.is_empty() => {
                    let waker = self.waker.as_ref().expect("it was polled");
                    // How often it was woken makes no difference.
                    let _ = read(waker, &mut [0; 8]);
                }
                Wanted::Connection(number) if flags.intersects(!PollFlags::OUT) => {
                    let connection = self.connections[usize::from(number)].as_mut();
                    let connection = connection.expect("it was polled");
                    if connection.wants_bytes() {
                        connection.read();
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits for at most `limit_ns`; says how many have something to say, and who.
    fn poll(
        &self,
        limit_ns: u64,
        wanted: &mut [(Wanted, PollFlags); POLLED_MAX],
    ) -> Result<usize, ServeError> {
        let mut polled: [PollFd<'_>; POLLED_MAX] =
            std::array::from_fn(|_| PollFd::from_borrowed_fd(CWD, PollFlags::empty()));
        let mut count = 0;
        let mut want = |who, descriptor, flags| {
            polled[count] = PollFd::from_borrowed_fd(descriptor, flags);
            wanted[count].0 = who;
            count += 1;
        };
        if let (Some(listener), true) = (&self.listener, self.is_accepting()) {
            want(Wanted::Listener, listener.as_fd(), PollFlags::IN);
        }
        // Also when nobody waits for it: a volume that cleans itself must hear of what it read.
        if let Some(wakeup) = self.service.engine.poll_fd() {
            want(Wanted::Engine, wakeup, PollFlags::IN);
        }
        if let Some(waker) = &self.waker {
            want(Wanted::Waker, waker.as_fd(), PollFlags::IN);
        }
        for (number, connection) in (0..).zip(&self.connections) {
            let Some((connection, socket)) =
                connection.as_ref().and_then(|connection| Some((connection, connection.socket()?)))
            else {
                continue;
            };
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, connection.wants_bytes());
            flags.set(PollFlags::OUT, !connection.outgoing.is_empty());
            // Without a wish it is left out: poll(2) would report that its client is gone for ever.
            if !flags.is_empty() {
                want(Wanted::Connection(number), socket, flags);
            }
        }
        let limit = Timespec {
            tv_sec: (limit_ns / 1_000_000_000) as i64,
            tv_nsec: (limit_ns % 1_000_000_000) as _,
        };
        let heard = match poll(&mut polled[..count], Some(&limit)) {
            Ok(heard) => heard,
            Err(rustix::io::Errno::INTR) => return Ok(0),
            Err(error) => return Err(ServeError::Poll(error)),
        };
        for (entry, polled) in wanted.iter_mut().zip(&polled[..count]) {
            entry.1 = polled.revents();
        }
        Ok(heard)
    }

    fn ask_engine(&mut self, until: Instant) {
        self.service.engine.wait(until, &mut self.done);
        for completion in self.done.drain(..) {
            self.service.complete(&mut self.connections, completion);
        }
    }

    /// Whether a wait brings something forward at once: what was submitted and not handed over yet,
    /// or answers that are there.
    fn has_work(&self) -> bool {
        let engine = &self.service.engine;
        engine.next_wakeup().since(engine.now()) <= AT_ONCE_NS
    }

    fn is_accepting(&self) -> bool {
        self.place().is_some()
            && self.accept_paused_until.is_none_or(|until| time::Instant::now() >= until)
    }

    /// The place of the next client: a free one, or that of who has been longest without finishing
    /// the handshake, or, when all have, the last, to be told so. None while that is taken by who
    /// is being sent his answer.
    fn place(&self) -> Option<usize> {
        let most = self.options.connections_max;
        let taken = self.connections.len();
        let free = self.connections.iter().take(most).position(Option::is_none);
        let free = free.or((taken < most).then_some(taken));
        let since = |place: &Option<Connection>| {
            place.as_ref().filter(|one| one.is_negotiating()).map(|one| one.since)
        };
        free.or_else(|| {
            let negotiating = (0..most).filter_map(|n| Some((since(&self.connections[n])?, n)));
            negotiating.min().map(|(_, number)| number)
        })
        .or_else(|| {
            let last = self.connections.get(most).and_then(Option::as_ref);
            last.is_none_or(Connection::is_negotiating).then_some(most)
        })
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let Some(number) = self.place() else { return };
        match listener.accept() {
            Ok(Some(socket)) => {
                let (export, requests_max) = (self.export.clone(), self.options.requests_max);
                let mut connection = Connection::new(socket, export, requests_max);
                if number == self.options.connections_max {
                    connection.session.turn_away();
                    self.service.traffic.turned_away += 1;
                } else {
                    self.service.traffic.clients += 1;
                }
                if self.connections.get(number).is_some_and(Option::is_some) {
                    self.service.traffic.dismissed += 1;
                    self.remove(number);
                }
                self.service.traffic.connections += 1;
                match self.connections.get_mut(number) {
                    Some(place) => *place = Some(connection),
                    None => self.connections.push(Some(connection)),
                }
            }
            Ok(None) => {}
            Err(_) => {
                self.accept_paused_until = Some(time::Instant::now() + ACCEPT_PAUSE);
            }
        }
    }

    /// Goes on with every connection; says whether one is blocked for want of room, and whether one
    /// only had its share of the turn.
    fn go_on(&mut self) -> (bool, bool) {
        let count = self.connections.len();
        let (mut blocked, mut interrupted) = (false, false);
        for step in 0..count {
            let number = (self.first + step) % count;
            if self.connections[number].is_some() {
                let need = self.go_on_with(number);
                blocked |= need == Need::Room;
                interrupted |= need == Need::Turn;
            }
        }
        self.first = (self.first + 1) % count.max(1);
        (blocked, interrupted)
    }

    fn go_on_with(&mut self, number: usize) -> Need {
        let mut begun = 0;
        loop {
            let connection = self.connections[number].as_mut().expect("it is there");
            if connection.presence == Presence::Gone && !connection.owes_write() {
                return Need::Bytes;
            }
            if connection.current.is_some() {
                if self.service.go_on(&mut self.connections, number as u16) {
                    continue;
                }
                let connection = self.connections[number].as_mut().expect("it is there");
                let need = connection.need;
                if need == Need::Bytes && connection.has_ended() {
                    connection.presence = Presence::Leaving;
                    self.service.abandon(&mut self.connections, number as u16);
                }
                return need;
            }
            if connection.presence == Presence::Leaving {
                return Need::Bytes;
            }
            let full = connection.operations >= self.options.requests_max;
            if full || connection.is_blocked() || connection.stream.is_open {
                connection.need = Need::Room;
                return Need::Room;
            }
            if begun >= BEGUN_A_TURN_MAX && connection.has_unread() {
                connection.need = Need::Turn;
                return Need::Turn;
            }
            match connection.receive() {
                None => {
                    connection.need = Need::Bytes;
                    if connection.has_ended() {
                        connection.presence = Presence::Leaving;
                    }
                    return Need::Bytes;
                }
                Some(Event::Taken) => {}
                Some(Event::Asked(request)) => {
                    connection.note(&request);
                    self.service.begin(number as u16, connection, request);
                    begun += 1;
                }
                Some(Event::Payload) => unreachable!("the write that wants it is current"),
                Some(Event::Leave) => connection.presence = Presence::Leaving,
                Some(Event::Violation) => connection.presence = Presence::Gone,
            }
        }
    }

    fn send(&mut self) {
        for connection in self.connections.iter_mut().flatten() {
            if connection.outgoing.is_empty() || connection.presence == Presence::Gone {
                continue;
            }
            let mut held = connection.held;
            let blocked = connection.is_blocked();
            let service = &mut self.service;
            let sent = connection.send(|buffer| service.release(&mut held, buffer));
            connection.held = held;
            self.service.released |= blocked && sent == Sent::All;
        }
    }

    /// Closes the connections that are over, and forgets those of which nothing is under way.
    fn reap(&mut self) {
        let is_memory_awaited = self.service.is_memory_awaited();
        for number in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[number] else { continue };
            let owed = connection.operations > 0 || !connection.outgoing.is_empty();
            let over = match connection.presence {
                Presence::Here => {
                    let is_overdue = !connection.session.is_transmitting()
                        && connection.since.elapsed() > self.options.handshake_limit;
                    let silent = connection.incoming.silent_since().filter(|_| is_memory_awaited);
                    let stalls = silent.is_some_and(|at| at.elapsed() > self.options.stall_limit);
                    self.service.traffic.dismissed += u64::from(is_overdue || stalls);
                    is_overdue || stalls
                }
                Presence::Leaving => !owed,
                Presence::Gone => true,
            };
            if over {
                self.remove(number);
            }
        }
        while self.connections.pop_if(|place| place.is_none()).is_some() {}
    }

    /// Closes a connection, and forgets it if nothing of it is under way.
    fn remove(&mut self, number: usize) {
        let connection = self.connections[number].as_ref().expect("the caller looked");
        if connection.socket().is_some() {
            self.service.close(&mut self.connections, number as u16);
            self.service.traffic.connections -= 1;
        }
        if self.connections[number].as_ref().is_some_and(|gone| gone.operations == 0) {
            let gone = self.connections[number].take().expect("it is there");
            assert!(gone.held == 0, "{} buffers leave with a connection", gone.held);
        }
    }
}

/// Whom an entry of poll(2) stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    Nothing,
    Listener,
    Engine,
    Waker,
    Connection(u16),
}
