//! What is tried, and what has to be seen.

use super::{
    contents::{self, TOOLS},
    kernel::Kernel,
    machine,
};
use std::{collections::BTreeMap, time::Duration};

/// One line of the table. Its texts are for bash in the guest, with the words of `lib.sh`; `$NVME`
/// and the other names of drives are their paths.
pub struct Scenario {
    pub name: &'static str,
    /// What is done before; it must succeed.
    pub prepare: &'static str,
    pub command: &'static str,
    /// Not empty: `command` ends with `power_off`, which switches the guest off there and then, and
    /// this is what is done in the next boot, with the same drives. All that was in memory is gone.
    pub again: &'static str,
    /// The exit code of the command, or of what is done again.
    pub exit: i32,
    /// What it must print; `$NVME` is the drive's path here, too.
    pub words: &'static [&'static str],
    /// What it must not print.
    pub never: &'static [&'static str],
    /// What must succeed afterwards: the state of the drives.
    pub after: &'static str,
    /// Takes away what was prepared.
    pub undo: &'static str,
    /// The one kernel that has what it needs.
    pub kernel: Option<Kernel>,
    /// The point of the list of defects that keeps it from passing.
    pub fails_today: Option<&'static str>,
    /// The guest's kernel may complain: that is what it is about.
    pub may_oops: bool,
    /// A defect of the kernel's own that may end it.
    pub kernel_defect: Option<KernelDefect>,
    /// Only when it is asked for by name: it takes long.
    pub by_name: bool,
    /// Each of its texts may take so long.
    pub limit_s: u32,
}

/// A known defect of the kernel, which is no failure of the program's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelDefect {
    /// The function that the kernel names when it stops there.
    pub place: &'static str,
    /// What it is called.
    pub name: &'static str,
}

/// What most scenarios have in common.
pub const PLAIN: Scenario = Scenario {
    name: "",
    prepare: "",
    command: "",
    again: "",
    exit: 0,
    words: &[],
    never: &[],
    after: "",
    undo: "",
    kernel: None,
    fails_today: None,
    may_oops: false,
    kernel_defect: None,
    by_name: false,
    limit_s: 120,
};

/// A scenario that takes long: it runs only when it is named.
pub const SLOW: Scenario = Scenario { by_name: true, ..PLAIN };

/// Why an older kernel cannot have a scenario, by a word of its texts.
const REASONS: &[(&str, &str)] = &[
    ("ublk", "Debian's kernel 6.1 is built without ublk"),
    ("io_uring_disabled", "the switch io_uring_disabled came with Linux 6.6"),
];
/// No scenario may see any of these.
const NEVER: &[&str] = &["panicked at", "RUST_BACKTRACE", "internal error"];

impl Scenario {
    /// The drives that its texts name, which are blank when it begins.
    pub fn drives(&self) -> Vec<&'static str> {
        let texts = self.texts().join("\n");
        machine::drives().filter(|name| names(&texts, name)).collect()
    }

    pub fn texts(&self) -> [&'static str; 5] {
        [self.prepare, self.command, self.again, self.after, self.undo]
    }

    /// The longest that its texts can take.
    pub fn time(&self) -> Duration {
        let texts = self.texts().iter().filter(|text| !text.is_empty()).count() as u64;
        Duration::from_secs(texts * u64::from(self.limit_s))
    }

    /// What the kernel does not have, in words; it is no tool, which could be installed.
    pub fn not_in(&self, kernel: Kernel) -> Option<String> {
        let wanted = self.kernel.filter(|wanted| *wanted != kernel)?;
        let texts = self.texts().join("\n");
        let reason = REASONS.iter().find(|(word, _)| texts.contains(word));
        let wants = || format!("it is for kernel {}", wanted.name());
        Some(reason.map_or_else(wants, |(_, reason)| (*reason).to_owned()))
    }

    /// The tool that this machine lacks for it, and its cure.
    pub fn missing(&self) -> Option<String> {
        let texts = self.texts().join("\n");
        let lacks =
            |tool: &str| contents::has_word(&texts, tool) && contents::found(tool).is_none();
        let lacks = TOOLS.iter().find(|(tool, _)| lacks(tool));
        lacks.map(|(tool, package)| format!("no {tool}: install {package}"))
    }
}

/// Whether `$NAME` is in a text.
fn names(text: &str, name: &str) -> bool {
    let mut pieces = text.split('$').skip(1);
    pieces.any(|piece| {
        let piece = piece.trim_start_matches('{');
        let rest = piece.strip_prefix(name);
        rest.is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        })
    })
}

/// So many lines of the console tell where a kernel stopped.
const OOPS_LINES: usize = 60;

/// What was seen of one scenario.
#[derive(Default)]
pub struct Seen {
    pub output: Vec<String>,
    pub unprepared: bool,
    pub exit: Option<i32>,
    pub after: Option<i32>,
    pub kernel: Vec<String>,
    /// All that it said, in order, for people.
    pub log: Vec<String>,
    pub seconds: f64,
    pub processor_s: f64,
}

impl Seen {
    /// Takes in a line of the guest. True for the last of a scenario.
    pub fn take(&mut self, line: &str) -> bool {
        let code = |text: &str| text.trim().parse().ok();
        if let Some(text) = line.strip_prefix("| ") {
            self.output.push(text.to_owned());
            self.log.push(text.to_owned());
        } else if let Some(text) = line.strip_prefix("@@ exit ") {
            self.exit = code(text);
            self.log.push(format!("[exit code {text}]"));
        } else if let Some(text) = line.strip_prefix("@@ after ") {
            self.after = code(text);
        } else if let Some(text) = line.strip_prefix("@@ kernel ") {
            self.kernel.push(text.to_owned());
        } else if line == "@@ unprepared" {
            self.unprepared = true;
        } else if line == "@@ end" {
            return true;
        } else {
            self.log.push(line.to_owned());
        }
        false
    }

