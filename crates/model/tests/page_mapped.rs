//! The page-mapped drive against closed forms and data sheets.

use block::{
    Actor, Command, Completion, Drive, Durability, Engine, Extent, Instant, Payload, Request, Rng,
    Tag,
};
use model::{
    PageMapped, PageMappedParams, Sim, WriteCaching,
    flash::page_mapped::{Cleaning, PowerLoss, State},
};

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
        program_ns: 200_000,
        erase_ns: 1_500_000,
        channel_bytes_per_s: 400_000_000,
        read_command_ns: 5_000,
        write_command_ns: 6_000,
        link_bytes_per_s: 300_000_000,
        stream_read_bytes_per_s: None,
        stream_write_bytes_per_s: None,
        random_write_bytes_per_s: None,
        command_queue: 32,
        write_cache: WriteCaching::On,
        write_buffer_bytes: 1 << 20,
        power_loss: PowerLoss::Volatile,
        flush_ns: 100_000,
        write_through_ns: 30_000,
        cleaning: Cleaning::Greedy,
        reserve_superblocks: 2,
        slc_cache: None,
        endurance_cycles: 3_000,
        wear_leveling_threshold: 1_000,
        state: State::Fresh,
    }
}

fn write(block: u64) -> Command {
    let at = Extent { offset: block * 4096, bytes: 4096 };
    Command::Write { at, from: Payload::None, durability: Durability::Cached }
}

#[test]
fn smoke() {
    let params = PageMappedParams { state: State::Steady { used_per_mille: 1000 }, ..small() };
    let mut sim = Sim::new(PageMapped::new(&params, 32, 1).unwrap());
    let mut rng = Rng::new(1, 2);
    let mut done: Vec<Completion> = Vec::new();
    for _ in 0..100_000 {
        let command = write(rng.below(params.units()));
        sim.submit(Request { tag: Tag(0), actor: Actor(0), drive: Drive(0), command });
        done.clear();
        sim.wait(Instant::NEVER, &mut done);
    }
    println!(
        "{:?} {} {:?}",
        sim.machine.counters(),
        sim.machine.counters().write_amplification(),
        sim.now()
    );
}
