//! EasyCo's tables (Dumitru, "Mtron Flash SSD Single Drive and Raid Array Benchmarks", November
//! 2007), modelled.

mod closed_loop;
mod published;

use block::{Drive, Engine, Stack};
use closed_loop::{Cell, Op, run};
use model::{
    Array, ArrayParams, Attached, Bank, BlockMapped, BlockMappedParams, Fua, Level, Port,
    PortParams, Sim, WriteCaching,
};
use published::*;

fn pro() -> BlockMappedParams {
    BlockMappedParams {
        capacity_bytes: 32_000_000_000 / 512 * 512,
        command_ns: 43_800,
        read_bytes_per_s: 127_716_557, // 121.8 MiB/s
        granule_bytes: 512,
        stream_read_bytes_per_s: None,
        unit_bytes: 1 << 20,
        merge_ns: 8_101_000,
        merge_free_bytes: 64 << 10,
        write_bytes_per_s: 87_556_096, // 83.5 MiB/s
        saved_from_bytes: 256 << 10,
        copy_ns_per_kib: 6_600,
        buffer_lines: 64,
        write_caching: WriteCaching::On,
    }
}

fn mobi() -> BlockMappedParams {
    BlockMappedParams {
        command_ns: 48_100,
        read_bytes_per_s: 118_069_658, // 112.6 MiB/s
        merge_ns: 8_254_000,
        copy_ns_per_kib: 4_800,
        ..pro()
    }
}

fn highpoint() -> PortParams {
    PortParams {
        own_ns: 7_100,
        own_ns_per_kib: 105,
        own_write_ns: None,
        driver_ns: 13_700,
        serial_ns: None,
        transfer_bytes_max: 64 << 10,
        command_ns: 0,
        link_bytes_per_s: None,
        write_bytes_per_s: None,
        gather: None,
        fua: Fua::Native,
    }
}

fn onboard() -> PortParams {
    PortParams { driver_ns: 0, transfer_bytes_max: 128 << 10, command_ns: 50_000, ..highpoint() }
}

fn single(drive: BlockMappedParams, port: PortParams) -> Stack<Port, Sim<Bank>> {
    attach(vec![drive], port)
}

fn attach(drives: Vec<BlockMappedParams>, port: PortParams) -> Stack<Port, Sim<Bank>> {
    let bank: Vec<Box<dyn block::Machine>> = drives
        .into_iter()
        .map(|drive| Box::new(BlockMapped::new(drive, 1024)) as Box<dyn block::Machine>)
        .collect();
    let sim = Sim::new(Bank::new(bank));
    let attached: Vec<Attached> = (0..sim.machine.len())
        .map(|number| Attached {
            geometry: sim.geometry(block::Drive(number as u16)),
            commands: 1,
            write_cache: WriteCaching::On,
        })
        .collect();
    Stack::new(Port::new(port, &attached, 4096), sim)
}

fn cell(op: Op, block_bytes: u32, threads: u16) -> Cell {
    let (warm_up_ns, counted_ns) = match op {
        Op::Read => (50_000_000, 1_000_000_000),
        Op::Write => (5_000_000_000, 50_000_000_000),
    };
    Cell { op, block_bytes, threads, warm_up_ns, counted_ns }
}

/// Prints modelled against published; returns the mean error.
fn table(
    name: &str,
    build: &dyn Fn() -> Box<dyn Engine>,
    op: Op,
    published: &[(u32, [u32; 3])],
) -> f64 {
    println!("{name} {op:?}");
    let (mut sum, mut count, mut max) = (0.0, 0, 0f64);
    for &(kib2, row) in published {
        let mut line = format!("{:>7}", f64::from(kib2) / 2.0);
        for (threads, value) in [1, 10, 40].into_iter().zip(row) {
            if value == 0 {
                continue;
            }
            let mut engine = build();
            let (iops, _) = run(&mut *engine, cell(op, kib2 * 512, threads), 1);
            let error = iops / f64::from(value) - 1.0;
            line += &format!(" | {value:>6} {iops:>8.1} {:>+6.1}%", error * 100.0);
            sum += error.abs();
            max = max.max(error.abs());
            count += 1;
        }
        println!("{line}");
    }
    let mean = sum / f64::from(count);
    println!("   mean {:.2}% max {:.1}% of {count}", mean * 100.0, max * 100.0);
    mean
}

