//! Settings of a block device: the drive's own write cache, and the kernel's queue above it.
//!
//! The two are told apart with care. A drive's *write cache* is switched on the drive, and what it costs is a matter of the drive. The
//! kernel's `queue/write_cache` tells the kernel whether to send flushes at all; "write through" there leaves the drive's cache
//! as it is and removes what makes it safe (Documentation/block/writeback_cache_control.rst).

use crate::{
    error::{ErrorKind, HostError},
    program::Program,
    roots::{Roots, read_text},
};
use serde::{Deserialize, Serialize};
use std::{fmt, fs, path::Path};

/// Whether a drive may answer a write before it is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// It may.
    On,
    /// It may not.
    Off,
}

impl fmt::Display for WriteCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// The program that tells a drive about its write cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// ATA: SET FEATURES 02h and 82h (ACS-4, 7.43).
    Hdparm,
    /// NVMe: feature 06h, Volatile Write Cache (NVM Express Base Specification).
    Nvme,
    /// SCSI: bit WCE of the caching mode page (SBC-4, 6.4.5).
    Sdparm,
}

impl Switch {
    /// The switch that fits the device, and where it stands.
    ///
    /// # Errors
    /// [`ErrorKind::WrongKind`] when no program can ask this device.
    pub fn find(device: &Path) -> Result<(Self, WriteCache), HostError> {
        let name = device.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let candidates: &[Self] =
            if name.starts_with("nvme") { &[Self::Nvme] } else { &[Self::Hdparm, Self::Sdparm] };
        let mut absent = Vec::new();
        for &switch in candidates {
            match switch.read(device) {
                Ok(cache) => return Ok((switch, cache)),
                Err(error) if error.kind() == ErrorKind::NotFound => absent.push(error.to_string()),
                Err(_) => {}
            }
        }
        let why = match &absent[..] {
            [] => "neither ATA, SCSI nor NVMe answered; a virtual disk has none".to_owned(),
            absent => absent.join("; "),
        };
        Err(HostError::new(
            ErrorKind::WrongKind,
            format!("the write cache of {} cannot be switched: {why}", device.display()),
        ))
    }

    /// Where the switch stands.
    ///
    /// # Errors
    /// When the program is not there, fails, or says nothing that is understood.
    pub fn read(self, device: &Path) -> Result<WriteCache, HostError> {
        let text = self.asking(device).run()?;
        parse(self, &text).ok_or_else(|| {
            let sentence = format!("`{}` does not say where it stands", self.asking(device));
            HostError::new(ErrorKind::WrongKind, sentence)
        })
    }

    /// Switches, and asks whether the drive did.
    ///
    /// # Errors
    /// When the program fails, or the drive stays as it was.
    pub fn write(self, device: &Path, wanted: WriteCache) -> Result<(), HostError> {
        self.telling(device, wanted).run()?;
        if self.read(device)? == wanted {
            return Ok(());
        }
        let sentence = format!(
            "{} took the command and left its write cache as it was: leave out --write-cache",
            device.display()
        );
        Err(HostError::new(ErrorKind::Io, sentence))
    }

    /// The command that asks.
    pub fn asking(self, device: &Path) -> Program {
        let device = device.display().to_string();
        match self {
            Self::Hdparm => Program::new(["hdparm", "-W", &device]),
            Self::Nvme => Program::new(["nvme", "get-feature", &device, "--feature-id=6"]),
            Self::Sdparm => Program::new(["sdparm", "--quiet", "--get=WCE", &device]),
        }
    }

    /// The command that switches.
    pub fn telling(self, device: &Path, wanted: WriteCache) -> Program {
        let device = device.display().to_string();
        let on = wanted == WriteCache::On;
        match self {
            Self::Hdparm => Program::new(["hdparm", if on { "-W1" } else { "-W0" }, &device]),
            Self::Nvme => {
                let value = format!("--value={}", u8::from(on));
                Program::new(["nvme", "set-feature", &device, "--feature-id=6", &value])
            }
            Self::Sdparm => {
                Program::new(["sdparm", if on { "--set=WCE" } else { "--clear=WCE" }, &device])
            }
        }
    }
}

/// What the program's answer means: hdparm ` write-caching =  1 (on)`, nvme-cli `... Current value:0x00000001`,
/// sdparm `WCE           1  [cha: y, def:  1, sav:  1]`.
fn parse(switch: Switch, text: &str) -> Option<WriteCache> {
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest.trim_start());
    let rest = match switch {
        Switch::Hdparm => after("write-caching")?.strip_prefix('=')?.trim_start(),
        Switch::Nvme => {
            let value = after("Current value:")?.trim_start_matches("0x");
            let digits: String = value.chars().take_while(char::is_ascii_hexdigit).collect();
            let value = u32::from_str_radix(&digits, 16).ok()?;
            return Some(if value & 1 == 1 { WriteCache::On } else { WriteCache::Off });
        }
        Switch::Sdparm => after("WCE")?,
    };
    match rest.chars().next()? {
        '1' => Some(WriteCache::On),
        '0' => Some(WriteCache::Off),
        _ => None,
    }
}

