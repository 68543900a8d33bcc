//! An engine whose changes are written down.

use super::{Operation, WriteLogError, Writer};
use block::{Command, Completion, Durability, Payload, Request, Wrapper};
use std::collections::BTreeMap;

/// An engine, and the log of what it was asked for.
pub struct Recorded<E> {
    /// The engine.
    pub inner: E,
    log: Option<Log>,
    end: Option<RecordingEnd>,
}

/// Why a recording ended before what it records.
#[derive(Debug, thiserror::Error)]
pub enum RecordingEnd {
    /// The log cannot be written.
    #[error("the log of writes is given up and empty: {0}")]
    Log(#[from] WriteLogError),
    /// What a request leaves that has failed is not known.
    #[error(
        "the log of writes is given up and empty: a request failed, and what it left is unknown"
    )]
    Request,
}

struct Log {
    writer: Writer,
    /// What is under way, by tag.
    pending: BTreeMap<u64, Operation>,
}

impl<E> Recorded<E> {
    /// Around an engine; without a log nothing is written.
    pub fn new(inner: E, writer: Option<Writer>) -> Self {
        Self {
            inner,
            log: writer.map(|writer| Log { writer, pending: BTreeMap::new() }),
            end: None,
        }
    }

    /// Why nothing is recorded any more, if so.
    pub fn recording_end(&self) -> Option<&RecordingEnd> {
        self.end.as_ref()
    }

    /// What cannot be kept is not kept by half.
    fn with_log(&mut self, step: impl FnOnce(&mut Log) -> Result<(), RecordingEnd>) {
        let Some(log) = &mut self.log else { return };
        if let Err(end) = step(log) {
            self.log.take().expect("it was there").writer.give_up();
            self.end = Some(end);
        }
    }
}

impl Log {
    /// Writes are kept when they are answered, a flush when it is sent.
    fn on_submit(&mut self, request: &Request) -> Result<(), RecordingEnd> {
        let operation = match request.command {
            Command::Read { .. } => return Ok(()),
            Command::Write { at, durability, .. } => Operation::Write {
                offset: at.offset,
                bytes: u64::from(at.bytes),
                is_fua: durability == Durability::Fua,
            },
            Command::Discard { offset, len } => Operation::Discard { offset, bytes: len },
            Command::Flush => Operation::Flush,
        };
        let twice = self.pending.insert(request.tag.0, operation);
        assert!(twice.is_none(), "two requests of one tag are under way");
        if operation == Operation::Flush {
            self.writer.operation(operation, &[])?;
        }
        Ok(())
    }

    fn on_done(&mut self, completion: &Completion) -> Result<(), RecordingEnd> {
        let Some(operation) = self.pending.remove(&completion.tag.0) else { return Ok(()) };
        // What a request leaves that has failed is not known.
        completion.result.map_err(|_| RecordingEnd::Request)?;
        match (operation, &completion.payload) {
            (Operation::Flush, _) => Ok(()),
            (Operation::Write { bytes, .. }, Payload::Bytes(buffer)) => {
                let bytes = &buffer.bytes()[..bytes as usize];
                Ok(self.writer.operation(operation, bytes)?)
            }
            (Operation::Write { .. }, _) => panic!("a write comes back without its bytes"),
            (Operation::Discard { .. }, _) => Ok(self.writer.operation(operation, &[])?),
        }
    }
}

impl<E: block::Engine> Wrapper for Recorded<E> {
    type Inner = E;

    fn inner(&self) -> &E {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    fn on_submit(&mut self, request: &Request) {
        self.with_log(|log| log.on_submit(request));
    }

    fn on_done(&mut self, done: &mut [Completion]) {
        for completion in done {
            self.with_log(|log| log.on_done(completion));
        }
    }
}
