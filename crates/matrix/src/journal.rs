//! Where the journal of a file system lies: inside it, or on a second device, which is a loop
//! device over a file or a block device that was agreed to.
//!
//! ```text
//!   ext3, ext4   mkfs.ext4 -O journal_dev SECOND; mkfs.ext4 -J device=SECOND FIRST; mount FIRST
//!   xfs          mkfs.xfs -l logdev=SECOND FIRST; mount -o logdev=SECOND FIRST
//! ```

use crate::{
    axes::{Axes, Configuration},
    axis::Axis,
    error::{MatrixError, Refusal, RefusalKind},
    journal_place::Place,
};
use block::display_bytes;
use host::{Consent, Presence, Program, Reserved, Roots, guard::Identity, judge_destruction};
use std::path::{Path, PathBuf};

/// File systems whose journal can lie elsewhere, and the least that their mkfs takes there, bytes:
/// 1,024 blocks of 4 KiB (mke2fs(8), `-J size=`), and what mkfs.xfs(8) asks for since 5.19.
const SMALLEST: [(&str, u64); 3] = [("ext3", 4 << 20), ("ext4", 4 << 20), ("xfs", 64 << 20)];
/// The most that mkfs.xfs takes for a log, MiB: it refuses a larger device without a size.
const XFS_MOST_MIB: u64 = 2038;
/// The same for all levels: mke2fs chooses it by the size of each device, and a journal must have
/// the block size of its file system.
const EXT_BLOCK: &str = "4096";

impl Place {
    /// Where a configuration has its journal; a raw device has none.
    pub(crate) fn of_journal(configuration: &Configuration) -> Self {
        let level = configuration.level(Axis::Journal);
        level.map_or(Self::Inside, |level| Self::of(level).expect("a level was checked"))
    }
}

/// A second device, and its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// Its path.
    pub device: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Block devices that journals go onto, each held from the first turn to the last.
#[derive(Default)]
pub struct Journals(Vec<Named>);

struct Named {
    /// As it was typed: the level.
    level: PathBuf,
    device: Reserved,
    bytes: u64,
    presence: Presence,
}

impl Journals {
    /// What the levels name, if it may be overwritten and its file systems take it. `file_bytes` is
    /// the room for files, where files can be made; `first` the device that file systems go onto.
    ///
    /// # Errors
    /// What cannot be had, with the cure.
    pub(crate) fn choose(
        axes: &Axes,
        file_bytes: Option<u64>,
        first: Option<&Path>,
        consent: &Consent,
    ) -> Result<Self, MatrixError> {
        let mut taken: Vec<PathBuf> = first.into_iter().map(in_sysfs).collect();
        let mut named = Vec::new();
        for level in outside(axes) {
            let bytes = match Place::of(level).expect("a level was checked") {
                Place::Inside => continue,
                Place::File(bytes) => fitting(level, bytes, file_bytes)?,
                Place::Device(path) => {
                    let at = in_sysfs(&path);
                    if taken.iter().any(|one| one.starts_with(&at) || at.starts_with(one)) {
                        let text = "the matrix has this device already: name one for each place";
                        return Err(refusal(level, text));
                    }
                    taken.push(at);
                    named.push(Named::hold(path, consent)?);
                    named.last().expect("it was pushed").bytes
                }
            };
            check_file_systems(axes, level, bytes)?;
        }
        Ok(Self(named))
    }

    /// Refuses a journal elsewhere of a model.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn refuse_of_model(axes: &Axes) -> Result<(), MatrixError> {
        let text = "a model is attached as one device, and its power is cut as one: measure on a \
                    directory or a block device, or leave it inside";
        outside(axes).next().map_or(Ok(()), |level| Err(refusal(level, text)))
    }

    /// The second device of a configuration, if it is one of these.
    pub(crate) fn named(&self, configuration: &Configuration) -> Option<Outside> {
        self.of(configuration).map(Named::outside)
    }

    /// The same, judged anew: somebody may have put it to use since the last turn.
    ///
    /// # Errors
    /// Somebody has.
    pub(crate) fn judged_again(
        &self,
        configuration: &Configuration,
    ) -> Result<Option<(Outside, Identity)>, MatrixError> {
        let Some(one) = self.of(configuration) else { return Ok(None) };
        one.device.judge_again(&Roots::default())?;
        Ok(Some((one.outside(), one.device.identity().clone())))
    }

    /// All of them.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Reserved> {
        self.0.iter().map(|one| &one.device)
    }

    /// Says so where one is not there any more.
    pub(crate) fn gone(&self) -> Option<String> {
        let mut all = self.0.iter();
        all.find_map(|one| one.presence.sentence(&one.device.path().display().to_string()))
    }

    fn of(&self, configuration: &Configuration) -> Option<&Named> {
        let Place::Device(path) = Place::of_journal(configuration) else { return None };
        self.0.iter().find(|one| one.level == path)
    }
}

