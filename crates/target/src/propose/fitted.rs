//! The numbers of a page-mapped drive, each sought on the cells that show it.
//!
//! ```text
//!   reads by size and depth      read, read_command, link_rate, channels   a search
//!   writes one after another     write_command, and a rate where the link is faster
//!   the long write               program, slc_cache, slc_program, write_buffer
//!   bursts after pauses          slc_fold or slc_dynamic, where not all comes back
//!   reads beside writes          suspend, suspend_share
//!   random writes for long       over_provisioning
//!   durable writes               flush, write_through
//! ```
//!
//! What a run cannot tell apart is one number. Planes, dies and channels are the pages that are
//! read at a time, and stand in the file as channels of one die, or of four; a rate of programs is
//! one time.

use super::{
    Line,
    curve::{Curve, Step},
    figures::{Beside, Figures},
    twin::{Bench, Until},
};
use crate::search::{Grain, descend};
use model::{
    flash::page_mapped::{PageMappedParams, SlcCache, Suspend},
    nanoseconds_for,
};
use std::collections::BTreeSet;

/// A drive with the numbers that were fitted.
pub(super) struct Fitted {
    /// All numbers.
    pub params: PageMappedParams,
    /// The names of those that the run decided.
    pub fitted: BTreeSet<&'static str>,
    /// What could not be seen, in sentences.
    pub unseen: Vec<&'static str>,
}

/// What a NAND page and a block are taken to be; a run shows neither.
const NAND_PAGE_BYTES: u32 = 16_384;
/// See [`NAND_PAGE_BYTES`].
const PAGES_PER_BLOCK: u32 = 512;
/// As common drives have it; a run does not tell it from the link.
const CHANNEL_BYTES_PER_S: u64 = 1_200_000_000;
/// A buffer that is not seen.
const BUFFER_BYTES: u64 = 64 << 20;
/// Spare that is not seen, thousandths.
const SPARE_PER_MILLE: u32 = 70;
/// Less of it is what the commands in flight alone make.
const BUFFER_SEEN_BYTES: f64 = 2e6;
/// The last steps of a search.
const FINE: Grain = Grain { first: 0.05, last: 0.01 };
/// Another make is taken where the cells then differ by so much less.
const BETTER: f64 = 0.8;
/// Dies on a channel where they share one.
const DIES_SHARED: u32 = 4;
/// A number that moves its figures by less than this is not shown by them.
const SENSITIVE: f64 = 0.03;

/// The search, over one run.
pub(super) struct Fit<'f> {
    figures: &'f Figures,
    bench: &'f Bench,
    /// Told in a few words what is sought.
    tell: &'f mut dyn FnMut(&str),
    found: Fitted,
}

impl<'f> Fit<'f> {
    /// From closed forms; `base` has what none of them gives.
    pub fn new(
        base: PageMappedParams,
        figures: &'f Figures,
        bench: &'f Bench,
        tell: &'f mut dyn FnMut(&str),
    ) -> Self {
        let sizes = figures.reads.iter().filter(|(name, _)| name.starts_with("size-"));
        let times: Vec<(f64, f64)> =
            sizes.filter_map(|(name, iops)| Some((bench.block_bytes(name)?, 1e9 / iops))).collect();
        let reads = Line::through(&times);
        let writes = Line::through(&figures.paced);
        let most = figures.reads.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
        // At the most reads a second so many were read at a time.
        let busy = most * reads.fixed_ns / 1e9;
        let link =
            figures.streams.iter().filter_map(|(name, iops)| Some(iops * bench.block_bytes(name)?));
        let link = link.fold(1e9 / reads.ns_per_byte.max(1e-3), f64::max);
        let params = PageMappedParams {
            capacity_bytes: figures.capacity_bytes,
            over_provisioning_per_mille: SPARE_PER_MILLE,
            channels: (1.2 * busy).round().clamp(1.0, 1024.0) as u32,
            dies_per_channel: 1,
            planes_per_die: 1,
            nand_page_bytes: NAND_PAGE_BYTES,
            pages_per_block: PAGES_PER_BLOCK,
            read_ns: reads.fixed_ns as u64,
            channel_bytes_per_s: CHANNEL_BYTES_PER_S,
            read_command_ns: (1e9 / most / 4.0).max(100.0) as u64,
            write_command_ns: writes.fixed_ns as u64,
            link_bytes_per_s: link as u64,
            stream_read_bytes_per_s: None,
            stream_write_bytes_per_s: None,
            random_write_bytes_per_s: None,
            command_queue: 1024,
            write_buffer_bytes: BUFFER_BYTES,
            flush_ns: 0,
            write_through_ns: 0,
            ..base
        };
        let found = Fitted { params, fitted: BTreeSet::new(), unseen: Vec::new() };
        Self { figures, bench, tell, found }
    }

