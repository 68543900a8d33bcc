//! A volume on a simulated drive, and how to ask it for something.

use block::{
    Actor, Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, IoError, Payload,
    Request, Stack, Tag,
};
use flash::{Checksums, Classes, Parity, Settings, Shape, Volume, VolumeId};
use model::{Contents, FaultPlan, Faults, Media, Rig, Sim};
use std::ops::Range;
use testkit::Shuffling;

pub type Bench = Stack<Volume, Sim<Rig<Shuffling>>>;

pub const ID: VolumeId = VolumeId(*b"a volume on test");

/// A shape small enough that all of it is used many times over.
pub fn small() -> Shape {
    Shape {
        device_bytes: 4 << 20,
        exported_bytes: 3 << 19,
        stripe_bytes: 4096,
        erase_unit_bytes: 4096,
        segment_bytes: 64 << 10,
        chunk_bytes: 32 << 10,
        ring_bytes: 0,
        parity: Parity::None,
        checksums: Checksums::OnRead,
        classes: Classes::TWO,
    }
}

/// Three data drives with 64 KiB each: not a power of two.
pub fn striped() -> Shape {
    Shape {
        device_bytes: 18 << 20,
        exported_bytes: 2 << 20,
        stripe_bytes: 192 << 10,
        erase_unit_bytes: 64 << 10,
        segment_bytes: 384 << 10,
        chunk_bytes: 192 << 10,
        ring_bytes: 8 * (192 << 10),
        parity: Parity::Protected,
        checksums: Checksums::OnCleaning,
        classes: Classes::TWO,
    }
}

pub fn media(shape: &Shape) -> Media {
    Media::new(shape.device_bytes, 4096, Contents::Bytes)
}

/// That medium behind a drive whose answers overtake each other.
pub fn rig(media: Media, seed: u64) -> Rig<Shuffling> {
    Rig::new(Shuffling::new(media.capacity_bytes(), seed), vec![media])
}

/// A healthy drive with that medium.
pub fn sim(media: Media, seed: u64) -> Sim<Rig<Shuffling>> {
    Sim::new(rig(media, seed))
}

pub fn create(media: Media, shape: Shape, settings: Settings, seed: u64) -> Bench {
    let sim = Sim::new(rig(media, seed));
    let volume = Volume::create(sim.geometry(Drive(0)), shape, ID, settings).expect("it fits");
    Stack::new(volume, sim)
}

pub fn open(media: Media, settings: Settings, seed: u64) -> Bench {
    open_with(media, settings, seed, FaultPlan::new(0))
}

pub fn open_with(media: Media, settings: Settings, seed: u64, plan: FaultPlan) -> Bench {
    let sim = Sim::new(rig(media, seed).with_faults(Drive(0), Faults::new(plan, Drive(0))));
    Stack::new(Volume::open(sim.geometry(Drive(0)), settings), sim)
}

/// Cuts the power and takes the medium out.
pub fn cut(mut bench: Bench, seed: u64) -> Media {
    bench.engine.power_cut(seed);
    let Stack { engine, .. } = bench;
    engine.into_media().remove(0)
}

/// Submits one request and waits for its answer alone.
pub fn ask(bench: &mut impl Engine, command: Command) -> Completion {
    let mut done = Vec::new();
    bench.submit(Request { tag: Tag::OWN, actor: Actor(0), drive: Drive(0), command });
    while done.is_empty() {
        bench.wait(Instant::NEVER, &mut done);
    }
    assert_eq!((done.len(), done[0].tag), (1, Tag::OWN));
    done.remove(0)
}

pub fn flush(bench: &mut impl Engine) -> Result<(), IoError> {
    ask(bench, Command::Flush).result
}

pub fn extent(sectors: Range<u64>) -> Extent {
    Extent { offset: sectors.start * 512, bytes: (sectors.end - sectors.start) as u32 * 512 }
}

/// Every word of the sectors is the value.
pub fn image(sectors: u64, value: u64) -> Payload {
    let mut buffer = Buf::zeroed(sectors as usize * 512);
    buffer.bytes_mut().chunks_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
    Payload::Bytes(buffer)
}

pub fn write(sectors: Range<u64>, value: u64, durability: Durability) -> Command {
    let from = image(sectors.end - sectors.start, value);
    Command::Write { at: extent(sectors), from, durability }
}

/// The values of the sectors in a buffer.
pub fn values(payload: &Payload, sectors: u64) -> Vec<u64> {
    let Payload::Bytes(buffer) = payload else { panic!("bytes come back") };
    let sectors = buffer.bytes().chunks(512).take(sectors as usize);
    sectors
        .map(|sector| {
            assert!(sector.chunks(8).all(|word| word == &sector[..8]), "a sector is a mixture");
            u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
        })
        .collect()
}

pub fn read(bench: &mut impl Engine, sectors: Range<u64>) -> Result<Vec<u64>, IoError> {
    let count = sectors.end - sectors.start;
    let answer = ask(bench, Command::Read { at: extent(sectors), into: image(count, 77) });
    answer.result.map(|()| values(&answer.payload, count))
}

pub fn read_all(bench: &mut impl Engine, sectors: u64) -> Result<Vec<u64>, IoError> {
    let mut all = Vec::new();
    for start in (0..sectors).step_by(128) {
        all.extend(read(bench, start..(start + 128).min(sectors))?);
    }
    Ok(all)
}
