//! The volume: a machine over one drive.
//!
//! ```text
//!   requests --> Opening: superblocks, root, pages, walk, verify, replay    opening/
//!            |      | a map, a segment table, a place to go on
//!            `-> Core: hands each request and completion to its part        core.rs
//!                  |-- what was asked, and its answers                      requests.rs
//!                  |-- reads and writes                                     reads.rs, writes.rs
//!                  |-- flushes and their ring                               flushes.rs, ring.rs
//!                  |-- what recovery found in the ring                      replays.rs
//!                  |-- superblocks                                          checkpoint.rs, attest.rs
//!                  |-- which stream                                         placement.rs
//!                  |-- copies                                               cleaner.rs, runs.rs
//!                  |-- how much of them, when                               pacing.rs
//!                  |-- what is free                                         discards.rs
//!                  |-- checksums, in passing                                scrub.rs
//!                  `-- Log, that all of these append to                     log.rs, log/
//!                        |-- chunks                                         chunk.rs, stream.rs
//!                        |-- where every block is                           blocks.rs
//!                        |-- what the drive records as durable              persisted.rs
//!                        |-- how long short-lived blocks live               lifespan.rs
//!                        |-- whether anything may change                    mode.rs
//!                        `-- the drive below                                io.rs
//! ```
//!
//! Each part owns its state and asserts what must be true of it. A part is told of the log and of
//! those that stand below it here, never of the core: what it says to the others it gives back.

mod attest;
mod blocks;
mod checkpoint;
mod chunk;

mod cleaner;
mod core;
mod counters;
mod discards;
mod flushes;
mod io;
mod lifespan;
mod log;
mod memory;
mod mode;
mod opening;
mod pacing;
mod persisted;
mod placement;
mod reads;
mod replays;
mod requests;
mod ring;
mod runs;
mod scrub;
mod settings;
mod stream;
mod writes;

pub use self::{
    counters::Counters,
    flushes::Answered,
    memory::{Dram, dram},
    opening::{CopyState, OpenError, OpenReport, Step, Tail, TailCause},
    scrub::{ScrubReport, Scrubbing},
    settings::{Attesting, Cleaning, Discards, IdleCleaning, Settings},
};
pub(crate) use self::{
    opening::{Look, Opening, Purpose},
    stream::Stream,
};

use self::core::Core;
use crate::{
    format::VolumeId,
    layout::{Layout, Refusal},
    lifetime::Lifetime,
    shape::Shape,
};
use block::{
    Allocation, Completion, Data, Drive, Effects, Geometry, Instant, IoError, Machine, Request,
};
use std::{collections::VecDeque, mem};

/// A managed flash volume on Drive(0) of what lies below.
///
/// Requests that arrive while it is being opened are held and answered afterwards; so `Flush` as
/// the first request tells when it is open, or that it could not be opened.
#[derive(Debug)]
pub struct Volume {
    below: Geometry,
    settings: Settings,
    phase: Phase,
    held: VecDeque<(Instant, Request)>,
    refused: Vec<(Instant, Completion)>,
    now: Instant,
    started: bool,
}

#[derive(Debug)]
enum Phase {
    Opening(Box<Opening>),
    Open(Box<Core>),
    Failed(OpenError),
    Changing,
}

impl Volume {
    /// Creates a volume: its first steps write an empty one over whatever was there.
    ///
    /// # Errors
    /// If the shape cannot be, or the drive is too small for it.
    pub fn create(
        below: Geometry,
        shape: Shape,
        id: VolumeId,
        settings: Settings,
    ) -> Result<Self, Refusal> {
        let layout = Layout::new(shape, u64::from(below.transfer_bytes_max))?;
        assert_eq!(shape.device_bytes, below.capacity_bytes, "the shape is of another drive");
        Ok(Self::in_phase(below, settings, Opening::create(below, layout, id)))
    }

    /// Opens the volume that is on the drive: its first steps are those of recovery.
    ///
    /// # Panics
    /// On a drive that only times: there is nothing to be read.
    pub fn open(below: Geometry, settings: Settings) -> Self {
        assert_eq!(below.data, Data::Stored, "nothing can be read from a drive that only times");
        Self::in_phase(below, settings, Opening::open(below, Purpose::Use))
    }

