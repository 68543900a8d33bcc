//! Another user of the machine, in a process of his own, who renames what lies in his directories
//! and puts links in its place: when he is told to, or all the time.
//!
//! ```text
//!   yard/           his own
//!     area/         what root measures: his or root's, sticky or not
//!       .drivelab-tree-XXXXXXXX       root's, mode 0700
//!       .drivelab-scratch-XXXXXXXX    root's, mode 0600
//! ```

use block::Rng;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Who he is: nobody.
pub const USER: u32 = 65534;
/// Where he finds his yard, and what his links lead to.
const YARD: &str = "DRIVELAB_SWAPPED_YARD";
const AIMS: &str = "DRIVELAB_SWAPPED_AIMS";
/// What root makes begins so.
const OURS: &str = ".drivelab-";

/// What his links lead to.
#[derive(Clone, Debug)]
pub struct Aims {
    pub tree: PathBuf,
    pub file: PathBuf,
    pub device: PathBuf,
}

/// What he can do at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Everything as it was.
    Undo,
    /// What root made is renamed; links to a tree, a file, a device in its place.
    Links,
    /// What root made is renamed; things of his own in its place.
    Others,
    /// The directory is renamed; a link to a tree in its place.
    Area,
    /// The directory is renamed; another in its place, with links of the same names.
    Decoy,
    /// Links inside what root made, if he is let in.
    Inside,
    /// A link of a name that root has announced.
    Announced,
}

impl Move {
    pub const ALL: [Self; 7] = [
        Self::Undo,
        Self::Links,
        Self::Others,
        Self::Area,
        Self::Decoy,
        Self::Inside,
        Self::Announced,
    ];
}

/// The process, as root sees it.
pub struct Other {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Other {
    /// Starts it. `test` is the test that calls [`obey`].
    pub fn start(test: &str, yard: &Path, aims: &Aims) -> Self {
        let lines = [&aims.tree, &aims.file, &aims.device].map(|path| path.display().to_string());
        let mut process = Command::new("/proc/self/exe")
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(YARD, yard)
            .env(AIMS, lines.join(":"))
            .current_dir("/")
            .uid(USER)
            .gid(USER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test's own program");
        let to = process.stdin.take().expect("a pipe");
        let from = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, to, from }
    }

    /// Has him make one move.
    pub fn makes(&mut self, one: Move) {
        let number = Move::ALL.iter().position(|known| *known == one).expect("one of all");
        self.ask(&number.to_string());
    }

    /// Has him move all the time.
    pub fn runs_free(&mut self, seed: u64) {
        self.ask(&format!("free {seed}"));
    }

    /// Has him stop, and undo what he did; how many moves he made since he was let free.
    pub fn stops(&mut self) -> u64 {
        self.ask("stop")
    }