fn raid5(drives: Vec<BlockMappedParams>, serial_ns: u64) -> Box<dyn Engine> {
    let members = drives.len() as u16;
    let port =
        PortParams { serial_ns: Some(serial_ns), link_bytes_per_s: Some(775 << 20), ..highpoint() };
    let below = attach(drives, port);
    let geometries: Vec<_> = (0..members).map(|drive| below.geometry(Drive(drive))).collect();
    let params = ArrayParams { level: Level::Raid5, chunk_bytes: 64 << 10 };
    Box::new(Stack::new(Array::new(params, &geometries), below))
}

fn eight() -> Vec<BlockMappedParams> {
    [pro(), pro(), pro(), pro(), mobi(), mobi(), mobi(), mobi()].to_vec()
}

/// The write columns scatter by 3 % among cells that nothing tells apart (119 to 128 for 0.5 to
/// 64 KiB).
#[test]
fn single_drives_follow_their_tables() {
    let pro_port = || Box::new(single(pro(), highpoint())) as Box<dyn Engine>;
    let mobi_host = PortParams { own_ns_per_kib: 120, ..highpoint() };
    let mobi_port = || Box::new(single(mobi(), mobi_host.clone())) as Box<dyn Engine>;
    let onboard_port = || Box::new(single(pro(), onboard())) as Box<dyn Engine>;
    assert!(table("PRO", &pro_port, Op::Read, &PRO_READ) < 0.010);
    assert!(table("PRO", &pro_port, Op::Write, &PRO_WRITE) < 0.020);
    assert!(table("MOBI", &mobi_port, Op::Read, &MOBI_READ) < 0.015);
    assert!(table("MOBI", &mobi_port, Op::Write, &MOBI_WRITE) < 0.025);
    assert!(table("on-board", &onboard_port, Op::Read, &ONBOARD_READ) < 0.010);
    assert!(table("on-board", &onboard_port, Op::Write, &ONBOARD_WRITE) < 0.020);
}

/// Nothing is fitted on these but one serial time a driver (4 KiB, 40 threads, eight drives) and
/// the link (1 MiB, 10 threads). What resists: md at 4 KiB and ten threads (24 % too fast: a serial
/// resource of constant time is kept busy by ten threads, the study's was not), Highpoint at 1 MiB
/// and one thread (18 % too fast), and eight drives, which write 15 % more at 4 KiB than four times
/// one drive.
#[test]
fn arrays_follow_from_their_drives() {
    let md4 = || raid5(vec![pro(); 4], 18_400);
    let md8 = || raid5(eight(), 18_400);
    let hp8 = || raid5(eight(), 27_300);
    assert!(table("md x4", &md4, Op::Read, &MD4_READ) < 0.015);
    assert!(table("md x4", &md4, Op::Write, &MD4_WRITE) < 0.03);
    assert!(table("md x8", &md8, Op::Read, &MD8_READ) < 0.05);
    assert!(table("md x8", &md8, Op::Write, &MD8_WRITE) < 0.10);
    assert!(table("Highpoint x8", &hp8, Op::Read, &HP8_READ) < 0.05);
    assert!(table("Highpoint x8", &hp8, Op::Write, &HP8_WRITE) < 0.10);
}

/// Wall time is only printed: a benchmark is no test.
#[test]
#[ignore = "prints the speed of the whole method, seconds"]
fn print_the_speed_of_the_whole_method() {
    let mut total = 0;
    let mut engine = raid5(eight(), 18_400);
    for op in [Op::Read, Op::Write] {
        for shift in 9..=22 {
            for threads in [1, 10, 40] {
                let (warm_up_ns, counted_ns) = (1_000_000_000, 10_000_000_000);
                let cell = Cell { op, block_bytes: 1 << shift, threads, warm_up_ns, counted_ns };
                let (iops, operations) = run(&mut *engine, cell, 1);
                total += operations;
                println!("{op:?} {:>8} {threads:>3} {iops:>9.1}", 1 << shift);
            }
        }
    }
    println!("{total} array operations");
}
