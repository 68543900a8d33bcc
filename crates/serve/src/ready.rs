//! Telling whoever started a server that it serves, and that it ends: systemd's protocol
//! (sd_notify(3)) and a line on a descriptor.

use crate::error::{InWords, StartError};
use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::Write,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    path::Path,
};

/// Whom to tell.
#[derive(Debug, Default)]
pub struct Starter {
    /// The service manager's socket, from NOTIFY_SOCKET.
    manager: Option<(UnixDatagram, SocketAddr)>,
    /// That a line is written to.
    descriptor: Option<File>,
}

impl Starter {
    /// Finds the service manager if there is one.
    ///
    /// # Errors
    /// If it cannot be told, in a sentence.
    pub fn find() -> Result<Self, StartError> {
        let manager = match env::var_os("NOTIFY_SOCKET") {
            Some(place) => Some(manager_at(&place)?),
            None => None,
        };
        Ok(Self { manager, descriptor: None })
    }

    /// Takes over the descriptor `number`, to tell it too.
    ///
    /// # Errors
    /// It is not open.
    pub fn with_descriptor(self, number: i32) -> Result<Self, StartError> {
        let descriptor = engine::raw::take_descriptor(number).in_words(|| {
            format!("{number} is not open: open it, as with `{number}>ready` in a shell")
        })?;
        Ok(Self { descriptor: Some(File::from(descriptor)), ..self })
    }

    /// Says that clients find it at `uri`: `ready URI` and a line feed on the descriptor, which is
    /// closed then.
    ///
    /// # Errors
    /// If the service manager cannot be told, which would wait in vain.
    pub fn ready(&mut self, uri: &str) -> Result<(), StartError> {
        if let Some(mut descriptor) = self.descriptor.take() {
            // Who does not listen any more need not be told.
            let _ = writeln!(descriptor, "ready {uri}");
        }
        self.notify(&format!("READY=1\nSTATUS=serving at {uri}"))
            .in_words(|| "NOTIFY_SOCKET: the service manager could not be told".to_owned())
    }

    /// Says that it ends, which may take as long as a flush.
    pub fn stopping(&self) {
        // It is ending whether that is heard or not.
        let _ = self.notify("STOPPING=1\nSTATUS=flushing");
    }

    fn notify(&self, message: &str) -> std::io::Result<()> {
        let Some((socket, address)) = &self.manager else { return Ok(()) };
        socket.send_to_addr(message.as_bytes(), address).map(|_| ())
    }
}

/// A path, or `@` and a name in the abstract namespace (sd_notify(3)).
fn manager_at(place: &OsStr) -> Result<(UnixDatagram, SocketAddr), StartError> {
    let shown = place.display();
    let address = match place.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(Path::new(place)),
        _ => return Err(StartError::Manager(shown.to_string())),
    };
    let address = address.in_words(|| format!("NOTIFY_SOCKET: `{shown}`"))?;
    let socket =
        UnixDatagram::unbound().in_words(|| "NOTIFY_SOCKET: no socket to speak with".to_owned())?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(listener: &UnixDatagram) -> String {
        let mut message = [0; 4096];
        let bytes = listener.recv(&mut message).expect("a message");
        String::from_utf8(message[..bytes].to_vec()).expect("text")
    }

    #[test]
    fn a_service_manager_is_told_at_a_path_and_in_the_abstract_namespace() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notify");
        let name = format!("drivelab-test-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).expect("a name");
        for (listener, place) in [
            (UnixDatagram::bind(&path).expect("a free path"), path.into_os_string()),
            (
                UnixDatagram::bind_addr(&abstract_address).expect("a free name"),
                format!("@{name}").into(),
            ),
        ] {
            let manager = Some(manager_at(&place).expect("an address"));
            let mut starter = Starter { manager, descriptor: None };
            starter.ready("nbd://here").expect("it is told");
            assert_eq!(heard(&listener), "READY=1\nSTATUS=serving at nbd://here");
            starter.stopping();
            assert!(heard(&listener).starts_with("STOPPING=1\n"));
        }
    }

    #[test]
    fn nobody_is_told_where_nobody_asked() {
        Starter::default().ready("nbd://here").expect("nothing to do");
        let complaint = manager_at(OsStr::new("vsock:2:1")).expect_err("not spoken").to_string();
        assert!(complaint.contains("NOTIFY_SOCKET") && complaint.contains("unset"), "{complaint}");
    }
}
