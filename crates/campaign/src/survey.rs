//! How a campaign stands: of each task, whether it is complete, failed, being worked on, or open.

use crate::{
    Campaign, CampaignError, Worker,
    answer::Answer,
    claim::Claim,
    directory::{read, read_json},
};
use std::{collections::BTreeMap, fs};

/// A task, as it stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// Nobody has begun it.
    Open,
    /// A living worker is at it.
    Running(Box<Claim>),
    /// Its worker died: it is open again.
    Lost(Box<Claim>),
    /// It failed.
    Failed(Box<Answer>),
    /// It is complete.
    Complete(Box<Answer>),
}

/// All tasks, as they stand.
pub struct Survey {
    /// By number.
    pub tasks: Vec<Standing>,
    /// Whether no task is begun any more.
    pub is_cancelled: bool,
}

/// How many tasks stand how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Of all.
    pub tasks: usize,
    /// Complete.
    pub complete: usize,
    /// Failed.
    pub failed: usize,
    /// Being worked on.
    pub running: usize,
    /// Whose worker died.
    pub lost: usize,
}

impl Counts {
    /// Not begun, or open again.
    pub fn open(&self) -> usize {
        self.tasks - self.complete - self.failed - self.running
    }
}

impl Survey {
    /// Looks at everything once.
    ///
    /// # Errors
    /// The directory cannot be read, or something in it is damaged.
    pub fn of(campaign: &Campaign) -> Result<Self, CampaignError> {
        let count = campaign.head.tasks as usize;
        let mut tasks = vec![Standing::Open; count];
        let mut attempts: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, attempt) in numbered(campaign, "claims")? {
            let last = attempts.entry(number).or_default();
            *last = attempt.max(*last);
        }
        for (number, _) in numbered(campaign, "results")? {
            if let Some(task) = tasks.get_mut(number as usize) {
                let answer = read_json(&campaign.path(&format!("results/{number}.json")))?;
                *task = Standing::Complete(Box::new(answer));
            }
        }
        let here = Worker::current().map_err(CampaignError::Process)?;
        // Many claims are of one worker.
        let mut living: BTreeMap<String, bool> = BTreeMap::new();
        for (number, attempt) in attempts {
            let Some(task @ Standing::Open) = tasks.get_mut(number as usize) else { continue };
            if let Some(answer) = campaign.failure(number, attempt)? {
                *task = Standing::Failed(Box::new(answer));
                continue;
            }
            let Some(claim) = campaign.claim_at(number, attempt)? else { continue };
            let lives = *living
                .entry(claim.worker.name())
                .or_insert_with(|| claim.worker.is_alive(&here, || campaign.beat(&claim.worker)));
            let claim = Box::new(claim);
            *task = if lives { Standing::Running(claim) } else { Standing::Lost(claim) };
        }
        Ok(Self { tasks, is_cancelled: campaign.is_cancelled() })
    }

    /// How many stand how.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { tasks: self.tasks.len(), ..Counts::default() };
        for task in &self.tasks {
            match task {
                Standing::Open => {}
                Standing::Running(_) => counts.running += 1,
                Standing::Lost(_) => counts.lost += 1,
                Standing::Failed(_) => counts.failed += 1,
                Standing::Complete(_) => counts.complete += 1,
            }
        }
        counts
    }

    /// Complete answers, by task.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.tasks.iter().filter_map(|task| match task {
            Standing::Complete(answer) => Some(answer.as_ref()),
            _ => None,
        })
    }

    /// Numbers of the tasks that are to be done.
    pub fn to_do(&self) -> impl Iterator<Item = u32> {
        let is_to_do = |task: &Standing| !matches!(task, Standing::Complete(_));
        (0..).zip(&self.tasks).filter(move |(_, task)| is_to_do(task)).map(|(number, _)| number)
    }

    /// Seconds until all is done at the pace of the workers that are at it: what a task took on
    /// average, times what is left, over their number. None before one is complete, or where
    /// nobody works.
    pub fn seconds_left(&self) -> Option<f64> {
        let counts = self.counts();
        let seconds: Vec<f64> = self.answers().map(|answer| answer.seconds).collect();
        if seconds.is_empty() || counts.running == 0 {
            return None;
        }
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        // On average those that run are half done.
        let left = counts.open() as f64 + counts.running as f64 / 2.0;
        Some(mean * left / counts.running as f64)
    }
}

/// The numbers that the files of a directory are called by: task and attempt, or task alone.
fn numbered(campaign: &Campaign, name: &str) -> Result<Vec<(u32, u32)>, CampaignError> {
    let path = campaign.path(name);
    let io = |error| CampaignError::io("read", &path, error);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(&path).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
            continue;
        };
        let (number, attempt) = stem.split_once('-').unwrap_or((stem, "0"));
        // What is being written beside has a dot in front.
        if let (Ok(number), Ok(attempt)) = (number.parse(), attempt.parse()) {
            numbers.push((number, attempt));
        }
    }
    Ok(numbers)
}

/// The record of a complete task.
///
/// # Errors
/// It is not there, or damaged.
pub fn record_of(
    campaign: &Campaign,
    answer: &Answer,
) -> Result<Option<record::Record>, CampaignError> {
    let Some(name) = &answer.found.record else { return Ok(None) };
    let path = campaign.path(name);
    let text = read(&path)?;
    serde_json::from_str(&text).map(Some).map_err(|error| CampaignError::damaged(path, error))
}
