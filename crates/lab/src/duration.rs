//! Times as people type them: `90s`, `10m`, `1.5h`.

/// Reads a time in seconds.
///
/// # Errors
/// A sentence that shows how to write one.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let bad = || format!("`{text}` is not a time: write 90s, 10m, 1.5h");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(bad()),
    };
    let seconds = number.parse::<f64>().map_err(|_| bad())? * factor;
    if seconds > 0.0 && seconds < 1e9 { Ok(seconds) } else { Err(bad()) }
}

/// `2 min 5 s`, `45 s`, `3 h 20 min`; `0.3 s` below ten seconds, where a second more matters.
pub fn in_words(seconds: f64) -> String {
    if seconds < 0.05 {
        return "a moment".to_owned();
    }
    let tenths = (seconds * 10.0).round() as u64;
    if tenths < 100 && !tenths.is_multiple_of(10) {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, seconds) in [("90s", 90.0), ("10m", 600.0), ("1.5h", 5400.0), ("45", 45.0)] {
            assert_eq!(parse_seconds(text), Ok(seconds), "{text}");
        }
        for text in ["", "x", "4x", "-1s", "0s", "1.2.3s"] {
            assert!(parse_seconds(text).expect_err(text).contains("10m"), "{text}");
        }
    }

    #[test]
    fn times_are_shown_in_two_units_at_most() {
        for (seconds, text) in [
            (0.0, "a moment"),
            (0.31, "0.3 s"),
            (3.02, "3 s"),
            (45.2, "45 s"),
            (125.0, "2 min 5 s"),
            (600.0, "10 min"),
            (12_000.0, "3 h 20 min"),
        ] {
            assert_eq!(in_words(seconds), text);
        }
    }
}
