//! What blkparse prints in its default form: `maj,min cpu seq seconds pid action RWBS sector +
//! sectors [comm]`. Like blktrace's events: Q is what counts. The summary at the end is passed
//! over.

use super::{
    Found, Parse,
    fields::{access, seconds, sectors, whole},
};
use crate::{
    access::{Access, Op},
    error::Bad,
    volumes::Volumes,
};

const LINE: &str = "maj,min cpu sequence seconds pid action RWBS [sector + sectors] [process]";

/// Whether lines are blkparse's.
pub(super) fn recognise(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().take(7).collect();
        fields.len() >= 6
            && is_device(fields[0])
            && fields[1].parse::<u32>().is_ok()
            && fields[2].parse::<u64>().is_ok()
            && fields[3].contains('.')
            && seconds("time", fields[3]).is_ok()
    })
}

fn is_device(text: &str) -> bool {
    text.split_once(',')
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

/// Lines of blkparse.
#[derive(Default)]
pub(super) struct Blkparse {
    second: Option<Access>,
}

impl Parse for Blkparse {
    fn second(&mut self) -> Option<Access> {
        self.second.take()
    }

    fn line(&mut self, line: &str, volumes: &mut Volumes) -> Result<Found, Bad> {
        // `CPU0 (8,0):` and `Total (8,0):` begin the summary, which has no accesses.
        if line.starts_with("CPU") || line.starts_with("Total") {
            return Ok(Found::End);
        }
        let mut fields = line.split_ascii_whitespace();
        let mut next = || fields.next();
        let parts = (|| Some([next()?, next()?, next()?, next()?, next()?, next()?]))();
        let Some([device, cpu, sequence, time, _, action]) = parts else {
            return Err(Bad::few(line, LINE));
        };
        if !is_device(device) {
            return Err(Bad::field("device", device, "two numbers, such as 8,0"));
        }
        whole("cpu", cpu)?;
        whole("sequence", sequence)?;
        let at_ns = seconds("time", time)?;
        if action != "Q" {
            return Ok(Found::Other);
        }
        let Some(kinds) = fields.next() else { return Err(Bad::few(line, LINE)) };
        let is_known = |letter: char| "RWDFNASMVE".contains(letter);
        if !kinds.chars().all(is_known) {
            return Err(Bad::field("RWBS", kinds, "letters such as R, W, D, FWS"));
        }
        let volume = volumes.number(device)?;
        // F before the kind is a flush before it, F behind it forces the write through.
        let is_flush = kinds.starts_with('F');
        let flush = Access { at_ns, op: Op::Flush, volume, offset: 0, bytes: 0 };
        let op = match kinds.trim_start_matches('F').chars().next() {
            Some('D') => Op::Trim,
            Some('W') => Op::Write,
            Some('R') => Op::Read,
            _ if is_flush => return Ok(Found::Access(flush)),
            _ => return Ok(Found::Other),
        };
        let sector = fields.next().filter(|text| !text.starts_with('['));
        let Some(sector) = sector else {
            return if is_flush { Ok(Found::Access(flush)) } else { Ok(Found::Other) };
        };
        let (Some("+"), Some(length)) = (fields.next(), fields.next()) else {
            return Err(Bad::few(line, LINE));
        };
        let (offset, bytes) = (sectors("sector", sector)?, sectors("sectors", length)?);
        let transfer = access(at_ns, op, volume, offset, bytes)?;
        if !is_flush {
            return Ok(Found::Access(transfer));
        }
        self.second = (bytes > 0).then_some(transfer);
        Ok(Found::Access(flush))
    }
}
