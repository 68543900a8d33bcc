//! Counted things in sentences.

use std::fmt::Display;

/// `1 block`, `2 blocks`; for nouns that take an s.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = one_or(&count, "", "s");
    format!("{count} {noun}{plural}")
}

/// The word that goes with one thing, or the one that goes with another number of them: `is`,
/// `are`.
pub fn one_or<'w, N: PartialEq + From<u8>>(count: &N, one: &'w str, more: &'w str) -> &'w str {
    if *count == N::from(1) { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `flash check` spoke of "1 blocks", `report --svg` of "1 drawings".
    #[test]
    fn one_thing_is_no_things() {
        assert_eq!(counted(0u64, "block"), "0 blocks");
        assert_eq!(counted(1u64, "block"), "1 block");
        assert_eq!(counted(2u32, "drawing"), "2 drawings");
        assert_eq!((one_or(&1u32, "is", "are"), one_or(&2u32, "is", "are")), ("is", "are"));
    }
}
