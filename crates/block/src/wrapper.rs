//! Engines around other engines.

use crate::{
    Allocation, Buf, Completion, Drive, Engine, Geometry, Instant, IoError, Pages, Request,
};
use std::os::fd::BorrowedFd;

/// What is an [`Engine`] because it holds one. Everything that an engine can do is asked of the one
/// inside, so that a wrapper loses nothing on the way; it may look at what goes down and what comes
/// back, and live in a time of its own.
pub trait Wrapper {
    /// What is wrapped.
    type Inner: Engine + ?Sized;

    /// The engine inside.
    fn inner(&self) -> &Self::Inner;

    /// The engine inside, to be asked.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// Sees a request before the engine inside gets it.
    #[inline]
    fn on_submit(&mut self, _: &Request) {}

    /// Sees what one wait brought before the caller gets it.
    #[inline]
    fn on_done(&mut self, _: &mut [Completion]) {}

    /// The engine inside's time at an instant of the caller's, not earlier; the same, unless they
    /// live in different times.
    #[inline]
    fn inner_time(&self, at: Instant) -> Instant {
        at
    }

    /// The caller's time at an instant of the engine inside.
    #[inline]
    fn outer_time(&self, at: Instant) -> Instant {
        at
    }

    /// As [`Engine::copy`]; of the wrapper, and not only of the engine inside.
    fn copied(&self) -> Option<Box<dyn Engine>> {
        None
    }

    /// Buffers for requests, as [`Engine::pool`]: those of the engine inside, unless they never
    /// reach it.
    fn memory(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        self.inner_mut().pool(count, bytes, pages)
    }
}

impl<W: Wrapper> Engine for W {
    #[inline]
    fn geometry(&self, drive: Drive) -> Geometry {
        self.inner().geometry(drive)
    }

    #[inline]
    fn now(&self) -> Instant {
        self.outer_time(self.inner().now())
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.on_submit(&request);
        self.inner_mut().submit(request);
    }

    #[inline]
    fn start(&mut self) {
        self.inner_mut().start();
    }

    #[inline]
    fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
        let before = done.len();
        let until = self.inner_time(until);
        self.inner_mut().wait(until, done);
        for completion in &mut done[before..] {
            completion.issued = self.outer_time(completion.issued);
            completion.finished = self.outer_time(completion.finished);
        }
        self.on_done(&mut done[before..]);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.outer_time(self.inner().next_wakeup())
    }

    #[inline]
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner().poll_fd()
    }

    fn allocation(&self, drive: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        self.inner().allocation(drive, offset, len)
    }

    fn hand_over(&mut self) -> Result<(), IoError> {
        self.inner_mut().hand_over()
    }

    fn copy(&self) -> Option<Box<dyn Engine>> {
        self.copied()
    }

    fn pool(&mut self, count: usize, bytes: usize, pages: Pages) -> Vec<Buf> {
        self.memory(count, bytes, pages)
    }
}

impl<E: Engine + ?Sized> Wrapper for Box<E> {
    type Inner = E;

    #[inline]
    fn inner(&self) -> &E {
        self
    }

    #[inline]
    fn inner_mut(&mut self) -> &mut E {
        self
    }

    fn copied(&self) -> Option<Box<dyn Engine>> {
        (**self).copy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Command, Data, Payload, Tag};
    use std::{
        cell::RefCell,
        io::{self, Stdin},
        os::fd::{AsFd, AsRawFd},
    };

    /// Answers everything with what no default of the trait answers, and notes what it was asked.
    struct Probe {
        asked: RefCell<Vec<&'static str>>,
        descriptor: Stdin,
    }

    const GEOMETRY: Geometry = Geometry {
        capacity_bytes: 7 << 20,
        block_bytes: 512,
        transfer_bytes_max: 64 << 10,
        queue_depth: 3,
        data: Data::Stored,
    };
    const HOLE: (Allocation, u64) = (Allocation::Hole, 5);

