//! The levels of the axis that says where the journal of a file system lies.

use crate::axis::Cure;
use block::parse_bytes;
use std::path::PathBuf;

/// A level of [`Axis::Journal`](crate::Axis::Journal).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Where mkfs puts it.
    Inside,
    /// On a loop device of so many bytes over a file beside the first.
    File(u64),
    /// On this block device.
    Device(PathBuf),
}

impl Place {
    /// The place that a level names; `None` where it is no level.
    pub(crate) fn of(level: &str) -> Option<Self> {
        match level {
            "inside" => Some(Self::Inside),
            path if path.starts_with('/') => Some(Self::Device(path.into())),
            size => parse_bytes(size).ok().filter(|bytes| *bytes > 0).map(Self::File),
        }
    }
}

/// What to write in the place of a level that is none.
pub(crate) fn refused(level: &str) -> Option<Cure> {
    let words = "inside, a size such as 64M, or the path of a block device such as /dev/sdc";
    Place::of(level).is_none().then(|| Cure::words(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_inside_a_size_or_a_device() {
        assert_eq!(Place::of("inside"), Some(Place::Inside));
        assert_eq!(Place::of("64M"), Some(Place::File(64 << 20)));
        assert_eq!(Place::of("/dev/sdc"), Some(Place::Device("/dev/sdc".into())));
        assert!(["outside", "0", ""].iter().all(|level| Place::of(level).is_none()));
    }
}
