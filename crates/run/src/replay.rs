//! A replay: a trace is read once to know what it asks for, then becomes the one cell of a run.
//!
//! ```text
//!   ReplayOrder -> survey: one pass over the trace -> Survey      how much, how far, how long
//!     -> a Method of one cell, with a Script that reads it again  -> RunOrder -> Prepared
//!        or has it in memory                                      replay/kept.rs
//! ```
//!
//! Consent, guard and record are those of every run.

mod kept;

use crate::{
    CannotRun, Purge, RunOrder, Wear,
    trace_file::{CannotTrace, TraceFile, Volume},
};
use host::Consent;
use kept::Kept;
use lab::{
    method::{CellBound, CellSpec, SpanRule},
    order::Order,
    plan::Options,
    workload::{
        Op, Pattern, Stream,
        replay::{Asked, Feed, ReplayCell, Script, Speed, Survey, What},
    },
};
use std::{
    collections::BTreeMap,
    os::unix::fs::FileTypeExt,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};
use target::TargetText;
use trace::{Access, Trace};

/// The name of a replay's method in records.
pub const REPLAY: &str = "replay";
/// Operations are put on blocks of a target; no drive has larger ones.
const BLOCK_BYTES_MAX: u64 = 4096;
/// Most memory of operations in flight.
const BUFFERS_BYTES_MAX: u64 = 256 << 20;
/// Most that is filled before a replay where the user does not say how much.
const FILLED_BYTES_MAX: u64 = 16 << 30;
/// Operations that are read ahead, so that a slow disk under the trace makes nothing late.
const AHEAD: usize = 1 << 14;
/// Operations that are handed over at once: one by one, two threads woke each other, and a modelled
/// replay of a million took 8.3 s in place of 5.7 to 7.4.
const BATCH: usize = 1 << 10;
/// Areas are whole multiples of this.
const AREA_GRAIN: u64 = 1 << 20;

/// What is to be replayed, on what.
#[derive(Clone, Debug)]
pub struct ReplayOrder {
    /// The trace.
    pub trace: TraceFile,
    /// One, or two to compare.
    pub targets: Vec<TargetText>,
    /// How fast.
    pub speed: Speed,
    /// Most operations in flight.
    pub queue_depth: u32,
    /// Seconds of the trace that are replayed, from its first access on; all where `None`.
    pub trace_seconds_max: Option<f64>,
    /// Size, seed, passes, reads alone.
    pub options: Options,
    /// Notes in the record.
    pub labels: BTreeMap<String, String>,
    /// Which devices may be overwritten.
    pub consent: Consent,
    /// How much may be written.
    pub wear: Wear,
    /// Operations that are kept in memory, 24 bytes each, so that the trace is read once however
    /// often it is replayed; one with more is read again each time.
    pub kept_max: usize,
}

impl ReplayOrder {
    /// The run that it is.
    ///
    /// # Errors
    /// A trace that cannot be read, or has nothing to replay.
    pub fn to_run(&self) -> Result<RunOrder, CannotReplay> {
        let surveyed = self.survey(|_| ())?;
        self.run_of(surveyed)
    }

    /// Reads the trace, and has all accesses looked at on the way.
    ///
    /// # Errors
    /// A trace that cannot be read to its end, or of which no volume was chosen.
    pub fn survey(&self, mut look: impl FnMut(&Access)) -> Result<Surveyed, CannotTrace> {
        if self.trace.is_stdin() {
            return Err(CannotTrace::Once);
        }
        let mut kept = Kept::new(self.kept_max);
        let (survey, trace) = survey(&self.trace, self.until_ns(), &mut kept, &mut look)?;
        Ok(Surveyed { survey, kept, trace })
    }

    /// Until when the trace is replayed, ns after its first access.
    fn until_ns(&self) -> Option<u64> {
        self.trace_seconds_max.map(|seconds| (seconds * 1e9) as u64)
    }

