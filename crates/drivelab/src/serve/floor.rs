//! What the way to a client adds to a request: the round trip of one whose drive takes a known time,
//! over a socket of the same kind.

use anyhow::{Context, Result, ensure};
use block::{Drive, Engine};
use engine::Clock;
use lab::statistics::Histogram;
use nbd::{Address, Listener, Options, Server, protocol::Export};
use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use target::serve::floor::{BLOCK_BYTES, always_after};

/// After so long the drive behind it answers, as a flash drive does: it has been slept meanwhile, on
/// either side.
const ANSWER_NS: u64 = 100_000;
/// Requests that are timed, and those before that are not.
const REQUESTS: u32 = 1000;
const UNTIMED: u32 = 100;
/// A host that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Half of the requests took no longer than this and the drive, beside a server at `address`, ns.
///
/// # Errors
/// Those of sockets.
pub fn measure(address: &Address, clock: Clock) -> Result<u64> {
    let beside = match address {
        Address::Unix(path) => {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(".floor");
            Address::Unix(path.with_file_name(name))
        }
        Address::Tcp(socket) => Address::Tcp(std::net::SocketAddr::new(socket.ip(), 0)),
    };
    let listener = Listener::bind(&beside)?;
    let address = listener.address().clone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let engine = always_after(ANSWER_NS, clock);
            let export = Export::of(&engine.geometry(Drive(0)));
            Server::new(engine, export, listener, Options::default()).run(&stop, |_, _| {})
        });
        let floor = connect(&address).and_then(|mut client| round_trip_ns(&mut *client));
        stop.store(true, Ordering::Relaxed);
        server.join().expect("a server does not panic")?;
        floor
    })
}

/// A socket, of either kind.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

fn connect(address: &Address) -> Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        Address::Tcp(socket) => {
            let stream = TcpStream::connect(socket)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
    })
}

/// The handshake without options, then one read after the other (NetworkBlockDevice/nbd,
/// doc/proto.md).
fn round_trip_ns(client: &mut dyn Stream) -> Result<u64> {
    const NO_ZEROES: u32 = 2;
    const FIXED_NEWSTYLE: u32 = 1;
    const OPTION_MAGIC: &[u8] = b"IHAVEOPT";
    const EXPORT_NAME: u32 = 1;
    const REQUEST_MAGIC: u32 = 0x2560_9513;
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting)?;
    ensure!(&greeting[8..16] == OPTION_MAGIC, "the server greets in another way");
    let mut hello = (NO_ZEROES | FIXED_NEWSTYLE).to_be_bytes().to_vec();
    hello.extend(OPTION_MAGIC);
    hello.extend(EXPORT_NAME.to_be_bytes());
    hello.extend(0u32.to_be_bytes());
    client.write_all(&hello)?;
    // Size and transmission flags.
    client.read_exact(&mut [0; 10])?;
    let (mut times, began) = (Histogram::new(), Instant::now());
    let mut reply = vec![0; 16 + BLOCK_BYTES as usize];
    let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
    // Flags, type 0 (a read), cookie, offset, length.
    request.extend([0; 2 + 2 + 8 + 8]);
    request.extend(BLOCK_BYTES.to_be_bytes());
    for number in 0..UNTIMED + REQUESTS {
        let sent = Instant::now();
        client.write_all(&request)?;
        client.read_exact(&mut reply)?;
        if number >= UNTIMED {
            times.record(sent.elapsed().as_nanos() as u64);
        }
        if began.elapsed() > PATIENCE {
            break;
        }
    }
    let half = times.percentile(0.5).context("too few requests were answered")?;
    Ok(half.saturating_sub(ANSWER_NS).max(1))
}

/// What is said of it: of the model's own latencies, which are the client's as well.
pub fn words(floor_ns: u64) -> String {
    let floor = report::number::duration_ns(floor_ns as f64);
    let near = report::number::duration_ns(floor_ns as f64 / CLOSE);
    let most = report::number::iops(1e9 / floor_ns as f64);
    format!(
        "the way to a client adds {floor} to a request, and more in the client:\n\
         {most} IOPS at most one by one; what the model answers in {near} or more is\n\
         served within 10 %\n"
    )
}

/// A served latency is the model's when the way adds no more than this share of it.
const CLOSE: f64 = 0.10;

#[cfg(test)]
mod tests {
    use super::*;

    /// A served model of a drive that reads in 40 us was measured at 172 us, and nobody had said
    /// that the way there takes longer than the drive.
    #[test]
    fn the_way_is_measured_over_either_kind_of_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let tcp: Address = "tcp:127.0.0.1:0".parse().expect("an address");
        for address in [Address::Unix(folder.path().join("model.sock")), tcp] {
            let floor_ns = measure(&address, Clock::start()).expect("a round trip");
            assert!(floor_ns > 0, "{address}: {floor_ns}");
        }
        let left = std::fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, 0, "the socket is gone");
    }

    #[test]
    fn a_floor_says_from_which_latency_on_a_model_is_the_model() {
        let text = words(38_000);
        assert!(text.contains("adds 38.0 us") && text.contains("26.3k IOPS"), "{text}");
        assert!(text.contains("answers in 380 us or more"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