    impl Probe {
        fn note(&self, method: &'static str) {
            self.asked.borrow_mut().push(method);
        }
    }

    impl Engine for Probe {
        fn geometry(&self, _: Drive) -> Geometry {
            self.note("geometry");
            GEOMETRY
        }

        fn now(&self) -> Instant {
            self.note("now");
            Instant(11)
        }

        fn submit(&mut self, request: Request) {
            self.note("submit");
            assert_eq!(request.tag, Tag(9));
        }

        fn start(&mut self) {
            self.note("start");
        }

        fn wait(&mut self, until: Instant, done: &mut Vec<Completion>) {
            self.note("wait");
            let (issued, finished, result) = (Instant(1), until, Err(IoError::Medium));
            done.push(Completion { tag: Tag(9), issued, finished, result, payload: Payload::None });
        }

        fn next_wakeup(&self) -> Instant {
            self.note("next_wakeup");
            Instant(12)
        }

        fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
            self.note("poll_fd");
            Some(self.descriptor.as_fd())
        }

        fn allocation(&self, _: Drive, _: u64, _: u64) -> (Allocation, u64) {
            self.note("allocation");
            HOLE
        }

        fn hand_over(&mut self) -> Result<(), IoError> {
            self.note("hand_over");
            Err(IoError::Offline)
        }

        fn copy(&self) -> Option<Box<dyn Engine>> {
            self.note("copy");
            None
        }

        fn pool(&mut self, count: usize, _: usize, pages: Pages) -> Vec<Buf> {
            self.note("pool");
            Buf::pool(count + 1, 1, pages).1
        }
    }

    /// A wrapper that adds nothing. Only such a one may give a copy of what is inside for its own.
    struct Plain(Probe);

    impl Wrapper for Plain {
        type Inner = Probe;

        fn inner(&self) -> &Probe {
            &self.0
        }

        fn inner_mut(&mut self) -> &mut Probe {
            &mut self.0
        }

        fn copied(&self) -> Option<Box<dyn Engine>> {
            self.0.copy()
        }
    }

    /// The methods of the trait `Engine`, as its source has them.
    fn methods() -> Vec<&'static str> {
        let source = include_str!("engine.rs");
        let (_, body) = source.split_once("pub trait Engine {").expect("the trait");
        let lines = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        lines.map(|line| line.split('(').next().expect("a name")).collect()
    }

    /// Engines around others passed on five methods by hand and had the trait's defaults for the
    /// rest: a modelled volume that was served told of no holes. And a method that is added to the
    /// trait with a default body compiles everywhere and is passed on nowhere.
    #[test]
    fn a_wrapper_passes_on_every_method_that_an_engine_has() {
        // Wrapped twice: in `Plain` and in the box.
        let mut engine =
            Box::new(Plain(Probe { asked: RefCell::default(), descriptor: io::stdin() }));
        assert_eq!(engine.geometry(Drive(0)), GEOMETRY);
        assert_eq!(engine.now(), Instant(11));
        let command = Command::Flush;
        engine.submit(Request { tag: Tag(9), actor: Actor(0), drive: Drive(0), command });
        engine.start();
        let mut done = Vec::new();
        engine.wait(Instant(40), &mut done);
        assert_eq!((done.len(), done[0].finished), (1, Instant(40)));
        assert_eq!(done[0].result, Err(IoError::Medium));
        assert_eq!(engine.next_wakeup(), Instant(12));
        assert_eq!(engine.poll_fd().map(|it| it.as_raw_fd()), Some(io::stdin().as_raw_fd()));
        assert_eq!(engine.allocation(Drive(0), 0, 4096), HOLE);
        assert_eq!(engine.hand_over(), Err(IoError::Offline));
        assert!(engine.copy().is_none());
        assert_eq!(engine.pool(2, 4096, Pages::Huge).len(), 3);
        assert_eq!(engine.0.asked.take(), methods());
    }
}
