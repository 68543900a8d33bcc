//! Any engine behind a disk, on one thread.
//!
//! ```text
//!   /dev/ublkbN -> kernel -> Queue::take -> Service::begin -> Engine::submit
//!                    ^                                            | wait
//!                    +------ Queue::answer <- Service::complete <-+ Completion
//! ```
//!
//! One turn: sleep on queue, engine and command together; take in what the engine has done; begin
//! what the kernel asks; let the engine work; hand all answers to the kernel in one call. The queue
//! has no more places than the engine, so nothing ever waits for room.

use crate::{
    Attached, Beginning, Error, Refusal, Release,
    attach::delete,
    release::{Use, WritingOut},
    service::Service,
};
use block::{Completion, Engine, Instant, Pages, Pause};
use engine::ublk::{Asked, Control, Order, Queue};
use nbd::{Traffic, protocol::Export};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::configure_io_flusher_behavior,
};
use std::{io, os::fd::BorrowedFd, path::PathBuf, thread, time};

/// What is due so soon is waited for within the turn: going around would take longer.
const AT_ONCE_NS: u64 = 1_000;
/// The kernel lets go of a killed server by then.
const HANDOVER: time::Duration = time::Duration::from_secs(60);
/// It is asked so often.
const GLANCE: time::Duration = time::Duration::from_millis(20);

/// Why serving ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was to.
    Asked,
    /// Somebody else stopped the device.
    Stopped,
}

/// A server of one disk.
///
/// Every write is answered when its engine has completed it. What a flush or a forced write covers
/// is durable when it is answered; if that ever fails, no change is answered well any more.
pub struct Server<E> {
    service: Service<E>,
    control: Control,
    id: u32,
    queue: Option<Queue>,
    asked: Vec<Asked>,
    done: Vec<Completion>,
}

impl<E: Engine> Server<E> {
    /// Serves `export` of drive 0 of `engine` as the disk of `attached`, which is there when this
    /// returns. Takes the engine's pool of buffers, so the engine must not have given one away. The
    /// calling thread has to serve to the end.
    ///
    /// # Errors
    /// A sentence with the cure. A device that was made for this is removed again, one that waits
    /// goes on waiting.
    pub fn start(mut engine: E, export: &Export, mut attached: Attached) -> Result<Self, Error> {
        // Memory that this thread asks for must not wait for pages to be written to the very disk
        // that it serves. Without CAP_SYS_RESOURCE it has to do without.
        let _ = configure_io_flusher_behavior(true);
        let (shape, id) = (attached.shape, attached.device.id);
        let count = usize::from(shape.queue_depth);
        let buffers = engine.pool(count, shape.parameters.transfer_bytes_max as usize, Pages::Huge);
        if attached.beginning == Beginning::TakenUp {
            start_recovery(&mut attached.control, id)?;
        }
        let queue = match Queue::open(id, buffers) {
            Ok(queue) => queue,
            Err(source) => {
                attached.give_up();
                let path = PathBuf::from(format!("/dev/ublkc{id}"));
                return Err(Refusal::NoQueue { path, source }.into());
            }
        };
        let service = Service::new(engine, shape.parameters, export.discarded, shape.queue_depth);
        let Attached { control, beginning, .. } = attached;
        let (asked, done) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut server = Self { service, control, id, queue: Some(queue), asked, done };
        server.service.traffic.clients = 1;
        server.service.traffic.connections = 1;
        let (order, what) = match beginning {
            Beginning::Made => (Order::Start, "start its disk"),
            Beginning::TakenUp => (Order::EndRecovery, "let its disk go on"),
        };
        if let Err(source) = server.carry_out(order) {
            server.queue = None;
            if beginning == Beginning::Made {
                // What led here is what is told.
                let _ = delete(&mut server.control, id);
            }
            return Err(Refusal::of_command(Some(id), what, source).into());
        }
        Ok(server)
    }

