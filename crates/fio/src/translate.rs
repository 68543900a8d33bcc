//! Jobs become a method: groups between stonewalls are cells, the jobs of a group their streams.

mod notes;

use crate::{
    JobError,
    job::{Direction, Distribution, Durable, Engine, Job, Walk, pattern_of_skip, rate},
    layout::{Layout, Region},
    value::Amount,
};
use lab::workload::Reach;
use notes::Notes;
use std::fmt::Write;

/// Most bytes a second that a job which only time ends may write: a drive that is faster ends
/// sooner. It bounds what a plan says that it writes.
const WRITTEN_PER_S: f64 = 4e9;

/// The method of these jobs, as TOML. `file` is what it is called, `text` what stands in it.
pub(crate) fn method(file: &str, text: &str, jobs: Vec<Job>) -> Result<String, JobError> {
    let mut jobs = jobs;
    stamp_all(&mut jobs);
    let mut notes = Notes::new(&jobs);
    let groups = groups(jobs)?;
    let layouts: Vec<Layout> = groups.iter().map(|jobs| Layout::new(jobs)).collect();
    for (jobs, layout) in groups.iter().zip(&layouts) {
        something_to_work_on(jobs, layout)?;
    }
    let all = layouts.iter().map(|layout| layout.bytes);
    let span = all.collect::<Option<Vec<u64>>>().and_then(|bytes| bytes.into_iter().max());
    if span.is_none() {
        notes.say("its jobs name no size: they work on all that the target offers".to_owned());
    }
    let mut cells = String::new();
    for (jobs, layout) in groups.iter().zip(&layouts) {
        cells += &cell(jobs, layout, &mut notes);
        cells += &read_back(jobs, layout);
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    let described = groups.iter().flatten().find_map(|job| job.description.clone());
    let title = described.unwrap_or_else(|| format!("fio's job file {name}"));
    let mut whole = String::new();
    let mut line = |key: &str, value: String| {
        writeln!(whole, "{key} = {value}").expect("a text takes what is written to it");
    };
    line("name", quoted(name));
    line("title", quoted(&title));
    line("about", quoted("Translated from a job file of fio's, which stands at the end."));
    line("notes", notes.array());
    line("order", quoted("fixed"));
    line("span", span.map_or(quoted("capacity"), |bytes| quoted(&bytes.to_string())));
    line("fill", u32::from(needs_fill(&groups, &layouts, span)).to_string());
    line("grade", quoted("normal"));
    line("passes", "1".to_owned());
    Ok(whole + &cells + "\n" + &as_comment(text))
}

/// A job that starts at the end of its file, or takes less than a byte of it, has no operation.
fn something_to_work_on(jobs: &[Job], layout: &Layout) -> Result<(), JobError> {
    let empty = |(_, region): &(&Job, &Region)| region.length == Reach::default();
    match jobs.iter().zip(&layout.regions).find(empty) {
        Some((job, _)) => Err(job.place.wrong(format!(
            "`{}` has nothing to work on: its offset and size leave 0 bytes of its file",
            job.name
        ))),
        None => Ok(()),
    }
}

/// Jobs that run together.
fn groups(jobs: Vec<Job>) -> Result<Vec<Vec<Job>>, JobError> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    for job in jobs {
        let mut begins = job.stonewall || groups.is_empty();
        if let Some(awaited) = &job.wait_for {
            let of_group = |group: &Vec<Job>| group.iter().any(|job| job.name == *awaited);
            if !groups.iter().any(of_group) {
                let reason = format!("wait_for: there is no job `{awaited}` above");
                return Err(job.place.wrong(reason));
            }
            begins |= groups.last().is_some_and(of_group);
        }
        match groups.last_mut() {
            Some(group) if !begins => group.push(job),
            _ => groups.push(vec![job]),
        }
    }
    Ok(groups)
}

