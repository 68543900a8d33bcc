//! What a latency must hold: `p99<1ms`.

use std::{fmt, str::FromStr};

/// A limit on latencies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Condition {
    /// What is limited.
    pub what: Limited,
    /// To less than this.
    pub limit_ns: u64,
}

/// What a condition limits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limited {
    /// The latency that this many percent of the operations do not exceed.
    Percentile(f64),
    /// The arithmetic mean.
    Mean,
}

/// Units as they are typed, longest first among those that end alike.
const UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
/// No limit is longer: an hour.
const LIMIT_NS_MAX: f64 = 3.6e12;
/// A percentile nearer to 100 has hardly ever ten operations beyond it.
const PERCENT_MAX: f64 = 99.999;

impl Condition {
    /// The share of operations that may be beyond the limit; `None` for a mean.
    pub fn allowed_share(&self) -> Option<f64> {
        match self.what {
            Limited::Percentile(percent) => Some(1.0 - percent / 100.0),
            Limited::Mean => None,
        }
    }

    /// How many operations a pass needs before the condition can be judged: ten beyond a
    /// percentile, as for every percentile that is printed; a hundred for a mean.
    pub fn operations_min(&self) -> f64 {
        self.allowed_share().map_or(100.0, |share| 10.0 / share)
    }

    /// The percentile in percent.
    pub fn percent(&self) -> Option<f64> {
        match self.what {
            Limited::Percentile(percent) => Some(percent),
            Limited::Mean => None,
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no limit on a latency: write p99<1ms, p99.9<500us, p50<2ms or mean<1ms"
            )
        };
        let (what, limit) = text.split_once('<').ok_or_else(wrong)?;
        let limit = limit.strip_prefix('=').unwrap_or(limit).trim();
        let what = match what.trim() {
            "mean" => Limited::Mean,
            word => {
                let percent = word.strip_prefix('p').and_then(|word| word.parse::<f64>().ok());
                let percent = percent.ok_or_else(wrong)?;
                if !(1.0..=PERCENT_MAX).contains(&percent) {
                    return Err(format!(
                        "`{text}`: percentiles go from p1 to p{PERCENT_MAX}: name one, such as p99"
                    ));
                }
                Limited::Percentile(percent)
            }
        };
        let digits = limit.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = limit.split_at(digits);
        let factor = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, ns)| ns);
        let limit_ns = number.parse::<f64>().map_err(|_| wrong())? * factor.ok_or_else(wrong)?;
        if !(1.0..=LIMIT_NS_MAX).contains(&limit_ns) {
            return Err(format!(
                "`{text}`: a limit goes from 1 ns to an hour: name one, such as 1ms"
            ));
        }
        Ok(Self { what, limit_ns: limit_ns.round() as u64 })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            Limited::Percentile(percent) => write!(formatter, "p{percent}")?,
            Limited::Mean => formatter.write_str("mean")?,
        }
        let ns = self.limit_ns as f64;
        let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
        let (unit, factor) =
            units.into_iter().find(|(_, factor)| ns >= *factor).unwrap_or(("ns", 1.0));
        write!(formatter, "<{}{unit}", ns / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let cases = [
            ("p99<1ms", Limited::Percentile(99.0), 1_000_000, "p99<1ms"),
            ("p99.9 <= 500 us", Limited::Percentile(99.9), 500_000, "p99.9<500us"),
            ("p50<0.0025s", Limited::Percentile(50.0), 2_500_000, "p50<2.5ms"),
            ("mean < 80µs", Limited::Mean, 80_000, "mean<80us"),
            ("p99<250ns", Limited::Percentile(99.0), 250, "p99<250ns"),
            ("p99 < 10 ms", Limited::Percentile(99.0), 10_000_000, "p99<10ms"),
        ];
        for (text, what, limit_ns, again) in cases {
            let condition: Condition = text.parse().expect(text);
            assert_eq!(condition, Condition { what, limit_ns }, "{text}");
            assert_eq!(condition.to_string(), again);
            assert_eq!(again.parse(), Ok(condition), "{again}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_an_example() {
        let wrong = ["", "p99", "p99<1", "p99>1ms", "p<1ms", "p100<1ms", "p0<1ms", "p99<0ms"];
        let more = ["p99<-1ms", "p99<1h", "avg<1ms", "p99<1.2.3ms", "p99<99999s", "pNaN<1ms"];
        for text in wrong.into_iter().chain(more) {
            let complaint = text.parse::<Condition>().expect_err(text);
            assert!(complaint.contains("p99") || complaint.contains("1ms"), "{text}: {complaint}");
        }
    }

    #[test]
    fn a_percentile_needs_ten_operations_beyond_it() {
        let needs = |text: &str| text.parse::<Condition>().expect(text).operations_min();
        assert!((needs("p99<1ms") - 1000.0).abs() < 1e-6);
        assert!((needs("p50<1ms") - 20.0).abs() < 1e-6);
        assert_eq!(needs("mean<1ms"), 100.0);
    }
}
