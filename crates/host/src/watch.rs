//! What disturbs a cell shows in the machine's counters: processor time, the drive's traffic, heat.
//!
//! ```text
//!   sample ---- cell runs ---- sample      lab's traps judge the difference
//! ```
//!
//! A sample reads two small files and, where the drive has a sensor, its temperature: well under a
//! millisecond, so it stands between cells, not inside one.

use crate::{
    identify::{
        stack::{components, kind_of},
        temperature_of,
    },
    roots::{Roots, read_text},
    sysfs::{BlockDevice, SECTOR_BYTES, closure},
};
use record::BlockLayer;
use std::path::PathBuf;

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

/// A block device's traffic since boot, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Read from the device.
    pub read_bytes: u64,
    /// Written to the device.
    pub written_bytes: u64,
    /// Reads and writes that the device completed.
    pub requests: u64,
}

impl Traffic {
    /// From /sys/block/*/stat: reads stand first, sectors read third, writes fifth, sectors written
    /// seventh (Documentation/block/stat.rst).
    pub fn parse_stat(text: &str) -> Option<Self> {
        let field = |index: usize| text.split_whitespace().nth(index)?.parse::<u64>().ok();
        Some(Self {
            read_bytes: field(2)?.saturating_mul(SECTOR_BYTES),
            written_bytes: field(6)?.saturating_mul(SECTOR_BYTES),
            requests: field(0)?.saturating_add(field(4)?),
        })
    }

    /// The device called `name` in the text of /proc/diskstats, whose lines put major, minor and
    /// name before the same fields (Documentation/admin-guide/iostats.rst).
    pub fn parse_diskstats(text: &str, name: &str) -> Option<Self> {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.nth(2)? == name).then(|| {
                let rest: Vec<&str> = words.collect();
                Self::parse_stat(&rest.join(" "))
            })?
        })
    }
}

/// The machine's counters at one moment. What the kernel does not tell is `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    /// Processor time.
    pub cpu: Option<CpuTimes>,
    /// The watched device's traffic.
    pub traffic: Option<Traffic>,
    /// The hottest drive of the stack, degrees Celsius.
    pub temperature_celsius: Option<f64>,
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
    /// For the stack that [`target_info`](crate::target_info) found; an empty one watches the
    /// processors only.
    ///
    /// Traffic is counted on the lowest device through which all of the target's I/O passes once:
    /// the disk under a partition or a cipher, where neighbours disturb too, but an array itself
    /// and not its members, which see parity and mirrors.
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
        Sample {
            cpu: self.cpu_times(),
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

/// From a device downwards while each stands on exactly one other. Loop devices end the chain, for
/// a file system lies between.
fn lowest_single(device: &BlockDevice) -> BlockDevice {
    let mut lowest = device.clone();
    while let [only] = &components(&lowest)[..] {
        lowest = only.clone();
    }
    lowest
}

/// Whether the first device carries the whole stack. A file system over several devices (btrfs) has
/// no single one; below a loop device's file anything may follow.
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
    fn traffic_is_read_from_both_files_alike() {
        let expected = Traffic {
            read_bytes: 5_800_194 * 512,
            written_bytes: 1_309_504 * 512,
            requests: 52_865 + 14_794,
        };
        assert_eq!(Traffic::parse_diskstats(DISKSTATS, "vda"), Some(expected));
        let stat =
            "   52865    11035  5800194    14706    14794    14703  1309504     3443        0";
        assert_eq!(Traffic::parse_stat(stat), Some(expected));
        assert_eq!(Traffic::parse_diskstats(DISKSTATS, "vd"), None);
        assert_eq!(Traffic::parse_stat("1 2 3"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), numbers in "(cpu )?([0-9]{0,21} ){0,20}") {
            for text in [&text, &numbers] {
                CpuTimes::parse(text);
                Traffic::parse_stat(text);
                Traffic::parse_diskstats(text, "vda");
            }
        }
    }
}
