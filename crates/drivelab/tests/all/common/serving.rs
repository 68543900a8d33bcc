//! A server of the real binary, the clients of others, and everything they attach: undone whatever
//! happens.

use super::{Bench, Living, LoopDevice, Outcome, system};
use std::{
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Longer than any client may take.
const DEADLINE: Duration = Duration::from_secs(120);

/// Whether programs are installed and, for one of fio's engines as `fio:nbd`, can do it.
pub fn has(programs: &[&str]) -> bool {
    programs.iter().all(|program| match program.split_once(':') {
        Some((program, engine)) => system(program, &["--enghelp"])
            .is_some_and(|text| text.lines().any(|line| line.trim() == engine)),
        None => testkit::has(program),
    })
}

/// Leaves a test whose programs are missing; where skipping is forbidden, fails it.
#[macro_export]
macro_rules! need_programs {
    ($($program:expr),+) => {
        if !common::serving::has(&[$($program),+]) {
            return common::skip(&[$($program),+].join(", "));
        }
    };
}

/// Leaves a test that cuts the power of drives, with more programs where they are named, as
/// `need_programs` does.
#[macro_export]
macro_rules! need_power_cuts {
    ($($program:expr),*) => {
        need_programs!("nbdfuse", "e2fsck" $(, $program)*);
        if !common::can_make_file_systems() {
            return;
        }
    };
}

/// `drivelab serve` on a Unix socket; killed when the test is left.
pub struct Serving {
    living: Living,
    pub socket: PathBuf,
    /// Where clients find it.
    pub uri: String,
}

impl Serving {
    /// Starts `drivelab serve WORDS... --nbd unix:SOCKET` and waits until it listens.
    pub fn start(bench: &Bench, words: &[&str]) -> Self {
        let socket = bench.path("nbd.sock");
        let nbd = format!("unix:{}", socket.display());
        let call = bench.drivelab_without_store(["serve"]).and(words).and(["--nbd", &nbd]);
        let mut living = call.start();
        living.wait_until("it listens", || UnixStream::connect(&socket).is_ok());
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        Self { living, socket, uri }
    }

    /// Ends it as an operator does; everything must be durable then.
    pub fn stop(self) -> Outcome {
        self.living.signal("TERM");
        let outcome = self.living.wait().succeeded();
        assert!(!self.socket.exists(), "its socket goes with it");
        outcome
    }

    /// Ends it as nothing should.
    pub fn kill(self) {
        self.living.signal("KILL");
        assert_eq!(self.living.wait().code, None);
    }

    pub fn signal(&self, name: &str) {
        self.living.signal(name);
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.living.id()
    }

    pub fn hang_up(&mut self) {
        self.living.hang_up();
    }

    pub fn wait(self) -> Outcome {
        self.living.wait()
    }
}

/// Runs a client to its end; a hang fails the test.
pub fn client(program: &str, arguments: &[&str]) -> Output {
    let child = start(program, arguments);
    let id = child.id().to_string();
    let (sender, ended) = std::sync::mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    ended.recv_timeout(DEADLINE).map_or_else(
        |_| {
            let _ = Command::new("kill").args(["-s", "KILL", &id]).status();
            panic!("{program} {arguments:?} did not end within {DEADLINE:?}");
        },
        |output| output.expect("its output is read"),
    )
}

/// Starts a client.
pub fn start(program: &str, arguments: &[&str]) -> Child {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path).current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Runs a client that must succeed; what it printed.
pub fn good(program: &str, arguments: &[&str]) -> String {
    let output = client(program, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}:\n{said}{complained}");
    said
}

/// qemu-io, a command each; it says `failed` and ends well all the same. Without its cache mode
/// every write is forced.
pub fn qemu_io(uri: &str, commands: &[&str]) {
    let mut arguments = vec!["-t", "writeback", "-f", "raw", uri];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let said = good("qemu-io", &arguments);
    assert!(!said.contains("failed"), "{said}");
}

/// A process that is killed when the test is left.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What counts seconds of the clock is scheduled before the tests beside it, where that is allowed:
/// on a full machine a rate came out 18 % below what its filter was set to.
pub const FIRST: [&str; 3] = ["nice", "-n", "-15"];

/// A device of 1 GiB behind nbdkit's rate filter, 40 Mibit a second; its bucket holds so many
/// seconds of that and is full when it starts.
pub struct RateFilter {
    device: LoopDevice,
    _fuse: Fuse,
    _server: Killed,
}

impl RateFilter {
    /// Bytes a second that it lets through.
    pub const BYTES_PER_S: f64 = 40.0 * 1_048_576.0 / 8.0;

    /// Starts it; why it cannot be had.
    pub fn start(bench: &Bench, burst_s: f64) -> Result<Self, &'static str> {
        let socket = bench.path("rate.sock");
        let place = socket.to_str().expect("plain");
        let burst = format!("burstiness={burst_s}");
        let words = ["-f", "-U", place, "--filter=rate", "memory", "1G", "rate=40M", &burst];
        let mut server = Killed(start(FIRST[0], &[&FIRST[1..], &["nbdkit"], &words].concat()));
        let listens = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            UnixStream::connect(&socket).is_ok()
        });
        if !listens || server.0.try_wait().expect("it can be asked").is_some() {
            return Err("nbdkit with its rate filter");
        }
        let fuse = Fuse::mount_by(&FIRST, bench, &format!("nbd+unix:///?socket={place}"));
        let fuse = fuse.ok_or("/dev/fuse")?;
        let device = LoopDevice::over(fuse.file(), &["--direct-io=on", "-r"]).ok_or(super::ROOT)?;
        Ok(Self { device, _fuse: fuse, _server: server })
    }

    /// The device's path.
    pub fn text(&self) -> &str {
        self.device.text()
    }
}

/// An export as a file (nbdfuse), unmounted on drop.
pub struct Fuse {
    child: Child,
    place: PathBuf,
}

impl Fuse {
    /// `None` where the kernel refuses.
    pub fn mount(bench: &Bench, uri: &str) -> Option<Self> {
        Self::mount_by(&[], bench, uri)
    }

    /// Through another program, such as `nice`.
    fn mount_by(before: &[&str], bench: &Bench, uri: &str) -> Option<Self> {
        let place = bench.path("fuse");
        std::fs::create_dir_all(&place).expect("a directory");
        let words = [before, &["nbdfuse", place.to_str().expect("plain"), uri]].concat();
        let child = start(words[0], &words[1..]);
        let mut fuse = Self { child, place };
        let start = Instant::now();
        while !fuse.file().exists() {
            if fuse.child.try_wait().expect("it can be asked").is_some() {
                return None;
            }
            assert!(start.elapsed() < DEADLINE, "nbdfuse shows no file");
            thread::sleep(Duration::from_millis(20));
        }
        Some(fuse)
    }

    /// The export.
    pub fn file(&self) -> PathBuf {
        self.place.join("nbd")
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        let place = self.place.to_str().expect("plain");
        // A loop device lets go of its file a moment after it was detached.
        let gone = (0..50).any(|_| {
            thread::sleep(Duration::from_millis(20));
            system("umount", &["--quiet", place]).is_some()
        });
        if !gone {
            system("umount", &["--lazy", place]);
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
