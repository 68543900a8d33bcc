//! More clients than places: who is let in, who has to go, and who stays.

use crate::common::{
    Running,
    client::{Client, Replies},
    quick,
};
use nbd::{Options, protocol::Export};
use std::{
    collections::VecDeque,
    io::{Read, Write},
    os::unix::net::UnixStream,
    panic::catch_unwind,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use testkit::memory::{FaultyMemory, Pace, geometry};

const MIB: u64 = 1 << 20;

/// The client's flags, and an option that asks for the export.
fn go() -> Vec<u8> {
    let go = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0]];
    go.concat()
}

/// 64 connections that said nothing kept everybody out for the ten seconds of the handshake limit.
/// What is right: who comes takes the place of the one that has been silent longest, and whoever
/// has shaken hands keeps his.
#[test]
fn silent_connections_make_way_for_who_comes_and_guests_stay() {
    let options = Options { connections_max: 4, ..quick() };
    let (engine, _view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let server = Running::start(engine, Export::of(&geometry(MIB)), options);
    let mut guest = Client::connect(&server.path, Replies::Simple);
    let silent: Vec<UnixStream> =
        (0..20).map(|_| UnixStream::connect(&server.path).expect("room in the backlog")).collect();
    // Well within the handshake limit of half a minute.
    let mut guests = [(); 3].map(|()| Client::connect(&server.path, Replies::Simple));
    assert!(guests.iter_mut().all(|guest| guest.read(0, 4096).is_ok()));
    assert!(guest.read(0, 4096).is_ok(), "who has shaken hands is never sent away");
    // All places are taken by guests now: who comes is told so, however many are silent there.
    for _ in 0..3 {
        let mute = UnixStream::connect(&server.path).expect("room in the backlog");
        let mut late = UnixStream::connect(&server.path).expect("room in the backlog");
        late.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        late.write_all(&go()).expect("it is let in to be told");
        let mut told = [0; 18 + 20 + 20];
        late.read_exact(&mut told).expect("an answer");
        assert_eq!(&told[38..], b"all places are taken");
        drop(mute);
    }
    for mut gone in silent {
        gone.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        let mut greeting = Vec::new();
        // The greeting, if it got that far, and the end.
        assert!(gone.read_to_end(&mut greeting).is_ok());
    }
    assert!(guests.iter_mut().all(|guest| guest.read(0, 4096).is_ok()));
}

/// The oldest goes first, so that whoever is quick gets through a flood of connections that say
/// nothing.
#[test]
fn a_client_gets_through_a_flood_of_silent_connections() {
    let options = Options { connections_max: 8, ..quick() };
    let (engine, _view) = FaultyMemory::new(geometry(MIB), Pace::AtOnce);
    let server = Running::start(engine, Export::of(&geometry(MIB)), options);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let mut held = VecDeque::new();
            while !stop.load(Ordering::Relaxed) {
                held.push_back(UnixStream::connect(&server.path));
                if held.len() > 100 {
                    held.pop_front();
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let through = (0..20)
            .filter(|_| {
                let server = &server.path;
                let attempt = catch_unwind(|| Client::connect(server, Replies::Simple));
                attempt.is_ok_and(|mut client| client.read(0, 4096).is_ok())
            })
            .count();
        stop.store(true, Ordering::Relaxed);
        flood.join().expect("it does not panic");
        assert!(through >= 10, "{through} of 20 got through");
    });
}
