//! NVMe drives (NVM Express Base Specification 2.0): the volatile write cache, the health log.

use super::{u16_le, u32_le, u64_le};
use crate::error::{ErrorKind, HostError};
use engine::raw::{NvmeCommand, nvme_admin};
use record::Health;
use std::fs::File;

/// Of the SMART / Health Information log.
const LOG_BYTES: usize = 512;
const LOG_HEALTH: u32 = 0x02;
const FEATURE_WRITE_CACHE: u32 = 0x06;
/// Data are counted in thousands of 512 bytes, whatever the drive's block is.
const DATA_UNIT_BYTES: u64 = 512_000;
const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Whether the controller's volatile write cache is on. The feature is the controller's: asked for
/// a namespace, it is refused.
///
/// # Errors
/// When the drive has none, or refuses.
pub(crate) fn write_cache(node: &File, name: &str) -> Result<bool, HostError> {
    let mut identity = vec![0; 4096];
    let identify = NvmeCommand { opcode: 0x06, words: [1, 0, 0, 0, 0, 0], ..Default::default() };
    pass(node, name, "Identify Controller", identify, &mut identity)?;
    if !has_volatile_cache(&identity) {
        let sentence = format!("{name} says that it has no volatile write cache");
        return Err(HostError::new(ErrorKind::WrongKind, sentence));
    }
    let words = [FEATURE_WRITE_CACHE, 0, 0, 0, 0, 0];
    let get = NvmeCommand { opcode: 0x0a, words, ..Default::default() };
    Ok(pass(node, name, "Get Features, Volatile Write Cache", get, &mut [])? & 1 == 1)
}

/// Switches it. It stays so until the controller is reset or loses its power (the save bit is not
/// set).
///
/// # Errors
/// When the drive refuses.
pub(crate) fn set_write_cache(node: &File, name: &str, on: bool) -> Result<(), HostError> {
    let words = [FEATURE_WRITE_CACHE, u32::from(on), 0, 0, 0, 0];
    let set = NvmeCommand { opcode: 0x09, words, ..Default::default() };
    pass(node, name, "Set Features, Volatile Write Cache", set, &mut []).map(drop)
}

/// What the drive says of its health.
///
/// # Errors
/// When the drive refuses.
pub(crate) fn health(node: &File, name: &str) -> Result<Health, HostError> {
    let mut log = [0; LOG_BYTES];
    let words = [LOG_HEALTH | ((LOG_BYTES as u32 / 4 - 1) << 16), 0, 0, 0, 0, 0];
    let get = NvmeCommand { opcode: 0x02, namespace: ALL_NAMESPACES, words };
    pass(node, name, "Get Log Page, SMART / Health Information", get, &mut log)?;
    Ok(health_of(&log))
}

fn pass(
    node: &File,
    name: &str,
    what: &str,
    command: NvmeCommand,
    data: &mut [u8],
) -> Result<u32, HostError> {
    let answer = nvme_admin(node, command, data).map_err(|error| {
        HostError::new(ErrorKind::Io, format!("{name} cannot be asked ({what}): {error}"))
    })?;
    if answer.status == 0 {
        return Ok(answer.result);
    }
    let sentence = format!("{name} refuses {what}: {}", status_words(answer.status));
    Err(HostError::new(ErrorKind::Io, sentence))
}

/// Status code type and status code; the two highest bits say whether to retry and that there is
/// more in a log.
fn status_words(status: u16) -> String {
    let words = match status & 0x7ff {
        0x001 => "it does not know the command",
        0x002 => "it does not know the feature or log",
        0x00b => "there is no such namespace",
        0x10e => "the feature cannot be changed",
        0x10f => "the feature is the controller's and no namespace's",
        _ => return format!("status {:#x}", status & 0x7ff),
    };
    format!("{words} (status {:#x})", status & 0x7ff)
}

/// Identify Controller, byte 525 (VWC), bit 0.
fn has_volatile_cache(identity: &[u8]) -> bool {
    identity.get(525).is_some_and(|byte| byte & 1 == 1)
}

/// The SMART / Health Information log (figure 208); what is cut off is not known.
fn health_of(log: &[u8]) -> Health {
    let byte = |at: usize| log.get(at).map(|&byte| u64::from(byte));
    // 128-bit counters; one that is more than half full was never counted up to there.
    let counter = |at: usize| match u64_le(log, at + 8)? {
        0 => u64_le(log, at),
        _ => None,
    };
    let data = |at: usize| counter(at)?.checked_mul(DATA_UNIT_BYTES);
    let minutes = |at: usize| u32_le(log, at).map(u64::from);
    let sum = |first: Option<u64>, second: Option<u64>| Some(first? + second?);
    // 0 is "not reported"; so is what no drive survives.
    let kelvin = u16_le(log, 1).filter(|kelvin| (200..500).contains(kelvin));
    Health {
        source: "nvme".to_owned(),
        critical_warning: byte(0),
        temperature_celsius: kelvin.map(|kelvin| f64::from(kelvin) - 273.0),
        spare_percent: byte(3),
        percentage_used: byte(5),
        read_bytes: data(32),
        written_bytes: data(48),
        power_on_hours: counter(128),
        media_errors: counter(160),
        too_hot_minutes: sum(minutes(192), minutes(196)),
        throttled_times: sum(minutes(216), minutes(220)),
        throttled_s: sum(minutes(224), minutes(228)),
        ..Health::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_health_log_is_read_by_its_offsets() {
        let mut log = [0u8; LOG_BYTES];
        log[0] = 0x02;
        log[1..3].copy_from_slice(&310u16.to_le_bytes());
        log[3] = 100;
        log[5] = 7;
        log[32..40].copy_from_slice(&5u64.to_le_bytes());
        log[48..56].copy_from_slice(&1_000_000u64.to_le_bytes());
        log[128..136].copy_from_slice(&8760u64.to_le_bytes());
        log[160..168].copy_from_slice(&3u64.to_le_bytes());
        for (at, value) in [(192, 4u32), (196, 1), (216, 2), (220, 1), (224, 90), (228, 10)] {
            log[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let expected = Health {
            source: "nvme".to_owned(),
            critical_warning: Some(2),
            temperature_celsius: Some(37.0),
            spare_percent: Some(100),
            percentage_used: Some(7),
            read_bytes: Some(2_560_000),
            written_bytes: Some(512_000_000_000),
            power_on_hours: Some(8760),
            media_errors: Some(3),
            too_hot_minutes: Some(5),
            throttled_times: Some(3),
            throttled_s: Some(100),
            ..Health::default()
        };
        assert_eq!(health_of(&log), expected);
        assert_eq!(health_of(&[]), Health { source: "nvme".to_owned(), ..Health::default() });
    }

    #[test]
    fn the_cache_is_there_when_the_lowest_bit_says_so() {
        let mut identity = vec![0; 4096];
        identity[525] = 0x06;
        assert!(!has_volatile_cache(&identity));
        identity[525] = 0x07;
        assert!(has_volatile_cache(&identity));
        assert!(!has_volatile_cache(&identity[..525]));
    }

    #[test]
    fn a_refusal_is_in_words_where_they_are_known() {
        assert!(status_words(0x410f).contains("no namespace's (status 0x10f)"));
        assert_eq!(status_words(0x4006), "status 0x6");
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let health = health_of(&bytes);
            prop_assert!(health.temperature_celsius.is_none_or(|t| t.abs() < 300.0));
            has_volatile_cache(&bytes);
        }
    }
}
