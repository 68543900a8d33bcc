//! Tasks on this machine, by threads of this process.

use super::{
    ROWS_MAX, arguments::PlaceArguments, delivery, print_result, wait_until, words::in_words,
};
use crate::{interrupt, output, run::measured_by};
use ::campaign::{Campaign, Delivery, Failed, Measuring, Shift, Survey, Task, Turned};
use anyhow::Result;
use record::Place;
use report::{number::counted, progress};
use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

/// Does what is to be done, and prints what was found.
pub fn run(campaign: &Campaign, place: &PlaceArguments, failed: Failed) -> Result<ExitCode> {
    let stop = interrupt::flag()?;
    let shared = super::shared(campaign, place.store.as_deref())?;
    let begin = |place: &Place| Delivery::begin(campaign, place.clone(), &stop);
    let delivery = shared.as_ref().map(begin).transpose().map_err(in_words)?;
    let survey = Survey::of(campaign).map_err(in_words)?;
    // What was complete before may have found the database away.
    delivery.iter().for_each(|delivery| delivery.take_all(&survey));
    let mut tasks = campaign.tasks().map_err(in_words)?;
    let to_do: Vec<u32> = survey.to_do().collect();
    tasks.retain(|task| to_do.binary_search(&task.task).is_ok());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers = place.workers.map_or(processors, usize::from);
    let hands = Measuring::new(measured_by());
    let shift = Shift::begin(campaign, &hands, failed, &stop).map_err(in_words)?;
    wait_until(place.start_at, &stop);
    let told = Told::new(tasks.len(), place.quiet);
    let hear = |task: &Task, turned: &Turned| {
        told.hear(task, turned);
        if let (Turned::Complete(answer), Some(delivery)) = (turned, &delivery) {
            delivery.take(answer);
        }
    };
    let done = shift.all(&tasks, workers, &hear).map_err(in_words);
    drop(shift);
    told.end();
    if let (Some(delivery), Some(place)) = (delivery, &shared) {
        delivery::end(delivery, campaign, place);
    }
    done?;
    conclude(campaign, &stop)
}

/// The result, and what is left to do.
fn conclude(campaign: &Campaign, stop: &AtomicBool) -> Result<ExitCode> {
    let survey = Survey::of(campaign).map_err(in_words)?;
    print_result(campaign, &survey, ROWS_MAX)?;
    let counts = survey.counts();
    let resume = format!("drivelab campaign resume {}", record::quoted(campaign.place()));
    if stop.load(Ordering::Relaxed) {
        output::talk!("drivelab: interrupted; go on with `{resume}`");
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    if counts.failed > 0 {
        output::talk!("drivelab: try what failed again with `{resume}`");
        return Ok(ExitCode::from(2));
    }
    if counts.running + counts.open() > 0 && !survey.is_cancelled {
        let tasks = counted((counts.running + counts.open()) as u64, "task");
        output::talk!("drivelab: {tasks} left to other workers; what they leave, `{resume}` does");
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said while tasks are done.
struct Told {
    of: usize,
    draws: bool,
    quiet: bool,
    begun: Instant,
    done: Mutex<usize>,
}

impl Told {
    fn new(of: usize, quiet: bool) -> Self {
        let draws = !quiet && stderr().is_terminal();
        Self { of, draws, quiet, begun: Instant::now(), done: Mutex::new(0) }
    }

    fn hear(&self, task: &Task, turned: &Turned) {
        let mut done = self.done.lock().expect("no thread panics with it");
        *done += 1;
        if let (Turned::Failed(answer), false) = (turned, self.quiet) {
            let clear = if self.draws { "\r\x1b[K" } else { "" };
            let sentence = answer.error.as_deref().unwrap_or_default();
            output::talk!("{clear}task {} failed: {sentence}", task.task);
        }
        if self.draws {
            let seconds = self.begun.elapsed().as_secs_f64();
            let left = seconds / *done as f64 * (self.of - *done) as f64;
            output::draw!("\r\x1b[K{} of {} tasks, {} left", done, self.of, progress::clock(left));
        }
    }

    fn end(&self) {
        if self.draws {
            output::draw!("\r\x1b[K");
        }
    }
}
