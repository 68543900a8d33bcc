//! Images that earlier code made: whatever reads version 1 of the format reads these. They are
//! run-length encoded words of eight bytes: how often (u32), and which (u64), little endian.
//!
//! `cargo test -p drivelab-crash -- --ignored images_are_written` makes them anew, in
//! `crates/crash/tests/images`. Only for a new version of the format, and then beside the old
//! ones.

use super::{
    bench::{Bench, ask, create, cut, flush, media, open, read_all, write},
    scenario::{cramped, ringed},
};
use block::{Buf, Durability, Extent, Payload};
use flash::{Checksums, Settings, Shape};
use model::{Contents, Media};

/// Name, contents, and whether it was stopped cleanly.
const IMAGES: [(&str, &[u8], bool); 3] = [
    ("v1-unclean", include_bytes!("../tests/images/v1-unclean"), false),
    ("v1-clean", include_bytes!("../tests/images/v1-clean"), true),
    ("v1-ring", include_bytes!("../tests/images/v1-ring"), false),
];

fn settings() -> Settings {
    Settings { queue_depth: 8, answer_ns: 500, chunks: 4, ..Settings::default() }
}

/// What is written: the last of these on each of eleven blocks is what is there.
const VALUES: std::ops::Range<u64> = 1..30;

fn expected(sectors: u64) -> Vec<u64> {
    let last = |block: u64| VALUES.rev().find(|value| value % 11 == block).unwrap_or(0);
    (0..sectors).map(|sector| last(sector / 8)).collect()
}

fn written(shape: Shape) -> Bench {
    let mut bench = create(media(&shape), shape, settings(), 1);
    for value in VALUES {
        let block = value % 11;
        let command = write(block * 8..block * 8 + 8, value, Durability::Fua);
        ask(&mut bench, command).result.expect("healthy");
    }
    bench
}

fn encode(medium: &Media) -> Vec<u8> {
    let sectors = 0..medium.capacity_bytes() / 4096;
    let words = sectors.flat_map(|sector| {
        let bytes = medium.sector(sector).expect("healthy");
        bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
    });
    let mut runs: Vec<(u32, u64)> = Vec::new();
    for word in words {
        match runs.last_mut() {
            Some((count, last)) if *last == word => *count += 1,
            _ => runs.push((1, word)),
        }
    }
    runs.iter()
        .flat_map(|(count, word)| [&count.to_le_bytes()[..], &word.to_le_bytes()].concat())
        .collect()
}

fn decode(image: &[u8]) -> Media {
    let (runs, _) = image.as_chunks::<12>();
    let words = runs.iter().flat_map(|run| {
        let count = u32::from_le_bytes(run[..4].try_into().expect("four bytes"));
        let word: [u8; 8] = run[4..].try_into().expect("eight bytes");
        (0..count).map(move |_| word)
    });
    let bytes: Vec<u8> = words.flatten().collect();
    let mut medium = Media::new(bytes.len() as u64, 4096, Contents::Bytes);
    for (block, offset) in bytes.chunks(4096).zip((0..).step_by(4096)) {
        let mut buffer = Buf::zeroed(4096);
        buffer.bytes_mut().copy_from_slice(block);
        let at = Extent { offset, bytes: 4096 };
        let id = medium.begin_write(at, &Payload::Bytes(buffer), Durability::Fua);
        medium.complete_write(id);
    }
    medium
}

#[test]
fn images_of_earlier_versions_are_read() {
    for (name, image, clean) in IMAGES {
        let mut bench = open(decode(image), settings(), 1);
        assert_eq!(flush(&mut bench), Ok(()), "{name}");
        let report = *bench.machine.open_report().expect("it is open");
        assert_eq!((report.clean, report.is_doubtful()), (clean, false), "{name}: {report:?}");
        let sectors = bench.machine.layout().expect("it is open").shape.exported_bytes / 512;
        assert!(read_all(&mut bench, sectors) == Ok(expected(sectors)), "{name}");
        bench.machine.audit();
    }
}

#[test]
#[ignore = "writes the images that others read"]
#[allow(clippy::disallowed_methods)]
fn images_are_written() {
    let plain = Shape { checksums: Checksums::OnCleaning, ..cramped() };
    let mut clean = written(plain);
    clean.machine.shut_down();
    flush(&mut clean).expect("it stops");
    let all = [
        ("v1-unclean", cut(written(cramped()), 1)),
        ("v1-clean", cut(clean, 1)),
        ("v1-ring", cut(written(ringed()), 1)),
    ];
    for (name, medium) in all {
        let path = format!("{}/tests/images/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, encode(&medium)).expect("it can be written");
    }
}
