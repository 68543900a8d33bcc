//! A listening socket that belongs to its owner, replaces only what is dead, and cleans
//! up.

use crate::Address;
use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, renameat_with},
    io::Errno,
    net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt},
};
use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use thiserror::Error;

/// The backlog of listen(2): clients that may wait to be accepted.
const BACKLOG: i32 = 64;
/// What the kernel holds of replies to a client of a Unix socket; it grants twice as much, up to
/// net.core.wmem_max. With its default of some 200 KiB the server stops in the middle of every
/// long reply: reads of 64 KiB at depth 8 had 0.5 to 0.8 of the rate (two single runs on a busy
/// machine). TCP has a size of its own.
const SEND_BYTES: usize = 1 << 20;
/// What has the name meanwhile stays.
const NOREPLACE: RenameFlags = RenameFlags::NOREPLACE;

/// An address cannot be listened on.
#[derive(Debug, Error)]
#[error("{address}: {why}")]
pub struct ListenError {
    address: Address,
    why: String,
    #[source]
    source: Option<io::Error>,
}

/// A socket that clients connect to. A Unix socket's file is removed when this goes.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    address: Address,
    /// Device and inode of the socket's file: only ours is removed.
    file: Option<(PathBuf, u64, u64)>,
}

impl Listener {
    /// Listens at `address`. A Unix socket is readable and writable by its owner alone from its
    /// first moment; one that a dead server left behind is replaced, a live one and any other file
    /// are not.
    ///
    /// # Errors
    /// [`ListenError`] if the address is taken or refused.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Unix(path) => bind_unix(path, address),
            Address::Tcp(socket) => bind_tcp(*socket).map_err(|source| ListenError {
                address: address.clone(),
                why: source.to_string(),
                source: Some(source),
            }),
        }
    }

    /// Where clients find it. For port 0 the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The next client of the backlog, whose socket does not block; none if nobody waits.
    ///
    /// # Errors
    /// Those of accept(2) that may pass, such as no descriptor to spare.
    pub fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match net::accept_with(&self.socket, flags) {
            Ok(client) => {
                // Refusals of these cost time only.
                match self.address {
                    // Replies are written whole, and a client whose machine died must be noticed.
                    Address::Tcp(_) => {
                        let _ = sockopt::set_tcp_nodelay(&client, true);
                        let _ = sockopt::set_socket_keepalive(&client, true);
                    }
                    Address::Unix(_) => {
                        let _ = sockopt::set_socket_send_buffer_size(&client, SEND_BYTES);
                    }
                }
                Ok(Some(client))
            }
            // The client changed its mind, or a signal came: the next turn looks again.
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, device, inode)) = &self.file {
            let ours = fs::symlink_metadata(path)
                .is_ok_and(|facts| (facts.dev(), facts.ino()) == (*device, *inode));
            if ours {
                // Gone already is as good.
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<Listener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = Address::Tcp(listener.local_addr()?);
    Ok(Listener { socket: listener.into(), address, file: None })
}

fn bind_unix(path: &Path, address: &Address) -> Result<Listener, ListenError> {
    let complaint = |why: &str, source: Option<io::Error>| {
        let why = source.as_ref().map_or_else(|| why.to_owned(), |error| format!("{why}: {error}"));
        ListenError { address: address.clone(), why, source }
    };
    let refused = |error: Errno| complaint("the socket could not be made", Some(error.into()));
    let place = SocketAddrUnix::new(path)
        .map_err(|error| complaint("the path is too long for a socket", Some(error.into())))?;
    // Two servers that find the same dead socket must not remove each other's new one.
    let _turn = lock_directory_of(path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => complaint(
            "another program keeps its directory locked: end that one or name a path in another directory",
            None,
        ),
        io::ErrorKind::NotFound => {
            complaint("its directory is not there: make it or name another path", None)
        }
        _ => complaint("its directory could not be locked", Some(error)),
    })?;
    let in_the_way = look_at(path, &place).map_err(|why| complaint(why, None))?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = socket.map_err(refused)?;
    // Linux gives the file the mode of the socket that is bound to it (unix_bind_bsd in
    // net/unix/af_unix.c), so there is no moment in which others may connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(refused)?;
    // bind(2) makes the file, and until listen(2) it refuses who connects: it gets its name when it
    // listens.
    let unborn = Unborn::bind(&socket, path).map_err(refused)?;
    net::listen(&socket, BACKLOG).map_err(refused)?;
    let facts = unborn
        .named(path, in_the_way)
        .map_err(|error| complaint("the socket could not be given its name", Some(error)))?;
    let file = Some((path.to_owned(), facts.dev(), facts.ino()));
    Ok(Listener { socket, address: address.clone(), file })
}

