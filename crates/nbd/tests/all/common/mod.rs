//! A server on a thread, with an engine in memory below and a client above.

pub mod client;

use block::Engine;
use nbd::{Address, Listener, Options, ServeError, Server, protocol::Export};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use testkit::memory::{FaultyMemory, Pace, View};

/// A server that runs until it is stopped or dropped.
pub struct Running {
    pub path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    _directory: TempDir,
}

impl Running {
    /// Serves `export` of an engine.
    pub fn start(engine: impl Engine + Send + 'static, export: Export, options: Options) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("nbd.sock");
        let listener = Listener::bind(&Address::Unix(path.clone())).expect("a free path");
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut server = Server::new(engine, export, listener, options);
            let outcome = server.run(&flag, |_, _| {});
            drop(server.into_engine());
            outcome
        });
        Self { path, stop, thread: Some(thread), _directory: directory }
    }

    /// Serves all of a memory engine.
    pub fn of_memory(geometry: block::Geometry, pace: Pace) -> (Self, View) {
        let (engine, view) = FaultyMemory::new(geometry, pace);
        (Self::start(engine, Export::of(&geometry), quick()), view)
    }

    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops it and says how it ended.
    pub fn stop(mut self) -> Result<(), ServeError> {
        self.request_stop();
        self.thread.take().expect("it runs").join().expect("a server does not panic")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.request_stop();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            assert!(outcome.is_ok() || thread::panicking(), "a server does not panic");
        }
    }
}

/// Options that do not keep a test waiting.
pub fn quick() -> Options {
    Options {
        handshake_limit: Duration::from_secs(30),
        shutdown_limit: Duration::from_millis(500),
        ..Options::default()
    }
}

/// Waits until `state` comes about.
pub fn eventually(what: &str, mut state: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !state() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
