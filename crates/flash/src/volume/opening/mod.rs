//! Opening, as a table of named steps: each asks the drive for what it needs and, when all of it
//! has come, decides what follows. Creating a volume is opening too: its steps write.
//!
//! ```text
//!   create: search -> wipe -> ...     superblocks.rs, here
//!   superblocks (-> probe)            superblocks.rs
//!        -> root -> pages             checkpoint.rs
//!        -> walk -> verify -> replay  forward.rs
//!           ring -> records           ring.rs, after walk and after verify
//!        -> epoch -> checkpoint       here, and the open volume itself
//! ```

mod checkpoint;
mod forward;
mod hand_over;
mod look;
mod report;
mod ring;
mod superblocks;

pub(crate) use look::{Look, Purpose};
pub use report::{OpenError, OpenReport, Tail, TailCause};
pub use superblocks::CopyState;

use self::ring::Record;
use super::{blocks::Opened, log::Places, mode, replays::Replay};
use crate::{
    buffers::Buffers,
    down::Down,
    format::{
        Before, Entry, Found, Header, RingMark, Root, RootStream, Superblock, VolumeId, encode_root,
    },
    layout::Layout,
    lifetime::Lifetime,
    map::Map,
    segments::Segments,
    shape::{BLOCK_BYTES, STREAMS},
};
use block::{
    Buf, Command, Completion, Data, Durability, Effects, Extent, Geometry, IoError, Pages, Payload,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The next attempt may succeed; a third one will hardly.
const ATTEMPTS: u32 = 3;
/// Memory for reads under way; one longer than this goes alone. At 1 GB/s they are 8 ms of it.
pub(super) const READ_AHEAD_BYTES: u64 = 8 << 20;

/// Memory for each block behind the checkpoint: its entry, and its part of the chunk's.
pub(super) const ENTRY_MEMORY_BYTES: u64 = size_of::<Entry>() as u64 + 4;

/// The steps, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Of creation: where opening may look, the superblocks of an earlier volume.
    CreateSearch,
    /// Of creation: those overwritten.
    CreateWipe,
    /// Of creation: the root of an empty volume.
    CreateRoot,
    /// Of creation: that root made durable.
    CreateFlush,
    /// Of creation: all four copies.
    CreateSuperblocks,
    /// The first and the last copy of the superblock, then the two others.
    Superblocks,
    /// Where the first and the last copy are gone: the search for the two others.
    Probe,
    /// The root of the newest superblock.
    Root,
    /// The pages of the map.
    Pages,
    /// Headers behind the checkpoint.
    Walk,
    /// Headers of the ring's records.
    Ring,
    /// Data of chunks that no flush is known to cover.
    Verify,
    /// Data of the records that no chunk holds.
    Records,
    /// The map takes in what was found; reads nothing.
    Replay,
    /// A superblock that reserves the epoch.
    Epoch,
    /// A checkpoint with what was found.
    Checkpoint,
    /// Done.
    Open,
    /// Given up.
    Failed,
}

/// What recovery, or creation, hands over to the open volume.
#[derive(Debug)]
pub(super) struct Start {
    pub layout: Layout,
    pub superblock: Superblock,
    pub map: Map,
    pub segments: Segments,
    /// The log's last chunk, and where each stream goes on.
    pub last_seq: u64,
    pub places: Places,
    pub state: mode::State,
    pub report: OpenReport,
    pub opened: Opened,
    pub lifetime: Lifetime,
    pub needs_checkpoint: bool,
    /// Generation of the root that comes next.
    pub next_root: u64,
    /// What was made of the log before this epoch.
    pub before: Before,
    /// What the ring held, newer than the log.
    pub replays: Vec<Replay>,
}

#[derive(Debug)]
struct Located {
    superblock: Superblock,
    layout: Layout,
}

/// A chunk behind the checkpoint.
#[derive(Debug)]
struct Candidate {
    header: Header,
    entries: Vec<Entry>,
    segment: u32,
    /// Block of the segment.
    at: u32,
}

#[derive(Debug)]
struct Walk {
    at: u32,
    /// Something valid was found, or must be: then the rest is searched too.
    known: bool,
    searching: bool,
    /// The first block is neither blank nor of an earlier use: a header that was damaged, or
    /// somebody else's data.
    doubtful: bool,
    /// The block at which the next header would be cannot be read.
    unreadable: bool,
}

