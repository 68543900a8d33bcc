//! Formats of one line an access and nothing else: MSR Cambridge, SYSTOR '17, Alibaba, Tencent CBS,
//! FIU and SPC. Each is told from the others by its heading or by what its fields hold.

use super::{
    Format, Found, Parse,
    fields::{access, first, seconds, sectors, times, whole},
};
use crate::{access::Op, error::Bad, volumes::Volumes};

/// Ticks of 100 ns from 1601, where a filetime begins, to 1970.
const FILETIME_TO_UNIX: u64 = 116_444_736_000_000_000;

const MSR: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size";
const ALIBABA: &str = "device_id,opcode,offset,length,timestamp";
const TENCENT: &str = "Timestamp,Offset,Size,IOType,VolumeID";
const FIU: &str = "ns pid process lba sectors R|W major minor md5";
const SPC: &str = "ASU,LBA,Size,Opcode,Timestamp";

/// Which of them lines are of.
pub(super) fn recognise(lines: &[&str]) -> Option<Format> {
    let heading = lines.first()?.to_ascii_lowercase();
    let headings = [
        (MSR, Format::Msr),
        (SYSTOR, Format::Systor),
        (ALIBABA, Format::Alibaba),
        (TENCENT, Format::Tencent),
    ];
    let named = headings.iter().find(|(text, _)| heading == text.to_ascii_lowercase());
    if let Some((_, format)) = named {
        return Some(*format);
    }
    // A line may lack what tells formats apart, as a request without reply does.
    lines.iter().find_map(|line| of_line(line))
}

fn of_line(line: &str) -> Option<Format> {
    let is_whole = |text: &str| text.trim().parse::<u64>().is_ok();
    let is_letter = |text: &str| matches!(text.trim(), "R" | "W" | "r" | "w");
    let fields: Vec<&str> = line.split(',').collect();
    match fields.as_slice() {
        [time, _, disk, kind, offset, size, _]
            if [time, disk, offset, size].iter().all(|text| is_whole(text))
                && (kind.eq_ignore_ascii_case("read") || kind.eq_ignore_ascii_case("write")) =>
        {
            Some(Format::Msr)
        }
        [time, _, kind, lun, offset, size]
            if seconds("", time).is_ok()
                && [lun, offset, size].iter().all(|text| is_whole(text))
                && is_letter(kind) =>
        {
            Some(Format::Systor)
        }
        [_, kind, offset, length, time]
            if is_letter(kind) && [offset, length, time].iter().all(|text| is_whole(text)) =>
        {
            Some(Format::Alibaba)
        }
        [time, offset, size, kind, volume]
            if matches!(kind.trim(), "0" | "1")
                && [time, offset, size, volume].iter().all(|text| is_whole(text)) =>
        {
            Some(Format::Tencent)
        }
        [asu, lba, size, kind, time, ..]
            if is_letter(kind)
                && [asu, lba, size].iter().all(|text| is_whole(text))
                && seconds("", time).is_ok() =>
        {
            Some(Format::Spc)
        }
        [_] => of_words(line),
        _ => None,
    }
}

fn of_words(line: &str) -> Option<Format> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_whole = |at: usize| words[at].parse::<u64>().is_ok();
    let from_end = |back: usize| words.len() - back;
    let is_ours = words.len() >= 9
        && is_whole(0)
        && matches!(words[from_end(4)], "R" | "W")
        && [6, 5, 3, 2].into_iter().all(|back| is_whole(from_end(back)));
    is_ours.then_some(Format::Fiu)
}

/// Read or write by a letter or a word.
fn op(name: &str, text: &str, read: &str, write: &str) -> Result<Op, Bad> {
    match text.trim() {
        word if word.eq_ignore_ascii_case(read) => Ok(Op::Read),
        word if word.eq_ignore_ascii_case(write) => Ok(Op::Write),
        word => Err(Bad::field(name, word, &format!("{read} or {write}"))),
    }
}

fn is_heading(line: &str, heading: &str) -> bool {
    line.eq_ignore_ascii_case(heading)
}

/// MSR Cambridge: filetimes, a volume a host and disk.
#[derive(Default)]
pub(super) struct Msr {
    name: String,
}

