//! A built-in program that stays and checks again and again: a process a check would take most of a
//! cut's time.
//!
//! It works in a process of its own all the same: a file that a damaged file system cannot read may
//! kill it, which is a verdict of what is left, and the next check gets a new one.

use crate::{
    answers::Answers,
    error::PowerCutError,
    order::{Phase, Place, PowerCutOrder},
    protocol,
    workload::{Heard, Workload},
};
use host::Ledger;
use record::PowerCutRound;
use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// How long a signal may go unseen while it is listened to.
const LOOK: Duration = Duration::from_millis(100);

/// The process, once there is one.
#[derive(Default)]
pub struct Checker(Option<Workload>);

impl Checker {
    /// Asks it which promises are not kept in the file system that is mounted at `at`.
    ///
    /// # Errors
    /// It does not do its part, or `stop` is raised.
    pub fn ask(
        &mut self,
        ledger: &mut Ledger,
        order: &PowerCutOrder,
        at: &Path,
        promised: &[String],
        found: &mut PowerCutRound,
        stop: &AtomicBool,
    ) -> Result<(), PowerCutError> {
        let round = found.round;
        let fault = |text: String| PowerCutError::Workload { round, text };
        if self.0.is_none() {
            let place = Place::Directory(at.to_owned());
            // It must not keep the file system busy between two checks.
            let beside = at.parent().expect("a mount point lies in a directory");
            self.0 = Some(Workload::stay(ledger, &order.program, Phase::Checks, &place, beside)?);
        }
        let workload = self.0.as_mut().expect("it was started");
        let told: String = promised.iter().map(|id| format!("{id}\n")).collect();
        // One that has ended is heard of below.
        workload.tell(&format!("{}\n{told}", promised.len()));
        let deadline = Instant::now() + order.patience;
        let mut answers = Answers::new(promised, found);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(PowerCutError::Interrupted);
            }
            match workload.hear(deadline.min(Instant::now() + LOOK)) {
                Heard::Line(_, line) => match protocol::end(&line) {
                    Some(why) => {
                        answers.end(why.map(str::to_owned), at);
                        return Ok(());
                    }
                    None => answers.take(&line).map_err(fault)?,
                },
                Heard::Silence if Instant::now() < deadline => {}
                Heard::Silence => return Err(fault(order.late())),
                Heard::Cut(_) => unreachable!("nobody listens for it"),
                Heard::End => break,
            }
        }
        let (status, complaint) = self.0.take().expect("it was started").wait();
        let ended = status.map_or_else(|| "a lost status".to_owned(), |status| status.to_string());
        answers.end(Some(if complaint.is_empty() { ended } else { complaint }), at);
        Ok(())
    }

    /// Whatever it is doing.
    pub fn end(&mut self) {
        self.0.take().map(Workload::kill);
    }
}
