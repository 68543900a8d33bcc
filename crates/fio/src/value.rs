//! Values as fio reads them: sizes whose `k` is 1024, times, shares, one for each direction.

/// What `k` is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KbBase {
    /// `k` is 1024 and, for old files' sake, `ki` 1000: fio's default.
    Binary,
    /// `k` is 1000 and `ki` 1024: the international units.
    International,
}

/// A size, or a share of something.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Amount {
    Bytes(u64),
    /// Percent, above 0 to 100.
    Percent(f64),
}

type Read<T> = Result<T, String>;

/// `4k`, `64KiB`, `0x1000`, `1.5g`.
pub(crate) fn size(text: &str, base: KbBase) -> Read<u64> {
    let wrong = || format!("`{text}` is no size: write a number and a unit, such as 4k, 1m, 10g");
    let lower = text.trim().to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|_| wrong());
    }
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let factor = unit_bytes(unit, base).ok_or_else(wrong)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor as f64;
    if (0.0..1.8e19).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

fn unit_bytes(unit: &str, base: KbBase) -> Option<u64> {
    let Some(letter) = unit.chars().next() else { return Some(1) };
    if unit == "b" {
        return Some(1);
    }
    let power = "kmgtp".find(letter)? as u32 + 1;
    let plain = match &unit[1..] {
        "" | "b" => true,
        "i" | "ib" => false,
        _ => return None,
    };
    let radix: u64 = if plain == (base == KbBase::Binary) { 1024 } else { 1000 };
    Some(radix.pow(power))
}

/// A size, or `80%`.
pub(crate) fn amount(text: &str, base: KbBase) -> Read<Amount> {
    let Some(percent) = text.trim().strip_suffix('%') else {
        return size(text, base).map(Amount::Bytes);
    };
    match percent.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Amount::Percent(percent)),
        _ => Err(format!("`{text}` is no share: write 0% to 100%")),
    }
}

/// A time in nanoseconds: `30`, `5m`, `250ms`; `plain_ns` is what a bare number counts.
pub(crate) fn time_ns(text: &str, plain_ns: f64) -> Read<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let unit_ns = match unit.trim() {
        "" => Some(plain_ns),
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" => Some(1e9),
        "m" | "min" => Some(60e9),
        "h" | "hour" => Some(3600e9),
        "d" | "day" => Some(86_400e9),
        _ => None,
    };
    let ns = number.parse::<f64>().ok().zip(unit_ns).map(|(number, unit)| number * unit);
    ns.filter(|ns| ns.is_finite() && *ns >= 0.0)
        .ok_or_else(|| format!("`{text}` is no time: write 30s, 5m, 2h, 250ms or 40us"))
}

/// `1`, `0`, nothing (which is yes).
pub(crate) fn flag(text: &str) -> Read<bool> {
    match text {
        "" | "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => text
            .parse::<i64>()
            .map(|number| number != 0)
            .map_err(|_| format!("`{text}` is neither 0 nor 1")),
    }
}

/// A whole number.
pub(crate) fn count(text: &str) -> Read<u64> {
    let plain = size(text, KbBase::Binary);
    plain.map_err(|_| format!("`{text}` is no whole number"))
}

/// Reads `read,write,trim`: each direction's text. What is missing at the end is as the one before
/// it; what is empty is not set.
pub(crate) fn directions(text: &str) -> [Option<&str>; 3] {
    let given: Vec<&str> = text.split(',').map(str::trim).collect();
    let at = |index: usize| {
        let text = given.get(index).or(given.last()).copied().unwrap_or_default();
        (!text.is_empty()).then_some(text)
    };
    // `bssplit=4k/50:8k/50,` sets reads alone: fio's own last comma ends the list.
    [at(0), at(1), at(2)]
}

/// The same, each read.
pub(crate) fn each<T: Copy>(text: &str, read: impl Fn(&str) -> Read<T>) -> Read<[Option<T>; 3]> {
    let [reads, writes, trims] = directions(text);
    let one = |text: Option<&str>| text.map(&read).transpose();
    Ok([one(reads)?, one(writes)?, one(trims)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fio's own units: a job file's `4k` is 4096 bytes and its `4ki` 4000, unless `kb_base=1000`
    /// says that it means the international ones. A tool that reads `ki` as 1024 is 2 % off.
    #[test]
    fn units_are_those_of_fio() {
        let cases = [
            ("4k", 4096, 4000),
            ("4ki", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("2MB", 2 << 20, 2_000_000),
            ("0x200", 512, 512),
            ("512b", 512, 512),
            ("1.5g", 3 << 29, 1_500_000_000),
        ];
        for (text, binary, international) in cases {
            assert_eq!(size(text, KbBase::Binary), Ok(binary), "{text}");
            assert_eq!(size(text, KbBase::International), Ok(international), "{text}");
        }
        for text in ["", "k", "4x", "-1", "4k8", "99999999999p", "1e9"] {
            assert!(size(text, KbBase::Binary).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units_and_plain_numbers_the_option_s_own() {
        let cases = [("30", 30e9), ("5m", 300e9), ("250ms", 250e6), ("1h", 3600e9), ("40us", 40e3)];
        for (text, ns) in cases {
            assert_eq!(time_ns(text, 1e9), Ok(ns), "{text}");
        }
        assert_eq!(time_ns("10", 1e3), Ok(10e3));
        assert!(time_ns("soon", 1e9).is_err());
        assert!(time_ns("-5", 1e9).is_err());
    }

    #[test]
    fn a_direction_that_is_not_named_is_as_the_one_before() {
        assert_eq!(directions("4k"), [Some("4k"), Some("4k"), Some("4k")]);
        assert_eq!(directions("4k,8k"), [Some("4k"), Some("8k"), Some("8k")]);
        assert_eq!(directions(",8k"), [None, Some("8k"), Some("8k")]);
        assert_eq!(directions("10m,"), [Some("10m"), None, None]);
        assert_eq!(directions(",,64k"), [None, None, Some("64k")]);
    }
}
