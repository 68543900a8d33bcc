//! What a campaign measured, on its way into a history that many machines share.
//!
//! ```text
//!   task -> record, answer: durable in the campaign's directory
//!        -> Delivery: a thread of its own -> lacks, push -> database, or a file
//! ```
//!
//! The directory has everything, so a database that is away loses nothing: it costs a sentence, and
//! `campaign push` or `campaign resume` brings later what it lacks. Runs are pushed by their ids,
//! so whoever does it again does nothing.

use super::words::in_words;
use crate::store::{self, CONNECT};
use crate::{interrupt, output};
use ::campaign::{Answer, Campaign, Survey, record_of};
use anyhow::{Result, ensure};
use record::{Ended, Place, Record, Store, StoreError, Tables};
use report::number::counted;
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Between two tries while tasks go on.
const PAUSE: Duration = Duration::from_secs(2);
/// The same when nothing else is left to do.
const PAUSE_AT_END: Duration = Duration::from_millis(250);
/// How long a server that went away may take to come back when nothing else is left to do.
const PATIENCE: Duration = Duration::from_secs(30);
/// Runs that are asked for and pushed together.
const BATCH: usize = 500;
/// How often a record of a campaign was saved: it is written once.
const SAVES: u64 = 1;

/// Where the runs of a campaign go besides its directory: what the option names, else the file,
/// else the environment, which counts only where it names a database.
///
/// # Errors
/// An address that is none, one with a password in it, and a drivelab that speaks no PostgreSQL.
pub fn place(option: Option<&Path>, file: Option<&str>, base: &Path) -> Result<Option<Place>> {
    if let Some(named) = option {
        // Looked at as it was typed: `mysql://host/base` is no file.
        store::place(named, "--store")?;
        return Ok(Some(Place::of(&absolute(named, &env::current_dir()?), CONNECT)));
    }
    if let Some(named) = file {
        let place = store::place(Path::new(named), "store")?;
        let has_password = matches!(&place, Place::Server(address) if address.has_password());
        ensure!(
            !has_password,
            "store = \"{place}\": a password in a campaign's file is read by all who see its \
             directory: put it into ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD, mode 0600, or \
             into PGPASSWORD"
        );
        return Ok(Some(Place::of(&absolute(Path::new(named), base), CONNECT)));
    }
    let named = env::var_os(store::VARIABLE).filter(|value| !value.is_empty());
    let place = named.map(|named| store::place(Path::new(&named), store::VARIABLE)).transpose()?;
    Ok(place.filter(|place| place.file().is_none()))
}

/// What an option names, as the command of a worker elsewhere has it.
///
/// # Errors
/// There is no current directory.
pub fn named(option: Option<&Path>) -> Result<Option<PathBuf>> {
    let base = env::current_dir()?;
    Ok(option.map(|named| absolute(named, &base)))
}

/// A file by its whole path: workers are started elsewhere.
fn absolute(named: &Path, base: &Path) -> PathBuf {
    match Place::of(named, CONNECT) {
        Place::File(path) => base.join(path),
        Place::Server(_) => named.to_owned(),
    }
}

/// Looks whether the history can take anything, before a task is begun. One that is away now may
/// be back later, and costs a sentence.
///
/// # Errors
/// What waiting does not mend: a password, a database that is not there, other tables.
pub fn check(place: &Place) -> Result<()> {
    match Store::at_to_push(place, Tables::Made) {
        Err(error) if may_pass(&error) => {
            output::talk!("drivelab: {error}; tasks go on, and their runs are pushed later");
            Ok(())
        }
        opened => opened.map(drop).map_err(store::in_words),
    }
}

fn may_pass(error: &StoreError) -> bool {
    match error {
        StoreError::Server { trouble, .. } => trouble.may_pass(),
        error => matches!(error, StoreError::Busy { .. }),
    }
}

/// Runs on their way, while tasks go on.
pub struct Delivery {
    sender: Sender<Answer>,
    thread: JoinHandle<Delivered>,
    place: Place,
    directory: PathBuf,
}

/// What became of runs.
#[derive(Default)]
struct Delivered {
    /// Pushed now.
    pushed: u64,
    /// There before.
    known: u64,
    /// Not there, and why.
    missing: u64,
    error: Option<anyhow::Error>,
}

impl Delivery {
    /// Begins.
    ///
    /// # Errors
    /// The campaign cannot be opened.
    pub fn begin(campaign: &Campaign, place: Place, stop: &Arc<AtomicBool>) -> Result<Self> {
        let directory = campaign.place().to_owned();
        let own = Campaign::open(&directory).map_err(in_words)?;
        let (sender, receiver) = mpsc::channel();
        let (to, stop) = (place.clone(), Arc::clone(stop));
        // A connection is its thread's own.
        let thread = thread::spawn(move || {
            let mut carrier = Carrier {
                campaign: own,
                place: to,
                stop,
                shared: None,
                waiting: Vec::new(),
                delivered: Delivered::default(),
            };
            carrier.carry(&receiver);
            carrier.delivered
        });
        Ok(Self { sender, thread, place, directory })
    }

