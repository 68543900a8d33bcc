//! A campaign's file: targets, methods, settings and how often, as the user writes them.
//!
//! docs/reference/campaign-format.md describes every key.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::CampaignError;
use lab::method::complaint;
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

/// Values of a setting, by its name.
pub type Levels = BTreeMap<String, Vec<String>>;

/// What a campaign measures, and how.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignFile {
    /// What it is called; the file's name where it has none.
    pub name: Option<String>,
    /// TARGETs; `{word}` stands for each value of `vary.word`.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Built-in methods, or files.
    #[serde(default = "quick")]
    pub methods: Vec<String>,
    /// How often each treatment is measured.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// Where the order and all random choices come from.
    #[serde(default = "one_seed")]
    pub seed: u64,
    /// Hosts, each of which measures everything; any host where none is named.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Whether all tasks begin at the same moment.
    #[serde(default)]
    pub together: bool,
    /// The history that its runs are pushed into besides: a database's address, or a file.
    pub store: Option<String>,
    /// Words of targets.
    #[serde(default)]
    vary: BTreeMap<String, toml::Value>,
    /// Settings of every cell.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// How each run is made.
    #[serde(default)]
    pub run: RunFile,
    /// Seeds instead of targets.
    pub soak: Option<SoakFile>,
    /// How it runs on Slurm.
    #[serde(default)]
    pub slurm: SlurmFile,
    /// How it runs on Kubernetes.
    #[serde(default)]
    pub kubernetes: KubernetesFile,
}

/// The order of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Every repetition is a block, and within each all treatments come in random order.
    #[default]
    Blocks,
    /// All tasks in random order.
    Random,
    /// As they are written, repetition after repetition.
    Listed,
}

/// Options of every run, as `run` has them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// `quick`, `normal` or `publish`.
    pub grade: Option<String>,
    /// Size of the tested area.
    pub size: Option<String>,
    /// Passes over the whole method.
    pub passes: Option<u32>,
    /// Time for all cells together.
    pub max_time: Option<String>,
    /// Most bytes that a run writes to its target.
    pub max_written: Option<String>,
    /// A latency that is to hold.
    pub until: Option<String>,
    /// What a request that fails ends.
    pub on_error: Option<String>,
    /// Only cells that read.
    #[serde(default)]
    pub reads_only: bool,
    /// Serials of block devices that may be overwritten.
    #[serde(default)]
    pub destroy: Vec<String>,
    /// Whether plans that write many times the tested area are agreed to.
    #[serde(default)]
    pub agree: bool,
}

/// A range of seeds, cut into tasks.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoakFile {
    /// The first seed.
    #[serde(default = "one_seed")]
    pub first: u64,
    /// How many seeds.
    pub seeds: u64,
    /// Seeds of one task.
    #[serde(default = "one_seed")]
    pub per_task: u64,
    /// The program that tries them, for Slurm.
    pub program: Option<PathBuf>,
}

/// How a campaign runs on Slurm.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlurmFile {
    /// Most elements of the job array; a task each where there are fewer.
    pub array: Option<u32>,
    /// Options of sbatch, such as `--time=10`.
    #[serde(default)]
    pub options: Vec<String>,
}

/// How a campaign runs on Kubernetes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KubernetesFile {
    /// The image that has drivelab.
    pub image: Option<String>,
    /// The claim of the volume that the campaign's directory lies on.
    pub directory_claim: Option<String>,
    /// The claim of the volume that is measured.
    pub target_claim: Option<String>,
    /// Whether that one is a raw block device.
    #[serde(default)]
    pub block: bool,
    /// Pods that run at the same time.
    pub parallelism: Option<u32>,
}

fn quick() -> Vec<String> {
    vec!["quick".to_owned()]
}

fn one() -> u32 {
    1
}

fn one_seed() -> u64 {
    1
}

impl CampaignFile {
    /// Reads a campaign's text; `origin` is its file, for messages.
    ///
    /// # Errors
    /// TOML that is none, an unknown key, a value that none can be.
    pub fn parse(origin: &str, text: &str) -> Result<Self, CampaignError> {
        let wrong = |reason: String| CampaignError::File { origin: origin.to_owned(), reason };
        let file: Self = toml::from_str(text).map_err(|error| wrong(complaint(text, &error)))?;
        file.check().map_err(wrong)?;
        Ok(file)
    }

