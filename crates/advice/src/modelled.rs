//! Candidates become offers: stacks are modelled, all in parallel; runs say what they measured.
//!
//! ```text
//!   candidates -> by base stack: steady::Bench {bare, sequential}, once for a stack and its volume
//!     -> bare: its rates     volume: the sequential rate and the closed form of a Forecast
//!     -> Answered {offer, check, basis}
//! ```

use crate::{
    candidates::Measured,
    candidates::{Array, Candidate, Source, array_of},
    error::AdviceError,
    question::Question,
    rank::{Check, Endurance, Offer, Purpose},
    steady::{self, Bench, Order, Rates, Rating, SequentialRates, Workload},
    volume::{self, Forecast},
};
use record::Flag;
use report::derive::Figure;
use std::{collections::BTreeMap, sync::Mutex, thread};
use target::{
    catalog::{Catalog, DriveKind},
    stack::{Part, Stack},
};

/// An offer, and what is known about how it came about.
pub struct Answered {
    /// For the ranking.
    pub offer: Offer,
    /// Where the rates come from.
    pub basis: Basis,
}

/// Where an offer's rates come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Basis {
    /// Both were modelled.
    Modelled {
        /// The stack, aged.
        stack: String,
        /// Arrays of so many drives were modelled, and rates are taken to go straight between them.
        between: Option<[u16; 2]>,
    },
    /// Writes were computed from the sequential rate, as those of a managed volume.
    Computed {
        /// The stack with its volume.
        stack: String,
        /// Share of the drives that holds data.
        fill: f64,
        /// Blocks that the log writes for each of the host's, all counted.
        log_per_host_byte: f64,
    },
    /// Cells of a run.
    Measured {
        /// The run.
        run: String,
        /// What its rates are to be doubted for.
        flags: Vec<Flag>,
    },
}

/// What was found out about a stack, for it and for the volumes on it.
#[derive(Clone)]
struct Base {
    rates: Rates,
    sequential: Option<SequentialRates>,
}

impl Base {
    /// On the straight line from one to the other, `part` of the way (0 to 1).
    fn between(low: &Self, high: &Self, part: f64) -> Self {
        let at = |low: f64, high: f64| low + part * (high - low);
        let (a, b) = (&low.rates, &high.rates);
        let rates = Rates {
            read: at(a.read, b.read),
            write: at(a.write, b.write),
            mixed: at(a.mixed, b.mixed),
            read_anywhere: at(a.read_anywhere, b.read_anywhere),
            sent_per_host_byte: at(a.sent_per_host_byte, b.sent_per_host_byte),
        };
        let sequential = low.sequential.zip(high.sequential).map(|(a, b)| SequentialRates {
            write_bytes_per_s: at(a.write_bytes_per_s, b.write_bytes_per_s),
            read_bytes_per_s: at(a.read_bytes_per_s, b.read_bytes_per_s),
            sent_per_host_byte: at(a.sent_per_host_byte, b.sent_per_host_byte),
        });
        Self { rates, sequential }
    }
}

/// The stacks that are modelled for a candidate: its own; or, where drives take long to model, two
/// arrays between which its own lies.
fn modelled(candidate: &Candidate, catalog: &Catalog) -> Vec<Stack> {
    let Source::Modelled { base, array, .. } = &candidate.source else { return Vec::new() };
    let drive = &base.members[0].drive.name;
    let kind = catalog.drive(drive).map(|drive| drive.kind);
    match array.map(|array| (array, array.between())) {
        Some((Array { level, .. }, [low, high]))
            if low != high && kind == Some(DriveKind::PageMapped) =>
        {
            [low, high].map(|count| array_of(drive, count, level)).to_vec()
        }
        _ => vec![base.clone()],
    }
}

