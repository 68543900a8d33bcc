//! Readers side by side on one file system: what read-ahead and elevators are for.

use crate::{Order, Trial, TrialError};
use block::Actor;
use lab::workload::{Area, Counted, Length, Op, Pattern, Stream};
use model::fs::{Caching, Syncing};
use target::stack::Opened;

/// Readers of one file through the page cache, each in a part of its own; each asks for the next
/// thing as soon as it has the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Streams {
    /// How many read.
    pub readers: u16,
    /// In which order.
    pub order: Order,
    /// Bytes a read.
    pub block_bytes: u32,
}

impl Streams {
    pub(crate) fn trial(self) -> Trial {
        Trial::Streams(self)
    }

    /// Bytes a second that all readers get together, out of the first `span_bytes`, of which
    /// `read_bytes` are read.
    pub(crate) fn measure(
        self,
        opened: &mut Opened,
        span_bytes: u64,
        read_bytes: u64,
        seed: u64,
    ) -> Result<f64, TrialError> {
        let part_bytes = span_bytes / u64::from(self.readers) / (1 << 20) * (1 << 20);
        if let Some(files) = opened.file_system() {
            (0..self.readers)
                .for_each(|actor| files.set_open(Actor(actor), Caching::Buffered, Syncing::None));
        }
        let pattern = match self.order {
            Order::Random => Pattern::Random,
            Order::Sequential => Pattern::Sequential,
        };
        let reader = |number: u16| {
            let area = Area { offset: u64::from(number) * part_bytes, bytes: part_bytes };
            (Stream::new(Op::Read, pattern, self.block_bytes), area)
        };
        let readers: Vec<_> = (0..self.readers).map(reader).collect();
        let bytes = u64::from(self.block_bytes);
        // The first windows are small.
        let length = Length::of(read_bytes / bytes).after(read_bytes / 4 / bytes);
        let engine = opened.as_engine();
        let pace = Counted::of_streams(engine, &readers, seed).run(engine, length)?;
        Ok(pace.iops() * bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effort, Figure, Setup, Study, trial};
    use target::catalog::Catalog;

    fn rate(stack: String, streams: Streams) -> f64 {
        let catalog = Catalog::built_in().expect("a catalog");
        let figure = Figure {
            study: Study::Stfc2009,
            table: String::new(),
            device: String::new(),
            config: String::new(),
            op: "seq-read".to_owned(),
            block_bytes: None,
            threads: None,
            metric: "mb_per_s".to_owned(),
            value: 0.0,
            value_text: String::new(),
        };
        let setup = Setup { stack, trial: streams.trial() };
        trial::measure(&setup, &figure, &catalog, Effort::REPORT).expect("a rate").value
    }

    /// STFC tuned read-ahead and elevator for one reader: in the models that gains next to nothing.
    /// What an elevator is for takes several readers, and what suits a disk is bad for flash.
    #[test]
    fn waiting_for_the_next_read_costs_flash_what_readers_at_random_would_give_together() {
        let of = |elevator: &str, readers, order| {
            let stack = format!("intel-x25e-64/{elevator}/ext2:ram=1G,read-ahead=8M");
            rate(stack, Streams { readers, order, block_bytes: 16 << 10 })
        };
        let [noop, cfq] = ["noop", "cfq"].map(|elevator| of(elevator, 4, Order::Random));
        println!("four at random: noop {noop:.1}, cfq {cfq:.1} MB/s");
        assert!(cfq < 0.8 * noop);
        let unwaited = of("cfq:slice_idle=0ms", 4, Order::Random);
        assert!(unwaited > 1.2 * cfq, "without waiting {unwaited:.1}");
        let [noop, cfq] = ["noop", "cfq"].map(|elevator| of(elevator, 1, Order::Sequential));
        assert!((cfq / noop - 1.0).abs() < 0.01, "one in order: {noop:.1}, {cfq:.1}");
    }

    #[test]
    fn small_read_ahead_costs_a_drive_without_a_command_queue_its_commands() {
        let of = |ahead: &str| {
            let stack = format!("memoright-mr25.2-128/anticipatory/ext2:ram=1G,read-ahead={ahead}");
            let streams = Streams { readers: 1, order: Order::Sequential, block_bytes: 64 << 10 };
            rate(stack, streams)
        };
        let rates = ["16K", "128K", "512K", "8M"].map(of);
        println!("{rates:.1?} MB/s");
        assert!(rates[0] < 0.9 * rates[1] && rates[1] < rates[2]);
        // From the largest request on there is nothing left to gain.
        assert!((rates[3] / rates[2] - 1.0).abs() < 0.01);
    }
}