/// Where one job's data are checked, what all jobs write can be: they may share the bytes.
fn stamp_all(jobs: &mut [Job]) {
    if jobs.iter().any(|job| job.verify) {
        jobs.iter_mut().for_each(|job| job.contents = Some("stamped".to_owned()));
        for job in jobs.iter_mut().filter(|job| !job.writes() && !job.verify) {
            job.contents = None;
        }
    }
}

/// After a group: what its jobs wrote is read and checked, each from end to end.
fn read_back(jobs: &[Job], layout: &Layout) -> String {
    let checked = jobs.iter().zip(&layout.regions);
    let checked = checked.filter(|(job, _)| job.verify && job.do_verify && job.writes());
    let mut text = String::new();
    for (job, region) in checked {
        let again = Job {
            direction: Direction::Read,
            walk: Walk::Sequential { skip: 0 },
            threads: 1,
            rate: [None; 3],
            rate_iops: [None; 3],
            think_us: 0,
            start_after_s: 0.0,
            offset_increment: 0,
            ..job.clone()
        };
        let name = quoted(&format!("{}-verify", job.name));
        let mut keys: Keys = vec![("name", name), ("bound", quoted("once"))];
        if !job.direct {
            keys.push(("drop_cache", quoted("file")));
        }
        keys.extend(stream(&again, *region));
        text += &format!("\n[[cell]]\n{}", written(&keys));
    }
    text
}

/// Whether data must be there before the first cell: something reads what no earlier cell wrote
/// from end to end.
fn needs_fill(groups: &[Vec<Job>], layouts: &[Layout], span: Option<u64>) -> bool {
    if groups.iter().flatten().any(|job| job.overwrite) {
        return true;
    }
    for (jobs, layout) in groups.iter().zip(layouts) {
        let covers = |(job, region): (&Job, &Region)| {
            let whole = match span {
                Some(bytes) => region.length.bytes >= bytes,
                None => region.length.share >= 1.0,
            };
            let in_order = job.walk == Walk::Sequential { skip: 0 };
            whole && in_order && job.runtime_s.is_none() && moves_all(job)
        };
        let alone = jobs.len() == 1 && !jobs[0].reads();
        if alone && jobs.iter().zip(&layout.regions).all(covers) {
            return false;
        }
        if jobs.iter().any(|job| job.reads() || (job.verify && job.do_verify)) {
            return true;
        }
    }
    false
}

/// Whether a job moves every byte of its region.
fn moves_all(job: &Job) -> bool {
    job.io_size.is_none() && job.operations.is_none()
}

