//! TARGET as users write it.

use crate::{memory::MemoryText, stack::Stack};
use std::{ffi::OsStr, fmt, os::unix::ffi::OsStrExt, path::PathBuf, str::FromStr};

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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTarget(String);

impl fmt::Display for BadTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadTarget {}

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
            Ok(_) => Err(BadTarget(format!("`{}` is no text", word.display()))),
            Err(bad) => Err(bad),
        }
    }
}

impl FromStr for TargetText {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        if text.is_empty() {
            return Err(BadTarget(
                "TARGET is empty: name a directory, a file or a device".to_owned(),
            ));
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let is_word = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_lowercase());
        match scheme {
            "null" if rest.is_empty() => Ok(Self::Null),
            "null" => Err(BadTarget(format!("`{text}`: `null:` takes nothing after the colon"))),
            "model" => match rest.parse() {
                Ok(stack) => Ok(Self::Model(stack)),
                Err(bad) => Err(BadTarget(format!("{bad}"))),
            },
            "flash" if rest.is_empty() => Err(BadTarget(
                "`flash:` names no volume: write the file or device that it is on, such as `flash:/dev/sdb`; `drivelab \
                 flash create` makes one"
                    .to_owned(),
            )),
            "flash" => Ok(Self::Flash(PathBuf::from(rest))),
            "memory" => match rest.parse() {
                Ok(text) => Ok(Self::Memory(text)),
                Err(bad) => Err(BadTarget(format!("{bad}"))),
            },
            // A path may hold a colon: `disk:by-id` does not, but `./a:b` and
            // `/dev/disk/by-path/pci-0000:00` do.
            _ if !is_word || std::path::Path::new(text).exists() => {
                Ok(Self::Path(PathBuf::from(text)))
            }
            _ => {
                let near = block::names::did_you_mean(scheme, ["null", "model", "flash", "memory"]);
                Err(BadTarget(format!(
                    "`{text}`: there are no `{scheme}:` targets.{near} A TARGET is a directory, a file, a \
                     block device, `flash:PATH`, `model:STACK`, `memory:SIZE` or `null:`; a path with a colon starts with `./`"
                )))
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
        let refusal = "nul:".parse::<TargetText>().expect_err("no such scheme").to_string();
        assert!(refusal.contains("`null`") && refusal.contains("./"), "{refusal}");
        assert!("".parse::<TargetText>().is_err());
        assert!("null:x".parse::<TargetText>().is_err());
        assert!("flash:".parse::<TargetText>().is_err());
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
