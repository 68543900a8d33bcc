//! The values of single options.

use super::{Direction, Distribution, Walk};
use crate::{
    options,
    value::{self, Amount, KbBase},
};

pub(super) fn within(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = value::count(text)?;
    let fits = (least..=most).contains(&number);
    fits.then_some(number).ok_or_else(|| format!("`{text}` is not from {least} to {most}"))
}

pub(super) fn rates(
    text: &str,
    read: impl Fn(&str) -> Result<u64, String>,
) -> Result<[Option<u64>; 3], String> {
    Ok(value::each(text, read)?.map(|rate| rate.filter(|rate| *rate > 0)))
}

/// A size; of a range of sizes, which fio draws from for each file, nothing is taken.
pub(super) fn one_size(text: &str, base: KbBase) -> Result<Amount, String> {
    if let Some((low, high)) = text.split_once('-')
        && low != high
    {
        return Err(format!("`{text}`: files of several sizes cannot be had: set one size"));
    }
    value::amount(text.split('-').next().unwrap_or_default(), base)
}

pub(super) fn below_a_day(seconds: f64) -> Result<f64, String> {
    let fits = seconds <= 86_400.0;
    fits.then_some(seconds).ok_or_else(|| format!("{seconds} s are more than a day"))
}

pub(super) fn above_nothing(amount: Amount) -> Result<Amount, String> {
    match amount {
        Amount::Bytes(0) => Err("0 bytes are nothing to work on".to_owned()),
        Amount::Percent(percent) if percent <= 0.0 => Err("0% is nothing to work on".to_owned()),
        amount => Ok(amount),
    }
}

pub(super) fn direction(text: &str, base: KbBase) -> Result<(Direction, Walk), String> {
    let (word, more) = match text.split_once(':') {
        Some((word, more)) => (word, Some(more)),
        None => (text, None),
    };
    let (direction, is_random) = match word {
        "read" => (Direction::Read, false),
        "write" => (Direction::Write, false),
        "rw" | "readwrite" => (Direction::Mixed, false),
        "randread" => (Direction::Read, true),
        "randwrite" => (Direction::Write, true),
        "randrw" => (Direction::Mixed, true),
        "trim" => (Direction::Trim, false),
        "randtrim" => (Direction::Trim, true),
        "trimwrite" | "randtrimwrite" => {
            return Err(format!("`{word}`: {}", options::TRIM));
        }
        other => {
            const KNOWN: &[&str] =
                &["read", "write", "rw", "randread", "randwrite", "randrw", "trim", "randtrim"];
            let near = block::names::did_you_mean(other, KNOWN.iter().copied());
            return Err(format!("`{other}` is unknown.{near} There are: {}", KNOWN.join(", ")));
        }
    };
    let walk = match (is_random, more) {
        (true, None | Some("1")) => Walk::Random,
        (true, Some(more)) => {
            return Err(format!(
                "`{text}`: {more} operations in order after each jump cannot be \
                                had: leave `:{more}` out"
            ));
        }
        (false, None) => Walk::Sequential { skip: 0 },
        (false, Some(more)) => {
            let (sign, more) = more.strip_prefix('-').map_or((1, more), |more| (-1, more));
            let skip = i64::try_from(value::size(more, base)?);
            Walk::Sequential { skip: sign * skip.map_err(|_| format!("`{text}` is too far"))? }
        }
    };
    Ok((direction, walk))
}

/// The pattern of a sequential walk, in our methods' words.
pub(crate) fn pattern_of_skip(skip: i64, block_bytes: u64) -> Option<String> {
    let block = i64::try_from(block_bytes).ok()?;
    if skip == 0 {
        return Some("seq".to_owned());
    }
    if skip == -2 * block {
        return Some("backward".to_owned());
    }
    (skip > 0 && skip % block == 0).then(|| format!("strided:{}", skip / block + 1))
}

pub(super) fn distribution(text: &str) -> Result<Distribution, String> {
    let (word, more) = text.split_once(':').unwrap_or((text, ""));
    let number = |otherwise: f64| match more {
        "" => Ok(otherwise),
        more => more.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 10.0).ok_or(
            format!("`{text}`: a number above 0 after the colon, such as {word}:{otherwise}"),
        ),
    };
    match word {
        "random" => Ok(Distribution::Uniform),
        "zipf" => Ok(Distribution::Zipf(number(1.1)?)),
        "pareto" => match number(0.2)? {
            power if power < 1.0 => Ok(Distribution::Pareto(power)),
            _ => Err(format!("`{text}`: a power above 0 and below 1")),
        },
        "zoned" => zoned(more).map(|()| Distribution::Zoned(more.to_owned())).ok_or_else(|| {
            format!(
                "`{text}`: shares such as zoned:50/5:30/15:20/80, of up to 16 \
                                    zones, which add up to 100"
            )
        }),
        _ => Err(format!(
            "`{text}` cannot be had: random, zipf:1.1, pareto:0.2 and zoned:50/5:50/95 can"
        )),
    }
}

/// Whether shares of accesses and sizes, `50/5:30/15:20/80`, are two that add up to 100 each; what
/// is left out at their end is the rest.
pub(super) fn zoned(text: &str) -> Option<()> {
    let zones: Vec<(&str, &str)> =
        text.split(':').map(|zone| zone.split_once('/').unwrap_or((zone, ""))).collect();
    let adds_up = |shares: Vec<&str>| {
        let (mut known, mut open) = (0.0, false);
        for share in shares {
            match share.trim() {
                "" => open = true,
                share => {
                    let share = share.parse::<f64>().ok()?;
                    known += Some(share).filter(|share| (0.0..=100.0).contains(share))?;
                }
            }
        }
        (if open { known <= 100.0 } else { (known - 100.0).abs() < 0.01 }).then_some(())
    };
    adds_up(zones.iter().map(|(access, _)| *access).collect())?;
    adds_up(zones.iter().map(|(_, size)| *size).collect())?;
    (zones.len() <= 16).then_some(())
}