#[derive(Debug)]
pub(crate) struct Opening {
    below: Geometry,
    purpose: Purpose,
    step: Step,
    down: Down<u64>,
    /// What was asked for and has not come, sent or not.
    left: u64,
    /// Reads that wait until less is under way, by the step's own keys.
    waiting: VecDeque<(u64, Extent)>,
    /// Of the reads that were sent.
    under_way_bytes: u64,
    buffers: Buffers,
    /// What the step has read, by a key of its own. Steps that read much take each as it comes.
    read: BTreeMap<u64, Result<Buf, IoError>>,
    /// Where each read goes that was sent, and how often it failed.
    asked: BTreeMap<u64, (Extent, u32)>,
    written: Result<(), IoError>,
    attempts: u32,
    found: BTreeMap<u64, Found>,
    volume: Option<Located>,
    root: Root,
    root_stream: RootStream,
    map: Option<Map>,
    pages_lost: Vec<u32>,
    contradictory: Vec<u32>,
    walks: BTreeMap<u32, Walk>,
    /// Segments still to be followed: from which block, and whether something must be there.
    starts: VecDeque<(u32, u32, bool)>,
    candidates: BTreeMap<u64, Candidate>,
    /// Behind an older root, of chunks before the superblock's epoch: the epochs that were seen.
    epochs_before: BTreeSet<u32>,
    /// What this opening makes of the log, for whoever rolls forward over its end again.
    before: Before,
    /// Chunks whose data were read: whether they fit their checksums.
    verified: BTreeMap<u64, Result<bool, IoError>>,
    /// Chunks of the tail that cannot be read in one go, and the locations in them that cannot be
    /// at all.
    in_parts: BTreeSet<u64>,
    unreadable: BTreeSet<u32>,
    /// Of these chunks, by location: block and checksum of what is being read.
    parts: BTreeMap<u64, (u32, u32)>,
    /// Slots of the ring that cannot be read: their offsets.
    unreadable_slots: Vec<u64>,
    /// The last number that counts, and what is said behind it.
    log_end: u64,
    /// The last chunk up to there that is missing, 0 for none; the last such record, and its
    /// `after` or more.
    last_missing: u64,
    last_missing_record: Option<(u64, u64)>,
    cut: Vec<Entry>,
    /// Records of the ring, by number.
    records: BTreeMap<u64, Record>,
    newest_record: u64,
    replays: Vec<Replay>,
    durable_seq: u64,
    /// The second pair of copies says so too.
    all_in_use: bool,
    start: Option<Start>,
    error: Option<OpenError>,
    report: OpenReport,
}

impl Opening {
    pub fn open(below: Geometry, purpose: Purpose) -> Self {
        Self::at(below, Step::Superblocks, purpose)
    }

    pub fn create(below: Geometry, layout: Layout, id: VolumeId) -> Self {
        let superblock = Superblock {
            id,
            generation: 0,
            shape: layout.shape,
            root_bytes: layout.root_bytes,
            epoch: 1,
            epoch_reserved: 1,
            first_seq: 1,
            root_generation: 0,
            durable_seq: 0,
            ring: RingMark::default(),
            before: Before::default(),
            clean: false,
        };
        let segments = Segments::new(&layout);
        let mut root = Root {
            seq: 0,
            lifetime: Lifetime::default(),
            directory: vec![(0, 0); layout.pages as usize],
            segments: segments.records(&[]),
            open: vec![(u32::MAX, 0); STREAMS],
            free: segments.free_list(),
        };
        // With the four superblocks that follow.
        root.lifetime.drive_blocks = root.blocks() + 4;
        let first = match below.data {
            Data::Stored => Step::CreateSearch,
            // There is nothing to be read.
            Data::TimingOnly => Step::CreateRoot,
        };
        let mut opening = Self::at(below, first, Purpose::Use);
        opening.volume = Some(Located { superblock, layout });
        opening.root = root;
        opening
    }

    fn at(below: Geometry, step: Step, purpose: Purpose) -> Self {
        Self {
            below,
            purpose,
            step,
            down: Down::new(below.queue_depth, purpose.reach()),
            left: 0,
            waiting: VecDeque::new(),
            under_way_bytes: 0,
            buffers: Buffers::new(below.data, Pages::Usual, READ_AHEAD_BYTES),
            read: BTreeMap::new(),
            asked: BTreeMap::new(),
            written: Ok(()),
            attempts: 0,
            found: BTreeMap::new(),
            volume: None,
            root: Root::default(),
            root_stream: RootStream::default(),
            map: None,
            pages_lost: Vec::new(),
            contradictory: Vec::new(),
            walks: BTreeMap::new(),
            starts: VecDeque::new(),
            candidates: BTreeMap::new(),
            epochs_before: BTreeSet::new(),
            before: Before::default(),
            verified: BTreeMap::new(),
            in_parts: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            parts: BTreeMap::new(),
            unreadable_slots: Vec::new(),
            log_end: 0,
            last_missing: 0,
            last_missing_record: None,
            cut: Vec::new(),
            records: BTreeMap::new(),
            newest_record: 0,
            replays: Vec::new(),
            durable_seq: 0,
            all_in_use: false,
            start: None,
            error: None,
            report: OpenReport::default(),
        }
    }