    /// Seeks all of them.
    pub fn run(mut self) -> Fitted {
        (self.tell)("reads by size and depth");
        self.reads();
        self.streams();
        self.short_writes();
        (self.tell)("the long write");
        self.long_write();
        self.recovery();
        self.durable();
        (self.tell)("reads beside writes");
        self.beside();
        (self.tell)("random writes for long");
        self.spare();
        self.found.params.pages_per_block = blocks_that_fit(&self.found.params);
        self.found
    }

    /// Time, command, link, planes and queue, on all cells that read at random.
    fn reads(&mut self) {
        let coarse = Grain { first: 0.3, last: 0.05 };
        let start = self.found.params.clone();
        let mut best = self.with_planes(start, coarse);
        best = self.climb(best, coarse);
        best = self.climb(best, FINE);
        // The link and the time of a read stand in for each other: one run in eight ended in a
        // place beside the best, its link a fifth too fast.
        for factor in [0.8, 1.25] {
            let link_bytes_per_s = (best.1.link_bytes_per_s as f64 * factor) as u64;
            let beside = PageMappedParams { link_bytes_per_s, ..best.1.clone() };
            let other = self.with_planes(beside, FINE);
            if other.0 < best.0 {
                best = other;
            }
        }
        let planes = best.1.planes();
        let alone = best.1.clone();
        // Dies that share a channel wait for each other.
        let shared = PageMappedParams {
            channels: planes.div_ceil(DIES_SHARED),
            dies_per_channel: DIES_SHARED,
            ..alone.clone()
        };
        // A queue that is shorter than the deepest cells looks like fewer planes.
        let queue =
            |of: &PageMappedParams, command_queue| PageMappedParams { command_queue, ..of.clone() };
        let starts = [alone.clone(), shared.clone()].into_iter();
        let short = starts.flat_map(|of| [64, 32].map(|commands| queue(&of, commands)));
        for start in [shared].into_iter().chain(short.collect::<Vec<_>>()) {
            let other = self.climb(self.with_planes(start, FINE), FINE);
            if other.0 < BETTER * best.0 {
                best = other;
            }
        }
        if best.1.command_queue != alone.command_queue {
            self.found.fitted.insert("command_queue");
        }
        self.found.params = best.1;
        self.found.fitted.extend(["read", "read_command", "link_rate", "channels"]);
    }

    /// The same with one plane more or less, or a share of them, as long as that is better.
    fn climb(&self, mut best: (f64, PageMappedParams), grain: Grain) -> (f64, PageMappedParams) {
        let mut step = (best.1.channels / 8).max(1);
        loop {
            let channels = best.1.channels;
            let other = [channels.saturating_sub(step).max(1), channels + step].map(|channels| {
                self.with_planes(PageMappedParams { channels, ..best.1.clone() }, grain)
            });
            let better = other.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
            match better.filter(|better| better.0 < best.0) {
                Some(better) => best = better,
                None if step == 1 => return best,
                None => step = step.div_ceil(2).min(step - 1).max(1),
            }
        }
    }

    /// The best of the other numbers with so many planes, and how far it is from the cells.
    fn with_planes(&self, start: PageMappedParams, grain: Grain) -> (f64, PageMappedParams) {
        let times = [start.read_ns, start.read_command_ns, start.link_bytes_per_s];
        let mut point = times.map(|number| number.max(1) as f64);
        let at = |point: &[f64]| PageMappedParams {
            read_ns: point[0].round() as u64,
            read_command_ns: point[1].round() as u64,
            link_bytes_per_s: point[2].round() as u64,
            ..start.clone()
        };
        let cells = &self.figures.reads;
        let mut loss = |point: &[f64]| {
            let names = cells.iter().map(|(name, _)| name.as_str());
            // What cannot be built is no candidate.
            let Some(modelled) = self.bench.reads(&at(point), names) else {
                return f64::INFINITY;
            };
            let pairs = modelled.iter().zip(cells);
            let errors = pairs.map(|(modelled, (_, iops))| (modelled / iops).ln().abs());
            errors.sum::<f64>() / cells.len() as f64
        };
        let left = descend(&mut point, grain, &mut loss);
        (left, at(&point))
    }