/// A setting of the kernel's block queue, in `/sys/block/NAME/queue`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// The input/output scheduler.
    Scheduler,
    /// Read-ahead, KiB.
    ReadAheadKb,
    /// Whether the kernel sends flushes; not the drive's cache.
    WriteCache,
}

impl Attribute {
    /// The file's name.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::ReadAheadKb => "read_ahead_kb",
            Self::WriteCache => "write_cache",
        }
    }

    /// What the setting is now.
    ///
    /// # Errors
    /// When the device has no such setting.
    pub fn read(self, device: &str, roots: &Roots) -> Result<String, HostError> {
        let path = self.path(device, roots);
        let text = read_text(&path).ok_or_else(|| {
            let sentence = format!("{device} has no setting {self}: leave it out");
            HostError::new(ErrorKind::NotFound, sentence)
        })?;
        Ok(chosen(&text).to_owned())
    }

    /// What the kernel would take; empty where any number goes.
    pub fn choices(self, device: &str, roots: &Roots) -> Vec<String> {
        match self {
            Self::ReadAheadKb => Vec::new(),
            Self::WriteCache => vec!["write back".to_owned(), "write through".to_owned()],
            Self::Scheduler => read_text(&self.path(device, roots))
                .unwrap_or_default()
                .split_whitespace()
                .map(|word| word.trim_matches(['[', ']']).to_owned())
                .collect(),
        }
    }

    /// Changes the setting, and asks whether the kernel did.
    ///
    /// # Errors
    /// When the kernel refuses, or took something else.
    pub fn write(self, device: &str, wanted: &str, roots: &Roots) -> Result<(), HostError> {
        let path = self.path(device, roots);
        fs::write(&path, wanted).map_err(|error| HostError::io("write", &path, error))?;
        let now = self.read(device, roots)?;
        if now == wanted {
            return Ok(());
        }
        let sentence = format!("the kernel set {self} of {device} to {now}, not to {wanted}");
        Err(HostError::new(ErrorKind::Io, sentence))
    }

    fn path(self, device: &str, roots: &Roots) -> std::path::PathBuf {
        roots.sys.join("block").join(device).join("queue").join(self.file_name())
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.file_name())
    }
}

/// The word in brackets of `none [mq-deadline] kyber`, else the whole text.
fn chosen(text: &str) -> &str {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_program_says_it_in_its_own_words() {
        let cases = [
            (Switch::Hdparm, "\n/dev/sda:\n write-caching =  1 (on)\n", Some(WriteCache::On)),
            (Switch::Hdparm, "\n/dev/sda:\n write-caching =  0 (off)\n", Some(WriteCache::Off)),
            (Switch::Hdparm, "\n/dev/sda:\n write-caching = not supported\n", None),
            (
                Switch::Nvme,
                "get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n",
                Some(WriteCache::On),
            ),
            (Switch::Nvme, "get-feature:0x6, Current value:00000000\n", Some(WriteCache::Off)),
            (
                Switch::Sdparm,
                "WCE           0  [cha: y, def:  1, sav:  1]\n",
                Some(WriteCache::Off),
            ),
            (Switch::Sdparm, "", None),
        ];
        for (switch, text, expected) in cases {
            assert_eq!(parse(switch, text), expected, "{switch:?}: {text}");
        }
    }

    #[test]
    fn a_queue_setting_is_read_chosen_from_and_written() {
        let top = tempfile::tempdir().expect("a directory");
        let roots = Roots::below(top.path());
        let queue = roots.sys.join("block/sdb/queue");
        fs::create_dir_all(&queue).expect("a queue");
        fs::write(queue.join("scheduler"), "none [mq-deadline] kyber\n").expect("a setting");
        fs::write(queue.join("read_ahead_kb"), "128\n").expect("a setting");
        let scheduler = Attribute::Scheduler;
        assert_eq!(scheduler.read("sdb", &roots).expect("it is there"), "mq-deadline");
        assert_eq!(scheduler.choices("sdb", &roots), ["none", "mq-deadline", "kyber"]);
        Attribute::ReadAheadKb.write("sdb", "4096", &roots).expect("it is taken");
        assert_eq!(Attribute::ReadAheadKb.read("sdb", &roots).expect("it is there"), "4096");
        let error = Attribute::WriteCache.read("sdb", &roots).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    proptest! {
        #[test]
        fn no_answer_of_a_program_panics(text in "\\PC{0,80}") {
            for switch in [Switch::Hdparm, Switch::Nvme, Switch::Sdparm] {
                let _ = parse(switch, &text);
            }
            let _ = chosen(&text);
        }
    }
}
