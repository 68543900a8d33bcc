//! A server of PostgreSQL's in a directory that vanishes with it. On its socket it believes
//! everybody; over TCP it wants a password.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// What its first user is called, and his password over TCP.
const USER: &str = "postgres";
const PASSWORD: &str = "a:b\\c d";

/// A running server.
pub struct Postgresql {
    directory: TempDir,
    port: u16,
    settings: Vec<String>,
}

impl Postgresql {
    /// Makes a server and starts it; `None` where the package is not installed.
    ///
    /// # Panics
    /// It is installed and does not start.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with settings of `postgresql.conf`, such as `ssl=on`.
    ///
    /// # Panics
    /// As [`Postgresql::start`].
    pub fn start_with(settings: &[&str]) -> Option<Self> {
        programs()?;
        // Not below the build: another user must get there, and a socket's path is short.
        let directory = tempfile::tempdir_in(std::env::temp_dir()).expect("a directory");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.path(), open).expect("ours");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = Self { directory, port, settings };
        for name in ["data", "socket"] {
            server.given(name, None);
        }
        let words = server.given("password", Some(PASSWORD));
        let mut command = command("initdb");
        command.args(["-U", USER, "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"]);
        command.args(["-E", "UTF8", "--locale=C.UTF-8", "--pwfile"]).arg(words);
        let made = command.arg("-D").arg(server.data()).output().expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server.up();
        Some(server)
    }

    /// A file, or a directory, in the server's directory that belongs to its user.
    pub fn given(&self, name: &str, contents: Option<&str>) -> PathBuf {
        let path = self.directory.path().join(name);
        match contents {
            Some(text) => fs::write(&path, text).expect("a file"),
            None => fs::create_dir(&path).expect("a directory"),
        }
        let mode = if contents.is_some() { 0o600 } else { 0o700 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        if is_root() {
            let owner = format!("{USER}:{USER}");
            let text = path.to_str().expect("plain names");
            super::system("chown", &[&owner, text]).expect("root");
        }
        path
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The directory of its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database over the socket.
    pub fn address(&self, database: &str) -> String {
        let socket = self.socket().display().to_string();
        format!("postgresql://{USER}@/{database}?host={socket}&port={}", self.port)
    }

    /// The address of a database over TCP, without the password.
    pub fn address_of_tcp(&self, database: &str) -> String {
        format!("postgresql://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// What is asked for over TCP.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Starts it, and waits until it answers.
    ///
    /// # Panics
    /// It does not answer.
    pub fn up(&self) {
        let mut command = command("pg_ctl");
        let mut options = format!(
            "-k {} -p {} -c listen_addresses=127.0.0.1 -c unix_socket_permissions=0777",
            self.socket().display(),
            self.port
        );
        // What a test waits for is not the drive, and what it counts is not lost by a power cut.
        options += " -c fsync=off -c max_connections=40";
        for setting in &self.settings {
            options += &format!(" -c {setting}");
        }
        command.arg("-D").arg(self.data()).args(["-w", "-t", "120", "-l"]);
        command.arg(self.data().join("log")).args(["-o", &options, "start"]);
        let done = command.status().expect("pg_ctl starts");
        assert!(done.success(), "{}", self.log());
        // Others may pass through to the socket.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.socket(), open).expect("ours");
    }

    /// Stops it: connections break.
    pub fn down(&self) {
        let mut command = command("pg_ctl");
        command.arg("-D").arg(self.data()).args(["-w", "-m", "immediate", "stop"]);
        let _ = command.status();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.data().join("log")).unwrap_or_default()
    }

    /// What it answers to statements.
    ///
    /// # Panics
    /// It refuses them.
    pub fn ask(&self, database: &str, statements: &str) -> String {
        let mut command = command("psql");
        command.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-U", USER, "-h"]);
        command.arg(self.socket()).args(["-p", &self.port.to_string(), "-d", database]);
        let output = command.args(["-c", statements]).stdout(Stdio::piped()).output();
        let output = output.expect("psql starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Makes a database.
    pub fn database(&self, name: &str) -> String {
        self.ask("postgres", &format!("CREATE DATABASE \"{name}\""));
        self.address(name)
    }
}

impl Drop for Postgresql {
    fn drop(&mut self) {
        self.down();
        // The directory belongs to another user's processes until they are gone.
        let start = Instant::now();
        while self.data().join("postmaster.pid").exists() && start.elapsed().as_secs() < 10 {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where the newest version's programs are.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    versions.retain(|at| super::is_program(&at.join("postgres")));
    versions.sort();
    versions.pop()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// A program of PostgreSQL's: as the user that its package makes, since it refuses to run as root.
fn command(program: &str) -> Command {
    let path = programs().expect("asked for before").join(program);
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(path);
        command
    } else {
        Command::new(path)
    };
    command.current_dir(Path::new("/")).stdin(Stdio::null()).stdout(Stdio::null());
    command
}
