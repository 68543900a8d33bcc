//! One setting of a method file: a value, a list of values, or a range that doubles.

use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// The values a setting takes, each as its text. `4096`, `"4KiB"`, `["4KiB", "8KiB"]`,
/// `"512B..4MiB"` (doubling, both ends in).
#[derive(Clone, PartialEq, Debug)]
pub struct Axis(pub Vec<String>);

impl Axis {
    /// Reads what a user typed after `--set key=`: one value, a range, or values parted by `;`.
    ///
    /// # Errors
    /// A sentence when a range has no sizes at its ends.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut values = Vec::new();
        for part in text.split(';') {
            values.extend(expand(part.trim())?);
        }
        Ok(Self(values))
    }
}

/// A range of sizes becomes its doublings; everything else stays.
fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((low, high)) = text.split_once("..") else { return Ok(vec![text.to_owned()]) };
    let size = |text: &str| block::parse_bytes(text).map_err(|error| error.to_string());
    let (low, high) = (size(low)?, size(high)?);
    if low == 0 || high < low {
        return Err(format!("`{text}` is not a rising range of sizes"));
    }
    Ok(std::iter::successors(Some(low), |size| size.checked_mul(2))
        .take_while(|size| *size <= high)
        .map(|size| size.to_string())
        .collect())
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AxisVisitor)
    }
}

struct AxisVisitor;

impl<'de> de::Visitor<'de> for AxisVisitor {
    type Value = Axis;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value, a list of values, or a range such as \"4KiB..1MiB\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Axis, E> {
        Ok(Axis(vec![value.to_string()]))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Axis, E> {
        Ok(Axis(vec![value.to_string()]))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Axis, E> {
        Ok(Axis(vec![value.to_string()]))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Axis, E> {
        expand(value).map(Axis).map_err(E::custom)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Axis, A::Error> {
        let mut values = Vec::new();
        while let Some(Axis(more)) = items.next_element()? {
            values.extend(more);
        }
        if values.is_empty() { Err(de::Error::custom("an empty list")) } else { Ok(Axis(values)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_doubles_and_holds_both_ends() {
        assert_eq!(Axis::parse("512..4K").expect("a range").0, ["512", "1024", "2048", "4096"]);
        assert_eq!(Axis::parse("1;10;40").expect("a list").0, ["1", "10", "40"]);
        assert_eq!(Axis::parse("mixed:70").expect("a word").0, ["mixed:70"]);
        assert!(Axis::parse("4x..8K").expect_err("no size").contains("`4x`"));
        assert!(Axis::parse("8K..4K").is_err());
    }
}
