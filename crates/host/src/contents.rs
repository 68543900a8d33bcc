//! What a file or device really holds: holes, extents never written, blocks of zeros. Reading those
//! touches no drive, and a read test of them measures memory (49 to 55 times too fast on one
//! machine).

use crate::{error::HostError, findings::Findings};
use block::{Buf, Rng, display_bytes, is_zero};
use engine::{
    Access, Caching, OpenErrorKind, Syncing,
    raw::{ExtentFlags, FileExtent, extents, holes},
    reopen,
};
use record::Flag;
use rustix::{
    fs::{Advice, SeekFrom, fadvise, seek},
    io::Errno,
};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

/// Holes or unwritten extents above this share of a file raise their flag: at 1 % they may change a
/// rate by 1 %, half the band within which two results count as the same.
const EMPTY_SHARE_MAX: f64 = 0.01;
/// All-zero blocks above this share of a sample raise `deallocated_blocks`.
const ZERO_SHARE_MAX: f64 = 0.05;
/// Fewer sampled blocks than these say nothing.
const SAMPLE_MIN: u64 = 20;
/// Bytes of one sampled block.
const SAMPLE_BYTES: u64 = 4096;

/// A file's bytes by what reading them does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileContents {
    /// Length of the file.
    pub bytes: u64,
    /// In holes.
    pub hole_bytes: u64,
    /// In extents that were allocated (fallocate) but never written.
    pub unwritten_bytes: u64,
    /// In extents that the file system compressed or encrypted.
    pub encoded_bytes: u64,
}

impl FileContents {
    /// The file's length without holes and unwritten extents.
    pub fn data_bytes(&self) -> u64 {
        self.bytes - self.hole_bytes - self.unwritten_bytes
    }

    /// Whether every byte was really written.
    pub fn is_full(&self) -> bool {
        self.hole_bytes == 0 && self.unwritten_bytes == 0
    }

    /// `sparse_file` and `unwritten_extents`, each above 1 %, and `compressing_target`.
    pub fn findings(&self, path: &Path) -> Findings {
        let mut findings = Findings::default();
        let path = path.display();
        let is_much = |bytes: u64| bytes as f64 > EMPTY_SHARE_MAX * self.bytes as f64;
        let share = |bytes: u64| {
            let percent = bytes as f64 / self.bytes as f64 * 100.0;
            format!("{} of {} ({percent:.0} %)", display_bytes(bytes), display_bytes(self.bytes))
        };
        if is_much(self.hole_bytes) {
            let sentence =
                format!("{} in {path} are holes, read from no drive", share(self.hole_bytes));
            findings.add(Flag::SparseFile, &sentence);
        }
        if is_much(self.unwritten_bytes) {
            let share = share(self.unwritten_bytes);
            let sentence =
                format!("{share} in {path} were allocated and never written, read from no drive");
            findings.add(Flag::UnwrittenExtents, &sentence);
        }
        if is_much(self.encoded_bytes) {
            let share = share(self.encoded_bytes);
            let sentence = format!("{share} in {path} are stored compressed or encrypted");
            findings.add(Flag::CompressingTarget, &sentence);
        }
        findings
    }
}

/// Holes and unwritten extents of an open file; `path` is for errors. Dirty pages are written
/// first, so that data whose place is not chosen yet (delayed allocation) does not look like a
/// hole.
///
/// Where the file system has no extent map, holes come from `SEEK_HOLE`, and unwritten extents
/// count as holes or data as that file system sees them.
///
/// # Errors
/// When the file cannot be asked.
pub fn file_contents(file: &File, path: &Path) -> Result<FileContents, HostError> {
    contents_of(file).map_err(|error| HostError::io("map the extents of", path, error))
}

/// Whether an open file holds anything: any of its length that is no hole. How much space a file
/// takes is no answer: in user space (FUSE) and on others it is 0 whatever the file holds.
///
/// # Errors
/// When the file cannot be asked.
pub fn has_data(file: &File) -> io::Result<bool> {
    match seek(file, SeekFrom::Data(0)) {
        Ok(_) => Ok(true),
        Err(Errno::NXIO) => Ok(false),
        // A file system that knows no holes.
        Err(Errno::INVAL) => Ok(file.metadata()?.len() > 0),
        Err(error) => Err(error.into()),
    }
}

/// Whether every byte of an open file was really written: no hole, no unwritten extent.
///
/// # Errors
/// When the file cannot be asked.
pub fn allocated_fully(file: &File) -> io::Result<bool> {
    Ok(contents_of(file)?.is_full())
}

fn contents_of(file: &File) -> io::Result<FileContents> {
    let bytes = file.metadata()?.len();
    match file.sync_data() {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EROFS | libc::EINVAL)) => {
            return Err(error);
        }
        // A read-only file system has no dirty pages.
        Ok(()) | Err(_) => {}
    }
    match extents(file) {
        Ok(extents) => Ok(sum(bytes, &extents)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => {
            Ok(FileContents { bytes, hole_bytes: holes(file, 0..bytes)?, ..Default::default() })
        }
        Err(error) => Err(error),
    }
}

