//! What a device holds, by the marks that file systems, volume managers and partition tables leave.
//!
//! Sources: the kernel's headers (linux/magic.h, raid/md_p.h, fs/*), the UEFI specification (GPT),
//! the LUKS, LVM2, ZFS and DRBD on-disk formats. A false alarm costs a `wipefs`; a miss costs data.
//! Two-byte marks are backed by further fields, or one random-filled drive in 65,536 would be
//! refused.

use std::{fs::File, io, os::unix::fs::FileExt};

/// The first bytes of a managed flash volume of drivelab's own (docs/reference/flash-format.md): no
/// run overwrites one.
pub const FLASH_MAGIC: [u8; 8] = *b"DLFLASH\0";
/// What it is called.
pub(super) const FLASH_NAME: &str = "a drivelab flash volume";

/// How much of each end is read. The outermost mark is a ZFS label, within 768 KiB of the end.
const END_BYTES: u64 = 1 << 20;

/// Marks at fixed offsets, unmistakable alone.
const MARKS: &[(&str, usize, &[u8])] = &[
    (FLASH_NAME, 0, &FLASH_MAGIC),
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    ("an F2FS file system", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a ReFS file system", 3, b"ReFS\0\0\0\0"),
    ("a BitLocker volume", 3, b"-FVE-FS-"),
    ("a FAT file system", 0x36, b"FAT12   "),
    ("a FAT file system", 0x36, b"FAT16   "),
    ("a FAT file system", 0x52, b"FAT32   "),
    ("a LUKS volume", 0, b"LUKS\xba\xbe"),
    ("an ISO 9660 file system", 0x8001, b"CD001"),
    ("a UDF file system", 0x8001, b"BEA01"),
    ("a SquashFS file system", 0, b"hsqs"),
    ("an EROFS file system", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("an HFS+ file system", 0x400, b"H+\0\x04"),
    ("an APFS container", 32, b"NXSB"),
    ("a JFS file system", 0x8000, b"JFS1"),
    ("a ReiserFS file system", 0x1_0034, b"ReIsEr"),
    ("a Ceph BlueStore device", 0, b"bluestore block device"),
    (
        "a bcache device",
        0x1018,
        &[
            0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
            0x6d, 0x81,
        ],
    ),
    (
        "a bcachefs file system",
        0x1018,
        &[
            0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d,
            0xf7, 0xef,
        ],
    ),
];

/// Names of every format recognised on a device (or image) of `bytes` bytes; empty when nothing is.
/// Only reads.
///
/// # Errors
/// When either end cannot be read.
pub fn signatures(file: &File, bytes: u64) -> io::Result<Vec<String>> {
    let ends = Ends::read(file, bytes)?;
    let mut found: Vec<&str> = MARKS
        .iter()
        .filter(|(_, offset, mark)| ends.has(*offset as u64, mark))
        .map(|(name, ..)| *name)
        .collect();
    if !found.contains(&FLASH_NAME) && has_volume_copy(file, bytes)? {
        found.push(FLASH_NAME);
    }
    found.extend(ext(&ends));
    found.extend(lvm(&ends));
    found.extend(luks2_second_header(&ends));
    found.extend(zfs(&ends));
    found.extend(md(&ends));
    found.extend(swap(&ends));
    found.extend(drbd(&ends));
    // A boot sector ends like a partition table; a file system already named explains it.
    let explained = !found.is_empty();
    found.extend(gpt(&ends).or_else(|| (!explained).then(|| mbr(&ends))?));
    found.dedup();
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// Whether a managed volume is on a device or in a file of `bytes` bytes, by any copy of its
/// superblock.
///
/// # Errors
/// When a place of one cannot be read.
pub fn holds_volume(file: &File, bytes: u64) -> io::Result<bool> {
    let mut start = [0; FLASH_MAGIC.len()];
    let is_whole = bytes >= start.len() as u64;
    if is_whole {
        file.read_exact_at(&mut start, 0)?;
    }
    Ok(is_whole && start == FLASH_MAGIC || has_volume_copy(file, bytes)?)
}

/// Copies 1 to 3 of a managed volume's superblock (docs/reference/flash-format.md): the last whole
/// block, one unit from the front, and two units from the last whole unit. The unit is not known
/// here: the usual ones are tried, so that a volume whose drive has grown and whose first copy is
/// damaged is seen, too. A superblock says its own offset.
fn has_volume_copy(file: &File, bytes: u64) -> io::Result<bool> {
    const BLOCK_BYTES: u64 = 4096;
    /// Erase units of flash are powers of two, or three, five or seven times one; so are stripes of
    /// up to eight disks.
    const UNIT_FACTORS: [u64; 4] = [1, 3, 5, 7];
    /// The largest unit that opening searches for.
    const UNIT_BYTES_MAX: u64 = 256 << 20;
    let last = (bytes / BLOCK_BYTES).saturating_sub(1) * BLOCK_BYTES;
    let mut places = vec![last];
    for factor in UNIT_FACTORS {
        let mut unit = factor * BLOCK_BYTES;
        while unit <= UNIT_BYTES_MAX && 4 * unit <= bytes {
            places.extend([unit, bytes / unit * unit - 2 * unit]);
            unit *= 2;
        }
    }
    let mut start = [0; 40];
    places.retain(|offset| offset + BLOCK_BYTES <= bytes);
    for offset in places {
        file.read_exact_at(&mut start, offset)?;
        if start[..8] == FLASH_MAGIC && start[32..] == offset.to_le_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first and the last mebibyte.
struct Ends {
    bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Ends {
    fn read(file: &File, bytes: u64) -> io::Result<Self> {
        let length = bytes.min(END_BYTES);
        let mut head = vec![0; length as usize];
        let mut tail = head.clone();
        file.read_exact_at(&mut head, 0)?;
        file.read_exact_at(&mut tail, bytes - length)?;
        Ok(Self { bytes, head, tail })
    }

    /// `length` bytes at `offset`; empty when they lie in neither end.
    fn at(&self, offset: u64, length: usize) -> &[u8] {
        let piece = |end: &'_ [u8], start: u64| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            (from.checked_add(length)? <= end.len()).then_some(from)
        };
        let tail_start = self.bytes - self.tail.len() as u64;
        match (piece(&self.head, 0), piece(&self.tail, tail_start)) {
            (Some(from), _) => &self.head[from..from + length],
            (None, Some(from)) => &self.tail[from..from + length],
            (None, None) => &[],
        }
    }

    fn has(&self, offset: u64, mark: &[u8]) -> bool {
        self.at(offset, mark.len()) == mark
    }

    fn u32_le(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.at(offset, 4).try_into().ok()?))
    }
}

/// Superblock at 1024 (Documentation/filesystems/ext4/super.rst): mark 0xEF53 at 0x38, log2 of the
/// block size at 0x18, revision at 0x4c, features at 0x5c and 0x60.
fn ext(ends: &Ends) -> Option<&'static str> {
    let field = |offset: u64| ends.u32_le(0x400 + offset);
    let plausible = field(0)? > 0 && field(4)? > 0 && field(0x18)? <= 6 && field(0x4c)? <= 1;
    if !ends.has(0x438, &[0x53, 0xef]) || !plausible {
        return None;
    }
    const JOURNAL: u32 = 0x4;
    const EXTENTS_64BIT_FLEX: u32 = 0x40 | 0x80 | 0x200;
    Some(if field(0x60)? & EXTENTS_64BIT_FLEX != 0 {
        "an ext4 file system"
    } else if field(0x5c)? & JOURNAL != 0 {
        "an ext3 file system"
    } else {
        "an ext2 file system"
    })
}

/// A label in one of the first four sectors.
fn lvm(ends: &Ends) -> Option<&'static str> {
    let label = |sector: u64| {
        ends.has(sector * 512, b"LABELONE") && ends.has(sector * 512 + 24, b"LVM2 001")
    };
    (0..4).any(label).then_some("an LVM2 physical volume")
}

/// LUKS2 keeps a second header, which survives a wiped first one.
fn luks2_second_header(ends: &Ends) -> Option<&'static str> {
    let offsets = (14..=20).map(|power| 1u64 << power);
    let found = { offsets }.any(|offset| ends.has(offset, b"SKUL\xba\xbe"));
    (found && !ends.has(0, b"LUKS\xba\xbe")).then_some("a LUKS2 second header")
}

