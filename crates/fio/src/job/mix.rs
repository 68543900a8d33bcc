//! Block sizes: one, a range, or sizes with shares, for each direction.

use crate::value::{self, KbBase};

/// Sizes and their percents, for reads, writes, trims; `None` where nothing is said.
pub(super) type Blocks = [Option<Vec<(u64, f64)>>; 3];

type Sizes = Result<Vec<(u64, f64)>, String>;

/// Most sizes, as many as fio takes.
const SIZES_MAX: usize = 64;

/// Each direction's sizes.
pub(super) fn each(text: &str, read: impl Fn(&str) -> Sizes) -> Result<Blocks, String> {
    let [reads, writes, trims] = value::directions(text);
    let one = |text: Option<&str>| text.map(&read).transpose();
    Ok([one(reads)?, one(writes)?, one(trims)?])
}

/// `4k`.
pub(super) fn one(text: &str, base: KbBase) -> Sizes {
    Ok(vec![(value::size(text, base)?, 100.0)])
}

/// `4k-64k`: fio draws any multiple of the smallest, all alike.
pub(super) fn range(text: &str, base: KbBase) -> Sizes {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (value::size(low, base)?, value::size(high, base)?);
    if low == 0 || high < low {
        return Err(format!("`{text}` is no range of sizes that rises, such as 4k-64k"));
    }
    let count = high / low;
    if count > SIZES_MAX as u64 {
        return Err(format!(
            "`{text}` has {count} sizes, and {SIZES_MAX} can be had: use `bssplit`"
        ));
    }
    Ok((1..=count).map(|times| (low * times, 100.0 / count as f64)).collect())
}

/// `4k/60:64k/40`; those without a percentage share the rest.
pub(super) fn split(text: &str, base: KbBase) -> Sizes {
    let mut written: Vec<(u64, Option<f64>)> = Vec::new();
    for part in text.split(':').map(str::trim).filter(|part| !part.is_empty()) {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim() {
            "" => None,
            text => match text.parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Some(percent),
                _ => return Err(format!("`{part}`: a percentage after the slash, 0 to 100")),
            },
        };
        written.push((value::size(size, base)?, percent));
    }
    let known: f64 = written.iter().filter_map(|(_, percent)| *percent).sum();
    let open = written.iter().filter(|(_, percent)| percent.is_none()).count();
    let rest = if open > 0 { (100.0 - known).max(0.0) / open as f64 } else { 0.0 };
    if known > 100.05 || (open == 0 && (known - 100.0).abs() > 0.05) {
        return Err(format!("`{text}`: its percentages add up to {known}, not to 100"));
    }
    let mut sizes: Vec<(u64, f64)> = Vec::new();
    for (bytes, percent) in written {
        let percent = percent.unwrap_or(rest);
        match sizes.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, share)) => *share += percent,
            None => sizes.push((bytes, percent)),
        }
    }
    sizes.retain(|(_, percent)| *percent > 0.0);
    match sizes.len() {
        0 => Err(format!("`{text}` names no size: write such as 4k/60:64k/40")),
        count if count > SIZES_MAX => Err(format!("{count} sizes are more than {SIZES_MAX}")),
        _ => Ok(sizes),
    }
}
