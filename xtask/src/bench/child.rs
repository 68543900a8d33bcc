//! Waiting for a child process: what it cost the processor, and what happens on Ctrl-C.

use anyhow::{Context, Result, bail, ensure};
use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

/// Raised by SIGINT and SIGTERM.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on SIGINT and SIGTERM end the run in order: the child first, then whatever was made.
pub fn catch_signals() -> Result<()> {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag)).context("signal handler")?;
    }
    Ok(())
}

/// An error once a signal came.
pub fn go_on() -> Result<()> {
    if INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        bail!("interrupted");
    }
    Ok(())
}

/// Runs `command` to its end, or to a signal.
pub fn wait_for(command: &mut Command) -> Result<ExitStatus> {
    go_on()?;
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            go_on()?;
            return Ok(status);
        }
        if let Err(interrupted) = go_on() {
            // It may have had the signal too, and be cleaning up.
            sleep(Duration::from_millis(500));
            let _ = child.kill();
            child.wait()?;
            return Err(interrupted);
        }
        sleep(Duration::from_millis(20));
    }
}

/// Processor time of all children that have ended, user and system, ns.
pub fn cpu_ns() -> u64 {
    // SAFETY: `rusage` is plain numbers, for which all bits zero are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live `rusage`.
    let outcome = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    assert_eq!(outcome, 0, "getrusage of one's children cannot fail");
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// What a child took.
pub struct Took {
    /// By the clock on the wall.
    pub seconds: f64,
    /// Of processors, user and system.
    pub cpu_seconds: f64,
    /// The most memory it had, MiB.
    pub resident_mib: f64,
}

/// Runs `command` to its end. On Ctrl-C it ends by itself: it is of the same group.
pub fn measured(command: &mut Command) -> Result<(ExitStatus, Took)> {
    go_on()?;
    let begun = Instant::now();
    let child = command.spawn()?;
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which all bits zero are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are to live values; nobody else waits for this child.
    let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(waited == child.id() as i32, "wait4: {}", std::io::Error::last_os_error());
    go_on()?;
    let of = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu_seconds = of(usage.ru_utime) + of(usage.ru_stime);
    let resident_mib = usage.ru_maxrss as f64 / 1024.0;
    Ok((ExitStatus::from_raw(status), Took { seconds, cpu_seconds, resident_mib }))
}