    /// Words of targets, with their values.
    pub fn vary(&self) -> Levels {
        levels("vary", &self.vary).expect("checked when it was read")
    }

    /// Settings of every cell, with their values.
    pub fn set(&self) -> Levels {
        levels("set", &self.set).expect("checked when it was read")
    }

    fn check(&self) -> Result<(), String> {
        levels("vary", &self.vary)?;
        levels("set", &self.set)?;
        if let Some(name) = &self.name {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
            if !is_name || !name.chars().all(is_plain) {
                return Err(format!(
                    "name = {name:?}: letters, digits and `-_.` after a letter or digit"
                ));
            }
        }
        if self.repetitions == 0 {
            return Err("repetitions = 0: nothing would be measured; write 1 or more".to_owned());
        }
        if self.slurm.array == Some(0) {
            return Err("slurm.array = 0: an array has 1 element or more".to_owned());
        }
        match &self.soak {
            Some(_) if !self.targets.is_empty() => {
                Err("targets and [soak]: a campaign has one of them".to_owned())
            }
            Some(soak) if soak.seeds == 0 || soak.per_task == 0 => {
                Err("[soak]: `seeds` and `per_task` are 1 or more".to_owned())
            }
            Some(soak) if soak.first.checked_add(soak.seeds).is_none() => {
                Err("[soak]: seeds beyond 2^64".to_owned())
            }
            None if self.targets.is_empty() => {
                Err("no `targets`: name what is measured, such as targets = [\"model:sata-tlc\"]"
                    .to_owned())
            }
            _ if self.together && self.order == Order::Random => Err(
                "together = true and order = \"random\": tasks of a repetition begin together, so \
                 write order = \"blocks\""
                    .to_owned(),
            ),
            _ if self.methods.is_empty() => {
                Err("methods = []: leave the key out for `quick`, or name one".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Values by name, each as a run's command line would have it.
fn levels(table: &str, values: &BTreeMap<String, toml::Value>) -> Result<Levels, String> {
    let mut levels = Levels::new();
    for (key, value) in values {
        let several = match value {
            toml::Value::Array(several) => several.clone(),
            one => vec![one.clone()],
        };
        if several.is_empty() {
            return Err(format!("{table}.{key} = []: name a value, or leave the key out"));
        }
        let texts: Option<Vec<String>> = several.iter().map(text).collect();
        let texts = texts.ok_or_else(|| {
            format!("{table}.{key}: a text, a number, true or false, or a list of these")
        })?;
        if let Some(twice) = texts.iter().enumerate().find(|(at, one)| texts[..*at].contains(one)) {
            return Err(format!("{table}.{key}: {} stands there twice", twice.1));
        }
        levels.insert(key.clone(), texts);
    }
    Ok(levels)
}

fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(is) => Some(is.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        CampaignFile::parse("c.toml", text).expect_err("refused").to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_nearest() {
        let said = refused("targets = [\"null:\"]\nrepetition = 3\n");
        assert!(said.starts_with("c.toml: line 2: there is no key `repetition` here."), "{said}");
        assert!(said.contains("`repetitions`"), "{said}");
        let said = refused("targets = [\"null:\"]\n[run]\ngrad = \"quick\"\n");
        assert!(said.contains("line 3") && said.contains("`grade`"), "{said}");
    }

    #[test]
    fn what_would_measure_nothing_or_twice_is_refused() {
        assert!(refused("").contains("no `targets`"));
        assert!(refused("targets = [\"null:\"]\nrepetitions = 0").contains("repetitions = 0"));
        let twice = refused("targets = [\"null:\"]\n[set]\ndepth = [1, 1]");
        assert!(twice.contains("set.depth: 1 stands there twice"), "{twice}");
        assert!(refused("targets = [\"null:\"]\n[set]\ndepth = []").contains("set.depth = []"));
        let nested = refused("targets = [\"null:\"]\n[set]\ndepth = [[1]]");
        assert!(nested.contains("set.depth: a text, a number"), "{nested}");
        assert!(refused("targets = [\"null:\"]\n[soak]\nseeds = 3").contains("one of them"));
        assert!(refused("name = \"../a\"\ntargets = [\"null:\"]").contains("name ="));
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let file = CampaignFile::parse("c.toml", "targets = [\"null:\"]").expect("a campaign");
        assert_eq!((file.methods.as_slice(), file.repetitions, file.seed), (&quick()[..], 1, 1));
        assert_eq!((file.order, file.together), (Order::Blocks, false));
    }
}
