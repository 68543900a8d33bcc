//! What tests outside this crate see of a volume's inside, and nothing else does: the on-disk
//! structures, what an opening would find, and the rules that tests break on purpose. Feature
//! `testing`; the rules can be broken with the feature `broken-rules` alone.

pub use crate::{
    format::{
        Before, Entry, Found, Header, Kind, RecordHeader, RecordMark, RingMark, Root,
        SegmentRecord, Superblock, block_crc, decode_chunk, decode_record, decode_root,
        encode_root, reseal,
    },
    layout::copies,
    map::{LOST, UNMAPPED},
    shape::{META as META_STREAM, STREAMS},
};

#[cfg(feature = "broken-rules")]
pub use crate::broken::{Rule, break_rule};

use crate::{
    Layout,
    segments::State,
    tools::{ToolError, Watch},
};
use block::Engine;

/// What is on a drive, as opening it would find it.
#[derive(Debug)]
pub struct View {
    /// The newest superblock.
    pub superblock: Superblock,
    /// Where it puts everything.
    pub layout: Layout,
    /// The root that it names.
    pub root: Root,
    /// Every mapped or lost block and its location, in order, with what was rolled forward.
    pub map: Vec<(u32, u32)>,
    /// So many of them are mapped.
    pub mapped: u32,
    /// Every segment, in order.
    pub segments: Vec<SegmentView>,
}

/// How a segment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentView {
    /// What wrote to it last.
    pub stream: u8,
    /// Blocks written, with headers and padding.
    pub blocks: u32,
    /// Blocks that the map or the directory points to.
    pub live: u32,
    /// Whether it is full and holds something.
    pub is_closed: bool,
}

/// Looks at a volume that nobody uses, as its opening would. Writes nothing.
///
/// # Errors
/// If the volume could not be opened, or `watch` said to stop.
pub fn look(engine: &mut dyn Engine, watch: &mut Watch) -> Result<View, ToolError> {
    let found = crate::tools::look(engine, watch)?;
    let segments = found.segments.iter().map(|(_, segment)| SegmentView {
        stream: segment.stream,
        blocks: segment.blocks,
        live: segment.live,
        is_closed: segment.state == State::Closed,
    });
    Ok(View {
        superblock: found.superblock,
        layout: found.layout,
        root: found.root,
        map: found.map.iter().collect(),
        mapped: found.map.mapped(),
        segments: segments.collect(),
    })
}
