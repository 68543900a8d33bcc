//! What the user agreed to lose.
//!
//! What must be typed says [`Naming`]; nothing else agrees: no path for a drive with a serial
//! (`/dev/sdb` is another drive after the next boot), no other case, no part of a word.

use super::{Reason, identity::Identity, naming::Naming};
use std::ffi::{OsStr, OsString};

/// Consent to lose what is on a file or device. Only with one does a [`Cleared`](super::Cleared)
/// become a [`Permit`](super::Permit), and only through a permit is anything opened for writing
/// that was there before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consent(Given);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Given {
    /// By these words after `--destroy`; without one, to nothing.
    Typed(Vec<OsString>),
    /// Before, to this very device.
    To(Identity),
    /// By naming it as a managed volume.
    AsVolume,
}

impl Default for Consent {
    fn default() -> Self {
        Self::typed([] as [String; 0])
    }
}

impl Consent {
    /// What was typed after `--destroy`, a word for each target. Space around a word was copied
    /// with it and does not count.
    pub fn typed<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Self {
        let trimmed = |word: &OsStr| word.to_str().map_or(word, |text| text.trim().as_ref()).into();
        let words = words.into_iter().map(|word| trimmed(word.as_ref()));
        Self(Given::Typed(words.collect()))
    }

    /// To a device that was agreed to before, or that is drivelab's own, and to no other that has
    /// its name by now.
    pub fn to(device: Identity) -> Self {
        Self(Given::To(device))
    }

    /// To what a managed volume does to its own file or device, named by `flash:PATH`: it is there
    /// to be written, and it writes nothing where it finds no volume.
    pub fn as_managed_volume() -> Self {
        Self(Given::AsVolume)
    }

    /// Whether it covers what goes by `naming` and is `identity`, if it is a device.
    pub(super) fn check(&self, naming: &Naming, identity: Option<&Identity>) -> Result<(), Reason> {
        match &self.0 {
            Given::AsVolume => Ok(()),
            Given::To(known) => match identity.map(|now| known.difference(now)) {
                Some(None) => Ok(()),
                Some(Some(difference)) => Err(Reason::Exchanged { difference }),
                None => Err(Reason::NotABlockDevice),
            },
            Given::Typed(words) if words.iter().any(|word| naming.is(word)) => Ok(()),
            Given::Typed(words) => Err(Reason::NotConfirmed {
                expected: naming.expected(),
                called: naming.called(),
                what: naming.what().into(),
                typed: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                kernel_name: naming.moves().map(Into::into),
            }),
        }
    }
}
