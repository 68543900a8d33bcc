//! Who works on a task, and whether that worker still lives.
//!
//! ```text
//!   claims/17-1   the first attempt at task 17: its worker        made once, never changed
//!   claims/17-2   a second one, after the first worker died
//!   beats/WORKER  touched while the worker's process lives; removed when it ends by itself
//! ```
//!
//! On its own host a worker is told by its process. From another host, or after its host was
//! started anew, nobody sees a process: there its beat counts, by the clock of the file system that
//! both see.

use record::{Life, Owner};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How often a process touches its beat.
pub const BEAT: Duration = Duration::from_secs(10);
/// A beat that is older has stopped: eighteen were missed. NFS keeps attributes for a minute
/// (acdirmax in nfs(5)), and a host may stand still for another.
pub const BEAT_STOPPED: Duration = Duration::from_secs(180);

/// A process that works on tasks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Worker {
    /// Name of its host.
    pub host: String,
    /// The kernel's boot id.
    pub boot: String,
    /// The process-id namespace.
    pub namespace: String,
    /// Process id in that namespace.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot.
    pub started_ticks: u64,
}

/// One attempt at a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// The task's number.
    pub task: u32,
    /// From 1.
    pub attempt: u32,
    /// Who.
    #[serde(flatten)]
    pub worker: Worker,
    /// RFC 3339.
    pub claimed: String,
}

/// What is known of another host's worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beat {
    /// It ended by itself, or never began.
    None,
    /// Its age.
    Old(Duration),
}

impl Worker {
    /// This process.
    ///
    /// # Errors
    /// When /proc is not mounted.
    pub fn current() -> std::io::Result<Self> {
        let owner = Owner::current()?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(Self {
            host,
            boot: owner.boot,
            namespace: owner.namespace,
            pid: owner.pid,
            started_ticks: owner.started_ticks,
        })
    }

    /// The host, as it was started last, as a file is called.
    pub(crate) fn host_name(&self) -> String {
        plain(&format!("{}-{}", self.host, self.boot))
    }

    /// Its name among the beats.
    pub fn name(&self) -> String {
        let host = plain(&self.host);
        let space: String = self.namespace.chars().filter(char::is_ascii_digit).collect();
        format!("{host}-{space}-{}-{}", self.pid, self.started_ticks)
    }

    fn owner(&self) -> Owner {
        Owner {
            pid: self.pid,
            started_ticks: self.started_ticks,
            boot: self.boot.clone(),
            namespace: self.namespace.clone(),
        }
    }

    /// Whether it lives, as seen by `here`; `beat` is asked only where its process is out of
    /// sight.
    pub fn is_alive(&self, here: &Self, beat: impl FnOnce() -> Beat) -> bool {
        // A pod that takes another's place has its host's name, on another machine.
        if self.host == here.host && self.boot == here.boot {
            match self.owner().life(&here.owner()) {
                Life::Alive => return true,
                Life::Dead => return false,
                Life::OutOfSight => {}
            }
        }
        match beat() {
            Beat::None => false,
            Beat::Old(age) => age < BEAT_STOPPED,
        }
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unasked() -> Beat {
        panic!("a process that can be seen is not asked for its beat")
    }

    #[test]
    fn a_worker_of_this_host_is_told_by_its_process() {
        let here = Worker::current().expect("/proc");
        assert!(here.is_alive(&here, unasked));
        let gone = Worker { started_ticks: here.started_ticks - 1, ..here.clone() };
        assert!(!gone.is_alive(&here, unasked));
    }

    #[test]
    fn a_worker_of_another_host_or_container_is_told_by_its_beat() {
        let here = Worker::current().expect("/proc");
        let elsewhere = Worker { host: "node-x".to_owned(), ..here.clone() };
        let contained = Worker { namespace: "pid:[1]".to_owned(), ..here.clone() };
        // Names of hosts come twice: in a second pod of a task, on another machine.
        let same_name = Worker { boot: "another".to_owned(), pid: here.pid + 1, ..here.clone() };
        for other in [elsewhere, contained, same_name] {
            assert!(!other.is_alive(&here, || Beat::None));
            assert!(other.is_alive(&here, || Beat::Old(Duration::from_secs(179))));
            assert!(!other.is_alive(&here, || Beat::Old(Duration::from_secs(181))));
            assert_ne!(other.name(), here.name());
        }
    }
}