impl Named {
    fn hold(level: PathBuf, consent: &Consent) -> Result<Self, MatrixError> {
        let cleared = judge_destruction(&level, &Roots::default())?;
        let bytes = cleared.bytes();
        let device = cleared.confirm(consent)?.reserve()?;
        let presence = Presence::of_device(device.path(), &Roots::default());
        Ok(Self { level, device, bytes, presence })
    }

    fn outside(&self) -> Outside {
        Outside { device: self.device.path().to_owned(), bytes: self.bytes }
    }
}

/// Levels of the axis that are not inside.
fn outside(axes: &Axes) -> impl Iterator<Item = &str> {
    let of_journal = axes.iter().filter(|(axis, _)| *axis == Axis::Journal);
    let levels = of_journal.flat_map(|(_, levels)| levels.iter().map(String::as_str));
    levels.filter(|level| Place::of(level) != Some(Place::Inside))
}

/// Where /sys keeps a device; a partition lies in its drive's directory. What is none is itself.
fn in_sysfs(device: &Path) -> PathBuf {
    let device = device.canonicalize().unwrap_or_else(|_| device.to_owned());
    let name = device.file_name().unwrap_or_default();
    let at = Roots::default().sys.join("class/block").join(name);
    at.canonicalize().unwrap_or(device)
}

fn fitting(level: &str, bytes: u64, room: Option<u64>) -> Result<u64, MatrixError> {
    let text = match room {
        Some(room) if bytes <= room => return Ok(bytes),
        Some(room) => format!(
            "beside the first file {} may be taken there: name less for one of both",
            display_bytes(room)
        ),
        None => {
            "a size makes a file, and no directory was named for it: name a block device".to_owned()
        }
    };
    Err(refusal(level, &text))
}

fn check_file_systems(axes: &Axes, level: &str, bytes: u64) -> Result<(), MatrixError> {
    let all = axes.configurations();
    for fs in all.iter().map(Configuration::fs).filter(|fs| *fs != "raw") {
        let Some((_, least)) = SMALLEST.iter().find(|(known, _)| *known == fs) else {
            let can = SMALLEST.map(|(fs, _)| fs).join(", ");
            let text = format!(
                "{fs} has no journal that could lie on another device, as have {can}: leave {fs} \
                 out, or the journal inside"
            );
            return Err(refusal(level, &text));
        };
        if bytes < *least {
            let (least, has) = (display_bytes(*least), display_bytes(bytes));
            let text = format!("a journal of {fs} needs {least}, and this has {has}: name more");
            return Err(refusal(level, &text));
        }
    }
    Ok(())
}

fn refusal(level: &str, text: &str) -> MatrixError {
    Refusal::new(RefusalKind::Level(Axis::Journal), format!("{level}: {text}")).into()
}

fn is_ext(configuration: &Configuration) -> bool {
    matches!(configuration.fs(), "ext3" | "ext4")
}

/// The block size of ext3 and ext4 where the place of the journal is an axis and nobody named one.
pub(crate) fn block_size(configuration: &Configuration) -> Vec<String> {
    let is_named = typed_block_size(configuration).is_some();
    match is_ext(configuration) && configuration.level(Axis::Journal).is_some() && !is_named {
        true => vec!["-b".to_owned(), EXT_BLOCK.to_owned()],
        false => Vec::new(),
    }
}

