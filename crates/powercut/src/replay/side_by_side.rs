//! Several processes replay the same log and cut at places of their own: mounting waits for the
//! kernel more than it works.
//!
//! ```text
//!   Share 1/N -> a process: replay() of its share --- a line of JSON a cut ---> Tally, Audience
//!   Share 2/N -> ...
//! ```
//!
//! They have a ledger, a device and a mount point each, and put their own back. One that fails ends
//! the others, and so does a signal. They come by themselves: a process of which another one killed
//! what a check left behind would be two.

use super::{Audience, Share, Tally, page};
use crate::error::PowerCutError;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead, BufReader, Read},
    num::NonZeroU32,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a signal may go unseen.
const LOOK: Duration = Duration::from_millis(100);

/// What the program's name opens a complaint with.
const OPENING: &str = "drivelab: ";

/// Has `workers` processes replay a share each; `command` is one's, and it prints
/// [`told`](super::told) of each of its cuts. `interrupted` is the exit code of one that was asked
/// to end.
///
/// # Errors
/// That of the first that fails, when all have ended.
pub fn side_by_side(
    workers: NonZeroU32,
    command: &dyn Fn(Share) -> Command,
    interrupted: u8,
    tally: &mut Tally,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    let (to, said) = channel();
    let mut crew = Crew { workers: Vec::new(), is_ending: false };
    let started = Share::all(workers).try_for_each(|share| crew.start(command(share), &to));
    drop(to);
    let heard = started.and_then(|()| listen(&mut crew, &said, tally, audience, stop));
    if heard.is_err() {
        crew.end();
    }
    // What a process had still to say is said of no cut that counts.
    while said.recv().is_ok() {}
    // What is left changed is told first, after a signal too.
    crew.wait(interrupted)?;
    if stop.load(Ordering::Relaxed) {
        return Err(PowerCutError::Interrupted);
    }
    heard
}

fn listen(
    crew: &mut Crew,
    said: &Receiver<Said>,
    tally: &mut Tally,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<(), PowerCutError> {
    let since = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(PowerCutError::Interrupted);
        }
        match said.recv_timeout(LOOK) {
            Ok(Said::Line(line)) => {
                let cut = page::heard(&line).ok_or_else(|| {
                    PowerCutError::Worker(format!("a worker says `{line}`, which is no cut"))
                })?;
                tally.add(&cut, since.elapsed().as_secs_f64());
                audience.cut(&cut, tally)?;
            }
            Ok(Said::End(number)) => {
                if !crew.has_done(number) {
                    crew.end();
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// What a worker said.
enum Said {
    Line(String),
    /// Nothing more, the one of this number.
    End(usize),
}

/// The processes.
struct Crew {
    workers: Vec<Worker>,
    is_ending: bool,
}

struct Worker {
    child: Child,
    complaint: Option<thread::JoinHandle<String>>,
}

impl Crew {
    fn start(&mut self, mut command: Command, to: &Sender<Said>) -> Result<(), PowerCutError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for us; they are ended in order.
        let started = command.process_group(0).spawn();
        let mut child = started
            .map_err(|error| PowerCutError::Worker(format!("no worker can be started: {error}")))?;
        let stdout = child.stdout.take().expect("it is piped");
        let (to, number) = (to.clone(), self.workers.len());
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // Who does not listen any more has ended them.
            let _ = lines.try_for_each(|line| to.send(Said::Line(line)));
            let _ = to.send(Said::End(number));
        });
        let mut stderr = child.stderr.take().expect("it is piped");
        let complaint = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            let text = String::from_utf8_lossy(&text);
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            last.trim_start_matches(OPENING).to_owned()
        });
        self.workers.push(Worker { child, complaint: Some(complaint) });
        Ok(())
    }

    /// Whether the one of this number, which says nothing more, did all it had to.
    fn has_done(&mut self, number: usize) -> bool {
        self.workers[number].child.wait().is_ok_and(|status| status.success())
    }

    /// Asks all to end; each puts back what it changed.
    fn end(&mut self) {
        if self.is_ending {
            return;
        }
        self.is_ending = true;
        for worker in &mut self.workers {
            if let Ok(None) = worker.child.try_wait() {
                // One that ends meanwhile is what was wanted.
                let _ = kill_process(Pid::from_child(&worker.child), Signal::INT);
            }
        }
    }

    /// Waits for all; what the first said that failed.
    fn wait(self, interrupted: u8) -> Result<(), PowerCutError> {
        let mut first = Ok(());
        for mut worker in self.workers {
            let status = worker.child.wait();
            let complaint = worker.complaint.take().and_then(|thread| thread.join().ok());
            let Ok(status) = status else { continue };
            // One that had hardly begun dies of it, and has changed nothing.
            let is_ours = self.is_ending && status.signal() == Some(Signal::INT.as_raw());
            let was_asked = is_ours || status.code() == Some(i32::from(interrupted));
            if !status.success() && !was_asked && first.is_ok() {
                let said = complaint.filter(|said| !said.is_empty());
                let said = said.unwrap_or_else(|| format!("a worker ended with {status}"));
                first = Err(PowerCutError::Worker(said));
            }
        }
        first
    }
}