/// Four labels of 256 KiB, two at each end; each keeps a ring of uberblocks in its upper half,
/// which begin with 0x00bab10c in the byte order of the writer.
fn zfs(ends: &Ends) -> Option<&'static str> {
    const LABEL: u64 = 256 << 10;
    let aligned = ends.bytes / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), aligned.checked_sub(2 * LABEL), aligned.checked_sub(LABEL)];
    let marks = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];
    let mut uberblocks = labels
        .into_iter()
        .flatten()
        .flat_map(|label| (128..256).map(move |slot| label + slot * 1024));
    uberblocks.any(|at| marks.iter().any(|mark| ends.has(at, mark))).then_some("a ZFS pool member")
}

/// Superblocks of md (raid/md_p.h): 1.1 at 0, 1.2 at 4 KiB, 1.0 in the last 8 to 12 KiB, 0.90 in
/// the last 64 to 128 KiB in the byte order of the writer.
fn md(ends: &Ends) -> Option<&'static str> {
    const MAGIC: u32 = 0xa92b_4efc;
    let version_1 =
        |offset: u64| ends.has(offset, &MAGIC.to_le_bytes()) && ends.u32_le(offset + 4) == Some(1);
    let sectors = ends.bytes / 512;
    let last = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
    let old = (ends.bytes & !0xffff).checked_sub(0x1_0000);
    let version_0 = |offset: u64| {
        ends.has(offset, &MAGIC.to_le_bytes()) || ends.has(offset, &MAGIC.to_be_bytes())
    };
    let found = version_1(0)
        || version_1(4096)
        || last.is_some_and(version_1)
        || old.is_some_and(version_0);
    found.then_some("an md array member")
}

