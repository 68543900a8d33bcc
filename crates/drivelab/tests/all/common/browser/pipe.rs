//! Chromium as a process and its DevTools protocol: JSON messages, each ended by a NUL, on file
//! descriptors 3 and 4 (`--remote-debugging-pipe`). What is asked and told:
//! <https://chromedevtools.github.io/devtools-protocol/>.
//!
//! ```text
//!   call(method, parameters) --stdin, 3--> Chromium --4, stdout--> thread --channel--> the answer with its number
//!                                                                                      events, kept in order
//! ```

use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Longer than a browser takes for anything, on the slowest machine that tests run on.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A browser that lives as long as this: its process, its profile and its messages.
pub struct Pipe {
    child: Child,
    profile: TempDir,
    /// Where it puts its socket, under a path that is short enough for one; it leaves it behind.
    _temporary: TempDir,
    to: ChildStdin,
    from: Receiver<Value>,
    calls: u64,
    /// The page that calls go to.
    session: Option<String>,
    /// What it told without being asked, not yet taken.
    events: Vec<Value>,
}

impl Pipe {
    /// Starts Chromium with one empty page; `None` where there is none.
    pub fn start() -> Option<Self> {
        Command::new("chromium").arg("--version").output().ok()?;
        let profile = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let temporary = tempfile::tempdir().expect("a directory");
        let said = fs::File::create(profile.path().join("stderr")).expect("a file");
        // The shell puts our two pipes where Chromium looks for them. Its children are in its
        // process group.
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        let to = child.stdin.take().expect("it is piped");
        let told = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            for message in told.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("a message is JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let events = Vec::new();
        let mut pipe = Self {
            child,
            profile,
            _temporary: temporary,
            to,
            from,
            calls: 0,
            session: None,
            events,
        };
        let made = pipe.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = pipe.call("Target.attachToTarget", target);
        pipe.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        Some(pipe)
    }

    /// Asks the page; its answer, or a panic with its refusal.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.ask(method, parameters);
        answer.unwrap_or_else(|refusal| panic!("{method} was refused: {refusal}"))
    }

    /// Asks the page; its answer, or its refusal.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let written = write_ended(&mut self.to, &message);
        assert!(written.is_ok(), "Chromium is gone before {method}: {}", self.complaint());
        let end = Instant::now() + DEADLINE;
        loop {
            let message = self.message(method, end);
            if message["id"] == self.calls {
                return match message.get("error") {
                    Some(refusal) => Err(refusal.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.events.push(message);
        }
    }

    /// Waits for an event of this name, and forgets it.
    pub fn wait_for(&mut self, event: &str) {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.events.iter().position(|told| told["method"] == event) {
                self.events.remove(at);
                return;
            }
            let message = self.message(event, end);
            self.events.push(message);
        }
    }

    /// All that it told so far, in order; the next call begins anew.
    pub fn take_events(&mut self) -> Vec<Value> {
        self.events.extend(self.from.try_iter());
        std::mem::take(&mut self.events)
    }

    fn message(&self, what: &str, end: Instant) -> Value {
        match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                panic!("Chromium did not answer {what} in {DEADLINE:?}: {}", self.complaint())
            }
            Err(RecvTimeoutError::Disconnected) => {
                panic!("Chromium ended during {what}: {}", self.complaint())
            }
        }
    }

    /// What it said on its stderr.
    fn complaint(&self) -> String {
        let said: &Path = &self.profile.path().join("stderr");
        fs::read_to_string(said).unwrap_or_default()
    }
}

fn write_ended(to: &mut impl Write, message: &Value) -> std::io::Result<()> {
    to.write_all(message.to_string().as_bytes())?;
    to.write_all(&[0])?;
    to.flush()
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}
