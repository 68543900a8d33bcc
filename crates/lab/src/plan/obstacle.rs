//! Why a cell cannot run on a target: found before anything is written, said with the cure.

use super::{Options, area, until};
use crate::{
    method::{CacheState, CellSpec},
    target::{Access, Offer, Time},
    workload::{Caching, Contents, Op, Pages, Stream, tree::TreeCell},
};
use block::display_bytes;
use record::CacheDrop;

/// Why a cell cannot run on a target.
pub(super) fn obstacle(
    cell: &CellSpec,
    offer: &Offer,
    options: &Options,
    span_bytes: u64,
) -> Option<String> {
    if cell.writes() {
        if options.reads_only {
            return Some("it writes, and --reads-only was given".to_owned());
        }
        if let Access::ReadOnly(reason) = &offer.access {
            return Some(reason.clone());
        }
    }
    if options.until.is_some()
        && let Some(reason) = until::obstacle(cell)
    {
        return Some(reason);
    }
    if let Some(tree) = &cell.tree {
        return tree_obstacle(tree, offer, options, span_bytes);
    }
    let undroppable = match cell.cache {
        CacheState::Dropped(CacheDrop::Machine) => offer.drop_machine.as_ref().err(),
        CacheState::Dropped(CacheDrop::Remount) => offer.remount.as_ref().err(),
        CacheState::Dropped(CacheDrop::File) | CacheState::AsIs => None,
    };
    if let Some(reason) = undroppable {
        return Some(reason.clone());
    }
    let buffers = buffer_bytes(cell);
    // Where only the time is real, operations carry no memory.
    let in_memory = offer.time == Time::Wall && offer.memory_bytes > 0;
    if in_memory && buffers > offer.memory_bytes / 2 {
        return Some(format!(
            "its buffers would take {} of {} of memory: use fewer threads, a lower depth or \
             smaller blocks",
            display_bytes(buffers),
            display_bytes(offer.memory_bytes)
        ));
    }
    let each = |stream: &Stream| stream_obstacle(cell, stream, offer, span_bytes);
    cell.streams.iter().find_map(each)
}

/// Why one of its streams cannot.
fn stream_obstacle(
    cell: &CellSpec,
    stream: &Stream,
    offer: &Offer,
    span_bytes: u64,
) -> Option<String> {
    if stream.contents == Contents::Stamped && offer.time == Time::Virtual {
        return Some(
            "its data are read back and checked, and a model keeps none: name a directory, a \
             device or `memory:SIZE`"
                .to_owned(),
        );
    }
    let direct = stream.io.caching == Caching::Direct && !stream.engine.is_stdio();
    if direct && let Err(reason) = &offer.direct {
        return Some(reason.clone());
    }
    if stream.io.pages == Pages::Huge
        && let Err(reason) = &offer.huge_pages
    {
        return Some(reason.clone());
    }
    if direct && let Some(reason) = misplaced(stream, offer) {
        return Some(reason);
    }
    if stream.engine.is_stdio()
        && let Err(reason) = &offer.stdio
    {
        return Some(reason.clone());
    }
    if !direct && let Err(reason) = &offer.buffered {
        return Some(reason.clone());
    }
    // Where no C library gathers bytes, a model's page cache moves whole blocks.
    let is_model = offer.time == Time::Virtual && offer.stdio.is_err();
    if !direct && is_model && !stream.align_bytes().is_multiple_of(offer.block_bytes) {
        return Some(format!(
            "block = {} B is not a multiple of the model's block of {} B: set a block that is",
            stream.align_bytes(),
            offer.block_bytes
        ));
    }
    let needed = match stream.op {
        Op::Trim => &offer.trim,
        Op::WriteZeroes => &offer.write_zeroes,
        _ => &Ok(()),
    };
    if let Err(reason) = needed {
        return Some(reason.clone());
    }
    let room = stream.room_bytes(area(cell, stream, span_bytes));
    if room < u64::from(stream.block_bytes) {
        return Some(format!(
            "a block of {} does not fit the {} it would work on: raise --size{}",
            display_bytes(u64::from(stream.block_bytes)),
            display_bytes(room),
            match stream.offset_increment_bytes {
                0 => "",
                _ => ", or lower `offset_increment` or `threads`",
            }
        ));
    }
    None
}

/// Why direct I/O, which moves whole blocks of the target's, cannot do a stream.
fn misplaced(stream: &Stream, offer: &Offer) -> Option<String> {
    if !stream.align_bytes().is_multiple_of(offer.block_bytes) {
        return Some(format!(
            "block = {} B is not a multiple of the target's logical block of {} B: direct I/O \
             needs whole blocks; use such a block, or --io buffered{}",
            stream.align_bytes(),
            offer.block_bytes,
            // fio's kB has 1024.
            match stream.align_bytes().is_multiple_of(1000) {
                true => "; kB and MB are powers of 1000, K and M of 1024",
                false => "",
            }
        ));
    }
    let start_bytes = stream.place.map_or(0, |place| place.start.bytes);
    if !start_bytes.is_multiple_of(u64::from(offer.block_bytes)) {
        return Some(format!(
            "its part starts at {start_bytes} B, which is no multiple of the target's logical \
             block of {} B: direct I/O starts on whole blocks; use such a start, or buffered I/O",
            offer.block_bytes
        ));
    }
    if !stream.shift_bytes.is_multiple_of(u64::from(offer.block_bytes)) {
        return Some(format!(
            "shift = {} B is not a multiple of the target's logical block of {} B: direct I/O \
             starts on whole blocks; use such a shift, or --io buffered",
            stream.shift_bytes, offer.block_bytes
        ));
    }
    if !stream.offset_increment_bytes.is_multiple_of(u64::from(offer.block_bytes)) {
        return Some(format!(
            "offset_increment = {} B is not a multiple of the target's logical block of {} B: \
             direct I/O starts on whole blocks; use such an increment, or --io buffered",
            stream.offset_increment_bytes, offer.block_bytes
        ));
    }
    None
}

/// Why a tree cannot be made on a target, beside the scratch file.
fn tree_obstacle(
    tree: &TreeCell,
    offer: &Offer,
    options: &Options,
    span_bytes: u64,
) -> Option<String> {
    let files_max = match &offer.files_max {
        Ok(files) => *files,
        Err(reason) => return Some(reason.clone()),
    };
    let layout = &tree.layout;
    let inodes = layout.files + layout.directories_all() as u64 + 1;
    if inodes > files_max {
        return Some(format!(
            "its tree has {inodes} files and directories, and the file system has room for {files_max} more: lower \
             --set files="
        ));
    }
    let room = offer.capacity_bytes.saturating_sub(span_bytes);
    let space = layout.space_bytes(options.seed);
    (space > room).then(|| {
        format!(
            "its tree of {} files takes up to {}, and there is room for {} beside the scratch \
             file: lower --set files= or --set file_size=",
            layout.files,
            display_bytes(space),
            display_bytes(room)
        )
    })
}

/// Memory of all operations in flight.
fn buffer_bytes(cell: &CellSpec) -> u64 {
    let each = |stream: &Stream| {
        let bytes = if stream.op.carries_nothing() { 0 } else { stream.block_bytes };
        u64::from(stream.threads) * u64::from(stream.queue_depth) * u64::from(bytes)
    };
    // The streams of a replay share one queue.
    let streams = if cell.replay.is_some() { 1 } else { cell.streams.len() };
    cell.streams.iter().take(streams).map(each).sum()
}
