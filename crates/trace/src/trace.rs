//! A trace: readers in, accesses in the order of time out.

use crate::{
    access::Access,
    error::{Bad, Kind, Place, TraceError},
    format::{Decoder, Format, Found, HEAD_BYTES, recognise},
    order::Window,
    source::unreadable,
    volumes::Volumes,
};
use std::{
    collections::VecDeque,
    io::{BufReader, Cursor, Read},
};

/// Most accesses of one second that are spread over it.
const SPREAD_MAX: usize = 1 << 20;
/// A second, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// What was noted while a trace was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// Accesses that stood after a later one and were put in order.
    pub reordered: u64,
    /// By how much at most they were late, ns.
    pub reordered_ns_max: u64,
    /// Lines or events that are no accesses of the drive: completions, messages, files opened.
    pub other: u64,
    /// Reads and writes of no byte, which are left out.
    pub empty: u64,
    /// Requests without an operation, as SYSTOR '17 has where no reply was seen; left out.
    pub unanswered: u64,
    /// Accesses whose time is known to the second alone, spread evenly over it.
    pub spread: u64,
    /// Times were taken as milliseconds since the start, as fio itself does in version 2.
    pub waits: u64,
}

/// Opens a trace, whatever its format.
///
/// # Errors
/// What is none of the formats, or a version that cannot be read.
pub fn open(reader: impl Read + Send + 'static) -> Result<Trace, TraceError> {
    open_together(vec![Box::new(reader)])
}

/// Opens the parts of one trace, such as the file a processor that blktrace writes, and merges them
/// by time.
///
/// # Errors
/// Likewise; or parts of several formats.
pub fn open_together(parts: Vec<Box<dyn Read + Send>>) -> Result<Trace, TraceError> {
    let mut trace: Option<Trace> = None;
    for (number, mut reader) in parts.into_iter().enumerate() {
        let in_part = |error: TraceError| error.in_part(number);
        let mut head = Vec::new();
        let bounded = reader.by_ref().take(HEAD_BYTES);
        let read = { bounded }.read_to_end(&mut head);
        read.map_err(|error| in_part(unreadable(Place::Byte(0), &error)))?;
        // blktrace leaves the files of idle processors empty.
        if head.is_empty() && trace.is_some() {
            continue;
        }
        let format = match (&trace, head.is_empty()) {
            (None, true) => Format::Empty,
            _ => recognise(&head).map_err(in_part)?,
        };
        let source: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(reader));
        let part = Part { number, decoder: format.decoder(BufReader::new(source)), ahead: None };
        match &mut trace {
            Some(trace) if trace.format == Format::Empty => {
                (trace.format, trace.parts) = (format, vec![part]);
            }
            Some(trace) if trace.format != format => {
                let message = format!(
                    "it is {}, and the parts before it are {}: name one trace",
                    format.name(),
                    trace.format.name()
                );
                return Err(in_part(TraceError::whole(Kind::Unknown, message)));
            }
            Some(trace) => trace.parts.push(part),
            None => trace = Some(Trace::new(format, part)),
        }
    }
    match trace {
        Some(trace) if trace.format != Format::Empty => Ok(trace),
        _ => Err(TraceError::whole(Kind::Unknown, "it is empty: there is no trace in it")),
    }
}

/// One of the readers, and the access that it has ready.
struct Part {
    /// Which of the readers: empty ones are left out.
    number: usize,
    decoder: Box<dyn Decoder>,
    ahead: Option<(Access, Place)>,
}

/// A trace that is being read.
pub struct Trace {
    format: Format,
    parts: Vec<Part>,
    is_begun: bool,
    /// Where the access came from that is looked at: a place in the reader of this number.
    at: (usize, Place),
    volumes: Volumes,
    chosen: Option<String>,
    /// Accesses of one second, to be spread over it.
    second: Vec<Access>,
    window: Window,
    spread: VecDeque<Access>,
    ended: bool,
    remarks: Remarks,
}

impl Trace {
    fn new(format: Format, part: Part) -> Self {
        Self {
            format,
            parts: vec![part],
            is_begun: false,
            at: (0, Place::Whole),
            volumes: Volumes::default(),
            chosen: None,
            second: Vec::new(),
            window: Window::default(),
            spread: VecDeque::new(),
            ended: false,
            remarks: Remarks::default(),
        }
    }

    /// Gives the accesses of this volume alone.
    pub fn choose(&mut self, volume: &str) {
        self.chosen = Some(volume.to_owned());
    }

