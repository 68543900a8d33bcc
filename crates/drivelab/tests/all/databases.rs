//! Databases on a served managed volume whose server is killed: every commit that was acknowledged
//! is there afterwards.
//!
//! ```text
//!   SQLite, PostgreSQL -> ext4 -> loop device -> nbdfuse -> socket -> drivelab serve flash:volume
//! ```
//!
//! The server gets SIGKILL: the file system sees errors, the database stops, all is taken down, and
//! what comes up again is what the volume holds.

use crate::common;

use common::{
    Bench, LoopDevice, Mounted, ROOT,
    serving::{Fuse, Killed, Serving},
    system,
};
use rusqlite::Connection;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// The volume's layers, from the server to the file system; declared in the order in which they go.
struct Rig {
    mounted: Mounted,
    _device: LoopDevice,
    _fuse: Fuse,
}

impl Rig {
    /// Mounts what is served; with a new file system where there is none yet.
    fn up(bench: &Bench, server: &Serving, is_new: bool) -> Option<Self> {
        let fuse = Fuse::mount(bench, &server.uri)?;
        let device = LoopDevice::over(fuse.file(), &[])?;
        let mounted = if is_new {
            device.mounted("mkfs.ext4", &[])?
        } else {
            Mounted::new(&device.path, &[])?
        };
        Some(Self { mounted, _device: device, _fuse: fuse })
    }

    fn directory(&self) -> &Path {
        self.mounted.path()
    }
}

/// What is asked of a database: commits, one after another, and later which of them are there.
trait Database {
    /// Makes its files in `directory`.
    fn create(directory: &Path);

    /// Opens what is there, as after any crash, and says which numbers it holds, in order.
    fn rows(directory: &Path) -> Vec<u64>;

    /// Inserts `first`, `first` + 1 and so on, a transaction each, until the database fails.
    /// `acknowledged` is the last number whose commit was answered.
    fn commit(directory: PathBuf, first: u64, acknowledged: Arc<AtomicU64>);
}

/// Kills the server `rounds` times under a database; says how many commits were acknowledged.
fn killed<D: Database>(bench: &Bench, rounds: u64) -> Option<u64> {
    let words = ["flash", "create", "volume", "--drive-size", "768M"];
    bench.drivelab_without_store(words).done().succeeded();
    let acknowledged = Arc::new(AtomicU64::new(0));
    for round in 0..=rounds {
        let server = Serving::start(bench, &["flash:volume"]);
        let rig = Rig::up(bench, &server, round == 0)?;
        if round == 0 {
            D::create(rig.directory());
        }
        let rows = D::rows(rig.directory());
        let last = acknowledged.load(SeqCst);
        let there = rows.len() as u64;
        assert!(rows.iter().copied().eq(1..=there), "round {round}: a gap in {there} rows");
        // The one commit under way when the server died may be there, and no more.
        assert!((last..=last + 1).contains(&there), "round {round}: {there} of {last} commits");
        acknowledged.store(there, SeqCst);
        if round == rounds {
            break;
        }
        let (directory, shared) = (rig.directory().to_owned(), Arc::clone(&acknowledged));
        let writer = thread::spawn(move || D::commit(directory, there + 1, shared));
        wait_for_commits(&acknowledged, there + 20);
        thread::sleep(Duration::from_millis(37 * (round % 7)));
        server.kill();
        writer.join().expect("the database fails, and its client returns");
        drop(rig);
    }
    let outcome = bench.drivelab_without_store(["flash", "check", "volume"]).done();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    Some(acknowledged.load(SeqCst))
}

fn wait_for_commits(acknowledged: &AtomicU64, count: u64) {
    let start = Instant::now();
    while acknowledged.load(SeqCst) < count {
        assert!(start.elapsed() < Duration::from_secs(120), "the database does not commit");
        thread::sleep(Duration::from_millis(5));
    }
}

struct Sqlite;

impl Sqlite {
    fn open(directory: &Path) -> Connection {
        let connection = Connection::open(directory.join("lab.sqlite")).expect("a database");
        let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
        connection.execute_batch(settings).expect("settings");
        connection
    }
}

impl Database for Sqlite {
    fn create(directory: &Path) {
        let connection = Self::open(directory);
        connection.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY)").expect("a table");
    }

    fn rows(directory: &Path) -> Vec<u64> {
        let connection = Self::open(directory);
        let sound: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
        assert_eq!(sound, "ok");
        let mut all = connection.prepare("SELECT n FROM t ORDER BY n").expect("a query");
        let rows = all.query_map([], |row| row.get::<_, i64>(0)).expect("rows");
        rows.map(|row| row.expect("a number") as u64).collect()
    }

    fn commit(directory: PathBuf, first: u64, acknowledged: Arc<AtomicU64>) {
        let connection = Self::open(&directory);
        for n in first.. {
            if connection.execute("INSERT INTO t VALUES (?1)", [n as i64]).is_err() {
                return;
            }
            acknowledged.store(n, SeqCst);
        }
    }
}

struct Postgres;

/// A server of PostgreSQL's, ended with whoever holds it.
struct Postmaster {
    child: Killed,
    socket: PathBuf,
}