    /// A drive that reads ahead reads in order faster than its times at random let it.
    fn streams(&mut self) {
        const NAME: &str = "stream-read";
        let (Some(measured), Some(at_random)) =
            (self.figures.read(NAME), self.bench.reads(&self.found.params, [NAME].into_iter()))
        else {
            return;
        };
        if measured < 1.2 * at_random[0] {
            return;
        }
        let rates = self.figures.streams.iter();
        let rates = rates.filter_map(|(name, iops)| Some(iops * self.bench.block_bytes(name)?));
        self.found.params.stream_read_bytes_per_s = Some(rates.fold(0.0, f64::max) as u64);
        self.found.fitted.insert("stream_read_rate");
    }

    /// A write that the memory takes: a fixed time, and the link's or a rate of its own.
    fn short_writes(&mut self) {
        let line = Line::through(&self.figures.paced);
        let params = &mut self.found.params;
        let link_ns = 1e9 / params.link_bytes_per_s as f64;
        params.write_command_ns = line.fixed_ns.round() as u64;
        self.found.fitted.insert("write_command");
        if line.ns_per_byte > 1.15 * link_ns {
            params.random_write_bytes_per_s = Some((1e9 / line.ns_per_byte) as u64);
            self.found.fitted.insert("random_write_rate");
        }
    }

    /// Programs a second of all planes at this rate: the time of one, ns.
    fn program_ns(&self, bytes_per_s: f64) -> f64 {
        let params = &self.found.params;
        let pages = f64::from(params.planes()) * f64::from(params.nand_page_bytes);
        pages / bytes_per_s * 1e9
    }

    /// The cliff: how much is taken at which rate.
    fn long_write(&mut self) {
        let steps = self.figures.fill.curve.steps();
        let peak = self.figures.fill.curve.peak() as u64;
        let params = &mut self.found.params;
        params.link_bytes_per_s = params.link_bytes_per_s.max(peak);
        let fast = self.program_ns(steps[0].bytes_per_s);
        let write_ns = self.found.params.write_command_ns as f64 / f64::from(1 << 20)
            + 1e9 / self.stream_write_bytes_per_s();
        let bound_by_link = steps[0].bytes_per_s * write_ns > 0.9e9;
        let is_seen = !bound_by_link
            && steps[0].at_zero > BUFFER_SEEN_BYTES
            && steps[0].at_zero < self.figures.fill.curve.bytes() / 2.0;
        let least = 2 * u64::from(self.found.params.planes()) * u64::from(NAND_PAGE_BYTES);
        if is_seen {
            self.found.params.write_buffer_bytes = (steps[0].at_zero as u64).max(least);
            self.found.fitted.insert("write_buffer");
        } else {
            self.found.params.write_buffer_bytes = BUFFER_BYTES.max(least);
            self.found.unseen.push("the write buffer: flash takes writes as fast as the link");
        }
        let buffer = self.found.params.write_buffer_bytes as f64;
        let last = steps.len() - 1;
        let cache_bytes = (last > 0).then(|| steps[0].meets(&steps[1]) - buffer);
        let params = &mut self.found.params;
        let Some(cache_bytes) = cache_bytes.filter(|bytes| *bytes > 0.0) else {
            params.program_ns = fast as u64;
            self.found.fitted.insert("program");
            let none = "an SLC cache: no cliff in what was written";
            self.found.unseen.push(none);
            self.agree(is_seen);
            return;
        };
        let mut slc = SlcCache {
            bytes: cache_bytes as u64,
            dynamic_bytes: 0,
            bits_per_cell: 3,
            program_ns: fast as u64,
            fold_ns: None,
        };
        let program = self.program_ns(steps[1].bytes_per_s);
        self.found.params.program_ns = program as u64;
        self.found.fitted.extend(["slc_cache", "slc_program", "program"]);
        if last > 1 {
            // All cells are taken: a page is folded for each that is written.
            let third = self.program_ns(steps[2].bytes_per_s);
            slc.fold_ns = Some((third - fast).max(1.0) as u64);
            (slc.bytes, slc.dynamic_bytes) = (0, slc.bytes);
            slc.bits_per_cell = self.bits_per_cell(steps[1].meets(&steps[2]), cache_bytes);
            self.found.fitted.remove("slc_cache");
            self.found.fitted.extend(["slc_dynamic", "slc_fold", "bits_per_cell"]);
        }
        self.found.params.slc_cache = Some(slc);
        self.agree(is_seen);
    }

