//! TARGET as users write it.

use crate::{
    memory::MemoryText,
    stack::{BadStack, Stack},
};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    str::FromStr,
};

/// What a TARGET names, before anything is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetText {
    /// `null:`: no device at all.
    Null,
    /// `model:STACK`: modelled drives.
    Model(Stack),
    /// `flash:PATH`: a managed volume in a file or on a block device.
    Flash(PathBuf),
    /// `memory:SIZE`: a drive of RAM, alone or with a managed volume on it.
    Memory(MemoryText),
    /// A directory, file or block device.
    Path(PathBuf),
}

/// A text that names no target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadTarget {
    /// Nothing at all.
    #[error("TARGET is empty: name a directory, a file or a device")]
    Empty,
    /// Not UTF-8, where no path may stand.
    #[error("`{}` is no text", .0.display())]
    NotText(OsString),
    /// `null:` and something.
    #[error("`{0}`: `null:` takes nothing after the colon")]
    NullWithMore(String),
    /// `flash:` alone.
    #[error(
        "`flash:` names no volume: write the file or device that it is on, such as \
         `flash:/dev/sdb`; `drivelab flash create` makes one"
    )]
    NoVolume,
    /// What `model:` or `memory:` names cannot be.
    #[error(transparent)]
    Stack(#[from] BadStack),
    /// A word and a colon, and the word is none of ours.
    #[error(
        "`{text}`: there are no `{scheme}:` targets.{near} A TARGET is a directory, a file, a \
         block device, `flash:PATH`, `model:STACK`, `memory:SIZE` or `null:`; a path with a colon \
         starts with `./`"
    )]
    UnknownScheme {
        /// As it was written.
        text: String,
        /// Before the colon.
        scheme: String,
        /// A hint at one that was meant, or nothing.
        near: String,
    },
}

impl TargetText {
    /// Reads a word of the command line. What is no text can only be a path, or a managed volume's.
    ///
    /// # Errors
    /// As [`from_str`](Self::from_str).
    pub fn of_word(word: &OsStr) -> Result<Self, BadTarget> {
        if let Some(text) = word.to_str() {
            return text.parse();
        }
        let exactly = PathBuf::from;
        // Which scheme it has, if any, its other letters tell.
        match word.to_string_lossy().parse() {
            Ok(Self::Path(_)) => Ok(Self::Path(exactly(word))),
            Ok(Self::Flash(_)) => {
                let path = word.as_bytes().strip_prefix(b"flash:").expect("it is a volume's");
                Ok(Self::Flash(exactly(OsStr::from_bytes(path))))
            }
            Err(_) if word.as_bytes().contains(&b':') && exactly(word).exists() => {
                Ok(Self::Path(exactly(word)))
            }
            Ok(_) => Err(BadTarget::NotText(word.to_owned())),
            Err(bad) => Err(bad),
        }
    }
}

impl FromStr for TargetText {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        if text.is_empty() {
            return Err(BadTarget::Empty);
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let is_word = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_lowercase());
        match scheme {
            "null" if rest.is_empty() => Ok(Self::Null),
            "null" => Err(BadTarget::NullWithMore(text.to_owned())),
            "model" => Ok(Self::Model(rest.parse()?)),
            "flash" if rest.is_empty() => Err(BadTarget::NoVolume),
            "flash" => Ok(Self::Flash(PathBuf::from(rest))),
            "memory" => Ok(Self::Memory(rest.parse()?)),
            // A path may hold a colon: `disk:by-id` does not, but `./a:b` and
            // `/dev/disk/by-path/pci-0000:00` do.
            _ if !is_word || std::path::Path::new(text).exists() => {
                Ok(Self::Path(PathBuf::from(text)))
            }
            _ => {
                let near = block::names::did_you_mean(scheme, ["null", "model", "flash", "memory"]);
                let (text, scheme) = (text.to_owned(), scheme.to_owned());
                Err(BadTarget::UnknownScheme { text, scheme, near })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_schemes_are_told_apart() {
        assert_eq!("null:".parse(), Ok(TargetText::Null));
        for path in [".", "/dev/disk/by-path/pci-0000:00:1f.2", "./model:x", "a/b"] {
            assert_eq!(path.parse(), Ok(TargetText::Path(path.into())), "{path}");
        }
    }

    #[test]
    fn an_unknown_scheme_is_refused_with_what_there_is() {
        let refusal = "nul:".parse::<TargetText>().expect_err("no such scheme");
        let is_unknown =
            matches!(&refusal, BadTarget::UnknownScheme { scheme, .. } if scheme == "nul");
        assert!(is_unknown, "{refusal:?}");
        let refusal = refusal.to_string();
        assert!(refusal.contains("`null`") && refusal.contains("./"), "{refusal}");
        assert_eq!("".parse::<TargetText>(), Err(BadTarget::Empty));
        assert_eq!("null:x".parse::<TargetText>(), Err(BadTarget::NullWithMore("null:x".into())));
        assert_eq!("flash:".parse::<TargetText>(), Err(BadTarget::NoVolume));
        assert_eq!("flash:a:b".parse(), Ok(TargetText::Flash("a:b".into())));
    }

    /// A directory whose name was written in another encoding (`caf\xe9`, Latin-1) was refused by
    /// the command line: "invalid UTF-8".
    #[test]
    fn a_path_need_not_be_text() {
        let word = OsStr::from_bytes;
        let path = |bytes| PathBuf::from(word(bytes));
        for name in [&b"/tmp/caf\xe9"[..], b"caf\xe9", b"./a:\xe9", b"caf\xe9/a:b"] {
            assert_eq!(TargetText::of_word(word(name)), Ok(TargetText::Path(path(name))));
        }
        let volume = TargetText::of_word(word(b"flash:caf\xe9.img"));
        assert_eq!(volume, Ok(TargetText::Flash(path(b"caf\xe9.img"))));
        assert_eq!(TargetText::of_word(word(b"null:")), Ok(TargetText::Null));
        for wrong in [&b"nul:\xe9"[..], b"model:\xe9", b"memory:1G\xe9"] {
            assert!(TargetText::of_word(word(wrong)).is_err(), "{wrong:?}");
        }
    }
}
