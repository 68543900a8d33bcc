//! Write amplification beside the closed form, and beside what was simulated without a format: on a
//! drive that only counts.

use super::{Table, failed};
use anyhow::{Result, ensure};
use block::{Completion, Data, Drive, Effects, Engine, Geometry, Instant, Machine, Request, Stack};
use flash::{
    BLOCK_BYTES, Checksums, Classes, Cleaning, Counters, Layout, Parity, Settings, Shape, Volume,
    VolumeId, predict::write_amplification,
};
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream};
use model::{Outbox, Sim};

/// In per cent of what is there for data.
const SPARES: [u32; 11] = [5, 7, 10, 15, 20, 28, 33, 40, 50, 60, 70];
/// Victims in the order of filling, the emptiest, and by cost and benefit.
const POLICIES: [Cleaning; 3] = [Cleaning::Fifo, Cleaning::Greedy, Cleaning::CostBenefit];
const SEGMENT_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: u64 = 512 << 10;
/// Times that the drive is written before counting begins, and while it counts.
const ROUNDS: (u64, u64) = (6, 4);
/// Looks at the free segments while it counts.
const SAMPLES: u64 = 64;

/// What was simulated without a format, by (pattern, spare in per cent): one stream, the cleaner's
/// blocks apart by cost and benefit, SepBIT's classes.
const SIMULATED: [(&str, u32, [f64; 3]); 6] = [
    ("hot_cold:20/80", 10, [5.45, 4.59, 4.22]),
    ("hot_cold:20/80", 28, [2.31, 1.89, 1.77]),
    ("hot_cold:10/90", 10, [6.09, 3.29, 2.72]),
    ("hot_cold:10/90", 28, [2.71, 1.51, 1.41]),
    ("zipf:0.99", 10, [7.61, 3.55, 2.98]),
    ("zipf:0.99", 28, [2.91, 1.86, 1.65]),
];

/// The section on uniform random overwriting.
pub fn uniform(device_bytes: u64) -> Result<String> {
    let mut table = Table::new(
        "| spare | closed form | FIFO | of it | greedy | of it | cost-benefit | of it | m |",
    );
    for spare in SPARES {
        let seen = POLICIES
            .map(|policy| overwrite(device_bytes, spare, policy, Classes::TWO, Pattern::Random));
        let [fifo, greedy, benefit] = seen;
        let (fifo, greedy, benefit) = (fifo?, greedy?, benefit?);
        let mut cells = vec![format!("{:.3}", write_amplification(fifo.spare))];
        for seen in [&fifo, &greedy, &benefit] {
            cells.push(format!("{:.3}", seen.write_amplification));
            let form = write_amplification(seen.spare);
            cells.push(format!("{:.3}", seen.write_amplification / form));
        }
        cells.push(format!("{:.2} %", 100.0 * greedy.metadata));
        table.line(&format!("{:.1} %", 100.0 * fifo.spare), &cells);
    }
    Ok(table.text)
}

/// The section on skew.
pub fn skewed(device_bytes: u64) -> Result<String> {
    let mut table = Table::new(
        "| pattern | spare | one stream, simulated | greedy | cost-benefit | simulated | of it | SepBIT | simulated | of it |",
    );
    for (pattern, spare, [one, apart, classes]) in SIMULATED {
        let walk = Pattern::parse(pattern).expect("it is one");
        let run = |policy, classes| overwrite(device_bytes, spare, policy, classes, walk);
        let greedy = run(Cleaning::Greedy, Classes::TWO)?;
        let benefit = run(Cleaning::CostBenefit, Classes::TWO)?;
        let sepbit = run(Cleaning::SepBit, Classes::SEPBIT)?;
        let spares = [&benefit, &sepbit].map(|seen| format!("{:.1} %", 100.0 * seen.spare));
        table.line(
            &format!("`{pattern}`"),
            &[
                spares.join(" / "),
                format!("{one:.2}"),
                format!("{:.3}", greedy.write_amplification),
                format!("{:.3}", benefit.write_amplification),
                format!("{apart:.2}"),
                format!("{:.3}", benefit.write_amplification / apart),
                format!("{:.3}", sepbit.write_amplification),
                format!("{classes:.2}"),
                format!("{:.3}", sepbit.write_amplification / classes),
            ],
        );
    }
    Ok(table.text)
}

struct Measured {
    /// Metadata not counted.
    write_amplification: f64,
    /// Headers, pages and padding for each block of data.
    metadata: f64,
    /// Of the segments that hold data: what is free, waits for a checkpoint or holds the map is not
    /// counted as spare, nor is an open segment's empty half.
    spare: f64,
}

