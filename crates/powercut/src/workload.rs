//! A program that promises: started, listened to, stopped where it is.

use crate::{
    order::{Phase, Place, Program},
    protocol, tree,
};
use host::{HostError, Ledger};
use matrix::{MatrixError, rig};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// So much of what it says on stderr is kept, for a sentence.
const COMPLAINT_BYTES_MAX: u64 = 64 << 10;

/// The variable in which a program finds the drives, where it attaches them itself.
const NBD_URI: &str = "NBD_URI";

/// A program under way.
pub struct Workload {
    child: Child,
    /// Of one that stays.
    stdin: Option<ChildStdin>,
    heard: Receiver<Heard>,
    /// For what others have to say.
    to: Sender<Heard>,
    has_ended: bool,
    /// Other children of this process.
    before: Vec<u32>,
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
    /// The drives have lost their power, or nobody can say any more whether they have.
    Cut(Result<u64, MatrixError>),
}

impl Workload {
    /// Starts a phase of `program` in its place. `told` is written to its stdin, which is closed
    /// then.
    pub fn start(
        ledger: &mut Ledger,
        program: &Program,
        phase: Phase,
        place: &Place,
        told: String,
    ) -> Result<Self, HostError> {
        let mut workload = Self::stay(ledger, program, phase, place, place.directory())?;
        let mut stdin = workload.stdin.take().expect("it is piped");
        // Beside it: a check may read late. What it does not read is its own affair.
        thread::spawn(move || stdin.write_all(told.as_bytes()));
        Ok(workload)
    }

    /// Starts a phase of `program` in a working directory; it is told later what to do.
    pub fn stay(
        ledger: &mut Ledger,
        program: &Program,
        phase: Phase,
        place: &Place,
        directory: &Path,
    ) -> Result<Self, HostError> {
        let words = program.command(phase, place);
        let name = program.file_name();
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        ledger.say(&shown.join(" "));
        let mark = place.directory().display().to_string();
        let before = tree::children();
        let mut child = ledger.process(&name, &mark, || {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).current_dir(directory);
            command.env(tree::PHASE, phase.word());
            if let Place::Served { uri, .. } = place {
                command.env(NBD_URI, uri);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            // Ctrl-C is for us; it is ended in order.
            command.process_group(0);
            command.spawn().map_err(|error| HostError::starting(&name, error))
        })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        let (to, heard) = channel();
        let lines = to.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if lines.send(Heard::Line(Instant::now(), line)).is_err() {
                    return;
                }
            }
            // Nobody hears it who has gone.
            let _ = lines.send(Heard::End);
        });
        let stderr = child.stderr.take().expect("it is piped");
        let complaint = thread::spawn(move || complaint(stderr));
        let complaint = Some(complaint);
        Ok(Self { child, stdin, heard, to, has_ended: false, before, complaint })
    }

    /// Tells one that stays what to do; it reads all of that before it answers. Whether it is there
    /// to hear it shows by its answer.
    pub fn tell(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    /// What comes next, if it comes by then.
    pub fn hear(&mut self, until: Instant) -> Heard {
        let heard = self.heard.recv_timeout(until.saturating_duration_since(Instant::now()));
        let heard = heard.unwrap_or(Heard::Silence);
        self.has_ended |= matches!(heard, Heard::End);
        heard
    }

    /// Hears among its lines when the drives whose server says so have lost their power.
    pub fn hear_of_cut(&self, said: ChildStdout) {
        let to = self.to.clone();
        thread::spawn(move || to.send(Heard::Cut(rig::wait_for_cut(said))));
    }

    /// Stops it and all that it started where they are.
    pub fn freeze(&self) {
        tree::stop(self.child.id());
    }

    /// Kills it and all that it started, whatever it was doing. Gives the promises that it had made
    /// and nobody had heard yet: with nobody left to write, the pipe has an end.
    pub fn kill(mut self) -> Vec<String> {
        let killed = tree::kill(self.child.id());
        let mut promised = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while !self.has_ended
            && let Heard::Line(_, line) = self.hear(deadline)
        {
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
        tree::kill_left(&self.before);
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
