//! What a server says: where it is and how to connect, and what it did.

use block::display_bytes;
use nbd::{
    Address, Traffic,
    protocol::{Access, Export},
};
use record::ManagedFlash;
use target::serve::Loss;

/// How the line begins that a server prints after a power cut.
const POWER_CUT: &str = "the power was cut";

/// Where it is, and a command line for each common client.
pub fn ready(target: &str, address: &Address, export: &Export) -> String {
    let access = match export.access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    };
    let uri = uri(address, &export.name);
    format!(
        "serving {target} at {address}: {}, {access}\n  \
         nbdinfo '{uri}'\n  \
         qemu-system-x86_64 -drive 'file={uri},format=raw'\n  \
         mkdir mnt; nbdfuse mnt '{uri}' & losetup --find --show mnt/nbd\n",
        display_bytes(export.size_bytes)
    )
}

/// What a power cut did. Whoever cut it waits for this line.
pub fn cut(loss: &Loss) -> String {
    format!(
        "{POWER_CUT}: {} sectors were in the write caches, {} of them are not what they were; whoever connects now finds what is left\n",
        loss.sectors_at_risk, loss.sectors_changed
    )
}

/// How many sectors a power cut changed, from the line that [`cut`] makes.
pub fn lost_sectors(line: &str) -> Option<u64> {
    let rest = line.strip_prefix(POWER_CUT)?;
    let numbers = rest.split(|letter: char| !letter.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).nth(1)
}

/// The address as clients take it (NetworkBlockDevice/nbd, doc/uri.md).
pub fn uri(address: &Address, name: &str) -> String {
    let name = escaped(name.as_bytes());
    match address {
        Address::Unix(path) => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let path = escaped(path.as_os_str().as_encoded_bytes());
            format!("nbd+unix:///{name}?socket={path}")
        }
        Address::Tcp(socket) => format!("nbd://{socket}/{name}"),
    }
}

/// Bytes that mean something in a URI, as `%` and two digits (RFC 3986, section 2).
fn escaped(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    bytes
        .iter()
        .map(
            |&byte| {
                if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// What was asked for in all, on one line.
pub fn summary(traffic: &Traffic, volume: Option<&ManagedFlash>, seconds: f64) -> String {
    let Traffic { clients, reads, read_bytes, writes, written_bytes, .. } = *traffic;
    let plural = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let mut text = format!(
        "stopped after {seconds:.0} s, everything flushed: {}, {} ({}), {} ({}), {}, {}",
        plural(clients, "client"),
        plural(reads, "read"),
        display_bytes(read_bytes),
        plural(writes, "write"),
        display_bytes(written_bytes),
        match traffic.flushes {
            1 => "1 flush".to_owned(),
            count => format!("{count} flushes"),
        },
        plural(traffic.trims, "trim"),
    );
    if traffic.failures > 0 {
        text += &format!("; {} failed", plural(traffic.failures, "request"));
    }
    text.push('\n');
    if let Some(volume) = volume {
        let factor = volume
            .write_amplification
            .map_or_else(String::new, |factor| format!(", write amplification {factor:.2}"));
        text += &format!(
            "the volume is stopped cleanly: {} of {} mapped, {} of {} segments clean{factor}\n",
            display_bytes(volume.mapped_bytes),
            display_bytes(volume.exported_bytes),
            volume.free_segments,
            volume.segments,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_says_what_a_shell_and_a_client_would_take_apart() {
        let unix = Address::Unix("/no such/a&b.sock".into());
        assert_eq!(uri(&unix, "a b"), "nbd+unix:///a%20b?socket=/no%20such/a%26b.sock");
        let tcp: Address = "tcp:[::1]:10809".parse().expect("an address");
        assert_eq!(uri(&tcp, ""), "nbd://[::1]:10809/");
    }

    #[test]
    fn what_is_said_of_a_power_cut_can_be_read() {
        let loss = Loss { sectors_at_risk: 812, sectors_changed: 77, survivors: 5 };
        assert_eq!(lost_sectors(cut(&loss).trim_end()), Some(77));
        assert_eq!(lost_sectors("serving model:x at unix:s: 4 GiB"), None);
    }

    #[test]
    fn one_is_no_plural() {
        let traffic =
            Traffic { clients: 1, reads: 2, flushes: 1, failures: 1, ..Traffic::default() };
        let text = summary(&traffic, None, 1.4);
        assert!(text.contains("after 1 s, everything flushed: 1 client, 2 reads (0 B), 0 writes"));
        assert!(text.ends_with("1 flush, 0 trims; 1 request failed\n"), "{text}");
    }
}
