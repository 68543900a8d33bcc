//! A pass over a cell that replays: one worker, whose operations are of several streams.

use super::{
    Assignment, End, Ended, NotThreads, PassError, PassOrder, Progress,
    worker::{OpenPassWorker, PassWorker, held_back},
};
use crate::{
    method::FinalFlush,
    runner::pass::Live,
    target::{Drivable, OpenEngine, TargetError},
    workload::{
        ErrorLog, Failure, Recorder, TickPart,
        replay::{Fitting, ReplayCell, Replayed, Replayer, ReplayerPlan, What},
    },
};
use block::{Instant, IoError};
use stats::TICK_NS;
use std::sync::{
    atomic::AtomicBool,
    mpsc::{Receiver, Sender},
};

impl PassOrder<'_> {
    fn replay_plan(&self, replay: &ReplayCell) -> Result<ReplayerPlan, TargetError> {
        let streams = &self.cell.streams;
        let first = &streams[0];
        let of = |name: &str| streams.iter().position(|stream| stream.name == name);
        let (read, write, trim) = (of("read"), of("write"), of("trim"));
        let grain = u64::from(self.grain.max(1));
        if self.areas[0].bytes < grain {
            return Err(TargetError::refused("the area is smaller than one block of the target"));
        }
        let feed = replay.script.open().map_err(TargetError::refused)?;
        let mut by_what = [None; 4];
        by_what[What::Read as usize] = read;
        by_what[What::Write as usize] = write;
        // Without writes there is nothing to make durable.
        by_what[What::Flush as usize] = write;
        by_what[What::Trim as usize] = trim;
        Ok(ReplayerPlan {
            feed,
            speed: replay.speed,
            fitting: Fitting::new(self.areas[0], grain),
            queue_depth: first.queue_depth,
            transfer_bytes_max: first.block_bytes,
            contents: first.contents,
            streams: by_what,
            seed: self.seed,
            errors_max: self.errors_max,
        })
    }

    /// A recorder a stream; one thread's processor time counts once.
    fn recorders(&self, sink: &Sender<TickPart>) -> Vec<Recorder> {
        let recorder = |stream| {
            let cpu_clock = if stream == 0 { self.cpu_clock } else { || 0 };
            Recorder::new(stream, stream, TICK_NS, sink.clone(), cpu_clock)
        };
        (0..self.cell.streams.len()).map(recorder).collect()
    }

    fn replay(&self) -> &ReplayCell {
        self.cell.replay.as_ref().expect("a cell that replays")
    }

    /// The one worker of a replay, on a thread of its own.
    pub(super) fn replaying(
        &self,
        openers: Vec<OpenEngine>,
        sink: &Sender<TickPart>,
    ) -> Result<Assignment, NotThreads> {
        let plan = self.replay_plan(self.replay()).map_err(NotThreads::Target)?;
        let recorders = self.recorders(sink);
        let open = openers.into_iter().next().expect("an engine for the worker");
        let open: OpenPassWorker = Box::new(move || {
            let mut engine = open()?;
            let replayer = engine.replayer(plan, recorders);
            let errors = ErrorLog::default();
            Ok(Box::new(OnReplay { engine, replayer, errors, held_back: None }))
        });
        Ok(Assignment { stream: 0, open })
    }

    /// The one worker of a replay on a clock that is the engine's own, a tick at a time.
    pub(super) fn replay_shared(
        &self,
        mut engine: Box<dyn Drivable>,
        sink: &Sender<TickPart>,
        parts: &Receiver<TickPart>,
        progress: &mut Progress,
        watch: &mut dyn FnMut(Live) -> bool,
    ) -> Result<Ended, PassError> {
        let plan = self.replay_plan(self.replay()).map_err(PassError::Target)?;
        let stop = AtomicBool::new(false);
        let mut replayer = engine.replayer(plan, self.recorders(sink));
        let start = engine.now();
        replayer.start(start);
        let mut finished = start;
        for tick in 1.. {
            let until = start.after(tick * TICK_NS);
            engine.replay(&mut replayer, until, &stop);
            finished = engine.reached().min(until);
            replayer.turn_to(engine.reached());
            parts.try_iter().for_each(|part| progress.board.add(part));
            if !watch(progress.live()) {
                return Err(PassError::Interrupted);
            }
            if replayer.failure().is_some() || replayer.is_spent() {
                break;
            }
        }
        engine.drain_replay(&mut replayer);
        let flushes = self.cell.flush != FinalFlush::None && self.cell.writes();
        let flush = flushes.then(|| {
            let before = engine.now();
            (0, engine.flush().map(|done| done.since(before)))
        });
        replayer.finish();
        parts.try_iter().for_each(|part| progress.board.add(part));
        let (failure, errors) = (replayer.failure(), ErrorLog::default());
        let (engine, replayed) = (engine.describe(), Some(replayer.replayed()));
        Ok((start, vec![End { failure, errors, finished, flush, engine, replayed }]))
    }
}

/// The end of a replay's worker as one end a stream; other ends as they are.
pub(super) fn a_stream_each(ends: Vec<End>) -> Vec<End> {
    let split = |end: End| {
        let Some(replayed) = end.replayed else { return vec![end] };
        let own = |stream: crate::workload::replay::StreamReplayed| End {
            failure: end.failure,
            errors: stream.errors.clone(),
            finished: end.finished,
            flush: end.flush,
            engine: end.engine.clone(),
            replayed: Some(Replayed { streams: vec![stream] }),
        };
        replayed.streams.into_iter().map(own).collect()
    };
    ends.into_iter().flat_map(split).collect()
}

struct OnReplay {
    engine: Box<dyn Drivable>,
    replayer: Replayer,
    errors: ErrorLog,
    held_back: Option<Failure>,
}

impl PassWorker for OnReplay {
    fn now(&mut self) -> Instant {
        self.engine.now()
    }

    fn drive(&mut self, start: Instant, stop: &AtomicBool) {
        self.replayer.start(start);
        // A tick at a time, so that a stream without operations tells of its ticks, too.
        for tick in 1.. {
            let until = start.after(tick * TICK_NS);
            self.engine.replay(&mut self.replayer, until, stop);
            if self.engine.reached() < until {
                break;
            }
            self.replayer.turn_to(until);
        }
        self.engine.drain_replay(&mut self.replayer);
        self.held_back = held_back(self.engine.as_mut());
    }

    fn finish(&mut self) {
        self.replayer.finish();
    }

    fn failure(&self) -> Option<Failure> {
        self.replayer.failure().or(self.held_back)
    }

    fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    fn flush(&mut self) -> Result<Instant, IoError> {
        self.engine.flush()
    }

    fn describe(&self) -> (String, Vec<String>) {
        self.engine.describe()
    }

    fn replayed(&self) -> Option<Replayed> {
        Some(self.replayer.replayed())
    }
}