impl Parse for Msr {
    fn is_heading(&self, line: &str) -> bool {
        is_heading(line, MSR)
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some([time, host, disk, kind, offset, size]) = first(line.split(',')) else {
            return Err(Bad::few(line, MSR));
        };
        let ticks = whole("Timestamp", time)?.checked_sub(FILETIME_TO_UNIX);
        let at_ns = ticks.and_then(|ticks| ticks.checked_mul(100));
        let at_ns = at_ns.ok_or_else(|| {
            Bad::field("Timestamp", time, "a filetime: 100 ns since 1601, after 1970")
        })?;
        let op = op("Type", kind, "Read", "Write")?;
        self.name.clear();
        self.name.push_str(host.trim());
        self.name.push('.');
        self.name.push_str(disk.trim());
        let volume = volumes.number(&self.name)?;
        let (offset, bytes) = (whole("Offset", offset)?, whole("Size", size)?);
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

/// SYSTOR '17: Unix seconds; a request without a reply has no kind.
pub(super) struct Systor;

impl Parse for Systor {
    fn is_heading(&self, line: &str) -> bool {
        is_heading(line, SYSTOR)
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some([time, _, kind, lun, offset, size]) = first(line.split(',')) else {
            return Err(Bad::few(line, SYSTOR));
        };
        if kind.trim().is_empty() {
            return Ok(Found::Unanswered);
        }
        let at_ns = seconds("Timestamp", time)?;
        let op = op("IOType", kind, "R", "W")?;
        let volume = volumes.number(lun.trim())?;
        let (offset, bytes) = (whole("Offset", offset)?, whole("Size", size)?);
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

/// Alibaba: microseconds at the end of the line.
pub(super) struct Alibaba;

impl Parse for Alibaba {
    fn is_heading(&self, line: &str) -> bool {
        is_heading(line, ALIBABA)
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some([device, kind, offset, length, time]) = first(line.split(',')) else {
            return Err(Bad::few(line, ALIBABA));
        };
        let op = op("opcode", kind, "R", "W")?;
        let (offset, bytes) = (whole("offset", offset)?, whole("length", length)?);
        let at_ns = times("timestamp", time, 1000, "microseconds")?;
        let volume = volumes.number(device.trim())?;
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

/// Tencent CBS: whole seconds, sectors.
pub(super) struct Tencent;

impl Parse for Tencent {
    fn is_heading(&self, line: &str) -> bool {
        is_heading(line, TENCENT)
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some([time, offset, size, kind, volume]) = first(line.split(',')) else {
            return Err(Bad::few(line, TENCENT));
        };
        let at_ns = times("Timestamp", time, 1_000_000_000, "seconds since 1970")?;
        let op = op("IOType", kind, "0", "1")?;
        let (offset, bytes) = (sectors("Offset", offset)?, sectors("Size", size)?);
        let volume = volumes.number(volume.trim())?;
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

/// FIU: a process's name may hold blanks, so fields are counted from both ends.
#[derive(Default)]
pub(super) struct Fiu {
    name: String,
}

impl Parse for Fiu {
    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some((time, _)) = line.split_once([' ', '\t']) else {
            return Err(Bad::few(line, FIU));
        };
        let back = first(line.split_ascii_whitespace().rev());
        let Some([_, minor, major, kind, length, lba, _, _, _]) = back else {
            return Err(Bad::few(line, FIU));
        };
        let at_ns = whole("ns", time)?;
        let op = op("R|W", kind, "R", "W")?;
        let (offset, bytes) = (sectors("lba", lba)?, sectors("sectors", length)?);
        whole("major", major)?;
        whole("minor", minor)?;
        self.name.clear();
        self.name.push_str(major);
        self.name.push(',');
        self.name.push_str(minor);
        let volume = volumes.number(&self.name)?;
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}

/// SPC: LBA in sectors of 512 bytes, size in bytes, seconds.
pub(super) struct Spc;

impl Parse for Spc {
    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        let Some([asu, lba, size, kind, time]) = first(line.split(',')) else {
            return Err(Bad::few(line, SPC));
        };
        let op = op("Opcode", kind, "R", "W")?;
        let (offset, bytes) = (sectors("LBA", lba)?, whole("Size", size)?);
        let at_ns = seconds("Timestamp", time)?;
        let volume = volumes.number(asu.trim())?;
        access(at_ns, op, volume, offset, bytes).map(Found::Access)
    }
}
