//! Numbers as people read them: three significant digits and a unit.
//!
//! Rates are decimal (kB/s, MB/s: powers of 1000) as on data sheets, sizes binary (KiB, MiB: powers
//! of 1024) as in file systems; a layout that follows another tool uses that tool's units and says
//! so.

/// Three significant digits without a unit: `0.499`, `9.99`, `10.0`, `1230`; from 10^15 on with an
/// exponent; `-` for what is no number.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 0.005) {
        return format!("{value:.2e}");
    }
    // The limits are where rounding to the finer form would print a fourth digit.
    if size > 0.0 && size < 0.9995 {
        format!("{value:.3}")
    } else if size < 9.995 {
        format!("{value:.2}")
    } else if size < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{:.0}", round_to_three(value))
    }
}

/// Three significant digits without a unit, small ones too: `0.00817`, where [`significant`] keeps
/// to three decimals.
pub fn three_digits(value: f64) -> String {
    let size = value.abs();
    // From 0.9995 on rounding gives a digit before the point.
    if !(1e-4..0.9995).contains(&size) {
        return significant(value);
    }
    let decimals = 2 - size.log10().floor() as i32;
    // What rounds up to the next power of ten has a digit more than it needs.
    let rounds_up = size * 10f64.powi(decimals) >= 999.5;
    format!("{value:.*}", (decimals - i32::from(rounds_up)) as usize)
}

/// Three significant digits of a value of at least 99.95.
fn round_to_three(value: f64) -> f64 {
    let step = 10f64.powi((value.abs().log10().floor() as i32 - 2).max(0));
    (value / step).round() * step
}

/// How many: `5`, `812`, `52.1k`.
pub fn count(count: u64) -> String {
    if count < 100 { count.to_string() } else { iops(count as f64) }
}

/// Operations per second: `812`, `52.1k`, `1.21M`.
pub fn iops(value: f64) -> String {
    let size = value.abs();
    if size < 9_995.0 {
        // Whole operations say more than three digits: 1,234 is exact enough to compare.
        if size < 99.95 { significant(value) } else { plain(value) }
    } else if size < 999_500.0 {
        format!("{}k", significant(value / 1e3))
    } else {
        format!("{}M", significant(value / 1e6))
    }
}

fn plain(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { "-".to_owned() }
}

/// Bytes per second in decimal units: `61.3 kB/s`, `275 MB/s`, `7.10 GB/s` from 10 GB/s on, so that
/// most drives compare within one unit.
pub fn rate(bytes_per_s: f64) -> String {
    let size = bytes_per_s.abs();
    if size < 999.5 {
        format!("{} B/s", significant(bytes_per_s))
    } else if size < 999_500.0 {
        format!("{} kB/s", significant(bytes_per_s / 1e3))
    } else if size < 9_995e6 {
        format!("{} MB/s", significant(bytes_per_s / 1e6))
    } else {
        format!("{} GB/s", significant(bytes_per_s / 1e9))
    }
}

pub use block::counted;

/// How long ago something was: `40 s ago`, `12 min ago`, `3 h ago`, `9 d ago`; nothing for what is
/// over 60 days old or lies ahead, where a date says more.
pub fn ago(seconds: i64) -> Option<String> {
    const UNITS: [(i64, i64, &str); 4] =
        [(120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h"), (60 * 86_400, 86_400, "d")];
    let (_, unit, name) = UNITS.into_iter().find(|&(below, ..)| seconds < below)?;
    (seconds >= 0).then(|| format!("{} {name} ago", seconds / unit))
}

/// A duration: `812 ns`, `47.5 us`, `1.20 ms`, `3.00 s`.
pub fn duration_ns(ns: f64) -> String {
    let size = ns.abs();
    if size < 999.5 {
        format!("{} ns", if ns.fract() == 0.0 { plain(ns) } else { significant(ns) })
    } else if size < 999_500.0 {
        format!("{} us", significant(ns / 1e3))
    } else if size < 999_500_000.0 {
        format!("{} ms", significant(ns / 1e6))
    } else {
        format!("{} s", significant(ns / 1e9))
    }
}

/// A size in binary units: `512 B`, `4 KiB`, `1.50 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    let unit_bytes = 1u64 << (10 * power);
    if bytes.is_multiple_of(unit_bytes) {
        format!("{} {}", bytes / unit_bytes, UNITS[power])
    } else {
        format!("{} {}", significant(bytes as f64 / unit_bytes as f64), UNITS[power])
    }
}

/// A size as drives are sold, in decimal units: `64.0 GB`.
pub fn capacity(bytes: u64) -> String {
    // What three digits would round to 1000 of a unit is one of the next.
    let (divisor, unit) = match bytes {
        0..1_000_000 => return size(bytes),
        1_000_000..999_500_000 => (1e6, "MB"),
        999_500_000..999_500_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{} {unit}", significant(bytes as f64 / divisor))
}

/// A share in percent: `1.6 %`, `23 %`, `<0.1 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        size if !size.is_finite() => "-".to_owned(),
        0.0 => "0 %".to_owned(),
        size if size < 0.05 => "<0.1 %".to_owned(),
        size if size < 9.95 => format!("{value:.1} %"),
        size if size < 1e4 => format!("{value:.0} %"),
        _ => ">9999 %".to_owned(),
    }
}