impl Postgres {
    /// Where the newest version's programs are.
    fn programs() -> Option<PathBuf> {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
        versions.retain(|at| at.join("postgres").exists());
        versions.sort();
        versions.pop()
    }

    /// `program` of PostgreSQL's as the user that its package makes: it refuses to run as root.
    fn command(program: &str) -> Command {
        let path = Self::programs().expect("asked for before").join(program);
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
        command.arg(path).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        command
    }

    /// Starts it over `directory` and waits until it is through its recovery.
    fn start(directory: &Path) -> Postmaster {
        let socket = directory.join("socket");
        let data = directory.join("data");
        let mut command = Self::command("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(&socket);
        command.args(["-c", "listen_addresses=", "-c", "wal_sync_method=fdatasync"]);
        let child = Killed(command.spawn().expect("PostgreSQL starts"));
        let postmaster = Postmaster { child, socket };
        let start = Instant::now();
        while postmaster.ask("SELECT 1").is_none_or(|answer| answer.trim() != "1") {
            assert!(start.elapsed() < Duration::from_secs(120), "PostgreSQL does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        postmaster
    }
}

impl Postmaster {
    fn psql(&self) -> Command {
        let mut command = Postgres::command("psql");
        command.args(["-X", "-q", "-t", "-A", "-U", "postgres", "-d", "postgres", "-h"]);
        command.arg(&self.socket);
        command
    }

    /// What it answers to one statement; `None` where it fails.
    fn ask(&self, statement: &str) -> Option<String> {
        let output = self.psql().args(["-c", statement]).stdout(Stdio::piped()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// One client for many statements.
    fn client(&self) -> (Child, ChildStdin, BufReader<ChildStdout>) {
        let mut command = self.psql();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("psql starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        (child, stdin, stdout)
    }

    /// Ends it at once, as a file system that fails would have it; its children end by themselves.
    fn stop(self) {
        system("kill", &["-s", "QUIT", &self.child.0.id().to_string()]);
        let mut child = self.child;
        let _ = child.0.wait();
    }
}

impl Database for Postgres {
    fn create(directory: &Path) {
        let text = directory.to_str().expect("plain names");
        system("chown", &["postgres:postgres", text]).expect("root");
        for name in ["socket", "data"] {
            let path = directory.join(name);
            fs::create_dir(&path).expect("a directory");
            let path = path.to_str().expect("plain names");
            system("chown", &["postgres:postgres", path]).expect("root");
        }
        let mut command = Self::command("initdb");
        command.args(["-U", "postgres", "-A", "trust", "-D"]).arg(directory.join("data"));
        assert!(command.status().expect("initdb starts").success(), "initdb");
        let server = Self::start(directory);
        server.ask("CREATE TABLE t (n BIGINT PRIMARY KEY)").expect("a table");
        server.stop();
    }

    fn rows(directory: &Path) -> Vec<u64> {
        let server = Self::start(directory);
        let rows = server.ask("SELECT n FROM t ORDER BY n").expect("rows");
        server.stop();
        rows.lines().map(|line| line.parse().expect("a number")).collect()
    }

    fn commit(directory: PathBuf, first: u64, acknowledged: Arc<AtomicU64>) {
        let server = Self::start(&directory);
        let (mut client, mut statements, mut answers) = server.client();
        let mut line = String::new();
        for n in first.. {
            line.clear();
            let asked = writeln!(statements, "INSERT INTO t VALUES ({n}) RETURNING n;");
            let answered = asked.and_then(|()| answers.read_line(&mut line));
            if answered.is_err() || line.trim() != n.to_string() {
                break;
            }
            acknowledged.store(n, SeqCst);
        }
        let _ = client.kill();
        let _ = client.wait();
        server.stop();
    }
}

#[test]
fn sqlite_loses_no_commit_when_the_server_is_killed() {
    need_programs!("nbdfuse", "mkfs.ext4");
    let bench = Bench::new();
    let commits = need!(killed::<Sqlite>(&bench, 2), ROOT);
    assert!(commits >= 40, "{commits} commits");
}

#[test]
fn postgresql_loses_no_commit_when_the_server_is_killed() {
    need_programs!("nbdfuse", "mkfs.ext4", "setpriv");
    need!(Postgres::programs(), "postgresql");
    // A place that another user can reach.
    let bench = Bench::below(&std::env::temp_dir());
    let commits = need!(killed::<Postgres>(&bench, 1), ROOT);
    assert!(commits >= 20, "{commits} commits");
}

#[test]
#[ignore = "takes minutes: 20 kills under each database"]
fn twenty_kills_under_each_database() {
    need_programs!("nbdfuse", "mkfs.ext4", "setpriv");
    need!(Postgres::programs(), "postgresql");
    let bench = Bench::below(&std::env::temp_dir());
    let sqlite = need!(killed::<Sqlite>(&bench, 20), ROOT);
    println!("SQLite: 20 kills, {sqlite} commits acknowledged, 0 lost");
    let bench = Bench::below(&std::env::temp_dir());
    let postgres = need!(killed::<Postgres>(&bench, 20), ROOT);
    println!("PostgreSQL: 20 kills, {postgres} commits acknowledged, 0 lost");
}
