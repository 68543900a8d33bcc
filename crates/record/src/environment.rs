//! The machine under test: what a reader needs to repeat the run, or to doubt it.

use crate::{Flag, TargetIdentity, Warning, from_exact};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The machine and its state when the run began.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Host, kernel, memory.
    pub host: HostFacts,
    /// The processor.
    pub cpu: Cpu,
    /// Output of the identity tools that were present, by tool name: `smartctl`, `nvme`, `hdparm`.
    pub tools: BTreeMap<String, String>,
}

/// Host, kernel, memory.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// Distribution, from os-release.
    pub distribution: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// What this program's control group allows of it, page cache included, bytes; absent without a
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Memory available at the start, bytes.
    pub memory_available_bytes: u64,
    /// `kvm`, `vmware`, `container:docker`..., absent on bare metal.
    pub virtualisation: Option<String>,
    /// Load average over one minute at the start.
    pub load_1min: f64,
}

impl HostFacts {
    /// Memory that the program could have at most, its page cache included, bytes.
    pub fn memory_usable_bytes(&self) -> u64 {
        self.memory_limit_bytes.map_or(self.memory_bytes, |limit| limit.min(self.memory_bytes))
    }
}

/// The processor.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name.
    pub model: String,
    /// Logical processors this process may use.
    pub online: u32,
    /// Frequency governor, when there is one.
    pub governor: Option<String>,
    /// Processors the workers were pinned to; empty when not pinned.
    pub pinned: Vec<u32>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
}

/// What was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TargetInfo {
    /// As the user wrote it.
    pub text: String,
    /// What it turned out to be.
    pub kind: TargetKind,
    /// Canonical path of the file, directory or device; U+FFFD stands for what of it is no text.
    pub path: Option<String>,
    /// The same with every byte, as [`exact`](crate::exact()) writes it; absent where `path` has
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_exact: Option<String>,
    /// Size in bytes of the device or file, or of the free space for a directory.
    pub capacity_bytes: u64,
    /// Free bytes of the file system before the run.
    pub free_bytes: Option<u64>,
    /// The file system under a path.
    pub file_system: Option<FileSystem>,
    /// Block devices from the path down to the drives: the nearest first.
    pub stack: Vec<BlockLayer>,
    /// Alignment that direct I/O needs, bytes.
    pub direct_alignment_bytes: Option<u32>,
    /// Flags that hold for every cell on this target.
    pub flags: Vec<Flag>,
    /// Sentences that explain them.
    pub warnings: Vec<Warning>,
    /// What a model answered, all of it in one number.
    pub completions: Option<Completions>,
    /// How a managed flash volume stood at the end, and what it had done since it was opened.
    #[serde(default)]
    pub managed_flash: Option<ManagedFlash>,
    /// What the drives under it cost, all together, as the user said.
    #[serde(default)]
    pub price: Option<Money>,
    /// What tells it from another of its name; absent in records of before.
    #[serde(default)]
    pub identity: Option<TargetIdentity>,
}

impl TargetInfo {
    /// A target of which this is known, and nothing else.
    pub fn of(text: impl Into<String>, kind: TargetKind, capacity_bytes: u64) -> Self {
        Self {
            text: text.into(),
            kind,
            path: None,
            path_exact: None,
            capacity_bytes,
            free_bytes: None,
            file_system: None,
            stack: Vec::new(),
            direct_alignment_bytes: None,
            flags: Vec::new(),
            warnings: Vec::new(),
            completions: None,
            managed_flash: None,
            price: None,
            identity: None,
        }
    }

    /// Where it is, with every byte: to open it again.
    pub fn place(&self) -> Option<PathBuf> {
        self.path_exact.as_deref().map(from_exact).or(self.path.as_ref().map(PathBuf::from))
    }

    /// Takes in what a target says of itself once it is made ready. What it does not know stays:
    /// the price, and what its drives said when they were asked.
    pub fn renew(&mut self, now: Self) {
        let before = std::mem::replace(self, now);
        self.price = before.price;
        for layer in &mut self.stack {
            let same = before.stack.iter().find(|known| known.name == layer.name);
            let known = same.and_then(|known| known.drive.as_ref());
            if let (Some(drive), Some(known)) = (&mut layer.drive, known) {
                drive.learn(known);
            }
        }
    }
}

