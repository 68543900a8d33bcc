//! The kernels that a guest can have: Debian's packages, fetched once and kept below `target/`.

use super::place;
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

const FETCH: &str = include_str!("fetch.sh");
/// A package of 100 MB and the mirror's lists must be here by then.
const FETCH_S: u32 = 240;
/// What `timeout` ends with when it had to end something.
const OUT_OF_TIME: i32 = 124;

/// What the guest loads, or may be asked for. With each come those that it needs.
const MODULES: &str = "virtio_pci virtio_blk virtio_scsi nvme ahci sd_mod usb-storage uas xhci_pci \
    loop fuse nbd ublk_drv ext4 xfs btrfs raid0 raid1 raid10 raid456 dm-mod dm-flakey dm-delay \
    dm-thin-pool dm-crypt dm-snapshot dm-cache dm-cache-smq dm-writecache bcache null_blk \
    scsi_debug algif_skcipher af_alg xts cbc ecb aes_generic sha256_generic crc32c_generic \
    crc32c-intel libcrc32c essiv";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Linux 6.1, of Debian 12.
    Six1,
    /// Linux 6.12, of Debian 13; it has ublk.
    Six12,
}

impl Kernel {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "6.1" => Ok(Self::Six1),
            "6.12" => Ok(Self::Six12),
            _ => bail!("`--kernel {name}` is unknown: 6.1 or 6.12"),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Six1 => "6.1",
            Self::Six12 => "6.12",
        }
    }

    fn release(self) -> &'static str {
        match self {
            Self::Six1 => "bookworm",
            Self::Six12 => "trixie",
        }
    }

    /// The unpacked package, fetched if it is not there.
    pub fn fetched(self) -> Result<Package> {
        let directory = place().join(format!("linux-{}", self.name()));
        if !directory.exists() {
            println!("fetching the kernel of Debian {}, once", self.release());
            let fresh = place().join(format!("linux-{}.new", self.name()));
            if fresh.exists() {
                fs::remove_dir_all(&fresh).with_context(|| fresh.display().to_string())?;
            }
            fs::create_dir_all(&fresh).with_context(|| fresh.display().to_string())?;
            let output = Command::new("timeout")
                .args(["--kill-after=5", &FETCH_S.to_string()])
                .args(["sh", "-c", FETCH, "fetch", self.release()])
                .arg(&fresh)
                .output()
                .context("timeout could not be started")?;
            ensure!(
                output.status.code() != Some(OUT_OF_TIME),
                "Debian's mirror did not give it within {FETCH_S} s"
            );
            ensure!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no reason given")
            );
            fs::rename(&fresh, &directory).with_context(|| directory.display().to_string())?;
        }
        Package::in_directory(directory)
    }
}

pub struct Package {
    directory: PathBuf,
    /// As in `6.1.0-42-amd64`.
    pub version: String,
}

