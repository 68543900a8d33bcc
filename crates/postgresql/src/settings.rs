//! How to connect: what the address says, and for the rest the variables that users of libpq know.

use super::password::{self, Whom};
use percent_encoding::percent_decode_str;
use postgres::{Config, config::Host};
use std::{fs, os::unix::fs::MetadataExt, path::Path, path::PathBuf, time::Duration};

/// How long to wait for a server that does not answer, unless `connect_timeout` says so, seconds.
const CONNECT_SECONDS: u64 = 10;
/// How long what was sent may stay unanswered before the connection counts as lost, seconds.
const LOST_SECONDS: u64 = 30;

/// `sslmode`, as section "SSL Support" of libpq's manual has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SslMode {
    /// Never TLS.
    Disable,
    /// TLS where the server takes nothing else.
    Allow,
    /// TLS where the server has it; libpq's default.
    Prefer,
    /// TLS; whose is looked at only where there is a file of authorities.
    Require,
    /// TLS, with a certificate of a known authority.
    VerifyCa,
    /// The same, and it bears the host's name.
    VerifyFull,
}

impl SslMode {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(format!(
                    "sslmode is {text}: it may be disable, allow, prefer, require, verify-ca or \
                     verify-full"
                ));
            }
        })
    }
}

/// How to connect.
pub struct Settings {
    /// Where, as whom, to which database.
    pub config: Config,
    /// Whether by TLS.
    pub mode: SslMode,
    /// Authorities: a file, or `system`.
    pub root: Option<PathBuf>,
    /// A certificate of ours, and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Looks up a variable of the environment.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    /// Of an address and an environment.
    ///
    /// # Errors
    /// What cannot be understood, a clause.
    pub fn of(address: &str, variable: Variable<'_>) -> Result<Self, String> {
        let (address, mut taken) = taken_out(address)?;
        let port = variable("PGPORT").unwrap_or_default();
        if port.split(',').any(|port| !port.is_empty() && port.parse::<u16>().is_err()) {
            return Err(format!("PGPORT is {port}: no port"));
        }
        let mut config: Config = with_port(&address, &port)
            .parse()
            .map_err(|error: postgres::Error| super::causes(&error))?;
        let mut option = |name: &str, default: &str| {
            let place = taken.iter().position(|(taken, _)| taken == name);
            place.map(|place| taken.swap_remove(place).1).or_else(|| variable(default))
        };
        let mode = SslMode::parse(&option("sslmode", "PGSSLMODE").unwrap_or("prefer".to_owned()))?;
        let home = variable("HOME").map(PathBuf::from);
        let of_home = |name: &str| {
            let file = home.as_ref()?.join(".postgresql").join(name);
            file.is_file().then_some(file)
        };
        let root = option("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
        let certificate = option("sslcert", "PGSSLCERT").map(PathBuf::from);
        let key = option("sslkey", "PGSSLKEY").map(PathBuf::from);
        let passwords = option("passfile", "PGPASSFILE").map(PathBuf::from);
        complete(&mut config, variable)?;
        let file = passwords.or_else(|| Some(home.as_ref()?.join(".pgpass")));
        if config.get_password().is_none()
            && let Some(password) = file.and_then(|file| kept(&file, &config))
        {
            config.password(password);
        }
        let on_sockets = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        Ok(Self {
            mode: if on_sockets && config.get_hostaddrs().is_empty() {
                SslMode::Disable // As libpq does: what stays within the machine needs none.
            } else {
                mode
            },
            root: root.or_else(|| of_home("root.crt")),
            own: certificate
                .or_else(|| of_home("postgresql.crt"))
                .zip(key.or_else(|| of_home("postgresql.key"))),
            config,
        })
    }
}

/// Options of an address that the crate leaves to its caller, and the address without them.
fn taken_out(address: &str) -> Result<(String, Vec<(String, String)>), String> {
    const OURS: [&str; 5] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "passfile"];
    let Some((head, query)) = address.split_once('?') else {
        return Ok((address.to_owned(), Vec::new()));
    };
    let (mut left, mut taken) = (Vec::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((name, value)) if OURS.contains(&name) => {
                let value = percent_decode_str(value).decode_utf8();
                let value = value.map_err(|_| format!("{name} of the address is no UTF-8"))?;
                taken.push((name.to_owned(), value.into_owned()));
            }
            _ => left.push(pair),
        }
    }
    let query = if left.is_empty() { String::new() } else { format!("?{}", left.join("&")) };
    Ok((format!("{head}{query}"), taken))
}

/// The address with a port for each host that has none: the crate would take 5432, whatever the
/// environment says.
fn with_port(address: &str, port: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://").filter(|_| !port.is_empty()) else {
        return address.to_owned();
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let whole = |host: &str| {
        let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
        match host.is_empty() || behind.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        }
    };
    let hosts: Vec<String> = hosts.split(',').map(whole).collect();
    format!("{scheme}://{user}{}{path}", hosts.join(","))
}

