//! Seeds as the tasks of a campaign: here on all threads, or an element of a job array.
//!
//! `drivelab campaign FILE --on slurm` starts this program on the cluster when the file has
//! `[soak]`; `drivelab campaign status` and `result` tell of it.

use super::{COMPLAINT, POINTS, keep_panics_quiet};
use anyhow::{Context, Result, bail, ensure};
use campaign::{
    Campaign, CampaignFile, Failed, Hands, Shift, Survey, Task, Turned, Unmeasured, Work, Yield,
    answer::Found,
};
use crash::Scenario;
use std::{
    fs, panic,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Which tasks.
pub struct Asked<'a> {
    /// A campaign's file, or its directory.
    pub place: &'a Path,
    /// This one, and every so many after it; all that are to be done without.
    pub task: Option<(u32, Option<u32>)>,
    /// Whether those that failed are tried again.
    pub again: bool,
    /// How many at a time where all are.
    pub threads: usize,
}

/// Tries them.
pub fn run(asked: &Asked<'_>, stop: &AtomicBool) -> Result<()> {
    let campaign = open(asked.place)?;
    keep_panics_quiet();
    let failed = if asked.again { Failed::Again } else { Failed::Stays };
    let shift = Shift::begin(&campaign, &Seeding, failed, stop)?;
    match asked.task {
        Some((first, every)) => {
            let step = every.unwrap_or(campaign.head.tasks) as usize;
            for number in (first..campaign.head.tasks).step_by(step) {
                tell(number, &shift.turn_to_patiently(&campaign.task(number)?)?);
            }
        }
        None => {
            let to_do: Vec<u32> = Survey::of(&campaign)?.to_do().collect();
            let mut tasks = campaign.tasks()?;
            tasks.retain(|task| to_do.binary_search(&task.task).is_ok());
            shift.all(&tasks, asked.threads, &|task, turned| tell(task.task, turned))?;
        }
    }
    drop(shift);
    let survey = Survey::of(&campaign)?;
    let counts = survey.counts();
    let points = survey.answers().filter_map(|answer| answer.found.counts.get("crash_points"));
    println!(
        "{} of {} tasks complete, {} crash points, {} with a violation",
        counts.complete,
        counts.tasks,
        points.sum::<u64>(),
        counts.failed
    );
    ensure!(!stop.load(Ordering::Relaxed), "stopped; the same command goes on");
    ensure!(counts.failed == 0, "a violation; `drivelab campaign status` names its seed");
    Ok(())
}

fn tell(number: u32, turned: &Turned) {
    if let Turned::Failed(answer) = turned {
        println!("task {number}: {}", answer.error.as_deref().unwrap_or_default());
    }
}

/// The campaign of a file, which gets its directory in the working directory, or of a directory.
fn open(place: &Path) -> Result<Campaign> {
    if place.is_dir() {
        return Ok(Campaign::open(place)?);
    }
    let text = fs::read_to_string(place).with_context(|| place.display().to_string())?;
    let origin = place.display().to_string();
    let file = CampaignFile::parse(&origin, &text)?;
    if file.soak.is_none() {
        bail!("{origin} has no [soak]: `drivelab campaign` runs it");
    }
    let tasks = file.expand(&origin, &[])?;
    let stem = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = file.name.clone().unwrap_or(stem);
    let directory = PathBuf::from(format!("{name}.campaign"));
    if directory.is_dir() {
        let known = Campaign::open(&directory)?;
        // What other seeds found must not stand for these.
        let same = fs::read_to_string(known.path("campaign.toml")).is_ok_and(|old| old == text);
        ensure!(
            same,
            "{} was made of another file: name that directory to go on with it, or give this one \
             another name",
            directory.display()
        );
        return Ok(known);
    }
    Ok(Campaign::create(&directory, (&name, &text), &[], &tasks)?)
}

/// Tries seeds.
struct Seeding;

impl Hands for Seeding {
    fn carry_out(
        &self,
        _: &Campaign,
        task: &Task,
        _: u32,
        stop: &AtomicBool,
    ) -> Result<Yield, Unmeasured> {
        let Work::Seeds(seeds) = &task.work else {
            let sentence = "this task measures: `drivelab campaign run` does it";
            return Err(Unmeasured::Failed(sentence.to_owned(), None));
        };
        let mut points = 0;
        for seed in seeds.first..seeds.first + seeds.count {
            if stop.load(Ordering::Relaxed) {
                return Err(Unmeasured::Stopped);
            }
            let scenario = Scenario::of(seed);
            match panic::catch_unwind(|| crash::campaign(&scenario, POINTS)) {
                Ok(tally) => points += tally.total(),
                Err(_) => {
                    let complaint = COMPLAINT.take().replace('\n', " ");
                    let again = format!("cargo xtask soak --replay {seed}");
                    let sentence = format!("seed {seed}: {complaint}; replay it with `{again}`");
                    return Err(Unmeasured::Failed(sentence, None));
                }
            }
        }
        let counts =
            [("crash_points".to_owned(), points), ("seeds".to_owned(), seeds.count)].into();
        Ok(Yield::Counts(Found { counts, ..Found::default() }))
    }
}
