//! The ledger's lines: text to events and back. docs/reference/ledger-format.md.

use super::change::Change;
use serde::{Deserialize, Serialize};

/// The format's version: since 2 a write cache is switched without tools.
pub(super) const VERSION: u64 = 2;

/// Who keeps the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The format's version.
    pub ledger: u64,
    /// The command line.
    pub command: String,
    /// The process.
    pub pid: u32,
    /// The kernel's boot id.
    pub boot: String,
    /// Seconds since 1970.
    pub started_unix_s: u64,
}

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Head(Head),
    Change { change: u64, what: Change },
    PutBack { put_back: u64 },
}

impl Line {
    /// One line of text with its end.
    ///
    /// # Errors
    /// A path that is no UTF-8.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|text| text + "\n")
    }
}

/// What a ledger says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Story {
    pub(super) head: Head,
    /// Changes that were not put back, oldest first.
    pub(super) standing: Vec<(u64, Change)>,
}

/// A ledger that cannot be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadLedger {
    /// What is on the line is no event.
    #[error("line {line} of the ledger cannot be read: {source}")]
    Line { line: usize, source: serde_json::Error },
    /// A later drivelab keeps it.
    #[error("the ledger is of version {version}, this drivelab reads {VERSION}: use a newer one")]
    Newer { version: u64 },
    /// Two processes are said to keep it.
    #[error("line {line} of the ledger is a second head")]
    SecondHead { line: usize },
    /// An event of nobody's.
    #[error("line {line} of the ledger comes before the head")]
    BeforeHead { line: usize },
}

/// Reads a ledger's text; `None` when not even the head was written, so that nothing was changed.
///
/// # Errors
/// Which line cannot be read, or that a newer program wrote it.
pub(super) fn read(text: &str) -> Result<Option<Story>, BadLedger> {
    // What follows the last line's end was being written when the process died: it had not begun.
    let Some((whole, _)) = text.rsplit_once('\n') else { return Ok(None) };
    let mut story: Option<Story> = None;
    for (index, line) in whole.lines().enumerate() {
        let number = index + 1;
        let event: Line = serde_json::from_str(line)
            .map_err(|source| BadLedger::Line { line: number, source })?;
        match (event, &mut story) {
            (Line::Head(head), None) if head.ledger > VERSION => {
                return Err(BadLedger::Newer { version: head.ledger });
            }
            (Line::Head(head), None) => story = Some(Story { head, standing: Vec::new() }),
            (Line::Change { change, what }, Some(story)) => story.standing.push((change, what)),
            (Line::PutBack { put_back }, Some(story)) => {
                story.standing.retain(|(number, _)| *number != put_back);
            }
            (Line::Head(_), Some(_)) => return Err(BadLedger::SecondHead { line: number }),
            (_, None) => return Err(BadLedger::BeforeHead { line: number }),
        }
    }
    Ok(story)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{os::unix::ffi::OsStrExt, path::PathBuf};

    fn head() -> Head {
        Head {
            ledger: VERSION,
            command: "drivelab matrix --loop .".to_owned(),
            pid: 7,
            boot: "b".to_owned(),
            started_unix_s: 1_764_000_000,
        }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.to_text().expect("plain paths")).collect()
    }

    fn directory(name: &str) -> Change {
        Change::Directory { path: PathBuf::from(name) }
    }

    #[test]
    fn what_was_put_back_is_not_standing_and_a_torn_line_had_not_begun() {
        let change = |change, name| Line::Change { change, what: directory(name) };
        let whole = text(&[
            Line::Head(head()),
            change(1, "/a"),
            change(2, "/b"),
            Line::PutBack { put_back: 1 },
            change(3, "/c"),
        ]);
        let torn = &whole[..whole.len() - 3];
        let story = read(torn).expect("it is read").expect("it has a head");
        assert_eq!(story.head, head());
        assert_eq!(story.standing, [(2, directory("/b"))]);
        let story = read(&whole).expect("it is read").expect("it has a head");
        assert_eq!(story.standing, [(2, directory("/b")), (3, directory("/c"))]);
        assert!(matches!(read("{\"ledger\":1,"), Ok(None)));
    }

    /// `matrix --loop` in a directory `caf\xe9` could keep no account of what it made there.
    #[test]
    fn a_path_that_is_no_text_is_kept_with_every_byte() {
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(b"/mnt/caf\xe9"));
        let kept = Change::Loop { file: path };
        let change = |change, what: &Change| Line::Change { change, what: what.clone() };
        let whole = text(&[Line::Head(head()), change(1, &kept), change(2, &directory("/a%b"))]);
        assert!(whole.contains(r#""file":{"exact":"/mnt/caf%E9"}"#), "{whole}");
        assert!(whole.contains(r#""path":"/a%b""#), "{whole}");
        let story = read(&whole).expect("it is read").expect("it has a head");
        assert_eq!(story.standing, [(1, kept), (2, directory("/a%b"))]);
    }

    #[test]
    fn damage_in_the_middle_is_named_by_its_line() {
        let whole =
            text(&[Line::Head(head())]) + "nonsense\n" + &text(&[Line::PutBack { put_back: 1 }]);
        let damage = read(&whole).expect_err("damage");
        assert!(matches!(damage, BadLedger::Line { line: 2, .. }), "{damage}");
        assert!(damage.to_string().starts_with("line 2 of the ledger"), "{damage}");
        let newer = text(&[Line::Head(Head { ledger: VERSION + 1, ..head() })]);
        let newer = read(&newer).expect_err("newer");
        assert!(matches!(newer, BadLedger::Newer { version } if version == VERSION + 1), "{newer}");
        let headless = read("{\"put_back\":1}\n").expect_err("no head");
        assert!(matches!(headless, BadLedger::BeforeHead { line: 1 }), "{headless}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}(\n\\PC{0,80}){0,3}") {
            let _ = read(&text);
        }

        #[test]
        fn cut_anywhere_it_says_a_beginning_of_the_story(cut in 0usize..400) {
            let lines: Vec<Line> = std::iter::once(Line::Head(head()))
                .chain((1..6).map(|change| Line::Change { change, what: directory("/x") }))
                .collect();
            let whole = text(&lines);
            let cut = &whole[..cut.min(whole.len())];
            let standing = read(cut).expect("no damage").map_or(0, |story| story.standing.len());
            prop_assert_eq!(standing, cut.matches('\n').count().saturating_sub(1));
        }
    }
}
