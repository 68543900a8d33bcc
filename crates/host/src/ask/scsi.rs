//! SCSI drives: the caching mode page (SBC-4, 6.4.5), log pages (SPC-4, 7.3; SBC-4, 6.5).

use crate::error::{ErrorKind, HostError};
use engine::raw::scsi_read;
use record::Health;
use std::fs::File;

const MODE_SENSE_6: u8 = 0x1a;
const MODE_SENSE_10: u8 = 0x5a;
const LOG_SENSE: u8 = 0x4d;
const PAGE_CACHING: u8 = 0x08;
/// Bridges of USB are known to answer requests of this length, which Windows makes.
const MODE_BYTES: u8 = 192;
const LOG_BYTES: u16 = 1024;

/// Whether the drive's write cache is on, by its caching mode page.
///
/// # Errors
/// When the drive does not tell.
pub(crate) fn write_cache(node: &File, name: &str) -> Result<bool, HostError> {
    // Bit 3: without block descriptors. The page control is 0: what is in force now.
    let short = [MODE_SENSE_6, 0x08, PAGE_CACHING, 0, MODE_BYTES, 0];
    let long = [MODE_SENSE_10, 0x08, PAGE_CACHING, 0, 0, 0, 0, 0, MODE_BYTES, 0];
    let mut why = None;
    for (command, header) in [(&short[..], ModeHeader::Short), (&long, ModeHeader::Long)] {
        let mut data = [0; MODE_BYTES as usize];
        match ask(node, name, "MODE SENSE, caching page", command, &mut data) {
            Err(error) => why = Some(error),
            Ok(bytes) => {
                if let Some(on) = cache_of(&data[..bytes], header) {
                    return Ok(on);
                }
            }
        }
    }
    Err(why.unwrap_or_else(|| {
        let sentence = format!("{name} does not tell how its write cache stands");
        HostError::new(ErrorKind::WrongKind, sentence)
    }))
}

/// What the drive's log pages say of its health; of one that has none, nothing.
pub(crate) fn health(node: &File, name: &str) -> Health {
    let page = |page: u8| {
        let [high, low] = LOG_BYTES.to_be_bytes();
        // Page control 1: cumulative values.
        let command = [LOG_SENSE, 0, 0x40 | page, 0, 0, 0, 0, high, low, 0];
        let mut data = vec![0; usize::from(LOG_BYTES)];
        let bytes = ask(node, name, "LOG SENSE", &command, &mut data).ok()?;
        data.truncate(bytes);
        Some(data)
    };
    let listed = page(0).unwrap_or_default();
    let has = |code: u8| pages_listed(&listed).contains(&code);
    let read = |code: u8| if has(code) { page(code).unwrap_or_default() } else { Vec::new() };
    health_of(&read(0x0d), &read(0x02), &read(0x03), &read(0x11))
}

/// Sends a command; how many bytes of `data` were given.
///
/// # Errors
/// The system's, or the drive's refusal.
pub(super) fn ask(
    node: &File,
    name: &str,
    what: &str,
    command: &[u8],
    data: &mut [u8],
) -> Result<usize, HostError> {
    let answer = scsi_read(node, command, data).map_err(|error| {
        HostError::new(ErrorKind::Io, format!("{name} cannot be asked ({what}): {error}"))
    })?;
    // "Recovered" comes with ATA registers, and with the data.
    let is_refused = answer.status != 0 && sense_key(&answer.sense) != Some(1);
    if is_refused {
        let sentence = format!("{name} refuses {what}: {}", sense_words(&answer.sense));
        return Err(HostError::new(ErrorKind::Io, sentence));
    }
    Ok(answer.bytes)
}

/// Fixed (70h, 71h) and descriptor format (72h, 73h), SPC-4 4.5.
fn sense_key(sense: &[u8]) -> Option<u8> {
    match sense.first()? & 0x7f {
        0x70 | 0x71 => Some(sense.get(2)? & 0x0f),
        0x72 | 0x73 => Some(sense.get(1)? & 0x0f),
        _ => None,
    }
}

fn sense_words(sense: &[u8]) -> String {
    let word = match sense_key(sense) {
        Some(0x2) => "it is not ready",
        Some(0x3) => "medium error",
        Some(0x4) => "hardware error",
        Some(0x5) => "it does not know that",
        Some(0x6) => "it was reset or exchanged",
        Some(0xb) => "it aborted the command",
        Some(key) => return format!("sense key {key:#x}"),
        None => "without a reason",
    };
    word.to_owned()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ModeHeader {
    Short,
    Long,
}

/// Bit WCE of the caching page behind a mode parameter header.
fn cache_of(data: &[u8], header: ModeHeader) -> Option<bool> {
    let be =
        |at: usize| Some(usize::from(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?])));
    let (end, header_bytes, descriptor_bytes) = match header {
        ModeHeader::Short => (usize::from(*data.first()?) + 1, 4, usize::from(*data.get(3)?)),
        ModeHeader::Long => (be(0)? + 2, 8, be(6)?),
    };
    let data = &data[..end.min(data.len())];
    let page = data.get(header_bytes + descriptor_bytes..)?;
    (page.first()? & 0x3f == PAGE_CACHING && *page.get(1)? >= 1).then_some(())?;
    Some(page.get(2)? & 0x04 != 0)
}

