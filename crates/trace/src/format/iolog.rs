//! fio's iolog. Version 3 has a time in microseconds before each line. Version 2 has none but
//! `wait` lines. fio's manual calls those relative and microseconds; its code (iolog.c,
//! `mtime_since_genesis`) takes milliseconds since the start, and so does this.

use super::{
    Format, Found, Parse,
    fields::{access, first, times, whole},
};
use crate::{
    access::{Access, Op},
    error::{Bad, Kind, Place, TraceError},
    volumes::Volumes,
};

/// The version in a first line, if it is an iolog's.
pub(super) fn recognise(first: &str) -> Result<Option<Format>, TraceError> {
    let Some(version) = first.strip_prefix("fio version ") else { return Ok(None) };
    match version.strip_suffix(" iolog") {
        Some("2") => Ok(Some(Format::Iolog2)),
        Some("3") => Ok(Some(Format::Iolog3)),
        _ => {
            let message = format!(
                "`{}` is no version of fio's iolog that is read: write version 2 or 3",
                first.chars().take(60).collect::<String>().escape_debug()
            );
            Err(TraceError { kind: Kind::Version, place: Place::Line(1), part: 0, message })
        }
    }
}

/// Of an action on a file; `None` for one that moves nothing.
fn op(name: &str) -> Option<Result<Op, Bad>> {
    Some(Ok(match name {
        "read" => Op::Read,
        "write" => Op::Write,
        "trim" => Op::Trim,
        "sync" | "datasync" => Op::Flush,
        "add" | "open" | "close" => return None,
        _ => {
            let wanted = "add, open, close, read, write, sync, datasync or trim";
            return Some(Err(Bad::field("action", name, wanted)));
        }
    }))
}

/// `file action [offset length]` at a time.
fn action(
    at_ns: u64,
    [file, action]: [&str; 2],
    place: Option<[&str; 2]>,
    volumes: &mut Volumes,
) -> Result<Found, Bad> {
    let op = match op(action) {
        None => return Ok(Found::Other),
        Some(op) => op?,
    };
    let volume = volumes.number(file)?;
    if op == Op::Flush {
        return Ok(Found::Access(Access { at_ns, op, volume, offset: 0, bytes: 0 }));
    }
    let [offset, length] = place.ok_or_else(|| Bad::few(action, "file action offset length"))?;
    let (offset, bytes) = (whole("offset", offset)?, whole("length", length)?);
    access(at_ns, op, volume, offset, bytes).map(Found::Access)
}

/// Version 3: `microseconds file action [offset length]`.
pub(super) struct Version3;

impl Parse for Version3 {
    fn is_heading(&self, _: &str) -> bool {
        true
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let mut fields = line.split_ascii_whitespace();
        let Some([time, file, name]) = first(fields.by_ref()) else {
            return Err(Bad::few(line, "microseconds file action [offset length]"));
        };
        let at_ns = times("timestamp", time, 1000, "microseconds since the start")?;
        if name == "wait" {
            let wanted = "read, write or another action: version 3 has times instead of waits";
            return Err(Bad::field("action", name, wanted));
        }
        action(at_ns, [file, name], first(fields), volumes)
    }
}

/// Version 2: `file action [offset length]`, and `file wait milliseconds [0]`.
#[derive(Default)]
pub(super) struct Version2 {
    at_ns: u64,
}

impl Parse for Version2 {
    fn is_heading(&self, _: &str) -> bool {
        true
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let mut fields = line.split_ascii_whitespace();
        let Some([file, name]) = first(fields.by_ref()) else {
            return Err(Bad::few(line, "file action [offset length]"));
        };
        if name != "wait" {
            return action(self.at_ns, [file, name], first(fields), volumes);
        }
        let Some([until]) = first(fields) else {
            return Err(Bad::few(line, "file wait milliseconds"));
        };
        let until_ns = times("wait", until, 1_000_000, "milliseconds since the start")?;
        // fio waits until then, and not at all when that is over.
        self.at_ns = self.at_ns.max(until_ns);
        Ok(Found::Wait)
    }
}
