//! A second opinion on what a device holds, from util-linux, which knows some seventy formats.

use super::Reason;
use crate::{
    identify::tools::{self, Answer},
    roots::Roots,
};
use std::path::Path;

/// What blkid recognises on the device at `path`; nothing where it is not installed, and on other
/// than the machine's own files.
///
/// # Errors
/// When blkid is there and does not say: then nothing can be ruled out.
pub(super) fn known_to_blkid(path: &Path, roots: &Roots) -> Result<Vec<String>, Reason> {
    if !roots.are_real() {
        return Ok(Vec::new());
    }
    let node = path.to_string_lossy();
    read(tools::ask("blkid", &["-p", "-o", "export", &node]))
}

/// Its exit status (blkid(8)): 0 found, 2 nothing found, 4 wrong usage, 8 marks of several formats.
fn read(answer: Answer) -> Result<Vec<String>, Reason> {
    const AMBIVALENT: i32 = 8;
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        matches!(key, "TYPE" | "PTTYPE").then(|| format!("what blkid calls `{value}`"))
    };
    match answer {
        Answer::NotInstalled => Ok(Vec::new()),
        Answer::Ended { status: Some(0 | 2), text } => Ok(text.lines().filter_map(value).collect()),
        Answer::Ended { status: Some(AMBIVALENT), .. } => {
            Ok(vec!["marks of several formats, ambivalent to blkid,".to_owned()])
        }
        Answer::Ended { status, .. } => {
            let ended = match status {
                Some(status) => format!("status {status}"),
                None => "a signal".to_owned(),
            };
            Err(doubt(&format!("blkid ended with {ended}")))
        }
        Answer::Unanswered => Err(doubt("blkid did not end in time")),
    }
}

fn doubt(what: &str) -> Reason {
    Reason::Unreadable { error: format!("{what}, so nothing can be ruled out") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: i32, text: &str) -> Result<Vec<String>, Reason> {
        read(Answer::Ended { status: Some(status), text: text.to_owned() })
    }

    /// blkid prints nothing for a device with the marks of two file systems and ends with 8. That
    /// was taken for a blank device, which a run overwrote. Only 2 means that it found nothing.
    #[test]
    fn only_the_status_for_nothing_found_means_a_blank_device() {
        assert_eq!(ended(2, ""), Ok(Vec::new()));
        assert_eq!(
            ended(0, "DEVNAME=/dev/x\nTYPE=minix\n"),
            Ok(vec!["what blkid calls `minix`".to_owned()])
        );
        assert_eq!(ended(0, "DEVNAME=/dev/x\nUSAGE=other\n"), Ok(Vec::new()));
        let found = ended(8, "").expect("it says what it found");
        assert!(found[0].contains("several formats"), "{found:?}");
        for status in [1, 4, 16, 127] {
            let reason = ended(status, "").expect_err("nothing can be ruled out");
            assert!(reason.found().contains(&format!("status {status}")), "{}", reason.found());
        }
        assert!(read(Answer::Ended { status: None, text: String::new() }).is_err());
        assert!(read(Answer::Unanswered).is_err());
        assert_eq!(read(Answer::NotInstalled), Ok(Vec::new()));
    }
}