    /// Opens the volume that is on the drive for reading: nothing is ever asked of the drive but
    /// reads. Where it was not stopped cleanly, what recovery finds stays in memory, and the next
    /// opening finds the same again.
    ///
    /// # Panics
    /// As [`open`](Self::open).
    pub fn open_read_only(below: Geometry, settings: Settings) -> Self {
        assert_eq!(below.data, Data::Stored, "nothing can be read from a drive that only times");
        Self::in_phase(below, settings, Opening::open(below, Purpose::Read))
    }

    fn in_phase(below: Geometry, settings: Settings, opening: Opening) -> Self {
        settings.check();
        Self {
            below,
            settings,
            phase: Phase::Opening(Box::new(opening)),
            held: VecDeque::new(),
            refused: Vec::new(),
            now: Instant(0),
            started: false,
        }
    }

    /// The step that opening is at; [`Step::Open`] afterwards.
    pub fn step(&self) -> Step {
        match &self.phase {
            Phase::Opening(opening) => opening.step(),
            Phase::Open(core) if core.is_settling() => Step::Checkpoint,
            Phase::Open(_) => Step::Open,
            Phase::Failed(_) | Phase::Changing => Step::Failed,
        }
    }

    /// Why it could not be opened.
    pub fn open_error(&self) -> Option<OpenError> {
        match &self.phase {
            Phase::Failed(error) => Some(*error),
            _ => None,
        }
    }

    /// Whether writes are refused: it was opened so, or does not make sense to its own recovery.
    pub fn is_read_only(&self) -> bool {
        self.core().is_some_and(Core::is_read_only)
    }

    /// What ending recovery, or stopping, writes to the drive at most, B: what must be free below a
    /// file with holes.
    pub fn checkpoint_bytes(&self) -> Option<u64> {
        self.core().map(Core::checkpoint_bytes)
    }

    /// What tells it from other volumes, once that is known.
    pub fn id(&self) -> Option<VolumeId> {
        self.core().map(Core::id)
    }

    /// What opening found, once that is done.
    pub fn open_report(&self) -> Option<&OpenReport> {
        self.core().map(Core::report)
    }

    /// What it has done since.
    pub fn counters(&self) -> Option<Counters> {
        self.core().map(Core::counters)
    }

    /// What it has done since it was created.
    pub fn lifetime(&self) -> Option<Lifetime> {
        self.core().map(Core::lifetime)
    }

    /// Where everything is, once that is known.
    pub fn layout(&self) -> Option<&Layout> {
        self.core().map(Core::layout)
    }

    /// From now on writes are refused, those that wait for room included, and flushes complete when
    /// the volume is stopped cleanly.
    pub fn shut_down(&mut self) {
        if let Phase::Open(core) = &mut self.phase {
            core.shut_down();
        }
    }

    /// When writes are answered from now on. An opening that is not done forgets it: call it on an
    /// open volume.
    pub fn set_answered(&mut self, answered: Answered) {
        if let Phase::Open(core) = &mut self.phase {
            core.set_answered(answered);
        }
    }

    /// From now on everything that is alive is read and verified, at a set rate, or not any more.
    /// An opening that is not done forgets it: call it on an open volume.
    ///
    /// # Panics
    /// At a rate of nothing.
    pub fn set_scrubbing(&mut self, plan: Option<Scrubbing>) {
        if let Phase::Open(core) = &mut self.phase {
            core.set_scrubbing(plan);
        }
    }

    /// How far scrubbing has come, if there is any.
    pub fn scrub_report(&self) -> Option<ScrubReport> {
        self.core().and_then(Core::scrub_report)
    }

    /// Whether a segment is being emptied.
    pub fn is_cleaning(&self) -> bool {
        self.core().is_some_and(Core::is_cleaning)
    }

    /// Whether a checkpoint is on its way.
    pub fn is_checkpointing(&self) -> bool {
        self.core().is_some_and(Core::is_checkpointing)
    }

    /// Every mapped block with its location: what a check compares with the drive.
    pub fn mappings(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.core().into_iter().flat_map(Core::mappings)
    }

    /// A second one in the same state, for a copy of what lies below; none while it is being
    /// opened, or something waits for that.
    pub fn twin(&self) -> Option<Self> {
        let Phase::Open(core) = &self.phase else { return None };
        let is_quiet = self.held.is_empty() && self.refused.is_empty();
        is_quiet.then(|| Self {
            below: self.below,
            settings: self.settings,
            phase: Phase::Open(core.clone()),
            held: VecDeque::new(),
            refused: Vec::new(),
            now: self.now,
            started: self.started,
        })
    }

