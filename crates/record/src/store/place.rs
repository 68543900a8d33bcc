//! Where a history is: a file of this machine, or a database of a server.

use super::{StoreError, sql::Database};
use std::{fmt, io::ErrorKind, path::Path, path::PathBuf};

/// Connects to the database at an address.
pub type Connect = fn(&Address) -> Result<Box<dyn Database>, StoreError>;

/// Where a history is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A file: SQLite.
    File(PathBuf),
    /// An address: PostgreSQL.
    Server(Address),
}

impl Place {
    /// What the user named: an address begins with `postgresql://` or `postgres://`. A program that
    /// was built without the room `postgresql` has nothing to `connect` with.
    pub fn of(named: &Path, connect: Option<Connect>) -> Self {
        let text = named.to_string_lossy();
        let is_server = ["postgresql://", "postgres://"].iter().any(|head| text.starts_with(head));
        match is_server {
            true => Self::Server(Address { text: text.into_owned(), connect }),
            false => Self::File(named.to_owned()),
        }
    }

    /// Whether this program can open it at all.
    ///
    /// # Errors
    /// [`StoreError::WithoutPostgresql`]: a database, and a program that was built without.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Server(Address { connect: None, .. }) => {
                Err(StoreError::WithoutPostgresql { place: self.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// Whether it is a file that is not there; one that cannot be looked at may be.
    pub fn is_missing(&self) -> bool {
        self.file().is_some_and(|path| {
            path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Server(address) => address.fmt(formatter),
        }
    }
}

/// The address of a database as libpq takes it, section "Connection URIs" of its manual:
/// `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE&...`, every part of which may be
/// missing. Printed, it has `***` for a password.
#[derive(Clone)]
pub struct Address {
    text: String,
    connect: Option<Connect>,
}

impl Address {
    /// The address as it was named, a password with it.
    pub fn with_password(&self) -> &str {
        &self.text
    }

    pub(super) fn connect(&self) -> Option<Connect> {
        self.connect
    }

    /// Whether a password stands in it.
    pub fn has_password(&self) -> bool {
        self.to_string() != self.text
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Address {}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Address({self})")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.text.split_once("://").expect("an address has a scheme");
        let (head, query) = match rest.split_once('?') {
            Some((head, query)) => (head, Some(query)),
            None => (rest, None),
        };
        // A password may hold an `@` or a `/` that should have been `%40`, `%2F`: up to the last.
        let head = match head.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((user, password)) if !password.is_empty() => format!("{user}:***@{host}"),
                _ => head.to_owned(),
            },
            None => head.to_owned(),
        };
        write!(formatter, "{scheme}://{head}")?;
        let Some(query) = query else { return Ok(()) };
        let hidden = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name @ ("password" | "sslpassword"), value)) if !value.is_empty() => {
                format!("{name}=***")
            }
            _ => pair.to_owned(),
        });
        write!(formatter, "?{}", hidden.collect::<Vec<_>>().join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Place::of(Path::new(text), None).to_string()
    }

    #[test]
    fn a_password_is_never_shown() {
        for (typed, seen) in [
            ("postgresql://db/lab", "postgresql://db/lab"),
            ("postgresql://ann@db/lab", "postgresql://ann@db/lab"),
            ("postgresql://ann:secret@db/lab", "postgresql://ann:***@db/lab"),
            ("postgres://ann:se@cr/et@db/lab", "postgres://ann:***@db/lab"),
            ("postgresql:///lab?password=secret", "postgresql:///lab?password=***"),
            (
                "postgresql://a:b@db/lab?sslmode=require&sslpassword=x&port=1",
                "postgresql://a:***@db/lab?sslmode=require&sslpassword=***&port=1",
            ),
        ] {
            let place = Place::of(Path::new(typed), None);
            assert_eq!(place.to_string(), seen);
            assert!(!format!("{place:?}").contains("secret"));
            let Place::Server(address) = place else { panic!("{typed} is an address") };
            assert_eq!(address.has_password(), typed != seen, "{typed}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_password_is_it_is_not_shown(
            password in "[a-z0-9@:/%]{0,9}#secret[a-z0-9@:/%]{0,9}",
            host in "[a-z.]{0,9}",
        ) {
            let text = format!("postgresql://ann:{password}@{host}/lab");
            let place = Place::of(Path::new(&text), None);
            let shown = format!("{place} {place:?}");
            proptest::prop_assert!(!shown.contains("secret"));
        }

        #[test]
        fn any_text_is_an_address_or_a_file_and_shown(text in "(postgres(ql)?://)?\\PC{0,40}") {
            let place = Place::of(Path::new(&text), None);
            let shown = place.to_string();
            proptest::prop_assert!(place.file().is_none() || shown == text);
        }
    }

    #[test]
    fn what_is_no_address_of_postgresql_is_a_file() {
        for typed in ["history.db", "/tmp/a.db", "./postgresql://x", "mysql://a/b"] {
            assert_eq!(Place::of(Path::new(typed), None), Place::File(typed.into()));
            assert_eq!(shown(typed), typed);
        }
    }
}
