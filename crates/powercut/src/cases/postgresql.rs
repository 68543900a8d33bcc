//! PostgreSQL: a row a transaction, by psql. Its programs are the system's, and run as the user
//! `postgres`, since the server refuses root.

use super::{Contents, Failure, Setting, contents};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a server may take to come up, recovery included.
const PATIENCE: Duration = Duration::from_secs(50);
const PAUSE: Duration = Duration::from_millis(20);

pub fn run(settings: &[Setting], at: &Path, said: &mut dyn Write) -> Result<(), Failure> {
    let place = Place::of(at)?;
    if place.data.exists() {
        place.forget_server()?;
    } else {
        place.make()?;
    }
    let mut server = place.start(settings)?;
    let mut client = place.psql().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut orders = client.stdin.take().expect("it is piped");
    let answers = BufReader::new(client.stdout.take().expect("it is piped"));
    writeln!(orders, "CREATE TABLE IF NOT EXISTS kept (id BIGINT PRIMARY KEY, body TEXT);")?;
    thread::spawn(move || {
        (0_u64..).try_for_each(|id| {
            let body = contents(id);
            // What fails ends psql: the next line is not reached.
            writeln!(orders, "INSERT INTO kept VALUES ({id}, '{body}');\n\\echo ack {id}")
        })
    });
    for line in answers.lines() {
        writeln!(said, "{}", line?)?;
        said.flush()?;
    }
    let _ = server.kill();
    Err("psql ended: what it said stands above".into())
}

