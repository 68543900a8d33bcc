//! ATA drives behind a SCSI translation (SAT-4: ATA PASS-THROUGH): identity (ACS-4, 7.12), SMART
//! attributes (SFF-8035), device statistics (ACS-4, 9.5).

use super::{scsi, u16_le, u64_le};
use crate::error::{ErrorKind, HostError};
use record::Health;
use std::{collections::BTreeMap, fs::File};

const SECTOR_BYTES: usize = 512;
const IDENTIFY_DEVICE: u8 = 0xec;
const SMART: u8 = 0xb0;
const READ_LOG_EXT: u8 = 0x2f;
/// Attributes that are kept as they are: what their numbers count is the vendor's.
const KEPT: [u8; 12] = [5, 9, 177, 187, 190, 194, 197, 198, 199, 233, 241, 246];

/// A drive's IDENTIFY DEVICE data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity(Vec<u8>);

impl Identity {
    /// Asks the drive for it.
    ///
    /// # Errors
    /// When the drive, or what translates for it, refuses.
    pub(crate) fn ask(node: &File, name: &str) -> Result<Self, HostError> {
        let command = pass_through(Protocol::Short, IDENTIFY_DEVICE, 0, 0);
        Ok(Self(sector(node, name, "IDENTIFY DEVICE", command)?))
    }

    /// From the kernel's file `ata_device/devN.M/id`: 256 words in hexadecimal.
    pub(crate) fn from_words(text: &str) -> Option<Self> {
        let words = text.split_whitespace().map(|word| u16::from_str_radix(word, 16));
        let words: Vec<u16> = words.collect::<Result<_, _>>().ok()?;
        (words.len() == 256)
            .then(|| Self(words.iter().flat_map(|word| word.to_le_bytes()).collect()))
    }

    /// Whether the write cache is on; none where the drive does not tell, or has no switch.
    pub(crate) fn write_cache(&self) -> Option<bool> {
        let (can, does) = (self.word(82)?, self.word(85)?);
        let has_switch = !matches!(can, 0 | 0xffff) && can & 1 << 5 != 0;
        has_switch.then_some(does & 1 << 5 != 0)
    }

    /// The fastest Serial ATA signalling that the drive can do, Gbit/s.
    pub(crate) fn gigabits_max(&self) -> Option<f64> {
        let can = self.word(76).filter(|word| !matches!(word, 0 | 0xffff))?;
        [(3, 6.0), (2, 3.0), (1, 1.5)]
            .into_iter()
            .find(|(bit, _)| can & 1 << bit != 0)
            .map(|it| it.1)
    }

    fn has_smart(&self) -> bool {
        self.word(85).is_some_and(|word| word != 0xffff && word & 1 != 0)
    }

    fn has_logs(&self) -> bool {
        // The two highest bits are 01 where the word says anything.
        [84, 87].into_iter().filter_map(|at| self.word(at)).any(|w| w >> 14 == 1 && w & 1 << 5 != 0)
    }

    fn word(&self, at: usize) -> Option<u16> {
        u16_le(&self.0, 2 * at)
    }
}

/// Whether the drive's write cache is on.
///
/// # Errors
/// When the drive does not tell.
pub(crate) fn write_cache(node: &File, name: &str) -> Result<bool, HostError> {
    Identity::ask(node, name)?.write_cache().ok_or_else(|| {
        let sentence = format!("{name} says that it has no write cache to switch");
        HostError::new(ErrorKind::WrongKind, sentence)
    })
}

/// What the drive, of logical sectors of `block_bytes`, says of its health.
///
/// # Errors
/// When it cannot be asked at all.
pub(crate) fn health(node: &File, name: &str, block_bytes: u64) -> Result<Health, HostError> {
    let identity = Identity::ask(node, name)?;
    let mut health = Health { source: "ata".to_owned(), ..Health::default() };
    if identity.has_smart() {
        let command = pass_through(Protocol::Short, SMART, 0xd0, 0xc2_4f00);
        if let Ok(data) = sector(node, name, "SMART READ DATA", command) {
            learn_attributes(&mut health, &data);
        }
    }
    let log = |number: u64, page: u64| {
        let command = pass_through(Protocol::Long, READ_LOG_EXT, 0, number | page << 8);
        sector(node, name, "READ LOG EXT", command).unwrap_or_default()
    };
    // A log that is not there is not asked for: the drive would note an error.
    if identity.has_logs() && u16_le(&log(0, 0), 2 * 4).is_some_and(|pages| pages > 0) {
        let listed = log(4, 0);
        for page in [1, 4, 5, 6, 7] {
            if statistics_listed(&listed).contains(&page) {
                learn_statistics(&mut health, page, &log(4, u64::from(page)), block_bytes);
            }
        }
    }
    Ok(health)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    /// Registers of 28 bits.
    Short,
    /// Of 48.
    Long,
}

