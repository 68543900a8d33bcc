//! A client alone: it keeps an engine busy, and sleeps between waits as the NBD server does, but
//! without a tick.

use block::{
    Actor, Buf, Command, Completion, Data, Drive, Durability, Engine, Extent, Instant, Pages,
    Payload, Request, Rng, Tag,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::fmt;

/// What is due so soon is waited for without sleeping.
const AT_ONCE_NS: u64 = 1_000;
/// How long an engine that announces nothing is asked at a time.
const ASK_NS: u64 = 200_000;

/// Whose time passes while the client sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// The engine's own: nothing is slept, the next wakeup is waited for.
    Virtual,
    /// The drive below is done with what it was handed before it is asked again: what is not
    /// announced is forgotten, and a wakeup that is not near is none of the drive's.
    Instant,
    /// That of a real drive or a paced model.
    Wall,
}

impl Time {
    /// How long a sleep may last while something is outstanding. No drive takes so long, however
    /// busy the machine.
    fn patience_ns(self) -> u64 {
        match self {
            Self::Virtual => u64::MAX,
            Self::Instant => 1_000_000,
            Self::Wall => 10_000_000_000,
        }
    }
}

/// What a load asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Read,
    Write,
    /// Each write is followed by a flush.
    WriteAndFlush,
}

/// So many requests at a time, each so long, at random.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub depth: usize,
    pub bytes: u32,
    pub what: What,
}

/// Work is outstanding, and nothing is announced that would bring it forward.
#[derive(Debug)]
pub struct Stall {
    pub outstanding: usize,
    /// Until the next wakeup that is announced, if any is.
    pub to_wakeup_ns: Option<u64>,
}

impl fmt::Display for Stall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} outstanding, nothing to be read, the next wakeup ",
            self.outstanding
        )?;
        match self.to_wakeup_ns {
            None => formatter.write_str("none"),
            Some(ns) => write!(formatter, "{ns} ns away"),
        }
    }
}

pub struct Client {
    time: Time,
    bytes_max: u64,
    rng: Rng,
    done: Vec<Completion>,
}

impl Client {
    pub fn new(time: Time, bytes_max: u64) -> Self {
        Self { time, bytes_max, rng: Rng::new(1, 2), done: Vec::new() }
    }

    /// Puts a load on an engine: two requests for each place of its depth, fewer where that would
    /// be too many bytes.
    pub fn put(&mut self, engine: &mut (impl Engine + ?Sized), load: Load) -> Result<(), Stall> {
        let geometry = engine.geometry(Drive(0));
        let bytes = load.bytes.min(geometry.transfer_bytes_max);
        let count = (2 * load.depth).min((self.bytes_max / u64::from(bytes)) as usize).max(2);
        let depth = load.depth.min(geometry.queue_depth as usize).min(count);
        let mut free = match geometry.data {
            Data::Stored => buffers(&mut self.rng, depth, bytes),
            Data::TimingOnly => (0..depth).map(|_| Payload::None).collect(),
        };
        let places = geometry.capacity_bytes / u64::from(bytes);
        let (mut sent, mut outstanding) = (0, 0);
        while sent < count || outstanding > 0 {
            while sent < count && outstanding < depth {
                let offset = self.rng.below(places) * u64::from(bytes);
                let at = Extent { offset, bytes };
                let payload = free.pop().expect("one for each place");
                engine.submit(request(command(load.what, at, payload)));
                (sent, outstanding) = (sent + 1, outstanding + 1);
            }
            let wakeup = engine.next_wakeup();
            if wakeup.since(engine.now()) <= AT_ONCE_NS {
                engine.wait(wakeup, &mut self.done);
            } else {
                self.sleep(engine, outstanding)?;
            }
            for Completion { tag, result, payload, .. } in self.done.drain(..) {
                assert_eq!(result, Ok(()), "{load:?}");
                if tag == WRITE && load.what == What::WriteAndFlush {
                    free.push(payload);
                    engine.submit(request(Command::Flush));
                } else if tag == FLUSH {
                    outstanding -= 1;
                } else {
                    free.push(payload);
                    outstanding -= 1;
                }
            }
        }
        Ok(())
    }

    /// Sleeps until the engine has something to say, and hears it.
    fn sleep(
        &mut self,
        engine: &mut (impl Engine + ?Sized),
        outstanding: usize,
    ) -> Result<(), Stall> {
        let wakeup = engine.next_wakeup();
        let to_wakeup = wakeup.since(engine.now());
        let stalled = || {
            let to_wakeup_ns = (wakeup != Instant::NEVER).then_some(to_wakeup);
            Stall { outstanding, to_wakeup_ns }
        };
        if self.time == Time::Virtual {
            if wakeup == Instant::NEVER {
                return Err(stalled());
            }
            engine.wait(wakeup, &mut self.done);
            return Ok(());
        }
        if engine.poll_fd().is_none() && wakeup == Instant::NEVER {
            // The contract's third case, which the drive of no time does not claim.
            if self.time == Time::Instant {
                return Err(stalled());
            }
            engine.wait(engine.now().after(ASK_NS), &mut self.done);
            return Ok(());
        }
        let patience_ns = self.time.patience_ns();
        // What is not done by now was never begun, where drives take no time.
        let limit_ns = if self.time == Time::Instant { 0 } else { to_wakeup.min(patience_ns) };
        let heard = listen(engine, limit_ns);
        if !heard && to_wakeup > patience_ns {
            return Err(stalled());
        }
        engine.wait(if heard { Instant(0) } else { wakeup }, &mut self.done);
        Ok(())
    }
}

const WRITE: Tag = Tag(1);
const FLUSH: Tag = Tag(2);
const READ: Tag = Tag(3);

fn command(what: What, at: Extent, payload: Payload) -> Command {
    match what {
        What::Read => Command::Read { at, into: payload },
        What::Write | What::WriteAndFlush => {
            Command::Write { at, from: payload, durability: Durability::Cached }
        }
    }
}

fn request(command: Command) -> Request {
    let tag = match &command {
        Command::Read { .. } => READ,
        Command::Write { .. } => WRITE,
        Command::Flush | Command::Discard { .. } => FLUSH,
    };
    Request { tag, actor: Actor(0), drive: Drive(0), command }
}

/// Memory that is not zero: zeroes are not written.
fn buffers(rng: &mut Rng, count: usize, bytes: u32) -> Vec<Payload> {
    let fill = |mut buffer: Buf| {
        buffer.bytes_mut().chunks_mut(4096).for_each(|block| rng.fill(&mut block[..64]));
        Payload::Bytes(buffer)
    };
    Buf::pool(count, bytes as usize, Pages::Usual).1.into_iter().map(fill).collect()
}

/// Sleeps on the engine's descriptor for at most so long; whether it has something to say.
fn listen(engine: &(impl Engine + ?Sized), limit_ns: u64) -> bool {
    let limit = Timespec {
        tv_sec: (limit_ns / 1_000_000_000) as i64,
        tv_nsec: (limit_ns % 1_000_000_000) as _,
    };
    let descriptor = engine.poll_fd();
    let polled = match descriptor {
        Some(descriptor) => {
            poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&limit))
        }
        None => poll(&mut [], Some(&limit)),
    };
    match polled {
        Ok(count) => count > 0,
        Err(Errno::INTR) => false,
        Err(error) => panic!("poll: {error}"),
    }
}
