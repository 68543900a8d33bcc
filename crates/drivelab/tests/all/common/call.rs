//! One call of the binary: its words, its outcome, or its process while it lives.

use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The binary under test.
pub const DRIVELAB: &str = env!("CARGO_BIN_EXE_drivelab");
/// Longer than any call may take; a hang fails the test.
const DEADLINE: Duration = Duration::from_secs(240);

/// A call that is being put together.
pub struct Call {
    words: Vec<OsString>,
    directory: PathBuf,
    before: Vec<OsString>,
    environment: Vec<(String, String)>,
}

impl Call {
    /// `drivelab WORDS...` in `directory`.
    pub fn new(words: impl IntoIterator<Item = impl AsRef<OsStr>>, directory: &Path) -> Self {
        let call = Self {
            words: Vec::new(),
            directory: directory.to_owned(),
            before: vec![DRIVELAB.into()],
            environment: Vec::new(),
        };
        call.and(words)
    }

    /// More words.
    pub fn and(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Started in another directory.
    pub fn within(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// Through another program, such as `setpriv`, with `binary` in place of the tested one.
    pub fn through(mut self, program: &[&str], binary: &Path) -> Self {
        self.before = program.iter().map(OsString::from).collect();
        self.before.push(binary.into());
        self
    }

    /// With an environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.before[0]);
        command.args(&self.before[1..]).args(&self.words).current_dir(&self.directory);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What a piped run looks like must not depend on the developer's terminal.
        for name in ["COLUMNS", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it and goes on.
    pub fn start(&self) -> Living {
        Living { child: Some(self.command().spawn().expect("the binary starts")) }
    }

    /// Runs it to its end.
    pub fn done(&self) -> Outcome {
        self.start().wait()
    }
}

/// A process that is killed when the test is left.
pub struct Living {
    child: Option<Child>,
}

impl Living {
    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it lives").id()
    }

    /// Sends it a signal by name, such as `INT`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -s {name}");
    }

    /// The next line of its stdout, without the line feed.
    pub fn line(&mut self) -> String {
        let stdout = self.child.as_mut().and_then(|child| child.stdout.as_mut());
        let stdout = stdout.expect("stdout is piped");
        // Byte by byte, so that nothing behind the line is taken from it.
        let (mut line, mut byte) = (Vec::new(), [0]);
        while stdout.read(&mut byte).is_ok_and(|bytes| bytes == 1) && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8(line).expect("text is UTF-8")
    }

    /// Nobody reads any more what it prints.
    pub fn hang_up(&mut self) {
        let child = self.child.as_mut().expect("it lives");
        (child.stdout, child.stderr) = (None, None);
    }

    /// Waits for its end.
    pub fn wait(self) -> Outcome {
        self.wait_within(DEADLINE)
    }

    /// Waits for its end, which may take so long.
    pub fn wait_within(mut self, limit: Duration) -> Outcome {
        let child = self.child.take().expect("it lives");
        let id = child.id().to_string();
        let (sender, ended) = std::sync::mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let output = ended.recv_timeout(limit).unwrap_or_else(|_| {
            let _ = Command::new("kill").args(["-s", "KILL", &id]).status();
            panic!("it did not end within {limit:?}");
        });
        Outcome::from(output.expect("its output is read"))
    }

    /// Waits until `is_true`, while the process goes on.
    pub fn wait_until(&mut self, what: &str, mut is_true: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_true() {
            let ended = self.child.as_mut().expect("it lives").try_wait().expect("it can be asked");
            if let Some(status) = ended {
                let child = self.child.take().expect("it lives");
                let outcome = Outcome::from(child.wait_with_output().expect("its output is read"));
                panic!("it ended ({status}) before {what}: {outcome:?}");
            }
            assert!(start.elapsed() < DEADLINE, "never: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a call left: both streams and the exit code (`None`: killed by a signal).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text is UTF-8");
        Self {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code(),
        }
    }
}

impl Outcome {
    /// It ended with 0.
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It was refused: exit code 2, nothing on stdout, and one sentence that holds all of `words`.
    pub fn refused(self, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "a refusal has nothing for stdout");
        assert_one_sentence(&self.stderr, words);
        self
    }

    /// Its stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}): {self:?}"))
    }
}

/// One line `drivelab: ...` that holds all of `words`, and no trace of a panic.
pub fn assert_one_sentence(stderr: &str, words: &[&str]) {
    let line = stderr.strip_suffix('\n').unwrap_or(stderr);
    assert!(line.starts_with("drivelab: ") && !line.contains('\n'), "not one sentence: {stderr}");
    assert!(!line.contains("panicked") && !line.contains("RUST_BACKTRACE"), "{stderr}");
    for word in words {
        assert!(line.contains(word), "`{word}` is missing: {stderr}");
    }
}
