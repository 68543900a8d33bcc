//! File systems: what a kernel of the studies' time (2.6, 3.16), or today's, makes of reads and
//! writes before a drive sees them. A [`FileSystem`] is one file on one file system, with the page
//! cache in front of it and the request queue behind it.
//!
//! ```text
//!   read, write, flush             call.rs, and reading.rs, writing.rs, direct.rs, sync.rs
//!      |          \ direct
//!   PageCache      |               cache.rs: clean, dirty and moving pages; ahead.rs: read-ahead
//!      | Order     |               order.rs: which dirty pages leave first
//!      |           |  Journal      layout.rs: what a commit writes, and where
//!   RequestQueue --+-----+         queue.rs: 128 requests a direction, sorted by the elevator
//!      | device_queue_depth        transfer.rs: at the device, and back
//!   drive, port or array           commits go to a second drive if the journal lies there
//! ```
//!
//! What decides the figures of the studies: that buffered writes return before the drive has them,
//! until the dirty limit makes writers wait; the order in which they leave; read-ahead, which keeps
//! a drive streaming whatever the size of the reads; and how many writes and flushes a synchronous
//! write costs.
//!
//! Beside the file stands a tree of many (files/), asked for as [`TREE`]. A directory of empty
//! files for a study ([`Tree`]) is no part of that machine.
//!
//! Left out, because nothing of the studies turns on it: merging of neighbours that reach the queue
//! one by one, quotas of dirty memory per device, writing from memory reclaim, and the processor
//! time of a file system beyond [`FileSystemParams::call_ns`] and the copy. Block maps of ext2 and
//! ext3 and checkpoints of the journal as well: a map block written in place every 4 MiB would cost
//! a block-mapped drive one merge each, a tenth of the sequential-write rates of CMU 2008, Table
//! III, where the Mtron drive lost under 2 %. Only time is modelled: what lies below must be
//! [`Data::TimingOnly`].

mod ahead;
mod bitmap;
mod cache;
mod call;
mod direct;
mod files;
mod layout;
mod memory;
mod order;
mod params;
mod queue;
mod reading;
mod sync;
mod transfer;
mod tree;
mod writing;

pub use block::{Caching, Syncing};
pub use files::{Durable, FileAct, FileOp, Placement, TreeSize};
pub use memory::{Memory, Through};
pub use params::{Barrier, DataMode, Discard, Elevator, FileSystemParams, Kernel, Kind, LazyCount};
pub use tree::{Act, LOG_BUFFERS, Traffic, Tree};

use crate::Outbox;
use block::{
    Actor, Completion, Data, Drive, Effects, Geometry, Instant, IoError, Machine, Request, Slots,
};
use cache::PageCache;
use call::{Call, Open};
use files::{FileTree, TREE_TAG};
use layout::{Cause, Changes, Journal, Layout};
use order::Order;
use queue::RequestQueue;
use std::{collections::VecDeque, ops::Range};
use sync::Syncs;
use transfer::Transfer;

/// A page of the page cache and a block of the file system, bytes.
const PAGE_BYTES: u64 = 4096;
/// Times of a file move by this much, ns: a tick of a kernel at 250 Hz (`current_fs_time`).
const TICK_NS: u64 = 4_000_000;

/// The drive by which a tree of files is asked: [`FileSystem::set_act`] says for what, and a flush
/// of it by the same actor is the act.
pub const TREE: Drive = Drive(1);

/// One file on a file system, through a kernel, and a tree of many. Budget: 200 ns a buffered call
/// that the cache answers, 700 ns one that goes to the drive.
#[derive(Debug)]
pub struct FileSystem {
    params: FileSystemParams,
    /// What copies cost and how records are asked for; without, a copy is a rate.
    memory: Option<(Memory, Through)>,
    geometry: Geometry,
    layout: Layout,
    /// Largest transfer to the device, whole pages.
    request_bytes: u64,
    read_ahead_pages: u64,
    background_pages: u64,
    limit_pages: u64,

