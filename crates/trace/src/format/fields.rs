//! Fields of lines as numbers. Nothing is rounded that a field says exactly.

use crate::{
    access::{Access, Op, TRANSFER_BYTES_MAX},
    error::Bad,
};

/// Bytes of a sector where a format counts sectors.
pub const SECTOR_BYTES: u64 = 512;

/// A whole number.
pub fn whole(name: &str, text: &str) -> Result<u64, Bad> {
    let text = text.trim();
    text.parse().map_err(|_| Bad::field(name, text, "a whole number below 2^64"))
}

/// A product that fits 64 bits.
pub fn times(name: &str, text: &str, factor: u64, wanted: &str) -> Result<u64, Bad> {
    whole(name, text)?.checked_mul(factor).ok_or_else(|| Bad::field(name, text, wanted))
}

/// Sectors as bytes.
pub fn sectors(name: &str, text: &str) -> Result<u64, Bad> {
    times(name, text, SECTOR_BYTES, "a number of sectors whose bytes 64 bits can count")
}

/// Seconds with up to any number of digits behind the point, as ns; what is finer is cut off.
pub fn seconds(name: &str, text: &str) -> Result<u64, Bad> {
    let text = text.trim();
    let wrong = || Bad::field(name, text, "seconds, such as 12.345678, fewer than 2^34");
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
        return Err(wrong());
    }
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    let mut ns = 0;
    for at in 0..9 {
        let digit = part.as_bytes().get(at).map_or(0, |byte| byte - b'0');
        ns = ns * 10 + u64::from(digit);
    }
    seconds.checked_mul(1_000_000_000).and_then(|all| all.checked_add(ns)).ok_or_else(wrong)
}

/// Puts an access together, and checks what no drive can be asked.
pub fn access(at_ns: u64, op: Op, volume: u32, offset: u64, bytes: u64) -> Result<Access, Bad> {
    if offset.checked_add(bytes).is_none() {
        return Err(Bad::event("offset", offset, "less than 2^64 with the length"));
    }
    if op.is_transfer() && bytes > TRANSFER_BYTES_MAX {
        return Err(Bad::event("size", bytes, "at most 1 GiB for a read or a write, in bytes"));
    }
    Ok(Access { at_ns, op, volume, offset, bytes })
}

/// Exactly the first `N` fields of a line; `None` where there are fewer.
pub fn first<'l, const N: usize>(fields: impl Iterator<Item = &'l str>) -> Option<[&'l str; N]> {
    let mut found = [""; N];
    let mut fields = fields;
    for place in &mut found {
        *place = fields.next()?;
    }
    Some(found)
}