/// Settings of a cell or a stream, in the order in which they are written.
type Keys = Vec<(&'static str, String)>;

fn cell(jobs: &[Job], layout: &Layout, notes: &mut Notes) -> String {
    let mut names: Vec<&str> = Vec::new();
    for job in jobs {
        if !names.contains(&job.name.as_str()) {
            names.push(&job.name);
        }
    }
    let shown = match names.len() {
        0..=4 => names.join("+"),
        more => format!("{}+{} more", names[..3].join("+"), more - 3),
    };
    let mut keys: Keys = vec![("name", quoted(&shown))];
    keys.extend(course(jobs, layout, notes));
    if jobs.iter().any(|job| job.reads() && !job.direct && job.invalidate) {
        keys.push(("drop_cache", quoted("file")));
    }
    if jobs.iter().any(|job| job.end_flush && job.writes()) {
        keys.push(("flush", quoted("timed")));
    }
    let mut text = "\n[[cell]]\n".to_owned();
    let streams: Vec<Keys> =
        jobs.iter().zip(&layout.regions).map(|(job, region)| stream(job, *region)).collect();
    match &streams[..] {
        [only] => {
            keys.extend(only.iter().cloned());
            text += &written(&keys);
        }
        several => {
            let common = common(several);
            keys.extend(common.iter().cloned());
            text += &written(&keys);
            let mut taken: Vec<String> = Vec::new();
            for (job, keys) in jobs.iter().zip(several) {
                let same = taken.iter().filter(|name| **name == job.name).count();
                let number = if same > 0 { format!("#{}", same + 1) } else { String::new() };
                taken.push(job.name.clone());
                let name = ("name", quoted(&format!("{}{number}", job.name)));
                text += "\n[[cell.stream]]\n";
                let own = keys.iter().filter(|key| !common.contains(key)).cloned();
                text += &written(&std::iter::once(name).chain(own).collect::<Keys>());
            }
        }
    }
    text
}

/// What all streams of a cell have in common: settings of the cell, which a user may change.
fn common(streams: &[Keys]) -> Keys {
    let everywhere = |key: &&(&'static str, String)| streams.iter().all(|keys| keys.contains(key));
    streams[0].iter().filter(everywhere).cloned().collect()
}

/// How a pass of it ends.
fn course(jobs: &[Job], layout: &Layout, notes: &mut Notes) -> Keys {
    let ramp = jobs.iter().map(|job| job.ramp_s).fold(0.0, f64::max);
    let times = jobs.iter().filter_map(|job| job.runtime_s);
    let time = times.reduce(f64::min);
    let steady = jobs.iter().any(|job| job.steady.is_some());
    let mut keys = Keys::new();
    if let Some(runtime) = time {
        notes.unlike_times(jobs);
        let seconds = (runtime + ramp).min(86_400.0);
        keys.push((if steady { "seconds_max" } else { "seconds" }, float(seconds)));
        let written = jobs.iter().zip(&layout.regions).filter(|(job, _)| job.writes());
        let written = written.map(|(job, region)| written_max(job, *region, seconds));
        if let Some(bytes) = written.max() {
            keys.push(("written_max", quoted(&bytes.to_string())));
        }
        return keys;
    }
    if steady {
        return keys;
    }
    let is_once = |(job, region): (&Job, &Region)| {
        moves_all(job) && job.loops == 1 && region.sharing == 1 && job.mix.is_empty()
    };
    if jobs.iter().zip(&layout.regions).all(is_once) {
        keys.push(("bound", quoted("once")));
        return keys;
    }
    let counts = jobs.iter().zip(&layout.regions).map(|(job, region)| operations(job, *region));
    let counts: Option<Vec<u64>> = counts.collect();
    match counts.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|count| count == first) => {
            keys.push(("bound", first.to_string()));
        }
        _ => notes.unlike_ends(jobs),
    }
    keys
}

/// Operations of each thread of a job that no time ends; `None` where they depend on the target.
fn operations(job: &Job, region: Region) -> Option<u64> {
    let region_bytes = (region.length.share == 0.0).then_some(region.length.bytes);
    let own = |bytes: u64| if region.sharing == 1 { bytes / job.threads } else { bytes };
    let bytes = match job.io_size {
        Some(Amount::Bytes(bytes)) => Some(bytes),
        Some(Amount::Percent(percent)) => {
            region_bytes.map(|bytes| (own(bytes) as f64 * percent / 100.0) as u64)
        }
        None => region_bytes.map(own),
    };
    let of_bytes = |bytes: u64| (bytes as f64 / job.mean_bytes()) as u64;
    let moved = bytes.map(|bytes| of_bytes(bytes).max(1).saturating_mul(job.loops));
    match (moved, job.operations) {
        (Some(moved), Some(count)) => Some(moved.min(count)),
        (moved, count) => count.or(moved),
    }
}

/// Most bytes that a job which time ends writes.
fn written_max(job: &Job, region: Region, seconds: f64) -> u64 {
    let by_time = match rate(job) {
        Some(rate) => rate * job.mean_bytes() * seconds * 1.1,
        None => WRITTEN_PER_S * seconds,
    };
    let by_time = (by_time as u64).max(job.block_bytes * job.threads);
    match operations(job, region) {
        Some(count) if !job.time_based => {
            by_time.min(count.saturating_mul(job.threads).saturating_mul(job.block_bytes))
        }
        _ => by_time,
    }
}