/// An amount of a currency. Amounts of different currencies are never added or compared.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Money {
    /// How much.
    pub amount: f64,
    /// Three letters, as in ISO 4217: `USD`, `EUR`...
    pub currency: String,
    /// When it was asked, for a price that somebody printed: `2009`, `2009-02` or `2009-02-10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A managed flash volume's state and counters. All that was written since it was opened, fills
/// included: `host_bytes` + `copied_bytes` + `map_bytes` + `header_bytes` + `padding_bytes` +
/// `record_bytes`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ManagedFlash {
    /// The volume's size.
    pub exported_bytes: u64,
    /// Of it, what holds data.
    pub mapped_bytes: u64,
    /// Size of a segment.
    pub segment_bytes: u64,
    /// Segments on the drive.
    pub segments: u64,
    /// Of them, free.
    pub free_segments: u64,
    /// Of them, free when the next checkpoint is done.
    pub prefree_segments: u64,
    /// What the host can write before the cleaner must have made room.
    #[serde(default)]
    pub clean_pool_bytes: u64,
    /// Written by the host, zeroes not counted.
    pub host_bytes: u64,
    /// Copied by the cleaner.
    pub copied_bytes: u64,
    /// Pages of the map.
    pub map_bytes: u64,
    /// Headers of chunks.
    pub header_bytes: u64,
    /// Padding of chunks.
    pub padding_bytes: u64,
    /// Records of the ring for small synchronous writes.
    #[serde(default)]
    pub record_bytes: u64,
    /// All that was written for each byte of the host's; none where the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Segments that the cleaner emptied.
    pub cleaned_segments: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Blocks whose data did not fit their checksum, each time they were met.
    pub checksum_errors: u64,
}

/// Everything that a model completed: the same command with the same seed gives the same, on any
/// machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completions {
    /// Hash of each completion's tag, times and result, in the order of completion: 16 hexadecimal
    /// digits.
    pub hash: String,
    /// How many there were, fills and flushes included.
    pub count: u64,
}

/// What a TARGET turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A directory: a scratch file was made in it and removed.
    Directory,
    /// A file that existed: it was only read.
    File,
    /// A file that was made and removed.
    NewFile,
    /// A block device.
    BlockDevice,
    /// `null:`, the engine's own cost.
    Null,
    /// `model:STACK`, in virtual time.
    Model,
    /// `flash:PATH`, a managed flash volume.
    Flash,
    /// `memory:SIZE`, a drive of RAM, or a managed flash volume on it.
    Memory,
    /// What another program measured, whose results were imported: it was not looked at.
    Imported,
}

/// The file system under a path.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FileSystem {
    /// `ext4`, `xfs`, `tmpfs`...
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// What is mounted.
    pub source: String,
    /// Mount options, as the kernel lists them.
    pub options: String,
    /// Block size, bytes.
    pub block_bytes: u64,
}

/// One block device of the stack under a path.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BlockLayer {
    /// Kernel name: `nvme0n1p2`, `dm-0`.
    pub name: String,
    /// `disk`, `partition`, `loop`, `dm-crypt`, `dm-linear`, `md-raid5`, `zram`...
    pub kind: String,
    /// Size, bytes.
    pub bytes: u64,
    /// First byte on the parent, for a partition.
    pub start_bytes: Option<u64>,
    /// Queue settings.
    pub queue: Option<Queue>,
    /// Identity, for a drive.
    pub drive: Option<DriveIdentity>,
    /// Names of the devices that it directly stands on: its disk, its members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// What an array, a mapping or a cache was made with, and how it stood at the start:
    /// `level`, `chunk_bytes`, `cipher`, `paths`...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, serde_json::Value>,
}

/// Settings of a block device's queue.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    /// Scheduler in use.
    pub scheduler: Option<String>,
    /// Read-ahead, bytes.
    pub read_ahead_bytes: Option<u64>,
    /// `write back` or `write through`, as the kernel believes.
    pub write_cache: Option<String>,
    /// Whether the drive takes forced-unit-access writes.
    pub fua: Option<bool>,
    /// The kernel's rotational flag, which may be wrong.
    pub rotational: Option<bool>,
    /// Logical block, bytes.
    pub logical_block_bytes: Option<u64>,
    /// Physical block, bytes.
    pub physical_block_bytes: Option<u64>,
    /// Requests the queue holds.
    pub requests: Option<u64>,
    /// Largest discard, bytes; 0 means no TRIM.
    pub discard_bytes_max: Option<u64>,
    /// Places in memory that one command takes its data from, or puts them to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_max: Option<u64>,
    /// Data of one command, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_bytes_max: Option<u64>,
    /// Of a zoned device, `host-managed` or `host-aware`; absent for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<String>,
}