    /// Takes in why a kernel stopped, from the console of a guest that does not answer any more.
    pub fn take_console(&mut self, console: &str) {
        let mut lines = console.lines().skip_while(|line| !line.contains("Oops:")).take(OOPS_LINES);
        self.kernel.extend(lines.next().map(str::to_owned));
        self.log.extend(lines.map(str::to_owned));
    }

    /// The kernel's own defect, if it stopped there.
    pub fn kernel_defect(&self, scenario: &Scenario) -> Option<KernelDefect> {
        let stopped = |lines: &[String], text| lines.iter().any(|line| line.contains(text));
        let is_seen = |defect: &KernelDefect| {
            stopped(&self.kernel, "Oops:") && stopped(&self.log, defect.place)
        };
        scenario.kernel_defect.filter(is_seen)
    }

    /// Whether it did not end, or was killed at the end of its time.
    pub fn is_late(&self, scenario: &Scenario) -> bool {
        const KILLED: i32 = 137;
        !self.unprepared
            && (self.exit.is_none() || self.exit == Some(KILLED) && scenario.exit != KILLED)
    }

    /// What is not as the scenario says; `drives` are the paths of the drives' names.
    pub fn faults(&self, scenario: &Scenario, drives: &BTreeMap<String, String>) -> Vec<String> {
        if self.unprepared {
            return vec!["it could not be prepared".to_owned()];
        }
        let mut faults = Vec::new();
        if self.exit != Some(scenario.exit) {
            let seen = self.exit.map_or("none".to_owned(), |code| code.to_string());
            let killed = if self.exit == Some(137) { ": killed, or out of time" } else { "" };
            faults.push(format!("exit code {seen}{killed}, and {} was expected", scenario.exit));
        }
        // A sentence may be cut anywhere by the width of the page.
        let output = one_line(&self.output.join(" "));
        for words in scenario.words {
            let words = one_line(&with_paths(words, drives));
            if !output.contains(&words) {
                faults.push(format!("it does not say `{words}`"));
            }
        }
        for words in NEVER.iter().chain(scenario.never) {
            let words = one_line(&with_paths(words, drives));
            if output.contains(&words) {
                faults.push(format!("it says `{words}`"));
            }
        }
        if self.after != Some(0) {
            faults.push("what has to be true afterwards is not".to_owned());
        }
        if !scenario.may_oops {
            faults.extend(self.kernel.iter().map(|line| format!("the kernel complains: {line}")));
        }
        faults
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `$NAME` as the drive's path, `$name` as its kernel name.
fn with_paths(text: &str, drives: &BTreeMap<String, String>) -> String {
    // The longest names first: one may be the beginning of another.
    let mut names: Vec<_> = drives.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    names.into_iter().fold(text.to_owned(), |text, (name, path)| {
        let kernel_name = path.trim_start_matches("/dev/");
        text.replace(&format!("${name}"), path)
            .replace(&format!("${}", name.to_lowercase()), kernel_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Scenario = Scenario {
        name: "reads",
        command: "drivelab run $NVME",
        words: &["$NVME is $nvme, and in two lines"],
        ..PLAIN
    };

    fn seen(lines: &[&str]) -> Vec<String> {
        let mut seen = Seen::default();
        let ends: Vec<bool> = lines.iter().map(|line| seen.take(line)).collect();
        assert_eq!(ends.iter().filter(|end| **end).count(), 1, "the last line ends it");
        let drives = BTreeMap::from([("NVME".to_owned(), "/dev/nvme3n1".to_owned())]);
        seen.faults(&READS, &drives)
    }

    #[test]
    fn what_was_seen_is_held_against_words_code_state_and_kernel() {
        let said = ["| /dev/nvme3n1 is nvme3n1, and in", "| two  lines"];
        let good = ["@@ exit 0", "@@ after 0", "@@ end"];
        assert_eq!(seen(&[&said[..], &good].concat()), [""; 0]);
        assert_eq!(seen(&good).len(), 1, "no words");
        assert_eq!(seen(&[&said[..], &["@@ exit 2"], &good[1..]].concat()).len(), 1);
        assert_eq!(seen(&[&said[..], &good[..1], &good[2..]].concat()).len(), 1, "no state");
        assert_eq!(seen(&[&said[..], &["@@ kernel BUG: x"], &good].concat()).len(), 1);
        assert_eq!(seen(&[&said[..], &["| panicked at x"], &good].concat()).len(), 1);
        assert_eq!(seen(&["@@ unprepared", "@@ end"]).len(), 1);
    }

    #[test]
    fn what_is_wrong_is_not_late() {
        let is_late = |exit| Seen { exit, ..Seen::default() }.is_late(&READS);
        assert_eq!([None, Some(137), Some(0), Some(2)].map(is_late), [true, true, false, false]);
        let unprepared = Seen { unprepared: true, ..Seen::default() };
        assert!(!unprepared.is_late(&READS));
    }

    #[test]
    fn the_drives_are_those_that_the_texts_name() {
        assert_eq!(READS.drives(), ["NVME"]);
        let text = "dd if=${SATA}1 of=$SPACE1; echo $SPACE12 NATIVE";
        let found: Vec<_> = machine::drives().filter(|name| names(text, name)).collect();
        assert_eq!(found, ["SATA", "SPACE1"]);
    }
}
