//! `null:`: everything but a device. What it measures is drivelab itself.

use block::{Data, Geometry};
use engine::{Clock, Null, raw};
use lab::{
    runner::engine_cost_ns,
    target::{
        Access, Drivable, Named, Need, Observation, Offer, OpenEngine, Reset, Target, TargetError,
        Time, WorkerEngines,
    },
    workload::Stream,
};
use record::{Calibration, TargetInfo, TargetKind, Warning};
use std::ops::Range;

/// Pretended size: larger than any file of a method, and filled in seconds by one that asks for all
/// there is.
const CAPACITY_BYTES: u64 = 1 << 40;

/// A target without a device.
pub struct NullTarget {
    clock: Clock,
    info: TargetInfo,
}

impl NullTarget {
    /// On the run's clock.
    pub fn new(clock: Clock) -> Self {
        let info = TargetInfo::of("null:", TargetKind::Null, CAPACITY_BYTES);
        Self { clock, info }
    }
}

fn engine(clock: Clock, queue_depth: u32) -> Named<Null> {
    let geometry = Geometry {
        capacity_bytes: CAPACITY_BYTES,
        block_bytes: 1,
        transfer_bytes_max: u32::MAX,
        queue_depth,
        data: Data::Stored,
    };
    Named { engine: Null::new(clock, geometry), name: "null", features: Vec::new() }
}

impl Target for NullTarget {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn offer(&self) -> Offer {
        Offer {
            capacity_bytes: CAPACITY_BYTES,
            block_bytes: 1,
            access: Access::ReadWrite,
            uring: Ok(()),
            direct: Ok(()),
            huge_pages: host::environment::huge_pages(&host::Roots::default()),
            buffered: Ok(()),
            drop_machine: Ok(()),
            remount: Ok(()),
            files_max: Err(lab::target::NO_TREE.to_owned()),
            trim: Ok(()),
            write_zeroes: Ok(()),
            stdio: Err(
                "`null:` has no stdio engine: use --engine auto, or measure a file".to_owned()
            ),
            time: Time::Wall,
            wears: false,
            memory_bytes: 0,
        }
    }

    fn prepare(&mut self, _: &Need) -> Result<(), TargetError> {
        Ok(())
    }

    fn open(&mut self, streams: &[Stream]) -> Result<WorkerEngines, TargetError> {
        let clock = self.clock;
        let mut openers = Vec::new();
        for stream in streams {
            assert!(!stream.engine.is_stdio(), "the offer says that there is none");
            for _ in 0..stream.threads {
                let depth = stream.queue_depth;
                let open = move || Ok(Box::new(engine(clock, depth)) as Box<dyn Drivable>);
                openers.push(Box::new(open) as OpenEngine);
            }
        }
        Ok(WorkerEngines::Threads(openers))
    }

    fn reset(&mut self, _: Reset) -> Result<(), TargetError> {
        Ok(())
    }

    fn watch(&mut self, _: Range<u64>) -> Observation {
        Observation::default()
    }

    fn inspect(&mut self) -> Result<Vec<Warning>, TargetError> {
        Ok(Vec::new())
    }

    fn cpu_clock(&self) -> fn() -> u64 {
        raw::thread_cpu_ns
    }
}

/// What the engine and the clock cost on this machine now; takes some 20 ms.
pub fn calibrate(clock: Clock) -> Calibration {
    Calibration {
        engine: "null".to_owned(),
        ns_per_operation: engine_cost_ns(&mut engine(clock, 1)),
        clock: clock.source().to_string(),
        clock_read_ns: clock.read_cost_ns(),
        features: Vec::new(),
    }
}