/// What bears the name that a socket is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InTheWay {
    Nothing,
    /// A socket that nobody listens on.
    Dead,
}

/// Looks at what is at `path`, which is `place`.
fn look_at(path: &Path, place: &SocketAddrUnix) -> Result<InTheWay, &'static str> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.file_type().is_socket() => {}
        Ok(_) => {
            return Err("a file that is no socket is in the way: remove it or name another path");
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(InTheWay::Nothing),
        Err(_) => return Err("the file in the way could not be looked at"),
    }
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|_| "the socket in the way could not be tried")?;
    match net::connect(&probe, place) {
        Err(Errno::CONNREFUSED) => Ok(InTheWay::Dead),
        Err(Errno::NOENT) => Ok(InTheWay::Nothing),
        _ => Err("another server listens here: stop it or name another path"),
    }
}

/// A socket's file under a temporary name, beside the one it will have. It is removed unless it
/// gets that.
#[derive(Debug)]
struct Unborn {
    path: PathBuf,
}

impl Unborn {
    /// Binds `socket` beside `path`, whose directory is locked: what a server left that was killed
    /// here is removed.
    fn bind(socket: &OwnedFd, path: &Path) -> rustix::io::Result<Self> {
        let mut temporary = OsString::from(".");
        temporary.push(path.file_name().ok_or(Errno::INVAL)?);
        temporary.push(".new");
        let beside = path.with_file_name(&temporary);
        // Longer than the right name, and perhaps too long for an address where that is not.
        let directory = open_directory_of(path)?;
        let (unborn, place) = match SocketAddrUnix::new(&beside) {
            Ok(place) => (beside, place),
            Err(_) => {
                let short = format!("/proc/self/fd/{}/.new", directory.as_raw_fd());
                (path.with_file_name(".new"), SocketAddrUnix::new(short.as_str())?)
            }
        };
        if fs::symlink_metadata(&unborn).is_ok_and(|facts| facts.file_type().is_socket()) {
            let _ = fs::remove_file(&unborn);
        }
        net::bind(socket, &place).map(|()| Self { path: unborn })
    }

    /// Gives it its name, which a dead socket may have.
    fn named(self, path: &Path, in_the_way: InTheWay) -> io::Result<fs::Metadata> {
        let facts = fs::symlink_metadata(&self.path)?;
        match in_the_way {
            InTheWay::Dead => fs::rename(&self.path, path)?,
            InTheWay::Nothing => match renameat_with(CWD, &self.path, CWD, path, NOREPLACE) {
                // Not every file system knows it.
                Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&self.path, path)?,
                outcome => outcome?,
            },
        }
        Ok(facts)
    }
}

impl Drop for Unborn {
    fn drop(&mut self) {
        // It has its name by now, or is not wanted.
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for another server that is binding, which takes less than a millisecond, and not for who
/// has other reasons.
fn lock_directory_of(path: &Path) -> io::Result<File> {
    const TRIES: u32 = 80;
    const PAUSE: Duration = Duration::from_millis(25);
    let directory = open_directory_of(path)?;
    let mut attempt = 1;
    loop {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if attempt < TRIES => thread::sleep(PAUSE),
            outcome => return outcome.map(|()| directory).map_err(Into::into),
        }
        attempt += 1;
    }
}

fn open_directory_of(path: &Path) -> rustix::io::Result<File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(parent.unwrap_or(Path::new(".")), flags, Mode::empty()).map(File::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
        sync::atomic::{AtomicBool, Ordering},
    };

    fn unix(directory: &Path) -> Address {
        Address::Unix(directory.join("socket"))
    }

