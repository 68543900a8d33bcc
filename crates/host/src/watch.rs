//! What disturbs a cell: stolen CPU time, pressure, other programs' I/O, heat.
//!
//! ```text
//!   sample ---- cell runs ---- sample      difference(before, after, issued) -> shares
//! ```
//!
//! A sample reads four small files and, where the drive has a sensor, its temperature: well under a
//! millisecond, so it stands between cells, not inside one.

pub use crate::environment::{memory_available, memory_total};

use crate::{
    identify::{
        stack::{components, kind_of},
        temperature_of,
    },
    roots::{Roots, read_text},
    sysfs::{BlockDevice, SECTOR_BYTES, closure},
};
use record::{BlockLayer, Flag};
use std::path::PathBuf;

/// Foreign sectors above this share of the drive's traffic raise `foreign_io`.
const FOREIGN_SHARE_MAX: f64 = 0.02;
/// Stolen CPU time above this share raises `steal`.
const STEAL_SHARE_MAX: f64 = 0.02;
/// Reads of which the device saw less than this share came from a cache.
const DEVICE_SHARE_MIN: f64 = 0.90;

/// Jiffies of all processors since boot, from the first line of /proc/stat (proc_stat(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// Programs, niced ones included.
    pub user: u64,
    /// The kernel, interrupts included.
    pub system: u64,
    /// Nothing to do, waiting for I/O included.
    pub idle: u64,
    /// Ready to run, but the hypervisor ran something else.
    pub steal: u64,
}

impl CpuTimes {
    /// From the text of /proc/stat; `None` without its first line.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        let numbers: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        let sum =
            |indices: &[usize]| indices.iter().fold(0u64, |sum, &i| sum.saturating_add(at(i)));
        let times =
            Self { user: sum(&[0, 1]), system: sum(&[2, 5, 6]), idle: sum(&[3, 4]), steal: at(7) };
        (numbers.len() >= 4).then_some(times)
    }
}

/// Microseconds in which some task waited, from the `some` line of /proc/pressure/* (PSI).
pub fn parse_pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// A block device's traffic since boot, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Read from the device.
    pub read_bytes: u64,
    /// Written to the device.
    pub written_bytes: u64,
}

impl Traffic {
    /// From /sys/block/*/stat: sectors read stand third, sectors written seventh
    /// (Documentation/block/stat.rst).
    pub fn parse_stat(text: &str) -> Option<Self> {
        let field = |index: usize| text.split_whitespace().nth(index)?.parse::<u64>().ok();
        Some(Self {
            read_bytes: field(2)?.saturating_mul(SECTOR_BYTES),
            written_bytes: field(6)?.saturating_mul(SECTOR_BYTES),
        })
    }

    /// The device called `name` in the text of /proc/diskstats, whose lines put major, minor and name before the
    /// same fields (Documentation/admin-guide/iostats.rst).
    pub fn parse_diskstats(text: &str, name: &str) -> Option<Self> {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.nth(2)? == name).then(|| {
                let rest: Vec<&str> = words.collect();
                Self::parse_stat(&rest.join(" "))
            })?
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

/// The machine's counters at one moment. What the kernel does not tell is `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    /// Processor time.
    pub cpu: Option<CpuTimes>,
    /// Time in which some task waited for I/O, us.
    pub pressure_io_us: Option<u64>,
    /// Time in which some task waited for a processor, us.
    pub pressure_cpu_us: Option<u64>,
    /// The watched device's traffic.
    pub traffic: Option<Traffic>,
    /// The hottest drive of the stack, degrees Celsius.
    pub temperature_celsius: Option<f64>,
}

