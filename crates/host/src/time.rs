//! The machine's clock, for what a record says of when it was made.

/// Now, to the second, as RFC 3339 writes it; empty where the clock stands beyond its years.
pub fn now() -> String {
    let rounded = jiff::Timestamp::now().round(jiff::Unit::Second);
    rounded.map_or_else(|_| String::new(), |time| time.to_string())
}

/// Bits that differ from run to run, for ids and for seeds that nobody chose: the time and the
/// process.
pub fn entropy() -> u64 {
    let now = jiff::Timestamp::now().as_nanosecond() as u64;
    block::Rng::new(now, u64::from(std::process::id())).next()
}

/// Where choices come from when the user named no seed: short enough for a record's JSON.
pub fn chosen_seed() -> u64 {
    entropy() >> 12
}
