//! Drives that are plain vectors of bytes, for tests of what stands above drives.

use block::{
    Command, Completion, Data, Drive, Effects, Extent, Geometry, Instant, IoError, Machine,
    Payload, Request, Rng,
};
use model::Outbox;

/// Members that keep bytes, answer after a random time and can be broken.
pub struct Shelf {
    pub drives: Vec<Vec<u8>>,
    pub is_gone: Vec<bool>,
    /// Unreadable sectors: drive and offset.
    pub bad: Vec<(usize, u64)>,
    rng: Rng,
    outbox: Outbox,
    /// What came: kind, drive, offset, bytes.
    pub log: Vec<(char, u16, u64, u32)>,
}

impl Shelf {
    pub fn new(drives: usize, bytes: u64) -> Self {
        Self {
            drives: vec![vec![0; bytes as usize]; drives],
            is_gone: vec![false; drives],
            bad: Vec::new(),
            rng: Rng::new(9, 9),
            outbox: Outbox::new(1 << 15),
            log: Vec::new(),
        }
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
            data: Data::Stored,
        }
    }

    fn on_request(&mut self, now: Instant, mut request: Request, _: &mut Effects) {
        // Takes effect at once and is answered later: requests outstanding together may do either.
        let result = self.touch(usize::from(request.drive.0), &mut request.command);
        let finished = now.after(1_000 + self.rng.below(100_000));
        let payload = request.command.into_payload();
        self.outbox.put(Completion { tag: request.tag, issued: now, finished, result, payload });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("nothing below");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}
