//! Mapped devices: what the device mapper's answers mean (linux/dm-ioctl.h, and
//! Documentation/admin-guide/device-mapper for each kind's words).

use crate::{roots::Roots, sysfs::BlockDevice};
use engine::raw::{MAPPED_HEAD_BYTES, MapQuestion, mapped};
use std::fs::File;

/// A part of a mapped device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedPart {
    /// Its length, in sectors of 512 bytes.
    pub sectors: u64,
    /// `linear`, `striped`, `crypt`, `thin`, `raid`...
    pub kind: String,
    /// What it was made of, or how it stands, in the kind's own words. Of `crypt` never the key.
    pub words: Vec<String>,
}

/// Bytes of `struct dm_target_spec`.
const SPEC_BYTES: usize = 40;

/// The parts in an answer of the device mapper; what makes no sense ends the list.
pub fn parts(answer: &[u8]) -> Vec<MappedPart> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(answer.get(at..at.checked_add(4)?)?.try_into().ok()?))
    };
    let (Some(start), Some(count)) = (word(16), word(20)) else { return Vec::new() };
    let start = start as usize;
    if start < MAPPED_HEAD_BYTES {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = start;
    for _ in 0..count {
        let Some(part) = part(answer, at) else { break };
        found.push(part);
        // Counted from the first part, whichever it stands in.
        let next = word(at + 20).map_or(0, |next| start.saturating_add(next as usize));
        if next <= at {
            break;
        }
        at = next;
    }
    found
}

fn part(answer: &[u8], at: usize) -> Option<MappedPart> {
    let spec = answer.get(at..at.checked_add(SPEC_BYTES)?)?;
    let sectors = u64::from_ne_bytes(spec[8..16].try_into().ok()?);
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let kind = text(&spec[24..40]);
    let words = text(answer.get(at + SPEC_BYTES..)?);
    let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    if kind == "crypt"
        && let Some(key) = words.get_mut(1)
    {
        *key = format!("{} bits", key_bits(key));
    }
    Some(MappedPart { sectors, kind, words })
}

/// Bits of a key that is written in hexadecimal, or named as `:BYTES:TYPE:NAME`.
fn key_bits(text: &str) -> usize {
    match text.strip_prefix(':') {
        Some(named) => named.split(':').next().and_then(|n| n.parse().ok()).unwrap_or(0) * 8,
        None => text.len() * 4,
    }
}

/// What the device mapper says of a device: nothing of another kind, or to a user without the
/// right.
pub(crate) fn ask(device: &BlockDevice, question: MapQuestion, roots: &Roots) -> Vec<MappedPart> {
    if !device.directory.join("dm").exists() || !roots.are_real() {
        return Vec::new();
    }
    let Ok(control) = File::open(roots.dev.join("mapper/control")) else { return Vec::new() };
    let number = (device.number.major, device.number.minor);
    mapped(&control, number, question).map(|answer| parts(&answer)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer as the kernel lays it out: parts at multiples of eight.
    fn answer(parts: &[(u64, &str, &str)]) -> Vec<u8> {
        let mut bytes = vec![0u8; MAPPED_HEAD_BYTES];
        bytes[16..20].copy_from_slice(&(MAPPED_HEAD_BYTES as u32).to_ne_bytes());
        bytes[20..24].copy_from_slice(&(parts.len() as u32).to_ne_bytes());
        for (sectors, kind, words) in parts {
            let at = bytes.len();
            bytes.resize(at + SPEC_BYTES, 0);
            bytes[at + 8..at + 16].copy_from_slice(&sectors.to_ne_bytes());
            bytes[at + 24..at + 24 + kind.len()].copy_from_slice(kind.as_bytes());
            bytes.extend_from_slice(words.as_bytes());
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let next = (bytes.len() - MAPPED_HEAD_BYTES) as u32;
            bytes[at + 20..at + 24].copy_from_slice(&next.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn parts_are_read_one_behind_the_other() {
        let seen = parts(&answer(&[(4000, "linear", "8:0 0"), (8, "error", ""), (96, "thin", "")]));
        let short: Vec<_> = seen.iter().map(|part| (part.sectors, part.kind.as_str())).collect();
        assert_eq!(short, [(4000, "linear"), (8, "error"), (96, "thin")]);
        assert_eq!(seen[0].words, ["8:0", "0"]);
    }

    /// The key of an open LUKS volume stands in its table, for root to read.
    #[test]
    fn a_key_is_never_kept() {
        let key = "00112233445566778899aabbccddeeff".repeat(2);
        let seen = parts(&answer(&[(1, "crypt", &format!("aes-xts-plain64 {key} 0 8:1 32768"))]));
        assert_eq!(seen[0].words, ["aes-xts-plain64", "256 bits", "0", "8:1", "32768"]);
        let named = "aes-xts-plain64 :64:logon:cryptsetup:0a1b-d0 0 8:1 32768";
        assert_eq!(parts(&answer(&[(1, "crypt", named)]))[0].words[1], "512 bits");
    }

    proptest! {
        #[test]
        fn no_answer_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..600), head: bool) {
            if head && bytes.len() > 24 {
                bytes[16..20].copy_from_slice(&(MAPPED_HEAD_BYTES as u32).to_ne_bytes());
            }
            parts(&bytes);
        }
    }
}
