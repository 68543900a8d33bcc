//! What the way to a client adds to a request: the round trip of one whose drive takes a known
//! time, over a socket of the same kind.

use crate::{ServingError, StartError};
use block::{Drive, Engine};
use engine::Clock;
use nbd::{Address, Listener, Options, Server, protocol::Export, time_reads};
use std::{
    net::SocketAddr,
    num::NonZeroU32,
    process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use target::{
    Pace,
    serve::{
        floor::{BLOCK_BYTES, always_after},
        lone,
    },
    stack::Stack,
};

/// After so long the drive behind it answers, as a flash drive does: it has been slept meanwhile,
/// on either side.
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
pub fn measure(address: &Address, clock: Clock) -> Result<u64, StartError> {
    let beside = match address {
        // Nothing is made where the user keeps things.
        Address::Unix(_) => Address::Unix(
            std::env::temp_dir().join(format!("drivelab-floor-{}.sock", process::id())),
        ),
        Address::Tcp(socket) => Address::Tcp(SocketAddr::new(socket.ip(), 0)),
    };
    let listener = Listener::bind(&beside)?;
    let address = listener.address().clone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let engine = always_after(ANSWER_NS, Pace::real(clock));
            let export = Export::of(&engine.geometry(Drive(0)));
            Server::new(engine, export, listener, Options::default()).run(&stop, |_, _| {})
        });
        let times = time_reads(&address, BLOCK_BYTES, UNTIMED + REQUESTS, PATIENCE);
        stop.store(true, Ordering::Relaxed);
        server.join().expect("a server does not panic")?;
        let mut times: Vec<u64> = times?.into_iter().skip(UNTIMED as usize).collect();
        times.sort_unstable();
        let half = times.get(times.len() / 2).ok_or(StartError::TooFewAnswers)?;
        Ok(half.saturating_sub(ANSWER_NS).max(1))
    })
}

/// How many times slower the drives' time has to pass for the way at `address` to be at most a
/// hundredth of a lone read of a block anywhere on `stack`.
///
/// # Errors
/// Those of sockets, and a stack that is none.
pub fn slower(stack: &Stack, address: &Address, clock: Clock) -> Result<NonZeroU32, ServingError> {
    let floor_ns = measure(address, clock)? as f64;
    let read_ns = lone::read_ns(stack)? as f64;
    let times = (floor_ns / (SHARE * read_ns)).ceil().clamp(1.0, f64::from(SLOWER_MAX));
    Ok(NonZeroU32::new(times as u32).expect("1 or more"))
}

/// What is said of it: of the model's own latencies. Where time is slowed, the way is shorter in
/// the model's time by as many times.
pub fn words(floor_ns: u64, slower: NonZeroU32) -> String {
    let floor_ns = floor_ns as f64 / f64::from(slower.get());
    let floor = report::number::duration_ns(floor_ns);
    let near = report::number::duration_ns(floor_ns / CLOSE);
    let most = report::number::iops(1e9 / floor_ns);
    let way = match slower.get() {
        1 => "the way to a client",
        _ => "of the drives' time the way",
    };
    format!(
        "{way} adds {floor} to a request, and more in the client:\n\
         {most} IOPS at most one by one; what the model answers in {near} or more is\n\
         served within 10 %\n"
    )
}

/// The way's share of a lone read that is not noticed.
const SHARE: f64 = 0.01;
/// Slower than this nothing is served.
pub const SLOWER_MAX: u32 = 1000;

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
        let name = format!("drivelab-floor-{}.sock", process::id());
        assert!(!std::env::temp_dir().join(name).exists(), "the socket is gone");
        let made = std::fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(made, 0, "nothing is made beside the server's socket");
    }

    #[test]
    fn a_floor_says_from_which_latency_on_a_model_is_the_model() {
        let text = words(38_000, NonZeroU32::MIN);
        assert!(text.contains("adds 38.0 us") && text.contains("26.3k IOPS"), "{text}");
        assert!(text.contains("answers in 380 us or more"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let slowed = words(380_000, NonZeroU32::new(10).expect("not 0"));
        let text = text.replace("the way to a client", "of the drives' time the way");
        assert_eq!(slowed, text, "ten times slower, ten times the way");
        assert!(slowed.lines().all(|line| line.len() <= 80), "{slowed}");
    }
}