    /// The run of what was surveyed.
    ///
    /// # Errors
    /// A trace that has nothing to replay.
    pub fn run_of(&self, surveyed: Surveyed) -> Result<RunOrder, CannotReplay> {
        let Surveyed { survey, kept, .. } = surveyed;
        let script: Arc<dyn Script> = match kept.all() {
            Some(all) => Arc::new(all),
            None => Arc::new(FromFile { trace: self.trace.clone(), until_ns: self.until_ns() }),
        };
        let text = self.text(&survey);
        let mut words = BTreeMap::new();
        words.insert("passes".to_owned(), self.options.passes.unwrap_or(1).to_string());
        if let Some(bytes) = self.options.span_bytes {
            words.insert("size".to_owned(), bytes.to_string());
        }
        if self.options.reads_only {
            words.insert("reads-only".to_owned(), "true".to_owned());
        }
        let seed = self.options.seed;
        let order = Order::from_words(REPLAY, &text, words, seed, self.labels.clone());
        let mut order = order.map_err(CannotRun::from)?;
        order.words.insert("speed".to_owned(), self.speed.to_string());
        if let Some(volume) = &survey.volume {
            order.words.insert("volume".to_owned(), volume.clone());
        }
        let name = survey.name.clone();
        let fills = self.fills();
        let end = survey.end_bytes.max(survey.transfer_bytes_max).max(AREA_GRAIN);
        let end =
            end.checked_next_multiple_of(AREA_GRAIN).unwrap_or(u64::MAX / AREA_GRAIN * AREA_GRAIN);
        let least = survey.transfer_bytes_max.next_multiple_of(AREA_GRAIN);
        let most = if fills { end.min(FILLED_BYTES_MAX.max(least)) } else { end };
        order.method.span = SpanRule::AtMost(most);
        order.method.file.fill = Some(u32::from(fills));
        order.method.cells = vec![self.cell(script, survey)];
        if order.method.cells[0].streams.is_empty() {
            return Err(CannotReplay::Nothing(name));
        }
        Ok(RunOrder {
            targets: self.targets.clone(),
            method: order,
            consent: self.consent.clone(),
            purge: Purge::Nothing,
            wear: self.wear,
        })
    }

    /// Whether the area is written before: what is read must hold something. A device is left as
    /// it is, for what it holds is its own state.
    fn fills(&self) -> bool {
        self.targets.iter().all(|target| match target {
            TargetText::Path(path) => {
                !path.metadata().is_ok_and(|found| found.file_type().is_block_device())
            }
            _ => true,
        })
    }

    /// The method's text, which the record keeps.
    fn text(&self, survey: &Survey) -> String {
        let is_plain = |letter: char| {
            letter.is_ascii_graphic() && !matches!(letter, '"' | '\\') || letter == ' '
        };
        let plain = |text: &str| -> String {
            text.chars().map(|letter| if is_plain(letter) { letter } else { '?' }).collect()
        };
        let volume = survey.volume.as_ref();
        let volume = volume.map_or_else(String::new, |name| format!(", volume {}", plain(name)));
        format!(
            "name = \"{REPLAY}\"\ntitle = \"replay of {}{volume} ({})\"\n\
             about = \"the operations of a trace at its own times\"\nlayout = \"replay\"\n\
             span = \"1GiB\"\n[[cell]]\nname = \"replay\"\nop = \"read\"\npattern = \"random\"\n\
             block = \"4KiB\"\nbound = \"once\"\n",
            plain(&survey.name),
            survey.format,
        )
    }

    fn cell(&self, script: Arc<dyn Script>, survey: Survey) -> CellSpec {
        let block_bytes = survey.transfer_bytes_max.max(BLOCK_BYTES_MAX) as u32;
        let room = (BUFFERS_BYTES_MAX / u64::from(block_bytes)).max(1);
        let queue_depth = u64::from(self.queue_depth).min(room) as u32;
        let kinds = [
            ("read", Op::Read, survey.operations_of(What::Read)),
            // A trace may flush and write nothing: its flushes belong to writes.
            (
                "write",
                Op::Write,
                survey.operations_of(What::Write) + survey.operations_of(What::Flush),
            ),
            ("trim", Op::Trim, survey.operations_of(What::Trim)),
        ];
        let is_asked = |(_, op, count): &(&str, Op, u64)| {
            *count > 0 && !(self.options.reads_only && op.writes())
        };
        let stream = |(name, op, _): (&str, Op, u64)| Stream {
            name: name.to_owned(),
            queue_depth,
            ..Stream::new(op, Pattern::Random, block_bytes)
        };
        let streams = kinds.into_iter().filter(is_asked).map(stream).collect();
        let speed = self.speed;
        CellSpec {
            replay: Some(ReplayCell { script, speed, survey }),
            ..CellSpec::of_streams(REPLAY, streams, CellBound::Once)
        }
    }
}

