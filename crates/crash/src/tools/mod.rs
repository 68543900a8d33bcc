//! The tools on simulated drives, whole and damaged on purpose.

mod check;
mod read_only;
pub(crate) mod refusals;
mod rescue;
mod resize;
mod scrub;
mod status;
mod superblocks;

use crate::{
    bench::{create, cut, flush, media, open, read_all, sim, small},
    caller::{Caller, Mix},
};
use block::{Buf, Command, Durability, Engine, Extent, Payload, Request, Wrapper, submit_and_wait};
use flash::{Classes, Cleaning, Settings, Shape, tools::Progress};
use model::Media;
use std::ops::ControlFlow;

pub fn settings() -> Settings {
    Settings {
        queue_depth: 16,
        answer_ns: 500,
        chunks: 6,
        cleaning: Cleaning::SepBit,
        ..Settings::default()
    }
}

/// [`small`] with all classes of SepBIT.
pub fn classed() -> Shape {
    Shape { device_bytes: 5 << 20, classes: Classes::SEPBIT, ..small() }
}

/// Goes on to the end.
pub fn patient() -> impl FnMut(Progress) -> ControlFlow<()> {
    |_| ControlFlow::Continue(())
}

pub fn sectors(shape: Shape) -> u64 {
    shape.exported_bytes / 512
}

/// How a life ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Clean,
    /// Everything flushed, then the power went.
    Unclean,
}

/// A volume that was written over several times and cleaned, and what every sector of it holds.
pub fn used(shape: Shape, seed: u64, end: End) -> (Media, Vec<u64>) {
    let mix = Mix { unaligned: false, flush_one_in: 12, skewed: seed % 2 == 1 };
    let mut caller = Caller::new(seed, sectors(shape), mix);
    let mut volume = create(media(&shape), shape, settings(), seed);
    for life in 0..3 {
        caller.requests(&mut volume, 600, 6);
        flush(&mut volume).expect("healthy");
        volume = open(cut(volume, seed), settings(), seed + life);
    }
    caller.requests(&mut volume, 150, 6);
    flush(&mut volume).expect("healthy");
    let values = read_all(&mut volume, sectors(shape)).expect("healthy");
    if end == End::Clean {
        volume.machine.shut_down();
        flush(&mut volume).expect("healthy");
    }
    (cut(volume, seed), values)
}

/// What a volume that opens holds.
pub fn contents(medium: Media, shape: Shape) -> Vec<u64> {
    let mut volume = open(medium, settings(), 1);
    flush(&mut volume).unwrap_or_else(|_| panic!("{:?}", volume.machine.open_error()));
    read_all(&mut volume, sectors(shape)).expect("healthy")
}

pub fn block_at(offset: u64) -> Extent {
    Extent { offset, bytes: 4096 }
}

fn one(engine: &mut dyn Engine, command: Command) -> Payload {
    submit_and_wait(engine, command).payload
}

/// What is at that place.
pub fn read_at(medium: &Media, offset: u64, bytes: usize) -> Vec<u8> {
    let at = Extent { offset, bytes: bytes as u32 };
    let into = Payload::Bytes(Buf::zeroed(bytes));
    let Payload::Bytes(read) = one(&mut sim(medium.clone(), 1), Command::Read { at, into }) else {
        unreachable!("bytes come back")
    };
    read.bytes()[..bytes].to_vec()
}

/// The medium with that written to it, durably.
pub fn overwrite(medium: Media, offset: u64, bytes: &[u8]) -> Media {
    let mut drive = sim(medium, 1);
    for (part, number) in bytes.chunks(1 << 20).zip(0..) {
        let mut buffer = Buf::zeroed(part.len());
        buffer.bytes_mut()[..part.len()].copy_from_slice(part);
        let at = Extent { offset: offset + (number << 20), bytes: part.len() as u32 };
        let from = Payload::Bytes(buffer);
        one(&mut drive, Command::Write { at, from, durability: Durability::Fua });
    }
    drive.into_media().remove(0)
}

/// The same contents on a drive of another size.
pub fn moved(from: Media, bytes: u64) -> Media {
    let whole = from.capacity_bytes().min(bytes);
    let mut onto = media(&Shape { device_bytes: bytes, ..small() });
    for offset in (0..whole).step_by(1 << 20) {
        let part = read_at(&from, offset, (whole - offset).min(1 << 20) as usize);
        onto = overwrite(onto, offset, &part);
    }
    onto
}

/// A healthy drive that nothing may be written to.
pub struct Reading(Box<dyn Engine>);

pub fn reading(medium: &Media) -> Reading {
    Reading(Box::new(sim(medium.clone(), 1)))
}

impl Wrapper for Reading {
    type Inner = dyn Engine;

    fn inner(&self) -> &Self::Inner {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut *self.0
    }

    fn on_submit(&mut self, request: &Request) {
        assert!(matches!(request.command, Command::Read { .. }), "{request:?} is no read");
    }
}