    pub fn step(&self) -> Step {
        self.step
    }

    pub fn is_done(&self) -> bool {
        self.left == 0 && (self.error.is_some() || self.start.is_some())
    }

    pub fn drain_into(&mut self, effects: &mut Effects) {
        self.down.drain_into(effects);
    }

    pub(super) fn finish(self) -> Result<Start, OpenError> {
        assert!(self.down.is_idle());
        match (self.error, self.start) {
            (Some(error), _) => Err(error),
            (None, start) => Ok(start.expect("it is done")),
        }
    }

    pub fn start(&mut self) {
        self.ask();
    }

    pub fn on_completion(&mut self, completion: Completion) {
        let key = self.down.take(&completion);
        if let Some((at, failures)) = self.asked.get_mut(&key)
            && !matches!(completion.result, Ok(()) | Err(IoError::Offline))
            && *failures + 1 < ATTEMPTS
        {
            *failures += 1;
            let (at, into) = (*at, completion.payload);
            return self.down.send(key, Command::Read { at, into });
        }
        if let Some((at, _)) = self.asked.remove(&key) {
            self.under_way_bytes -= u64::from(at.bytes);
        }
        self.left -= 1;
        match (completion.payload, self.is_writing()) {
            (_, true) => self.written = self.written.and(completion.result),
            (Payload::Bytes(buffer), false) => {
                self.read.insert(key, completion.result.map(|()| buffer));
            }
            _ => unreachable!("what is read brings its memory"),
        }
        match self.step {
            _ if completion.result == Err(IoError::Offline) => {}
            Step::Probe | Step::CreateSearch => self.probe_on(key),
            Step::Root => self.root_on(key),
            Step::Pages => self.page_on(key),
            Step::Walk => self.walk_on(key),
            Step::Ring => self.slot_on(key),
            Step::Verify => self.verify_on(key),
            _ => {}
        }
        self.send_waiting();
        if self.left == 0 {
            self.conclude();
        }
    }

    fn is_writing(&self) -> bool {
        matches!(
            self.step,
            Step::CreateWipe
                | Step::CreateRoot
                | Step::CreateFlush
                | Step::CreateSuperblocks
                | Step::Epoch
        )
    }

    /// Sends what the step needs; goes on at once where that is nothing.
    fn ask(&mut self) {
        match self.step {
            Step::CreateSearch => self.ask_probe(),
            Step::CreateWipe => self.wipe_superblocks(),
            Step::CreateRoot => self.write_root(),
            Step::CreateFlush => {
                self.left += 1;
                self.down.send(0, Command::Flush);
            }
            Step::CreateSuperblocks => self.write_superblocks(),
            Step::Superblocks => self.ask_superblocks(),
            Step::Probe => self.ask_probe(),
            Step::Root => self.ask_root(),
            Step::Pages => self.ask_pages(),
            Step::Walk => self.ask_heads(),
            Step::Ring => self.ask_ring(),
            Step::Verify => self.ask_tail(),
            Step::Records => self.ask_records(),
            Step::Replay => {}
            Step::Epoch => self.write_superblocks(),
            Step::Checkpoint | Step::Open | Step::Failed => unreachable!("not a step of opening"),
        }
        if self.left == 0 {
            self.conclude();
        }
    }

    /// Everything that was asked for is here.
    fn conclude(&mut self) {
        if self.is_writing() && self.written.is_err() {
            return self.write_again();
        }
        let next = match self.step {
            Step::CreateSearch => Ok(Step::CreateWipe),
            Step::CreateWipe => Ok(Step::CreateRoot),
            Step::CreateRoot => Ok(Step::CreateFlush),
            Step::CreateFlush => Ok(Step::CreateSuperblocks),
            Step::Epoch if self.report.clean && !self.all_in_use => {
                // No copy may go on saying that the volume was stopped: if those of the newest
                // generation were lost, everything since would be. After an unclean stop a
                // checkpoint writes the other two.
                self.all_in_use = true;
                self.located().superblock.generation += 1;
                Ok(Step::Epoch)
            }
            Step::CreateSuperblocks | Step::Epoch => return self.hand_over(),
            Step::Superblocks => self.take_superblocks(),
            Step::Probe => self.take_probe(),
            Step::Root => self.take_root(),
            Step::Pages => self.take_pages(),
            Step::Walk => self.take_walks(),
            Step::Ring => self.take_ring(),
            Step::Verify => self.take_tail(),
            Step::Records => self.take_records(),
            Step::Replay => self.replay(),
            Step::Checkpoint | Step::Open | Step::Failed => unreachable!("not a step of opening"),
        };
        match next {
            _ if self.start.is_some() => {}
            Ok(Step::Open) => self.step = Step::Open,
            Ok(step) => {
                self.step = step;
                self.ask();
            }
            Err(error) => {
                self.step = Step::Failed;
                self.error = Some(error);
            }
        }
    }

