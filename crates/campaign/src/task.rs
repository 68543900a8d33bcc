//! A task: what one worker does in one go, as a line of the directory's list.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One task. Its number is its place in the order of work, from 0, as job arrays count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub task: u32,
    /// Which repetition of its treatment, from 1.
    pub repetition: u32,
    /// The host that it is for; any where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What is done.
    #[serde(flatten)]
    pub work: Work,
}

/// What a task does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Work {
    /// It measures a target.
    Measure(Measure),
    /// It tries seeds, which is for a program that knows what a seed stands for.
    Seeds(Seeds),
}

/// A method on a target, with settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// TARGET, its words filled in.
    pub target: String,
    /// Name of the method; its text is kept in the campaign's directory.
    pub method: String,
    /// The words of the target that vary, and what stands for them here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vary: BTreeMap<String, String>,
    /// Settings of every cell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Where all random choices come from: the same for all treatments of a repetition.
    pub seed: u64,
}

/// A range of seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// Most tasks of one repetition: where they begin together, so many workers must be at it at once.
pub fn repetition_max(tasks: &[Task]) -> usize {
    most(tasks.iter().map(|task| (task.repetition, None)))
}

/// The same of those that are for one host; none where no host is named.
pub fn repetition_max_on_a_host(tasks: &[Task]) -> usize {
    let named = tasks.iter().filter(|task| task.host.is_some());
    most(named.map(|task| (task.repetition, task.host.as_deref())))
}

/// How often what comes most often comes.
fn most<'a>(keys: impl Iterator<Item = (u32, Option<&'a str>)>) -> usize {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts.into_values().max().unwrap_or(0)
}

impl Task {
    /// What is the same in all repetitions: target, method and settings.
    pub fn treatment(&self) -> String {
        match &self.work {
            Work::Measure(measure) => {
                let set = measure.set.iter().map(|(key, value)| format!(" {key}={value}"));
                format!("{} {}{}", measure.target, measure.method, set.collect::<String>())
            }
            Work::Seeds(seeds) => {
                format!("seeds {} to {}", seeds.first, seeds.first + seeds.count - 1)
            }
        }
    }

    /// Whether it may run beside others: a model's clock is its own.
    pub fn is_modelled(&self) -> bool {
        match &self.work {
            Work::Measure(measure) => measure.target.starts_with("model:"),
            Work::Seeds(_) => true,
        }
    }
}