    opens: Vec<Open>,
    calls: Slots<Call>,
    outbox: Outbox,
    /// The file's size.
    length_bytes: u64,
    /// Counts truncations, so that a transfer of an earlier file is known when it ends.
    generation: u32,
    /// Until when the inode's lock is taken by buffered writers.
    inode_free: Instant,
    /// Calls that wait for pages, for room in either half of the queue, for dirty pages to become
    /// fewer.
    readers: Vec<u32>,
    starved_readers: VecDeque<u32>,
    starved_writers: VecDeque<u32>,
    throttled: VecDeque<u32>,
    scratch: Vec<u32>,

    cache: PageCache,
    order: Order,
    /// When the oldest dirty page became so, at the latest.
    dirty_since: Option<Instant>,
    syncs: Syncs,
    journal: Journal,
    changes: Changes,
    last_tick: u64,
    /// When the running transaction began.
    transaction_since: Option<Instant>,
    /// A failed write-back that no sync has reported yet.
    write_error: Option<IoError>,
    /// A commit failed: nothing more is acknowledged.
    aborted: Result<(), IoError>,

    queue: RequestQueue,
    transfers: Slots<Transfer>,
    at_device: u32,
    /// A step of the commit for the second drive.
    for_second: Option<u32>,
    device_depth: u32,
    /// Bytes of a truncated file that the drive is to be told of.
    freed_bytes: u64,
    /// Discards of a truncation under way.
    truncations: u32,

    /// What lies below, and what of a tree lies on the second drive.
    below: Vec<Geometry>,
    placement: Placement,
    tree: Option<Box<FileTree>>,
    /// What each actor does next to the tree.
    acts: Vec<Option<FileAct>>,
}

impl FileSystem {
    /// A file that fills the file system on what `below` describes; it serves `queue_depth`
    /// requests at a time. All of the file exists: [`FileSystem::new_file`] makes it empty.
    ///
    /// # Panics
    /// If the parameters do not fit together, `below` stores bytes, or it is under 16 MiB.
    pub fn new(params: FileSystemParams, below: Geometry, queue_depth: u32) -> Self {
        let layout = Layout::new(params.kind, below.capacity_bytes);
        Self::laid_out(params, layout, vec![below], Placement::default(), queue_depth)
    }

    /// The same with a second drive below, which it has to itself; `placement` says what lies
    /// there.
    /// With the journal there the file has all of the first one.
    ///
    /// # Panics
    /// Of ext2, which has no journal; of a placement that leaves the second drive empty; as
    /// [`FileSystem::new`].
    pub fn with_second(
        second: Geometry,
        placement: Placement,
        params: FileSystemParams,
        below: Geometry,
        queue_depth: u32,
    ) -> Self {
        assert!(second.data == Data::TimingOnly, "a file-system layer models time, not bytes");
        assert!(placement != Placement::default(), "a second drive for nothing");
        let [first_bytes, second_bytes] = [&below, &second].map(|drive| drive.capacity_bytes);
        let layout = Layout::of_placement(params.kind, placement, first_bytes, second_bytes);
        Self::laid_out(params, layout, vec![below, second], placement, queue_depth)
    }

