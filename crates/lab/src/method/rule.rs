//! Sizes that depend on the target: the tested area, and how much a cell may write.

use block::parse_bytes;
use std::fmt;

/// How large the tested area is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SpanRule {
    /// This many bytes.
    Bytes(u64),
    /// This many times the machine's memory.
    Memory(f64),
    /// This share of what the target offers: of a device's capacity, of a directory's free space.
    Capacity(f64),
    /// As large as the largest file of the cells.
    LargestFile,
    /// This many bytes, or all that the target offers where that is less.
    AtMost(u64),
}

impl fmt::Display for SpanRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(_) => formatter.write_str("the method's span"),
            Self::Memory(factor) => write!(formatter, "{factor} x memory"),
            Self::Capacity(1.0) => formatter.write_str("all that the target offers"),
            Self::Capacity(share) => write!(formatter, "{share} x what the target offers"),
            Self::LargestFile => formatter.write_str("the method's largest file"),
            Self::AtMost(_) => formatter.write_str("as far as the trace goes, where there is room"),
        }
    }
}

/// Most bytes that each writing stream writes in one pass that nothing else bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum WrittenRule {
    /// This many, or a quarter of the span if that is more.
    Bytes(u64),
    /// This many times the span.
    Spans(f64),
}

/// Reads `1GiB`, `2x memory`, `capacity`, `0.5x capacity`, `largest file`.
pub(super) fn span_rule(text: &str) -> Result<SpanRule, String> {
    if let Some(factor) = factor(text, "x memory") {
        return factor.map(SpanRule::Memory).map_err(|wrong| format!("span = {wrong}"));
    }
    if let Some(share) = factor(text, "x capacity") {
        return match share {
            Ok(share) if share <= 1.0 => Ok(SpanRule::Capacity(share)),
            Ok(_) => Err(format!("span = `{text}`: a target offers no more than 1x capacity")),
            Err(wrong) => Err(format!("span = {wrong}")),
        };
    }
    match text {
        "capacity" => Ok(SpanRule::Capacity(1.0)),
        "largest file" => Ok(SpanRule::LargestFile),
        size => match parse_bytes(size).map_err(|error| format!("span: {error}"))? {
            0 => Err("span = 0 tests nothing".to_owned()),
            bytes => Ok(SpanRule::Bytes(bytes)),
        },
    }
}

/// Reads `fill x 3`.
pub(super) fn fill_rule(text: &str) -> Result<u32, String> {
    let times = text.strip_prefix("fill").and_then(|rest| rest.trim_start().strip_prefix('x'));
    match times.and_then(|times| times.trim().parse().ok()) {
        Some(times) if times > 0 => Ok(times),
        _ => {
            Err(format!("precondition = `{text}`: `fill x 3` writes the whole target three times"))
        }
    }
}

/// Reads `8GiB`, `2x span`; four times the span when absent.
pub(super) fn written_rule(text: Option<&str>) -> Result<WrittenRule, String> {
    let Some(text) = text else { return Ok(WrittenRule::Spans(4.0)) };
    match factor(text, "x span") {
        Some(factor) => {
            factor.map(WrittenRule::Spans).map_err(|wrong| format!("written_max = {wrong}"))
        }
        None => parse_bytes(text)
            .map(WrittenRule::Bytes)
            .map_err(|error| format!("written_max: {error}")),
    }
}

/// The number before `unit`, if the text ends in it.
fn factor(text: &str, unit: &str) -> Option<Result<f64, String>> {
    let number = text.strip_suffix(unit)?.trim().parse::<f64>();
    Some(match number {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(factor),
        _ => Err(format!("`{text}`: a number above 0 before `{unit}`")),
    })
}
