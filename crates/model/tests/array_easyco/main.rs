//! EasyCo's tables (Dumitru, "Mtron Flash SSD Single Drive and Raid Array Benchmarks", November 2007), modelled.

mod closed_loop;

use block::{Drive, Engine, Stack};
use closed_loop::{Cell, Op, run};
use model::{
    Array, ArrayParams, Attached, Bank, BlockMapped, BlockMappedParams, Level, Port, PortParams,
    Sim, WriteCaching,
};

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
        copy_ns_per_kib: 6_900,
        buffer_lines: 64,
        write_caching: WriteCaching::On,
    }
}

fn mobi() -> BlockMappedParams {
    BlockMappedParams {
        command_ns: 48_100,
        read_bytes_per_s: 118_069_658, // 112.6 MiB/s
        merge_ns: 8_254_000,
        write_bytes_per_s: 87_556_096,
        copy_ns_per_kib: 5_500,
        ..pro()
    }
}

fn highpoint() -> PortParams {
    PortParams {
        own_ns: 7_100,
        own_ns_per_kib: 105,
        driver_ns: 13_700,
        serial_ns: None,
        transfer_bytes_max: 64 << 10,
        command_ns: 0,
        link_bytes_per_s: None,
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
        .map(|number| Attached { geometry: sim.geometry(block::Drive(number as u16)), commands: 1 })
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

const PRO_READ: [(u32, [u32; 3]); 10] = [
    (1, [14422, 20751, 20756]),
    (8, [10337, 13223, 13226]),
    (16, [7851, 9417, 9422]),
    (32, [5168, 5839, 5842]),
    (64, [3075, 3316, 3319]),
    (128, [1696, 1779, 1782]),
    (256, [876, 896, 899]),
    (512, [444, 450, 0]),
    (1024, [225, 226, 0]),
    (2048, [113, 113, 0]),
];
const PRO_WRITE: [(u32, [u32; 3]); 10] = [
    (1, [122, 121, 0]),
    (8, [123, 123, 0]),
    (16, [124, 124, 0]),
    (32, [120, 128, 0]),
    (64, [125, 127, 0]),
    (128, [121, 124, 0]),
    (256, [115, 115, 0]),
    (512, [100, 101, 0]),
    (1024, [88, 0, 0]),
    (2048, [70, 0, 0]),
];
const MOBI_READ: [(u32, [u32; 3]); 10] = [
    (1, [13357, 18636, 18637]),
    (8, [9784, 12319, 12325]),
    (16, [7376, 8790, 8795]),
    (32, [4806, 5392, 5394]),
    (64, [2836, 3040, 3043]),
    (128, [1559, 1624, 1627]),
    (256, [802, 818, 821]),
    (512, [406, 410, 0]),
    (1024, [205, 206, 0]),
    (2048, [103, 103, 0]),
];
const MOBI_WRITE: [(u32, [u32; 3]); 10] = [
    (1, [119, 121, 0]),
    (8, [124, 124, 0]),
    (16, [125, 119, 0]),
    (32, [119, 124, 0]),
    (64, [119, 124, 0]),
    (128, [117, 118, 0]),
    (256, [111, 116, 0]),
    (512, [97, 0, 0]),
    (1024, [79, 0, 0]),
    (2048, [63, 0, 0]),
];
const ONBOARD_READ: [(u32, [u32; 3]); 10] = [
    (1, [9427, 10114, 10117]),
    (8, [7483, 7925, 7927]),
    (16, [6080, 6403, 6405]),
    (32, [4335, 4502, 4506]),
    (64, [2751, 2839, 2843]),
    (128, [1599, 1631, 1634]),
    (256, [866, 881, 884]),
    (512, [438, 444, 0]),
    (1024, [219, 223, 0]),
    (2048, [110, 112, 0]),
];
const ONBOARD_WRITE: [(u32, [u32; 3]); 10] = [
    (1, [119, 123, 0]),
    (8, [124, 124, 0]),
    (16, [125, 125, 0]),
    (32, [125, 126, 0]),
    (64, [124, 127, 0]),
    (128, [122, 125, 0]),
    (256, [109, 116, 0]),
    (512, [97, 0, 0]),
    (1024, [82, 0, 0]),
    (2048, [70, 0, 0]),
];

#[test]
#[ignore = "prints the tables, seconds"]
fn print_the_single_drives() {
    let pro_port = || Box::new(single(pro(), highpoint())) as Box<dyn Engine>;
    let mobi_port = || {
        Box::new(single(mobi(), PortParams { own_ns_per_kib: 120, ..highpoint() }))
            as Box<dyn Engine>
    };
    let onboard_port = || Box::new(single(pro(), onboard())) as Box<dyn Engine>;
    table("PRO", &pro_port, Op::Read, &PRO_READ);
    table("PRO", &pro_port, Op::Write, &PRO_WRITE);
    table("MOBI", &mobi_port, Op::Read, &MOBI_READ);
    table("MOBI", &mobi_port, Op::Write, &MOBI_WRITE);
    table("on-board", &onboard_port, Op::Read, &ONBOARD_READ);
    table("on-board", &onboard_port, Op::Write, &ONBOARD_WRITE);
}

const MD4_READ: [(u32, [u32; 3]); 6] = [
    (8, [10004, 41859, 50569]),
    (128, [1690, 6032, 6861]),
    (256, [1656, 0, 0]),
    (512, [1555, 0, 0]),
    (1024, [806, 0, 0]),
    (2048, [416, 448, 0]),
];
const MD4_WRITE: [(u32, [u32; 3]); 3] =
    [(8, [248, 254, 0]), (128, [245, 246, 0]), (2048, [92, 0, 0])];
const MD8_READ: [(u32, [u32; 3]); 3] =
    [(8, [9763, 42978, 54100]), (128, [1611, 8984, 11908]), (2048, [663, 775, 775])];
const MD8_WRITE: [(u32, [u32; 3]); 3] =
    [(8, [557, 562, 573]), (128, [442, 532, 518]), (2048, [111, 113, 0])];
const HP8_READ: [(u32, [u32; 3]); 3] =
    [(8, [9047, 35505, 36567]), (128, [1593, 8962, 11909]), (2048, [549, 774, 783])];
const HP8_WRITE: [(u32, [u32; 3]); 3] =
    [(8, [553, 582, 575]), (128, [451, 530, 532]), (2048, [109, 117, 0])];

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

#[test]
#[ignore = "prints the tables, seconds"]
fn print_the_arrays() {
    let md4 = || raid5(vec![pro(); 4], 18_400);
    let md8 = || raid5(eight(), 18_400);
    let hp8 = || raid5(eight(), 27_300);
    table("md x4", &md4, Op::Read, &MD4_READ);
    table("md x4", &md4, Op::Write, &MD4_WRITE);
    table("md x8", &md8, Op::Read, &MD8_READ);
    table("md x8", &md8, Op::Write, &MD8_WRITE);
    table("Highpoint x8", &hp8, Op::Read, &HP8_READ);
    table("Highpoint x8", &hp8, Op::Write, &HP8_WRITE);
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
