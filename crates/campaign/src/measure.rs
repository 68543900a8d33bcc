//! A task that measures: its words become an order, as a command line's would.

use crate::{
    BadOrder, Campaign, Measuring, Worker,
    directory::{json, read_json},
    file::RunFile,
    gate::Gate,
    task::Measure,
    whole::{self, Lasting},
};
use block::{Rng, parse_bytes};
use host::Consent;
use lab::{
    duration::parse_seconds,
    method::parse_grade,
    order::Order,
    plan::Options,
    runner::{Event, Observer, RunError},
};
use record::{Calibration, CampaignTask, Record, State, Warning};
use run::{CannotRun, Prepared, Purge, Refusal, RunOrder, Wear};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};
use target::TargetText;

/// A run, and how long it took by itself: without opening, planning, and looking at the machine.
#[derive(Debug)]
pub struct Measured {
    /// What was found.
    pub record: Box<Record>,
    /// Seconds of the runner.
    pub work_seconds: f64,
}

/// How a measurement ended that was not completed.
#[derive(Debug)]
pub enum Unmeasured {
    /// It was told to stop.
    Stopped,
    /// It cannot be done, or something failed; with what was measured until then.
    Failed(String, Option<Box<Record>>),
}

/// What a task measures, as an order.
///
/// # Errors
/// A target, a method or an option that is none.
pub fn order(file: &RunFile, measure: &Measure, method_text: &str) -> Result<RunOrder, BadOrder> {
    let settings: Vec<(String, String)> =
        measure.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let options = Options {
        grade: word("grade", &file.grade, parse_grade)?,
        span_bytes: word("size", &file.size, parse_bytes)?,
        written_bytes_max: word("max_written", &file.max_written, parse_bytes)?,
        seconds_max: word("max_time", &file.max_time, parse_seconds)?,
        seed: measure.seed,
        reads_only: file.reads_only,
        passes: file.passes,
        on_error: word("on_error", &file.on_error, str::parse)?,
        until: word("until", &file.until, str::parse)?,
        slower: None,
    };
    let method = Order::new(&measure.method, method_text, &settings, &options, BTreeMap::new());
    let target: TargetText = measure.target.parse()?;
    Ok(RunOrder {
        targets: vec![target],
        method: method?,
        consent: Consent::typed(file.destroy.iter().map(OsString::from).collect::<Vec<_>>()),
        purge: Purge::Nothing,
        wear: if file.agree { Wear::AgreedTo } else { Wear::Unasked },
    })
}

fn word<T, E: ToString>(
    key: &'static str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, BadOrder> {
    let parsed = text.as_deref().map(parse).transpose();
    parsed.map_err(|error| BadOrder::Option { key, reason: error.to_string() })
}

/// Measures. The record says of which campaign and task it is.
///
/// # Errors
/// How it ended otherwise.
pub fn measure(
    campaign: &Campaign,
    number: u32,
    measure: &Measure,
    hands: &Measuring,
    stop: &AtomicBool,
) -> Result<Measured, Unmeasured> {
    let failed = |sentence: String| Unmeasured::Failed(sentence, None);
    let text = campaign.method_text(&measure.method).map_err(|error| failed(error.to_string()))?;
    let order = order(&campaign.file.run, measure, &text);
    let mut order = order.map_err(|bad| failed(bad.to_string()))?;
    for target in &mut order.targets {
        if let TargetText::Path(path) | TargetText::Flash(path) = target {
            *path = campaign.head.working_directory.join(&path);
        }
    }
    let cannot = |error: CannotRun| failed(in_words(&error));
    let mut prepared = Prepared::new(order).map_err(cannot)?;
    prepared.check_agreed().map_err(|refusal| cannot(refusal.into()))?;
    let id = Rng::new(host::entropy(), u64::from(number)).next();
    let calibration = hands.calibration.get_or_init(|| calibration(campaign, &prepared)).clone();
    let mut record = prepared.record_as(format!("{id:016x}"), &hands.by, calibration);
    record.state = State::Running;
    record.campaign = Some(CampaignTask {
        name: campaign.head.name.clone(),
        task: u64::from(number),
        of: u64::from(campaign.head.tasks),
    });
    let gate = Gate::of(campaign, number, stop).map_err(|error| failed(error.to_string()))?;
    let working = Instant::now();
    let done = prepared.carry_out(&mut record, &mut Silent { stop, gate: gate.as_ref() });
    let work_seconds = working.elapsed().as_secs_f64();
    if let Some(late) = gate.map(|gate| gate.late_starts()).filter(|&late| late > 0) {
        let text = format!("{late} of its steps began after those of the tasks beside it");
        record.warnings.push(Warning { flag: None, text });
    }
    match done {
        Ok(()) => Ok(Measured { record: Box::new(record), work_seconds }),
        Err(RunError::Interrupted) => Err(Unmeasured::Stopped),
        Err(error) => Err(Unmeasured::Failed(error.to_string(), Some(Box::new(record)))),
    }
}

/// What the engines cost on this host: found by the first worker since it was started, and read by
/// the others, for which it would be more than the rest of a short task.
fn calibration(campaign: &Campaign, prepared: &Prepared) -> Calibration {
    let Ok(here) = Worker::current() else { return prepared.calibrate() };
    let path = campaign.path("hosts").join(format!("{}.json", here.host_name()));
    if let Ok(known) = read_json(&path) {
        return known;
    }
    let found = prepared.calibrate();
    // Who cannot keep it finds it again.
    let _ = whole::make(&path, json(&found).as_bytes(), Lasting::Cached);
    found
}

/// What stands in the way, with the key of the campaign's file that is the cure.
fn in_words(error: &CannotRun) -> String {
    match error {
        CannotRun::Refused(refusal @ Refusal::MustAgree { .. }) => {
            format!("{refusal}: agree by `agree = true` under [run], or limit it by `max_written`")
        }
        error => error.to_string(),
    }
}

/// Nobody watches a task; it is told to stop, and waits for others where it is to begin with them.
struct Silent<'s> {
    stop: &'s AtomicBool,
    gate: Option<&'s Gate<'s>>,
}

impl Observer for Silent<'_> {
    fn event(&mut self, event: Event<'_>) {
        // Before each pass, and before anything of it is counted or timed.
        if let (Event::Begin { step, .. }, Some(gate)) = (event, self.gate) {
            gate.wait(step);
        }
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn save(&mut self, _: &Record) {}
}
