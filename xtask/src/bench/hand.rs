//! The yardstick: loops written by hand for one purpose each, with nothing that could be left out
//! but a histogram, without which no latency can be reported.
//!
//! Each runs as a process of its own, as drivelab and fio do, and prints its [`Tally`] as one line
//! of JSON.

use anyhow::{Context, Result, bail, ensure};
use io_uring::{IoUring, opcode, types::Fixed};
use rustix::{
    fs::{Mode, OFlags},
    time::{ClockId, clock_gettime},
};
use serde_json::json;
use std::{
    alloc::{Layout, alloc_zeroed, handle_alloc_error},
    fs::File,
    hint::black_box,
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

const BLOCK_BYTES: usize = 4096;
/// Operations between two looks at whether time is up.
const BETWEEN_LOOKS: u64 = 1024;
/// `IOSQE_FIXED_FILE` needs a registered file; ours is the first.
const THE_FILE: Fixed = Fixed(0);

/// What a loop did.
struct Tally {
    operations: u64,
    elapsed: Duration,
    cpu_ns: u64,
    p50_ns: f64,
}

/// `bench hand LOOP SECONDS [PATH direct|buffered DEPTH]`: what [`super::contender`] starts.
pub fn run(arguments: &[String]) -> Result<()> {
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let tally = match texts.as_slice() {
        ["null", seconds] => null(seconds.parse()?),
        ["pread", seconds, path, caching, "1"] => pread(seconds.parse()?, &open(path, caching)?)?,
        ["uring", seconds, path, caching, depth] => {
            uring(seconds.parse()?, &open(path, caching)?, depth.parse()?)?
        }
        _ => bail!("no hand-written loop is called {texts:?}"),
    };
    let (seconds, p50_ns) = (tally.elapsed.as_secs_f64(), tally.p50_ns);
    let (operations, cpu_ns) = (tally.operations, tally.cpu_ns);
    println!(
        "{}",
        json!({ "operations": operations, "seconds": seconds, "cpu_ns": cpu_ns, "p50_ns": p50_ns })
    );
    Ok(())
}

fn open(path: &str, caching: &str) -> Result<File> {
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
    if caching == "direct" {
        flags |= OFlags::DIRECT;
    }
    let file = rustix::fs::open(Path::new(path), flags, Mode::empty());
    Ok(File::from(file.with_context(|| format!("cannot open {path}"))?))
}

/// No device: an offset from a table, two readings of the counter, the histogram.
fn null(seconds: u64) -> Tally {
    let mut random = Random::new();
    let table: Vec<u64> = (0..4096).map(|_| random.below(1 << 18) * BLOCK_BYTES as u64).collect();
    let mut latencies = Latencies::new();
    let mut stopwatch = Stopwatch::start(seconds);
    while stopwatch.runs() {
        for number in 0..BETWEEN_LOOKS {
            let offset = table[(stopwatch.operations + number) as usize % table.len()];
            let before = ticks();
            black_box(offset);
            latencies.record(ticks().wrapping_sub(before));
        }
        stopwatch.operations += BETWEEN_LOOKS;
    }
    stopwatch.stop(&latencies)
}

/// Random reads by `pread`, one reading of the counter each: the end of one is the start of the
/// next.
fn pread(seconds: u64, file: &File) -> Result<Tally> {
    let blocks = blocks_of(file)?;
    let buffer = Pages::new(1).all();
    let mut random = Random::new();
    let mut latencies = Latencies::new();
    let mut stopwatch = Stopwatch::start(seconds);
    let mut before = ticks();
    while stopwatch.runs() {
        // A slow device makes the looks rarer than time allows: then look each time.
        for _ in 0..stopwatch.stride() {
            let offset = random.below(blocks) * BLOCK_BYTES as u64;
            let bytes = rustix::io::pread(file, &mut *buffer, offset)?;
            ensure!(bytes == BLOCK_BYTES, "a short read at {offset}");
            let now = ticks();
            latencies.record(now.wrapping_sub(before));
            before = now;
            stopwatch.operations += 1;
        }
    }
    Ok(stopwatch.stop(&latencies))
}

/// Random reads by io_uring with a registered file and registered buffers; one system call and one
/// reading of the counter a batch.
fn uring(seconds: u64, file: &File, depth: usize) -> Result<Tally> {
    let blocks = blocks_of(file)?;
    let pages = Pages::new(depth);
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(depth.next_power_of_two() as u32)
        .context("io_uring (the loop needs Linux 6.1)")?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let vectors: Vec<libc::iovec> = (0..depth)
        .map(|slot| libc::iovec { iov_base: pages.page(slot).cast(), iov_len: BLOCK_BYTES })
        .collect();
    // SAFETY: the pages are leaked, so they outlive the ring.
    unsafe { ring.submitter().register_buffers(&vectors)? };
    let mut random = Random::new();
    let mut latencies = Latencies::new();
    let mut issued = vec![0u64; depth];
    let mut idle: Vec<usize> = (0..depth).collect();
    let mut stopwatch = Stopwatch::start(seconds);
    let mut now = ticks();
    while stopwatch.runs() {
        for _ in 0..stopwatch.stride().div_ceil(depth as u64) {
            let mut submission = ring.submission();
            for slot in idle.drain(..) {
                let offset = random.below(blocks) * BLOCK_BYTES as u64;
                let (page, bytes) = (pages.page(slot), BLOCK_BYTES as u32);
                let read = opcode::ReadFixed::new(THE_FILE, page, bytes, slot as u16);
                let entry = read.offset(offset).build().user_data(slot as u64);
                issued[slot] = now;
                // SAFETY: a slot has one read in flight, and its page and the file outlive the
                // ring.
                unsafe { submission.push(&entry) }.context("the queue holds depth entries")?;
            }
            drop(submission);
            ring.submit_and_wait(1)?;
            now = ticks();
            for completion in ring.completion() {
                let slot = completion.user_data() as usize;
                ensure!(completion.result() == BLOCK_BYTES as i32, "a read failed or was short");
                latencies.record(now.wrapping_sub(issued[slot]));
                idle.push(slot);
                stopwatch.operations += 1;
            }
        }
    }
    Ok(stopwatch.stop(&latencies))
}

fn blocks_of(file: &File) -> Result<u64> {
    let blocks = file.metadata()?.len() / BLOCK_BYTES as u64;
    ensure!(blocks > 0, "the file holds no block");
    Ok(blocks)
}

/// Pages for the kernel to write to, never given back: a loop's process ends with it.
struct Pages {
    start: *mut u8,
    count: usize,
}

impl Pages {
    fn new(count: usize) -> Self {
        assert!(count > 0, "no pages");
        let layout =
            Layout::from_size_align(count * BLOCK_BYTES, BLOCK_BYTES).expect("whole pages");
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, count }
    }

    fn page(&self, number: usize) -> *mut u8 {
        assert!(number < self.count, "no such page");
        self.start.wrapping_add(number * BLOCK_BYTES)
    }

    /// All of them as one slice.
    fn all(self) -> &'static mut [u8] {
        // SAFETY: allocated in `new` with this size, zeroed, leaked, and given away here once.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.count * BLOCK_BYTES) }
    }
}

