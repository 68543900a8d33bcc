//! Flags that hold for a target, each with its sentence.

use record::{Flag, Warning};

/// A target's flags, in the order of [`Flag`], each once, with one warning a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Sorted, each once.
    pub flags: Vec<Flag>,
    /// In the order found.
    pub warnings: Vec<Warning>,
}

impl Findings {
    /// Adds a flag and the sentence about it; the flag's cure is appended.
    pub fn add(&mut self, flag: Flag, sentence: &str) {
        if let Err(at) = self.flags.binary_search(&flag) {
            self.flags.insert(at, flag);
        }
        let text = format!("{sentence}: {}", flag.cure());
        if !self.warnings.iter().any(|warning| warning.text == text) {
            self.warnings.push(Warning { flag: Some(flag), text });
        }
    }
}