impl Package {
    fn in_directory(directory: PathBuf) -> Result<Self> {
        let boot = directory.join("boot");
        for entry in fs::read_dir(&boot).with_context(|| boot.display().to_string())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(version) = name.strip_prefix("vmlinuz-") {
                let package = Self { directory, version: version.to_owned() };
                package.unpack_image()?;
                return Ok(package);
            }
        }
        bail!("no kernel in {}: remove that directory", boot.display())
    }

    /// What QEMU starts: the bare kernel, which spares the guest its unpacking, or the packed one
    /// where that could not be had.
    pub fn image(&self) -> PathBuf {
        let bare = self.bare();
        if bare.exists() { bare } else { self.packed() }
    }

    fn packed(&self) -> PathBuf {
        self.directory.join("boot").join(format!("vmlinuz-{}", self.version))
    }

    fn bare(&self) -> PathBuf {
        self.directory.join("boot").join(format!("bare-{}", self.version))
    }

    fn unpack_image(&self) -> Result<()> {
        if self.bare().exists() {
            return Ok(());
        }
        let packed = fs::read(self.packed()).context("the packed kernel")?;
        if let Some(bare) = payload(&packed).and_then(unpacked) {
            // Whole or not at all.
            let fresh = self.bare().with_extension("new");
            fs::write(&fresh, bare).with_context(|| fresh.display().to_string())?;
            fs::rename(&fresh, self.bare()).context("the bare kernel")?;
        }
        Ok(())
    }

    /// A directory with `lib/modules/VERSION` of those modules that a guest needs, unpacked.
    pub fn modules(&self) -> Result<PathBuf> {
        let staged = self.directory.join("staged");
        let list = staged.join("list");
        if fs::read_to_string(&list).is_ok_and(|made_for| made_for == MODULES) {
            return Ok(staged);
        }
        if staged.exists() {
            fs::remove_dir_all(&staged).with_context(|| staged.display().to_string())?;
        }
        for module in MODULES.split_whitespace() {
            let output = Command::new("modprobe")
                .args(["-S", &self.version, "--show-depends", module, "-d"])
                .arg(&self.directory)
                .output()
                .context("modprobe could not be started")?;
            // What is no module of this kernel is built in, or a scenario will say that it lacks.
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let path = line.strip_prefix("insmod ").and_then(|rest| rest.split(' ').next());
                if let Some(path) = path {
                    self.unpack(Path::new(path), &staged)?;
                }
            }
        }
        let indexed = Command::new("depmod")
            .arg("-b")
            .args([&staged, Path::new(&self.version)])
            .output()
            .context("depmod could not be started")?;
        ensure!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
        fs::write(&list, MODULES).with_context(|| list.display().to_string())?;
        Ok(staged)
    }

    fn unpack(&self, module: &Path, staged: &Path) -> Result<()> {
        let tree = Path::new("lib/modules").join(&self.version);
        let text = module.to_string_lossy();
        let (_, below) = text
            .split_once(&*format!("/{}/", self.version))
            .with_context(|| format!("{text} is below another version"))?;
        let unpacked = staged.join(tree).join(below.trim_end_matches(".xz"));
        if unpacked.exists() {
            return Ok(());
        }
        let parent = unpacked.parent().expect("it is a file in a directory");
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        if below.ends_with(".xz") {
            let output = Command::new("xz").arg("-dc").arg(module).output().context("xz")?;
            ensure!(output.status.success(), "xz cannot unpack {text}");
            fs::write(&unpacked, output.stdout)?;
        } else {
            fs::copy(module, &unpacked).with_context(|| text.into_owned())?;
        }
        Ok(())
    }
}

/// The compressed kernel within a bzImage (Documentation/arch/x86/boot.rst: `payload_offset` and
/// `payload_length` of the setup header, protocol 2.08), without the length that follows it.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?));
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let setup_sectors = usize::from(*image.get(0x1f1)?);
    let start = (setup_sectors + 1) * 512 + word(0x248)? as usize;
    image.get(start..start + (word(0x24c)? as usize).checked_sub(4)?)
}

/// An ELF file, if one of the tools at hand unpacks it to that.
fn unpacked(payload: &[u8]) -> Option<Vec<u8>> {
    let tool = match payload {
        [0xfd, b'7', b'z', ..] => "xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        _ => return None,
    };
    let mut child = Command::new(tool)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(payload));
        child.wait_with_output()
    });
    let bytes = output.ok()?.stdout;
    bytes.starts_with(b"\x7fELF").then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_where_the_header_says_and_ends_before_its_length() {
        let mut image = vec![0; 4096];
        image[0x1f1] = 3;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&100_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&12_u32.to_le_bytes());
        image[2148..2156].copy_from_slice(b"12345678");
        assert_eq!(payload(&image), Some(&b"12345678"[..]));
        assert_eq!(payload(&image[..2150]), None, "cut off");
        assert_eq!(payload(&[0; 4096]), None, "no kernel");
        assert_eq!(unpacked(b"12345678"), None);
    }
}
