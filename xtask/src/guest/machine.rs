//! The virtual machine: QEMU without KVM, its drives, and what it says while it runs.

use super::kernel::Package;
use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Each drive: the name that scenarios call it by, the size of its file in MiB, and QEMU's words
/// for it, in which FILE is the drive's file. The file of a path is that of the first path.
const DRIVES: &[(&str, u64, &str)] = &[
    ("NVME", 512, "nvme,drive=FILE,serial=NVME"),
    ("SATA", 512, "ide-hd,drive=FILE,serial=SATA,bus=ahci.0"),
    ("SCSI", 512, "scsi-hd,drive=FILE,serial=SCSI,bus=hba.0,scsi-id=0"),
    ("VIRTIO", 512, "virtio-blk-pci,drive=FILE,serial=VIRTIO"),
    ("USB", 64, "usb-storage,drive=FILE,serial=USB"),
    ("SPARE", 512, "nvme,drive=FILE,serial=SPARE"),
    (
        "NATIVE",
        512,
        "nvme,drive=FILE,serial=NATIVE,logical_block_size=4096,physical_block_size=4096",
    ),
    ("READONLY", 64, "virtio-blk-pci,drive=FILE,serial=READONLY"),
    ("SPACE1", 128, "nvme-ns,drive=FILE,bus=spaces,nsid=1"),
    ("SPACE2", 128, "nvme-ns,drive=FILE,bus=spaces,nsid=2"),
    ("ZONED", 128, "nvme-ns,drive=FILE,bus=zones,zoned=true,zoned.zone_size=8M"),
    (
        "PATH_A",
        64,
        "scsi-hd,bus=hba.0,drive=FILE,serial=PATHS,wwn=0x5000c500aabbccdd,share-rw=on,scsi-id=1",
    ),
    (
        "PATH_B",
        64,
        "scsi-hd,bus=hba.0,drive=FILE,serial=PATHS,wwn=0x5000c500aabbccdd,share-rw=on,scsi-id=2",
    ),
];
/// The machine around them. Of the processor is left out what an emulated one only pays for: the
/// fifth level of page tables, and copying by single bytes where words of 8 can be copied.
const BOARD: &str = "-accel tcg,thread=multi -cpu max,la57=off,erms=off,fsrm=off -m 2600 -M q35 \
    -display none -monitor none -no-reboot -nodefaults -device virtio-rng-pci -device ahci,id=ahci \
    -device virtio-scsi-pci,id=hba -device qemu-xhci \
    -device nvme,id=spaces,serial=SPACES -device nvme,id=zones,serial=ZONED";
const WORDS_OF_KERNEL: &str = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr \
    random.trust_cpu=1 rdinit=/init loglevel=4 cryptomgr.notests rcupdate.rcu_expedited=1";
/// Until it says its first word; it takes some 10 s where nothing else runs.
const BOOT: Duration = Duration::from_secs(300);

/// The drives' names.
pub fn drives() -> impl Iterator<Item = &'static str> {
    DRIVES.iter().map(|(name, ..)| *name)
}

/// What a machine is made of.
pub struct Parts<'a> {
    /// Drives that are served to it, by serial number and socket, in place of those of scenarios.
    pub served: Vec<(&'a str, &'a Path)>,
    pub kernel: &'a Package,
    pub archive: &'a Path,
    /// Of its drives' files and its console.
    pub directory: PathBuf,
    pub processors: usize,
    /// When it is over in any case.
    pub ends: Instant,
}

pub struct Machine {
    qemu: Child,
    keyboard: ChildStdin,
    lines: mpsc::Receiver<String>,
    console: PathBuf,
    ends: Instant,
    /// When what it does now has to be done.
    until: Instant,
}

