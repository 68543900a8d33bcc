//! The file of passwords, as section "The Password File" of libpq's manual has it.
//!
//! ```text
//!   hostname:port:database:username:password     `*` is anything; `\:` and `\\` are letters
//! ```

/// Whom a password is for.
pub struct Whom<'a> {
    /// Host name, or the directory of a socket.
    pub host: &'a str,
    /// Port.
    pub port: u16,
    /// Database.
    pub database: &'a str,
    /// User.
    pub user: &'a str,
}

/// The password of the first line that fits.
pub fn find(file: &str, whom: &Whom<'_>) -> Option<String> {
    // A socket in the file system is the machine itself.
    let host = if whom.host.starts_with('/') { "localhost" } else { whom.host };
    let port = whom.port.to_string();
    let wanted = [host, &port, whom.database, whom.user];
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [hosts @ .., password] = fields.get(..5)? else { return None };
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        let is_directory = hosts[0] == whom.host;
        let rest = hosts.iter().zip(&wanted).skip(usize::from(is_directory));
        rest.clone().all(fits).then(|| password.clone())
    })
}

/// The fields of a line; the fifth takes all that follows, colons and all.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => fields.last_mut().expect("one at least").extend(letters.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            other => fields.last_mut().expect("one at least").push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANN: Whom<'_> = Whom { host: "db", port: 5432, database: "lab", user: "ann" };

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# comment\nother:5432:lab:ann:no\ndb:*:lab:ann:yes\n*:*:*:*:later\n";
        assert_eq!(find(file, &ANN).as_deref(), Some("yes"));
        assert_eq!(find("db:5433:lab:ann:no\n", &ANN), None);
        assert_eq!(find("db:5432:lab:bob:no\nhalf:a:line\n\n", &ANN), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(find(r"db:5432:lab:ann:a\:b\\c", &ANN).as_deref(), Some(r"a:b\c"));
        assert_eq!(find("db:5432:lab:ann:a:b", &ANN).as_deref(), Some("a:b"));
    }

    #[test]
    fn a_socket_is_localhost_or_its_directory() {
        let socket = Whom { host: "/run/postgresql", ..ANN };
        assert_eq!(find("localhost:5432:lab:ann:a", &socket).as_deref(), Some("a"));
        assert_eq!(find("/run/postgresql:5432:lab:ann:b", &socket).as_deref(), Some("b"));
        assert_eq!(find("db:5432:lab:ann:c", &socket), None);
    }

    proptest! {
        #[test]
        fn any_password_is_found_as_it_was_written(password in "[^\n\r\0]{0,20}") {
            let escaped = password.replace('\\', r"\\").replace(':', r"\:");
            let file = format!("*:*:*:*:{escaped}");
            prop_assert_eq!(find(&file, &ANN), Some(password));
        }

        #[test]
        fn no_file_makes_it_fail(file in "\\PC{0,200}") {
            let _ = find(&file, &ANN);
        }
    }
}
