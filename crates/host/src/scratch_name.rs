//! Names of scratch files, and the random numbers in names of our own.

use std::{
    ffi::OsStr,
    hash::{BuildHasher, Hasher, RandomState},
};

/// Scratch files begin so; eight hexadecimal digits follow.
const PREFIX: &str = ".drivelab-scratch-";

/// Whether a directory entry may be a scratch file.
pub(crate) fn is_scratch_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// A scratch file's name.
pub(crate) fn random_name() -> String {
    format!("{PREFIX}{:08x}", random() as u32)
}

/// A number that differs from run to run: a file name is no measurement, so it needs no seed.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_eight_hexadecimal_digits_make_a_scratch_name() {
        let is = |name: &str| is_scratch_name(OsStr::new(name));
        assert!(is(".drivelab-scratch-00ff12ab"));
        assert!(!is(".drivelab-scratch-00ff12a"));
        assert!(!is(".drivelab-scratch-00ff12ag"));
        assert!(!is("x.drivelab-scratch-00ff12ab"));
    }
}
