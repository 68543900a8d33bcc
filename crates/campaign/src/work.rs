//! A worker's way through tasks: claim, do, answer.
//!
//! ```text
//!   claim -> Hands::carry_out -> record, answer         one task
//!   local: several threads, each the next task          many
//! ```

use crate::{
    Campaign, CampaignError, Worker,
    answer::{Answer, FORMAT, Found, VERSION},
    beat::Beating,
    directory::{Claimed, Failed},
    measure::{Measured, Unmeasured, measure},
    task::{Task, Work},
    whole::Made,
};
use record::{Calibration, Record};
use run::MeasuredBy;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

/// How often a worker looks whether another one is through with its task.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Who knows how a task is done.
pub trait Hands: Sync {
    /// Does it.
    ///
    /// # Errors
    /// How it ended otherwise.
    fn carry_out(
        &self,
        campaign: &Campaign,
        task: &Task,
        attempt: u32,
        stop: &AtomicBool,
    ) -> Result<Yield, Unmeasured>;
}

/// What a task yields.
#[derive(Debug)]
pub enum Yield {
    /// A run.
    Run(Measured),
    /// Something else that is known in numbers.
    Counts(Found),
}

/// Does what measures.
pub struct Measuring {
    /// What the records say of the program.
    pub(crate) by: MeasuredBy,
    /// What the engines cost here, once it is known.
    pub(crate) calibration: OnceLock<Calibration>,
}

impl Measuring {
    /// By this program.
    pub fn new(by: MeasuredBy) -> Self {
        Self { by, calibration: OnceLock::new() }
    }
}

impl Hands for Measuring {
    fn carry_out(
        &self,
        campaign: &Campaign,
        task: &Task,
        _: u32,
        stop: &AtomicBool,
    ) -> Result<Yield, Unmeasured> {
        match &task.work {
            Work::Measure(what) => measure(campaign, task.task, what, self, stop).map(Yield::Run),
            Work::Seeds(_) => {
                let sentence = "seeds are tried by `cargo xtask soak`, not by drivelab";
                Err(Unmeasured::Failed(sentence.to_owned(), None))
            }
        }
    }
}

/// What became of a task that a worker turned to.
#[derive(Clone, PartialEq, Debug)]
pub enum Turned {
    /// It is complete, by this worker.
    Complete(Box<Answer>),
    /// It failed, now or before.
    Failed(Box<Answer>),
    /// It was complete before, or another worker was faster.
    Done,
    /// Another worker is at it.
    Busy,
    /// This worker was told to stop; the task is open again when it ends.
    Stopped,
    /// It is for another host.
    Elsewhere,
}

/// One process at work on a campaign.
pub struct Shift<'c> {
    campaign: &'c Campaign,
    here: Worker,
    hands: &'c dyn Hands,
    stop: &'c AtomicBool,
    failed: Failed,
    _beating: Beating,
}

impl<'c> Shift<'c> {
    /// Begins. `stop` ends it between tasks and within one.
    ///
    /// # Errors
    /// /proc or the directory cannot be used.
    pub fn begin(
        campaign: &'c Campaign,
        hands: &'c dyn Hands,
        failed: Failed,
        stop: &'c AtomicBool,
    ) -> Result<Self, CampaignError> {
        let here = Worker::current().map_err(CampaignError::Process)?;
        let beating = Beating::begin(campaign, &here)?;
        Ok(Self { campaign, here, hands, stop, failed, _beating: beating })
    }

    /// The name of this host.
    pub fn host(&self) -> &str {
        &self.here.host
    }