/// Time and operations of one loop.
struct Stopwatch {
    start: Instant,
    limit: Duration,
    cpu_ns: u64,
    start_ticks: u64,
    operations: u64,
}

impl Stopwatch {
    fn start(seconds: u64) -> Self {
        let (start, limit) = (Instant::now(), Duration::from_secs(seconds));
        Self { start, limit, cpu_ns: thread_cpu_ns(), start_ticks: ticks(), operations: 0 }
    }

    fn runs(&self) -> bool {
        self.start.elapsed() < self.limit
    }

    /// Operations until the next look: few on a slow device, so that time is kept.
    fn stride(&self) -> u64 {
        if self.operations < 20_000 { 64 } else { BETWEEN_LOOKS }
    }

    fn stop(self, latencies: &Latencies) -> Tally {
        let elapsed = self.start.elapsed();
        let ns_per_tick = elapsed.as_nanos() as f64 / ticks().wrapping_sub(self.start_ticks) as f64;
        Tally {
            operations: self.operations,
            elapsed,
            cpu_ns: thread_cpu_ns() - self.cpu_ns,
            p50_ns: latencies.median() * ns_per_tick,
        }
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Counts of latencies in counter ticks, 32 buckets a power of two.
struct Latencies(Box<[u64; 64 * 32]>);

impl Latencies {
    fn new() -> Self {
        Self(Box::new([0; 64 * 32]))
    }

    #[inline]
    fn record(&mut self, ticks: u64) {
        let shift = 58 - (ticks | 32).leading_zeros();
        self.0[(u64::from(shift) * 32 + (ticks >> shift)) as usize % (64 * 32)] += 1;
    }

    /// The lower end of the bucket of the middle value.
    fn median(&self) -> f64 {
        let half = self.0.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let middle = self.0.iter().position(|count| {
            seen += count;
            seen >= half
        });
        let index = middle.unwrap_or(0) as u64;
        let shift = (index / 32).saturating_sub(1);
        ((index - shift * 32) << shift) as f64
    }
}

/// xorshift64* of Vigna (2016).
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        ((u128::from(word) * u128::from(bound)) >> 64) as u64
    }
}

/// The processor's counter: `rdtsc`, the generic timer, or the clock where there is neither.
#[inline]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has `rdtsc`; it touches no memory.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks;
        // SAFETY: Linux lets user space read the virtual counter; it touches no memory.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_within_a_bucket_of_the_middle_value() {
        for middle in [3u64, 31, 32, 100, 1000, 123_456] {
            let mut latencies = Latencies::new();
            [middle / 2, middle, middle * 2].iter().for_each(|&value| latencies.record(value));
            let median = latencies.median();
            assert!(median <= middle as f64 && median >= middle as f64 * 31.0 / 32.0, "{middle}");
        }
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::new();
        let mut seen = [false; 10];
        (0..1000).for_each(|_| seen[random.below(10) as usize] = true);
        assert!(seen.iter().all(|&seen| seen));
    }
}
