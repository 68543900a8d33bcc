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
    time::{Duration, Instant},
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
            command.env(tree::PHASE, phase.word());
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

    /// Stops it and all that it started where they are.
    pub fn freeze(&self) {
        tree::stop(self.child.id());
    }

    /// Kills it and all that it started, whatever it was doing. Gives the promises that it had made
    /// and nobody had heard yet: with nobody left to write, the pipe has an end.
    pub fn kill(self) -> Vec<String> {
        let killed = tree::kill(self.child.id());
        let mut promised = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while let Heard::Line(_, line) = self.hear(deadline) {
            promised.extend(protocol::acknowledged(&line).map(str::to_owned));
        }
        self.wait();
        tree::reap(&killed[1..]);
        promised
    }

    /// How it ended, and the last line of what it complained about.
    pub fn wait(mut self) -> (Option<ExitStatus>, String) {
        let status = self.child.wait().ok();
        // A daemon of it would hold its stderr, and the file system.
        tree::kill_left();
        let complaint = self.complaint.take().and_then(|thread| thread.join().ok());
        (status, complaint.unwrap_or_default())
    }
}

/// How long a pipe is read whose writers are killed: somebody else may hold it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last line, of at most so many bytes; the rest is read and dropped.
fn complaint(mut stderr: impl Read) -> String {
    let mut text = Vec::new();
    let _ = stderr.by_ref().take(COMPLAINT_BYTES_MAX).read_to_end(&mut text);
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    let text = String::from_utf8_lossy(&text);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}
