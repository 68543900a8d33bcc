//! Ctrl-C and its relatives as a flag: the run ends itself, keeps what it has and cleans up.

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ},
    flag,
    iterator::Signals,
    low_level,
};
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

/// Exit code of an interrupted run, as shells know it.
pub const EXIT_CODE: u8 = 130;

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Those of [`ENDING`] that end this process: `nohup` starts it with SIGHUP ignored, so that it
/// outlives its terminal.
fn ending() -> impl Iterator<Item = i32> + Clone {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let outlives = is_ignored(&status, SIGHUP);
    ENDING.into_iter().filter(move |signal| *signal != SIGHUP || !outlives)
}

/// Whether a process of this status ignores a signal (`SigIgn` of proc_pid_status(5)).
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Signals that come so soon after the first are the same wish: timeout(1) sends each to the
/// process and to its group.
const SAME_WISH: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM and SIGHUP raise; under `nohup` the first two alone. A later signal
/// ends the process at once.
pub fn flag() -> Result<Arc<AtomicBool>> {
    const FAILED: &str = "cannot listen for signals";
    let raised = Arc::new(AtomicBool::new(false));
    // Asked before one of them is listened to.
    let ending = ending();
    for signal in ending.clone() {
        flag::register(signal, Arc::clone(&raised)).context(FAILED)?;
    }
    let mut signals = Signals::new(ending).context(FAILED)?;
    let end_at_once = move || {
        let mut arrived = signals.forever().map(|_| Instant::now());
        let Some(first) = arrived.next() else { return };
        if arrived.any(|later| later - first > SAME_WISH) {
            // Behind a hangup nobody may be there to read it, which must not keep it from ending.
            crate::output::talk!(
                "drivelab: ended at once; what it had changed on this machine `drivelab restore` puts back"
            );
            low_level::exit(i32::from(EXIT_CODE));
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(end_at_once).context(FAILED)?;
    Ok(raised)
}

/// A write beyond the size that `ulimit -f` allows a file fails from now on, and is reported; it
/// would end the process.
pub fn outlive_large_files() {
    let unread = Arc::new(AtomicBool::new(false));
    // Where nothing can be registered it is as without it.
    let _ = flag::register(SIGXFSZ, unread);
}

/// Flags that SIGUSR1 and SIGUSR2 raise: the power of what is served is to be cut, now or in the
/// middle of the next flush.
pub fn power_cut_flags() -> Result<[Arc<AtomicBool>; 2]> {
    let raised = <[Arc<AtomicBool>; 2]>::default();
    for (signal, raised) in [SIGUSR1, SIGUSR2].into_iter().zip(&raised) {
        flag::register(signal, Arc::clone(raised)).context("cannot listen for signals")?;
    }
    Ok(raised)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_which_signals_are_ignored() {
        // As `nohup grep Sig /proc/self/status` prints it.
        let status = "Name:\tgrep\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }
}