/// All candidates, or for some why there is none; `progress` hears how many stacks of how many are
/// done.
pub fn answer(
    candidates: &[Candidate],
    catalog: &Catalog,
    question: &Question,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Result<Answered, String>>, AdviceError> {
    let workload = question.workload.clone();
    let bench = Bench { catalog, workload, seed: question.seed };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // Stacks that are modelled, and whether a log on them is asked for.
    let mut wanted: BTreeMap<String, (Stack, bool)> = BTreeMap::new();
    for candidate in candidates {
        for stack in modelled(candidate, catalog) {
            let has_log = matches!(&candidate.source, Source::Modelled { volume: Some(_), .. });
            wanted.entry(stack.to_string()).or_insert((stack, false)).1 |= has_log;
        }
    }
    let wanted: Vec<(String, (Stack, bool))> = wanted.into_iter().collect();
    let measured = study::in_parallel(
        &wanted,
        threads,
        progress,
        |_| 1,
        |(_, (stack, has_log))| {
            let rates = bench.bare(stack, question.need.capacity_bytes)?;
            let sequential = has_log.then(|| bench.sequential(stack)).transpose()?;
            Ok::<_, study::TrialError>(Base { rates, sequential })
        },
    );
    let log_shares = log_shares(&wanted, &bench, threads)?;
    let mut bases = BTreeMap::new();
    for ((name, _), base) in wanted.iter().zip(measured) {
        let trial = |error| AdviceError::Trial { stack: name.clone(), error };
        bases.insert(name.as_str(), base.map_err(trial)?);
    }
    let amplifications = Amplifications { catalog, question, known: Mutex::new(BTreeMap::new()) };
    let one = |candidate: &Candidate| match &candidate.source {
        Source::Recorded(measured) => Ok(Ok(recorded(candidate, measured, question))),
        Source::Modelled { base, base_bytes, volume, array } => {
            let stacks = modelled(candidate, catalog);
            let ends: Vec<&Base> =
                stacks.iter().map(|stack| &bases[stack.to_string().as_str()]).collect();
            let between = array.map(Array::between).filter(|_| ends.len() > 1);
            let found = match (between, array) {
                (Some([low, high]), Some(array)) => {
                    let part = f64::from(array.count - low) / f64::from(high - low);
                    Base::between(ends[0], ends[1], part)
                }
                _ => ends[0].clone(),
            };
            let stack =
                Modelled { candidate, base, base_bytes: *base_bytes, found, between, catalog };
            match volume {
                None => stack.bare(question, &amplifications).map(Ok),
                Some(volume) => {
                    let share = stack.least_share(&log_shares);
                    stack.managed(volume, share, question, &amplifications)
                }
            }
        }
    };
    study::in_parallel(candidates, threads, &|_, _| (), |_| 1, one).into_iter().collect()
}

/// What is left of a log's rate on each drive below one, by the drive's text.
fn log_shares(
    wanted: &[(String, (Stack, bool))],
    bench: &Bench<'_>,
    threads: usize,
) -> Result<BTreeMap<String, f64>, AdviceError> {
    let logs = wanted.iter().filter(|(_, (_, has_log))| *has_log);
    let drives: BTreeMap<String, &Part> = logs
        .flat_map(|(_, (stack, _))| &stack.members)
        .map(|member| (member.drive.to_string(), &member.drive))
        .collect();
    let drives: Vec<(String, &Part)> = drives.into_iter().collect();
    let one = |(_, drive): &(String, &Part)| bench.log_share(drive);
    let shares = study::in_parallel(&drives, threads, &|_, _| (), |_| 1, one);
    let known = drives.into_iter().zip(shares).map(|((stack, _), share)| match share {
        Ok(share) => Ok((stack, share)),
        Err(error) => Err(AdviceError::Trial { stack, error }),
    });
    known.collect()
}

fn recorded(candidate: &Candidate, measured: &Measured, question: &Question) -> Answered {
    let Measured { run, read, write, mixed, flags } = measured;
    Answered {
        offer: Offer {
            check: mixed.map_or(Check::Impossible, Check::Done),
            ..offer(
                candidate,
                question.purpose(&candidate.price),
                [*read, *write],
                Endurance::Unknown,
            )
        },
        basis: Basis::Measured { run: run.clone(), flags: flags.clone() },
    }
}

fn offer(
    candidate: &Candidate,
    purpose: Purpose,
    [read, write]: [Figure; 2],
    endurance: Endurance,
) -> Offer {
    Offer {
        name: candidate.name.clone(),
        price: candidate.price.amount(),
        purpose,
        capacity_bytes: candidate.capacity_bytes,
        read,
        write,
        check: Check::Due,
        endurance,
        spare_drives: candidate.spare_drives,
    }
}

/// Without an interval: virtual time repeats itself.
fn exact(value: f64) -> Figure {
    Figure { value, ci95: None }
}

/// What reaches the drives.
#[derive(Clone, Copy)]
struct Sent {
    /// Bytes, for each of the host's.
    per_host_byte: f64,
    /// Bytes of flash that a drive which cleans by itself writes for each of them, at least.
    copied_at_least: f64,
}

/// A candidate that is modelled, and what its stack does.
struct Modelled<'a> {
    candidate: &'a Candidate,
    base: &'a Stack,
    base_bytes: u64,
    found: Base,
    /// The numbers of drives that were modelled instead of its own.
    between: Option<[u16; 2]>,
    catalog: &'a Catalog,
}

