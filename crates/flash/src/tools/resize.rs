//! Another size for a stopped volume, or for the drive that it is on.
//!
//! ```text
//!   open, discard what is beyond, stop cleanly -> root -> flush -> superblock, two copies -> the two others
//! ```
//!
//! Nothing that is on the drive moves: root areas, ring and first segment stay where they are, and
//! the root areas were made with room for twice the size. Until the first copy of the new
//! superblock is whole the volume has its old size; from then on it has the new one. A drive that
//! has grown gives new segments at its end, and the last two copies go to the new end; the old ones
//! are only looked at through a superblock that has the old size.

use super::{Progress, ToolError, Watch, look};
use crate::{
    format::{Root, SegmentRecord, Superblock, encode_root},
    layout::{Layout, Refusal},
    shape::{BLOCK_BYTES, Shape},
    volume::{Look, Settings, Volume},
};
use block::{
    Buf, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Stack,
    Wrapper, submit_and_wait,
};

/// What may become of data beyond a new, smaller end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// Nothing: the volume keeps its size.
    Refuse,
    /// They are discarded, for good.
    Discard,
}

/// What size a volume is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewSize {
    /// Of the volume; none to leave it.
    pub exported_bytes: Option<u64>,
    /// Of the drive, as far as the volume uses it: all that it has by now, or as before.
    pub device: DeviceUse,
    /// Where the volume shrinks.
    pub beyond: Beyond,
    /// Where it grows.
    pub room: Room,
}

/// Whether a volume may grow beyond what its drive can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// All of it has room.
    Held,
    /// Writes to new places may find no space before the volume is full (thin provisioning).
    Overcommitted,
}

/// How much of its drive a volume uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceUse {
    /// As much as before.
    Keep,
    /// All of it: it has grown.
    Whole,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resized {
    /// Before.
    pub before: Layout,
    /// Now.
    pub after: Layout,
    /// Blocks beyond the new end whose data were discarded.
    pub blocks_discarded: u64,
}

/// Gives a volume that nobody uses another size. It is stopped cleanly afterwards.
///
/// # Errors
/// [`ToolError`], with the cure; unless it is [`ToolError::Io`] or [`ToolError::Stopped`] the
/// volume is untouched. After those it has its old size or the new one.
pub fn resize(
    engine: &mut dyn Engine,
    size: &NewSize,
    watch: &mut Watch,
) -> Result<Resized, ToolError> {
    let found = look(engine, watch)?;
    if found.report.is_doubtful() {
        return Err(ToolError::Doubtful);
    }
    let before = found.layout;
    let transfer_bytes_max = u64::from(engine.geometry(Drive(0)).transfer_bytes_max);
    let shape = new_shape(&before.shape, size, engine.geometry(Drive(0)).capacity_bytes)?;
    let after = Layout::with_root_areas(shape, before.root_bytes, transfer_bytes_max)
        .map_err(ToolError::Refused)?;
    let grows = shape.exported_bytes > before.shape.exported_bytes;
    if grows && size.room == Room::Held && after.mapped_max < after.exported_blocks {
        let bytes_max = u64::from(after.mapped_max) * BLOCK_BYTES;
        return Err(ToolError::Overcommits { bytes_max });
    }
    if shape == before.shape {
        return Ok(Resized { before, after, blocks_discarded: 0 });
    }
    refuse_what_does_not_fit(&found, &after, size.beyond)?;
    let mut stopped = found;
    if !stopped.superblock.clean {
        // What only the ring holds is in the log afterwards, and is counted too.
        stop_cleanly(engine, None, watch)?;
        stopped = look(engine, watch)?;
    }
    let beyond = refuse_what_does_not_fit(&stopped, &after, size.beyond)?;
    if beyond > 0 {
        stop_cleanly(engine, Some(shape.exported_bytes), watch)?;
        stopped = look(engine, watch)?;
        refuse_what_does_not_fit(&stopped, &after, Beyond::Refuse)?;
    }
    assert!(stopped.superblock.clean, "the volume was stopped");
    commit(engine, &stopped, &after, watch)?;
    Ok(Resized { before, after, blocks_discarded: beyond })
}

fn new_shape(old: &Shape, size: &NewSize, capacity_bytes: u64) -> Result<Shape, ToolError> {
    let exported_bytes = size.exported_bytes.unwrap_or(old.exported_bytes);
    let whole = exported_bytes > 0 && exported_bytes.is_multiple_of(BLOCK_BYTES);
    if exported_bytes != old.exported_bytes && !whole {
        let (what, unit_bytes) = ("a volume", BLOCK_BYTES);
        return Err(ToolError::Refused(Refusal::Unaligned {
            what,
            bytes: exported_bytes,
            unit_bytes,
        }));
    }
    let device_bytes = match size.device {
        DeviceUse::Keep => old.device_bytes,
        DeviceUse::Whole => capacity_bytes,
    };
    Ok(Shape { exported_bytes, device_bytes, ..*old })
}

