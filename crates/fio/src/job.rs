//! One job, typed: what each of its options says.

mod mix;
mod words;

use crate::{
    JobError, Place, Section, Setting, options,
    options::Standing,
    value::{self, Amount, KbBase},
};
use mix::Blocks;
pub(crate) use words::pattern_of_skip;
use words::{above_nothing, below_a_day, direction, distribution, one_size, rates, within};

/// What is done to the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
    Mixed,
    Trim,
}

impl Direction {
    /// Which of `read,write,trim` is its own.
    fn index(self) -> usize {
        match self {
            Self::Read | Self::Mixed => 0,
            Self::Write => 1,
            Self::Trim => 2,
        }
    }
}

/// In which order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Walk {
    /// One after the other, with so many bytes left out after each; negative ones go back.
    Sequential {
        skip: i64,
    },
    Random,
}

/// How random offsets are drawn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Distribution {
    Uniform,
    Zipf(f64),
    Pareto(f64),
    /// As it is written after `zoned:`.
    Zoned(String),
}

/// When what was written is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Durable {
    None,
    Sync,
    Dsync,
}

/// What carries the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    Sync,
    /// libaio and posixaio.
    Asynchronous,
    Uring,
}

/// One job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub name: String,
    pub place: Place,
    pub description: Option<String>,
    pub direction: Direction,
    pub walk: Walk,
    /// Of the largest operation.
    pub block_bytes: u64,
    /// Sizes and their shares of the operations in percent, where there are several.
    pub mix: Vec<(u64, f64)>,
    /// Whether it asks for another alignment than that of its smallest block.
    pub is_aligned_otherwise: bool,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub file_bytes: Option<u64>,
    pub offset: Amount,
    pub filename: Option<String>,
    pub directory: Option<String>,
    pub files: u64,
    pub engine: Engine,
    pub engine_name: String,
    pub direct: bool,
    /// Whether its data lie in huge pages.
    pub has_huge_pages: bool,
    pub depth: u64,
    pub threads: u64,
    pub runtime_s: Option<f64>,
    pub time_based: bool,
    pub ramp_s: f64,
    pub stonewall: bool,
    pub wait_for: Option<String>,
    pub has_map: bool,
    pub read_percent: f64,
    /// Bytes a second of one thread: reads, writes, trims.
    pub rate: [Option<u64>; 3],
    /// Operations a second of one thread: reads, writes, trims.
    pub rate_iops: [Option<u64>; 3],
    pub is_poisson: bool,
    /// Percent of the operations of a random walk that are random.
    pub random_percent: f64,
    pub think_us: u64,
    pub think_every: u64,
    pub start_after_s: f64,
    pub offset_increment: u64,
    pub verify: bool,
    pub do_verify: bool,
    pub distribution: Distribution,
    pub loops: u64,
    pub operations: Option<u64>,
    pub flush_every: u32,
    pub sync: Durable,
    pub end_flush: bool,
    pub invalidate: bool,
    pub overwrite: bool,
    pub contents: Option<String>,
    pub steady: Option<String>,
    pub no_effect: Vec<&'static str>,
}

type Done = Result<bool, String>;

impl Job {
    /// Reads a section.
    pub fn read(section: &Section) -> Result<Self, JobError> {
        let mut job = Self::new(section);
        let base = kb_base(section)?;
        let mut raw = Raw::default();
        for setting in effective(section) {
            let key = setting.key.as_str();
            let standing = options::standing(key);
            match standing {
                Some(Standing::Refused(cure)) if !is_off(setting) => {
                    return Err(setting.place.wrong(refusal(setting, cure)));
                }
                Some(Standing::Refused(_)) => continue,
                Some(Standing::NoEffect) => {
                    job.no_effect.extend(options::canonical(key));
                    continue;
                }
                _ => {}
            }
            if let Some(variable) = &setting.unset
                && !["filename", "directory", "description"].contains(&key)
            {
                return Err(setting.place.wrong(format!(
                    "`${{{variable}}}` is not set, and `{key}` needs it: set it in the \
                     environment, as in `{variable}=... drivelab run`"
                )));
            }
            job.take(setting, base, &mut raw)
                .map_err(|reason| setting.place.wrong(format!("{key}: {reason}")))?;
        }
        job.settle(section, &raw)?;
        Ok(job)
    }