pub fn check(
    settings: &[Setting],
    at: &Path,
    promised: &[u64],
    contents: &mut Contents,
    said: &mut dyn Write,
) -> Result<(), Failure> {
    let place = Place::of(at)?;
    place.forget_server()?;
    let mut server = match place.start(settings) {
        Ok(server) => server,
        Err(error) => {
            writeln!(said, "broken {error}")?;
            return Ok(());
        }
    };
    let found = place.rows();
    let _ = server.kill();
    let _ = server.wait();
    let rows = match found {
        Ok(rows) => rows,
        Err(error) => {
            writeln!(said, "broken {error}")?;
            return Ok(());
        }
    };
    for &id in promised {
        match rows.get(&id) {
            None => writeln!(said, "lost {id}")?,
            Some(body) if body != contents.of(id) => writeln!(said, "torn {id}")?,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Where a server's files and its socket lie, and who it runs as.
struct Place {
    at: PathBuf,
    data: PathBuf,
    programs: PathBuf,
    user: (u32, u32),
}

impl Place {
    fn of(at: &Path) -> Result<Self, Failure> {
        let programs = programs().ok_or("no PostgreSQL is installed: `apt install postgresql`")?;
        let users = fs::read_to_string("/etc/passwd")?;
        let user = user_of(&users).ok_or("there is no user postgres: install PostgreSQL")?;
        Ok(Self { at: at.to_owned(), data: at.join("data"), programs, user })
    }

    /// A program, run as the server's user.
    fn program(&self, name: &str) -> Command {
        self.run_as_user(&self.programs.join(name))
    }

    fn run_as_user(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.uid(self.user.0).gid(self.user.1).current_dir(&self.at).env("LC_ALL", "C");
        command
    }

    fn psql(&self) -> Command {
        let mut command = self.program("psql");
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-h"]);
        command.arg(&self.at);
        command
    }

    /// A new cluster, durable.
    fn make(&self) -> Result<(), Failure> {
        chown(&self.at, Some(self.user.0), Some(self.user.1))?;
        let mut command = self.program("initdb");
        command.args(["-N", "-A", "trust", "-E", "UTF8", "-D"]);
        let made = command.arg(&self.data).output().map_err(|error| {
            format!(
                "the user postgres cannot work in {}: {error}: set TMPDIR to a directory that \
                 others may enter, such as /run",
                self.at.display()
            )
        })?;
        if !made.status.success() {
            return Err(format!("initdb: {}", last_line(&made.stderr)).into());
        }
        Ok(rustix::fs::syncfs(File::open(&self.at)?)?)
    }

    /// Two files say which process had the cluster and its socket before the power went. A machine
    /// that boots has no such process, and its sockets lie in memory; here another process may bear
    /// the number, and this server would refuse.
    fn forget_server(&self) -> Result<(), Failure> {
        let remove = |path: &Path| match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        remove(&self.data.join("postmaster.pid"))?;
        for entry in fs::read_dir(&self.at)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".s.PGSQL.") {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The server, which dies with this process: killed, it would leave one behind that nobody
    /// knows and that keeps the file system busy.
    fn server(&self, settings: &[Setting]) -> Command {
        let mut command = self.run_as_user(Path::new("setpriv"));
        // A parent that was gone before the signal was asked for sends none.
        const IF_PARENT_LIVES: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;
        command.args(["--pdeathsig", "KILL", "--", "sh", "-c", IF_PARENT_LIVES]);
        command.arg(std::process::id().to_string()).arg(self.programs.join("postgres"));
        command.arg("-D").arg(&self.data).arg("-k").arg(&self.at).args(["-h", ""]);
        for (key, value) in settings {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command
    }

    /// Until it takes connections.
    fn start(&self, settings: &[Setting]) -> Result<Child, Failure> {
        let log = self.at.join("log");
        let mut command = self.server(settings);
        let server = command.stdin(Stdio::null()).stderr(File::create(&log)?).spawn();
        let mut server = server.map_err(|error| {
            format!("setpriv cannot be started: {error}: `apt install util-linux`")
        })?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = server.try_wait()? {
                let said = fs::read(&log).unwrap_or_default();
                return Err(format!("PostgreSQL ended with {status}: {}", reason(&said)).into());
            }
            let mut asked = self.psql();
            let asked = asked.args(["-c", "SELECT 1"]).stdout(Stdio::null()).stderr(Stdio::null());
            if asked.status()?.success() {
                return Ok(server);
            }
            if Instant::now() > deadline {
                let _ = server.kill();
                let seconds = PATIENCE.as_secs();
                return Err(format!("PostgreSQL takes no connection after {seconds} s").into());
            }
            thread::sleep(PAUSE);
        }
    }

    fn rows(&self) -> Result<BTreeMap<u64, String>, Failure> {
        let mut asked = self.psql();
        let table = "SELECT count(*) FROM pg_class WHERE relname = 'kept'";
        let there = asked.args(["-c", table]).output()?;
        if there.status.success() && there.stdout.starts_with(b"0") {
            return Ok(BTreeMap::new());
        }
        let answer = self.psql().args(["-c", "SELECT id, body FROM kept"]).output()?;
        if !answer.status.success() {
            return Err(last_line(&answer.stderr).into());
        }
        let text = String::from_utf8_lossy(&answer.stdout);
        let rows = text.lines().filter_map(|line| {
            let (id, body) = line.split_once('|')?;
            Some((id.parse().ok()?, body.to_owned()))
        });
        Ok(rows.collect())
    }
}

/// The newest of those that Debian keeps side by side, or the one in the PATH.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = versions.map(|version| version.path().join("bin"));
    let mut places: Vec<PathBuf> = places.filter(|at| at.join("postgres").exists()).collect();
    places.sort();
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|at| at.join("postgres").exists())
    };
    places.pop().or_else(in_path)
}

/// User and group of `postgres` in passwd(5).
fn user_of(users: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Why a server ended: of its log the last line that says so, for behind it come hints.
fn reason(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let fatal = text.lines().rfind(|line| line.contains("FATAL:") || line.contains("PANIC:"));
    fatal.map_or_else(|| last_line(log), str::to_owned)
}

fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server among six at a time was said to have ended with a hint, and with "is shut down".
    #[test]
    fn why_a_server_ended_is_the_line_that_says_so() {
        let log =
            b"LOG:  starting\nFATAL:  lock file \"postmaster.pid\" already exists\nHINT:  Is\n";
        assert_eq!(reason(log), "FATAL:  lock file \"postmaster.pid\" already exists");
        assert_eq!(reason(b"LOG:  one\nLOG:  two\n\n"), "LOG:  two");
        assert_eq!(reason(b""), "it said nothing");
    }

    /// In a virtual machine a process of the next boot bore the number in the socket's lock: one
    /// round of twenty on XFS was said to have lost all its promises, since the server refused to
    /// start.
    #[test]
    fn what_a_server_left_before_the_cut_does_not_keep_the_next_one_out() {
        let at = tempfile::tempdir().expect("a directory");
        let data = at.path().join("data");
        fs::create_dir(&data).expect("made");
        let left = ["data/postmaster.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"];
        for name in left.iter().chain(&["log", "data/PG_VERSION"]) {
            fs::write(at.path().join(name), "1").expect("written");
        }
        let place =
            Place { at: at.path().to_owned(), data, programs: PathBuf::new(), user: (0, 0) };
        place.forget_server().expect("they can be removed");
        place.forget_server().expect("nothing is left to remove");
        assert!(left.iter().all(|name| !at.path().join(name).exists()));
        assert!(at.path().join("log").exists() && at.path().join("data/PG_VERSION").exists());
    }

    #[test]
    fn the_servers_user_is_found_among_others() {
        let users = "root:x:0:0::/root:/bin/sh\npostgres:x:104:111:PostgreSQL:/var:/bin/bash\n";
        assert_eq!(user_of(users), Some((104, 111)));
        assert_eq!(user_of("root:x:0:0::/root:/bin/sh\n"), None);
    }
}
