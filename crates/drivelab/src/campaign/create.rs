//! A campaign's file becomes its directory. Everything that can be wrong with any task is found
//! before the first one runs.

use super::{arguments::CampaignArguments, words::in_words};
use crate::output;
use ::campaign::{Campaign, CampaignFile, NamedMethod, Task, Work, order};
use anyhow::{Context, Result, anyhow, bail};
use record::input::{TEXT_BYTES_MAX, read_text};
use report::number::counted;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
};
use target::{Pace, Permission, TargetText};

/// Tasks that a dry run lists.
const LISTED_MAX: usize = 15;

/// A campaign before it has a directory.
pub struct Planned {
    /// What is asked for.
    pub file: CampaignFile,
    name: String,
    text: String,
    methods: Vec<NamedMethod>,
    /// In the order of work.
    pub tasks: Vec<Task>,
    directory: PathBuf,
}

impl Planned {
    /// Reads the file and checks every task of it.
    pub fn new(path: &Path, arguments: &CampaignArguments) -> Result<Self> {
        let text = read_text(path, TEXT_BYTES_MAX)
            .with_context(|| format!("cannot read the campaign file {}", path.display()))?;
        let origin = path.display().to_string();
        let file = CampaignFile::parse(&origin, &text).map_err(in_words)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = file.name.clone().unwrap_or_else(|| plain(&stem));
        let methods = methods(path, &file)?;
        let names: Vec<String> = methods.iter().map(|(name, _)| name.clone()).collect();
        let tasks = file.expand(&origin, &names).map_err(in_words)?;
        check(&file, &methods, &tasks).with_context(|| origin.clone())?;
        let directory = arguments.directory.clone();
        let directory = directory.unwrap_or_else(|| PathBuf::from(format!("{name}.campaign")));
        Ok(Self { file, name, text, methods, tasks, directory })
    }

    /// Makes its directory.
    pub fn create(&self) -> Result<Campaign> {
        let file = (self.name.as_str(), self.text.as_str());
        Campaign::create(&self.directory, file, &self.methods, &self.tasks).map_err(in_words)
    }

    /// What would be done.
    pub fn print(&self) -> Result<()> {
        let mut text = format!(
            "{}: {}, into {}\n",
            self.name,
            counted(self.tasks.len() as u64, "task"),
            self.directory.display()
        );
        for task in self.tasks.iter().take(LISTED_MAX) {
            let host = task.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
            let again = format!(" ({})", task.repetition);
            text += &format!("{:>6}  {}{again}{host}\n", task.task, task.treatment());
        }
        if self.tasks.len() > LISTED_MAX {
            text += &format!("        and {} more\n", self.tasks.len() - LISTED_MAX);
        }
        output::print(&text)
    }
}

/// A file's stem as a name.
fn plain(stem: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String =
        stem.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
    let name = name.trim_start_matches(['-', '_', '.']);
    if name.is_empty() { "campaign".to_owned() } else { name.to_owned() }
}

/// The methods' names and texts; files are found from where the campaign's file is.
fn methods(path: &Path, file: &CampaignFile) -> Result<Vec<NamedMethod>> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let mut methods: Vec<NamedMethod> = Vec::new();
    for method in &file.methods {
        let is_file = method.contains(['.', '/']);
        let named: OsString =
            if is_file { parent.join(method).into() } else { OsString::from(method) };
        let (name, text) = ::run::method_text(&named)
            .map_err(|error| anyhow!("{}: methods: {error}", path.display()))?;
        let name = match is_file {
            true => Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            false => name,
        };
        if methods.iter().any(|(other, _)| *other == name) {
            bail!("{}: methods: two are called {name}: rename a file", path.display());
        }
        methods.push((name, text));
    }
    Ok(methods)
}

/// Every treatment's order, and every modelled target, as its task would make it.
fn check(file: &CampaignFile, methods: &[NamedMethod], tasks: &[Task]) -> Result<()> {
    let texts: BTreeMap<&str, &str> =
        methods.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (mut orders, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for task in tasks {
        let Work::Measure(measure) = &task.work else { continue };
        if !orders.insert((&measure.target, &measure.method, &measure.set)) {
            continue;
        }
        let text = texts[measure.method.as_str()];
        let order = order(&file.run, measure, text)?;
        for target in &order.targets {
            if matches!(target, TargetText::Model(_)) && targets.insert(&measure.target) {
                let clock = engine::Clock::start_monotonic();
                target::open(target, &Permission::default(), Pace::real(clock), measure.seed)?;
            }
        }
    }
    Ok(())
}