    fn ask(&mut self, words: &str) -> u64 {
        writeln!(self.to, "{words}").expect("he listens");
        // Among the lines of the test harness.
        let mut line = String::new();
        while !line.starts_with('@') {
            line.clear();
            assert!(self.from.read_line(&mut line).expect("he answers") > 0, "he is gone");
        }
        line[1..].trim().parse().expect("a number")
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the process does: to be called by a test of its own. Returns at once where it is no such
/// process.
pub fn obey() {
    let (Ok(yard), Ok(aims)) = (std::env::var(YARD), std::env::var(AIMS)) else { return };
    let mut aims = aims.split(':').map(PathBuf::from);
    let mut aim = || aims.next().expect("three aims");
    let aims = Aims { tree: aim(), file: aim(), device: aim() };
    let mut hands = Hands { yard: PathBuf::from(yard), aims, undo: Vec::new(), number: 0 };
    let mut free: Option<Running> = None;
    for line in std::io::stdin().lines() {
        let line = line.expect("text");
        let mut moves = 0;
        if let Some(seed) = line.strip_prefix("free ") {
            let stop = Arc::new(AtomicBool::new(false));
            let (seen, seed) = (Arc::clone(&stop), seed.parse().expect("a seed"));
            let mut own = hands.clone();
            let running = thread::spawn(move || {
                let moves = own.run(seed, &seen);
                (own, moves)
            });
            free = Some((stop, running));
        } else if line == "stop" {
            if let Some((stop, running)) = free.take() {
                stop.store(true, Ordering::Relaxed);
                (hands, moves) = running.join().expect("no panic");
            }
            hands.make(Move::Undo);
        } else {
            hands.make(Move::ALL[line.parse::<usize>().expect("a number")]);
        }
        // The harness may have begun a line.
        println!("\n@{moves}");
    }
}

/// His moves without pause: what stops them, and what comes back.
type Running = (Arc<AtomicBool>, thread::JoinHandle<(Hands, u64)>);

/// His hands. Whatever he may not do he leaves.
#[derive(Clone)]
struct Hands {
    yard: PathBuf,
    aims: Aims,
    /// Names, and where what stood there is now.
    undo: Vec<(PathBuf, PathBuf)>,
    number: u64,
}

impl Hands {
    fn area(&self) -> PathBuf {
        self.yard.join("area")
    }

    fn run(&mut self, seed: u64, stop: &AtomicBool) -> u64 {
        let mut rng = Rng::new(seed, 0x5a);
        let mut moves = 0;
        while !stop.load(Ordering::Relaxed) {
            self.make(Move::ALL[rng.below(Move::ALL.len() as u64) as usize]);
            moves += 1;
            // Some of them at full speed, some of them with time for root to walk into it.
            if rng.below(4) == 0 {
                thread::sleep(Duration::from_micros(rng.below(2000)));
            }
        }
        moves
    }

    fn make(&mut self, one: Move) {
        let area = self.area();
        match one {
            Move::Undo => self.put_back(),
            Move::Links => self.exchange_names(&area, Self::link),
            Move::Others => self.exchange_names(&area, |own, name, _| match own.number % 2 {
                0 => drop(fs::create_dir(name)),
                _ => drop(fs::write(name, "his own")),
            }),
            Move::Area => {
                self.put_back();
                self.exchange(&area, |own, name| drop(symlink(&own.aims.tree, name)));
            }
            Move::Decoy => {
                self.put_back();
                let names = names_of_ours(&area);
                self.exchange(&area, |own, place| {
                    let _ = fs::create_dir(place);
                    for name in &names {
                        own.link(&place.join(name), name);
                    }
                });
            }
            Move::Inside => {
                for name in names_of_ours(&area) {
                    for below in names_in(&area.join(name)) {
                        self.exchange(&below, |own, name| {
                            drop(symlink(&own.aims.file, name));
                        });
                    }
                }
            }
            Move::Announced => {
                let _ = symlink(&self.aims.file, area.join("new.bin"));
                let _ = fs::hard_link(&self.aims.file, area.join("new.bin"));
            }
        }
    }

    /// A link of this kind of name: `.drivelab-tree-...` leads to a tree, others to a file or a
    /// device.
    fn link(&mut self, at: &Path, name: &str) {
        self.number += 1;
        let aim = match name.contains("tree") {
            true => &self.aims.tree,
            false if self.number.is_multiple_of(2) => &self.aims.file,
            false => &self.aims.device,
        };
        let _ = symlink(aim, at);
    }

    fn exchange_names(&mut self, area: &Path, by: impl Fn(&mut Self, &Path, &str)) {
        for name in names_of_ours(area) {
            self.exchange(&area.join(&name), |own, at| by(own, at, &name));
        }
    }

    fn exchange(&mut self, name: &Path, by: impl FnOnce(&mut Self, &Path)) {
        self.number += 1;
        let away = self.yard.join(format!("away-{}", self.number));
        if fs::rename(name, &away).is_ok() {
            by(self, name);
            self.undo.push((name.to_owned(), away));
        }
    }

    fn put_back(&mut self) {
        let _ = fs::remove_file(self.area().join("new.bin"));
        while let Some((name, away)) = self.undo.pop() {
            // A link, a file or a directory of his own.
            let _ = fs::remove_file(&name);
            for below in names_in(&name) {
                let _ = fs::remove_file(below);
            }
            let _ = fs::remove_dir(&name);
            let _ = fs::rename(away, name);
        }
    }
}

fn names_of_ours(area: &Path) -> Vec<String> {
    let names = fs::read_dir(area).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(OURS)).collect()
}

/// Of a directory that is no link.
fn names_in(directory: &Path) -> Vec<PathBuf> {
    if directory.is_symlink() {
        return Vec::new();
    }
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