    /// From where the cells are all taken: flash = what is written + (bits - 1) x the cache.
    fn bits_per_cell(&self, taken_at: f64, cache_bytes: f64) -> u32 {
        let spare = 1.0 + f64::from(SPARE_PER_MILLE) / 1000.0;
        let flash = self.figures.capacity_bytes as f64 * spare;
        (1.0 + (flash - taken_at) / cache_bytes).round().clamp(2.0, 8.0) as u32
    }

    /// Moves every number by what its own figure of the long write is off on the model.
    fn agree(&mut self, buffer_is_seen: bool) {
        let measured = self.figures.fill.curve.steps();
        for _ in 0..3 {
            let written = self.bench.written(&self.found.params, self.figures, Until::Fill);
            let Some(written) = written else { return };
            let seen = written.fill.steps();
            if seen.len() != measured.len() {
                return;
            }
            let params = &mut self.found.params;
            let moved = |ns: u64, step: usize| {
                (ns as f64 * seen[step].bytes_per_s / measured[step].bytes_per_s) as u64
            };
            let by = |bytes: u64, off: f64| (bytes as f64 + off).max(1e6) as u64;
            if buffer_is_seen {
                let off = measured[0].at_zero - seen[0].at_zero;
                params.write_buffer_bytes = by(params.write_buffer_bytes, off);
            }
            let Some(slc) = &mut params.slc_cache else {
                params.program_ns = moved(params.program_ns, 0);
                continue;
            };
            slc.program_ns = moved(slc.program_ns, 0);
            params.program_ns = moved(params.program_ns, 1);
            let off = measured[0].meets(&measured[1]) - seen[0].meets(&seen[1]);
            match slc.bytes {
                0 => slc.dynamic_bytes = by(slc.dynamic_bytes, off),
                bytes => slc.bytes = by(bytes, off),
            }
        }
    }

    /// What of the cache had come back after the pauses.
    fn recovery(&mut self) {
        let params = &self.found.params;
        let Some(slc) = params.slc_cache.filter(|slc| slc.bytes > 0) else { return };
        let buffer = params.write_buffer_bytes as f64;
        let measured = self.figures.fill.curve.steps();
        let came_back: Vec<f64> = (self.figures.bursts.iter())
            .map(|burst| recovered(&burst.curve, &measured, buffer))
            .collect();
        let [short, long] = came_back[..] else { return };
        let cache = slc.bytes as f64;
        let pages = short / f64::from(NAND_PAGE_BYTES) / f64::from(params.planes());
        let is_short = |bytes: f64| bytes < 0.85 * cache;
        let slc = self.found.params.slc_cache.as_mut().expect("it was there");
        // A burst that ended before its rate fell says no more than so much.
        let has_end = |burst: usize| self.figures.bursts[burst].curve.steps().len() > 1;
        if is_short(long) && has_end(1) && long < 1.3 * short {
            // Waiting longer gives no more: what is free decides.
            let free = 1.0 - self.figures.fill.bytes as f64 / self.figures.capacity_bytes as f64;
            let dynamic = ((cache - long) / (1.0 - free)).clamp(0.0, cache);
            (slc.bytes, slc.dynamic_bytes) = ((cache - dynamic) as u64, dynamic as u64);
            self.found.fitted.insert("slc_dynamic");
        } else if is_short(short) && has_end(0) && pages > 0.0 {
            slc.fold_ns = Some((self.figures.bursts[0].idle_s * 1e9 / pages) as u64);
            self.found.fitted.insert("slc_fold");
        } else if is_short(short) {
            self.found.unseen.push("how fast the cache empties: nothing of it came back");
        }
    }

    fn stream_write_bytes_per_s(&self) -> f64 {
        let params = &self.found.params;
        params.stream_write_bytes_per_s.unwrap_or(params.link_bytes_per_s) as f64
    }

    /// A durable write, beyond a plain one.
    fn durable(&mut self) {
        let Some(durable_ns) = self.figures.durable_ns else { return };
        let params = &mut self.found.params;
        let rate = params.random_write_bytes_per_s.unwrap_or(params.link_bytes_per_s);
        let plain_ns = params.write_command_ns + nanoseconds_for(4096, rate);
        let more_ns = (durable_ns - plain_ns as f64).max(0.0);
        // A flush empties the buffer first: the page that the write is in.
        let program_ns = params.slc_cache.map_or(params.program_ns, |slc| slc.program_ns);
        params.write_through_ns = more_ns as u64;
        params.flush_ns = (more_ns - program_ns as f64).max(0.0) as u64;
        self.found.fitted.extend(["write_through", "flush"]);
    }

