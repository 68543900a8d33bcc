//! The drives below a volume on test: one, or a RAID-5 whose members lose their power each for
//! itself.

use block::{Drive, Engine, Extent, Machine, Payload, Stack};
use model::{Array, ArrayParams, Bank, Contents, Level, Media, Rig, Sim};
use testkit::Shuffling;

/// Drives, and how they are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// One drive.
    Single,
    /// RAID-5, left-symmetric.
    Raid5 {
        /// Drives, parity included.
        members: u16,
        /// What lies in a row on one of them.
        chunk_bytes: u32,
    },
}

/// An engine on simulated media.
pub trait Below: Engine {
    /// The medium of every drive.
    fn media(&self) -> Vec<&Media>;

    /// Power goes; a state that the seed draws stays on each.
    fn lose_power(&mut self, seed: u64);

    /// Grows whenever what a power cut may leave can have changed.
    fn revision(&self) -> u64 {
        self.media().iter().map(|medium| medium.revision()).sum()
    }
}

impl Below for Sim<Rig<Shuffling>> {
    fn media(&self) -> Vec<&Media> {
        vec![self.machine.media(Drive(0))]
    }

    fn lose_power(&mut self, seed: u64) {
        self.power_cut(seed);
    }
}

/// An array of simulated drives.
struct Raid {
    stack: Stack<Array, Sim<Rig<Bank>>>,
    members: u16,
}

impl Engine for Raid {
    fn geometry(&self, drive: Drive) -> block::Geometry {
        // A chunk, a root or a superblock: nothing longer is asked for.
        block::Geometry { transfer_bytes_max: 1 << 20, ..self.stack.geometry(drive) }
    }

    fn now(&self) -> block::Instant {
        self.stack.now()
    }

    fn submit(&mut self, request: block::Request) {
        self.stack.submit(request);
    }

    fn start(&mut self) {
        self.stack.start();
    }

    fn wait(&mut self, until: block::Instant, done: &mut Vec<block::Completion>) {
        self.stack.wait(until, done);
    }

    fn next_wakeup(&self) -> block::Instant {
        self.stack.next_wakeup()
    }

    fn poll_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.stack.poll_fd()
    }
}

impl Below for Raid {
    fn media(&self) -> Vec<&Media> {
        (0..self.members).map(|member| self.stack.engine.machine.media(Drive(member))).collect()
    }

    fn lose_power(&mut self, seed: u64) {
        self.stack.engine.power_cut(seed);
    }
}

impl Backing {
    /// Empty media for a volume's drive of so many bytes.
    pub fn media(self, device_bytes: u64, sector_bytes: u32) -> Vec<Media> {
        let medium = |bytes| Media::new(bytes, sector_bytes, Contents::Bytes);
        match self {
            Self::Single => vec![medium(device_bytes)],
            Self::Raid5 { members, .. } => {
                let data = u64::from(members) - 1;
                assert!(device_bytes.is_multiple_of(data), "{device_bytes} B on {data} drives");
                (0..members).map(|_| medium(device_bytes / data)).collect()
            }
        }
    }

    /// Sets drives around the media.
    pub fn stand(self, media: Vec<Media>, seed: u64) -> Box<dyn Below> {
        let drive = |(number, medium): (u64, &Media)| {
            Shuffling::new(medium.capacity_bytes(), seed ^ number << 32)
        };
        let mut drives = (0..).zip(&media).map(drive);
        let Self::Raid5 { members, chunk_bytes } = self else {
            let drive = drives.next().expect("one drive");
            drop(drives);
            return Box::new(Sim::with_media(drive, media));
        };
        let boxed = drives.map(|drive| Box::new(drive) as Box<dyn Machine>).collect();
        let sim = Sim::with_media(Bank::new(boxed), media);
        let geometries: Vec<_> = (0..members).map(|member| sim.geometry(Drive(member))).collect();
        let params = ArrayParams { level: Level::Raid5, chunk_bytes };
        Box::new(Raid { stack: Stack::new(Array::new(params, &geometries), sim), members })
    }

    /// A member is gone with the power: what it held is worked out from the others, stripe by
    /// stripe.
    pub fn rebuild(self, media: &mut [Media], lost: usize) {
        let (capacity_bytes, sector_bytes) =
            (media[lost].capacity_bytes(), media[lost].sector_bytes());
        let mut rebuilt = Media::new(capacity_bytes, sector_bytes, Contents::Bytes);
        let mut cell = block::Buf::zeroed(sector_bytes as usize);
        for sector in 0..capacity_bytes / u64::from(sector_bytes) {
            let bytes = &mut cell.bytes_mut()[..sector_bytes as usize];
            bytes.fill(0);
            let others = media.iter().zip(0..).filter(|(_, member)| *member != lost);
            for (other, _) in others {
                xor(bytes, other.sector(sector).expect("healthy"));
            }
            cell = put(&mut rebuilt, sector * u64::from(sector_bytes), sector_bytes, cell);
        }
        rebuilt.complete_flush(rebuilt.begin_flush());
        media[lost] = rebuilt;
    }