/// ATA PASS-THROUGH (16) for a command that gives one sector, by PIO.
fn pass_through(protocol: Protocol, command: u8, feature: u8, lba: u64) -> [u8; 16] {
    let [lba0, lba1, lba2, lba3, lba4, lba5, ..] = lba.to_le_bytes();
    let extended = u8::from(protocol == Protocol::Long);
    [
        0x85,
        4 << 1 | extended,
        // From the device; the sector count says how many blocks of 512 bytes.
        0x0e,
        0,
        feature,
        0,
        1,
        lba3,
        lba0,
        lba4,
        lba1,
        lba5,
        lba2,
        0,
        command,
        0,
    ]
}

fn sector(node: &File, name: &str, what: &str, command: [u8; 16]) -> Result<Vec<u8>, HostError> {
    let mut data = vec![0; SECTOR_BYTES];
    let bytes = scsi::ask(node, name, what, &command, &mut data)?;
    if bytes == SECTOR_BYTES {
        return Ok(data);
    }
    let sentence = format!("{name} gives {bytes} B where {what} has {SECTOR_BYTES} B");
    Err(HostError::new(ErrorKind::Io, sentence))
}

/// Thirty entries of twelve bytes from byte 2 on: number, flags, value, worst value, six bytes of
/// the vendor's. The last byte makes the sum zero.
fn learn_attributes(health: &mut Health, data: &[u8]) {
    let sum = data.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    if data.len() != SECTOR_BYTES || sum != 0 {
        return;
    }
    let mut raw = BTreeMap::new();
    for entry in data[2..2 + 30 * 12].chunks_exact(12).filter(|entry| KEPT.contains(&entry[0])) {
        let number = entry[5..11].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        raw.insert(entry[0], number);
    }
    let of = |number: u8| raw.get(&number).copied();
    // The rest of these six bytes holds the lowest and the highest.
    let celsius = of(194).or(of(190)).map(|raw| f64::from(raw as u8 as i8));
    health.temperature_celsius = celsius.filter(|celsius| *celsius != 0.0);
    // Some vendors keep minutes or seconds in the upper bytes.
    health.power_on_hours = of(9).map(|raw| raw & 0xffff_ffff);
    health.reallocated_sectors = of(5).map(|raw| raw & 0xffff_ffff);
    health.pending_sectors = of(197).map(|raw| raw & 0xffff_ffff);
    health.media_errors = of(187).map(|raw| raw & 0xffff);
    health.link_errors = of(199);
    health.attributes = raw.into_iter().map(|(number, raw)| (number.to_string(), raw)).collect();
}

/// The pages that the list (page 0) names: their count at byte 8, then their numbers.
fn statistics_listed(list: &[u8]) -> &[u8] {
    let count = list.get(8).map_or(0, |&count| usize::from(count));
    let numbers = list.get(9..).unwrap_or_default();
    &numbers[..count.min(numbers.len())]
}