impl Machine {
    /// Starts it. `again`: the drives are those of before, whose power was cut in the middle of the
    /// scenario of this number.
    pub fn start(parts: &Parts<'_>, again: Option<usize>) -> Result<Self> {
        let Parts { kernel, archive, directory: run, .. } = parts;
        fs::create_dir_all(run).with_context(|| run.display().to_string())?;
        let console = run.join("console");
        let mut command = Command::new("setpriv");
        // Whatever ends this process ends the machine.
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
        command.args(BOARD.split_whitespace()).args(["-smp", &parts.processors.to_string()]);
        command.arg("-serial").arg(format!("file:{}", console.display()));
        let again = again.map(|number| format!("again={number:03}"));
        // The guest's counter is the processor's that QEMU happens to run on. Where those differ, a
        // measurement in the guest told of waits of minutes.
        let clock = if parts.served.is_empty() { "" } else { "tsc=unstable" };
        let words = [WORDS_OF_KERNEL, clock, again.as_deref().unwrap_or_default()].join(" ");
        command.args(["-serial", "stdio", "-append", &words]);
        command.arg("-kernel").arg(kernel.image()).arg("-initrd").arg(archive);
        // Of SCSI: of these alone a guest can say how many requests they get at once.
        for (number, (serial, socket)) in parts.served.iter().enumerate() {
            let uri = format!("nbd+unix:///?socket={}", socket.display());
            command.arg("-drive").arg(format!("if=none,id={serial},file={uri},format=raw"));
            let words = format!("scsi-hd,bus=hba.0,drive={serial},serial={serial}");
            command.arg("-device").arg(format!("{words},scsi-id={number}"));
        }
        let own = if parts.served.is_empty() { DRIVES } else { &[] };
        for (name, mebibytes, words) in own {
            let file = match *name {
                "PATH_B" => run.join("PATH_A"),
                name => run.join(name),
            };
            if again.is_none() {
                File::create(&file)?.set_len(mebibytes << 20)?;
            }
            let mut drive = format!(
                "if=none,id={name},file={},format=raw,cache.no-flush=on,discard=unmap,file.locking=off",
                file.display()
            );
            if *name == "READONLY" {
                drive += ",readonly=on";
            }
            command.arg("-drive").arg(drive);
            command.arg("-device").arg(words.replace("FILE", name));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut qemu = command.spawn().context("setpriv could not be started")?;
        let keyboard = qemu.stdin.take().expect("it is piped");
        let said = BufReader::new(qemu.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in said.split(b'\n').map_while(std::result::Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                    break;
                }
            }
        });
        let mut machine =
            Self { qemu, keyboard, lines, console, ends: parts.ends, until: parts.ends };
        machine.allow(BOOT);
        Ok(machine)
    }

    /// So long may it take for what it does now.
    pub fn allow(&mut self, time: Duration) {
        self.until = self.ends.min(Instant::now() + time);
    }

    /// Says a line to it.
    pub fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.keyboard, "{line}").context("the guest is not there any more")
    }

    /// The next line that it says; none when it was switched off.
    ///
    /// # Errors
    /// It is out of time, or stopped without a word.
    pub fn line(&mut self) -> Result<Option<String>> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) if line == "@@ off" => Ok(None),
            Ok(line) => Ok(Some(line)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                bail!("out of time; the console of the guest ends with:\n{}", self.console_end())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let mut complaint = String::new();
                if let Some(stderr) = self.qemu.stderr.take() {
                    let lines = BufReader::new(stderr).lines().map_while(std::result::Result::ok);
                    complaint = lines.collect::<Vec<_>>().join("\n");
                }
                bail!("the guest stopped; {complaint}\n{}", self.console_end())
            }
        }
    }

    /// Processor time that it took until now, of this machine's clock; what else runs here changes
    /// it little.
    pub fn processor_s(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.qemu.id())).unwrap_or_default();
        // utime and stime, the 14th and 15th field, of which the second ends with a bracket.
        let fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    fn console_end(&self) -> String {
        let bytes = fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

/// Switches it off, as the cable does. What it wrote stays on its drives.
impl Drop for Machine {
    fn drop(&mut self) {
        // It may be off already.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
