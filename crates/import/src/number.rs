//! Numbers as programs print them.

use jiff::{Timestamp, civil::DateTime, fmt::strtime, tz::TimeZone};

/// A plain number, 0 or more.
pub(crate) fn plain(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// A number whose fraction may stand behind a comma, as some languages write it.
pub(crate) fn localised(text: &str) -> Option<f64> {
    plain(&text.trim().replace(',', "."))
}

/// `4 KiB`, `4k`, `64M`, `1GB`: units of 1024, whichever way they are written; bytes without one.
pub(crate) fn binary(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let value = plain(digits)?;
    let power = match unit.trim().to_ascii_lowercase().trim_end_matches(['b', 'i']) {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let bytes = value * f64::from(1024_u32).powi(power);
    (bytes < 1e18).then_some(bytes.round() as u64)
}

/// `12490us`, `157ms`, `1.2s`, `200 ns`, in nanoseconds.
pub(crate) fn duration_ns(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (digits, unit) = text.split_at(end);
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return None,
    };
    Some(plain(digits)? * scale)
}

/// A time of RFC 3339, as records have it.
pub(crate) fn rfc_3339(text: &str) -> Option<String> {
    text.parse::<Timestamp>().ok().map(|time| time.to_string())
}

/// Seconds since 1970 as RFC 3339.
pub(crate) fn since_1970(seconds: f64) -> Option<String> {
    let whole = (seconds > 0.0 && seconds < 1e11).then_some(seconds as i64)?;
    Some(Timestamp::from_second(whole).ok()?.to_string())
}

/// A time in a program's own form, such as `%Y/%m/%d %H:%M:%S`. It does not tell its zone: UTC is
/// taken for it, which a note says.
pub(crate) fn time(format: &str, text: &str) -> Option<String> {
    let civil: DateTime = strtime::parse(format, text.trim()).ok()?.to_datetime().ok()?;
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().to_string())
}

/// Whether two figures for one thing differ by more than what rounding explains.
pub(crate) fn differ(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() > share * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_in_their_units() {
        assert_eq!(binary("4k"), Some(4096));
        assert_eq!(binary("1 MiB"), Some(1 << 20));
        assert_eq!(binary("64M"), Some(64 << 20));
        assert_eq!(binary("512"), Some(512));
        assert_eq!(binary("4x"), None);
        assert_eq!(duration_ns("12490us"), Some(12_490_000.0));
        assert_eq!(duration_ns("5.33 ms"), Some(5_330_000.0));
        assert_eq!(localised("0,06178"), Some(0.06178));
        assert_eq!(plain("-1"), None);
        assert_eq!(plain("inf"), None);
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(since_1970(1_795_558_638.0).as_deref(), Some("2026-11-24T22:17:18Z"));
        assert_eq!(
            time("%Y/%m/%d %H:%M:%S", "2020/12/13 22:27:52").as_deref(),
            Some("2020-12-13T22:27:52Z")
        );
        assert_eq!(
            time("%a %b %d %H:%M:%S %Y", "Wed Nov 25 04:00:36 2026").as_deref(),
            Some("2026-11-25T04:00:36Z")
        );
        assert_eq!(time("%Y", "nineteen"), None);
    }
}
