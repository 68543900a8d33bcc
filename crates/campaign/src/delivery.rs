//! What a campaign measured, on its way into a history that many machines share.
//!
//! ```text
//!   task -> record, answer: durable in the campaign's directory
//!        -> Delivery: a thread of its own -> lacks, push -> database, or a file
//! ```
//!
//! The directory has everything, so a database that is away loses nothing: whoever asks later for
//! the same brings what it lacks. Runs are pushed by their ids, so whoever does it again does
//! nothing.

use crate::{Answer, Campaign, CampaignError, Survey, record_of};
use record::{Ended, Place, Record, Store, StoreError, Tables};
use std::{
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

/// Runs on their way, while tasks go on.
pub struct Delivery {
    sender: Sender<Answer>,
    thread: JoinHandle<Delivered>,
}

/// What became of runs.
#[derive(Default, Debug)]
pub struct Delivered {
    /// Pushed now.
    pub pushed: u64,
    /// There before.
    pub known: u64,
    /// Not there.
    pub missing: u64,
    /// Why they are not.
    pub error: Option<StoreError>,
}

impl Delivery {
    /// Begins.
    ///
    /// # Errors
    /// The campaign cannot be opened.
    pub fn begin(
        campaign: &Campaign,
        place: Place,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, CampaignError> {
        let own = Campaign::open(campaign.place())?;
        let (sender, receiver) = mpsc::channel();
        let stop = Arc::clone(stop);
        // A connection is its thread's own.
        let thread = thread::spawn(move || {
            let mut carrier = Carrier {
                campaign: own,
                place,
                stop,
                shared: None,
                waiting: Vec::new(),
                delivered: Delivered::default(),
            };
            carrier.carry(&receiver);
            carrier.delivered
        });
        Ok(Self { sender, thread })
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

    /// Waits until all is there, or cannot be.
    pub fn end(self) -> Delivered {
        drop(self.sender);
        self.thread.join().expect("it does not panic")
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
            if !(goes_on && error.may_pass()) {
                self.delivered.missing = self.waiting.len() as u64;
                self.delivered.error = Some(error);
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
        let of = |run: &Ended| records.iter().find(|record| record.id == run.id).expect("of these");
        let mut lacked = 0;
        shared.push_lacking(&runs, &mut |run| Ok(of(run).clone()), &mut |lacking, _| {
            lacked = lacking as u64;
            true
        })?;
        self.delivered.pushed += lacked;
        self.delivered.known += records.len() as u64 - lacked;
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
