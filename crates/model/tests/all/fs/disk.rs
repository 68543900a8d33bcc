//! On a disk, where places matter: the published latencies of a drive whose raw cells alone are
//! known.

use super::drive::{MIB, run, write};
use crate::disk::rig::sata_7200;
use block::{Actor, Command, Drive, Engine, Rng, Stack};
use model::{
    Disk, DiskParams, FileSystem, FileSystemParams, Sim, WriteCaching,
    fs::{Caching, DataMode, Kernel, Kind, LazyCount, Syncing},
};

/// The WD1002FBYS of "SSD Latency Experiments": 7,200 rpm, 1 TB, rate and command time from its raw
/// cells, the rest usual for its kind.
fn wd(write_caching: WriteCaching) -> DiskParams {
    DiskParams {
        capacity_bytes: 1_000_000_000_000 / 4096 * 4096,
        command_ns: 170_000,
        command_queue_depth: 32,
        write_caching,
        write_cache_bytes: 32 << 20,
        write_cache_commands: 64,
        ..sata_7200()
    }
}

fn stack(disk: DiskParams, params: FileSystemParams) -> Stack<FileSystem, Sim<Disk>> {
    let sim = Sim::new(Disk::new(disk, 64));
    let below = sim.geometry(Drive(0));
    Stack::new(FileSystem::new(params, below, 4), sim)
}

#[test]
fn synchronous_writes_on_a_disk_take_what_the_latency_study_measured() {
    // latency2016, means of the rows with and without TRIM; dd bs=512 count=1000 oflag=direct,sync.
    let xfs = Kind::Xfs { lazy_count: LazyCount::On };
    for (kind, write_caching, published_ms) in [
        (xfs, WriteCaching::On, 31.0),
        (xfs, WriteCaching::Off, 30.0),
        (Kind::Ext4, WriteCaching::On, 40.7),
        (Kind::Ext4, WriteCaching::Off, 41.85),
    ] {
        let params = FileSystemParams::of(Kernel::Linux2_6_30, kind, 8 << 30);
        let mut stack = stack(wd(write_caching), params);
        stack.machine.set_open(Actor(0), Caching::Direct, Syncing::Sync);
        stack.machine.new_file();
        let ms = run(&mut stack, 0, (0..1000).map(|at| write(at * 512, 512))) as f64 / 1e9;
        let error = ms / published_ms - 1.0;
        println!("{kind:?} {write_caching:?}: {ms:.1} ms, published {published_ms}, {error:+.3}");
        assert!(error.abs() < 0.10, "{kind:?} {write_caching:?}: {ms:.1} ms");
    }
}

#[test]
fn a_queue_of_128_sorted_requests_spares_a_disk_most_of_its_seeks() {
    // Random writes over 256 GiB, ext3 data=ordered, the disk's own queue and cache kept out of it.
    let mut rng = Rng::new(1, 0);
    let offsets: Vec<u64> = (0..8192).map(|_| rng.below(256 << 20) << 10 & !4095).collect();
    let ms_per_write = |queued_requests_max| {
        let kind = Kind::Ext3 { data: DataMode::Ordered };
        let params = FileSystemParams {
            queued_requests_max,
            device_queue_depth: 1,
            ..FileSystemParams::of(Kernel::Linux2_6_22, kind, 64 * MIB)
        };
        let disk = DiskParams { command_queue_depth: 1, ..wd(WriteCaching::Off) };
        let mut stack = stack(disk, params);
        let writes = offsets.iter().map(|&offset| write(offset, 4096));
        let ns = run(&mut stack, 0, writes.chain([Command::Flush]));
        ns as f64 / offsets.len() as f64 / 1e6
    };
    let (single, sorted) = (ms_per_write(1), ms_per_write(128));
    // Half a revolution, the command and the write's settling remain; of the seek, little over the
    // least.
    let rest = 60e3 / 7200.0 / 2.0 + 0.17 + 0.5;
    println!("ms a write: one by one {single:.2}, sorted {sorted:.2}, without any seek {rest:.2}");
    assert!(sorted - rest < 0.45 * (single - rest));
}