    /// The disk.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/ublkb{}", self.id))
    }

    /// Serves until `ended` says so, which is asked ten times a second at least, or until somebody
    /// else stops the device. `watch` sees the engine and the traffic so far after every turn: it
    /// must not keep the server waiting.
    ///
    /// # Errors
    /// The system's.
    pub fn serve_until(
        &mut self,
        ended: impl Fn() -> bool,
        watch: &mut impl FnMut(&E, &Traffic),
    ) -> Result<Ended, Error> {
        while !ended() {
            if self.is_stopped() {
                return Ok(Ended::Stopped);
            }
            self.turn()?;
            watch(&self.service.engine, &self.service.traffic);
        }
        Ok(Ended::Asked)
    }

    /// Has the system write what it still holds of the disk, stops it, makes everything durable and
    /// removes the device. The device is removed whatever else goes wrong.
    ///
    /// # Errors
    /// [`Error::NotDurable`] and [`Error::Unwritten`] if anything may be lost.
    pub fn finish(&mut self) -> Result<Release, Error> {
        let written_out = self.write_out();
        let stopped = self.stop();
        self.service.traffic.connections = 0;
        let settled = self.settle();
        // With the queue the last descriptor of our own goes.
        self.queue = None;
        let is_gone = delete(&mut self.control, self.id);
        if let Some(error) = self.service.lost() {
            return Err(Error::NotDurable(error));
        }
        let r#use = written_out?;
        stopped?;
        settled?;
        Ok(Release { r#use, is_gone: is_gone? })
    }

    /// What the disk was asked for so far.
    pub fn traffic(&self) -> Traffic {
        self.service.traffic
    }

    /// The engine, when serving has ended.
    ///
    /// # Panics
    /// If something is still under way at it, because [`finish`](Self::finish) has not returned.
    pub fn into_engine(self) -> E {
        assert!(!self.service.is_busy(), "the engine is at work");
        self.service.engine
    }

    fn write_out(&mut self) -> Result<Use, Error> {
        if self.is_stopped() {
            return Ok(Use::Free);
        }
        let writing = WritingOut::start(self.id)?;
        while !writing.is_over() {
            self.turn()?;
        }
        writing.outcome().map_err(Error::Unwritten)
    }

    /// Whether the disk is gone: somebody else has stopped it.
    fn is_stopped(&self) -> bool {
        self.queue.as_ref().is_none_or(Queue::is_closed)
    }

    fn stop(&mut self) -> Result<(), Error> {
        if self.is_stopped() {
            return Ok(());
        }
        let id = self.id;
        self.carry_out(Order::Stop)
            .map_err(|source| Refusal::of_command(Some(id), "stop its disk", source))?;
        while !self.is_stopped() {
            self.turn()?;
        }
        Ok(())
    }

    /// Waits for what is under way at the engine, and makes everything durable.
    fn settle(&mut self) -> Result<(), Error> {
        while self.service.is_busy() {
            self.turn()?;
        }
        self.service.flush_last();
        while self.service.is_busy() {
            self.turn()?;
        }
        Ok(())
    }

    /// Serves until the kernel has carried `order` out.
    fn carry_out(&mut self, order: Order) -> io::Result<()> {
        self.control.begin(order, self.id)?;
        loop {
            if let Some(outcome) = self.control.outcome() {
                return outcome;
            }
            self.turn()?;
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let pause = Pause::on(&self.service.engine, self.service.is_busy(), false);
        let heard = self.poll(pause.limit_ns())?;
        let until = pause.until(&self.service.engine, heard > 0);
        self.ask_engine(until);
        if let Some(queue) = &mut self.queue {
            queue.take(&mut self.asked)?;
            for asked in self.asked.drain(..) {
                if let Some(answer) = self.service.begin(asked) {
                    queue.answer(answer.tag, answer.result, answer.buffer);
                }
            }
        }
        if self.has_news() {
            self.ask_engine(Instant(0));
        }
        self.queue.as_mut().map_or(Ok(()), Queue::submit)
    }

    /// Waits for at most `limit_ns`; says how many have something to say.
    fn poll(&self, limit_ns: u64) -> io::Result<usize> {
        let descriptors: [Option<BorrowedFd<'_>>; 3] = [
            self.queue.as_ref().map(Queue::descriptor),
            Some(self.control.descriptor()),
            self.service.engine.poll_fd(),
        ];
        let mut polled: [PollFd<'_>; 3] = std::array::from_fn(|place| {
            let descriptor = descriptors[place].unwrap_or(self.control.descriptor());
            PollFd::from_borrowed_fd(descriptor, PollFlags::IN)
        });
        let limit = Timespec {
            tv_sec: (limit_ns / 1_000_000_000) as i64,
            tv_nsec: (limit_ns % 1_000_000_000) as _,
        };
        match poll(&mut polled, Some(&limit)) {
            Ok(heard) => Ok(heard),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    fn ask_engine(&mut self, until: Instant) {
        self.service.engine.wait(until, &mut self.done);
        for completion in self.done.drain(..) {
            if let Some(answer) = self.service.complete(completion) {
                let queue = self.queue.as_mut().expect("it asked");
                queue.answer(answer.tag, answer.result, answer.buffer);
            }
        }
    }

    /// Whether a wait brings something forward at once: what was submitted and not handed over yet,
    /// or answers that are there.
    fn has_news(&self) -> bool {
        let engine = &self.service.engine;
        engine.next_wakeup().since(engine.now()) <= AT_ONCE_NS
    }
}

/// Has the kernel forget the killed server of disk `id`, which takes it a moment.
fn start_recovery(control: &mut Control, id: u32) -> Result<(), Refusal> {
    let mut left = HANDOVER.as_millis() / GLANCE.as_millis();
    loop {
        match control.start_recovery(id) {
            Ok(()) => return Ok(()),
            Err(error) if is(&error, Errno::BUSY) && left > 0 => {
                left -= 1;
                thread::sleep(GLANCE);
            }
            Err(error) if is(&error, Errno::BUSY) => {
                return Err(Refusal::StillServed { id, server: None });
            }
            Err(source) if is(&source, Errno::INVAL) => {
                return Err(Refusal::Stuck { id, source });
            }
            Err(source) => return Err(Refusal::of_command(Some(id), "take it over", source)),
        }
    }
}

fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number.raw_os_error())
}