    /// After an unclean stop, what an array does before it trusts its parity: works it out anew
    /// from the data.
    pub fn resync(self, media: &mut [Media]) {
        let Self::Raid5 { chunk_bytes, .. } = self else { return };
        let sector_bytes = media[0].sector_bytes();
        let of_chunk = u64::from(chunk_bytes / sector_bytes);
        let members = media.len() as u64;
        let mut cell = block::Buf::zeroed(sector_bytes as usize);
        for sector in 0..media[0].capacity_bytes() / u64::from(sector_bytes) {
            let parity = parity_member(sector / of_chunk, members) as usize;
            let bytes = &mut cell.bytes_mut()[..sector_bytes as usize];
            bytes.fill(0);
            for (other, _) in media.iter().zip(0..).filter(|(_, member)| *member != parity) {
                xor(bytes, other.sector(sector).expect("healthy"));
            }
            if media[parity].sector(sector) != Some(&*bytes) {
                let offset = sector * u64::from(sector_bytes);
                cell = put(&mut media[parity], offset, sector_bytes, cell);
            }
        }
        media.iter_mut().for_each(|medium| medium.complete_flush(medium.begin_flush()));
    }

    /// What the volume's drive holds, as one medium.
    pub fn flatten(self, media: &[Media]) -> Media {
        let Self::Raid5 { chunk_bytes, .. } = self else { return media[0].clone() };
        let sector_bytes = media[0].sector_bytes();
        let (members, of_chunk) = (media.len() as u64, u64::from(chunk_bytes / sector_bytes));
        let rows = media[0].capacity_bytes() / u64::from(chunk_bytes);
        let capacity_bytes = rows * (members - 1) * u64::from(chunk_bytes);
        let mut flat = Media::new(capacity_bytes, sector_bytes, Contents::Bytes);
        for row in 0..rows {
            for index in 0..members - 1 {
                let member = ((parity_member(row, members) + 1 + index) % members) as usize;
                let first = (row * (members - 1) + index) * of_chunk;
                for within in 0..of_chunk {
                    flat.copy_sector(first + within, &media[member], row * of_chunk + within);
                }
            }
        }
        flat
    }
}

/// Left-symmetric, as Linux md lays RAID-5 out (`ALGORITHM_LEFT_SYMMETRIC`): parity moves one
/// member to the left a row, data begin on the member after it.
fn parity_member(row: u64, members: u64) -> u64 {
    members - 1 - row % members
}

/// Eight bytes at a time.
fn xor(into: &mut [u8], from: &[u8]) {
    let (into, _) = into.as_chunks_mut::<8>();
    let (from, _) = from.as_chunks::<8>();
    for (into, from) in into.iter_mut().zip(from) {
        *into = (u64::from_ne_bytes(*into) ^ u64::from_ne_bytes(*from)).to_ne_bytes();
    }
}

/// Writes a sector; durable with the next flush.
fn put(medium: &mut Media, offset: u64, bytes: u32, cell: block::Buf) -> block::Buf {
    let from = Payload::Bytes(cell);
    let write = medium.begin_write(Extent { offset, bytes }, &from, block::Durability::Cached);
    medium.complete_write(write);
    let Payload::Bytes(cell) = from else { unreachable!("it was bytes") };
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{ask, image};
    use block::{Command, Durability};

    const RAID: Backing = Backing::Raid5 { members: 4, chunk_bytes: 16 << 10 };

    /// The layout here is written down a second time: it must be that of the array.
    #[test]
    fn what_is_put_together_from_members_is_what_the_array_reads() {
        let mut raid = RAID.stand(RAID.media(768 << 10, 4096), 1);
        for (block, value) in [(0, 1), (5, 2), (13, 3), (47, 4), (100, 5), (191, 6)] {
            let at = Extent { offset: block * 4096, bytes: 4096 };
            let durability = Durability::Cached;
            let write = Command::Write { at, from: image(8, value), durability };
            ask(&mut raid, write).result.expect("healthy");
        }
        ask(&mut raid, Command::Flush).result.expect("healthy");
        let mut media: Vec<Media> = raid.media().into_iter().cloned().collect();
        let flat = RAID.flatten(&media);
        for block in 0..192 {
            let at = Extent { offset: block * 4096, bytes: 4096 };
            let answer = ask(&mut raid, Command::Read { at, into: image(8, 9) });
            let Payload::Bytes(seen) = answer.payload else { panic!("bytes come back") };
            assert_eq!(Some(&seen.bytes()[..4096]), flat.sector(block), "block {block}");
        }
        for lost in 0..4 {
            RAID.rebuild(&mut media, lost);
            let again = RAID.flatten(&media);
            assert!((0..192).all(|block| again.sector(block) == flat.sector(block)));
        }
    }
}