fn stream(job: &Job, region: Region) -> Keys {
    let mut keys: Keys = vec![
        ("op", quoted(&op(job))),
        ("pattern", quoted(&pattern(job))),
        ("block", block(job)),
        ("threads", job.threads.to_string()),
        ("depth", job.depth.to_string()),
        ("io", quoted(&io(job))),
        ("start", quoted(&region.start.to_string())),
        ("length", quoted(&region.length.to_string())),
    ];
    let engine = match job.engine {
        Engine::Sync => "sync",
        Engine::Asynchronous => "auto",
        Engine::Uring => "uring",
    };
    keys.push(("engine", quoted(engine)));
    if job.writes() || (job.verify && job.reads()) {
        keys.extend(job.contents.as_deref().map(|data| ("data", quoted(data))));
        if job.flush_every > 0 && job.writes() {
            keys.push(("flush_every", job.flush_every.to_string()));
        }
    }
    keys.extend(rate(job).map(|rate| match job.is_poisson {
        true => ("rate", quoted(&format!("{rate} poisson"))),
        false => ("rate", float(rate)),
    }));
    if job.think_us > 0 {
        keys.push(("think_time_us", job.think_us.to_string()));
        keys.push(("think_every", job.think_every.to_string()));
    }
    if job.start_after_s > 0.0 {
        keys.push(("start_after", float(job.start_after_s)));
    }
    if job.is_part_random() {
        keys.push(("sequential_share", float(100.0 - job.random_percent)));
    }
    if job.offset_increment > 0 && job.threads > 1 && region.sharing == 1 && job.filename.is_some()
    {
        keys.push(("offset_increment", quoted(&job.offset_increment.to_string())));
    }
    keys
}

fn block(job: &Job) -> String {
    if job.mix.is_empty() {
        return job.block_bytes.to_string();
    }
    let sizes: Vec<String> =
        job.mix.iter().map(|(bytes, percent)| format!("{bytes}:{percent}")).collect();
    quoted(&sizes.join(","))
}

fn op(job: &Job) -> String {
    match job.direction {
        Direction::Read => "read".to_owned(),
        Direction::Write => "write".to_owned(),
        Direction::Trim => "trim".to_owned(),
        Direction::Mixed => {
            // Where each direction has its rate, the rates are the mix.
            let one = |at: usize| job.rate_iops[at].or(job.rate[at]).map(|rate| rate as f64);
            let by_rate = one(0).zip(one(1)).map(|(read, write)| 100.0 * read / (read + write));
            format!("mixed:{}", by_rate.unwrap_or(job.read_percent))
        }
    }
}

fn pattern(job: &Job) -> String {
    if let Walk::Sequential { skip } = job.walk {
        return pattern_of_skip(skip, job.block_bytes).unwrap_or_else(|| "seq".to_owned());
    }
    if job.random_percent == 0.0 {
        return "seq".to_owned();
    }
    match &job.distribution {
        Distribution::Uniform if job.has_map && !job.is_part_random() && job.mix.is_empty() => {
            "permutation".to_owned()
        }
        Distribution::Uniform => "random".to_owned(),
        Distribution::Zipf(theta) => format!("zipf:{theta}"),
        Distribution::Zoned(zones) => format!("zones:{zones}"),
        &Distribution::Pareto(power) => {
            format!("hot_cold:{}/{}", power * 100.0, (1.0 - power) * 100.0)
        }
    }
}

fn io(job: &Job) -> String {
    let caching = if job.direct { "direct" } else { "buffered" };
    let syncing = match job.sync {
        Durable::None => "",
        Durable::Sync => ",sync",
        Durable::Dsync => ",dsync",
    };
    // Through the page cache the drive sees none of the job's memory.
    let pages = if job.direct && job.has_huge_pages { ",hugepages" } else { "" };
    format!("{caching}{syncing}{pages}")
}

fn written(keys: &[(&'static str, String)]) -> String {
    keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn float(number: f64) -> String {
    toml::Value::Float(number).to_string()
}

/// The job file itself, for whoever reads the record.
fn as_comment(text: &str) -> String {
    let plain = |line: &str| -> String {
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    text.lines().map(|line| format!("# {}\n", plain(line)).replace("# \n", "#\n")).collect()
}
