//! A program that promises: started, listened to, stopped where it is.

use crate::{order::Phase, protocol, tree};
use host::{HostError, Ledger};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{self, JoinHandle},
    time::Instant,
};

/// So much of what it says on stderr is kept, for a sentence.
const COMPLAINT_BYTES_MAX: u64 = 64 << 10;

/// A program under way.
pub struct Workload {
    child: Child,
    lines: Receiver<(Instant, String)>,
    complaint: Option<JoinHandle<String>>,
}

/// What came first.
pub enum Heard {
    /// A line.
    Line(Instant, String),
    /// Nothing until then.
    Silence,
    /// It closed its output.
    End,
}

impl Workload {
    /// Starts a phase in `directory`. `told` is written to its stdin, which is closed then.
    pub fn start(
        ledger: &mut Ledger,
        words: &[OsString],
        phase: Phase,
        directory: &Path,
        told: String,
    ) -> Result<Self, HostError> {
        let name = Path::new(&words[0]).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        ledger.say(&shown.join(" "));
        let mark = directory.display().to_string();
        let mut child = ledger.process(&name, &mark, || {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).current_dir(directory);
            command.env("DRIVELAB_PHASE", phase.word());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            // Ctrl-C is for us; it is ended in order.
            command.process_group(0);
            command.spawn().map_err(|error| HostError::starting(&name, error))
        })?;
        let mut stdin = child.stdin.take().expect("it is piped");
        // Beside it: a check may read late. What it does not read is its own affair.
        thread::spawn(move || stdin.write_all(told.as_bytes()));
        let stdout = child.stdout.take().expect("it is piped");
        let (to, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if to.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let stderr = child.stderr.take().expect("it is piped");
        let complaint = thread::spawn(move || complaint(stderr));
        Ok(Self { child, lines, complaint: Some(complaint) })
    }

    /// The next line, if one comes by then.
    pub fn hear(&self, until: Instant) -> Heard {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((at, line)) => Heard::Line(at, line),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// Stops it and all that it started where they are, and gives the promises that were made and
    /// not heard yet: they lie in the pipe.
    pub fn freeze(&self) -> Vec<String> {
        tree::stop(self.child.id());
        let mut promised = Vec::new();
        // What it wrote is in the pipe; the thread that reads needs a moment, not a tick.
        while let Ok((_, line)) = self.lines.recv_timeout(SETTLED) {
            promised.extend(protocol::acknowledged(&line).map(str::to_owned));
        }
        promised
    }

    /// Kills it and all that it started, whatever it was doing.
    pub fn kill(self) {
        let killed = tree::kill(self.child.id());
        self.wait();
        tree::reap(&killed[1..]);
    }

    /// How it ended, and the last line of what it complained about.
    pub fn wait(mut self) -> (Option<ExitStatus>, String) {
        let status = self.child.wait().ok();
        let complaint = self.complaint.take().and_then(|thread| thread.join().ok());
        (status, complaint.unwrap_or_default())
    }
}

/// Lines that are in the pipe when the program is stopped arrive sooner than this.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(20);

/// The last line, of at most so many bytes; the rest is read and dropped.
fn complaint(mut stderr: impl Read) -> String {
    let mut text = Vec::new();
    let _ = stderr.by_ref().take(COMPLAINT_BYTES_MAX).read_to_end(&mut text);
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    let text = String::from_utf8_lossy(&text);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}
