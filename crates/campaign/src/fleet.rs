//! A fleet: is a host slow, a drive an outlier of its model, a firmware faster than the one before?
//!
//! ```text
//!   answers -> units: one repetition on one drive of one host, the geometric mean of its cells
//!   units by host | serial | firmware -> each group against the others -> ratio, interval, verdict
//! ```
//!
//! The verdict is the interval's (`stats::unpaired`: Welch's, with a band of 2 %), not the eye's:
//! of many good hosts one is always the slowest. Only cells that every unit has are in the means.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{Task, answer::Answer, summary, task::Work};
use stats::{Passes, Unpaired, Verdict, unpaired};
use std::collections::{BTreeMap, BTreeSet};

/// A group against others.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The drive's model; empty for a host.
    pub model: String,
    /// The host, serial number or firmware.
    pub who: String,
    /// Against whom; empty for all others.
    pub against: String,
    /// Units of it.
    pub n: usize,
    /// Its rate over theirs.
    pub found: Unpaired,
}

/// What tells groups apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Hosts, each against the others.
    Host,
    /// Drives of one model by serial number, each against the others.
    Serial,
    /// Firmware of drives of one model, each against the one before in the order of names.
    Firmware,
}

impl By {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::Host, Self::Serial, Self::Firmware];

    /// Above its table.
    pub fn title(self) -> &'static str {
        match self {
            Self::Host => "Hosts, each against the others",
            Self::Serial => "Drives of a model, each against the others",
            Self::Firmware => "Firmware of a model, against the one before",
        }
    }
}

/// One repetition on one drive of one host.
struct Unit {
    model: String,
    group: String,
    rates: BTreeMap<(String, String), f64>,
    half_width: Option<f64>,
}

/// Groups against each other; nothing where there is only one, or no cell that all have.
pub fn compared(tasks: &[Task], answers: &[&Answer], by: By) -> Vec<Compared> {
    let mut models: BTreeMap<String, Vec<Unit>> = BTreeMap::new();
    for unit in units(tasks, answers, by) {
        models.entry(unit.model.clone()).or_default().push(unit);
    }
    models.into_iter().flat_map(|(model, units)| of_model(&model, &units, by)).collect()
}

fn of_model(model: &str, units: &[Unit], by: By) -> Vec<Compared> {
    let mut shared: Option<BTreeSet<&(String, String)>> = None;
    for unit in units {
        let keys: BTreeSet<_> = unit.rates.keys().collect();
        shared = Some(shared.map_or(keys.clone(), |shared| &shared & &keys));
    }
    let shared = shared.unwrap_or_default();
    let mut groups: BTreeMap<&str, Vec<(f64, Option<f64>)>> = BTreeMap::new();
    for unit in units.iter().filter(|_| !shared.is_empty()) {
        let logs = shared.iter().map(|key| unit.rates[*key].ln()).sum::<f64>();
        let rate = (logs / shared.len() as f64).exp();
        groups.entry(&unit.group).or_default().push((rate, unit.half_width));
    }
    if groups.len() < 2 {
        return Vec::new();
    }
    let names: Vec<&str> = groups.keys().copied().collect();
    let of = |at: usize| -> Option<Compared> {
        let others: Vec<&str> = match by {
            By::Firmware => vec![names[at.checked_sub(1)?]],
            By::Host | By::Serial => {
                names.iter().copied().filter(|name| *name != names[at]).collect()
            }
        };
        let theirs = others.iter().flat_map(|name| groups[name].iter().copied());
        let own = &groups[names[at]];
        Some(Compared {
            model: model.to_owned(),
            who: names[at].to_owned(),
            against: if by == By::Firmware { others[0].to_owned() } else { String::new() },
            n: own.len(),
            found: unpaired(&passes(theirs), &passes(own.iter().copied())),
        })
    };
    (0..names.len()).filter_map(of).collect()
}

fn passes(units: impl Iterator<Item = (f64, Option<f64>)>) -> Passes {
    let (rates, widths): (Vec<f64>, Vec<Option<f64>>) = units.unzip();
    let half_width_relative = widths.into_iter().flatten().max_by(f64::total_cmp);
    Passes { rates, half_width_relative }
}

/// Model, group, repetition, and which drive of which host.
type UnitKey = (String, String, u32, String);
/// The tasks of a unit.
type Parts<'a> = Vec<(&'a Task, &'a Answer)>;

fn units(tasks: &[Task], answers: &[&Answer], by: By) -> Vec<Unit> {
    let mut units: BTreeMap<UnitKey, Parts<'_>> = BTreeMap::new();
    for answer in answers {
        let Some(task) = tasks.get(answer.task as usize) else { continue };
        let drive = answer.found.drives.first();
        let model = drive.map_or("", |drive| &drive.model).to_owned();
        let serial = drive.and_then(|drive| drive.serial.clone());
        let firmware = drive.and_then(|drive| drive.firmware.clone());
        let group = match by {
            By::Host => Some(answer.host.clone()),
            By::Serial => serial.clone(),
            By::Firmware => firmware,
        };
        let Some(group) = group else { continue };
        let model = if by == By::Host { String::new() } else { model };
        // A host's targets are its own; drives of a model stand behind different ones.
        let who = match by {
            By::Host => String::new(),
            By::Serial | By::Firmware => format!("{} {}", answer.host, serial.unwrap_or_default()),
        };
        units.entry((model, group, task.repetition, who)).or_default().push((task, answer));
    }
    let of = |((model, group, ..), parts): (UnitKey, Parts<'_>)| {
        let cells = parts.iter().flat_map(|(task, answer)| {
            let key = key(task, by);
            answer.found.cells.iter().map(move |cell| (key.clone(), cell))
        });
        let cells: Vec<_> = cells.filter(|(_, cell)| cell.rate() > 0.0).collect();
        let widths: Vec<f64> =
            cells.iter().filter_map(|(_, cell)| cell.half_width_relative).collect();
        let half_width =
            (!widths.is_empty()).then(|| widths.iter().sum::<f64>() / widths.len() as f64);
        let rates = cells.into_iter().map(|(key, cell)| ((key, cell.name.clone()), cell.rate()));
        Unit { model, group, rates: rates.collect(), half_width }
    };
    units.into_iter().map(of).collect()
}