/// Overwrites everything until it is steady, and counts.
fn overwrite(
    device_bytes: u64,
    spare: u32,
    cleaning: Cleaning,
    classes: Classes,
    pattern: Pattern,
) -> Result<Measured> {
    let shape = shape_with_spare(device_bytes, classes, f64::from(spare) / 100.0)?;
    let settings = Settings { queue_depth: 32, chunks: 12, cleaning, ..Settings::default() };
    let sim = Sim::new(FixedLatencyDrive::new(device_bytes));
    let volume = Volume::create(sim.geometry(Drive(0)), shape, VolumeId([1; 16]), settings)?;
    let mut stack = Stack::new(volume, sim);
    let area = Area { offset: 0, bytes: shape.exported_bytes };
    let stream = Stream::new(Op::Write, Pattern::Sequential, BLOCK_BYTES as u32);
    let mut writer = Counted::new(&mut stack, &stream, area, 1);
    let blocks = shape.exported_bytes / BLOCK_BYTES;
    writer.run(&mut stack, Length::of(blocks)).map_err(failed)?;
    writer.turn_to(Op::Write, pattern, area, 1);
    let device_blocks = device_bytes / BLOCK_BYTES;
    let part = device_blocks / SAMPLES;
    let appended = |counters: &Counters| counters.host_blocks + counters.copied_blocks;
    while appended(&counters(&stack)) < (ROUNDS.0 + 1) * device_blocks {
        writer.run(&mut stack, Length::of(part)).map_err(failed)?;
    }
    let before = counters(&stack);
    let (mut idle, mut looks) = (0, 0);
    while appended(&counters(&stack)) < appended(&before) + ROUNDS.1 * device_blocks {
        writer.run(&mut stack, Length::of(part / 8)).map_err(failed)?;
        let now = counters(&stack);
        idle += now.free_segments + now.prefree_segments + now.meta_segments;
        looks += 1;
    }
    let now = counters(&stack);
    let of = |field: fn(&Counters) -> u64| (field(&now) - field(&before)) as f64;
    let data = of(|c| c.host_blocks) + of(|c| c.copied_blocks);
    let overhead = of(|c| c.header_blocks) + of(|c| c.padding_blocks);
    let pages = of(|c| c.page_blocks);
    let layout = stack.machine.layout().expect("it is open");
    let open = f64::from(classes.streams() - 1) / 2.0;
    let segments = f64::from(layout.segments) - idle as f64 / f64::from(looks) - open;
    let full = (data + pages) / (data + pages + overhead);
    let in_use = segments * f64::from(layout.segment_blocks) * full;
    Ok(Measured {
        write_amplification: data / of(|c| c.host_blocks),
        metadata: (overhead + pages) / data,
        spare: 1.0 - now.mapped_blocks as f64 / in_use,
    })
}

/// The shape whose spare, all counted, is as near to this as sizes go.
fn shape_with_spare(device_bytes: u64, classes: Classes, spare: f64) -> Result<Shape> {
    let shape = |exported_blocks: u64| Shape {
        device_bytes,
        exported_bytes: exported_blocks * BLOCK_BYTES,
        stripe_bytes: BLOCK_BYTES,
        erase_unit_bytes: BLOCK_BYTES,
        segment_bytes: SEGMENT_BYTES,
        chunk_bytes: CHUNK_BYTES,
        ring_bytes: 0,
        parity: Parity::None,
        checksums: Checksums::OnCleaning,
        classes,
    };
    let is_too_full = |blocks: u64| {
        Layout::new(shape(blocks), u64::MAX).is_ok_and(|layout| {
            u64::from(layout.mapped_max) < blocks || layout.spare(blocks) < spare
        })
    };
    let (mut low, mut high) = (1, device_bytes / BLOCK_BYTES);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        (low, high) = if is_too_full(middle) { (low, middle) } else { (middle, high) };
    }
    let layout = Layout::new(shape(low), u64::MAX)?;
    ensure!(
        layout.spare(low) < spare + 0.005,
        "a spare of {spare} is less than a volume on {device_bytes} B can have"
    );
    Ok(shape(low))
}

fn counters(stack: &Stack<Volume, Sim<FixedLatencyDrive>>) -> Counters {
    stack.machine.counters().expect("it is open")
}

/// A drive on which every request takes as long as every other.
struct FixedLatencyDrive {
    capacity_bytes: u64,
    outbox: Outbox,
}

const DEPTH: u32 = 256;

impl FixedLatencyDrive {
    fn new(capacity_bytes: u64) -> Self {
        Self { capacity_bytes, outbox: Outbox::new(DEPTH) }
    }
}

impl Machine for FixedLatencyDrive {
    fn geometry(&self, _: Drive) -> Geometry {
        Geometry {
            capacity_bytes: self.capacity_bytes,
            block_bytes: 512,
            transfer_bytes_max: 1 << 24,
            queue_depth: DEPTH,
            data: Data::TimingOnly,
        }
    }

    fn on_request(&mut self, now: Instant, request: Request, _: &mut Effects) {
        let payload = request.command.into_payload();
        let finished = now.after(1_000);
        self.outbox.put(Completion {
            tag: request.tag,
            issued: now,
            finished,
            result: Ok(()),
            payload,
        });
    }

    fn on_completion(&mut self, _: Instant, _: Completion, _: &mut Effects) {
        unreachable!("a drive has nothing below it");
    }

    fn on_wakeup(&mut self, now: Instant, effects: &mut Effects) {
        self.outbox.release(now, effects);
    }

    fn next_wakeup(&self) -> Instant {
        self.outbox.next()
    }
}
