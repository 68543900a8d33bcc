//! A target that another process of drivelab serves, attached as a block device: NBD, nbdfuse,
//! losetup.

use crate::{
    attached::Attached,
    error::{InWords, MatrixError},
};
use host::{Directory, HostError, Ledger, Program, ledger::Change};
use std::{
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use target::serve::Flushes;

/// How long a server or a file system in user space may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The words for a target, an address, power that may fail, and time that passes slower.
pub type Words = fn(&str, &str, Option<FailingPower>, Option<NonZeroU32>) -> Vec<String>;

/// How a target is served by another process: what that is told, and what it answers.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The program.
    pub program: PathBuf,
    /// What it is told, to serve this target at this NBD address and to print each
    /// [`record::ServerEvent`] as a line.
    pub words: Words,
    /// How many times slower the time of its drives passes.
    pub slower: Option<NonZeroU32>,
    /// Which of these words is the power cut's.
    pub power_cut: &'static str,
}

/// Power that is cut when the server is sent SIGUSR1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingPower {
    /// Draws what stays of what the write caches held.
    pub seed: u64,
    /// What the drives make of flushes.
    pub flushes: Flushes,
    /// The member that an array lacks afterwards.
    pub lost_member: Option<u16>,
    /// What gets the writes of clients, until the power is cut.
    pub record_writes: Option<PathBuf>,
}

impl Serving {
    /// Serves a target and attaches it. `base` is a directory of this run's own.
    pub(crate) fn attach(
        &self,
        ledger: &mut Ledger,
        base: &Path,
        target: &str,
    ) -> Result<Attached, MatrixError> {
        let server = self.start(ledger, base, target, None, Stdio::null())?;
        let (device, fuse) = connect(ledger, base, None)?;
        Attached::new(device, vec![server, fuse])
    }

    /// Serves a target. What it prints goes to `said`.
    ///
    /// # Errors
    /// It did not come up.
    pub fn start(
        &self,
        ledger: &mut Ledger,
        base: &Path,
        target: &str,
        power: Option<FailingPower>,
        said: Stdio,
    ) -> Result<Child, MatrixError> {
        let socket = socket(base);
        let address = format!("unix:{}", socket.display());
        ledger.make(Change::File { path: socket.clone() }, || Ok(()))?;
        let name = self.program.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or("drivelab").to_owned();
        let words = (self.words)(target, &address, power, self.slower);
        ledger.say(&format!("drivelab {}", words.join(" ")));
        let mut server = ledger.process(&name, &address, || {
            start(Command::new(&self.program).args(&words).stdout(said))
        })?;
        wait_for(&socket, &mut server, "drivelab serve")?;
        Ok(server)
    }
}

fn socket(base: &Path) -> PathBuf {
    base.join("nbd.sock")
}

/// Where what is served is found.
pub fn uri(base: &Path) -> String {
    format!("nbd+unix:///?socket={}", socket(base).display())
}

/// Attaches what is served, or its first `bytes_max` bytes: the block device, and nbdfuse.
///
/// # Errors
/// Those of the programs.
pub fn connect(
    ledger: &mut Ledger,
    base: &Path,
    bytes_max: Option<u64>,
) -> Result<(PathBuf, Child), MatrixError> {
    let (uri, place) = (uri(base), base.join("nbd"));
    ledger.new_directory(&Directory::open_canonical(base)?, "nbd".as_ref())?;
    let words = [place.display().to_string(), uri.clone()];
    ledger.say(&Program::new(["nbdfuse", &words[0], &words[1]]).to_string());
    let mounted = Change::Mount {
        source: "nbdfuse".to_owned(),
        at: place.clone(),
        fs: "fuse".to_owned(),
        options: String::new(),
    };
    ledger.make(mounted, || Ok(()))?;
    let mut fuse = ledger.process("nbdfuse", &uri, || {
        start(Command::new("nbdfuse").args(&words).stdout(Stdio::null()))
    })?;
    let file = place.join("nbd");
    wait_for(&file, &mut fuse, "nbdfuse")?;
    let opened = fs::File::options().read(true).write(true).open(&file);
    let opened = opened.in_words(&format!("cannot open {}", file.display()))?;
    Ok((ledger.loop_device(&opened, &file, bytes_max)?, fuse))
}

fn start(command: &mut Command) -> Result<Child, HostError> {
    // Ctrl-C is for us; they are ended in order.
    use std::os::unix::process::CommandExt;
    let command = command.stdin(Stdio::null()).stderr(Stdio::piped());
    let name = command.get_program().display().to_string();
    command.process_group(0).spawn().map_err(|error| HostError::starting(&name, error))
}

/// Until `path` is there; what the process said, if it ended instead.
fn wait_for(path: &Path, child: &mut Child, name: &str) -> Result<(), MatrixError> {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        if let Some(status) = child.try_wait().in_words("a process of ours is lost")? {
            let mut said = String::new();
            if let Some(mut pipe) = child.stderr.take() {
                let _ = std::io::Read::read_to_string(&mut pipe, &mut said);
            }
            let said = said.lines().last().unwrap_or_default().to_owned();
            return Err(MatrixError::Process(format!("{name} ended with {status}: {said}")));
        }
        if Instant::now() >= deadline {
            let late = format!("{name} did not come up within {} s", PATIENCE.as_secs());
            return Err(MatrixError::Process(late));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
