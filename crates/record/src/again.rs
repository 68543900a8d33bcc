//! The command that made a run, with some options changed: what is printed can be pasted.

use crate::Record;
use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

/// Options with a value of their own each, that belong to one run and not to its repetition.
const ONCE: [&str; 3] = ["--json", "--label", "--seed"];
/// Options without a value, likewise.
const ONCE_ALONE: [&str; 1] = ["--dry-run"];

impl Record {
    /// `drivelab run ...` as it was typed, with `options` in the place of their earlier values; one
    /// without a value is left out. `None` where `run` did not make this record.
    pub fn again(&self, options: &[(&str, Option<&str>)]) -> Option<String> {
        self.again_on(&[], options)
    }

    /// The same on `targets` instead of its own; its own where none are given.
    pub fn again_on(&self, targets: &[&str], options: &[(&str, Option<&str>)]) -> Option<String> {
        let mut words = self.command_line.iter().skip(1);
        if words.next()? != "run" {
            return None;
        }
        let replaced =
            |word: &str| ONCE.contains(&word) || options.iter().any(|(option, _)| *option == word);
        let is_own = |word: &str| self.targets.iter().any(|target| target.text == word);
        let mut kept = vec!["drivelab".to_owned(), "run".to_owned()];
        kept.extend(targets.iter().map(quoted));
        while let Some(word) = words.next() {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            if name == "--resume" {
                return None;
            }
            if ONCE_ALONE.contains(&word.as_str()) {
                continue;
            }
            if replaced(name) {
                // The value is the next word, or stands behind the sign.
                if name == word {
                    words.next();
                }
                continue;
            }
            if targets.is_empty() || !is_own(word) {
                kept.push(quoted(word));
            }
        }
        for (option, value) in options {
            if let Some(value) = value {
                kept.extend([(*option).to_owned(), quoted(value)]);
            }
        }
        Some(kept.join(" "))
    }
}

/// A word as a shell reads it back. One that is no text is written with `$'...'`, which bash, zsh
/// and POSIX of 2024 know.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let Some(word) = word.to_str() else { return bytes_quoted(word.as_bytes()) };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn bytes_quoted(bytes: &[u8]) -> String {
    let mut text = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        text += &chunk.valid().replace('\\', r"\\").replace('\'', r"\'");
        // Octal ends after three digits; what follows `\xe9` might be taken for a third.
        text.extend(chunk.invalid().iter().map(|byte| format!("\\{byte:03o}")));
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn again(words: &str, options: &[(&str, Option<&str>)]) -> Option<String> {
        let mut record = example::full();
        record.command_line = words.split('|').map(str::to_owned).collect();
        record.again(options)
    }

    #[test]
    fn what_is_changed_takes_the_place_of_what_was_typed() {
        let longer = [("--max-time", Some("3m"))];
        for (typed, pasted) in [
            ("/usr/bin/drivelab|run|.", "drivelab run . --max-time 3m"),
            ("drivelab|run|--max-time|10s|a b", "drivelab run 'a b' --max-time 3m"),
            ("drivelab|run|.|--max-time=10s|--json|f", "drivelab run . --max-time 3m"),
            ("drivelab|run|.|-q|--json=f|--dry-run", "drivelab run . -q --max-time 3m"),
            (
                "drivelab|run|model:a:x=1|--set|op=read;write",
                "drivelab run model:a:x=1 --set 'op=read;write' --max-time 3m",
            ),
        ] {
            assert_eq!(again(typed, &longer).as_deref(), Some(pasted));
        }
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted(OsStr::from_bytes(b"it's caf\xe9")), r"$'it\'s caf\351'");
    }

    #[test]
    fn targets_and_options_are_exchanged() {
        let mut record = example::full();
        let own = record.targets[0].text.clone();
        let typed = ["drivelab", "run", &own, "--max-time", "9s", "--method", "oltp"];
        record.command_line = typed.map(str::to_owned).into();
        let passes = [("--max-time", None), ("--passes", Some("7"))];
        assert_eq!(
            record.again_on(&["a", "b c"], &passes).as_deref(),
            Some("drivelab run a 'b c' --method oltp --passes 7")
        );
    }

    #[test]
    fn only_a_run_is_run_again() {
        for typed in ["", "drivelab", "drivelab|matrix|.", "drivelab|run|--resume|last"] {
            assert_eq!(again(typed, &[]), None, "{typed}");
        }
    }
}
