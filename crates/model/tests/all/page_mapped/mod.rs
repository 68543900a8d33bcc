//! The page-mapped drive against closed forms, data sheets and its own past.

mod durability;
mod state;
mod timing;
mod wear;
mod write_amplification;

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{
    PageMapped, PageMappedParams, Sim, WriteCaching,
    flash::page_mapped::{
        Cleaning, Counters, Pause, PowerLoss, ReadRetry, SlcCache, State, Suspend, Throttle,
        Transfer,
    },
};

/// What the host may have outstanding in these tests.
const QUEUE_DEPTH: u32 = 64;

/// A small drive: 4 planes, 16 units a block, 64 units (256 KiB) a superblock.
fn small() -> PageMappedParams {
    PageMappedParams {
        capacity_bytes: 64 << 20,
        over_provisioning_per_mille: 250,
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 1,
        nand_page_bytes: 4096,
        pages_per_block: 16,
        read_ns: 50_000,
        read_spread_per_mille: 0,
        read_retry: None,
        suspend: None,
        pause: None,
        throttle: None,
        program_ns: 200_000,
        erase_ns: 1_500_000,
        erase_group: 1,
        channel_bytes_per_s: 409_600_000, // 10 us a unit.
        read_command_ns: 5_000,
        write_command_ns: 6_000,
        link_bytes_per_s: 409_600_000, // 10 us a unit.
        transfer: Transfer::Serial,
        read_latency_ns: 0,
        write_latency_ns: 0,
        latency_tail_ns: 0,
        write_queues: 1,
        stream_read_bytes_per_s: None,
        stream_write_bytes_per_s: None,
        random_write_bytes_per_s: None,
        command_queue: 32,
        map_memory_bytes: None,
        write_cache: WriteCaching::On,
        write_buffer_bytes: 1 << 20,
        power_loss: PowerLoss::Volatile,
        flush_ns: 100_000,
        write_through_ns: 0,
        cleaning: Cleaning::Greedy,
        reserve_superblocks: 2,
        slc_cache: None,
        endurance_cycles: 3_000,
        wear_leveling_threshold: 1_000_000,
        state: State::Fresh,
    }
}

fn read(offset: u64, bytes: u32) -> Command {
    Command::Read { at: Extent { offset, bytes }, into: Payload::None }
}

fn write(offset: u64, bytes: u32) -> Command {
    let (at, from, durability) = (Extent { offset, bytes }, Payload::None, Durability::Cached);
    Command::Write { at, from, durability }
}

fn write_fua(offset: u64, bytes: u32) -> Command {
    let (at, from, durability) = (Extent { offset, bytes }, Payload::None, Durability::Fua);
    Command::Write { at, from, durability }
}

/// A drive under a virtual clock.
struct OnTheBench {
    sim: Sim<PageMapped>,
    done: Vec<Completion>,
}

impl OnTheBench {
    fn new(params: &PageMappedParams) -> Self {
        Self::seeded(params, 1)
    }

    fn seeded(params: &PageMappedParams, seed: u64) -> Self {
        let drive = PageMapped::new(params, QUEUE_DEPTH, seed).expect("a drive that can be built");
        Self { sim: Sim::new(drive), done: Vec::new() }
    }

    fn drive(&mut self) -> &mut PageMapped {
        &mut self.sim.machine
    }

    fn submit(&mut self, command: Command) {
        self.sim.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
    }

    /// One command on an otherwise idle drive; how long it takes, ns.
    fn one(&mut self, command: Command) -> u64 {
        self.submit(command);
        self.sim.wait(Instant::NEVER, &mut self.done);
        let completion = self.done.pop().expect("one command was sent");
        assert!(self.done.is_empty() && completion.result.is_ok());
        completion.finished.since(completion.issued)
    }

    /// Lets time pass.
    fn idle(&mut self, ns: u64) {
        let until = self.sim.now().after(ns);
        self.sim.wait(until, &mut self.done);
        assert!(self.done.is_empty(), "nothing was outstanding");
    }

    /// Lets time pass beside what is outstanding.
    fn idle_beside(&mut self, ns: u64) {
        let until = self.sim.now().after(ns);
        while self.sim.now() < until {
            self.sim.wait(until, &mut self.done);
        }
        self.done.clear();
    }

    /// One command beside others; how long it takes, ns.
    fn one_of(&mut self, command: Command) -> u64 {
        self.sim.submit(Request { tag: Tag(1), actor: Actor(0), drive: Drive(0), command });
        loop {
            self.sim.wait(Instant::NEVER, &mut self.done);
            if let Some(done) = self.done.drain(..).find(|done| done.tag == Tag(1)) {
                return done.finished.since(done.issued);
            }
        }
    }

    /// A closed loop of `count` commands at `depth`; how long it takes, ns.
    fn many(&mut self, depth: u64, count: u64, mut next: impl FnMut() -> Command) -> u64 {
        let start = self.sim.now();
        let (mut sent, mut left) = (0, count);
        while left > 0 {
            while sent < count && sent - (count - left) < depth {
                self.submit(next());
                sent += 1;
            }
            self.sim.wait(Instant::NEVER, &mut self.done);
            left -= self.done.len() as u64;
            self.done.clear();
        }
        self.sim.now().since(start)
    }

    /// Writes `count` units at random over the first `units`; what was counted meanwhile.
    fn overwrite(&mut self, units: u64, count: u64, rng: &mut Rng) -> Counters {
        let before = self.drive().counters();
        self.many(8, count, || write(rng.below(units) * 4096, 4096));
        self.drive().counters().since(&before)
    }
}