    /// Takes what a task came to. What is no run, or is incomplete, goes nowhere.
    pub fn take(&self, answer: &Answer) {
        if answer.error.is_none() && answer.found.record.is_some() {
            // A thread that is gone is missed at the end.
            let _ = self.sender.send(answer.clone());
        }
    }

    /// Takes all that is complete.
    pub fn take_all(&self, survey: &Survey) {
        survey.answers().for_each(|answer| self.take(answer));
    }

    /// Waits until all is there, or cannot be; says what is missing.
    fn delivered(self) -> (Delivered, Place, PathBuf) {
        drop(self.sender);
        let delivered = self.thread.join().expect("it does not panic");
        (delivered, self.place, self.directory)
    }

    /// The same for who has done tasks: what is missing costs a sentence.
    pub fn end(self) {
        let (delivered, place, directory) = self.delivered();
        if let Some(error) = &delivered.error {
            output::talk!(
                "drivelab: {} not in {place} yet: {error}; later: drivelab campaign push {}",
                are(delivered.missing),
                record::quoted(&directory)
            );
        }
    }
}

fn are(count: u64) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, "run"))
}

/// `campaign push`: brings there what a history lacks of a campaign.
pub fn push(campaign: &Campaign, place: Place) -> Result<ExitCode> {
    let stop = interrupt::flag()?;
    let delivery = Delivery::begin(campaign, place, &stop)?;
    delivery.take_all(&Survey::of(campaign).map_err(in_words)?);
    let (delivered, place, _) = delivery.delivered();
    let known = match delivered.known {
        0 => String::new(),
        1 => "; 1 was there already".to_owned(),
        many => format!("; {many} were there already"),
    };
    let told = format!("pushed {} to {place}{known}", counted(delivered.pushed, "run"));
    match delivered.error {
        _ if stop.load(Ordering::Relaxed) && delivered.missing > 0 => {
            output::talk!("drivelab: interrupted: {told}; the same again goes on");
            Ok(ExitCode::from(interrupt::EXIT_CODE))
        }
        Some(error) => {
            output::talk!("drivelab: {told}");
            Err(error)
        }
        None => output::print(&format!("{told}\n")).map(|()| ExitCode::SUCCESS),
    }
}

/// The thread that brings runs there.
struct Carrier {
    campaign: Campaign,
    place: Place,
    stop: Arc<AtomicBool>,
    shared: Option<Store>,
    waiting: Vec<Answer>,
    delivered: Delivered,
}

impl Carrier {
    fn carry(&mut self, answers: &Receiver<Answer>) {
        let mut tried = None;
        while let Ok(answer) = answers.recv() {
            self.waiting.push(answer);
            self.waiting.extend(answers.try_iter());
            if tried.is_some_and(|tried: Instant| tried.elapsed() < PAUSE) {
                continue;
            }
            match self.attempt() {
                Ok(()) => tried = None,
                Err(_) => tried = Some(Instant::now()),
            }
        }
        let since = Instant::now();
        while let Err(error) = self.attempt() {
            let goes_on = since.elapsed() < PATIENCE && !self.stop.load(Ordering::Relaxed);
            if !(goes_on && may_pass(&error)) {
                self.delivered.missing = self.waiting.len() as u64;
                self.delivered.error = Some(store::in_words(error));
                return;
            }
            thread::sleep(PAUSE_AT_END);
        }
    }

    /// Pushes what waits; what could not be pushed waits on.
    fn attempt(&mut self) -> Result<(), StoreError> {
        while !self.waiting.is_empty() {
            let mut shared = match self.shared.take() {
                Some(shared) => shared,
                None => Store::at_to_push(&self.place, Tables::Made)?,
            };
            let batch = self.waiting.len().min(BATCH);
            self.batch(&mut shared, batch)?;
            // Only what works is kept for the next time.
            self.shared = Some(shared);
        }
        Ok(())
    }

    /// Pushes the first `count` of those that wait.
    fn batch(&mut self, shared: &mut Store, count: usize) -> Result<(), StoreError> {
        let records: Vec<Record> = self.waiting[..count]
            .iter()
            // One that cannot be read is told by who reads the campaign.
            .filter_map(|answer| record_of(&self.campaign, answer).ok().flatten())
            .collect();
        let runs: Vec<Ended> = records.iter().map(ended).collect();
        let lacking = shared.lacks(&runs)?;
        let pushed = lacking.len() as u64;
        for (run, id) in lacking {
            let record = records.iter().find(|record| record.id == run.id).expect("of these");
            shared.push(record, &run, &id)?;
        }
        self.delivered.pushed += pushed;
        self.delivered.known += records.len() as u64 - pushed;
        self.waiting.drain(..count);
        Ok(())
    }
}

fn ended(record: &Record) -> Ended {
    Ended {
        id: record.id.clone(),
        host: record.environment.host.name.clone(),
        started: record.started.clone(),
        saves: SAVES,
    }
}