    fn laid_out(
        params: FileSystemParams,
        layout: Layout,
        drives: Vec<Geometry>,
        placement: Placement,
        queue_depth: u32,
    ) -> Self {
        let below = drives[0];
        let journal_block_bytes = drives[usize::from(layout.journal_drive.0)].block_bytes;
        params.check();
        assert!(queue_depth > 0, "a file system that serves no request");
        assert!(below.data == Data::TimingOnly, "a file-system layer models time, not bytes");
        assert!(PAGE_BYTES.is_multiple_of(u64::from(below.block_bytes)), "blocks over a page");
        let request_bytes = u64::from(params.request_bytes_max.min(below.transfer_bytes_max));
        let request_bytes = request_bytes / PAGE_BYTES * PAGE_BYTES;
        assert!(request_bytes > 0, "transfers under a page");
        let device_depth = params.device_queue_depth.min(below.queue_depth);
        let pages_of = |percent: u32| params.ram_bytes / PAGE_BYTES * u64::from(percent) / 100;
        let ordered = params.kind == Kind::Ext3 { data: DataMode::Ordered };
        let transfers = 2 * params.queued_requests_max + device_depth + 2 * queue_depth + 4;
        Self {
            memory: None,
            geometry: Geometry {
                capacity_bytes: layout.file_bytes_max,
                transfer_bytes_max: 1 << 30,
                queue_depth,
                ..below
            },
            layout,
            request_bytes,
            read_ahead_pages: params.read_ahead_bytes / PAGE_BYTES,
            background_pages: pages_of(params.dirty_background_percent),
            limit_pages: pages_of(params.dirty_percent).max(1),
            opens: Vec::new(),
            calls: Slots::new(queue_depth),
            outbox: Outbox::new(queue_depth),
            length_bytes: layout.file_bytes_max,
            generation: 0,
            inode_free: Instant(0),
            readers: Vec::new(),
            starved_readers: VecDeque::new(),
            starved_writers: VecDeque::new(),
            throttled: VecDeque::new(),
            scratch: Vec::new(),
            cache: PageCache::new(params.ram_bytes, layout.file_bytes_max),
            order: if ordered { Order::as_dirtied() } else { Order::sweep() },
            dirty_since: None,
            syncs: Syncs::new(ordered),
            journal: Journal::new(&params, layout, journal_block_bytes),
            changes: Changes::default(),
            last_tick: 0,
            transaction_since: None,
            write_error: None,
            aborted: Ok(()),
            queue: RequestQueue::new(params.elevator, params.queued_requests_max),
            transfers: Slots::new(transfers),
            at_device: 0,
            for_second: None,
            device_depth,
            freed_bytes: 0,
            truncations: 0,
            below: drives,
            placement,
            tree: None,
            acts: Vec::new(),
            params,
        }
    }

    /// How `actor` opened the file; until told otherwise, buffered and without syncing.
    pub fn set_open(&mut self, actor: Actor, caching: Caching, syncing: Syncing) {
        let open = self.open(actor);
        (open.caching, open.syncing) = (caching, syncing);
    }

    /// From now on copies cost what they do on this host, for a program that asks so; until then
    /// [`FileSystemParams::copy_bytes_per_s`] is all.
    pub fn set_memory(&mut self, memory: Memory, through: Through) {
        self.memory = Some((memory, through));
    }

    /// Whether it has a journal, without which no tree of files is modelled.
    pub fn has_journal(&self) -> bool {
        self.journal.exists()
    }

    /// Makes a tree of files, empty, in the place of any that was; in no time.
    ///
    /// # Errors
    /// When there is no room for its metadata.
    ///
    /// # Panics
    /// Of ext2, whose metadata has no journal; with an act under way.
    pub fn plant(&mut self, size: TreeSize) -> Result<(), IoError> {
        assert!(self.has_journal(), "a tree without a journal is not modelled");
        match &mut self.tree {
            Some(tree) => tree.replant(&self.below, size),
            None => {
                let workers_max = self.geometry.queue_depth;
                let (params, placement) = (&self.params, self.placement);
                let tree = FileTree::new(params, placement, &self.below, size, workers_max)?;
                self.tree = Some(Box::new(tree));
                Ok(())
            }
        }
    }

    /// What `actor` does when it next flushes [`TREE`].
    pub fn set_act(&mut self, actor: Actor, act: FileAct) {
        let number = usize::from(actor.0);
        if self.acts.len() <= number {
            self.acts.resize(number + 1, None);
        }
        self.acts[number] = Some(act);
    }

    /// What it was made with.
    pub fn params(&self) -> &FileSystemParams {
        &self.params
    }