/// Payload that drivelab itself moved between two samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Issued {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// What happened between two samples.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Difference {
    /// Stolen share of all processor time, 0 to 1.
    pub steal_share: Option<f64>,
    /// Busy share of all processor time, 0 to 1.
    pub cpu_busy_share: Option<f64>,
    /// Time in which some task waited for I/O, us.
    pub pressure_io_us: Option<u64>,
    /// Time in which some task waited for a processor, us.
    pub pressure_cpu_us: Option<u64>,
    /// The device's traffic.
    pub traffic: Option<Traffic>,
    /// Bytes of that traffic beyond ours, as a share of it, 0 to 1. Reads and writes are compared apart, so
    /// that reads served by a cache do not hide another's writes. On a file system the writes hold its
    /// journal too: then only [`foreign_read_share`](Self::foreign_read_share) accuses others.
    pub foreign_share: Option<f64>,
    /// The same for reads alone, as a share of all traffic.
    pub foreign_read_share: Option<f64>,
    /// Bytes that the device read, as a share of those that we asked for; over 1 with read-ahead or
    /// others. `None` when we read nothing.
    pub device_read_share: Option<f64>,
    /// Rise of the temperature, kelvins.
    pub temperature_rise: Option<f64>,
}

impl Difference {
    /// `steal`, `foreign_io` and `cache_served`, as the shares say, for a cell on a raw device. See
    /// [`foreign_share`](Self::foreign_share) for file systems.
    pub fn flags(&self) -> Vec<Flag> {
        let above = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
        let served = self.device_read_share.is_some_and(|share| share < DEVICE_SHARE_MIN);
        [
            (Flag::CacheServed, served),
            (Flag::ForeignIo, above(self.foreign_share, FOREIGN_SHARE_MAX)),
            (Flag::Steal, above(self.steal_share, STEAL_SHARE_MAX)),
        ]
        .into_iter()
        .filter_map(|(flag, raised)| raised.then_some(flag))
        .collect()
    }
}

/// What changed from `before` to `after`, in which we moved `issued`.
pub fn difference(before: &Sample, after: &Sample, issued: Issued) -> Difference {
    let later = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    let mut difference = Difference {
        pressure_io_us: later(before.pressure_io_us, after.pressure_io_us),
        pressure_cpu_us: later(before.pressure_cpu_us, after.pressure_cpu_us),
        temperature_rise: after
            .temperature_celsius
            .zip(before.temperature_celsius)
            .map(|(after, before)| after - before),
        ..Difference::default()
    };
    if let (Some(before), Some(after)) = (before.cpu, after.cpu) {
        (difference.steal_share, difference.cpu_busy_share) = cpu_shares(before, after);
    }
    if let (Some(before), Some(after)) = (before.traffic, after.traffic) {
        add_traffic(&mut difference, after.since(before), issued);
    }
    difference
}

fn cpu_shares(before: CpuTimes, after: CpuTimes) -> (Option<f64>, Option<f64>) {
    let since = |field: fn(&CpuTimes) -> u64| field(&after).saturating_sub(field(&before)) as f64;
    let (steal, idle) = (since(|cpu| cpu.steal), since(|cpu| cpu.idle));
    let busy = since(|cpu| cpu.user) + since(|cpu| cpu.system);
    let all = steal + idle + busy;
    if all > 0.0 { (Some(steal / all), Some(busy / all)) } else { (None, None) }
}

fn add_traffic(difference: &mut Difference, traffic: Traffic, issued: Issued) {
    let foreign_read = traffic.read_bytes.saturating_sub(issued.read_bytes) as f64;
    let foreign_written = traffic.written_bytes.saturating_sub(issued.written_bytes) as f64;
    let all = traffic.read_bytes as f64 + traffic.written_bytes as f64;
    let share = |foreign: f64| if all > 0.0 { foreign / all } else { 0.0 };
    difference.traffic = Some(traffic);
    difference.foreign_share = Some(share(foreign_read + foreign_written));
    difference.foreign_read_share = Some(share(foreign_read));
    difference.device_read_share =
        (issued.read_bytes > 0).then(|| traffic.read_bytes as f64 / issued.read_bytes as f64);
}

