//! A process and all that it started, however they group themselves: a database's workers lead
//! sessions of their own, and belong to it all the same.

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, set_child_subreaper, set_parent_process_death_signal,
    waitpid,
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::parent_id,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

/// The variable that every process of a workload has.
pub const PHASE: &str = "DRIVELAB_PHASE";

/// Stops a process and its descendants where they are.
pub fn stop(root: u32) {
    // What starts a process between two looks is stopped by the second.
    let mut stopped = Vec::new();
    loop {
        let new: Vec<u32> =
            descendants(&[root]).into_iter().filter(|pid| !stopped.contains(pid)).collect();
        if new.is_empty() {
            return;
        }
        signal(&new, Signal::STOP);
        stopped.extend(new);
    }
}

/// Kills a process and its descendants; who was killed, the process itself first.
pub fn kill(root: u32) -> Vec<u32> {
    let all = descendants(&[root]);
    signal(&all, Signal::KILL);
    all
}

/// Kills what a process that has ended by itself left behind, and waits for it: every descendant
/// that is none of these children of ours, which were there before. What has ended as well has no
/// environment any more that tells whose it was.
pub fn kill_left(before: &[u32]) {
    let mut left = descendants(&[]);
    let new = children().into_iter().filter(|pid| !before.contains(pid) && !left.contains(pid));
    left.extend(new.collect::<Vec<_>>());
    signal(&left, Signal::KILL);
    reap(&left);
}

/// The children of this process.
pub fn children() -> Vec<u32> {
    let all = parents(Path::new("/proc"));
    all.into_iter().filter(|(_, of)| *of == process::id()).map(|(pid, _)| pid).collect()
}

/// Makes this process the parent of what its descendants leave behind. In a container nobody else
/// may be there to wait for them, and a database that is started anew finds the number of its
/// predecessor alive.
pub fn adopt() {
    // Without it they go to the first process, as everywhere.
    let _ = set_child_subreaper(Pid::from_raw(1));
}

/// From now on this process is killed when its parent is gone: a case that nobody listens to would
/// work on, and keep the file system busy. Whether that parent is still there, where its number is
/// known: one that went before left no signal.
pub fn die_with_parent(parent: Option<u32>) -> bool {
    // Where it cannot be had, `drivelab restore` ends it.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    parent.is_none_or(|parent| parent == parent_id())
}

/// From now on this process is asked to end when its parent is gone, and puts back what it changed.
pub fn end_with_parent() {
    // Where it cannot be had, it ends with its output: nobody reads that.
    let _ = set_parent_process_death_signal(Some(Signal::INT));
}

/// Waits until killed processes are gone, their parents being gone already.
pub fn reap(killed: &[u32]) {
    let deadline = Instant::now() + PATIENCE;
    for &pid in killed {
        let Some(id) = Pid::from_raw(pid as i32) else { continue };
        let is_there = || Path::new("/proc").join(pid.to_string()).exists();
        while is_there() && Instant::now() < deadline {
            match waitpid(Some(id), WaitOptions::NOHANG) {
                Ok(Some(_)) => break,
                // It dies, or its parent does, which makes it ours.
                Ok(None) | Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

/// A process in the middle of a system call dies at its end.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

fn signal(pids: &[u32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid as i32)) {
        // One that has ended meanwhile is what was wanted.
        let _ = kill_process(pid, signal);
    }
}

/// The process itself first; what left its parent, as a daemon does, is ours by adoption and known
/// by the variable that its environment inherited.
fn descendants(roots: &[u32]) -> Vec<u32> {
    let parents = parents(Path::new("/proc"));
    let mut all = roots.to_vec();
    let adopted = parents.iter().filter(|(_, of)| **of == process::id()).map(|(pid, _)| *pid);
    all.extend(adopted.filter(|pid| !roots.contains(pid) && is_of_a_phase(*pid)));
    let mut next = 0;
    while let Some(&parent) = all.get(next) {
        all.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    all
}

/// Whether it was started with [`PHASE`].
fn is_of_a_phase(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let name = [PHASE.as_bytes(), b"="].concat();
    environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(&name))
}

/// Every process and its parent.
fn parents(proc: &Path) -> BTreeMap<u32, u32> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| {
        let text = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
        Some((pid, parent_of(&text)?))
    };
    pids.filter_map(parent).collect()
}

/// The fourth field of proc_pid_stat(5); the second, a name in parentheses, may hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_may_hold_blanks_and_parentheses() {
        assert_eq!(parent_of("12 (a) b) (c) S 7 12 12 0 -1"), Some(7));
        assert_eq!(parent_of("12 (sh) S"), None);
        assert_eq!(parent_of(""), None);
    }

    /// PostgreSQL's workers call setsid(2): a signal to the process's group did not reach them. And
    /// `pg_ctl start` leaves its server behind and ends: what it left kept the file system busy.
    #[test]
    fn a_session_of_its_own_and_a_daemon_that_left_its_parent_are_killed() {
        adopt();
        // One after the other: what is left behind is told by its environment alone.
        assert_killed("setsid sleep 1000 & echo $!; wait");
        assert_killed("(setsid sleep 1000 & echo $!); exec sleep 1000");
        what_ended_before_is_waited_for();
    }

    /// PostgreSQL whose drive was gone ended by itself. Nobody waited for it, and the one that was
    /// started for the check said that another one was running: a round without a promise kept.
    fn what_ended_before_is_waited_for() {
        let before = children();
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 0.1 & exit"]).env(PHASE, "run");
        let status = shell.status().expect("a shell");
        assert!(status.success());
        let new = || children().into_iter().filter(|pid| !before.contains(pid)).collect::<Vec<_>>();
        let left = new();
        assert_eq!(left.len(), 1, "it is ours");
        let stat = || fs::read_to_string(format!("/proc/{}/stat", left[0])).unwrap_or_default();
        while !stat().contains(") Z ") {
            thread::sleep(PAUSE);
        }
        kill_left(&before);
        assert_eq!(new(), [] as [u32; 0]);
    }

    fn assert_killed(script: &str) {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).env(PHASE, "run").stdout(Stdio::piped());
        let mut shell = shell.spawn().expect("a shell");
        let mut line = String::new();
        let said = shell.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).expect("a pid");
        let child: u32 = line.trim().parse().expect("a number");
        stop(shell.id());
        let state = |pid: u32| {
            let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let (_, rest) = text.rsplit_once(')')?;
            rest.split_whitespace().next().map(str::to_owned)
        };
        let stopped = || state(child).as_deref() == Some("T");
        while !stopped() {
            std::thread::yield_now();
        }
        let killed = kill(shell.id());
        assert!(killed.contains(&child), "{killed:?}");
        let _ = shell.wait();
        reap(&killed[1..]);
        assert_eq!(state(child), None, "nobody has to wait for it");
    }
}
