//! The power of modelled drives in the hand of a test harness: a line asks, a line answers.
//!
//! ```text
//!   a thread of its own   line -> Ask -> wakes the server, waits -> line of JSON
//!   the server's thread   after each turn: a status, if one is wanted; a cut, if one is wanted
//! ```
//!
//! docs/reference/power-cut.md has the lines.

use crate::{
    error::{InWords, StartError},
    metrics::{GLANCE, is_readable, next},
};
use nbd::{Address, Listener};
use rustix::{
    event::{EventfdFlags, eventfd},
    io::{Errno, ioctl_fionbio, read, write},
};
use serde_json::json;
use std::{
    ffi::OsStr,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Longest line, in bytes: no question is longer than a word.
const LINE_BYTES_MAX: usize = 256;

/// What a line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    /// How many sectors a power cut could take now.
    Status,
    /// The power is to be cut.
    Cut,
    /// It is to be cut in the middle of a flush.
    CutInFlush,
}

#[derive(Debug, Default)]
struct Slot {
    ask: Option<Ask>,
    answer: Option<String>,
}

#[derive(Debug)]
struct Shared {
    slot: Mutex<Slot>,
    answered: Condvar,
    /// Something is asked for, so that the server need not take the lock in every turn.
    is_asked: AtomicBool,
    stop: AtomicBool,
    /// Ends the server's sleep.
    waker: OwnedFd,
}

/// Where the power is asked for. Dropping it ends that.
#[derive(Debug)]
pub struct Control {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    cuts: u64,
}

impl Control {
    /// Listens at `word`, `unix:PATH`, and answers from then on.
    ///
    /// # Errors
    /// A sentence with the cure: no such address, taken, no thread.
    pub fn start(word: &OsStr) -> Result<Self, StartError> {
        let address = Address::of_word(word)?;
        let Address::Unix(path) = &address else { return Err(StartError::NotLocal) };
        host::missing::refuse_in_kernels_place(path)?;
        let listener = Listener::bind(&address)?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let waker = eventfd(0, flags).map_err(io::Error::from);
        let shared = Arc::new(Shared {
            slot: Mutex::default(),
            answered: Condvar::new(),
            is_asked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            waker: waker.in_words(|| "no descriptor for the control".to_owned())?,
        });
        let asked = Arc::clone(&shared);
        let listen = move || {
            while !asked.stop.load(Ordering::Relaxed) {
                if let Some(client) = next(&listener) {
                    // A client that goes away is its own affair.
                    let _ = asked.serve(&client);
                }
            }
        };
        let thread = thread::Builder::new().name("control".to_owned()).spawn(listen);
        let thread = Some(thread.in_words(|| "no thread for the control".to_owned())?);
        Ok(Self { shared, thread, cuts: 0 })
    }

    /// A descriptor that is readable when something is asked for.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(crate) fn waker(&self) -> Result<OwnedFd, StartError> {
        let copy = self.shared.waker.try_clone();
        copy.in_words(|| "no descriptor for the control".to_owned())
    }

    /// Whether the power is to be cut.
    pub(crate) fn wants_cut(&self) -> bool {
        self.asked() == Some(Ask::Cut)
    }

    /// Whether the power is to be cut in the middle of a flush.
    pub(crate) fn wants_cut_in_flush(&self) -> bool {
        self.asked() == Some(Ask::CutInFlush)
    }

    /// Answers a question after the server's turn.
    pub(crate) fn turn(&self, sectors_at_risk: impl FnOnce() -> u64, clients: u64) {
        if self.asked() == Some(Ask::Status) {
            let (sectors, cuts) = (sectors_at_risk(), self.cuts);
            let status = json!({ "sectors_at_risk": sectors, "clients": clients, "cuts": cuts });
            self.answer(format!("{status}\n"));
        }
    }

    /// The power was cut and is back, whoever asked for it; `line` says what it did.
    pub(crate) fn was_cut(&mut self, line: String) {
        self.cuts += 1;
        if self.wants_cut() || self.wants_cut_in_flush() {
            self.answer(line);
        }
    }

    fn asked(&self) -> Option<Ask> {
        match self.shared.is_asked.load(Ordering::Acquire) {
            true => self.shared.lock().ask,
            false => None,
        }
    }

    fn answer(&self, line: String) {
        let mut slot = self.shared.lock();
        slot.ask = None;
        slot.answer = Some(line);
        self.shared.is_asked.store(false, Ordering::Release);
        self.shared.answered.notify_all();
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.answered.notify_all();
        if let Some(thread) = self.thread.take() {
            // If it panicked it has said so; its listener is gone either way.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().expect("nobody panics with it")
    }

    /// Answers line by line until the client goes or the server ends.
    fn serve(&self, client: &OwnedFd) -> Result<(), Errno> {
        ioctl_fionbio(client, false)?;
        let (mut held, mut piece, mut is_long) = (Vec::new(), [0; LINE_BYTES_MAX], false);
        while !self.stop.load(Ordering::Relaxed) {
            if !is_readable(client) {
                continue;
            }
            let bytes = read(client, &mut piece)?;
            if bytes == 0 {
                return Ok(());
            }
            held.extend_from_slice(&piece[..bytes]);
            while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = held.drain(..=end).collect();
                let answer = match std::mem::take(&mut is_long) {
                    true => Some(refusal("the line is too long")),
                    false => self.answer_to(&line),
                };
                let Some(answer) = answer else { return Ok(()) };
                put(client, answer.as_bytes())?;
            }
            if held.len() > LINE_BYTES_MAX {
                is_long = true;
                held.clear();
            }
        }
        Ok(())
    }

    /// None where the server has ended.
    fn answer_to(&self, line: &[u8]) -> Option<String> {
        match line.trim_ascii() {
            b"status" => self.ask(Ask::Status),
            b"cut" => self.ask(Ask::Cut),
            b"cut-in-flush" => self.ask(Ask::CutInFlush),
            _ => Some(refusal("a line is `status`, `cut` or `cut-in-flush`")),
        }
    }

    fn ask(&self, ask: Ask) -> Option<String> {
        let mut slot = self.lock();
        *slot = Slot { ask: Some(ask), answer: None };
        self.is_asked.store(true, Ordering::Release);
        // Full it is readable all the more.
        let _ = write(&self.waker, &1_u64.to_ne_bytes());
        while slot.answer.is_none() && !self.stop.load(Ordering::Relaxed) {
            let waited = self.answered.wait_timeout(slot, GLANCE);
            slot = waited.expect("nobody panics with it").0;
        }
        slot.answer.take()
    }
}

/// A line for who asked for what there is not.
pub(crate) fn refusal(why: &str) -> String {
    format!("{}\n", json!({ "error": why }))
}

fn put(client: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = write(client, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}
