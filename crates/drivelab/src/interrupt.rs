//! Ctrl-C and its relatives as a flag: the run ends itself, keeps what it has and cleans up.

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    flag,
};
use std::sync::{Arc, atomic::AtomicBool};

/// Exit code of an interrupted run, as shells know it.
pub const EXIT_CODE: u8 = 130;

/// A flag that SIGINT, SIGTERM and SIGHUP raise. A second signal ends the process at once.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let at_once = Arc::clone(&raised);
        flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), at_once)
            .and_then(|_| flag::register(signal, Arc::clone(&raised)))
            .context("cannot listen for signals")?;
    }
    Ok(raised)
}

/// A flag that SIGUSR1 raises: the power of what is served is to be cut.
pub fn power_cut_flag() -> Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    flag::register(SIGUSR1, Arc::clone(&raised)).context("cannot listen for signals")?;
    Ok(raised)
}