    fn write_again(&mut self) {
        let error = self.written.expect_err("the caller looked");
        self.attempts += 1;
        self.written = Ok(());
        if self.attempts == ATTEMPTS || error == IoError::Offline || self.step == Step::CreateFlush
        {
            self.step = Step::Failed;
            self.error = Some(OpenError::Io(error));
        } else {
            self.ask();
        }
    }

    fn send_read(&mut self, key: u64, offset: u64, bytes: u64) {
        self.left += 1;
        self.waiting.push_back((key, Extent { offset, bytes: bytes as u32 }));
        self.send_waiting();
    }

    /// Sends reads that wait, as far as there is memory for them.
    fn send_waiting(&mut self) {
        while let Some(&(key, at)) = self.waiting.front() {
            let bytes = self.under_way_bytes + u64::from(at.bytes);
            let fits =
                bytes <= READ_AHEAD_BYTES && self.asked.len() < self.below.queue_depth as usize;
            if !fits && !self.asked.is_empty() {
                return;
            }
            self.waiting.pop_front();
            self.under_way_bytes = bytes;
            self.asked.insert(key, (at, 0));
            let into = self.buffers.take(u64::from(at.bytes));
            self.down.send(key, Command::Read { at, into });
        }
    }

    /// What was read under a key; its memory is given back by whoever takes it.
    fn take_read(&mut self, key: u64) -> Result<Buf, IoError> {
        self.read.remove(&key).expect("it was just read")
    }

    fn give_back(&mut self, read: Result<Buf, IoError>) {
        if let Ok(buffer) = read {
            self.buffers.give(Payload::Bytes(buffer));
        }
    }

    /// The drive went away while a step was reading.
    fn refuse_offline(&mut self) -> Result<(), OpenError> {
        let offline = self.read.values().any(|read| matches!(read, Err(IoError::Offline)));
        self.read.clear();
        if offline { Err(OpenError::Io(IoError::Offline)) } else { Ok(()) }
    }

    fn send_write(&mut self, offset: u64, image: &[u8], durability: Durability) {
        self.left += 1;
        let from = match self.below.data {
            Data::TimingOnly => Payload::None,
            Data::Stored => {
                let mut buffer = Buf::zeroed(image.len());
                buffer.bytes_mut()[..image.len()].copy_from_slice(image);
                Payload::Bytes(buffer)
            }
        };
        let at = Extent { offset, bytes: image.len() as u32 };
        self.down.send(0, Command::Write { at, from, durability });
    }

    fn located(&mut self) -> &mut Located {
        self.volume.as_mut().expect("the superblock was read")
    }

    fn layout(&self) -> &Layout {
        &self.volume.as_ref().expect("the superblock was read").layout
    }

    fn superblock(&self) -> &Superblock {
        &self.volume.as_ref().expect("the superblock was read").superblock
    }

    fn write_root(&mut self) {
        let (id, offset) = (self.superblock().id, self.layout().root_offset(0));
        let image = encode_root(id, offset, 0, &self.root);
        let part_bytes = self.layout().shape.chunk_bytes as usize;
        for (part, number) in image.chunks(part_bytes).zip(0u64..) {
            self.send_write(offset + number * part_bytes as u64, part, Durability::Cached);
        }
    }

    /// Of a new volume generation 0 and 1; of an opened one the next, with its epoch reserved.
    fn write_superblocks(&mut self) {
        let (layout, superblock) = (*self.layout(), *self.superblock());
        let generations: Vec<Superblock> = match self.step {
            Step::CreateSuperblocks => {
                vec![superblock, Superblock { generation: superblock.generation + 1, ..superblock }]
            }
            _ => {
                self.root.lifetime.drive_blocks += 2;
                vec![superblock]
            }
        };
        for superblock in generations {
            for offset in layout.copies_of(superblock.generation) {
                let mut image = [0; BLOCK_BYTES as usize];
                superblock.encode(offset, &mut image);
                self.send_write(offset, &image, Durability::Fua);
            }
        }
    }
}
