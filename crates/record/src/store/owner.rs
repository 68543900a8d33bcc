//! Which process a running run belongs to, and whether that process still lives.
//!
//! A process id alone is reused; with the process's start time (field 22 of `/proc/PID/stat`,
//! proc(5)), the kernel's boot id and the process-id namespace it is unique.

use std::{fs, io};

/// A process, beyond mistaking it for a later one with the same number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Process id in its own namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub started_ticks: u64,
    /// The kernel's boot id.
    pub boot: String,
    /// The process-id namespace, such as `pid:[4026531836]`.
    pub namespace: String,
}

/// What can be said about a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It runs.
    Alive,
    /// It ended, or the machine was started anew since.
    Dead,
    /// It belongs to another container: its number means nothing here, so it is left alone.
    OutOfSight,
}

impl Owner {
    /// This process.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn current() -> io::Result<Self> {
        let pid = std::process::id();
        let started_ticks = started_ticks(pid)
            .ok_or_else(|| io::Error::other("/proc/PID/stat cannot be read: mount /proc"))?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/pid")
            .map_or_else(|_| String::new(), |link| link.to_string_lossy().into_owned());
        Ok(Self { pid, started_ticks, boot, namespace })
    }

    /// Whether `self` still runs, as seen from the process `here`.
    pub fn life(&self, here: &Self) -> Life {
        if self.boot != here.boot {
            return Life::Dead;
        }
        if self.namespace != here.namespace {
            return Life::OutOfSight;
        }
        match started_ticks(self.pid) {
            Some(ticks) if ticks == self.started_ticks => Life::Alive,
            _ => Life::Dead,
        }
    }
}

/// Start time of a live process; a zombie counts as gone.
fn started_ticks(pid: u32) -> Option<u64> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(stat: &str) -> Option<u64> {
    // Field 2 is the command in brackets and may itself hold blanks and brackets: count from the
    // last.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?; // Field 3.
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok() // Field 22: eighteen stand between it and field 3.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_brackets_does_not_shift_the_fields() {
        let rest = (4..=52).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(parse_stat(&format!("7 (a) b (c)) S {rest}")), Some(22));
        assert_eq!(parse_stat(&format!("7 (gone) Z {rest}")), None);
        assert_eq!(parse_stat("7 (cut"), None);
    }

    #[test]
    fn this_process_lives_and_an_earlier_one_of_its_number_does_not() {
        let here = Owner::current().expect("/proc is mounted");
        assert_eq!(here.life(&here), Life::Alive);
        let earlier = Owner { started_ticks: here.started_ticks - 1, ..here.clone() };
        assert_eq!(earlier.life(&here), Life::Dead);
        let before_the_boot = Owner { boot: "another".to_owned(), ..here.clone() };
        assert_eq!(before_the_boot.life(&here), Life::Dead);
        let contained = Owner { namespace: "pid:[1]".to_owned(), ..here.clone() };
        assert_eq!(contained.life(&here), Life::OutOfSight);
    }

    #[test]
    fn an_ended_child_is_dead() {
        let mut child =
            std::process::Command::new("sleep").arg("60").spawn().expect("sleep is installed");
        let here = Owner::current().expect("/proc is mounted");
        let ticks = started_ticks(child.id()).expect("the child runs");
        let owner = Owner { pid: child.id(), started_ticks: ticks, ..here.clone() };
        assert_eq!(owner.life(&here), Life::Alive);
        child.kill().expect("ours to kill");
        child.wait().expect("ours to wait for");
        assert_eq!(owner.life(&here), Life::Dead);
    }
}