    #[test]
    fn a_socket_is_its_owners_alone_and_goes_with_its_listener() {
        let directory = tempfile::tempdir().expect("a directory");
        let listener = Listener::bind(&unix(directory.path())).expect("a free path");
        let path = directory.path().join("socket");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn a_live_socket_is_left_alone_and_a_dead_one_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let other = UnixListener::bind(&path).expect("a free path");
        let complaint = Listener::bind(&unix(directory.path())).expect_err("taken").to_string();
        assert!(complaint.contains("another server"), "{complaint}");
        assert!(path.exists());
        drop(other); // Leaves its file behind, as a killed server does.
        let listener = Listener::bind(&unix(directory.path())).expect("the dead are replaced");
        drop(listener);
        assert!(!path.exists());
    }

    /// bind(2) made the file at its place, and until listen(2) followed whoever saw it and
    /// connected was refused: a script that waited for the file failed now and then. What is right:
    /// who sees the file is let in.
    #[test]
    fn whoever_sees_the_socket_can_connect_to_it() {
        for _ in 0..100 {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("socket");
            thread::scope(|scope| {
                let watcher = scope.spawn(|| {
                    loop {
                        match UnixStream::connect(&path) {
                            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                            outcome => return outcome,
                        }
                    }
                });
                let listener = Listener::bind(&unix(directory.path())).expect("a free path");
                watcher.join().expect("it does not panic").expect("nobody is refused");
                drop(listener);
            });
            let left = fs::read_dir(directory.path()).expect("a directory").count();
            assert_eq!(left, 0, "files are left behind");
        }
    }

    /// While a dead server's socket was replaced there was a moment without any; a client that
    /// reconnects took that for the end where it does not try again on ENOENT.
    #[test]
    fn a_dead_socket_is_replaced_without_a_moment_without_any() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        drop(UnixListener::bind(&path).expect("a free path"));
        // As a server leaves it that is killed before it gives the socket its name.
        drop(UnixListener::bind(directory.path().join(".socket.new")).expect("a free path"));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(fs::symlink_metadata(&path).is_ok(), "it was gone");
                }
            });
            let listener = Listener::bind(&unix(directory.path())).expect("the dead are replaced");
            done.store(true, Ordering::Relaxed);
            watcher.join().expect("it was always there");
            assert!(UnixStream::connect(&path).is_ok());
            drop(listener);
        });
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_path_as_long_as_an_address_can_be_is_taken() {
        let directory = tempfile::tempdir().expect("a directory");
        let room = 107 - directory.path().as_os_str().len() - 1;
        let path = directory.path().join("s".repeat(room));
        let listener = Listener::bind(&Address::Unix(path.clone())).expect("it fits an address");
        assert!(UnixStream::connect(&path).is_ok());
        drop(listener);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_file_in_the_way_stays_what_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("socket"), "precious").expect("a file");
        let complaint = Listener::bind(&unix(directory.path())).expect_err("taken").to_string();
        assert!(complaint.contains("no socket"), "{complaint}");
        assert_eq!(fs::read(directory.path().join("socket")).expect("still there"), b"precious");
    }

    /// A server waited for ever where the directory was locked for other reasons, as temporary ones
    /// are against tidying.
    #[test]
    fn a_directory_that_stays_locked_is_told_and_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let other = File::open(directory.path()).expect("it opens");
        other.lock().expect("nobody else has it");
        let complaint = Listener::bind(&unix(directory.path())).expect_err("locked").to_string();
        assert!(
            complaint.contains("locked") && complaint.contains("another directory"),
            "{complaint}"
        );
        drop(other);
        Listener::bind(&unix(directory.path())).expect("free again");
    }

    #[test]
    fn only_its_own_file_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let listener = Listener::bind(&unix(directory.path())).expect("a free path");
        let path = directory.path().join("socket");
        fs::remove_file(&path).expect("someone tidies up");
        fs::write(&path, "another's").expect("and puts a file there");
        drop(listener);
        assert!(path.exists());
    }

    #[test]
    fn port_zero_becomes_a_real_port_on_the_named_host() {
        let address = "tcp:127.0.0.1:0".parse().expect("an address");
        let listener = Listener::bind(&address).expect("a free port");
        let Address::Tcp(found) = listener.address() else { panic!("not TCP") };
        assert!(found.port() != 0 && found.ip().is_loopback());
    }
}