/// Samples one target's device and drives.
#[derive(Clone, Debug)]
pub struct Watch {
    roots: Roots,
    /// The device whose traffic is counted.
    counted: Option<BlockDevice>,
    drives: Vec<BlockDevice>,
}

impl Watch {
    /// For the stack that [`target_info`](crate::target_info) found; an empty one watches the processors
    /// only.
    ///
    /// Traffic is counted on the lowest device through which all of the target's I/O passes once: the disk under
    /// a partition or a cipher, where neighbours disturb too, but an array itself and not its members, which
    /// see parity and mirrors.
    pub fn new(stack: &[BlockLayer], roots: &Roots) -> Self {
        let devices: Vec<BlockDevice> =
            stack.iter().filter_map(|layer| BlockDevice::named(&layer.name, roots)).collect();
        let drives = devices.iter().filter(|device| kind_of(device) == "disk").cloned().collect();
        let counted =
            devices.first().filter(|first| carries_all(first, &devices)).map(lowest_single);
        Self { roots: roots.clone(), counted, drives }
    }

    /// Kernel name of the device whose traffic is counted.
    pub fn counted_device(&self) -> Option<&str> {
        self.counted.as_ref().map(|device| device.name.as_str())
    }

    /// The processors' times alone: cheap enough for every tick.
    pub fn cpu_times(&self) -> Option<CpuTimes> {
        CpuTimes::parse(&read_text(&self.roots.proc.join("stat"))?)
    }

    /// Reads the counters now.
    pub fn sample(&self) -> Sample {
        let proc = |file: &str| read_text(&self.roots.proc.join(file));
        Sample {
            cpu: self.cpu_times(),
            pressure_io_us: proc("pressure/io").and_then(|text| parse_pressure(&text)),
            pressure_cpu_us: proc("pressure/cpu").and_then(|text| parse_pressure(&text)),
            traffic: self.counted.as_ref().and_then(|device| self.traffic_of(device)),
            temperature_celsius: self.drives.iter().filter_map(temperature_of).reduce(f64::max),
        }
    }

    fn traffic_of(&self, device: &BlockDevice) -> Option<Traffic> {
        let file: PathBuf = device.directory.join("stat");
        read_text(&file).and_then(|text| Traffic::parse_stat(&text)).or_else(|| {
            let text = read_text(&self.roots.proc.join("diskstats"))?;
            Traffic::parse_diskstats(&text, &device.name)
        })
    }
}

/// From a device downwards while each stands on exactly one other. Loop devices end the chain, for a file
/// system lies between.
fn lowest_single(device: &BlockDevice) -> BlockDevice {
    let mut lowest = device.clone();
    while let [only] = &components(&lowest)[..] {
        lowest = only.clone();
    }
    lowest
}