/// What of a task must be the same for its cells to be compared.
fn key(task: &Task, by: By) -> String {
    let target = match &task.work {
        Work::Measure(measure) if by == By::Host => measure.target.as_str(),
        _ => "",
    };
    format!("{target} {} {}", summary::method(task), summary::settings(task))
}

/// The verdict in a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "fast",
        Verdict::Slower => "slow",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CampaignFile,
        answer::{CellFound, Drive, FORMAT, Found, VERSION},
    };

    /// Four hosts, eight repetitions; `rate` of a host in a repetition.
    fn fleet(rate: impl Fn(usize, u32) -> f64, firmware: &[&str]) -> (Vec<Task>, Vec<Answer>) {
        let text =
            "targets = [\"/dev/sdb\"]\nrepetitions = 8\nhosts = [\"a\", \"b\", \"c\", \"d\"]\n";
        let file = CampaignFile::parse("f", text).expect("a campaign");
        let tasks = file.expand("f", &file.methods).expect("tasks");
        let answer = |task: &Task| {
            let host = task.host.clone().expect("it has one");
            let at = "abcd".find(&host).expect("one of them");
            let iops = rate(at, task.repetition);
            let cell = CellFound {
                name: "reads".to_owned(),
                title: "reads".to_owned(),
                is_large_block: false,
                iops,
                bytes_per_s: iops * 4096.0,
                half_width_relative: Some(0.005),
                p50_ns: None,
                p99_ns: None,
            };
            let drive = Drive {
                model: "M".to_owned(),
                serial: Some(format!("S{at}")),
                firmware: Some(firmware[at % firmware.len()].to_owned()),
            };
            let found = Found { drives: vec![drive], cells: vec![cell], ..Found::default() };
            Answer {
                format: FORMAT.to_owned(),
                version: VERSION,
                task: task.task,
                attempt: 1,
                error: None,
                host,
                began_unix_s: 0.0,
                seconds: 1.0,
                work_seconds: 1.0,
                found,
            }
        };
        let answers = tasks.iter().map(answer).collect();
        (tasks, answers)
    }

    fn verdicts(tasks: &[Task], answers: &[Answer], by: By) -> Vec<(String, Verdict)> {
        let answers: Vec<&Answer> = answers.iter().collect();
        let all = compared(tasks, &answers, by).into_iter();
        all.map(|it| (it.who, it.found.verdict)).collect()
    }

    /// 1 % of scatter from repetition to repetition, as a sawtooth.
    fn scatter(at: usize, repetition: u32) -> f64 {
        1.0 + 0.01 * (f64::from((repetition * 3 + at as u32 * 5) % 8) / 4.0 - 1.0)
    }

    #[test]
    fn a_host_that_is_ten_percent_slower_is_called_slow_and_no_other_is() {
        let slow = |at, repetition| {
            if at == 2 { 900.0 * scatter(at, repetition) } else { 1000.0 * scatter(at, repetition) }
        };
        let (tasks, answers) = fleet(slow, &["1"]);
        let found = verdicts(&tasks, &answers, By::Host);
        let slow: Vec<_> =
            found.iter().filter(|(_, verdict)| *verdict == Verdict::Slower).collect();
        assert_eq!(slow, [&("c".to_owned(), Verdict::Slower)], "{found:?}");
        assert_eq!(verdicts(&tasks, &answers, By::Serial)[2], ("S2".to_owned(), Verdict::Slower));
    }

    #[test]
    fn of_good_hosts_the_slowest_is_not_called_slow() {
        let (tasks, answers) = fleet(|at, repetition| 1000.0 * scatter(at, repetition), &["1"]);
        let found = verdicts(&tasks, &answers, By::Host);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|(_, verdict)| *verdict == Verdict::Same), "{found:?}");
    }

    #[test]
    fn a_firmware_is_held_against_the_one_before() {
        let faster = |at: usize, repetition| {
            if at % 2 == 1 {
                1200.0 * scatter(at, repetition)
            } else {
                1000.0 * scatter(at, repetition)
            }
        };
        let (tasks, answers) = fleet(faster, &["1.0", "1.1"]);
        let all: Vec<&Answer> = answers.iter().collect();
        let found = compared(&tasks, &all, By::Firmware);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].who.as_str(), found[0].against.as_str()), ("1.1", "1.0"));
        assert_eq!(found[0].found.verdict, Verdict::Faster);
        assert!((found[0].found.ratio - 1.2).abs() < 0.02, "{found:?}");
        let (tasks, answers) = fleet(faster, &["1.0"]);
        assert!(verdicts(&tasks, &answers, By::Firmware).is_empty(), "there is only one");
    }
}
