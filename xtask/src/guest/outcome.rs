//! What became of each scenario, in a line each and in a sum.

use super::scenario::{Scenario, Seen};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Ok,
    /// It does not pass, and the table says so.
    Known,
    /// The kernel stopped in a known defect of its own.
    Kernel,
    /// It passes, and the table says that it does not.
    Mended,
    Failed,
}

impl Verdict {
    pub fn of(scenario: &Scenario, seen: &Seen, faults: &[String]) -> Self {
        if !faults.is_empty() && seen.kernel_defect(scenario).is_some() {
            return Self::Kernel;
        }
        match (faults.is_empty(), scenario.fails_today) {
            (true, None) => Self::Ok,
            (true, Some(_)) => Self::Mended,
            (false, Some(_)) if !seen.unprepared => Self::Known,
            (false, _) => Self::Failed,
        }
    }

    /// The line of a scenario.
    pub fn line(self, scenario: &Scenario, seen: &Seen) -> String {
        let (name, point) = (scenario.name, scenario.fails_today.unwrap_or_default());
        let times = format!("{:.1} s, processor {:.1} s", seen.seconds, seen.processor_s);
        match self {
            Self::Ok => format!("ok      {name}  {times}"),
            Self::Mended => format!("mended  {name}  {times}, was known to fail: {point}"),
            Self::Known => format!("known   {name}  {times}, fails today: {point}"),
            Self::Kernel => format!("kernel  {name}  {times}, stopped by {}", defect(scenario)),
            Self::Failed => format!("FAILED  {name}  {times}"),
        }
    }

    /// The same in a cell of the page.
    pub fn cell(self, scenario: &Scenario, seconds: f64) -> String {
        match self {
            Self::Ok | Self::Mended => format!("ok, {seconds:.0} s"),
            Self::Known => format!("fails today: {}", scenario.fails_today.unwrap_or_default()),
            Self::Kernel => format!("the kernel was stopped by {}", defect(scenario)),
            Self::Failed => "failed".to_owned(),
        }
    }
}

fn defect(scenario: &Scenario) -> &'static str {
    scenario.kernel_defect.map_or("", |defect| defect.name)
}

/// All that ended, and what was not begun.
#[derive(Default)]
pub struct Tally {
    pub ended: Vec<(&'static Scenario, Verdict)>,
    /// Failed because they did not end in time.
    pub late: Vec<&'static Scenario>,
    /// For want of a tool.
    pub skipped: Vec<&'static str>,
    /// What this kernel does not have, which nobody can install.
    pub not_there: usize,
    /// Guests that did not come up.
    pub lost: usize,
}

impl Tally {
    pub fn names(&self, of: Verdict) -> Vec<&'static str> {
        let ended = self.ended.iter().filter(|(_, verdict)| *verdict == of);
        ended.map(|(scenario, _)| scenario.name).collect()
    }

    /// `60 ok, 0 known to fail, 0 failed, 0 not run`; `left` were not begun.
    pub fn sum(&self, left: usize) -> String {
        let number = |of| self.names(of).len();
        let mut sum = format!(
            "{} ok, {} known to fail, {} failed, {} not run",
            number(Verdict::Ok) + number(Verdict::Mended),
            number(Verdict::Known),
            number(Verdict::Failed),
            left + self.skipped.len(),
        );
        if number(Verdict::Kernel) > 0 {
            sum += &format!(", {} stopped by a defect of the kernel", number(Verdict::Kernel));
        }
        if self.not_there > 0 {
            sum += &format!(", {} not for this kernel", self.not_there);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::scenario::{KernelDefect, PLAIN};

    #[test]
    fn what_fails_today_is_known_until_it_passes_or_cannot_be_prepared() {
        let known = Scenario { fails_today: Some("A.3"), ..PLAIN };
        let (seen, faults) = (Seen::default(), ["it is not so".to_owned()]);
        let unprepared = Seen { unprepared: true, ..Seen::default() };
        assert_eq!(Verdict::of(&PLAIN, &seen, &[]), Verdict::Ok);
        assert_eq!(Verdict::of(&PLAIN, &seen, &faults), Verdict::Failed);
        assert_eq!(Verdict::of(&known, &seen, &[]), Verdict::Mended);
        assert_eq!(Verdict::of(&known, &seen, &faults), Verdict::Known);
        assert_eq!(Verdict::of(&known, &unprepared, &faults), Verdict::Failed);
    }

    // Two scenarios that kill a ublk server failed on a quiet machine: the kernel of Debian 13 had
    // stopped in its own defect. What else is wrong with them must not hide behind it.
    #[test]
    fn only_the_defect_that_is_named_is_the_kernels_fault() {
        let defect = KernelDefect { place: "io_fallback_tw", name: "CVE" };
        let kills = Scenario { kernel_defect: Some(defect), ..PLAIN };
        let faults = ["the kernel complains".to_owned()];
        let seen = |kernel: &str, log: &str| {
            let (kernel, log) = (vec![kernel.to_owned()], vec![log.to_owned()]);
            Seen { kernel, log, ..Seen::default() }
        };
        let stopped = seen("Oops: 0000", "io_fallback_tw+0x63");
        assert_eq!(Verdict::of(&kills, &stopped, &faults), Verdict::Kernel);
        assert_eq!(Verdict::of(&PLAIN, &stopped, &faults), Verdict::Failed);
        assert_eq!(Verdict::of(&kills, &stopped, &[]), Verdict::Ok);
        let elsewhere = seen("Oops: 0000", "ext4_writepages");
        assert_eq!(Verdict::of(&kills, &elsewhere, &faults), Verdict::Failed);
        let mut hung = Seen::default();
        hung.take_console("[ 1] ready\n[ 2] Oops: 0000 [#1]\n[ 2]  io_fallback_tw+0x63/0xd4\n");
        assert_eq!(Verdict::of(&kills, &hung, &faults), Verdict::Kernel);
        let warned = seen("WARNING: CPU: 0", "io_fallback_tw+0x63");
        assert_eq!(Verdict::of(&kills, &warned, &faults), Verdict::Failed);
    }
}
