//! The door: a listening socket that belongs to its owner, replaces only what is dead, and cleans up.

use crate::Address;
use rustix::{
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
    net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt},
};
use std::{
    fs::{self, File},
    io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use thiserror::Error;

/// Clients that may wait at the door while the server looks elsewhere.
const BACKLOG: i32 = 64;

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
    /// Listens at `address`. A Unix socket is readable and writable by its owner alone from its first
    /// moment; one that a dead server left behind is replaced, a live one and any other file are not.
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

    /// The next client at the door; none if nobody is there.
    pub(crate) fn accept(&self) -> io::Result<Option<OwnedFd>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match net::accept_with(&self.socket, flags) {
            Ok(client) => {
                if let Address::Tcp(_) = self.address {
                    // Replies are written whole, and a client whose machine died must be noticed; a refusal
                    // only costs time.
                    let _ = sockopt::set_tcp_nodelay(&client, true);
                    let _ = sockopt::set_socket_keepalive(&client, true);
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
        _ => complaint("its directory could not be locked", Some(error)),
    })?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = socket.map_err(refused)?;
    // Linux gives the file the mode of the socket that is bound to it (unix_bind_bsd in net/unix/af_unix.c),
    // so there is no moment in which others may connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(refused)?;
    match net::bind(&socket, &place) {
        Err(Errno::ADDRINUSE) => {
            remove_dead(path, &place).map_err(|why| complaint(why, None))?;
            net::bind(&socket, &place).map_err(refused)?;
        }
        outcome => outcome.map_err(refused)?,
    }
    let facts = fs::symlink_metadata(path)
        .map_err(|error| complaint("the socket's file vanished", Some(error)))?;
    let listener = Listener {
        socket,
        address: address.clone(),
        file: Some((path.to_owned(), facts.dev(), facts.ino())),
    };
    net::listen(&listener.socket, BACKLOG).map_err(refused)?;
    Ok(listener)
}

/// Removes a socket that nobody listens on.
fn remove_dead(path: &Path, place: &SocketAddrUnix) -> Result<(), &'static str> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket());
    if !is_socket {
        return Err("a file that is no socket is in the way: remove it or name another path");
    }
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let probe = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|_| "the socket in the way could not be tried")?;
    match net::connect(&probe, place) {
        Err(Errno::CONNREFUSED) => {
            fs::remove_file(path).map_err(|_| "a dead server's socket could not be removed")
        }
        Err(Errno::NOENT) => Ok(()),
        _ => Err("another server listens here: stop it or name another path"),
    }
}

/// Waits for another server that is binding, which takes less than a millisecond, and not for who has other reasons.
fn lock_directory_of(path: &Path) -> io::Result<File> {
    const TRIES: u32 = 80;
    const PAUSE: Duration = Duration::from_millis(25);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = parent.unwrap_or(Path::new("."));
    let directory = File::from(rustix::fs::open(parent, flags, Mode::empty())?);
    let mut attempt = 1;
    loop {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if attempt < TRIES => thread::sleep(PAUSE),
            outcome => return outcome.map(|()| directory).map_err(Into::into),
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::{fs::PermissionsExt, net::UnixListener};

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

    #[test]
    fn a_file_in_the_way_stays_what_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("socket"), "precious").expect("a file");
        let complaint = Listener::bind(&unix(directory.path())).expect_err("taken").to_string();
        assert!(complaint.contains("no socket"), "{complaint}");
        assert_eq!(fs::read(directory.path().join("socket")).expect("still there"), b"precious");
    }

    /// A server waited for ever where the directory was locked for other reasons, as temporary ones are against tidying.
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