impl Modelled<'_> {
    fn bare(
        &self,
        question: &Question,
        amplifications: &Amplifications<'_>,
    ) -> Result<Answered, AdviceError> {
        let used =
            question.need.capacity_bytes.unwrap_or(self.base_bytes) as f64 / self.base_bytes as f64;
        let rates = &self.found.rates;
        let sent = Sent { per_host_byte: rates.sent_per_host_byte, copied_at_least: 1.0 };
        let endurance = self.endurance(sent, used, &question.workload, amplifications)?;
        let stack = match question.workload.order {
            Order::Random => steady::aged(self.base, self.catalog, used),
            Order::Sequential => self.base.clone(),
        };
        Ok(Answered {
            offer: Offer {
                check: self.between.map_or(Check::Done(rates.mixed), |_| Check::Due),
                ..offer(
                    self.candidate,
                    question.purpose(&self.candidate.price),
                    [rates.read, rates.write].map(exact),
                    endurance,
                )
            },
            basis: Basis::Modelled { stack: stack.to_string(), between: self.between },
        })
    }

    /// What the slowest of its drives leaves of a log's rate.
    fn least_share(&self, log_shares: &BTreeMap<String, f64>) -> f64 {
        let shares = self.base.members.iter().map(|member| log_shares[&member.drive.to_string()]);
        shares.fold(1.0, f64::min)
    }

    /// A managed volume: reads as without it, wherever its blocks lie; writes from the sequential
    /// rate, of which the drives leave a `share` to a log.
    fn managed(
        &self,
        volume: &Part,
        share: f64,
        question: &Question,
        amplifications: &Amplifications<'_>,
    ) -> Result<Result<Answered, String>, AdviceError> {
        let (rates, line) =
            (&self.found.rates, self.found.sequential.expect("a log was asked for"));
        let mut stack = self.base.clone();
        stack.layers.push(volume.clone());
        let of_drive = volume::Rates {
            blocks: volume::Blocks::USUAL,
            random_writes_per_s: rates.write,
            random_reads_per_s: rates.read_anywhere,
            write_bytes_per_s: share * line.write_bytes_per_s,
            read_bytes_per_s: line.read_bytes_per_s,
            device_bytes: self.base_bytes,
            of_full_drives: false,
            source: String::new(),
        };
        let forecast = match Forecast::of_stack(&of_drive, &stack) {
            Ok(forecast) => forecast,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let exported_bytes = forecast.exported_bytes().unwrap_or(self.candidate.capacity_bytes);
        let wanted_bytes = question.need.capacity_bytes.unwrap_or(0);
        if exported_bytes < wanted_bytes {
            let holds = report::number::capacity(exported_bytes);
            return Ok(Err(format!("a managed volume of it holds {holds} at most")));
        }
        let data_bytes = question.need.capacity_bytes.unwrap_or(exported_bytes);
        let fill = (data_bytes as f64 / self.base_bytes as f64).min(forecast.fullest());
        let point = forecast.at(fill);
        let log_per_host_byte = forecast.log_per_host_byte(fill);
        let written_bytes = question.workload.bytes_mean(0.0);
        let write = point.efficiency * of_drive.write_bytes_per_s / written_bytes;
        // What a log sends is sequential, whatever the host writes.
        let Workload { reads, depth, .. } = question.workload;
        let sequential = Workload::plain(reads, 1 << 20, depth, Order::Sequential);
        let sent = Sent {
            per_host_byte: log_per_host_byte * line.sent_per_host_byte,
            copied_at_least: 1.0 / share,
        };
        let endurance = self.endurance(sent, 1.0, &sequential, amplifications)?;
        Ok(Ok(Answered {
            offer: Offer {
                capacity_bytes: exported_bytes,
                ..offer(
                    self.candidate,
                    question.purpose(&self.candidate.price),
                    [rates.read_anywhere, write].map(exact),
                    endurance,
                )
            },
            basis: Basis::Computed { stack: stack.to_string(), fill, log_per_host_byte },
        }))
    }

    /// All drives together: as many times what the weakest is rated for.
    fn endurance(
        &self,
        sent: Sent,
        used: f64,
        workload: &Workload,
        amplifications: &Amplifications<'_>,
    ) -> Result<Endurance, AdviceError> {
        if amplifications.question.need.written_bytes_per_day.is_none() {
            return Ok(Endurance::Unknown);
        }
        let mut weakest: Option<(f64, f64)> = None;
        for member in &self.base.members {
            let drive = self.catalog.drive(&member.drive.name).expect("it was opened");
            let (bytes, amplification) = match steady::rating(drive) {
                Rating::Unknown => return Ok(Endurance::Unknown),
                Rating::Unbounded => continue,
                // What its maker grants are the host's bytes.
                Rating::Written { bytes } => (bytes, 1.0),
                Rating::Cycles { cycles, .. } => (
                    cycles * drive.capacity_bytes as f64,
                    amplifications.of(drive.name(), workload, used)?.max(sent.copied_at_least),
                ),
            };
            let is_weaker = weakest.is_none_or(|(known, by)| bytes / amplification < known / by);
            if is_weaker {
                weakest = Some((bytes, amplification));
            }
        }
        let count = self.base.drives() as f64;
        Ok(weakest.map_or(Endurance::Unbounded, |(bytes, amplification)| Endurance::Rated {
            bytes: bytes * count,
            per_host_byte: sent.per_host_byte * amplification,
        }))
    }
}

/// Write amplifications inside drives, each found out once.
struct Amplifications<'q> {
    catalog: &'q Catalog,
    question: &'q Question,
    known: Mutex<BTreeMap<(String, bool, u32), f64>>,
}

impl Amplifications<'_> {
    /// Of a drive with `used` of it holding data.
    fn of(&self, name: &str, workload: &Workload, used: f64) -> Result<f64, AdviceError> {
        let per_mille = (used * 1000.0).ceil().min(1000.0);
        let key = (name.to_owned(), workload.order == Order::Random, per_mille as u32);
        let known = || self.known.lock().expect("nobody panicked");
        if let Some(known) = known().get(&key) {
            return Ok(*known);
        }
        let drive = self.catalog.drive(name).expect("it was opened");
        let found =
            steady::write_amplification(drive, workload, per_mille / 1000.0, self.question.seed)?;
        let found = found.unwrap_or(1.0);
        known().insert(key, found);
        Ok(found)
    }
}
