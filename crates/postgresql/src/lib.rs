//! A history in a database of a PostgreSQL server: the connection. The statements are the store's
//! (`record::sql`).
//!
//! ```text
//!   Address, PG... of the environment  -> settings -> postgres::Config, Tls   settings, password
//!   sslmode, sslrootcert               -> who is believed                     tls
//!   a statement of the store, `?`      -> `$1`, values with their types       here
//! ```

#![cfg(feature = "client")]
#![forbid(unsafe_code)]

#[cfg(test)]
mod alike;
mod password;
mod settings;
mod tls;

use postgres::{
    Client, NoTls,
    error::SqlState,
    types::{ToSql, Type},
};
use record::{
    Address, Place, ServerTrouble, StoreError,
    sql::{Database, Dialect, Row, Value},
};
use settings::{Settings, SslMode};
use std::{cell::RefCell, error::Error};

/// An open database.
struct Postgresql {
    place: Place,
    client: RefCell<Client>,
}

/// Connects to the database at an address.
///
/// # Errors
/// [`StoreError::Server`]: what the address or the environment says is wrong, or the server did not
/// let us in.
pub fn connect(address: &Address) -> Result<Box<dyn Database>, StoreError> {
    let place = Place::Server(address.clone());
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let told = |reason| StoreError::Server {
        place: place.clone(),
        trouble: ServerTrouble::Settings,
        reason,
    };
    let settings = Settings::of(address.with_password(), &variable).map_err(told)?;
    let client = client(&settings, &place)?;
    Ok(Box::new(Postgresql { place, client: RefCell::new(client) }))
}

impl Postgresql {
    fn told<T>(&self, outcome: Result<T, postgres::Error>) -> Result<T, StoreError> {
        outcome.map_err(|error| trouble(&self.place, &error))
    }
}

/// A connection; with `allow` first without TLS, then with it.
fn client(settings: &Settings, place: &Place) -> Result<Client, StoreError> {
    let refused =
        |reason| StoreError::Server { place: place.clone(), trouble: ServerTrouble::Tls, reason };
    let mut config = settings.config.clone();
    if settings.mode == SslMode::Disable {
        return config.connect(NoTls).map_err(|error| trouble(place, &error));
    }
    if settings.mode == SslMode::Allow {
        let mut plain = config.clone();
        plain.ssl_mode(postgres::config::SslMode::Disable);
        if let Ok(client) = plain.connect(NoTls) {
            return Ok(client);
        }
    }
    config.ssl_mode(match settings.mode {
        SslMode::Prefer => postgres::config::SslMode::Prefer,
        _ => postgres::config::SslMode::Require,
    });
    let connector = tls::connector(settings).map_err(refused)?;
    config.connect(connector).map_err(|error| trouble(place, &error))
}

impl Database for Postgresql {
    fn dialect(&self) -> Dialect {
        Dialect::Postgresql
    }

    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let typed: Vec<_> = values.iter().map(typed).collect();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            typed.iter().map(|(value, kind)| (value.as_ref(), kind.clone())).collect();
        let answer = self.client.borrow_mut().query_typed(&numbered(statement), &parameters);
        let rows = self.told(answer)?;
        rows.iter().map(|row| self.told(read(row))).collect()
    }

    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let typed: Vec<_> = values.iter().map(typed).collect();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            typed.iter().map(|(value, kind)| (value.as_ref(), kind.clone())).collect();
        let mut client = self.client.borrow_mut();
        self.told(client.execute_typed(&numbered(statement), &parameters))
    }

    fn batch(&self, statements: &str) -> Result<(), StoreError> {
        let done = self.client.borrow_mut().batch_execute(statements);
        self.told(done)
    }
}

/// `$1`, `$2`... for the question marks; none of the store's statements has one for another use.
fn numbered(statement: &str) -> String {
    let mut parts = statement.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (place, part) in parts.enumerate() {
        text += &format!("${}{part}", place + 1);
    }
    text
}

/// PostgreSQL's text has no NUL; the replacement character stands for it.
const NUL_IS: &str = "\u{fffd}";

fn typed(value: &Value) -> (Box<dyn ToSql + Sync>, Type) {
    match value {
        Value::Integer(number) => (Box::new(*number), Type::INT8),
        Value::Real(number) => (Box::new(*number), Type::FLOAT8),
        Value::Bytes(bytes) => (Box::new(bytes.clone()), Type::BYTEA),
        Value::Text(text) => {
            (Box::new(text.as_ref().map(|text| text.replace('\0', NUL_IS))), Type::TEXT)
        }
    }
}

fn read(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let value = |column: usize| {
        let kind = row.columns()[column].type_();
        Ok(match *kind {
            Type::INT8 => Value::Integer(row.try_get(column)?),
            Type::INT4 => Value::Integer(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
            Type::BOOL => Value::Integer(row.try_get::<_, Option<bool>>(column)?.map(i64::from)),
            Type::FLOAT8 => Value::Real(row.try_get(column)?),
            Type::BYTEA => Value::Bytes(row.try_get(column)?),
            _ => Value::Text(row.try_get(column)?),
        })
    };
    (0..row.len()).map(value).collect::<Result<_, _>>().map(Row)
}

/// What went wrong, so that each kind has its cure.
fn trouble(place: &Place, error: &postgres::Error) -> StoreError {
    let place = place.clone();
    let server = |trouble, reason| StoreError::Server { place: place.clone(), trouble, reason };
    let Some(told) = error.as_db_error() else {
        let reason = causes(error);
        let kind = match reason.as_str() {
            text if text.contains("password missing") => ServerTrouble::Password,
            text if text.contains("TLS") || text.contains("certificate") => ServerTrouble::Tls,
            text if text.contains("connecting to server") => ServerTrouble::Unreachable,
            text if text.contains("timed out") => ServerTrouble::Unreachable,
            text if text.contains("config") => ServerTrouble::Settings,
            _ => ServerTrouble::Lost,
        };
        return server(kind, reason);
    };
    let code = told.code();
    let kind = if *code == SqlState::INVALID_PASSWORD
        || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    {
        ServerTrouble::Password
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        ServerTrouble::NoDatabase
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        ServerTrouble::Denied
    } else if code.code().starts_with("57P") {
        ServerTrouble::Lost
    } else if code.code().starts_with("53") {
        ServerTrouble::Full
    } else {
        ServerTrouble::Other
    };
    server(kind, told.message().to_owned())
}

/// An error with what caused it, each once.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text += &format!(": {said}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_are_counted() {
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(numbered("a = ? AND b = ?"), "a = $1 AND b = $2");
        assert_eq!(numbered("?"), "$1");
    }
}
