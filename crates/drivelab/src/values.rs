//! Values of options that several verbs have.

use block::names::did_you_mean;
use std::num::NonZeroU32;
use target::serve::Flushes;

/// Reads what drives make of flushes.
pub fn flushes(text: &str) -> Result<Flushes, String> {
    Flushes::parse(text).ok_or_else(|| {
        let known = Flushes::ALL.map(|(_, name)| name);
        format!("it may be {}.{}", known.join(", "), did_you_mean(text, known))
    })
}

/// How many times.
pub fn slower(text: &str) -> Result<NonZeroU32, String> {
    match text.parse::<NonZeroU32>() {
        Ok(times) if times.get() <= serve::floor::SLOWER_MAX => Ok(times),
        _ => Err("a whole number from 1 to 1000, as in --slower 20".to_owned()),
    }
}
