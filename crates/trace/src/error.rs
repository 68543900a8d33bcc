//! Why a trace cannot be read: what is wrong, where, and the cure.

use std::fmt;

/// A trace that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}{message}")]
pub struct TraceError {
    /// What kind of trouble.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// In which of the readers that it was opened from, from 0.
    pub part: usize,
    /// One sentence; its end names the cure.
    pub message: String,
}

/// What kind of trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It is none of the formats.
    Unknown,
    /// It is compressed.
    Compressed,
    /// The format is known, this version of it is not.
    Version,
    /// A field holds what it cannot hold.
    Field,
    /// Time goes back further than is put in order.
    Backwards,
    /// It ends in the middle.
    Cut,
    /// More than is kept: a line, or a number of volumes.
    TooMuch,
    /// The system could not read it.
    Io,
}

/// Where in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In all of it.
    Whole,
    /// This line, from 1.
    Line(u64),
    /// This byte, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(formatter, "line {line}: "),
            Self::Byte(byte) => write!(formatter, "byte {byte}: "),
        }
    }
}

impl TraceError {
    /// Of the whole trace.
    pub(crate) fn whole(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, place: Place::Whole, part: 0, message: message.into() }
    }

    /// The same in another of the readers.
    pub(crate) fn in_part(self, part: usize) -> Self {
        Self { part, ..self }
    }

    /// At a place.
    pub(crate) fn at(place: Place, bad: Bad) -> Self {
        Self { kind: bad.kind, place, part: 0, message: bad.message }
    }
}

/// What is wrong with a line or an event, before its place is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bad {
    pub kind: Kind,
    pub message: String,
}

impl Bad {
    /// A field that holds what it cannot hold.
    pub fn field(name: &str, text: &str, wanted: &str) -> Self {
        let shown: String = text.chars().take(40).collect();
        let shown = shown.escape_debug();
        let message = format!(
            "field `{name}` is `{shown}`, and it is {wanted}: mend the line or take it out"
        );
        Self { kind: Kind::Field, message }
    }

    /// An event's field.
    pub fn event(name: &str, value: u64, wanted: &str) -> Self {
        let message =
            format!("field `{name}` is {value}, and it is {wanted}: the trace is damaged here");
        Self { kind: Kind::Field, message }
    }

    /// A line with too few fields.
    pub fn few(line: &str, wanted: &str) -> Self {
        let shown: String = line.chars().take(60).collect();
        let shown = shown.escape_debug();
        let message = format!("`{shown}` is not `{wanted}`: mend the line or take it out");
        Self { kind: Kind::Field, message }
    }
}