/// A trace that was read to its end.
pub struct Surveyed {
    survey: Survey,
    kept: Kept,
    /// It: its format, its volumes, and what was noted.
    pub trace: Trace,
}

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
pub enum CannotReplay {
    /// The trace.
    #[error(transparent)]
    Trace(#[from] CannotTrace),
    /// The run.
    #[error(transparent)]
    Run(#[from] CannotRun),
    /// Every operation was left out.
    #[error("{0} has nothing that may be replayed: it writes, and reads alone were asked for")]
    Nothing(String),
}

/// An access as it is asked for, `first_ns` being the first one's time.
fn asked(access: &Access, first_ns: u64) -> Asked {
    Asked {
        after_ns: access.at_ns.saturating_sub(first_ns),
        what: match access.op {
            trace::Op::Read => What::Read,
            trace::Op::Write => What::Write,
            trace::Op::Flush => What::Flush,
            trace::Op::Trim => What::Trim,
        },
        offset: access.offset,
        bytes: access.bytes,
    }
}

/// What a trace asks for: read once, whatever its size.
///
/// # Errors
/// A trace that cannot be read to its end, or of which no volume was chosen.
fn survey(
    file: &TraceFile,
    until_ns: Option<u64>,
    kept: &mut Kept,
    look: &mut impl FnMut(&Access),
) -> Result<(Survey, Trace), CannotTrace> {
    let mut trace = file.open()?;
    let mut survey = Survey { name: file.name(), ..Survey::default() };
    let mut first_ns = None;
    while let Some(access) = trace.next_access().map_err(|error| file.wrong(error))? {
        let asked = asked(&access, *first_ns.get_or_insert(access.at_ns));
        if until_ns.is_some_and(|until_ns| asked.after_ns > until_ns) {
            break;
        }
        look(&access);
        kept.push(asked);
        survey.duration_ns = asked.after_ns;
        survey.end_bytes = survey.end_bytes.max(access.end());
        let at = asked.what as usize;
        survey.operations[at] += 1;
        survey.bytes[at] = survey.bytes[at].saturating_add(asked.bytes);
        if access.op.is_transfer() {
            let within = asked.offset % BLOCK_BYTES_MAX + asked.bytes;
            let blocks = within.next_multiple_of(BLOCK_BYTES_MAX);
            survey.transfer_bytes_max = survey.transfer_bytes_max.max(blocks);
            let written = if asked.what == What::Write { blocks } else { 0 };
            survey.written_bytes_max = survey.written_bytes_max.saturating_add(written);
        }
    }
    file.check(&trace)?;
    survey.format = trace.format().name().to_owned();
    survey.volume = file.chosen().map(str::to_owned);
    survey.remarks = trace.remarks().sentences();
    if file.volume == Volume::All && trace.volumes().by_count().len() > 1 {
        let sentence = "All volumes of the trace share the area: their places lie on each other.";
        survey.remarks.push(sentence.to_owned());
    }
    Ok((survey, trace))
}

/// Operations, the last of all an error perhaps.
type Batch = Vec<Result<Asked, String>>;

struct FromFile {
    trace: TraceFile,
    until_ns: Option<u64>,
}

impl Script for FromFile {
    fn open(&self) -> Result<Box<dyn Feed>, String> {
        let mut trace = self.trace.open().map_err(|error| error.to_string())?;
        let (sink, source) = sync_channel(AHEAD / BATCH);
        let until_ns = self.until_ns.unwrap_or(u64::MAX);
        let read = move || {
            let (mut first_ns, mut batch) = (None, Vec::with_capacity(BATCH));
            let error = loop {
                match trace.next_access() {
                    Ok(Some(access)) => {
                        let next = asked(&access, *first_ns.get_or_insert(access.at_ns));
                        if next.after_ns > until_ns {
                            break None;
                        }
                        batch.push(Ok(next));
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(Err(error.to_string())),
                }
                if batch.len() == BATCH {
                    let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                    // Whoever replays it may have stopped.
                    if sink.send(full).is_err() {
                        return;
                    }
                }
            };
            batch.extend(error);
            let _ = sink.send(batch);
        };
        let thread = thread::Builder::new().name("trace".to_owned()).spawn(read);
        thread.map_err(|error| format!("cannot start a thread that reads the trace ({error})"))?;
        Ok(Box::new(Ahead { source, batch: Vec::new().into_iter() }))
    }
}

/// What the thread has read.
struct Ahead {
    source: Receiver<Batch>,
    batch: std::vec::IntoIter<Result<Asked, String>>,
}

impl Feed for Ahead {
    fn next(&mut self) -> Result<Option<Asked>, String> {
        if self.batch.as_slice().is_empty() {
            // The thread ends with the trace.
            self.batch = self.source.recv().unwrap_or_default().into_iter();
        }
        self.batch.next().transpose()
    }
}
