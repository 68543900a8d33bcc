//! An engine that remembers everything that ever completed, in one number.

use block::{Completion, Engine, IoError, Wrapper};

/// Hashes each completion on its way up: tag, both instants, result. Two runs with the same hash
/// did the same things at the same times; payloads are not looked at.
#[derive(Debug)]
pub struct Witness<E> {
    /// What is watched.
    pub engine: E,
    hash: u64,
    count: u64,
}

impl<E: Engine> Witness<E> {
    /// Watches `engine` from now on.
    pub fn new(engine: E) -> Self {
        Self { engine, hash: 0x6472_6976_656c_6162, count: 0 }
    }

    /// The hash of all completions so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    fn take_in(&mut self, word: u64) {
        // Multiply and fold (as in wyhash): every bit of every word reaches every bit of the sum.
        let product = u128::from(self.hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.hash = (product as u64) ^ (product >> 64) as u64;
    }
}

fn result_word(result: Result<(), IoError>) -> u64 {
    match result {
        Ok(()) => 0,
        Err(IoError::Medium) => 1,
        Err(IoError::Offline) => 2,
        Err(IoError::Short) => 3,
        Err(IoError::Altered) => 5,
        Err(IoError::Os(errno)) => 4 | u64::from(errno.unsigned_abs()) << 8,
    }
}

impl<E: Engine> Wrapper for Witness<E> {
    type Inner = E;

    #[inline]
    fn inner(&self) -> &E {
        &self.engine
    }

    #[inline]
    fn inner_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    #[inline]
    fn on_done(&mut self, done: &mut [Completion]) {
        for completion in &*done {
            self.take_in(completion.tag.0);
            self.take_in(completion.issued.0);
            self.take_in(completion.finished.0 ^ result_word(completion.result) << 56);
        }
        self.count += done.len() as u64;
    }
}
