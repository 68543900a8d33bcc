//! Ctrl-C and its relatives as a flag: the run ends itself, keeps what it has and cleans up.

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    flag,
    iterator::Signals,
    low_level,
};
use std::{
    io::{self, Write},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

/// Exit code of an interrupted run, as shells know it.
pub const EXIT_CODE: u8 = 130;

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Signals that come so soon after the first are the same wish: timeout(1) sends each to the process and to its group.
const SAME_WISH: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM and SIGHUP raise. A later signal ends the process at once.
pub fn flag() -> Result<Arc<AtomicBool>> {
    const FAILED: &str = "cannot listen for signals";
    let raised = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        flag::register(signal, Arc::clone(&raised)).context(FAILED)?;
    }
    let mut signals = Signals::new(ENDING).context(FAILED)?;
    let end_at_once = move || {
        let mut arrived = signals.forever().map(|_| Instant::now());
        let Some(first) = arrived.next() else { return };
        if arrived.any(|later| later - first > SAME_WISH) {
            // Behind a hangup nobody may be there to read it, which must not keep it from ending.
            let _ = writeln!(
                io::stderr(),
                "drivelab: ended at once; what it had changed on this machine `drivelab restore` puts back"
            );
            low_level::exit(i32::from(EXIT_CODE));
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(end_at_once).context(FAILED)?;
    Ok(raised)
}

/// A flag that SIGUSR1 raises: the power of what is served is to be cut.
pub fn power_cut_flag() -> Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    flag::register(SIGUSR1, Arc::clone(&raised)).context("cannot listen for signals")?;
    Ok(raised)
}