/// Which drive it is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DriveIdentity {
    /// Model string.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World-wide name.
    pub wwn: Option<String>,
    /// `nvme`, `sata`, `usb`, `virtio`, `scsi`, `mmc`...
    pub transport: Option<String>,
    /// Negotiated and possible link.
    pub link: Option<Link>,
    /// Degrees Celsius at the start.
    pub temperature_celsius: Option<f64>,
    /// Rated endurance in bytes written, when a tool tells it.
    pub rated_endurance_bytes: Option<u64>,
    /// Bytes written over the drive's life, when a tool tells it.
    pub written_bytes: Option<u64>,
    /// Whether the drive says that its cache survives a power cut.
    pub power_loss_protection: Option<bool>,
    /// Whether a hypervisor made it.
    pub is_virtual: bool,
    /// What it said of its health before the first cell; absent where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_before: Option<Health>,
    /// And after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_after: Option<Health>,
}

impl DriveIdentity {
    /// Fills in what only `known` tells; nothing of another drive.
    fn learn(&mut self, known: &Self) {
        if self.serial.is_some() && known.serial.is_some() && self.serial != known.serial {
            return;
        }
        fn fill<T: Clone>(field: &mut Option<T>, known: &Option<T>) {
            *field = field.take().or_else(|| known.clone());
        }
        fill(&mut self.model, &known.model);
        fill(&mut self.serial, &known.serial);
        fill(&mut self.firmware, &known.firmware);
        fill(&mut self.temperature_celsius, &known.temperature_celsius);
        fill(&mut self.rated_endurance_bytes, &known.rated_endurance_bytes);
        fill(&mut self.written_bytes, &known.written_bytes);
        fill(&mut self.power_loss_protection, &known.power_loss_protection);
        fill(&mut self.health_before, &known.health_before);
        fill(&mut self.health_after, &known.health_after);
    }
}

/// A drive's own counters at one moment, over its whole life unless said otherwise. What it does
/// not tell is absent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Health {
    /// How it was asked: `nvme`, `ata`, `scsi`.
    pub source: String,
    /// Degrees Celsius now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Of its rated life, in percent; may exceed 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage_used: Option<u64>,
    /// Of its spare blocks, what is left, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u64>,
    /// Written by the host, as the drive counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Read by the host, as the drive counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Written to it since the machine was started, as the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Data that could not be read or were damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Sectors that were given another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reallocated_sectors: Option<u64>,
    /// Sectors that may be given another place with the next write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_sectors: Option<u64>,
    /// Errors on the way between drive and host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_errors: Option<u64>,
    /// How often it has slowed itself down for heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_times: Option<u64>,
    /// How long, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<u64>,
    /// How long it was above its warning temperature, minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_hot_minutes: Option<u64>,
    /// Power on, hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_on_hours: Option<u64>,
    /// NVMe's bits of warnings (spare, temperature, reliability, read-only, backup, memory); 0 is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_warning: Option<u64>,
    /// ATA attributes by number, as they are: what they count is the vendor's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, u64>,
}

/// A link's speed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Link {
    /// In words: `PCIe 8.0 GT/s x2`, `SATA 6.0 Gbps`, `USB 5000 Mb/s`.
    pub negotiated: String,
    /// What both ends could do, in the same words.
    pub possible: Option<String>,
    /// Payload bytes per second that the negotiated link carries.
    pub bytes_per_s: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// What smartctl had told before a run was lost as soon as the run made its target ready.
    #[test]
    fn what_a_drive_said_when_it_was_asked_outlives_a_target_that_is_made_ready() {
        let known = example::full().targets.remove(0);
        let plain = |info: &TargetInfo| {
            let mut info = TargetInfo { price: None, ..info.clone() };
            for drive in info.stack.iter_mut().filter_map(|layer| layer.drive.as_mut()) {
                drive.health_before = None;
                drive.rated_endurance_bytes = None;
            }
            info
        };
        let mut info = known.clone();
        info.renew(plain(&known));
        assert_eq!(info, known);
        let mut other = plain(&known);
        for drive in other.stack.iter_mut().filter_map(|layer| layer.drive.as_mut()) {
            drive.serial = Some("another".to_owned());
        }
        let mut info = known.clone();
        info.renew(other.clone());
        assert_eq!(info.stack, other.stack, "nothing of one drive is told of another");
    }
}
