//! Where the files of a tree lie, what they are called, and how large they are: all of it from a
//! number.

use block::{Rng, display_bytes, parse_bytes};
use std::fmt::{self, Write};

/// Most files of a tree: the visiting order takes four bytes of memory a file.
pub const TREE_FILES_MAX: u64 = 1 << 22;
/// Largest file: 1 GiB. Larger ones are what the block workloads are for.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Files take whole blocks; 4 KiB is the smallest unit of the usual file systems, and what a
/// directory takes at least.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;

/// What the random draws of a tree are for, so that no two use the same numbers.
const SIZES: u64 = 0x7eee_0001;
const NAMES: u64 = 0x7eee_0002;

/// The shape of a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeLayout {
    /// How many files.
    pub files: u64,
    /// How large each is.
    pub size: FileSize,
    /// How many directories hold files; file i lies in directory i x directories / files.
    pub directories: u32,
    /// Directories above each of those, the tree's root not counted, plus one; 0: the files lie in
    /// the root.
    pub depth: u32,
    /// What the files are called.
    pub naming: Naming,
    /// Directories of one level in the level above.
    fan_out: u32,
}

/// How large the files are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FileSize {
    /// All alike.
    Fixed(u64),
    /// Every size from the first to the last as likely as any other.
    Range(u64, u64),
    /// The logarithm of the size is normally distributed: many small files, few large ones.
    LogNormal {
        /// Half of the files are smaller.
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

/// What the files are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Naming {
    /// Names that sort in the order of creation.
    #[default]
    Ordered,
    /// Names that begin with random digits.
    Random,
}

impl Naming {
    /// Every word that [`Naming::parse`] knows.
    pub const NAMES: &[&str] = &["ordered", "random"];

    /// Reads the names above.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "ordered" => Some(Self::Ordered),
            "random" => Some(Self::Random),
            _ => None,
        }
    }
}

impl fmt::Display for Naming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::NAMES[*self as usize])
    }
}

impl FileSize {
    /// Reads `4KiB`, `1KiB..16KiB`, `lognormal:8KiB:1.5` (median and sigma).
    ///
    /// # Errors
    /// A sentence with what is wrong, or the three forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = |part: &str| {
            let bytes =
                if part == "0" { Ok(0) } else { parse_bytes(part).map_err(|e| e.to_string()) };
            bytes.map_err(|error| format!("file_size = `{text}`: {error}")).and_then(in_bounds)
        };
        if let Some(rest) = text.strip_prefix("lognormal:") {
            let (median, sigma) = rest.split_once(':').unwrap_or((rest, "1"));
            let sigma: f64 = sigma.parse().unwrap_or(f64::NAN);
            if !(0.0..=4.0).contains(&sigma) {
                return Err(format!("file_size = `{text}`: sigma is a number from 0 to 4"));
            }
            return Ok(Self::LogNormal { median: bytes(median)?.max(1), sigma });
        }
        match text.split_once("..") {
            Some((low, high)) => match (bytes(low)?, bytes(high)?) {
                (low, high) if low < high => Ok(Self::Range(low, high)),
                _ => Err(format!("file_size = `{text}`: the first size must be the smaller one")),
            },
            None => bytes(text).map(Self::Fixed),
        }
    }

    /// The mean of the distribution, bytes. A log-normal one's is median x exp(sigma^2 / 2); its
    /// cut at 1 GiB is not counted.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(bytes) => bytes as f64,
            Self::Range(low, high) => (low + high) as f64 / 2.0,
            Self::LogNormal { median, sigma } => median as f64 * (sigma * sigma / 2.0).exp(),
        }
    }

    fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Range(low, high) => low + rng.below(high - low + 1),
            Self::LogNormal { median, sigma } => {
                // Box and Muller (1958); 1 - u is never 0.
                let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * rng.unit()).cos();
                let bytes = median as f64 * (sigma * normal).exp();
                (bytes as u64).min(FILE_BYTES_MAX)
            }
        }
    }
}

fn in_bounds(bytes: u64) -> Result<u64, String> {
    if bytes <= FILE_BYTES_MAX {
        return Ok(bytes);
    }
    Err(format!(
        "a tree's files have up to {}: larger ones are what block workloads are for",
        display_bytes(FILE_BYTES_MAX)
    ))
}

impl fmt::Display for FileSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(formatter, "{}", display_bytes(*bytes)),
            Self::Range(low, high) => {
                write!(formatter, "{} to {}", display_bytes(*low), display_bytes(*high))
            }
            Self::LogNormal { median, sigma } => {
                write!(formatter, "log-normal, median {}, sigma {sigma}", display_bytes(*median))
            }
        }
    }
}

