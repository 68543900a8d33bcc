//! By which names a browser may call this server.
//!
//! A page of another site can make a browser look up the site's own name as 127.0.0.1 (DNS
//! rebinding), and would then read whatever answers there as if it were its own. The browser says
//! which name it used, so names that are not this server's are refused. A number in place of a name
//! cannot be looked up, and so cannot lie.

use std::net::{IpAddr, SocketAddr};

/// Whether `host`, as in a request's head, means the server at `address`.
pub fn is_ours(host: &str, address: SocketAddr) -> bool {
    let (name, port) = split(host);
    let has_our_port = match port {
        Some(port) => port.parse() == Ok(address.port()),
        None => address.port() == 80,
    };
    has_our_port
        && (name.eq_ignore_ascii_case("localhost") || is_number_of_ours(name, address.ip()))
}

/// On a loopback address only loopback numbers are ours; on others, any: a machine may have many.
fn is_number_of_ours(name: &str, listening: IpAddr) -> bool {
    let plain = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let number: Option<IpAddr> = match plain {
        Some(inner) => inner.parse().ok().filter(IpAddr::is_ipv6),
        None => name.parse().ok().filter(IpAddr::is_ipv4),
    };
    number.is_some_and(|number| is_loopback(number) || !is_loopback(listening))
}

/// Whether only this machine can reach the address.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// `name:port`; the colons of an IPv6 number stand in brackets.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(host: &str, address: &str) -> bool {
        is_ours(host, address.parse().expect("an address"))
    }

    #[test]
    fn only_this_machines_names_with_the_right_port_are_ours() {
        for host in
            ["localhost:3752", "LOCALHOST:3752", "127.0.0.1:3752", "127.8.9.1:3752", "[::1]:3752"]
        {
            assert!(ours(host, "127.0.0.1:3752"), "{host}");
        }
        for host in [
            "",
            ":3752",
            "localhost",
            "localhost:80",
            "localhost:",
            "localhost:03752x",
            "evil.example:3752",
            "localhost.evil.example:3752",
            "127.0.0.1.evil.example:3752",
            "192.168.1.5:3752",
            "0.0.0.0:3752",
            "::1:3752",
            "[127.0.0.1]:3752",
            "[::1",
            "user@localhost:3752",
        ] {
            assert!(!ours(host, "127.0.0.1:3752"), "{host}");
        }
        assert!(ours("localhost", "127.0.0.1:80") && ours("[::1]", "[::1]:80"));
    }

    #[test]
    fn on_the_network_any_number_is_ours_and_no_name() {
        assert!(ours("192.168.1.5:3752", "0.0.0.0:3752") && ours("[fe80::1]:3752", "[::]:3752"));
        assert!(!ours("evil.example:3752", "0.0.0.0:3752"));
    }

    #[test]
    fn loopback_is_what_no_other_machine_reaches() {
        for (address, loopback) in [
            ("127.0.0.1", true),
            ("127.255.0.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("0.0.0.0", false),
            ("::", false),
            ("192.168.1.5", false),
        ] {
            assert_eq!(is_loopback(address.parse().expect("an address")), loopback, "{address}");
        }
    }
}
