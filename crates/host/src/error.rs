//! What goes wrong between drivelab and the machine under test.

use std::{fmt, io, path::Path};

/// An error to match on ([`kind`](HostError::kind)), to print (the context, a sentence that names
/// the cure), and to trace (the system's own error).
#[derive(Debug)]
pub struct HostError {
    kind: ErrorKind,
    context: String,
    source: Option<io::Error>,
}

/// What a caller may want to tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Neither the path nor its directory exists.
    NotFound,
    /// The path exists but is nothing that can be measured: a socket, a character device...
    WrongKind,
    /// The user may not do this.
    Permission,
    /// The file system is too full.
    NoSpace,
    /// The file exists already.
    Exists,
    /// Another process has it.
    Busy,
    /// The system call failed for another reason.
    Io,
}

impl HostError {
    /// An error of drivelab's own making.
    pub(crate) fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None }
    }

    /// The system said no while we were at `action` (`read`, `create the scratch file`...) on
    /// `path`.
    pub(crate) fn io(action: &str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::Permission
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            io::ErrorKind::AlreadyExists => ErrorKind::Exists,
            _ => ErrorKind::Io,
        };
        let cure = match kind {
            ErrorKind::NotFound => "; check the spelling of the path",
            ErrorKind::Permission => "; run as a user who may, or name another TARGET",
            ErrorKind::NoSpace => "; free some space, or choose a smaller --size",
            ErrorKind::Exists => "; name a path that does not exist yet",
            ErrorKind::WrongKind | ErrorKind::Busy | ErrorKind::Io => "",
        };
        let context = format!("cannot {action} {}: {source}{cure}", path.display());
        Self { kind, context, source: Some(source) }
    }

    /// The same without a cure: `path` is no TARGET.
    pub(crate) fn plain(action: &str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let context = format!("cannot {action} {}: {source}", path.display());
        Self { context, ..Self::io(action, path, source) }
    }

    /// A program could not be started.
    pub fn starting(program: &str, source: io::Error) -> Self {
        let context = format!("cannot start {program}: {source}; is it installed?");
        Self { kind: ErrorKind::Io, context, source: Some(source) }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The system's error number, when the system failed.
    pub fn os_error(&self) -> Option<i32> {
        self.source.as_ref().and_then(io::Error::raw_os_error)
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.context)
    }
}

impl std::error::Error for HostError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The context already quotes the system's words: a chain would print them twice.
        None
    }
}