/// Bandwidth as bm-flash prints it: truncated to one decimal, K = 1024 below about 2,000,000 B/s
/// and M = 1048576 from there on. The rule was found from the 426 printed pairs of the 2007 study:
/// the largest K is 1932.7K, the smallest M is 1.9M, and 1.9M of 2^20 begins at 1,992,295 B/s.
pub fn bm_flash_bandwidth(bytes_per_s: f64) -> String {
    let (value, unit) = if bytes_per_s < 2_000_000.0 {
        (bytes_per_s / 1024.0, 'K')
    } else {
        (bytes_per_s / 1_048_576.0, 'M')
    };
    // A product of a binary fraction may fall short of a tenth by rounding alone: a millionth is
    // given.
    let tenths = (value * 10.0 + 1e-6).floor();
    if tenths.is_finite() && tenths.abs() < 1e15 {
        format!("{:.1}{unit}", tenths / 10.0)
    } else {
        "-".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_survive_rounding_up() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.0012, "1.20e-3"),
            (0.499, "0.499"),
            (0.9996, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (99.96, "100"),
            (1234.0, "1230"),
            (999_999.0, "1000000"),
            (-12.34, "-12.3"),
            (1e300, "1.00e300"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    /// Two requests were `2.00`, for counts were shown as rates.
    #[test]
    fn what_is_counted_is_whole() {
        for (number, text) in [(0, "0"), (5, "5"), (99, "99"), (100, "100"), (52_100, "52.1k")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn small_numbers_keep_three_digits() {
        for (value, text) in [
            (0.129_73, "0.130"),
            (0.008_166, "0.00817"),
            (0.099_96, "0.100"),
            (0.000_154, "0.000154"),
            (0.9996, "1.00"),
            (12.34, "12.3"),
            (0.0, "0.00"),
            (-0.008_166, "-0.00817"),
        ] {
            assert_eq!(three_digits(value), text, "{value}");
        }
    }

    #[test]
    fn rates_are_decimal_and_sizes_binary() {
        assert_eq!(rate(999.0), "999 B/s");
        assert_eq!(rate(62_771.2), "62.8 kB/s");
        assert_eq!(rate(275_146_342.4), "275 MB/s");
        assert_eq!(rate(7_104_000_000.0), "7100 MB/s");
        assert_eq!(rate(14_200_000_000.0), "14.2 GB/s");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1_610_612_736), "1.50 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
        assert_eq!(capacity(64_023_953_408), "64.0 GB");
        assert_eq!(capacity(999_999_000_000), "1.00 TB");
        assert_eq!(capacity(4096), "4 KiB");
    }

    #[test]
    fn operations_and_times_change_units_where_digits_run_out() {
        assert_eq!(iops(0.5), "0.500");
        assert_eq!(iops(1234.4), "1234");
        assert_eq!(iops(52_109.4), "52.1k");
        assert_eq!(iops(999_900.0), "1.00M");
        assert_eq!(duration_ns(58.0), "58 ns");
        assert_eq!(duration_ns(999_600.0), "1.00 ms");
        assert_eq!(duration_ns(598_016.0), "598 us");
        assert_eq!(duration_ns(3.1e9), "3.10 s");
    }

    /// "2026-11-21 20:15" made the reader do the sum.
    #[test]
    fn what_was_is_told_by_how_long_ago() {
        for (seconds, text) in [
            (0, "0 s ago"),
            (119, "119 s ago"),
            (180, "3 min ago"),
            (7_199, "119 min ago"),
            (7_200, "2 h ago"),
            (172_800, "2 d ago"),
            (59 * 86_400, "59 d ago"),
        ] {
            assert_eq!(ago(seconds).as_deref(), Some(text));
        }
        assert_eq!((ago(60 * 86_400), ago(-1)), (None, None), "a date says more");
    }

    #[test]
    fn one_is_not_many() {
        let said = [counted(0, "cell"), counted(1u64, "cell"), counted(2usize, "cell")];
        assert_eq!(said, ["0 cells", "1 cell", "2 cells"]);
    }

    #[test]
    fn shares_never_pretend_to_be_exact() {
        assert_eq!(percent(0.0164), "1.6 %");
        assert_eq!(percent(0.0001), "<0.1 %");
        assert_eq!(percent(0.234), "23 %");
        assert_eq!(percent(f64::INFINITY), "-");
    }

    /// Pairs printed in "Mtron Flash SSD Single Drive and Raid Array Benchmarks" (EasyCo, November
    /// 2007), as bytes per second read back from the text.
    #[test]
    fn bandwidth_is_truncated_as_the_2007_study_printed_it() {
        for (bytes_per_s, text) in [
            (7_340_032.0, "7.0M"),
            (10_590_617.6, "10.1M"),
            (62_771.2, "61.3K"),
            (505_344.0, "493.5K"),
            (42_257_612.8, "40.3M"),
            (1_954_508.8, "1908.7K"),
            (1_979_084.8, "1932.7K"),
            (2_097_152.0, "2.0M"),
            (2_202_009.6, "2.1M"),
        ] {
            assert_eq!(bm_flash_bandwidth(bytes_per_s), text);
        }
    }

    /// IOPS and bandwidth stand side by side in that study, both truncated, so that operations
    /// times block size tells truncation from rounding: 13223 x 4096 B/s is 51.65 x 2^20.
    #[test]
    fn the_studys_bandwidth_follows_from_its_operations() {
        for (operations, block_bytes, text) in [
            (14_422.0, 512.0, "7.0M"),
            (10_337.0, 4096.0, "40.3M"),
            (13_223.0, 4096.0, "51.6M"),
            (7_851.0, 8192.0, "61.3M"),
            (9_417.0, 8192.0, "73.5M"),
        ] {
            assert_eq!(bm_flash_bandwidth(operations * block_bytes), text);
            assert_eq!(bm_flash_bandwidth((operations + 0.999) * block_bytes), text);
        }
    }
}
