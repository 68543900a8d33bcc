//! Lines of a text, one at a time, none longer than a bound.

use crate::{
    error::{Kind, Place, TraceError},
    source::{Source, unreadable},
};
use std::io::{BufRead, Read};

/// Longest line of a trace, bytes.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// A reader's lines.
pub(crate) struct Lines {
    reader: Source,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub fn new(reader: Source) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// Which line was read last, from 1.
    pub fn place(&self) -> Place {
        Place::Line(self.number)
    }

    /// The next line without its end and blanks around it; `None` when there is none. Empty lines
    /// come, too.
    pub fn next(&mut self) -> Result<Option<&str>, TraceError> {
        self.line.clear();
        self.number += 1;
        let mut bounded = self.reader.by_ref().take(LINE_BYTES_MAX);
        let read = bounded.read_until(b'\n', &mut self.line);
        let place = Place::Line(self.number);
        let read = read.map_err(|error| unreadable(place, &error))?;
        if read == 0 {
            self.number -= 1;
            return Ok(None);
        }
        let error = |kind, message: String| TraceError { kind, place, part: 0, message };
        if read as u64 == LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
            let message = format!("the line is longer than {LINE_BYTES_MAX} bytes: take it out");
            return Err(error(Kind::TooMuch, message));
        }
        let text = std::str::from_utf8(&self.line).map_err(|bad| {
            let at = bad.valid_up_to() + 1;
            let message = format!("byte {at} of the line is no text: mend the line or take it out");
            error(Kind::Field, message)
        })?;
        Ok(Some(text.trim_start_matches('\u{feff}').trim()))
    }
}
