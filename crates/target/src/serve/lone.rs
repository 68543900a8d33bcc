//! How long a modelled target takes to read a block that lies anywhere, with nothing else to do:
//! what the way to it is measured by.

use crate::{
    catalog::Catalog,
    stack::{Stack, open},
};
use block::{Buf, Command, Data, Drive, Durability, Engine, Extent, Payload, Rng, submit_and_wait};
use lab::target::TargetError;

const BLOCK_BYTES: u32 = 4096;
const READS: u64 = 64;
const SEED: u64 = 1;

/// The mean of reads of blocks that were written, and of ones that were not, whichever is longer:
/// flash answers at once where nothing was written, a disk where its cache still has it.
///
/// # Errors
/// A stack that is none.
pub fn read_ns(stack: &Stack) -> Result<u64, TargetError> {
    let mut engine = open(stack, &Catalog::load()?, SEED)?;
    let geometry = engine.geometry(Drive(0));
    let bytes = BLOCK_BYTES.max(geometry.block_bytes);
    let payload = || match geometry.data {
        Data::Stored => Payload::Bytes(Buf::zeroed(bytes as usize)),
        Data::TimingOnly => Payload::None,
    };
    let mut rng = Rng::new(SEED, 1);
    let blocks = geometry.capacity_bytes / u64::from(bytes);
    let mut anywhere = || Extent { offset: rng.below(blocks) * u64::from(bytes), bytes };
    let places: Vec<Extent> = (0..READS).map(|_| anywhere()).collect();
    let others: Vec<Extent> = (0..READS).map(|_| anywhere()).collect();
    for &at in &places {
        let durability = Durability::Cached;
        let _ = submit_and_wait(&mut engine, Command::Write { at, from: payload(), durability });
    }
    let _ = submit_and_wait(&mut engine, Command::Flush);
    let mut mean_ns = |places: &[Extent]| {
        let each = places.iter().map(|&at| {
            let read = submit_and_wait(&mut engine, Command::Read { at, into: payload() });
            read.finished.since(read.issued)
        });
        each.sum::<u64>() / READS
    };
    Ok(mean_ns(&others).max(mean_ns(&places)).max(1))
}