    /// Truncates the file to nothing: writes that follow extend it and so change metadata. Cached
    /// pages are dropped, dirty ones too; with discard the drive is told at the next request.
    ///
    /// # Panics
    /// With a call under way.
    pub fn new_file(&mut self) {
        assert!(self.calls.is_empty(), "truncated under a call");
        for number in self.queue.drain() {
            self.transfers.remove(number);
        }
        self.generation = self.generation.wrapping_add(1);
        self.cache.clear();
        self.order.clear();
        self.syncs.forget_transfers();
        self.dirty_since = None;
        self.opens.iter_mut().for_each(|open| open.window.forget());
        if self.params.discard == Discard::On {
            self.freed_bytes = self.freed_bytes.max(self.length_bytes);
        }
        self.length_bytes = 0;
        self.changes.size = true;
        self.changes.blocks = true;
    }

    /// Forgets every clean page, as `/proc/sys/vm/drop_caches` does. A flush before it makes of it
    /// what an unmount and a mount do: nothing is left in memory.
    pub fn drop_cache(&mut self) {
        self.cache.forget_clean();
        if let Some(tree) = &mut self.tree {
            tree.forget_clean();
        }
        self.opens.iter_mut().for_each(|open| open.window.forget());
    }

    /// Bytes that are dirty or on their way to the drive.
    pub fn unwritten_bytes(&self) -> u64 {
        let of_tree = self.tree.as_ref().map_or(0, |tree| tree.unwritten_bytes());
        self.cache.unwritten() * PAGE_BYTES + of_tree
    }

    /// Of `range` in the page cache, dirty pages included; whole pages, bytes.
    pub fn cached_bytes(&self, range: Range<u64>) -> u64 {
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        self.cache.resident.count_in(pages) * PAGE_BYTES
    }

    /// The file's size, bytes.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    fn file_pages(&self) -> u64 {
        self.length_bytes.div_ceil(PAGE_BYTES)
    }

    /// After every event: fills the queue, the device and the drains that wait for either, until
    /// nothing moves.
    fn settle(&mut self, now: Instant, effects: &mut Effects) {
        loop {
            self.feed_starved(now);
            self.write_back();
            self.dispatch(effects);
            if !self.settle_drains(now) {
                break;
            }
        }
    }

    fn commit_due(&self) -> Instant {
        self.transaction_since.map_or(Instant::NEVER, |since| {
            if self.syncs.is_committing() {
                return Instant::NEVER;
            }
            since.after(self.params.commit_interval_ns)
        })
    }

    fn expiry_due(&self) -> Instant {
        self.dirty_since.map_or(Instant::NEVER, |since| since.after(self.params.dirty_expire_ns))
    }
}

impl Machine for FileSystem {
    #[inline]
    fn geometry(&self, _: Drive) -> Geometry {
        self.geometry
    }

    fn on_request(&mut self, now: Instant, request: Request, effects: &mut Effects) {
        if request.drive == TREE {
            let act = self.acts.get_mut(usize::from(request.actor.0)).and_then(Option::take);
            let act = act.expect("an act is set before it is asked for");
            let tree = self.tree.as_mut().expect("a tree is planted before anything is done to it");
            return tree.begin(now, &request, act, effects);
        }
        assert!(request.drive == Drive(0), "a file system has one drive, and a tree");
        self.tell_of_freed(request.actor);
        let call = self.accept(now, request);
        let slot = self.calls.insert(call);
        self.step(now, slot);
        self.settle(now, effects);
    }

    fn on_completion(&mut self, now: Instant, completion: Completion, effects: &mut Effects) {
        if completion.tag.0 >= TREE_TAG {
            let tree = self.tree.as_mut().expect("it asked");
            return tree.on_completion(now, &completion, effects);
        }
        self.end_transfer(now, completion.tag.0 as u32, completion.result);
        self.settle(now, effects);
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
        if let Some(tree) = &mut self.tree
            && tree.next_wakeup() <= now
        {
            tree.on_wakeup(now, effects);
        }
        if self.commit_due() <= now {
            self.begin_commit(now, Cause::Interval);
        }
        if self.expiry_due() <= now {
            self.begin_expiry(now);
        }
        self.settle(now, effects);
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        let of_tree = self.tree.as_ref().map_or(Instant::NEVER, |tree| tree.next_wakeup());
        self.outbox.next().min(self.commit_due()).min(self.expiry_due()).min(of_tree)
    }
}