/// The mark ends the first page, whatever the page's size was.
fn swap(ends: &Ends) -> Option<&'static str> {
    let pages = [4096u64, 8192, 16_384, 32_768, 65_536];
    let marks: [&[u8]; 3] = [b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0"];
    let found = pages.iter().any(|page| marks.iter().any(|mark| ends.has(page - 10, mark)));
    found.then_some("swap space")
}

/// Internal metadata in the last 4 KiB: magic at byte 60, big-endian, versions 8 (clean, unclean)
/// and 9.
fn drbd(ends: &Ends) -> Option<&'static str> {
    let at = (ends.bytes & !4095).checked_sub(4096)? + 60;
    let magics = [0x8374_026b_u32, 0x8374_026c, 0x8374_026d];
    magics.iter().any(|magic| ends.has(at, &magic.to_be_bytes())).then_some("DRBD metadata")
}

/// The header in block 1 and its copy in the last block, for blocks of 512 and 4096 bytes.
fn gpt(ends: &Ends) -> Option<&'static str> {
    let at = [Some(512), Some(4096), ends.bytes.checked_sub(512), ends.bytes.checked_sub(4096)];
    let found = at.into_iter().flatten().any(|offset| ends.has(offset, b"EFI PART"));
    found.then_some("a GPT partition table")
}