/// Which of a file's names is meant, by its first letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// As created.
    File,
    /// As renamed.
    Renamed,
    /// A second name.
    Link,
    /// Not a file: an empty directory that `mkdir` made.
    Directory,
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Renamed => 'r',
            Self::Link => 'l',
            Self::Directory => 'd',
        }
    }
}

impl TreeLayout {
    /// A tree of `files` files in `directories` directories, which lie `depth` levels deep.
    ///
    /// # Panics
    /// Without files or directories, with more directories than files, or with several of them at
    /// depth 0.
    pub fn new(files: u64, size: FileSize, directories: u32, depth: u32, naming: Naming) -> Self {
        assert!(
            (1..=TREE_FILES_MAX).contains(&files),
            "a tree has files, and numbers for all of them"
        );
        assert!((1..=files).contains(&u64::from(directories)), "no directory is without files");
        assert!(depth > 0 || directories == 1, "several directories lie below the root");
        // The least with which the levels hold all.
        let holds =
            |fan: u32| u64::from(fan).saturating_pow(depth.max(1)) >= u64::from(directories);
        let fan_out = (1..=directories).find(|fan| holds(*fan)).expect("one level holds all");
        Self { files, size, directories, depth, naming, fan_out }
    }

    /// Size of file `number` under this seed, bytes.
    pub fn file_bytes(&self, seed: u64, number: u64) -> u64 {
        match self.size {
            FileSize::Fixed(bytes) => bytes,
            size => size.draw(&mut Rng::new(seed, SIZES ^ number << 32)),
        }
    }

    /// Bytes of all files under this seed.
    pub fn bytes(&self, seed: u64) -> u64 {
        match self.size {
            FileSize::Fixed(bytes) => bytes * self.files,
            _ => (0..self.files).map(|number| self.file_bytes(seed, number)).sum(),
        }
    }

    /// What the tree takes of a file system at most, bytes: whole blocks for the files, and a block
    /// for each directory and for every sixteen names (an inode of 256 B each).
    pub fn space_bytes(&self, seed: u64) -> u64 {
        let block = FILE_SYSTEM_BLOCK_BYTES;
        let files = match self.size {
            FileSize::Fixed(bytes) => bytes.next_multiple_of(block) * self.files,
            _ => self.bytes(seed) + self.files * block,
        };
        files + (self.files / 16 + self.directories_all() as u64) * block
    }

    /// Directories of all levels, the root not counted.
    pub fn directories_all(&self) -> usize {
        self.directory_paths().len()
    }

    /// Every directory of the tree, the root not counted, parents before children.
    pub fn directory_paths(&self) -> Vec<String> {
        let (mut paths, mut path) = (Vec::new(), String::new());
        for leaf in 0..self.directories {
            self.directory(leaf, &mut path);
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            paths.extend(ends.map(|end| path[..end].to_owned()).filter(|part| !part.is_empty()));
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// Writes the path of directory `leaf` over `path`; empty for the root.
    pub fn directory(&self, leaf: u32, path: &mut String) {
        path.clear();
        let fan = u64::from(self.fan_out);
        for level in (0..self.depth).rev() {
            let branch = u64::from(leaf) / fan.saturating_pow(level) % fan;
            let slash = if path.is_empty() { "" } else { "/" };
            write!(path, "{slash}t{branch}").expect("a string takes everything");
        }
    }

    /// The directory that holds file `number`.
    pub fn leaf_of(&self, number: u64) -> u32 {
        (u128::from(number) * u128::from(self.directories) / u128::from(self.files)) as u32
    }

    /// Writes a name of file `number` behind its directory's path.
    pub(super) fn name(&self, seed: u64, number: u64, kind: Kind, path: &mut String) {
        let digits = Rng::new(seed, NAMES ^ number << 32).next() as u32;
        if !path.is_empty() {
            path.push('/');
        }
        let letter = kind.letter();
        match self.naming {
            Naming::Ordered => write!(path, "{letter}{number:010x}{digits:08x}"),
            Naming::Random => write!(path, "{letter}{digits:08x}{number:010x}"),
        }
        .expect("a string takes everything");
    }

    /// The number in a name of this kind; `None` for other names.
    pub(super) fn number_in(&self, name: &str, kind: Kind) -> Option<u64> {
        let digits = name.strip_prefix(kind.letter()).filter(|digits| digits.len() == 18)?;
        let number = match self.naming {
            Naming::Ordered => digits.get(..10)?,
            Naming::Random => digits.get(8..)?,
        };
        u64::from_str_radix(number, 16).ok().filter(|number| *number < self.files)
    }
}