    /// What it was recognised as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Volumes met so far, those that were not chosen among them.
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// What was noted so far.
    pub fn remarks(&self) -> Remarks {
        let (reordered, reordered_ns_max) = (self.window.late, self.window.late_ns_max);
        Remarks { reordered, reordered_ns_max, ..self.remarks }
    }

    /// The next access, in the order of time; `None` at the end.
    ///
    /// # Errors
    /// A line or an event that cannot be read, or a time that goes back.
    pub fn next_access(&mut self) -> Result<Option<Access>, TraceError> {
        loop {
            if let Some(access) = self.window.pop(self.ended) {
                return Ok(Some(access));
            }
            if self.ended {
                return Ok(None);
            }
            match self.take()? {
                Some(access) if self.format.counts_seconds() => self.gather(access)?,
                Some(access) => self.sort(access)?,
                None => {
                    self.spread_second()?;
                    self.ended = true;
                }
            }
        }
    }

    fn sort(&mut self, access: Access) -> Result<(), TraceError> {
        let (part, place) = self.at;
        self.window.push(access).map_err(|bad| TraceError::at(place, bad).in_part(part))
    }

    /// The next access of the chosen volume as the files have it, the earliest of their heads.
    fn take(&mut self) -> Result<Option<Access>, TraceError> {
        if self.parts.len() == 1 {
            let next = self.read(0)?;
            self.at = (self.parts[0].number, next.map_or(Place::Whole, |(_, place)| place));
            return Ok(next.map(|(access, _)| access));
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            for at in 0..self.parts.len() {
                self.parts[at].ahead = self.read(at)?;
            }
        }
        let heads = self.parts.iter().enumerate();
        let heads = heads.filter_map(|(at, part)| Some((part.ahead?.0.at_ns, at)));
        let Some((_, at)) = heads.min() else { return Ok(None) };
        let next = self.read(at)?;
        let earliest = std::mem::replace(&mut self.parts[at].ahead, next);
        Ok(earliest.map(|(access, place)| {
            self.at = (self.parts[at].number, place);
            access
        }))
    }

    /// The next access of the chosen volume of one part, and where it stands.
    fn read(&mut self, at: usize) -> Result<Option<(Access, Place)>, TraceError> {
        loop {
            let Part { decoder, number, .. } = &mut self.parts[at];
            let found = decoder.next(&mut self.volumes);
            let access = match found.map_err(|error| error.in_part(*number))? {
                Found::Access(access) => access,
                Found::Other => {
                    self.remarks.other += 1;
                    continue;
                }
                Found::Unanswered => {
                    self.remarks.unanswered += 1;
                    continue;
                }
                Found::Wait => {
                    self.remarks.waits += 1;
                    continue;
                }
                Found::End => return Ok(None),
            };
            self.volumes.count(access.volume);
            let name = self.volumes.name(access.volume);
            if self.chosen.as_ref().is_some_and(|chosen| chosen != name) {
                continue;
            }
            if access.bytes == 0 && access.op != crate::Op::Flush {
                self.remarks.empty += 1;
                continue;
            }
            return Ok(Some((access, self.parts[at].decoder.place())));
        }
    }

    /// Takes an access of which the second alone is known.
    fn gather(&mut self, access: Access) -> Result<(), TraceError> {
        if self.second.first().is_some_and(|first| first.at_ns != access.at_ns) {
            self.spread_second()?;
        }
        if self.second.len() == SPREAD_MAX {
            let message = format!(
                "more than {SPREAD_MAX} accesses stand in one second, and are to be spread over \
                 it: choose a volume"
            );
            let (part, place) = self.at;
            let bad = Bad { kind: Kind::TooMuch, message };
            return Err(TraceError::at(place, bad).in_part(part));
        }
        self.second.push(access);
        Ok(())
    }

    /// Spreads what stands in one second evenly over it.
    fn spread_second(&mut self) -> Result<(), TraceError> {
        let count = self.second.len() as u64;
        self.remarks.spread += count;
        self.spread.extend(self.second.drain(..));
        for number in 0..count {
            let mut access = self.spread.pop_front().expect("as many as were counted");
            let within = (u128::from(number) * u128::from(SECOND_NS) / u128::from(count)) as u64;
            access.at_ns = access.at_ns.saturating_add(within);
            self.sort(access)?;
        }
        Ok(())
    }
}

impl Iterator for Trace {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_access().transpose()
    }
}
