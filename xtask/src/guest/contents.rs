//! What is in the guest: busybox, tools with their libraries, modules, drivelab, scenarios.

use super::{cpio::Archive, kernel::Package, machine, scenario::Scenario};
use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Tools, and the Debian package that each is in. Those that are missing on this machine are
/// missing in the guest, and so are the scenarios with them.
pub const TOOLS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("blkdiscard", "util-linux"),
    ("blkid", "util-linux"),
    ("blockdev", "util-linux"),
    ("cmp", "diffutils"),
    ("cryptsetup", "cryptsetup-bin"),
    ("dd", "coreutils"),
    ("diff", "diffutils"),
    ("dmsetup", "dmsetup"),
    ("e2fsck", "e2fsprogs"),
    ("fio", "fio"),
    ("flock", "util-linux"),
    ("fstrim", "util-linux"),
    ("hdparm", "hdparm"),
    ("kmod", "kmod"),
    ("losetup", "mount"),
    ("lsblk", "util-linux"),
    ("lvm", "lvm2"),
    ("make-bcache", "bcache-tools"),
    ("mdadm", "mdadm"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkswap", "util-linux"),
    ("mount", "mount"),
    ("nvme", "nvme-cli"),
    ("parted", "parted"),
    ("script", "bsdutils"),
    ("sdparm", "sdparm"),
    ("setpriv", "util-linux"),
    ("sqlite3", "sqlite3"),
    ("stat", "coreutils"),
    ("swapon", "mount"),
    ("sync", "coreutils"),
    ("umount", "mount"),
    ("wipefs", "util-linux"),
];
/// What comes only where a text names it, or the script that calls it: 80 MB of libraries, which
/// the guest would unpack into its memory.
const LARGE: &[(&str, &str)] = &[("fio", "/guest/ublk")];
/// Files that tools look for: what a program opens by itself, and settings.
const FILES: &[&str] = &["/etc/mke2fs.conf", "/lib/x86_64-linux-gnu/libgcc_s.so.1"];
const LOADER: &[&str] = &["modprobe", "insmod", "rmmod", "lsmod", "depmod", "modinfo"];

/// What a guest is for.
pub enum Errand<'a> {
    /// It takes scenarios, each with drives of its own.
    Scenarios(&'a [&'static Scenario]),
    /// It runs one command.
    Command {
        text: &'a str,
        /// More files, by their paths in the guest.
        files: &'a [(&'a str, &'a [u8])],
        /// How many drives it waits for.
        drives: usize,
    },
}

/// Writes the archive from which the guest starts.
pub fn write(path: &Path, kernel: &Package, program: &Path, errand: &Errand<'_>) -> Result<()> {
    let (scenarios, command, files, drives) = match *errand {
        Errand::Scenarios(scenarios) => (scenarios, None, &[][..], machine::drives().count()),
        Errand::Command { text, files, drives } => (&[][..], Some(text), files, drives),
    };
    let mut archive = Archive::create(path)?;
    archive.directory("dev")?;
    archive.file("init", include_bytes!("init.sh"))?;
    archive.file("guest/drives", include_bytes!("drives.sh"))?;
    archive.file("guest/lib", include_bytes!("lib.sh"))?;
    archive.file("guest/ublk", include_bytes!("ublk.sh"))?;
    archive.file("guest/sqlite", include_bytes!("sqlite.sh"))?;
    archive.file("guest/short.toml", include_bytes!("short.toml"))?;
    archive.file("guest/reads.toml", include_bytes!("reads.toml"))?;
    archive.file("guest/two.toml", include_bytes!("two.toml"))?;
    let run = match command {
        Some(command) => format!(
            ". /guest/names\n. /guest/lib\nmkdir -p /tmp/scenario; cd /tmp/scenario\n{command}\n\
            echo \"@@ exit $?\"\n"
        ),
        None => include_str!("run.sh").to_owned(),
    };
    archive.file("guest/run", run.as_bytes())?;
    let modules = "virtio_pci virtio_blk virtio_scsi nvme ahci sd_mod xhci_pci usb-storage uas \
        loop ext4 dm-mod crc32c-intel";
    let settings = format!("MODULES=\"{modules}\"\nCOUNT={drives}\n");
    for (name, bytes) in files {
        archive.file(name, bytes)?;
    }
    archive.file("guest/settings", settings.as_bytes())?;
    archive.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")?;
    archive.file("etc/group", b"root:x:0:\nnobody:x:65534:\n")?;
    add_scenarios(&mut archive, scenarios)?;
    let busybox = found("busybox").context("busybox is on this machine")?;
    archive.copy("bin/busybox", &busybox)?;
    let texts: Vec<&str> = scenarios.iter().flat_map(|scenario| scenario.texts()).collect();
    let texts = texts.join("\n");
    let is_wanted = |tool: &str| {
        let with = LARGE.iter().find(|(large, _)| *large == tool);
        command.is_some()
            || with.is_none_or(|(_, with)| texts.contains(with) || texts.contains(tool))
    };
    for (tool, _) in TOOLS.iter().filter(|(tool, _)| is_wanted(tool)) {
        let Some(path) = found(tool) else { continue };
        archive.copy(&path.to_string_lossy(), &path)?;
        copy_libraries(&mut archive, &path)?;
    }
    for name in LOADER {
        archive.link(&format!("sbin/{name}"), "/usr/bin/kmod")?;
    }
    if let Some(kmod) = found("kmod") {
        archive.copy("usr/bin/kmod", &kmod)?;
    }
    for file in FILES.iter().map(Path::new).filter(|file| file.exists()) {
        archive.copy(&file.to_string_lossy(), file)?;
    }
    archive.copy_tree("lib", &kernel.modules()?.join("lib"))?;
    // Without what only a debugger reads, four fifths of it, where there is `strip`.
    let slim = path.with_extension("program");
    let stripped = Command::new("strip").arg("-o").arg(&slim).arg(program).status();
    let is_slim = stripped.is_ok_and(|status| status.success());
    archive.copy("usr/bin/drivelab", if is_slim { &slim } else { program })?;
    copy_libraries(&mut archive, program)?;
    archive.finish()
}

fn add_scenarios(archive: &mut Archive, scenarios: &[&Scenario]) -> Result<()> {
    for (number, scenario) in scenarios.iter().enumerate() {
        let place = format!("scenarios/{number:03}");
        let parts = [
            ("prepare", format!("set -e\n{}\n", scenario.prepare)),
            ("command", scenario.command.to_owned()),
            ("again", scenario.again.to_owned()),
            ("after", scenario.after.to_owned()),
            ("undo", scenario.undo.to_owned()),
            ("limit", scenario.limit_s.to_string()),
            ("drives", scenario.drives().join(" ")),
        ];
        for (name, text) in parts {
            archive.file(&format!("{place}/{name}"), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Whether a text has this word, with letters, digits and `.`, `_`, `-` to it.
pub fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).any(|found| found == word)
}

/// Where a program is on this machine.
pub fn found(program: &str) -> Option<PathBuf> {
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|directory| Path::new(directory).join(program)).find(|path| path.exists())
}

fn copy_libraries(archive: &mut Archive, program: &Path) -> Result<()> {
    // It ends badly for a program without any.
    let output = Command::new("ldd").arg(program).output().context("ldd could not be started")?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) {
            let path = path.trim_end_matches(':');
            if fs::metadata(path).is_ok() {
                archive.copy(path, Path::new(path))?;
            }
        }
    }
    Ok(())
}
