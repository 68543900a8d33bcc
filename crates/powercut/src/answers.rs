//! What a check answers, counted.

use crate::protocol::{self, Answer};
use record::PowerCutRound;
use std::collections::BTreeSet;

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

    /// There are no more; `complaint` where the check failed.
    pub fn end(self, complaint: Option<String>) {
        if let Some(complaint) = complaint {
            // Two words for one thing: what is left cannot be used.
            self.result.broken.get_or_insert(complaint);
        }
        if self.result.broken.is_some() {
            // None of it can be had.
            self.result.promises.lost += self.kept.len() as u64;
        }
    }
}