    fn new(section: &Section) -> Self {
        Self {
            name: section.name.clone(),
            place: section.place.clone(),
            description: None,
            direction: Direction::Read,
            walk: Walk::Sequential { skip: 0 },
            block_bytes: 4096,
            mix: Vec::new(),
            is_aligned_otherwise: false,
            size: None,
            io_size: None,
            file_bytes: None,
            offset: Amount::Bytes(0),
            filename: None,
            directory: None,
            files: 1,
            engine: Engine::Sync,
            engine_name: "psync".to_owned(),
            direct: false,
            depth: 1,
            threads: 1,
            runtime_s: None,
            time_based: false,
            ramp_s: 0.0,
            stonewall: false,
            wait_for: None,
            has_map: true,
            read_percent: 50.0,
            rate: [None; 3],
            rate_iops: [None; 3],
            is_poisson: false,
            random_percent: 100.0,
            think_us: 0,
            think_every: 1,
            start_after_s: 0.0,
            offset_increment: 0,
            verify: false,
            do_verify: true,
            distribution: Distribution::Uniform,
            loops: 1,
            operations: None,
            flush_every: 0,
            has_huge_pages: false,
            sync: Durable::None,
            end_flush: false,
            invalidate: true,
            overwrite: false,
            contents: None,
            steady: None,
            no_effect: Vec::new(),
        }
    }

    fn take(&mut self, setting: &Setting, base: KbBase, raw: &mut Raw) -> Result<(), String> {
        let (key, text) = (setting.key.as_str(), setting.value.as_str());
        let done = self.take_load(key, text, base, raw)?
            || self.take_place(key, text, base)?
            || self.take_course(key, text)?
            || self.take_data(key, text)?;
        assert!(done || key == "kb_base", "`{key}` stands among the options that are taken");
        Ok(())
    }

