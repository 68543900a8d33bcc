//! What a check answers, counted.

use crate::protocol::{self, Answer};
use record::PowerCutRound;
use std::{collections::BTreeSet, path::Path};

/// The answers of one check, as they come.
pub struct Answers<'a> {
    /// Promises of which nothing bad was said.
    kept: BTreeSet<&'a str>,
    result: &'a mut PowerCutRound,
}

impl<'a> Answers<'a> {
    /// None yet, of what was promised.
    pub fn new(promised: &'a [String], result: &'a mut PowerCutRound) -> Self {
        Self { kept: promised.iter().map(String::as_str).collect(), result }
    }

    /// A line of the check; others than answers are for people.
    ///
    /// # Errors
    /// A sentence: it is an answer to nothing.
    pub fn take(&mut self, line: &str) -> Result<(), String> {
        let (count, id) = match protocol::answer(line) {
            Some(Answer::Lost(id)) => (&mut self.result.promises.lost, id),
            Some(Answer::Torn(id)) => (&mut self.result.promises.torn, id),
            Some(Answer::Broken(why)) => {
                self.result.broken = Some(why);
                return Ok(());
            }
            None => return Ok(()),
        };
        if !self.kept.remove(id.as_str()) {
            return Err(format!(
                "the check says `{line}`: it must name each broken promise once, and none that \
                 was not made"
            ));
        }
        *count += 1;
        Ok(())
    }

    /// There are no more; `complaint` where the check failed. Files below `directory`, where the
    /// check ran, are named from there: it is gone after the check, and the next has another.
    pub fn end(self, complaint: Option<String>, directory: &Path) {
        if let Some(complaint) = complaint {
            // Two words for one thing: what is left cannot be used.
            self.result.broken.get_or_insert(complaint);
        }
        if let Some(why) = &mut self.result.broken {
            *why = why.replace(&format!("{}/", directory.display()), "");
            // None of it can be had.
            self.result.promises.lost += self.kept.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{FileSystemState, Promises};

    /// The same cut, made again, was another verdict: SQLite names the file that it cannot open,
    /// and a mount point has the number of its process in it.
    #[test]
    fn what_is_said_of_files_is_the_same_wherever_they_are_mounted() {
        let said = |directory: &str, complaint: &str| {
            let mut round = PowerCutRound {
                round: 1,
                cut_after_s: 0.5,
                sectors_changed: 8,
                promises: Promises { made: 1, lost: 0, torn: 0 },
                broken: None,
                file_system: FileSystemState::Sound,
                mounted_after_s: 0.1,
            };
            let complaint = complaint.replace("AT", directory);
            Answers::new(&["a".to_owned()], &mut round).end(Some(complaint), Path::new(directory));
            assert_eq!(round.promises.lost, 1);
            round.broken
        };
        for directory in ["/tmp/drivelab-1/mount", "/tmp/drivelab-22/mount"] {
            let found = said(directory, "unable to open database file: AT/case.db");
            assert_eq!(found.as_deref(), Some("unable to open database file: case.db"));
            let found = said(directory, "no /etc/passwd");
            assert_eq!(found.as_deref(), Some("no /etc/passwd"));
        }
    }
}
