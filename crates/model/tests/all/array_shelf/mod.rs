//! Drives that are plain vectors of bytes, for tests of what stands above drives.

use block::{
    Command, Completion, Data, Drive, Effects, Extent, Geometry, Instant, IoError, Machine,
    Payload, Request, Rng,
};
use model::MIXED_STAMPS;
use std::collections::BTreeMap;

/// Members that keep bytes, answer after a random time and can be broken. A command takes effect
/// when it comes or when it is answered: requests outstanding together may do either.
pub struct Shelf {
    pub drives: Vec<Vec<u8>>,
    pub is_gone: Vec<bool>,
    /// Unreadable sectors: drive and offset.
    pub bad: Vec<(usize, u64)>,
    /// What came: kind, drive, offset, bytes.
    pub log: Vec<(char, u16, u64, u32)>,
    /// What the geometry says of bytes.
    pub data: Data,
    stamps: BTreeMap<(usize, u64), u64>,
    rng: Rng,
    working: Vec<Working>,
}

struct Working {
    issued: Instant,
    finished: Instant,
    request: Request,
    /// The outcome, if the command has taken effect.
    result: Option<Result<(), IoError>>,
}

impl Shelf {
    pub fn new(drives: usize, bytes: u64) -> Self {
        Self {
            drives: vec![vec![0; bytes as usize]; drives],
            is_gone: vec![false; drives],
            bad: Vec::new(),
            log: Vec::new(),
            data: Data::Stored,
            stamps: BTreeMap::new(),
            rng: Rng::new(9, 9),
            working: Vec::new(),
        }
    }

    /// Commands that have not been answered.
    #[allow(dead_code, reason = "of the tests that share this only some ask")]
    pub fn outstanding(&self) -> usize {
        self.working.len()
    }

    fn touch(&mut self, drive: usize, command: &mut Command) -> Result<(), IoError> {
        if self.is_gone[drive] {
            return Err(IoError::Offline);
        }
        let (kind, at) = match command {
            Command::Read { at, .. } => ('r', *at),
            Command::Write { at, .. } => ('w', *at),
            Command::Flush => ('f', Extent { offset: 0, bytes: 0 }),
            Command::Discard { offset, len } => {
                ('d', Extent { offset: *offset, bytes: *len as u32 })
            }
        };
        self.log.push((kind, drive as u16, at.offset, at.bytes));
        let bytes = self.drives[drive].get_mut(at.offset as usize..).expect("inside of the drive");
        let length = at.bytes as usize;
        match command {
            Command::Read { into: Payload::Bytes(buffer), .. } => {
                let range = at.offset..at.offset + u64::from(at.bytes);
                if self.bad.iter().any(|&(bad, at)| bad == drive && range.contains(&at)) {
                    return Err(IoError::Medium);
                }
                buffer.bytes_mut()[..length].copy_from_slice(&bytes[..length]);
            }
            Command::Write { from: Payload::Bytes(buffer), .. } => {
                let range = at.offset..at.offset + u64::from(at.bytes);
                self.bad.retain(|&(bad, at)| bad != drive || !range.contains(&at));
                bytes[..length].copy_from_slice(&buffer.bytes()[..length]);
            }
            Command::Write { from: Payload::Stamp(stamp), .. } => {
                let sectors = at.offset / 512..(at.offset + u64::from(at.bytes)) / 512;
                self.stamps.extend(sectors.map(|sector| ((drive, sector), *stamp)));
            }
            Command::Read { into: Payload::Stamp(stamp), .. } => {
                let sectors = at.offset / 512..(at.offset + u64::from(at.bytes)) / 512;
                let mut seen = sectors.map(|sector| self.stamps.get(&(drive, sector)).copied());
                let first = seen.next().flatten();
                let is_one = seen.all(|stamp| stamp == first);
                *stamp = if is_one { first.unwrap_or(0) } else { MIXED_STAMPS };
            }
            _ => {}
        }
        Ok(())
    }
}

impl Machine for Shelf {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.drives[0].len() as u64,
            block_bytes: 512,
            transfer_bytes_max: 1 << 30,
            queue_depth: 4096,
            data: self.data,
        }
    }

    fn on_request(&mut self, now: Instant, mut request: Request, _: &mut Effects) {
        let finished = now.after(1_000 + self.rng.below(100_000));
        let drive = usize::from(request.drive.0);
        let at_once = self.rng.below(2) == 0;
        let result = at_once.then(|| self.touch(drive, &mut request.command));
        self.working.push(Working { issued: now, finished, request, result });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("nothing below");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(at) = self.working.iter().position(|working| working.finished <= now) {
            let Working { issued, finished, mut request, result } = self.working.remove(at);
            let drive = usize::from(request.drive.0);
            let result = result.unwrap_or_else(|| self.touch(drive, &mut request.command));
            let (tag, payload) = (request.tag, request.command.into_payload());
            effects.up.push(Completion { tag, issued, finished, result, payload });
        }
    }

    fn next_wakeup(&self) -> Instant {
        let due = self.working.iter().map(|working| working.finished);
        due.min().unwrap_or(Instant::NEVER)
    }
}
