//! Where to listen, as people type it.

use std::{
    ffi::OsStr,
    fmt,
    net::{SocketAddr, ToSocketAddrs},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    str::FromStr,
};
use thiserror::Error;

/// Where to listen: `unix:PATH` or `tcp:HOST:PORT`. There is no default, and no short form of "on
/// every network": whoever wants that names `0.0.0.0` or `[::]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A socket in the file system, for its owner alone.
    Unix(PathBuf),
    /// An address of this machine. Anyone who reaches it can read and write: NBD has no passwords.
    Tcp(SocketAddr),
}

/// A text that is no [`Address`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{text}` is no address to serve at: {why}; write unix:PATH or tcp:HOST:PORT")]
pub struct BadAddress {
    text: String,
    why: &'static str,
}

impl Address {
    /// Reads a word of the command line: the path of a socket need not be text.
    ///
    /// # Errors
    /// It is none.
    pub fn of_word(word: &OsStr) -> Result<Self, BadAddress> {
        match word.as_bytes().strip_prefix(b"unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(OsStr::from_bytes(path).into())),
            _ => word.to_string_lossy().parse(),
        }
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = |why| BadAddress { text: text.to_owned(), why };
        let (kind, place) =
            text.split_once(':').ok_or_else(|| bad("it names no kind of socket"))?;
        match kind {
            "unix" if place.is_empty() => Err(bad("the path is missing")),
            "unix" => Ok(Self::Unix(place.into())),
            "tcp" => {
                let (host, port) =
                    place.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
                if host.is_empty() {
                    return Err(bad("the host is missing"));
                }
                if port.parse::<u16>().is_err() {
                    return Err(bad("the port is no number up to 65535"));
                }
                let mut found =
                    place.to_socket_addrs().map_err(|_| bad("the host is not known"))?;
                found.next().map(Self::Tcp).ok_or_else(|| bad("the host has no address"))
            }
            _ => Err(bad("it is neither unix nor tcp")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp(address) => write!(formatter, "tcp:{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written() {
        for text in ["unix:/run/x.sock", "unix:a:b", "tcp:127.0.0.1:10809", "tcp:[::1]:0"] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_sockets_path_need_not_be_text() {
        let path = OsStr::from_bytes(b"/run/\xe9.sock");
        let mut word = std::ffi::OsString::from("unix:");
        word.push(path);
        assert_eq!(Address::of_word(&word), Ok(Address::Unix(path.into())));
        let tcp = Address::of_word(OsStr::new("tcp:127.0.0.1:10809")).expect("an address");
        assert_eq!(tcp.to_string(), "tcp:127.0.0.1:10809");
        assert!(Address::of_word(OsStr::from_bytes(b"\xe9:x")).is_err());
        assert!(Address::of_word(OsStr::new("unix:")).is_err());
    }

    #[test]
    fn nothing_is_guessed() {
        for (text, why) in [
            ("", "no kind"),
            ("/run/x.sock", "no kind"),
            ("unix:", "path is missing"),
            ("tcp:10809", "port is missing"),
            ("tcp::10809", "host is missing"),
            ("tcp:127.0.0.1:", "no number"),
            ("tcp:127.0.0.1:65536", "no number"),
            ("udp:127.0.0.1:1", "neither"),
        ] {
            let complaint = text.parse::<Address>().expect_err(text).to_string();
            assert!(complaint.contains(why) && complaint.contains("tcp:HOST:PORT"), "{complaint}");
        }
    }
}
