//! Where tasks wait for each other, so that their cells load a shared store at the same moment.
//!
//! ```text
//!   together/R-S/K      task K of repetition R stands before its step S
//!   together/R-S.start  when all go on, ns since 1970: made once, by whoever sees all of them
//! ```
//!
//! All tasks of a repetition meet before each step, since a fill or a cell before it takes longer
//! on one of them than on another. Who failed or died is not waited for. How close the starts are
//! is what the hosts' clocks make of it: a millisecond with NTP on one network.

use crate::{
    Campaign, CampaignError, Worker,
    claim::Claim,
    directory::{read, read_json},
    task::Work,
    whole::{self, Lasting},
};
use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How often who waits looks who is there.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often it looks whether those who are missing will come at all.
const MISS_EVERY: Duration = Duration::from_secs(2);
/// From the moment all are there to the start: longer than any of them looks apart.
const AHEAD: Duration = Duration::from_millis(300);

/// The gate of one task.
pub struct Gate<'c> {
    campaign: &'c Campaign,
    task: u32,
    repetition: u32,
    /// The others of its repetition, itself among them.
    members: Vec<u32>,
    stop: &'c AtomicBool,
    late: AtomicU64,
}

impl<'c> Gate<'c> {
    /// Of a task; none where the campaign's tasks do not begin together.
    ///
    /// # Errors
    /// The list of tasks cannot be read.
    pub fn of(
        campaign: &'c Campaign,
        task: u32,
        stop: &'c AtomicBool,
    ) -> Result<Option<Self>, CampaignError> {
        if !campaign.file.together {
            return Ok(None);
        }
        let tasks = campaign.tasks()?;
        let repetition = tasks[task as usize].repetition;
        let is_member =
            |of: &&crate::Task| of.repetition == repetition && matches!(of.work, Work::Measure(_));
        let members = tasks.iter().filter(is_member).map(|task| task.task).collect();
        Ok(Some(Self { campaign, task, repetition, members, stop, late: AtomicU64::new(0) }))
    }

    /// Steps that the others had begun before this task came.
    pub fn late_starts(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Waits for the others before a step. What cannot be read or written is no reason to lose
    /// the measurement: then it goes on alone, and counts as late.
    pub fn wait(&self, step: usize) {
        if !self.meet(step).unwrap_or(false) {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether it started with the others.
    fn meet(&self, step: usize) -> Result<bool, CampaignError> {
        let name = format!("together/{}-{step}", self.repetition);
        let (directory, start) =
            (self.campaign.path(&name), self.campaign.path(&format!("{name}.start")));
        if start.exists() {
            return Ok(false);
        }
        let io = |error| CampaignError::io("make", &directory, error);
        fs::create_dir_all(&directory).map_err(io)?;
        let own = directory.join(self.task.to_string());
        whole::make(&own, b"", Lasting::Cached)?;
        let mut looked = Instant::now();
        let mut gone = 0;
        while !start.exists() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(true);
            }
            let there = |task: &&u32| directory.join(task.to_string()).exists();
            let missing: Vec<u32> =
                self.members.iter().filter(|task| !there(task)).copied().collect();
            if looked.elapsed() >= MISS_EVERY {
                looked = Instant::now();
                gone = missing.iter().filter(|&&task| self.is_gone(task)).count();
            }
            if missing.len() <= gone {
                let at = (SystemTime::now() + AHEAD).duration_since(UNIX_EPOCH);
                let text = at.unwrap_or_default().as_nanos().to_string();
                whole::make(&start, text.as_bytes(), Lasting::Cached)?;
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        let at: u64 =
            read(&start)?.parse().map_err(|error| CampaignError::damaged(&start, error))?;
        let at = UNIX_EPOCH + Duration::from_nanos(at);
        match at.duration_since(SystemTime::now()) {
            Ok(left) => thread::sleep(left.min(AHEAD)),
            Err(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a task will not come: it is through, it failed, or its worker died.
    fn is_gone(&self, task: u32) -> bool {
        if self.campaign.path(&format!("results/{task}.json")).exists() {
            return true;
        }
        let claim = |attempt: u32| self.campaign.path(&format!("claims/{task}-{attempt}.json"));
        let Some(last) = (1..).take_while(|&attempt| claim(attempt).exists()).last() else {
            // Nobody begins it any more.
            return self.campaign.is_cancelled();
        };
        if self.campaign.failure(task, last).ok().flatten().is_some() {
            return true;
        }
        let (Ok(claim), Ok(here)) = (read_json::<Claim>(&claim(last)), Worker::current()) else {
            return false;
        };
        !claim.worker.is_alive(&here, || self.campaign.beat(&claim.worker))
    }
}
