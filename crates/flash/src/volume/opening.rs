//! Opening, as a table of named steps: each asks the drive for what it needs and, when all of it has
//! come, decides what follows. Creating a volume is opening too: its steps write.

use super::core::{Core, Gate, Opened, Settings, Start};
use super::log::{Log, Stream};
use crate::broken::{Rule, broken};
use crate::{
    down::Down,
    format::{
        Entry, Found, Header, Kind, Root, Superblock, VolumeId, block_crc, decode_chunk,
        decode_root, encode_root,
    },
    layout::{BLOCK_BYTES, Layout, Refusal, STREAMS, copies},
    map::{LOST, Map, UNMAPPED},
    segments::{Segment, Segments, State},
};
use block::{
    Buf, Command, Completion, Data, Durability, Effects, Extent, Geometry, Instant, IoError,
    Payload,
};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

/// The next attempt may succeed; a third one will hardly.
const ATTEMPTS: u32 = 3;

/// The steps, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Of creation: the root of an empty volume.
    CreateRoot,
    /// Of creation: that root made durable.
    CreateFlush,
    /// Of creation: all four copies.
    CreateSuperblocks,
    /// The first and the last copy of the superblock, then the two others.
    Superblocks,
    /// The root of the newest superblock.
    Root,
    /// The pages of the map.
    Pages,
    /// Headers behind the checkpoint.
    Walk,
    /// Data of chunks that no flush is known to cover.
    Verify,
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