/// Each statistic is eight bytes: flags in the highest (bit 7 supported, bit 6 valid), a number
/// below.
fn learn_statistics(health: &mut Health, page: u8, data: &[u8], block_bytes: u64) {
    // Byte 2 of the page is its number.
    if data.get(2) != Some(&page) {
        return;
    }
    let at = |offset: usize| {
        let word = u64_le(data, offset)?;
        (word >> 62 == 3).then_some(word & ((1 << 48) - 1))
    };
    let keep = |field: &mut Option<u64>, found: Option<u64>| *field = found.or(*field);
    let sectors = |offset| at(offset).and_then(|count| count.checked_mul(block_bytes));
    match page {
        1 => {
            keep(&mut health.power_on_hours, at(16).map(|hours| hours & 0xffff_ffff));
            keep(&mut health.written_bytes, sectors(24));
            keep(&mut health.read_bytes, sectors(40));
        }
        4 => keep(&mut health.media_errors, at(8).map(|count| count & 0xffff_ffff)),
        5 => {
            let celsius = at(8).map(|word| f64::from(word as u8 as i8));
            health.temperature_celsius = celsius.or(health.temperature_celsius);
            let minutes = at(80).map(|minutes| minutes & 0xffff_ffff);
            keep(&mut health.too_hot_minutes, minutes);
        }
        6 => keep(&mut health.link_errors, at(24).map(|count| count & 0xffff_ffff)),
        7 => keep(&mut health.percentage_used, at(8).map(|word| word & 0xff)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(words: &[(usize, u16)]) -> Identity {
        let mut bytes = vec![0; SECTOR_BYTES];
        for (at, word) in words {
            bytes[2 * at..2 * at + 2].copy_from_slice(&word.to_le_bytes());
        }
        Identity(bytes)
    }

    #[test]
    fn an_identity_tells_cache_speed_and_logs() {
        let drive = identity(&[(76, 0x850e), (82, 0x7461), (84, 0x4123), (85, 0x7461)]);
        assert_eq!(drive.write_cache(), Some(true));
        assert_eq!(drive.gigabits_max(), Some(6.0));
        assert!(drive.has_smart() && drive.has_logs());
        let drive = identity(&[(76, 0x0006), (82, 0x0020), (85, 0x0001)]);
        assert_eq!((drive.write_cache(), drive.gigabits_max()), (Some(false), Some(3.0)));
        assert!(!drive.has_logs());
        // No cache to switch; an old drive with nothing in these words.
        assert_eq!(identity(&[(82, 0x0001), (85, 0x0020)]).write_cache(), None);
        assert_eq!(identity(&[(76, 0xffff), (82, 0xffff)]).gigabits_max(), None);
    }

    #[test]
    fn the_kernel_s_text_of_an_identity_is_read() {
        let mut words = vec!["0000"; 256];
        (words[82], words[85], words[76]) = ("0020", "0020", "000e");
        let text = words.chunks(16).map(|line| line.join(" ") + "\n").collect::<String>();
        let drive = Identity::from_words(&text).expect("256 words");
        assert_eq!((drive.write_cache(), drive.gigabits_max()), (Some(true), Some(6.0)));
        assert_eq!(Identity::from_words("0020 0020"), None);
        assert_eq!(Identity::from_words("zz"), None);
    }

    #[test]
    fn a_command_has_its_registers_where_they_belong() {
        let smart = pass_through(Protocol::Short, SMART, 0xd0, 0xc2_4f00);
        assert_eq!(smart, [0x85, 8, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0]);
        let log = pass_through(Protocol::Long, READ_LOG_EXT, 0, 0x0704);
        assert_eq!(log, [0x85, 9, 0x0e, 0, 0, 0, 1, 0, 4, 0, 7, 0, 0, 0, 0x2f, 0]);
    }

    #[test]
    fn attributes_are_taken_with_a_sum_that_holds() {
        let mut data = vec![0u8; SECTOR_BYTES];
        let entries: [(u8, u64); 6] =
            [(5, 2), (9, 1 << 40 | 100), (194, 0x0020_0010_0025), (197, 1), (199, 7), (241, 99)];
        for (at, (number, raw)) in entries.into_iter().enumerate() {
            let entry = &mut data[2 + 12 * at..][..12];
            entry[0] = number;
            entry[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
        }
        let mut health = Health::default();
        learn_attributes(&mut health, &data);
        assert_eq!(health, Health::default(), "the sum does not hold");
        let sum = data.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        data[511] = sum.wrapping_neg();
        learn_attributes(&mut health, &data);
        assert_eq!(health.temperature_celsius, Some(37.0));
        assert_eq!(health.power_on_hours, Some(100));
        assert_eq!((health.reallocated_sectors, health.pending_sectors), (Some(2), Some(1)));
        assert_eq!(health.link_errors, Some(7));
        assert_eq!(health.attributes["241"], 99);
        assert_eq!(health.written_bytes, None, "whose unit is the vendor's");
    }

    #[test]
    fn statistics_count_when_they_are_valid() {
        let mut data = vec![0u8; SECTOR_BYTES];
        data[2] = 1;
        data[24..32].copy_from_slice(&(3 << 62 | 1000u64).to_le_bytes());
        data[40..48].copy_from_slice(&(1 << 63 | 1000u64).to_le_bytes());
        let mut health = Health::default();
        learn_statistics(&mut health, 7, &data, 512);
        assert_eq!(health, Health::default(), "another page");
        learn_statistics(&mut health, 1, &data, 4096);
        assert_eq!((health.written_bytes, health.read_bytes), (Some(4_096_000), None));
        let mut list = vec![0u8; SECTOR_BYTES];
        list[8..12].copy_from_slice(&[3, 0, 1, 7]);
        assert_eq!(statistics_listed(&list), [0, 1, 7]);
    }

    proptest! {
        #[test]
        fn no_answer_panics(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            whole in proptest::collection::vec(any::<u8>(), 512..=512),
            page in 0u8..9,
        ) {
            for mut data in [bytes, whole] {
                let drive = Identity(data.clone());
                let _ = (drive.write_cache(), drive.gigabits_max(), drive.has_logs());
                let _ = statistics_listed(&data);
                let mut health = Health::default();
                learn_statistics(&mut health, page, &data, u64::MAX);
                if let Some(second) = data.get_mut(2) {
                    *second = page;
                }
                learn_statistics(&mut health, page, &data, u64::MAX);
                if let Some(last) = data.pop() {
                    let sum = data.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
                    data.push(if page % 2 == 0 { sum.wrapping_neg() } else { last });
                }
                learn_attributes(&mut health, &data);
            }
        }

        #[test]
        fn no_text_of_the_kernel_panics(text in "[0-9a-fg \n]{0,1400}") {
            let _ = Identity::from_words(&text);
        }
    }
}