    fn take_load(&mut self, key: &str, text: &str, base: KbBase, raw: &mut Raw) -> Done {
        match key {
            "rw" => (self.direction, self.walk) = direction(text, base)?,
            "bs" => raw.blocks = mix::each(text, |text| mix::one(text, base))?,
            "bsrange" => raw.ranges = mix::each(text, |text| mix::range(text, base))?,
            "bssplit" => raw.splits = mix::each(text, |text| mix::split(text, base))?,
            "ba" => raw.alignment = Some(value::each(text, |text| value::size(text, base))?),
            "iodepth" => self.depth = within(text, 1, 4096)?,
            "numjobs" => self.threads = within(text, 1, 1024)?,
            "ioengine" => self.take_engine(text)?,
            "direct" => self.direct = value::flag(text)?,
            "buffered" => self.direct = !value::flag(text)?,
            "mem" => {
                let kind = text.split(':').next().unwrap_or(text);
                self.has_huge_pages = ["mmaphuge", "shmhuge"].contains(&kind);
            }
            "norandommap" => self.has_map = !value::flag(text)?,
            "rwmixread" => self.read_percent = within(text, 0, 100)? as f64,
            "rwmixwrite" => self.read_percent = 100.0 - within(text, 0, 100)? as f64,
            "rate" => self.rate = rates(text, |text| value::size(text, base))?,
            "rate_iops" => self.rate_iops = rates(text, value::count)?,
            "rate_process" => match text {
                "linear" => self.is_poisson = false,
                "poisson" => self.is_poisson = true,
                other => return Err(format!("`{other}` is neither linear nor poisson")),
            },
            "percentage_random" => {
                raw.random = Some(value::each(text, |text| within(text, 0, 100))?);
            }
            "random_distribution" => self.distribution = distribution(text)?,
            "rw_sequencer" if text == "sequential" => {}
            "rw_sequencer" => return Err(format!("`{text}` cannot be had: leave it out")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_place(&mut self, key: &str, text: &str, base: KbBase) -> Done {
        match key {
            "size" => self.size = Some(above_nothing(one_size(text, base)?)?),
            "io_size" => self.io_size = Some(above_nothing(one_size(text, base)?)?),
            "filesize" => match one_size(text, base)? {
                Amount::Bytes(bytes) if bytes > 0 => self.file_bytes = Some(bytes),
                _ => return Err(format!("`{text}`: a size above 0")),
            },
            "fill_device" if value::flag(text)? => self.size = Some(Amount::Percent(100.0)),
            "fill_device" => {}
            "offset" => self.offset = value::amount(text, base)?,
            "filename" => self.filename = Some(text.to_owned()),
            "directory" => self.directory = Some(text.to_owned()),
            "offset_increment" => match value::amount(text, base)? {
                Amount::Bytes(bytes) => self.offset_increment = bytes,
                Amount::Percent(_) => {
                    return Err(format!("`{text}`: a share cannot be had: write it in bytes"));
                }
            },
            "nrfiles" => self.files = within(text, 1, 1 << 24)?,
            "zonemode" if text == "none" => {}
            "zonemode" => return Err(format!("`{text}` is not supported: leave it out")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_course(&mut self, key: &str, text: &str) -> Done {
        let seconds = || value::time_ns(text, 1e9).map(|ns| ns / 1e9);
        match key {
            "name" => self.name = text.to_owned(),
            "description" => self.description = Some(text.to_owned()),
            "runtime" => self.runtime_s = Some(seconds()?).filter(|seconds| *seconds > 0.0),
            "time_based" => self.time_based = value::flag(text)?,
            "ramp_time" => self.ramp_s = seconds()?,
            "stonewall" => self.stonewall = value::flag(text)?,
            "wait_for" => self.wait_for = Some(text.to_owned()),
            "loops" => self.loops = within(text, 1, 1 << 40)?,
            "number_ios" => self.operations = Some(value::count(text)?).filter(|ios| *ios > 0),
            "startdelay" if text.contains('-') => {
                return Err(format!("`{text}`: delays are not drawn: write one time"));
            }
            "startdelay" => self.start_after_s = below_a_day(seconds()?)?,
            "thinktime" => {
                let ns = value::time_ns(text, 1e3)?;
                self.think_us = (below_a_day(ns / 1e9)? * 1e6).round() as u64;
            }
            "thinktime_blocks" => self.think_every = within(text, 1, 1 << 31)?,
            "ss" => self.steady = Some(text.to_owned()),
            "ss_dur" | "ss_ramp" => drop(seconds()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_data(&mut self, key: &str, text: &str) -> Done {
        match key {
            "fsync" | "fdatasync" => self.flush_every = within(text, 0, 1 << 31)? as u32,
            "sync" => {
                self.sync = match text {
                    "0" | "none" | "" => Durable::None,
                    "1" | "sync" => Durable::Sync,
                    "dsync" => Durable::Dsync,
                    _ => return Err(format!("`{text}`: none, sync or dsync")),
                }
            }
            "end_fsync" | "fsync_on_close" => self.end_flush |= value::flag(text)?,
            "invalidate" => self.invalidate = value::flag(text)?,
            "overwrite" => self.overwrite = value::flag(text)?,
            "zero_buffers" if value::flag(text)? => self.contents = Some("zeros".to_owned()),
            "zero_buffers" => {}
            "buffer_pattern" => self.contents = Some("zeros".to_owned()),
            "buffer_compress_percentage" => {
                self.contents = match within(text, 0, 100)? {
                    0 => None,
                    100 => Some("zeros".to_owned()),
                    percent => Some(format!("compressible:{percent}")),
                }
            }
            "verify" => self.verify = !["0", "null", "none"].contains(&text),
            "do_verify" => self.do_verify = value::flag(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_engine(&mut self, text: &str) -> Result<(), String> {
        self.engine = match text {
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Engine::Sync,
            "libaio" | "posixaio" | "null" => Engine::Asynchronous,
            "io_uring" => Engine::Uring,
            "mmap" | "splice" => {
                return Err(format!(
                    "`{text}` cannot be had: sync, psync, libaio and io_uring can"
                ));
            }
            other => {
                return Err(format!(
                    "`{other}` reads and writes no local file or device: sync, psync, libaio and \
                     io_uring do"
                ));
            }
        };
        self.engine_name = text.to_owned();
        Ok(())
    }

    /// What depends on more than one option.
    fn settle(&mut self, section: &Section, raw: &Raw) -> Result<(), JobError> {
        let place_of = |keys: &[&str]| {
            let found = section.settings.iter().rev();
            let mut found = found.filter(|setting| keys.contains(&setting.key.as_str()));
            found.next().map_or(&section.place, |setting| &setting.place).clone()
        };
        self.settle_blocks(raw, &place_of)?;
        if let Walk::Sequential { skip } = self.walk
            && pattern_of_skip(skip, self.block_bytes).is_none()
        {
            return Err(place_of(&["rw"]).wrong(format!(
                "rw: a distance of {skip} after blocks of {} bytes cannot be had: a multiple of \
                 the block forward, or one that goes exactly one block back",
                self.block_bytes
            )));
        }
        let is_half = |rate: [Option<u64>; 3]| rate[0].is_some() != rate[1].is_some();
        if self.direction == Direction::Mixed && (is_half(self.rate) || is_half(self.rate_iops)) {
            return Err(place_of(&["rate", "rate_iops"]).wrong(
                "rate: a mixed job has a rate for both directions or for none: make two jobs of it",
            ));
        }
        if self.time_based && self.runtime_s.is_none() {
            return Err(place_of(&["time_based"]).wrong("time_based: set `runtime` as well"));
        }
        if self.engine == Engine::Sync {
            self.depth = 1;
        }
        self.settle_random(raw, &place_of)?;
        if rate(self).is_some_and(|rate| rate > 1e9) {
            return Err(place_of(&["rate", "rate_iops"])
                .wrong("rate: over 1e9 operations a second hold nothing back: leave it out"));
        }
        let has_rate = self.rate.iter().chain(&self.rate_iops).any(Option::is_some);
        if self.think_us > 0 && has_rate && rate(self).is_some() {
            return Err(place_of(&["thinktime"]).wrong(
                "thinktime: a job with a rate keeps its schedule and does not pause: leave one out",
            ));
        }
        Ok(())
    }

    /// The sizes of its operations, from `bssplit`, `bsrange` or `bs`.
    fn settle_blocks(
        &mut self,
        raw: &Raw,
        place_of: &dyn Fn(&[&str]) -> Place,
    ) -> Result<(), JobError> {
        let of = |at: usize| {
            let given = [&raw.splits[at], &raw.ranges[at], &raw.blocks[at]];
            given.into_iter().find_map(Option::clone).unwrap_or_else(|| vec![(4096, 100.0)])
        };
        let keys = ["bs", "bsrange", "bssplit"];
        let mut sizes = of(self.direction.index());
        if self.direction == Direction::Mixed && sizes != of(1) {
            return Err(place_of(&keys).wrong(
                "a mixed job has the same block sizes in both directions here, and this one has \
                 others for its writes: set one, or make two jobs of it",
            ));
        }
        sizes.sort_unstable_by_key(|(bytes, _)| *bytes);
        let (least, most) = (sizes[0].0, sizes[sizes.len() - 1].0);
        let limit = if self.direction == Direction::Trim { u64::from(u32::MAX) } else { 128 << 20 };
        if least < 1 || most > limit {
            return Err(place_of(&keys)
                .wrong("blocks go from 1 byte to 128m, of trims to 4g less one: set such a size"));
        }
        if sizes.iter().any(|(bytes, _)| !bytes.is_multiple_of(least)) {
            return Err(place_of(&keys).wrong(format!(
                "its sizes are not all multiples of the smallest, {least} bytes, on multiples of \
                 which all operations lie: round them"
            )));
        }
        self.block_bytes = most;
        if sizes.len() > 1 {
            self.mix = sizes;
        }
        let wanted = raw.alignment.unwrap_or_default()[self.direction.index()];
        match wanted {
            Some(wanted) if wanted > least || !least.is_multiple_of(wanted.max(1)) => {
                if self.mix.is_empty() {
                    return Err(place_of(&["ba"])
                        .wrong("ba: blocks lie on multiples of their own size: leave it out"));
                }
                self.is_aligned_otherwise = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Which share of a random walk is random.
    fn settle_random(
        &mut self,
        raw: &Raw,
        place_of: &dyn Fn(&[&str]) -> Place,
    ) -> Result<(), JobError> {
        let shares = raw.random.unwrap_or_default().map(|share| share.unwrap_or(100));
        if self.direction == Direction::Mixed && shares[0] != shares[1] {
            return Err(place_of(&["percentage_random"]).wrong(
                "percentage_random: a mixed job has one share for both directions here: make two \
                 jobs of it",
            ));
        }
        self.random_percent = shares[self.direction.index()] as f64;
        Ok(())
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        matches!(self.direction, Direction::Write | Direction::Mixed)
    }

    /// Bytes of an operation in the mean.
    pub fn mean_bytes(&self) -> f64 {
        if self.mix.is_empty() {
            return self.block_bytes as f64;
        }
        self.mix.iter().map(|(bytes, percent)| *bytes as f64 * percent / 100.0).sum()
    }

    /// Whether some of its operations follow the one before, and others are random.
    pub fn is_part_random(&self) -> bool {
        self.walk == Walk::Random && self.random_percent > 0.0 && self.random_percent < 100.0
    }

    /// Whether it reads.
    pub fn reads(&self) -> bool {
        matches!(self.direction, Direction::Read | Direction::Mixed)
    }
}

/// Operations a second of all threads of a job, where it has a schedule.
pub(crate) fn rate(job: &Job) -> Option<f64> {
    let block = job.mean_bytes();
    let one = |at: usize| {
        let by_bytes = job.rate[at].map(|rate| rate as f64 / block);
        let by_count = job.rate_iops[at].map(|rate| rate as f64);
        by_bytes.into_iter().chain(by_count).reduce(f64::min)
    };
    let each = match job.direction {
        Direction::Read => one(0),
        Direction::Write => one(1),
        Direction::Trim => one(2),
        Direction::Mixed => one(0).zip(one(1)).map(|(reads, writes)| reads + writes),
    };
    each.map(|rate| rate * job.threads as f64)
}

/// What is judged when all options are read.
#[derive(Default)]
struct Raw {
    blocks: Blocks,
    ranges: Blocks,
    splits: Blocks,
    alignment: Option<[Option<u64>; 3]>,
    random: Option<[Option<u64>; 3]>,
}

/// The settings that count: the last of each key, where it stands.
fn effective(section: &Section) -> impl Iterator<Item = &Setting> {
    let all = &section.settings;
    all.iter().enumerate().filter_map(|(at, setting)| {
        let again = all[at + 1..].iter().any(|later| later.key == setting.key);
        (!again).then_some(setting)
    })
}

/// A refused option that is switched off asks for nothing.
fn is_off(setting: &Setting) -> bool {
    setting.unset.is_none() && ["0", "none", "100%:0"].contains(&setting.value.as_str())
}

fn refusal(setting: &Setting, cure: &str) -> String {
    match setting.value.as_str() {
        "" => format!("{}: {cure}", setting.key),
        value => format!("{}={value}: {cure}", setting.key),
    }
}

fn kb_base(section: &Section) -> Result<KbBase, JobError> {
    let given = section.settings.iter().rev().find(|setting| setting.key == "kb_base");
    let Some(setting) = given else { return Ok(KbBase::Binary) };
    match setting.value.as_str() {
        "1024" => Ok(KbBase::Binary),
        "1000" => Ok(KbBase::International),
        other => Err(setting.place.wrong(format!("kb_base: `{other}` is neither 1024 nor 1000"))),
    }
}
