//! `drivelab campaign`: a file becomes tasks, workers do them, tables say what was found.
//!
//! ```text
//!   campaign FILE            create: a directory of tasks      crates/campaign
//!     --on local             local: threads of this process
//!     --on slurm             slurm: sbatch, whose elements call `campaign run`
//!   campaign run             one task, or every n-th
//!     --store                delivery: runs go into a shared history besides
//!   campaign status, result  ::campaign::page
//! ```

pub mod arguments;
mod create;
mod delivery;
mod local;
mod prints;
mod slurm;
mod words;

use crate::{
    interrupt, output,
    report::save::{Format, Outputs},
    run::measured_by,
};
use ::campaign::{
    Campaign, Delivery, Failed, Measuring, Merged, Shift, Survey, Task, Turned, document::document,
    merged, page, record_of, summary,
};
use anyhow::{Context, Result, bail, ensure};
use arguments::{
    CampaignArguments, CampaignVerb, DirectoryArguments, On, PlaceArguments, PushArguments,
    ResultArguments, Starter, TaskArguments,
};
use create::Planned;
use jiff::Timestamp;
use record::{Cell, Place};
use serde_json::json;
use std::{
    env,
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use words::in_words;

/// Rows of a result that fit a terminal with what stands around them.
const ROWS_MAX: usize = 15;

/// Makes a campaign and runs it, or does something with one that is there.
pub fn campaign(arguments: &CampaignArguments) -> Result<ExitCode> {
    match &arguments.verb {
        None => begin(arguments),
        Some(CampaignVerb::Status(named)) => {
            output::print(&page::status(&open(&named.directory)?, &output::style())?)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(CampaignVerb::Resume(resumed)) => {
            let campaign = open(&resumed.directory)?;
            campaign.sweep();
            let place = shared(&campaign, resumed.place.store.as_deref())?;
            place.as_ref().map(delivery::check).transpose()?;
            campaign.go_on().map_err(in_words)?;
            start(&campaign, &resumed.place, Failed::Again)
        }
        Some(CampaignVerb::Cancel(named)) => cancel(named),
        Some(CampaignVerb::Result(asked)) => result(asked),
        Some(CampaignVerb::Push(asked)) => push(asked),
        Some(CampaignVerb::Run(task)) => one(task),
    }
}

fn open(directory: &Path) -> Result<Campaign> {
    Campaign::open(directory).map_err(in_words)
}

/// Where the runs of a campaign that is there go besides.
fn shared(campaign: &Campaign, option: Option<&Path>) -> Result<Option<Place>> {
    delivery::place(option, campaign.file.store.as_deref(), &campaign.head.working_directory)
}

fn push(asked: &PushArguments) -> Result<ExitCode> {
    let campaign = open(&asked.directory)?;
    let place = shared(&campaign, asked.store.as_deref())?.context(
        "where to? The campaign's file names no `store`: name a database by --store \
         postgresql://USER@HOST/NAME",
    )?;
    delivery::push(&campaign, &place)
}

fn begin(arguments: &CampaignArguments) -> Result<ExitCode> {
    let file = arguments.file.as_deref().expect("the parser asks for it");
    let planned = Planned::new(file, arguments)?;
    if arguments.dry_run {
        planned.print()?;
        return Ok(ExitCode::SUCCESS);
    }
    let base = env::current_dir()?;
    let store = arguments.place.store.as_deref();
    let place = delivery::place(store, planned.file.store.as_deref(), &base)?;
    if let Some(starter) = arguments.print {
        prints::check(starter, &planned.file, &planned.tasks)?;
        let campaign = planned.create()?;
        let store = delivery::named(store)?;
        let text = match starter {
            Starter::Kubernetes => prints::kubernetes(&campaign, store.as_deref()),
            Starter::Ssh => prints::ssh(&campaign, store.as_deref()),
        };
        return output::print(&text?).map(|()| ExitCode::SUCCESS);
    }
    if arguments.place.on == On::Slurm {
        slurm::check(&planned.file, &planned.tasks)?;
    }
    place.as_ref().map(delivery::check).transpose()?;
    start(&planned.create()?, &arguments.place, Failed::Stays)
}

/// Has the tasks done that are to be done.
fn start(campaign: &Campaign, place: &PlaceArguments, failed: Failed) -> Result<ExitCode> {
    if campaign.file.soak.is_some() && place.on == On::Local {
        bail!(
            "seeds are not tried by drivelab: `cargo xtask soak --campaign {}` tries them here",
            record::quoted(campaign.place())
        );
    }
    match place.on {
        On::Local => local::run(campaign, place, failed),
        On::Slurm => {
            let start_at = place.start_at.map(|at| at.to_string());
            let store = delivery::named(place.store.as_deref())?;
            let how = slurm::How { failed, start_at: start_at.as_deref(), store: store.as_deref() };
            slurm::submit(campaign, &how)
        }
    }
}

fn cancel(named: &DirectoryArguments) -> Result<ExitCode> {
    let campaign = open(&named.directory)?;
    campaign.cancel().map_err(in_words)?;
    slurm::cancel(&campaign)?;
    output::print(&page::status(&campaign, &output::style())?)?;
    Ok(ExitCode::SUCCESS)
}

fn result(asked: &ResultArguments) -> Result<ExitCode> {
    output::check_json(asked.json.as_deref())?;
    let campaign = open(&asked.directory)?;
    let survey = Survey::of(&campaign).map_err(in_words)?;
    if let Some(path) = &asked.json {
        output::write_json(path, &rows_as_json(&campaign, &survey)?)?;
        if path == Path::new("-") {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if let Some(path) = &asked.html {
        let page = document(&campaign, &survey).map_err(in_words)?;
        let mut outputs = Outputs::new(asked.force);
        outputs.add(path, Format::Html, report::html::page(&page).into_bytes())?;
        outputs.write()?.iter().for_each(|line| output::talk!("{line}"));
        return Ok(ExitCode::SUCCESS);
    }
    if asked.merged {
        output::print(&page::merged(&one_load(&campaign, &survey)?, &output::style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_result(&campaign, &survey, if asked.all { usize::MAX } else { ROWS_MAX })?;
    Ok(ExitCode::SUCCESS)
}

/// Cells of one name from all records of a repetition, put together.
fn one_load(campaign: &Campaign, survey: &Survey) -> Result<Vec<Merged>> {
    ensure!(
        campaign.file.together,
        "--merged: the tasks of this campaign did not run at the same time: a file with `together \
         = true` has them do so"
    );
    let tasks = campaign.tasks().map_err(in_words)?;
    let mut cells: Vec<(u32, Cell)> = Vec::new();
    for answer in survey.answers() {
        let Some(record) = record_of(campaign, answer).map_err(in_words)? else { continue };
        let repetition = tasks[answer.task as usize].repetition;
        cells.extend(record.cells.into_iter().map(|cell| (repetition, cell)));
    }
    let mut loads: Vec<(u32, &str)> = Vec::new();
    for (repetition, cell) in &cells {
        if !loads.contains(&(*repetition, &cell.name)) {
            loads.push((*repetition, &cell.name));
        }
    }
    let of = |load: &(u32, &str)| {
        let own = cells.iter().filter(|(repetition, cell)| (*repetition, &*cell.name) == *load);
        merged(&own.map(|(_, cell)| cell).collect::<Vec<_>>())
    };
    Ok(loads.iter().map(of).collect())
}

fn print_result(campaign: &Campaign, survey: &Survey, rows_max: usize) -> Result<()> {
    let more = format!("drivelab campaign result {} --all", record::quoted(campaign.place()));
    let text = page::result(campaign, survey, rows_max, &more, &output::style());
    output::print(&text.map_err(in_words)?)
}

fn rows_as_json(campaign: &Campaign, survey: &Survey) -> Result<String> {
    let tasks = campaign.tasks().map_err(in_words)?;
    let rows = summary::rows(&tasks, survey.answers());
    let rows = rows.iter().map(|row| {
        let unit = if row.is_bandwidth { "bytes_per_s" } else { "iops" };
        json!({
            "target": row.target, "method": row.method, "settings": row.settings.trim_start(),
            "cell": row.cell, "n": row.rate.n, unit: row.rate.median,
            "ci95": row.rate.ci95, "p99_ns": row.p99_ns,
        })
    });
    Ok(serde_json::to_string_pretty(&rows.collect::<Vec<_>>())? + "\n")
}

/// Waits for a moment, unless it is past or the user ends it.
fn wait_until(moment: Option<Timestamp>, stop: &AtomicBool) {
    let Some(moment) = moment else { return };
    while Timestamp::now() < moment && !stop.load(Ordering::Relaxed) {
        let left = moment.duration_since(Timestamp::now());
        let left = Duration::try_from(left).unwrap_or_default();
        thread::sleep(left.min(Duration::from_millis(200)));
    }
}

/// One task, or every n-th from it: what an element of a job array does.
fn one(asked: &TaskArguments) -> Result<ExitCode> {
    let campaign = open(&asked.directory)?;
    let stop = interrupt::flag()?;
    let failed = if asked.again { Failed::Again } else { Failed::Stays };
    // Refused before a worker is begun.
    let first = campaign.task(asked.task).map_err(in_words)?;
    let place = shared(&campaign, asked.store.as_deref())?;
    let begin = |place: &Place| Delivery::begin(&campaign, place.clone(), &stop);
    let delivery = place.as_ref().map(begin).transpose().map_err(in_words)?;
    let code = turn(&campaign, first, asked, (failed, &stop), delivery.as_ref());
    if let (Some(delivery), Some(place)) = (delivery, &place) {
        delivery::end(delivery, &campaign, place);
    }
    code
}

/// Turns to the tasks of an element, one after the other.
fn turn(
    campaign: &Campaign,
    first: Task,
    asked: &TaskArguments,
    (failed, stop): (Failed, &AtomicBool),
    delivery: Option<&Delivery>,
) -> Result<ExitCode> {
    let hands = Measuring::new(measured_by());
    let mut code = ExitCode::SUCCESS;
    let shift = Shift::begin(campaign, &hands, failed, stop).map_err(in_words)?;
    wait_until(asked.start_at, stop);
    // A list is read once: all of it, or the one line.
    let tasks = match asked.every {
        None => vec![first],
        Some(every) => {
            let all = campaign.tasks().map_err(in_words)?;
            all.into_iter().skip(asked.task as usize).step_by(every as usize).collect()
        }
    };
    for task in tasks {
        let number = task.task;
        match shift.turn_to_patiently(&task).map_err(in_words)? {
            Turned::Complete(answer) => delivery.into_iter().for_each(|it| it.take(&answer)),
            // Its worker may have been killed before its run was pushed.
            Turned::Done => {
                if let Some(delivery) = delivery {
                    let answer = campaign.complete(number).map_err(in_words)?;
                    answer.into_iter().for_each(|answer| delivery.take(&answer));
                }
            }
            Turned::Busy => {}
            Turned::Failed(answer) => {
                let sentence = answer.error.unwrap_or_default();
                output::talk!("drivelab: task {number} failed: {sentence}");
                code = ExitCode::from(2);
            }
            // Its host's own element does it.
            Turned::Elsewhere if asked.every.is_some() => {}
            Turned::Elsewhere => {
                let host = task.host.unwrap_or_default();
                bail!("task {number} is for host {host}, and this is {}", shift.host());
            }
            Turned::Stopped if campaign.is_cancelled() => break,
            Turned::Stopped => return Ok(ExitCode::from(interrupt::EXIT_CODE)),
        }
    }
    Ok(code)
}