/// What the address leaves open, by the variables of libpq.
fn complete(config: &mut Config, variable: Variable<'_>) -> Result<(), String> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let hosts = variable("PGHOST").unwrap_or_else(|| {
            // Where Debian's and PostgreSQL's own packages put the socket.
            let sockets = ["/var/run/postgresql", "/tmp"];
            let port = variable("PGPORT").unwrap_or("5432".to_owned());
            let has_socket =
                |directory: &&&str| Path::new(directory).join(format!(".s.PGSQL.{port}")).exists();
            sockets.iter().find(has_socket).map_or("localhost", |place| place).to_owned()
        });
        for host in hosts.split(',') {
            config.host(host);
        }
    }
    if config.get_ports().is_empty() {
        // What is no port was refused before.
        for port in variable("PGPORT").unwrap_or_default().split(',').flat_map(str::parse) {
            config.port(port);
        }
    }
    if config.get_user().is_none()
        && let Some(user) = variable("PGUSER").or_else(|| variable("USER"))
    {
        config.user(&user);
    }
    if config.get_dbname().is_none()
        && let Some(name) = variable("PGDATABASE")
    {
        config.dbname(&name);
    }
    if config.get_password().is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_connect_timeout().is_none() {
        let seconds = variable("PGCONNECT_TIMEOUT").and_then(|text| text.parse().ok());
        config.connect_timeout(Duration::from_secs(seconds.unwrap_or(CONNECT_SECONDS)));
    }
    if config.get_application_name().is_none() {
        config.application_name(&variable("PGAPPNAME").unwrap_or("drivelab".to_owned()));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(LOST_SECONDS));
    }
    Ok(())
}

/// The password that the file keeps; none where others may read it, as libpq has it.
fn kept(file: &Path, config: &Config) -> Option<String> {
    let meta = fs::metadata(file).ok()?;
    if !meta.is_file() || meta.mode() & 0o077 != 0 {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(directory) => directory.to_string_lossy().into_owned(),
    };
    let user = config.get_user().unwrap_or_default();
    let whom = Whom {
        host: &host,
        port: config.get_ports().first().copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or(user),
        user,
    };
    password::find(&text, &whom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(address: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::of(address, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_address_goes_before_the_environment() {
        let variables = [
            ("PGHOST", "elsewhere"),
            ("PGPORT", "5"),
            ("PGUSER", "bob"),
            ("PGDATABASE", "other"),
            ("PGPASSWORD", "p"),
            ("PGSSLMODE", "verify-ca"),
        ];
        let all = of("postgresql://ann:s@db:7/lab?sslmode=require", &variables).expect("settings");
        assert_eq!(all.config.get_hosts(), [Host::Tcp("db".to_owned())]);
        assert_eq!((all.config.get_ports(), all.config.get_user()), (&[7][..], Some("ann")));
        assert_eq!(all.config.get_dbname(), Some("lab"));
        assert_eq!(all.config.get_password(), Some(&b"s"[..]));
        assert_eq!(all.mode, SslMode::Require);
        let none = of("postgresql://", &variables).expect("settings");
        assert_eq!(none.config.get_hosts(), [Host::Tcp("elsewhere".to_owned())]);
        assert_eq!((none.config.get_ports(), none.config.get_user()), (&[5][..], Some("bob")));
        assert_eq!(none.config.get_dbname(), Some("other"));
        assert_eq!(none.config.get_password(), Some(&b"p"[..]));
        assert_eq!(none.mode, SslMode::VerifyCa);
    }

    #[test]
    fn a_host_without_a_port_gets_that_of_the_environment() {
        for (address, whole) in [
            ("postgresql://db/lab", "postgresql://db:7/lab"),
            ("postgresql://a:b@db:1,dc/lab?x=1", "postgresql://a:b@db:1,dc:7/lab?x=1"),
            ("postgresql://[::1]/lab", "postgresql://[::1]:7/lab"),
            ("postgresql://[::1]:2", "postgresql://[::1]:2"),
            ("postgresql:///lab?host=/run", "postgresql:///lab?host=/run"),
        ] {
            assert_eq!(with_port(address, "7"), whole);
            assert_eq!(with_port(address, ""), address);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_address_is_understood_or_refused(
            rest in "[a-z0-9@:/?&=%,.\\[\\]]{0,40}|\\PC{0,20}",
            port in "[0-9,]{0,6}",
        ) {
            let _ = of(&format!("postgresql://{rest}"), &[("PGPORT", &port), ("PGHOST", "db")]);
        }
    }

    #[test]
    fn a_socket_needs_no_tls() {
        let socket = of("postgresql:///lab?host=/run/pg&sslmode=require", &[]).expect("settings");
        assert_eq!(socket.mode, SslMode::Disable);
        assert_eq!(of("postgresql://db/lab", &[]).expect("settings").mode, SslMode::Prefer);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let said = |address: &str, variables: &[_]| of(address, variables).err().expect("refused");
        assert!(said("postgresql://db/lab?sslmode=maybe", &[]).contains("verify-full"));
        assert!(said("postgresql://db/lab?colour=red", &[]).contains("colour"));
        assert!(said("postgresql://db:port/lab", &[]).contains("port"));
        assert!(said("postgresql://db/lab", &[("PGPORT", "many")]).contains("PGPORT"));
    }

    #[test]
    fn a_file_of_passwords_that_others_may_read_is_not_used() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("passwords");
        fs::write(&file, "db:5432:lab:ann:secret\n").expect("writes");
        let address = format!("postgresql://ann@db/lab?passfile={}", file.display());
        let password = |mode| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("ours");
            let settings = of(&address, &[]).expect("settings");
            settings.config.get_password().map(<[u8]>::to_vec)
        };
        assert_eq!(password(0o600), Some(b"secret".to_vec()));
        assert_eq!(password(0o644), None);
    }
}
