//! How far a tool has come, on a terminal; and Ctrl-C.

use crate::interrupt;
use anyhow::Result;
use flash::tools::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::IsTerminal,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Shows progress and listens for signals.
pub struct Watcher {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Watcher {
    /// From here on a signal ends the tool in order.
    pub fn new(quiet: bool) -> Result<Self> {
        Ok(Self { bar: bar(quiet), stop: interrupt::flag()? })
    }

    /// Takes note; whether to go on.
    pub fn see(&self, progress: Progress) -> ControlFlow<()> {
        self.bar.set_message(progress.doing);
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.done);
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let look = ProgressStyle::with_template("{bar:24} {percent:>3}%  {eta:>4} left  {wide_msg}");
    bar.set_style(look.expect("the template is valid").progress_chars("=> "));
    bar
}