    /// Holds the accounts against a count of everything.
    ///
    /// # Panics
    /// If they disagree: that is a bug.
    pub fn audit(&self) {
        if let Some(core) = self.core() {
            core.audit();
        }
    }

    /// Empties a segment with the next request, whether that is due or not.
    #[cfg(feature = "testing")]
    pub fn ask_for_cleaning(&mut self) {
        if let Phase::Open(core) = &mut self.phase {
            core.ask_for_cleaning();
        }
    }

    /// Writes that were refused for want of room and whose answer's time has not come.
    #[cfg(feature = "testing")]
    pub fn refused(&self) -> Vec<block::Tag> {
        self.core().map_or_else(Vec::new, |core| core.refused().collect())
    }

    /// Begins a checkpoint with the next request, whether that is due or not.
    #[cfg(feature = "testing")]
    pub fn ask_for_checkpoint(&mut self) {
        if let Phase::Open(core) = &mut self.phase
            && !core.is_checkpointing()
        {
            core.begin_checkpoint();
        }
    }

    fn core(&self) -> Option<&Core> {
        match &self.phase {
            Phase::Open(core) => Some(core),
            _ => None,
        }
    }

    /// Moves on from opening, lets the held requests in, and hands out what has come together.
    fn settle(&mut self, effects: &mut Effects) {
        if let Phase::Opening(opening) = &mut self.phase {
            opening.drain_into(effects);
            if opening.is_done() {
                let Phase::Opening(opening) = mem::replace(&mut self.phase, Phase::Changing) else {
                    unreachable!("it was opening")
                };
                self.phase = match opening.finish() {
                    Ok(start) => {
                        let core = Core::new(self.below, &self.settings, self.now, start);
                        Phase::Open(Box::new(core))
                    }
                    Err(error) => Phase::Failed(error),
                };
            }
        }
        if let Phase::Open(core) = &mut self.phase {
            // A new request finds nothing to move: whatever came before it has been pumped.
            if self.held.is_empty() || core.is_settling() {
                core.pump(self.now);
            }
            if !core.is_settling() && !self.held.is_empty() {
                while let Some((_, request)) = self.held.pop_front() {
                    core.accept(self.now, request);
                }
                core.pump(self.now);
            }
            core.drain_into(effects);
        }
        if let Phase::Failed(_) = self.phase {
            let held = mem::take(&mut self.held);
            for (issued, request) in held {
                self.refuse(issued, request);
            }
        }
    }

    fn refuse(&mut self, issued: Instant, request: Request) {
        let due = self.now.after(self.settings.answer_ns);
        let completion = Completion {
            tag: request.tag,
            issued,
            finished: due,
            result: Err(IoError::Offline),
            payload: request.command.into_payload(),
        };
        self.refused.push((due, completion));
    }
}

impl Machine for Volume {
    fn geometry(&self, _: Drive) -> Geometry {
        let capacity_bytes = self.layout().map_or(0, |layout| layout.shape.exported_bytes);
        Geometry {
            capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: self.below.transfer_bytes_max,
            queue_depth: self.settings.queue_depth,
            data: self.below.data,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        self.now = now;
        self.held.push_back((now, request));
        assert!(self.held.len() <= self.settings.queue_depth as usize, "queue depth exceeded");
        self.settle(effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        self.now = now;
        match &mut self.phase {
            Phase::Opening(opening) => opening.on_completion(completion),
            Phase::Open(core) => core.on_completion(now, completion),
            Phase::Failed(_) | Phase::Changing => {}
        }
        self.settle(effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.now = now;
        if !self.started {
            self.started = true;
            if let Phase::Opening(opening) = &mut self.phase {
                opening.start();
            }
        }
        for (_, completion) in self.refused.extract_if(.., |(due, _)| *due <= now) {
            effects.up.push(completion);
        }
        self.settle(effects);
    }

    fn next_wakeup(&self) -> Instant {
        if !self.started {
            return Instant(0);
        }
        let refused = self.refused.iter().map(|(due, _)| *due).min().unwrap_or(Instant::NEVER);
        match &self.phase {
            Phase::Open(core) => core.next_wakeup(),
            _ => refused,
        }
    }

    fn allocation(&self, _: Drive, offset: u64, len: u64) -> (Allocation, u64) {
        self.core().map_or((Allocation::Data, len), |core| core.allocation(offset, len))
    }

    fn copy(&self) -> Option<Box<dyn Machine>> {
        self.twin().map(|twin| Box::new(twin) as Box<dyn Machine>)
    }
}