    /// Whether programs are set aside for reads.
    fn beside(&mut self) {
        let Some(measured) = self.figures.beside else { return };
        let params = &self.found.params;
        let with = |suspend: Option<Suspend>| {
            let params = PageMappedParams { suspend, ..params.clone() };
            self.bench.beside(&params, measured)
        };
        let off = |seen: Beside| (seen.p99_ns / measured.p99_ns.max(1.0)).ln().abs();
        let Some(plain) = with(None) else { return };
        if measured.mean_ns > 0.9 * plain.mean_ns {
            self.found.unseen.push("programs set aside for reads: reads wait as without");
            return;
        }
        // All programs are set aside, which takes its time; or some of them, in next to none.
        let aside = |per_mille, ns| Suspend { per_mille, ns, spread_per_mille: 0 };
        let all = |ns: f64| Some(aside(1000, ns as u64));
        let some = |share: f64| Some(aside((1000.0 - share) as u32, 20_000));
        let mean = |suspend| with(suspend).map_or(f64::INFINITY, |seen| seen.mean_ns);
        let ns = bisect(0.0, params.program_ns as f64, measured.mean_ns, |ns| mean(all(ns)));
        let share = bisect(0.0, 1000.0, measured.mean_ns, |share| mean(some(share)));
        let [by_time, by_share] = [all(ns), some(share)].map(|suspend| (suspend, with(suspend)));
        let error = |seen: Option<Beside>| {
            seen.map_or(f64::INFINITY, |seen| {
                off(seen) + (seen.mean_ns / measured.mean_ns).ln().abs()
            })
        };
        let is_time = error(by_time.1) <= error(by_share.1);
        self.found.params.suspend = if is_time { by_time.0 } else { by_share.0 };
        self.found.fitted.insert(if is_time { "suspend" } else { "suspend_share" });
    }

    /// The spare flash with which random writes end as slow as they did.
    fn spare(&mut self) {
        let Some(long) = &self.figures.scattered else { return };
        let tail = |spare: f64| {
            let params = PageMappedParams {
                over_provisioning_per_mille: spare as u32,
                ..self.found.params.clone()
            };
            let written = self.bench.written(&params, self.figures, Until::Scattered)?;
            Some(written.scattered?.tail())
        };
        let measured = long.curve.tail();
        let (least, most) = (30.0, 500.0);
        let (Some(slow), Some(quick)) = (tail(least), tail(most)) else { return };
        if quick < (1.0 + SENSITIVE) * slow || measured > 0.97 * quick {
            let few = "spare flash: too little was written at random to make the drive clean";
            self.found.unseen.push(few);
            return;
        }
        let spare = bisect(least, most, measured, |spare| tail(spare).unwrap_or(f64::INFINITY));
        self.found.params.over_provisioning_per_mille = spare.round() as u32;
        self.found.fitted.insert("over_provisioning");
    }
}

/// Pages of a block: as common flash has them, or as few as a small drive needs to have eight
/// superblocks to spare.
fn blocks_that_fit(params: &PageMappedParams) -> u32 {
    let spare_bytes = params.capacity_bytes / 1000 * u64::from(params.over_provisioning_per_mille);
    let page_of_all = u64::from(params.planes()) * u64::from(params.nand_page_bytes);
    let most = (spare_bytes / page_of_all / 8).max(1) as u32;
    (1 << most.ilog2()).min(PAGES_PER_BLOCK)
}

/// Bytes that a burst found room for: until its rate falls, less the buffer. `fill` are the steps
/// of the long write.
pub(super) fn recovered(burst: &Curve, fill: &[Step], buffer: f64) -> f64 {
    let steps = burst.steps();
    if let [first, second, ..] = &steps[..]
        && first.bytes_per_s > second.bytes_per_s
    {
        return (first.meets(second) - buffer).max(0.0);
    }
    let slow = fill.get(1).map_or(0.0, |step| step.bytes_per_s);
    let is_slow = steps[0].bytes_per_s < (fill[0].bytes_per_s * slow).sqrt();
    if is_slow { 0.0 } else { burst.bytes() }
}

/// Where a rising function comes to `wanted`, to a 500th of the range.
fn bisect(mut low: f64, mut high: f64, wanted: f64, of: impl Fn(f64) -> f64) -> f64 {
    let grain = (high - low) / 500.0;
    while high - low > grain {
        let middle = f64::midpoint(low, high);
        if of(middle) < wanted { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