/// Whether the first device carries the whole stack. A file system over several devices (btrfs) has no
/// single one; below a loop device's file anything may follow.
fn carries_all(first: &BlockDevice, devices: &[BlockDevice]) -> bool {
    let mut reached = closure(std::slice::from_ref(first), components);
    reached.push(first.clone());
    let is_reached =
        |device: &BlockDevice| reached.iter().any(|other| other.number == device.number);
    devices.iter().all(is_reached) || reached.iter().any(|device| device.backing_file().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str =
        "cpu  3699 10 2372 174310 556 1 49 13 0 0\ncpu0 1379 0 881 88122 28 0 7 5 0 0\n";
    const DISKSTATS: &str = "\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 52865 11035 5800194 14706 14794 14703 1309504 3443 0 7944 18534 4870 41 299008 312 1900 71
";

    #[test]
    fn processor_times_are_summed_by_kind() {
        let times = CpuTimes { user: 3709, system: 2422, idle: 174_866, steal: 13 };
        assert_eq!(CpuTimes::parse(STAT), Some(times));
        assert_eq!(CpuTimes::parse("cpu0 1 2 3 4"), None);
    }

    #[test]
    fn sectors_are_read_from_both_files_alike() {
        let expected = Traffic { read_bytes: 5_800_194 * 512, written_bytes: 1_309_504 * 512 };
        assert_eq!(Traffic::parse_diskstats(DISKSTATS, "vda"), Some(expected));
        let stat =
            "   52865    11035  5800194    14706    14794    14703  1309504     3443        0";
        assert_eq!(Traffic::parse_stat(stat), Some(expected));
        assert_eq!(Traffic::parse_diskstats(DISKSTATS, "vd"), None);
        assert_eq!(Traffic::parse_stat("1 2 3"), None);
    }

    #[test]
    fn pressure_is_the_total_of_the_some_line() {
        let text =
            "some avg10=0.06 avg60=0.29 avg300=0.28 total=5062192\nfull avg10=0.00 total=7\n";
        assert_eq!(parse_pressure(text), Some(5_062_192));
        assert_eq!(parse_pressure("full total=7"), None);
    }

    fn traffic(read_bytes: u64, written_bytes: u64) -> Sample {
        Sample { traffic: Some(Traffic { read_bytes, written_bytes }), ..Sample::default() }
    }

    #[test]
    fn others_sectors_above_two_per_cent_are_foreign() {
        let issued = Issued { read_bytes: 1000, written_bytes: 0 };
        let seen = |read: u64, written: u64| {
            difference(&traffic(5, 5), &traffic(5 + read, 5 + written), issued)
        };
        assert_eq!(seen(1000, 0).flags(), []);
        assert_eq!(seen(1015, 0).flags(), []);
        assert_eq!(seen(1000, 30).flags(), [Flag::ForeignIo]);
        assert_eq!(seen(1100, 0).flags(), [Flag::ForeignIo]);
    }

    #[test]
    fn reads_that_the_device_did_not_see_came_from_a_cache() {
        let issued = Issued { read_bytes: 1000, written_bytes: 0 };
        assert_eq!(
            difference(&traffic(0, 0), &traffic(899, 0), issued).flags(),
            [Flag::CacheServed]
        );
        assert_eq!(difference(&traffic(0, 0), &traffic(900, 0), issued).flags(), []);
        let none = difference(&traffic(0, 0), &traffic(0, 0), Issued::default());
        assert_eq!((none.device_read_share, none.flags()), (None, vec![]));
    }

    #[test]
    fn cached_reads_do_not_hide_foreign_writes() {
        let issued = Issued { read_bytes: 1000, written_bytes: 100 };
        let seen = difference(&traffic(0, 0), &traffic(0, 200), issued);
        assert_eq!(seen.foreign_share, Some(0.5));
        assert_eq!(seen.foreign_read_share, Some(0.0));
    }

    #[test]
    fn stolen_time_above_two_per_cent_is_flagged() {
        let cpu = |idle, steal| Sample {
            cpu: Some(CpuTimes { user: 0, system: 0, idle, steal }),
            ..Sample::default()
        };
        let seen = |idle: u64, steal: u64| {
            difference(&cpu(9, 9), &cpu(9 + idle, 9 + steal), Issued::default())
        };
        assert_eq!(seen(980, 20).flags(), []);
        assert_eq!(seen(970, 30).flags(), [Flag::Steal]);
        assert_eq!(seen(0, 0).steal_share, None);
    }

    #[test]
    fn counters_that_run_backwards_count_as_nothing() {
        let seen = difference(&traffic(10, 10), &traffic(5, 5), Issued::default());
        assert_eq!(seen.traffic, Some(Traffic::default()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), numbers in "(cpu |some )?([0-9]{0,21} ){0,20}(total=[0-9]{0,22})?") {
            for text in [&text, &numbers] {
                CpuTimes::parse(text);
                Traffic::parse_stat(text);
                Traffic::parse_diskstats(text, "vda");
                parse_pressure(text);
            }
        }
    }
}