/// The block size among the options of mkfs.
fn typed_block_size(configuration: &Configuration) -> Option<&str> {
    let mut words = configuration.level(Axis::Mkfs).unwrap_or_default().split_whitespace();
    let found = words.find_map(|word| word.strip_prefix("-b"))?;
    if found.is_empty() { words.next() } else { Some(found) }
}

/// What makes the journal itself, where mkfs of the file system does not.
pub(crate) fn making(configuration: &Configuration, outside: &Outside) -> Option<Program> {
    let device = outside.device.display().to_string();
    let block = typed_block_size(configuration).unwrap_or(EXT_BLOCK);
    let program = format!("mkfs.{}", configuration.fs());
    let words = [&program, "-q", "-F", "-O", "journal_dev", "-b", block, &device];
    is_ext(configuration).then(|| Program::new(words.map(str::to_owned)))
}

/// What mkfs is told of the second device.
pub(crate) fn naming(configuration: &Configuration, outside: &Outside) -> [String; 2] {
    let device = outside.device.display();
    match is_ext(configuration) {
        true => ["-J".to_owned(), format!("device={device}")],
        false if outside.bytes > XFS_MOST_MIB << 20 => {
            ["-l".to_owned(), format!("logdev={device},size={XFS_MOST_MIB}m")]
        }
        false => ["-l".to_owned(), format!("logdev={device}")],
    }
}

/// What mount is told of it; ext3 and ext4 have it in their superblock.
pub(crate) fn mount_option(configuration: &Configuration, outside: &Outside) -> Option<String> {
    (!is_ext(configuration)).then(|| format!("logdev={}", outside.device.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(words: &[(Axis, &str)]) -> Axes {
        Axes::of(words.iter().copied()).expect("levels")
    }

    fn refused_here(words: &[(Axis, &str)], room: Option<u64>) -> String {
        let chosen = Journals::choose(&axes(words), room, None, &Consent::default());
        chosen.err().expect("it cannot be had").to_string()
    }

    #[test]
    fn what_cannot_have_a_journal_elsewhere_is_refused_with_the_cure() {
        let room = Some(1 << 30);
        let of = |fs, journal| refused_here(&[(Axis::Fs, fs), (Axis::Journal, journal)], room);
        assert!(of("btrfs", "64M").contains("leave btrfs out"));
        assert!(of("ext4,ext2", "64M").contains("ext2 has no journal that could lie"));
        assert!(of("ext4", "1M").contains("needs 4 MiB, and this has 1 MiB"));
        assert!(of("xfs", "32M").contains("needs 64 MiB"));
        assert!(of("xfs", "2G").contains("beside the first file 1 GiB may be taken"));
        let without = refused_here(&[(Axis::Fs, "xfs"), (Axis::Journal, "64M")], None);
        assert!(without.contains("name a block device"), "{without}");
        let inside = axes(&[(Axis::Fs, "btrfs"), (Axis::Journal, "inside")]);
        assert!(Journals::choose(&inside, None, None, &Consent::default()).is_ok());
    }

    #[test]
    fn a_journal_has_the_block_size_of_its_file_system() {
        let one = |words: &[(Axis, &str)]| axes(words).configurations().remove(0);
        let outside = Outside { device: "/dev/loop9".into(), bytes: 4 << 30 };
        let words = [(Axis::Fs, "ext4"), (Axis::Journal, "4G")];
        let plain = one(&words);
        assert_eq!(block_size(&plain), ["-b", "4096"]);
        let made = making(&plain, &outside).expect("a step of its own").to_string();
        assert_eq!(made, "mkfs.ext4 -q -F -O journal_dev -b 4096 /dev/loop9");
        let typed = one(&[&words[..], &[(Axis::Mkfs, "-b 1024")]].concat());
        assert_eq!(block_size(&typed), [""; 0]);
        assert!(making(&typed, &outside).expect("a step").to_string().contains("-b 1024"));
        let xfs = one(&[(Axis::Fs, "xfs"), (Axis::Journal, "4G")]);
        assert_eq!(naming(&xfs, &outside), ["-l", "logdev=/dev/loop9,size=2038m"]);
        assert_eq!(making(&xfs, &outside), None);
    }
}