/// Four entries of 16 bytes at 446, each with a flag of 0 or 0x80, a type and a length.
fn mbr(ends: &Ends) -> Option<&'static str> {
    if !ends.has(510, &[0x55, 0xaa]) {
        return None;
    }
    let entries: Vec<&[u8]> = ends.at(446, 64).chunks(16).collect();
    let flags_fit = entries.iter().all(|entry| matches!(entry[0], 0 | 0x80));
    let used = |entry: &&[u8]| entry[4] != 0 && entry[12..16] != [0; 4];
    (flags_fit && entries.iter().any(used)).then_some("an MBR partition table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SIZE: u64 = 4 << 20;

    fn found_on(pieces: &[(u64, &[u8])]) -> Vec<String> {
        let mut image = vec![0u8; SIZE as usize];
        for (offset, piece) in pieces {
            image[*offset as usize..*offset as usize + piece.len()].copy_from_slice(piece);
        }
        found_in(&image)
    }

    fn found_in(image: &[u8]) -> Vec<String> {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(image).expect("the image is written");
        signatures(&file, image.len() as u64).expect("the image is read")
    }

    #[test]
    fn a_blank_device_and_one_full_of_random_bytes_hold_nothing() {
        assert!(found_on(&[]).is_empty());
        let mut image = vec![0u8; SIZE as usize];
        for seed in 0..8 {
            block::Rng::new(seed, 0).fill(&mut image);
            assert_eq!(found_in(&image), Vec::<String>::new(), "seed {seed}");
        }
    }

    #[test]
    fn every_fixed_mark_is_recognised_by_its_name() {
        for (name, offset, mark) in MARKS {
            assert_eq!(found_on(&[(*offset as u64, mark)]), [*name]);
        }
    }

    #[test]
    fn marks_at_the_end_are_recognised() {
        let cases: [(&str, u64, &[u8]); 5] = [
            ("an md array member", SIZE - 65_536, &[0xfc, 0x4e, 0x2b, 0xa9]),
            ("an md array member", SIZE - 8192, &[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0]),
            ("DRBD metadata", SIZE - 4096 + 60, &[0x83, 0x74, 0x02, 0x6d]),
            ("a GPT partition table", SIZE - 512, b"EFI PART"),
            (
                "a ZFS pool member",
                SIZE - (256 << 10) + (130 << 10),
                &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
            ),
        ];
        for (name, offset, mark) in cases {
            assert_eq!(found_on(&[(offset, mark)]), [name]);
        }
    }

    /// The first block of a managed volume was overwritten, by a boot loader or a flipped bit.
    /// drivelab opened the volume by its last copy, while the guard took the same device for blank
    /// and let a run destroy it.
    #[test]
    fn a_volume_is_recognised_by_each_copy_of_its_superblock() {
        let copy = |offset: u64| {
            let mut start = [0; 40];
            start[..8].copy_from_slice(&FLASH_MAGIC);
            start[32..].copy_from_slice(&offset.to_le_bytes());
            start
        };
        let unit = 192 << 10;
        for offset in [SIZE - 4096, 1 << 20, unit, SIZE / unit * unit - 2 * unit] {
            assert_eq!(found_on(&[(offset, &copy(offset))]), [FLASH_NAME], "{offset}");
            // A copy of another place is a file that somebody keeps.
            assert!(found_on(&[(offset, &copy(offset + 4096))]).is_empty(), "{offset}");
        }
        // The last whole block of a drive whose size is no multiple of one.
        let mut image = vec![0; SIZE as usize + 512];
        let last = SIZE - 4096;
        image[last as usize..][..40].copy_from_slice(&copy(last));
        assert_eq!(found_in(&image), [FLASH_NAME]);
    }

    #[test]
    fn a_partition_table_needs_a_used_entry() {
        let ending: (u64, &[u8]) = (510, &[0x55, 0xaa]);
        let mut entry = [0u8; 16];
        entry[4] = 0x83;
        entry[12] = 8;
        assert!(found_on(&[ending]).is_empty());
        assert_eq!(found_on(&[ending, (446, &entry)]), ["an MBR partition table"]);
        assert_eq!(
            found_on(&[ending, (446, &entry), (512, b"EFI PART")]),
            ["a GPT partition table"]
        );
        entry[0] = 7;
        assert!(found_on(&[ending, (446, &entry)]).is_empty());
    }

    #[test]
    fn swap_of_any_page_size_and_a_label_in_any_sector_are_recognised() {
        for page in [4096u64, 8192, 16_384, 65_536] {
            assert_eq!(found_on(&[(page - 10, b"SWAPSPACE2")]), ["swap space"]);
        }
        for sector in 0..4 {
            let label: [(u64, &[u8]); 2] =
                [(sector * 512, b"LABELONE"), (sector * 512 + 24, b"LVM2 001")];
            assert_eq!(found_on(&label), ["an LVM2 physical volume"]);
        }
    }

    #[test]
    fn tiny_devices_are_examined_without_a_panic() {
        for bytes in [0usize, 1, 511, 512, 4096, 8192, 70_000] {
            assert!(found_in(&vec![0; bytes]).is_empty());
        }
    }
}