/// Extents may overlap the end of the file; what none covers is a hole.
fn sum(bytes: u64, extents: &[FileExtent]) -> FileContents {
    let mut contents = FileContents { bytes, ..FileContents::default() };
    let mut covered = 0u64;
    for extent in extents {
        let start = extent.offset.max(covered).min(bytes);
        let end = extent.offset.saturating_add(extent.bytes).min(bytes).max(start);
        contents.hole_bytes += start - covered.min(start);
        covered = covered.max(end);
        if extent.flags.has(ExtentFlags::UNWRITTEN) {
            contents.unwritten_bytes += end - start;
        } else if extent.flags.has(ExtentFlags::ENCODED) {
            contents.encoded_bytes += end - start;
        }
    }
    contents.hole_bytes += bytes - covered;
    contents
}

/// Random blocks of a file or device and how many of them were all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ZeroSample {
    /// Blocks of 4 KiB read.
    pub blocks: u64,
    /// Of those, all zeros.
    pub zero_blocks: u64,
}

impl ZeroSample {
    /// Share of all-zero blocks, 0 when nothing was read.
    pub fn share(&self) -> f64 {
        self.zero_blocks as f64 / self.blocks.max(1) as f64
    }

    /// `deallocated_blocks` above 5 % of at least 20 blocks.
    pub fn findings(&self, path: &Path) -> Findings {
        let mut findings = Findings::default();
        if self.blocks >= SAMPLE_MIN && self.share() > ZERO_SHARE_MAX {
            let sentence = format!(
                "{} of {} blocks sampled on {} are all zeros, which a drive answers from its map",
                self.zero_blocks,
                self.blocks,
                path.display()
            );
            findings.add(Flag::DeallocatedBlocks, &sentence);
        }
        findings
    }
}

/// Reads `blocks` random blocks of 4 KiB from the first `span_bytes` of an open file or device,
/// past the page cache where the file system allows it, and counts those of zeros only. `seed`
/// decides which; `path` is for errors. After `time` no further block is begun.
///
/// # Errors
/// When it cannot be opened once more or a block cannot be read.
pub fn sample_zeros(
    held: &File,
    path: &Path,
    span_bytes: u64,
    blocks: u64,
    time: Duration,
    seed: u64,
) -> Result<ZeroSample, HostError> {
    let fail = |error| HostError::io("sample", path, error);
    let file = open_direct(held, path).map_err(fail)?;
    let end = seek(&file, SeekFrom::End(0)).map_err(|error| fail(error.into()))?;
    let end = end.min(span_bytes);
    let mut sample = ZeroSample::default();
    if end < SAMPLE_BYTES {
        return Ok(sample);
    }
    let mut rng = Rng::new(seed, 0);
    let mut buffer = Buf::zeroed(SAMPLE_BYTES as usize);
    let begun = Instant::now();
    while sample.blocks < blocks && begun.elapsed() < time {
        let offset = rng.below(end / SAMPLE_BYTES) * SAMPLE_BYTES;
        file.read_exact_at(buffer.bytes_mut(), offset).map_err(fail)?;
        sample.blocks += 1;
        sample.zero_blocks += u64::from(is_zero(buffer.bytes()));
    }
    Ok(sample)
}

/// Direct where possible; else buffered, without read-ahead.
fn open_direct(held: &File, path: &Path) -> io::Result<File> {
    let open = |caching| reopen(held, path, Access::Read, caching, Syncing::None);
    match open(Caching::Direct) {
        Err(error) if error.kind == OpenErrorKind::DirectRefused => {
            let file = open(Caching::Buffered).map_err(io::Error::other)?;
            // Advice only: without it the sample is right and merely slower.
            let _ = fadvise(&file, 0, None, Advice::Random);
            Ok(file)
        }
        opened => opened.map_err(io::Error::other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: ExtentFlags = ExtentFlags(0);

    fn extent(offset: u64, bytes: u64, flags: ExtentFlags) -> FileExtent {
        FileExtent { offset, device_offset: 0, bytes, flags }
    }

    #[test]
    fn what_no_extent_covers_is_a_hole_and_the_tail_beyond_the_end_counts_not() {
        let extents = [
            extent(4096, 4096, WRITTEN),
            extent(8192, 8192, ExtentFlags::UNWRITTEN),
            extent(20_480, 8192, WRITTEN),
        ];
        let contents = sum(25_000, &extents);
        assert_eq!(contents.hole_bytes, 4096 + 4096);
        assert_eq!(contents.unwritten_bytes, 8192);
        assert_eq!(contents.data_bytes(), 25_000 - 16_384);
        assert_eq!(sum(10, &[]).hole_bytes, 10);
        assert!(sum(0, &[]).is_full());
    }

    #[test]
    fn flags_rise_above_one_per_cent_only() {
        let holes = |hole_bytes| FileContents { bytes: 1000, hole_bytes, ..Default::default() };
        assert!(holes(10).findings(Path::new("f")).flags.is_empty());
        assert_eq!(holes(11).findings(Path::new("f")).flags, [Flag::SparseFile]);
        assert!(FileContents::default().findings(Path::new("f")).flags.is_empty());
    }

    #[test]
    fn five_per_cent_of_zeros_are_still_no_finding() {
        let sample = |zero_blocks| ZeroSample { blocks: 1000, zero_blocks };
        assert!(sample(50).findings(Path::new("d")).flags.is_empty());
        assert_eq!(sample(51).findings(Path::new("d")).flags, [Flag::DeallocatedBlocks]);
        assert!(ZeroSample::default().findings(Path::new("d")).flags.is_empty());
        let few = |blocks| ZeroSample { blocks, zero_blocks: blocks };
        assert!(few(19).findings(Path::new("d")).flags.is_empty(), "too few to say");
        assert_eq!(few(20).findings(Path::new("d")).flags, [Flag::DeallocatedBlocks]);
    }
}