/// Why a volume could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// No copy of a superblock is where one should be.
    NoVolume,
    /// It was made by a newer version, or needs what this one does not have.
    Unknown {
        /// Of the format.
        version: u32,
        /// Needed to read it.
        features: u32,
    },
    /// The drive was larger when the volume was created.
    Shrunk {
        /// Then.
        created_bytes: u64,
        /// Now.
        bytes: u64,
    },
    /// The superblock is whole, and describes what cannot be.
    Shape(Refusal),
    /// A block of the root is damaged.
    Root {
        /// Its offset.
        offset: u64,
    },
    /// The drive failed.
    Io(IoError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVolume => formatter.write_str("no managed flash volume is there"),
            Self::Unknown { version, features } => write!(
                formatter,
                "the volume has format {version} with features {features:#x}: a newer drivelab reads it"
            ),
            Self::Shrunk { created_bytes, bytes } => write!(
                formatter,
                "the drive had {created_bytes} B when the volume was created and has {bytes} B now"
            ),
            Self::Shape(refusal) => write!(formatter, "the superblock makes no sense: {refusal}"),
            Self::Root { offset } => {
                write!(formatter, "the root of the map is damaged at offset {offset}")
            }
            Self::Io(error) => write!(formatter, "the drive failed: {error:?}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// What opening found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenReport {
    /// Copies of the superblock that are damaged or older than they should be, of four.
    pub superblocks_damaged: u32,
    /// It had been stopped cleanly.
    pub clean: bool,
    /// Pages of the map that were read.
    pub pages_read: u64,
    /// Pages that could not be.
    pub pages_lost: u64,
    /// Headers that were read behind the checkpoint.
    pub headers_read: u64,
    /// Segments that were looked at; at most W and what checkpoints need.
    pub segments_walked: u64,
    /// Chunks that were rolled forward.
    pub chunks_replayed: u64,
    /// Entries of these.
    pub entries_replayed: u64,
    /// Chunks beyond the end of the log: the torn tail.
    pub chunks_cut: u64,
    /// Chunks that a flush had covered and that are not there.
    pub chunks_missing: u64,
    /// First sequence number of this epoch: where the tail was cut.
    pub first_seq: u64,
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
}

#[derive(Debug)]
pub(super) struct Opening {
    below: Geometry,
    step: Step,
    down: Down<u64>,
    left: u32,
    /// What the step has read, by a key of its own.
    read: BTreeMap<u64, Result<Buf, IoError>>,
    /// Where each read goes, and how often it failed.
    asked: BTreeMap<u64, (Extent, u32)>,
    written: Result<(), IoError>,
    attempts: u32,
    found: BTreeMap<u64, Found>,
    volume: Option<Located>,
    root: Root,
    map: Option<Map>,
    walks: BTreeMap<u32, Walk>,
    candidates: BTreeMap<u64, Candidate>,
    durable_seq: u64,
    start: Option<Start>,
    error: Option<OpenError>,
    report: OpenReport,
}

impl Opening {
    pub fn open(below: Geometry) -> Self {
        Self::at(below, Step::Superblocks)
    }

    pub fn create(below: Geometry, layout: Layout, id: VolumeId) -> Self {
        let superblock = Superblock {
            id,
            generation: 0,
            shape: layout.shape,
            epoch: 1,
            epoch_reserved: 1,
            first_seq: 1,
            root_generation: 0,
            durable_seq: 0,
            clean: false,
        };
        let segments = Segments::new(layout.segments);
        let root = Root {
            seq: 0,
            directory: vec![(0, 0); layout.pages as usize],
            segments: segments.records(&[]),
            open: vec![(u32::MAX, 0); STREAMS],
            free: segments.queue.iter().copied().collect(),
        };
        let mut opening = Self::at(below, Step::CreateRoot);
        opening.volume = Some(Located { superblock, layout });
        opening.root = root;
        opening
    }

    fn at(below: Geometry, step: Step) -> Self {
        Self {
            below,
            step,
            down: Down::new(below.queue_depth),
            left: 0,
            read: BTreeMap::new(),
            asked: BTreeMap::new(),
            written: Ok(()),
            attempts: 0,
            found: BTreeMap::new(),
            volume: None,
            root: Root::default(),
            map: None,
            walks: BTreeMap::new(),
            candidates: BTreeMap::new(),
            durable_seq: 0,
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

    pub fn finish(
        self,
        below: Geometry,
        settings: Settings,
        now: Instant,
    ) -> Result<Core, OpenError> {
        assert!(self.down.is_idle());
        match (self.error, self.start) {
            (Some(error), _) => Err(error),
            (None, start) => Ok(Core::new(below, settings, now, start.expect("it is done"))),
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
        self.asked.remove(&key);
        self.left -= 1;
        match (completion.payload, self.is_writing()) {
            (_, true) => self.written = self.written.and(completion.result),
            (Payload::Bytes(buffer), false) => {
                self.read.insert(key, completion.result.map(|()| buffer));
            }
            _ => unreachable!("what is read brings its memory"),
        }
        if self.step == Step::Walk && completion.result != Err(IoError::Offline) {
            self.walk_on(key);
        }
        if self.left == 0 {
            self.conclude();
        }
    }

    fn is_writing(&self) -> bool {
        matches!(
            self.step,
            Step::CreateRoot | Step::CreateFlush | Step::CreateSuperblocks | Step::Epoch
        )
    }

    /// Sends what the step needs; goes on at once where that is nothing.
    fn ask(&mut self) {
        match self.step {
            Step::CreateRoot => self.write_root(),
            Step::CreateFlush => {
                self.left += 1;
                self.down.send(0, Command::Flush);
            }
            Step::CreateSuperblocks => self.write_superblocks(),
            Step::Superblocks => self.ask_superblocks(),
            Step::Root => self.ask_root(),
            Step::Pages => self.ask_pages(),
            Step::Walk => self.ask_heads(),
            Step::Verify => self.ask_tail(),
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
            Step::CreateRoot => Ok(Step::CreateFlush),
            Step::CreateFlush => Ok(Step::CreateSuperblocks),
            Step::CreateSuperblocks | Step::Epoch => return self.hand_over(),
            Step::Superblocks => self.take_superblocks(),
            Step::Root => self.take_root(),
            Step::Pages => self.take_pages(),
            Step::Walk => self.take_walks(),
            Step::Verify => self.take_tail(),
            Step::Replay => self.replay(),
            Step::Checkpoint | Step::Open | Step::Failed => unreachable!("not a step of opening"),
        };
        match next {
            _ if self.start.is_some() => {}
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
        let into = Payload::Bytes(Buf::zeroed(bytes as usize));
        let at = Extent { offset, bytes: bytes as u32 };
        self.asked.insert(key, (at, 0));
        self.down.send(key, Command::Read { at, into });
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

    fn layout(&self) -> &Layout {
        &self.volume.as_ref().expect("the superblock was read").layout
    }

    fn superblock(&self) -> &Superblock {
        &self.volume.as_ref().expect("the superblock was read").superblock
    }

    // ------------------------------------------------------------------------------ creation

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
        let places = self.layout().copies();
        let superblock = *self.superblock();
        let generations: Vec<Superblock> = match self.step {
            Step::CreateSuperblocks => {
                vec![superblock, Superblock { generation: superblock.generation + 1, ..superblock }]
            }
            _ => vec![superblock],
        };
        for superblock in generations {
            for copy in [superblock.generation % 2, 2 + superblock.generation % 2] {
                let mut image = [0; BLOCK_BYTES as usize];
                superblock.encode(places[copy as usize], &mut image);
                self.send_write(places[copy as usize], &image, Durability::Fua);
            }
        }
    }

    // ---------------------------------------------------------------------------- superblocks

    fn ask_superblocks(&mut self) {
        let places = match self.newest() {
            None => copies(self.below.capacity_bytes, BLOCK_BYTES).to_vec(),
            Some(Superblock { shape, .. }) => {
                copies(shape.device_bytes, shape.unit_bytes()).to_vec()
            }
        };
        let whole = self.below.capacity_bytes / BLOCK_BYTES * BLOCK_BYTES;
        for offset in places {
            if offset < whole
                && !self.found.contains_key(&offset)
                && !self.read.contains_key(&offset)
            {
                self.found.insert(offset, Found::Nothing);
                self.send_read(offset, offset, BLOCK_BYTES);
            }
        }
    }

    fn newest(&self) -> Option<Superblock> {
        let valid = self.found.values().filter_map(|found| match found {
            Found::Valid(superblock) => Some(*superblock),
            _ => None,
        });
        valid.max_by_key(|superblock| superblock.generation)
    }

    fn take_superblocks(&mut self) -> Result<Step, OpenError> {
        let news = !self.read.is_empty();
        for (offset, read) in std::mem::take(&mut self.read) {
            let found = match read {
                Ok(buffer) => Superblock::decode(offset, buffer.bytes()),
                Err(IoError::Offline) => return Err(OpenError::Io(IoError::Offline)),
                Err(_) => Found::Nothing,
            };
            self.found.insert(offset, found);
        }
        if news && self.newest().is_some() {
            // Now that the unit is known, the other two are.
            return Ok(Step::Superblocks);
        }
        let unknown = self.found.values().find_map(|found| match found {
            Found::Unknown { version, features } => {
                Some(OpenError::Unknown { version: *version, features: *features })
            }
            _ => None,
        });
        let superblock = self.newest().ok_or(unknown.unwrap_or(OpenError::NoVolume))?;
        let (created_bytes, bytes) = (superblock.shape.device_bytes, self.below.capacity_bytes);
        if bytes < created_bytes {
            return Err(OpenError::Shrunk { created_bytes, bytes });
        }
        let layout = Layout::new(superblock.shape, u64::from(self.below.transfer_bytes_max))
            .map_err(OpenError::Shape)?;
        let whole = |(copy, offset): (u64, u64)| {
            let generation = superblock.generation - (superblock.generation + copy) % 2;
            matches!(self.found.get(&offset), Some(Found::Valid(found)) if found.generation == generation)
        };
        let copies = (0..).zip(layout.copies());
        self.report.superblocks_damaged = copies.filter(|&copy| !whole(copy)).count() as u32;
        self.report.clean = superblock.clean;
        self.durable_seq = superblock.durable_seq;
        self.volume = Some(Located { superblock, layout });
        Ok(Step::Root)
    }

    // ------------------------------------------------------------------------------ checkpoint

    fn ask_root(&mut self) {
        let (offset, bytes) = {
            let layout = self.layout();
            (layout.root_offset(self.superblock().root_generation), layout.root_bytes)
        };
        let part = self.layout().shape.chunk_bytes;
        for start in (0..bytes).step_by(part as usize) {
            self.send_read(start, offset + start, part.min(bytes - start));
        }
    }

    fn take_root(&mut self) -> Result<Step, OpenError> {
        let (superblock, layout) = (*self.superblock(), *self.layout());
        let offset = layout.root_offset(superblock.root_generation);
        let mut image = vec![0; layout.root_bytes as usize];
        for (start, read) in std::mem::take(&mut self.read) {
            // What cannot be read stays zero, which is no root.
            if let Ok(buffer) = read {
                let start = start as usize;
                let length = buffer.bytes().len().min(image.len() - start);
                image[start..start + length].copy_from_slice(&buffer.bytes()[..length]);
            }
        }
        let root = decode_root(superblock.id, offset, superblock.root_generation, &image)
            .map_err(|offset| OpenError::Root { offset })?;
        let known = |&segment: &u32| segment < layout.segments;
        let sane = root.directory.len() == layout.pages as usize
            && root.segments.len() == layout.segments as usize
            && root.open.len() == STREAMS
            && root.free.iter().all(known)
            && root.open.iter().all(|(segment, _)| *segment == u32::MAX || known(segment))
            && root.directory.iter().all(|page| page.0 == 0 || layout.contains(page.0));
        if !sane {
            return Err(OpenError::Root { offset });
        }
        self.durable_seq = self.durable_seq.max(root.seq);
        self.root = root;
        Ok(Step::Pages)
    }

    fn ask_pages(&mut self) {
        let mut map = Map::new(self.layout());
        map.directory = self.root.directory.clone();
        for (page, &(location, _)) in (0..).zip(&self.root.directory.clone()) {
            if location != 0 {
                self.send_read(page, Layout::offset(location), BLOCK_BYTES);
            }
        }
        self.map = Some(map);
    }

    fn take_pages(&mut self) -> Result<Step, OpenError> {
        let layout = *self.layout();
        let map = self.map.as_mut().expect("the pages were asked for");
        for (page, read) in std::mem::take(&mut self.read) {
            let page = page as u32;
            self.report.pages_read += 1;
            let good = read.is_ok_and(|buffer| map.decode(&layout, page, buffer.bytes()));
            if !good {
                self.report.pages_lost += 1;
                if !broken(Rule::LostPages) {
                    map.lose(page, layout.exported_blocks);
                }
            }
        }
        Ok(Step::Walk)
    }

    // ----------------------------------------------------------------------------- roll forward

    /// The next header of each segment that may have been appended to.
    fn ask_heads(&mut self) {
        if self.superblock().clean {
            return;
        }
        let bound = self.layout().scan_bound() as usize;
        let mut starts: Vec<(u32, u32, bool)> =
            self.root.free.iter().take(bound).map(|&segment| (segment, 0, false)).collect();
        let open = self.root.open.iter().filter(|(segment, _)| *segment != u32::MAX);
        starts.extend(open.map(|&(segment, at)| (segment, at, true)));
        for (segment, at, known) in starts {
            self.report.segments_walked += 1;
            self.walks.insert(segment, Walk { at, known, searching: false });
            self.ask_next(segment);
        }
    }

    fn ask_next(&mut self, segment: u32) {
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let rest = layout.segment_blocks - walk.at.min(layout.segment_blocks);
        let header = layout.header_blocks;
        if rest <= header {
            return;
        }
        let blocks = if walk.searching { layout.chunk_blocks.min(rest) } else { header };
        let offset = Layout::offset(layout.location(segment) + walk.at);
        self.send_read(u64::from(segment), offset, u64::from(blocks) * BLOCK_BYTES);
    }

    /// A header of the segment, or a stretch to be searched for one, has come.
    fn walk_on(&mut self, key: u64) {
        let segment = key as u32;
        let read = self.read.remove(&key).expect("it was just read");
        let layout = *self.layout();
        let walk = &self.walks[&segment];
        let (at, searching, known) = (walk.at, walk.searching, walk.known);
        let stretch = if searching { layout.chunk_blocks } else { 1 };
        let end = (at + stretch).min(layout.segment_blocks);
        let found = read.ok().and_then(|buffer| {
            let mut places = (at..end).step_by(layout.append_blocks as usize);
            places.find_map(|place| {
                let start = (place - at) as usize * BLOCK_BYTES as usize;
                let length = layout.header_blocks as usize * BLOCK_BYTES as usize;
                let bytes = buffer.bytes().get(start..start + length)?;
                Some((place, self.header_at(segment, place, bytes)?))
            })
        });
        self.report.headers_read += 1;
        let walk = self.walks.get_mut(&segment).expect("the segment is walked");
        match found {
            Some((place, (header, entries))) => {
                walk.at = place + header.blocks.max(1);
                (walk.known, walk.searching) = (true, false);
                self.take_chunk(segment, place, header, entries);
            }
            // Behind a damaged header there may be good ones; in a segment never begun there are none.
            None if !known => return,
            None if searching => walk.at = end.next_multiple_of(layout.append_blocks),
            None => {
                walk.searching = true;
                walk.at += layout.append_blocks;
            }
        }
        self.ask_next(segment);
    }

    /// The chunk there, if it is one that was appended behind the checkpoint.
    fn header_at(&self, segment: u32, at: u32, bytes: &[u8]) -> Option<(Header, Vec<Entry>)> {
        let (superblock, layout) = (self.superblock(), self.layout());
        let offset = Layout::offset(layout.location(segment) + at);
        let (header, entries) = decode_chunk(superblock.id, offset, bytes)?;
        let fits = header.blocks <= layout.segment_blocks - at
            && usize::from(header.stream) < STREAMS
            && entries.iter().filter(|entry| entry.kind.has_data()).count() as u32
                + layout.header_blocks
                <= header.blocks;
        let of_epoch = header.epoch == superblock.epoch || broken(Rule::Epoch);
        let counts = of_epoch && header.seq > self.root.seq;
        (fits && counts).then_some((header, entries))
    }

    fn take_chunk(&mut self, segment: u32, at: u32, header: Header, entries: Vec<Entry>) {
        self.durable_seq = self.durable_seq.max(header.durable_seq);
        let newer = self
            .candidates
            .get(&header.seq)
            .is_none_or(|other| other.header.attempt < header.attempt);
        if newer {
            self.candidates.insert(header.seq, Candidate { header, entries, segment, at });
        }
    }

    fn take_walks(&mut self) -> Result<Step, OpenError> {
        let offline = self.read.values().any(|read| matches!(read, Err(IoError::Offline)));
        self.read.clear();
        if offline { Err(OpenError::Io(IoError::Offline)) } else { Ok(Step::Verify) }
    }

    /// The data of what no flush is known to cover, as far as the numbers have no gap.
    fn ask_tail(&mut self) {
        let layout = *self.layout();
        let tail: Vec<(u64, u64, u32)> = self
            .candidates
            .range(self.durable_seq + 1..)
            .zip(self.durable_seq + 1..)
            .take_while(|((seq, _), expected)| *seq == expected)
            .map(|((&seq, chunk), _)| {
                let place = layout.location(chunk.segment) + chunk.at;
                (seq, Layout::offset(place), chunk.header.blocks)
            })
            .collect();
        for (seq, offset, blocks) in tail {
            self.send_read(seq, offset, u64::from(blocks) * BLOCK_BYTES);
        }
    }

    /// Where the log ends: before the first number beyond D that is missing or damaged.
    fn take_tail(&mut self) -> Result<Step, OpenError> {
        let header_blocks = self.layout().header_blocks as usize;
        let mut end = self.durable_seq;
        for (seq, read) in std::mem::take(&mut self.read) {
            let chunk = &self.candidates[&seq];
            let whole = read.is_ok_and(|buffer| {
                let data = buffer.bytes().chunks_exact(BLOCK_BYTES as usize).skip(header_blocks);
                let entries = chunk.entries.iter().filter(|entry| entry.kind.has_data());
                entries.zip(data).all(|(entry, data)| block_crc(entry.block, data) == entry.crc)
            });
            if !whole && !broken(Rule::TornTail) {
                break;
            }
            end = seq;
        }
        if broken(Rule::NoCutBelowDurable) {
            let first = self.root.seq + 1;
            let gap = (first..).find(|seq| !self.candidates.contains_key(seq));
            end = end.min(gap.expect("numbers end") - 1);
        }
        self.report.first_seq = end + 1;
        let cut = self.candidates.split_off(&(end + 1));
        self.report.chunks_cut = cut.len() as u64;
        let behind = end - self.root.seq.min(end);
        self.report.chunks_missing = behind - self.candidates.len() as u64;
        Ok(Step::Replay)
    }

    fn replay(&mut self) -> Result<Step, OpenError> {
        let layout = *self.layout();
        let map = self.map.as_mut().expect("the pages were read");
        for chunk in self.candidates.values() {
            self.report.chunks_replayed += 1;
            self.report.entries_replayed += chunk.entries.len() as u64;
            let mut location = layout.location(chunk.segment) + chunk.at + layout.header_blocks;
            for entry in &chunk.entries {
                apply(map, &layout, entry, location);
                location += u32::from(entry.kind.has_data());
            }
        }
        let volume = self.volume.as_mut().expect("the superblock was read");
        let epoch = volume.superblock.epoch_reserved + 1;
        volume.superblock.epoch_reserved = epoch;
        volume.superblock.generation += 1;
        if volume.superblock.clean {
            volume.superblock.clean = false;
            (volume.superblock.epoch, volume.superblock.first_seq) = (epoch, self.report.first_seq);
        }
        if self.damaged() { self.read_only() } else { Ok(Step::Epoch) }
    }

    fn damaged(&self) -> bool {
        self.report.pages_lost > 0 || self.report.chunks_missing > 0
    }

    /// On doubt nothing is written at all.
    fn read_only(&mut self) -> Result<Step, OpenError> {
        self.hand_over();
        Ok(Step::Replay)
    }

    // ---------------------------------------------------------------------------------- the end

    /// Everything is known: the open volume takes over.
    fn hand_over(&mut self) {
        let created = self.step == Step::CreateSuperblocks;
        let volume = self.volume.take().expect("the superblock is known");
        let Located { mut superblock, layout } = volume;
        if created {
            superblock.generation += 1;
            self.report.first_seq = 1;
            self.map = Some(Map::new(&layout));
        }
        let map = self.map.take().expect("the pages were read");
        let (segments, places, opened) = self.segments(&layout, &map);
        let last_seq = self.report.first_seq - 1;
        let gate = if self.damaged() { Gate::ReadOnly } else { Gate::Open };
        self.start = Some(Start {
            layout,
            superblock,
            map,
            segments,
            log: Log::new(superblock.epoch_reserved, last_seq, places),
            gate,
            report: self.report,
            opened,
            needs_checkpoint: !created && !self.report.clean,
        });
    }

    /// The segments as root and chunks say, live blocks counted, and where each stream goes on.
    fn segments(
        &self,
        layout: &Layout,
        map: &Map,
    ) -> (Segments, [Option<(u32, u32)>; STREAMS], Opened) {
        let mut segments = Segments::new(layout.segments);
        for (entry, record) in segments.table.iter_mut().zip(&self.root.segments) {
            *entry = Segment::from_record(record).unwrap_or(*entry);
        }
        let mut places: [Option<(u32, u32)>; STREAMS] = [None; STREAMS];
        for &segment in &self.root.free {
            let entry = segments.get_mut(segment);
            if entry.state != State::Retired {
                entry.state = State::Free;
            }
        }
        for (&(segment, at), place) in self.root.open.iter().zip(&mut places) {
            if segment != u32::MAX && segments.get(segment).state != State::Retired {
                segments.get_mut(segment).state = State::Open;
                *place = Some((segment, at));
            }
        }
        let mut opened = Opened::default();
        for (&seq, chunk) in &self.candidates {
            let entry = segments.get_mut(chunk.segment);
            if entry.state == State::Free {
                (entry.state, entry.stream, entry.blocks) = (State::Open, chunk.header.stream, 0);
                opened.all += 1;
                opened.window += u32::from(chunk.header.stream != Stream::Meta.number());
            }
            entry.blocks = entry.blocks.max(chunk.at + chunk.header.blocks);
            entry.last_seq = seq;
            let blocks = entry.blocks;
            if entry.state != State::Retired {
                places[usize::from(chunk.header.stream)] = Some((chunk.segment, blocks));
            }
        }
        for place in &mut places {
            *place = place.filter(|(_, at)| layout.segment_blocks - at >= layout.least_blocks());
        }
        let mapped = map.iter().map(|(_, location)| location).filter(|&location| location > LOST);
        let pages = map.directory.iter().map(|page| page.0).filter(|&location| location != 0);
        for location in mapped.chain(pages) {
            segments.gain(layout.segment_of(location));
        }
        let going_on: Vec<u32> = places.iter().flatten().map(|(segment, _)| *segment).collect();
        for segment in 0..layout.segments {
            let entry = segments.get(segment);
            if entry.state == State::Open && !going_on.contains(&segment) {
                segments.close(segment);
            } else if entry.state == State::Closed && entry.live == 0 {
                segments.get_mut(segment).state = State::Open;
                segments.close(segment);
            }
        }
        segments.queue = self
            .root
            .free
            .iter()
            .copied()
            .filter(|&segment| segments.get(segment).state == State::Free)
            .collect::<VecDeque<u32>>();
        for &segment in &segments.queue.clone() {
            assert_eq!(segments.get(segment).live, 0, "a free segment is pointed to");
        }
        (segments, places, opened)
    }
}

/// What an entry does to the map. Entries with data have them at `location`.
fn apply(map: &mut Map, layout: &Layout, entry: &Entry, location: u32) {
    if entry.kind == Kind::Page || entry.block >= layout.exported_blocks {
        return;
    }
    match entry.kind {
        Kind::Write => {
            map.set(entry.block, location, entry.crc);
        }
        Kind::Copy if map.get(entry.block).0 == entry.argument || broken(Rule::CompareAndSet) => {
            map.set(entry.block, location, entry.crc);
        }
        Kind::Lost if map.get(entry.block).0 == entry.argument => {
            map.set(entry.block, LOST, 0);
        }
        Kind::Trim => {
            let end = entry.block.saturating_add(entry.argument).min(layout.exported_blocks);
            let mut next = map.next_mapped(entry.block, end);
            while let Some(block) = next {
                map.set(block, UNMAPPED, 0);
                next = map.next_mapped(block + 1, end);
            }
        }
        Kind::Copy | Kind::Lost | Kind::Page => {}
    }
}