    /// Does a task, unless it is done, another one's, or cancelled.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub fn turn_to(&self, task: &Task) -> Result<Turned, CampaignError> {
        // A scheduler may know a host by its short name.
        let short = |host: &str| host.split('.').next().map(str::to_owned);
        if task.host.as_ref().is_some_and(|host| short(host) != short(&self.here.host)) {
            return Ok(Turned::Elsewhere);
        }
        if self.stop.load(Ordering::Relaxed) || self.campaign.is_cancelled() {
            return Ok(Turned::Stopped);
        }
        let begun = (Instant::now(), unix_s());
        match self.campaign.claim(task.task, &self.here, self.failed)? {
            Claimed::Done => Ok(Turned::Done),
            Claimed::Failed(answer) => Ok(Turned::Failed(answer)),
            Claimed::Busy(_) => Ok(Turned::Busy),
            Claimed::Mine { attempt } => self.carry_out(task, attempt, begun),
        }
    }

    /// The same; a worker that is at it is waited for. So a task that a scheduler starts again
    /// while the first start of it lives on is neither lost nor done twice.
    ///
    /// # Errors
    /// As [`Self::turn_to`].
    pub fn turn_to_patiently(&self, task: &Task) -> Result<Turned, CampaignError> {
        loop {
            match self.turn_to(task)? {
                Turned::Busy => thread::sleep(LOOK_EVERY),
                turned => return Ok(turned),
            }
        }
    }

    fn carry_out(
        &self,
        task: &Task,
        attempt: u32,
        (begun, began_unix_s): (Instant, f64),
    ) -> Result<Turned, CampaignError> {
        let working = Instant::now();
        let done = self.hands.carry_out(self.campaign, task, attempt, self.stop);
        let mut work_seconds = working.elapsed().as_secs_f64();
        let keep = |record: &Record| {
            let kept = self.campaign.keep_record(task.task, attempt, record)?;
            Ok::<_, CampaignError>(Found::of(record, kept))
        };
        let (found, error) = match done {
            Ok(Yield::Run(measured)) => {
                work_seconds = measured.work_seconds;
                (keep(&measured.record)?, None)
            }
            Ok(Yield::Counts(found)) => (found, None),
            Err(Unmeasured::Stopped) => return Ok(Turned::Stopped),
            Err(Unmeasured::Failed(sentence, record)) => {
                let found = record.as_deref().map(keep).transpose()?.unwrap_or_default();
                (found, Some(sentence))
            }
        };
        let answer = Answer {
            format: FORMAT.to_owned(),
            version: VERSION,
            task: task.task,
            attempt,
            error,
            host: self.here.host.clone(),
            began_unix_s,
            seconds: begun.elapsed().as_secs_f64(),
            work_seconds,
            found,
        };
        let made = self.campaign.answer(&answer)?;
        Ok(match (made, answer.error.is_some()) {
            (Made::Before, _) => Turned::Done,
            (Made::Now, true) => Turned::Failed(Box::new(answer)),
            (Made::Now, false) => Turned::Complete(Box::new(answer)),
        })
    }

    /// Does all tasks: modelled ones by `workers` threads, then those on real drives one at a time,
    /// each in their order; or a repetition at a time, all of it together, where that is asked for.
    /// `tell` hears of each, from whichever thread.
    ///
    /// # Errors
    /// The directory cannot be read or written; the threads stop at once.
    pub fn all(
        &self,
        tasks: &[Task],
        workers: usize,
        tell: &(dyn Fn(&Task, &Turned) + Sync),
    ) -> Result<(), CampaignError> {
        if self.campaign.file.together {
            let mut repetitions: BTreeMap<u32, Vec<&Task>> = BTreeMap::new();
            tasks
                .iter()
                .for_each(|task| repetitions.entry(task.repetition).or_default().push(task));
            let mut blocks = repetitions.values();
            return blocks.try_for_each(|block| self.side_by_side(block, block.len(), tell));
        }
        let (modelled, real): (Vec<&Task>, Vec<&Task>) =
            tasks.iter().partition(|task| task.is_modelled());
        self.side_by_side(&modelled, workers, tell)?;
        self.side_by_side(&real, 1, tell)
    }

    /// Does these by so many threads.
    fn side_by_side(
        &self,
        tasks: &[&Task],
        workers: usize,
        tell: &(dyn Fn(&Task, &Turned) + Sync),
    ) -> Result<(), CampaignError> {
        let (next, error) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.turn_to(task) {
                    Ok(Turned::Stopped) => return,
                    Ok(turned) => tell(task, &turned),
                    Err(failure) => {
                        next.store(tasks.len(), Ordering::Relaxed);
                        error.lock().expect("no thread panics with it").get_or_insert(failure);
                        return;
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers.min(tasks.len()) {
                scope.spawn(work);
            }
            work();
        });
        error.into_inner().expect("no thread panics with it").map_or(Ok(()), Err)
    }
}

fn unix_s() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
