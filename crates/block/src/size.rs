//! Sizes as people type and read them: `4K`, `64KiB`, `1.5GiB`, `10MB`.

use std::fmt;

/// A size that could not be read, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadSize {
    text: String,
}

impl fmt::Display for BadSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a size: write a number and a unit, such as 512, 4K, 64KiB, 1.5GiB \
             (K, M, G, T and KiB, MiB, ... are powers of 1024; kB, MB, GB, TB are powers of 1000)",
            self.text
        )
    }
}

impl std::error::Error for BadSize {}

/// Reads a size in bytes. `K`, `M`, `G`, `T`, `P` and `KiB`... are powers of 1024, as in the
/// field's tools; `kB`/`KB`, `MB`, `GB`... are powers of 1000, as on a drive's label. Lower-case
/// single letters are as upper-case ones.
///
/// # Errors
/// [`BadSize`] for anything else, for a fraction of a byte and for 2^64 or more.
pub fn parse_bytes(text: &str) -> Result<u64, BadSize> {
    let bad = || BadSize { text: text.to_owned() };
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = unit_bytes(unit.trim()).ok_or_else(bad)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(bad);
    }
    let bytes = number.parse::<f64>().map_err(|_| bad())? * factor as f64;
    let whole = bytes.round();
    let fits = (0.0..1.8e19).contains(&bytes) && (bytes - whole).abs() < 1e-6;
    if fits { Ok(whole as u64) } else { Err(bad()) }
}

fn unit_bytes(unit: &str) -> Option<u64> {
    let power = |letter: char| "kmgtp".find(letter.to_ascii_lowercase()).map(|at| at as u32 + 1);
    let mut letters = unit.chars();
    let Some(first) = letters.next() else { return Some(1) };
    match (power(first), letters.as_str()) {
        (Some(power), "" | "iB" | "ib") => Some(1024u64.pow(power)),
        (Some(power), "B" | "b") => Some(1000u64.pow(power)),
        (None, "") if first == 'B' || first == 'b' => Some(1),
        _ => None,
    }
}

/// A size in the largest binary unit in which it is short: `4 KiB`, `1.5 GiB`, `512 B`.
pub fn display_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut power = (bytes.max(1).ilog2() / 10) as usize;
    let mut value = bytes as f64 / 1024f64.powi(power as i32);
    if value >= 1023.95 && power > 0 {
        (power, value) = (power + 1, 1.0);
    }
    let decimals = if value.fract() < 0.005 {
        0
    } else if value < 10.0 {
        2
    } else {
        1
    };
    format!("{value:.decimals$} {}", UNITS[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_are_told_apart() {
        let cases = [
            ("512", 512),
            ("4K", 4096),
            ("4k", 4096),
            ("64KiB", 65_536),
            ("1M", 1 << 20),
            ("1.5GiB", 3 << 29),
            ("10MB", 10_000_000),
            ("4kB", 4000),
            ("2T", 2 << 40),
            ("0", 0),
            ("7B", 7),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_text_and_the_cure() {
        for text in ["4x", "", "K", "-1", "1.3.2K", "99999999999P", "0.3", "4Kx", "4 K B"] {
            let refusal = parse_bytes(text).expect_err(text).to_string();
            assert!(refusal.contains(&format!("`{text}`")) && refusal.contains("64KiB"));
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_in_which_they_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (3 << 29, "1.50 GiB"),
            // It was shown as 1024.0 MiB.
            ((1 << 30) - 49, "1 GiB"),
            ((1 << 20) - 52 * 1024, "972 KiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(display_bytes(bytes), text);
        }
    }
}
