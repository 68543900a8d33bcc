//! The formats: recognised by what is in the file, never by its name.

mod blkparse;
mod blktrace;
mod fields;
mod iolog;
mod tables;
mod vscsi;

use crate::{
    access::Access,
    error::{Bad, Kind, Place, TraceError},
    lines::Lines,
    source::Source,
    volumes::Volumes,
};

/// So much of a trace is looked at to recognise it.
pub(crate) const HEAD_BYTES: u64 = 1 << 16;

/// What a trace was written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Nothing at all.
    Empty,
    /// fio's iolog, version 2.
    Iolog2,
    /// fio's iolog, version 3.
    Iolog3,
    /// The kernel's binary events, version 7, in either byte order.
    Blktrace {
        /// Whether the high byte comes first.
        big_endian: bool,
    },
    /// The text that blkparse prints of them.
    Blkparse,
    /// MSR Cambridge (SNIA 387).
    Msr,
    /// SYSTOR '17 (SNIA 4964).
    Systor,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent CBS (SNIA 28064).
    Tencent,
    /// FIU (SNIA 411).
    Fiu,
    /// SPC, as of the UMass repository.
    Spc,
    /// VMware's vscsi, version 1 or 2.
    Vscsi {
        /// Which.
        version: u8,
    },
}

impl Format {
    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Iolog2 => "fio iolog version 2",
            Self::Iolog3 => "fio iolog version 3",
            Self::Blktrace { big_endian: false } => "blktrace",
            Self::Blktrace { big_endian: true } => "blktrace, big-endian",
            Self::Blkparse => "blkparse text",
            Self::Msr => "MSR Cambridge",
            Self::Systor => "SYSTOR '17",
            Self::Alibaba => "Alibaba block traces",
            Self::Tencent => "Tencent CBS",
            Self::Fiu => "FIU",
            Self::Spc => "SPC",
            Self::Vscsi { version: 1 } => "vscsi version 1",
            Self::Vscsi { .. } => "vscsi version 2",
        }
    }

    /// Whether its times are whole seconds.
    pub(crate) fn counts_seconds(self) -> bool {
        self == Self::Tencent
    }

    pub(crate) fn decoder(self, source: Source) -> Box<dyn Decoder> {
        let parse: Box<dyn Parse> = match self {
            Self::Blktrace { big_endian } => {
                return Box::new(blktrace::Events::new(source, big_endian));
            }
            Self::Vscsi { version } => return Box::new(vscsi::Records::new(source, version)),
            Self::Iolog2 => Box::new(iolog::Version2::default()),
            Self::Iolog3 => Box::new(iolog::Version3),
            Self::Blkparse => Box::new(blkparse::Blkparse::default()),
            Self::Msr => Box::new(tables::Msr::default()),
            Self::Systor => Box::new(tables::Systor),
            Self::Alibaba => Box::new(tables::Alibaba),
            Self::Tencent => Box::new(tables::Tencent),
            Self::Fiu => Box::new(tables::Fiu::default()),
            Self::Spc | Self::Empty => Box::new(tables::Spc),
        };
        Box::new(Text { lines: Lines::new(source), parse, begun: false })
    }
}

/// What a line or an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Access(Access),
    /// Nothing that a drive was asked.
    Other,
    /// A request of which the operation is not known.
    Unanswered,
    /// A time to wait until.
    Wait,
    /// The trace ends here.
    End,
}

/// One trace's accesses as its file has them.
pub(crate) trait Decoder: Send {
    /// The next thing in the file.
    fn next(&mut self, volumes: &mut Volumes) -> Result<Found, TraceError>;
    /// Where it stood.
    fn place(&self) -> Place;
}

/// A format of lines.
pub(crate) trait Parse: Send {
    /// What a line says; it is not empty.
    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad>;
    /// What the line before said besides.
    fn second(&mut self) -> Option<Access> {
        None
    }
    /// Whether the first line is a heading.
    fn is_heading(&self, line: &str) -> bool {
        let _ = line;
        false
    }
}

struct Text {
    lines: Lines,
    parse: Box<dyn Parse>,
    begun: bool,
}

impl Decoder for Text {
    fn next(&mut self, volumes: &mut Volumes) -> Result<Found, TraceError> {
        if let Some(access) = self.parse.second() {
            return Ok(Found::Access(access));
        }
        loop {
            let Some(line) = self.lines.next()? else { return Ok(Found::End) };
            if line.is_empty() {
                continue;
            }
            let is_first = !std::mem::replace(&mut self.begun, true);
            if is_first && self.parse.is_heading(line) {
                continue;
            }
            let found = self.parse.line(line, volumes);
            return found.map_err(|bad| TraceError::at(self.lines.place(), bad));
        }
    }

    fn place(&self) -> Place {
        self.lines.place()
    }
}

/// What the beginning of a file is the beginning of.
pub(crate) fn recognise(head: &[u8]) -> Result<Format, TraceError> {
    let compressed: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "zcat"),
        (b"\x28\xb5\x2f\xfd", "zstdcat"),
        (b"\xfd7zXZ\0", "xzcat"),
        (b"BZh", "bzcat"),
        (b"PK\x03\x04", "unzip -p"),
    ];
    if let Some((_, program)) = compressed.iter().find(|(magic, _)| head.starts_with(magic)) {
        let message =
            format!("it is compressed: unpack it, or pipe it in, `{program} FILE | ... -`");
        return Err(TraceError::whole(Kind::Compressed, message));
    }
    if let Some(format) = blktrace::recognise(head)? {
        return Ok(format);
    }
    if let Some(version) = vscsi::recognise(head) {
        return Ok(Format::Vscsi { version });
    }
    let text = String::from_utf8_lossy(head);
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let lines: Vec<&str> = lines.by_ref().filter(|line| !line.is_empty()).take(32).collect();
    if let Some(format) = iolog::recognise(lines.first().copied().unwrap_or_default())? {
        return Ok(format);
    }
    if blkparse::recognise(&lines) {
        return Ok(Format::Blkparse);
    }
    tables::recognise(&lines).ok_or_else(|| {
        let known = "fio iolog 2 and 3, blktrace and blkparse, MSR Cambridge, SYSTOR '17, Alibaba, \
                     Tencent CBS, FIU, SPC, vscsi";
        let message = format!(
            "it is no trace of a known format ({known}): convert it to a fio iolog, whose lines \
             are `microseconds file read|write offset bytes` under `fio version 3 iolog`"
        );
        TraceError::whole(Kind::Unknown, message)
    })
}