/// How many blocks hold data beyond the end that the volume will have.
fn refuse_what_does_not_fit(
    found: &Look,
    after: &Layout,
    beyond: Beyond,
) -> Result<u64, ToolError> {
    let outside = |block: &u32| *block >= after.exported_blocks;
    let (mut count, mut last) = (0, 0);
    for (block, _) in found.map.iter().filter(|(block, _)| outside(block)) {
        (count, last) = (count + 1, block);
    }
    if count > 0 && beyond == Beyond::Refuse {
        let least_bytes = (u64::from(last) + 1) * BLOCK_BYTES;
        return Err(ToolError::InUseBeyond { blocks: count, least_bytes });
    }
    let mapped_blocks = found.mapped_blocks - count;
    if mapped_blocks > u64::from(after.mapped_max) {
        return Err(ToolError::TooFull { mapped_blocks, blocks_max: u64::from(after.mapped_max) });
    }
    Ok(count)
}

/// Opens the volume, with recovery if need be; discards what is beyond an end; stops it.
fn stop_cleanly(
    engine: &mut dyn Engine,
    end_bytes: Option<u64>,
    watch: &mut Watch,
) -> Result<(), ToolError> {
    let below = engine.geometry(Drive(0));
    let mut stack =
        Stack::new(Volume::open(below, Settings::default()), Borrowed { engine, outstanding: 0 });
    let opened = submit_and_wait(&mut stack, Command::Flush).result;
    if let Some(error) = stack.machine.open_error() {
        return Err(error.into());
    }
    opened.map_err(ToolError::Io)?;
    let old_bytes = stack.geometry(Drive(0)).capacity_bytes;
    let progress = Progress { doing: "stopping the volume", done: 0, total: 0 };
    let stop = watch(progress).is_break();
    if let Some(offset) = end_bytes.filter(|_| !stop) {
        let len = old_bytes - offset;
        submit_and_wait(&mut stack, Command::Discard { offset, len })
            .result
            .map_err(ToolError::Io)?;
    }
    stack.machine.shut_down();
    submit_and_wait(&mut stack, Command::Flush).result.map_err(ToolError::Io)?;
    if stop { Err(ToolError::Stopped) } else { Ok(()) }
}

/// The root of the new size, and the superblock that means it.
fn commit(
    engine: &mut dyn Engine,
    stopped: &Look,
    after: &Layout,
    watch: &mut Watch,
) -> Result<(), ToolError> {
    let generation = stopped.superblock.root_generation + 1;
    let mut superblock = Superblock {
        shape: after.shape,
        root_generation: generation,
        generation: stopped.superblock.generation + 1,
        ..stopped.superblock
    };
    let offset = after.root_offset(generation);
    let image = encode_root(superblock.id, offset, generation, &new_root(stopped, after));
    assert!(image.len() as u64 <= after.root_bytes, "the root fits its area");
    if watch(Progress { doing: "writing the new size", done: 0, total: 2 }).is_break() {
        return Err(ToolError::Stopped);
    }
    let part_bytes = after.shape.chunk_bytes as usize;
    for (part, number) in image.chunks(part_bytes).zip(0u64..) {
        write(engine, offset + number * part_bytes as u64, part, Durability::Cached)?;
    }
    submit_and_wait(engine, Command::Flush).result.map_err(ToolError::Io)?;
    // The pair of the generation before stays whole until this one is.
    for _ in 0..2 {
        for copy in [superblock.generation % 2, 2 + superblock.generation % 2] {
            let offset = after.copies()[copy as usize];
            let mut image = [0; BLOCK_BYTES as usize];
            superblock.encode(offset, &mut image);
            write(engine, offset, &image, Durability::Fua)?;
        }
        superblock.generation += 1;
    }
    Ok(())
}

fn new_root(stopped: &Look, after: &Layout) -> Root {
    let mut root = stopped.root.clone();
    let gone = root.directory.iter().skip(after.pages as usize);
    assert!(gone.into_iter().all(|page| page.0 == 0), "nothing is mapped beyond the end");
    root.directory.resize(after.pages as usize, (0, 0));
    let before = root.segments.len() as u32;
    assert!(before <= after.segments, "a drive only grows");
    let free = SegmentRecord { state: 0, stream: 0, blocks: 0, last_seq: 0 };
    root.segments.resize(after.segments as usize, free);
    root.free.extend(before..after.segments);
    // With the four copies that follow.
    root.lifetime.drive_blocks += root.blocks() + 4;
    root
}

fn write(
    engine: &mut dyn Engine,
    offset: u64,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), ToolError> {
    let mut buffer = Buf::zeroed(bytes.len());
    buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    let at = Extent { offset, bytes: bytes.len() as u32 };
    let from = Payload::Bytes(buffer);
    let command = Command::Write { at, from, durability };
    submit_and_wait(engine, command).result.map_err(ToolError::Io)
}

/// Somebody else's engine, under a volume for a while; given back with nothing outstanding.
struct Borrowed<'a> {
    engine: &'a mut dyn Engine,
    outstanding: usize,
}

impl<'a> Wrapper for Borrowed<'a> {
    type Inner = dyn Engine + 'a;

    fn inner(&self) -> &Self::Inner {
        self.engine
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        self.engine
    }

    fn on_submit(&mut self, _: &Request) {
        self.outstanding += 1;
    }

    fn on_done(&mut self, done: &mut [Completion]) {
        self.outstanding -= done.len();
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.outstanding > 0 {
            self.wait(Instant::NEVER, &mut done);
        }
    }
}