/// The codes in the page of supported pages.
fn pages_listed(page: &[u8]) -> &[u8] {
    let length = page.get(2..4).map_or(0, |l| usize::from(u16::from_be_bytes([l[0], l[1]])));
    match page.get(4..) {
        Some(codes) if page[0] & 0x3f == 0 => &codes[..length.min(codes.len())],
        _ => &[],
    }
}

/// A parameter of a log page.
fn parameter(page: &[u8], wanted: u16) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let mut rest = page.get(4..)?;
    rest = &rest[..length.min(rest.len())];
    while rest.len() >= 4 {
        let code = u16::from_be_bytes([rest[0], rest[1]]);
        let bytes = usize::from(rest[3]);
        let value = rest.get(4..4 + bytes)?;
        if code == wanted {
            return Some(value);
        }
        rest = &rest[4 + bytes..];
    }
    None
}

/// A counter of up to eight bytes; longer ones begin with zeroes or are beyond us.
fn number(value: &[u8]) -> Option<u64> {
    let (front, back) = value.split_at(value.len().saturating_sub(8));
    let is_counted = !back.is_empty() && front.iter().all(|&byte| byte == 0);
    is_counted.then(|| back.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// From the pages temperature (0Dh), write (02h) and read error counters (03h), solid state media
/// (11h).
fn health_of(temperature: &[u8], writes: &[u8], reads: &[u8], solid_state: &[u8]) -> Health {
    let counter = |page, code| parameter(page, code).and_then(number);
    let errors = [counter(writes, 6), counter(reads, 6)];
    let celsius = parameter(temperature, 0).and_then(|value| value.get(1).copied());
    Health {
        source: "scsi".to_owned(),
        // 255: not known.
        temperature_celsius: celsius.filter(|&celsius| celsius != 0xff).map(f64::from),
        percentage_used: parameter(solid_state, 1)
            .and_then(|value| value.get(3).copied())
            .map(u64::from),
        written_bytes: counter(writes, 5),
        read_bytes: counter(reads, 5),
        media_errors: errors.into_iter().flatten().reduce(u64::saturating_add),
        ..Health::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bit_is_found_behind_both_headers_and_block_descriptors() {
        // QEMU's answer: 3 + 1 bytes of header, no descriptor, a page of 18.
        let mut short = vec![23, 0, 0x10, 0, 0x08, 0x12, 0x04];
        short.resize(24, 0);
        assert_eq!(cache_of(&short, ModeHeader::Short), Some(true));
        short[6] = 0x01;
        assert_eq!(cache_of(&short, ModeHeader::Short), Some(false), "RCD is another bit");
        let mut long = vec![0, 34, 0, 0x10, 0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x88, 0x12, 0x04];
        long.resize(36, 0);
        assert_eq!(cache_of(&long, ModeHeader::Long), Some(true));
        // Another page than was asked for, and none.
        short[4] = 0x0a;
        assert_eq!(cache_of(&short, ModeHeader::Short), None);
        assert_eq!(cache_of(&[3, 0, 0, 0], ModeHeader::Short), None);
    }

    #[test]
    fn counters_are_found_by_their_codes() {
        let page = |code: u8, parameters: &[u8]| {
            let mut page = vec![code, 0, 0, parameters.len() as u8];
            page.extend(parameters);
            page
        };
        let temperature = page(0x0d, &[0, 0, 1, 2, 0, 38, 0, 1, 1, 2, 0, 70]);
        let writes = page(2, &[0, 5, 2, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 6, 2, 1, 2]);
        let reads = page(3, &[0, 6, 2, 1, 5]);
        let solid = page(0x11, &[0, 1, 3, 4, 0, 0, 0, 9]);
        let health = health_of(&temperature, &writes, &reads, &solid);
        assert_eq!(health.temperature_celsius, Some(38.0));
        assert_eq!(health.written_bytes, Some(1 << 32));
        assert_eq!(health.media_errors, Some(7));
        assert_eq!(health.percentage_used, Some(9));
        assert_eq!(health.read_bytes, None);
        assert_eq!(pages_listed(&page(0, &[0, 2, 3, 0x0d])), [0, 2, 3, 0x0d]);
    }

    #[test]
    fn a_refusal_is_told_in_words() {
        assert_eq!(sense_words(&[0x70, 0, 5, 0]), "it does not know that");
        assert_eq!(sense_words(&[0x72, 0xb, 0, 0]), "it aborted the command");
        assert_eq!(sense_words(&[]), "without a reason");
    }

    proptest! {
        #[test]
        fn no_answer_panics(
            one in proptest::collection::vec(any::<u8>(), 0..80),
            two in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let _ = cache_of(&one, ModeHeader::Short);
            let _ = cache_of(&one, ModeHeader::Long);
            let _ = (sense_words(&one), pages_listed(&one));
            health_of(&one, &two, &one, &two);
        }
    }
}
