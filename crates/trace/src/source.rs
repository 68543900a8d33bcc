//! What a trace is read from, and the error where the system cannot read on.

use crate::error::{Kind, Place, TraceError};
use std::io::{self, BufReader, Read};

/// What a trace is read from; its head, which was looked at, comes again.
pub(crate) type Source = BufReader<Box<dyn Read + Send>>;

/// The system could not read the trace.
pub(crate) fn unreadable(place: Place, error: &io::Error) -> TraceError {
    let message = format!("the trace could not be read on: {error}");
    TraceError { kind: Kind::Io, place, part: 0, message }
}
