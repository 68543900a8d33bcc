//! Engines around other engines.

use crate::{Allocation, Buf, Completion, Drive, Engine, Geometry, Instant, IoError, Request};
use std::os::fd::BorrowedFd;

/// What is an [`Engine`] because it holds one. Everything that an engine can do is asked of the one
/// inside, so that a wrapper loses nothing on the way; it may look at what goes down and what comes
/// back.
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

    /// Buffers for requests, as [`Engine::pool`]: those of the engine inside, unless they never
    /// reach it.
    fn memory(&mut self, count: usize, bytes: usize) -> Vec<Buf> {
        self.inner_mut().pool(count, bytes)
    }
}

impl<W: Wrapper> Engine for W {
    #[inline]
    fn geometry(&self, drive: Drive) -> Geometry {
        self.inner().geometry(drive)
    }

    #[inline]
    fn now(&self) -> Instant {
        self.inner().now()
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
        self.inner_mut().wait(until, done);
        self.on_done(&mut done[before..]);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        self.inner().next_wakeup()
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

    fn pool(&mut self, count: usize, bytes: usize) -> Vec<Buf> {
        self.memory(count, bytes)
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
}
