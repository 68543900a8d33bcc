//! Whether requests may change anything.

use crate::down::Reach;
use block::IoError;

/// What an open volume still does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Everything.
    Open,
    /// Recovery found what it could not make sense of, or it was opened so. The drive is only read.
    ReadOnly,
    /// No more writes are taken, and a last checkpoint says that it was stopped cleanly.
    Stopping,
    /// That checkpoint is durable.
    Stopped,
    /// A flush, or what cannot be done again, failed: nothing more is acknowledged.
    Latched(IoError),
}

/// The state, and whether recovery has ended. Open -> Stopping -> Stopped; every one of them may be
/// latched, and nothing leads back.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    state: State,
    /// The checkpoint that ends recovery is not done.
    recovering: bool,
}

impl Mode {
    pub fn new(state: State, needs_checkpoint: bool) -> Self {
        assert!(matches!(state, State::Open | State::ReadOnly), "opened, and {state:?}");
        Self { state, recovering: needs_checkpoint && state == State::Open }
    }

    /// What may be asked of the drive.
    pub fn reach(&self) -> Reach {
        if self.is_read_only() { Reach::Read } else { Reach::Change }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub fn is_read_only(&self) -> bool {
        self.state == State::ReadOnly
    }

    /// Whether it is to be stopped, or is.
    pub fn is_shut_down(&self) -> bool {
        matches!(self.state, State::Stopping | State::Stopped)
    }

    pub fn is_stopped(&self) -> bool {
        self.state == State::Stopped
    }

    /// Why nothing is acknowledged any more.
    pub fn latched(&self) -> Option<IoError> {
        match self.state {
            State::Latched(error) => Some(error),
            _ => None,
        }
    }

    /// Whether what recovery found still waits for the checkpoint that ends it.
    pub fn is_recovering(&self) -> bool {
        self.recovering && matches!(self.state, State::Open | State::Stopping)
    }

    /// Whether requests wait for that.
    pub fn is_settling(&self) -> bool {
        self.recovering && self.is_open()
    }

    /// Why nothing may be changed.
    pub fn refusal(&self) -> Option<IoError> {
        match self.state {
            State::Open => None,
            State::ReadOnly => Some(IoError::Os(30)), // EROFS
            State::Stopping | State::Stopped => Some(IoError::Os(108)), // ESHUTDOWN
            State::Latched(error) => Some(error),
        }
    }

    /// Writes are refused from now on.
    pub fn shut_down(&mut self) {
        if self.is_open() {
            self.state = State::Stopping;
        }
    }

    /// The checkpoint that ends recovery is durable.
    pub fn recovered(&mut self) {
        self.recovering = false;
    }

    /// The last checkpoint is durable.
    pub fn stopped(&mut self) {
        assert_eq!(self.state, State::Stopping, "only what was told to stop has stopped");
        self.state = State::Stopped;
    }

    /// Nothing more is acknowledged: what waits, and all writes, trims and flushes to come, fail.
    pub fn latch(&mut self, error: IoError) {
        if self.latched().is_none() {
            self.state = State::Latched(error);
        }
    }
}
