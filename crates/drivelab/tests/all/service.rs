//! A server as a service: who starts it learns when it serves, a script finds its process, and a
//! monitoring system sees what it does.

use crate::common;

use common::{
    Bench, Living,
    serving::{Serving, good, qemu_io},
};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{FileExt, PermissionsExt},
            net::{SocketAddr, UnixDatagram, UnixStream},
        },
    },
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// For what a server has to say.
const PATIENCE: Duration = Duration::from_secs(60);

fn a_volume(bench: &Bench) {
    bench
        .drivelab_without_store(["flash", "create", "vol.img", "--drive-size", "64M"])
        .done()
        .succeeded();
}

fn heard(manager: &UnixDatagram) -> String {
    manager.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut message = [0; 4096];
    let bytes = manager.recv(&mut message).expect("it is told");
    String::from_utf8(message[..bytes].to_vec()).expect("text")
}

/// Before, whoever started a server had to try its socket until it answered.
#[test]
fn a_service_manager_hears_when_clients_can_connect_and_when_it_ends() {
    let bench = Bench::new();
    a_volume(&bench);
    let name = format!("drivelab-service-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let path = bench.path("notify");
    for (manager, place) in [
        (UnixDatagram::bind(&path).expect("a free path"), path.display().to_string()),
        (UnixDatagram::bind_addr(&address).expect("a free name"), format!("@{name}")),
    ] {
        let socket = bench.path("vol.sock");
        let nbd = format!("unix:{}", socket.display());
        let call = bench.drivelab_without_store(["serve", "flash:vol.img", "--nbd", &nbd]);
        let living = call.variable("NOTIFY_SOCKET", &place).start();
        let told = heard(&manager);
        assert!(UnixStream::connect(&socket).is_ok(), "it listens by then");
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        assert_eq!(told, format!("READY=1\nSTATUS=serving at {uri}"));
        living.signal("TERM");
        assert!(heard(&manager).starts_with("STOPPING=1\n"));
        living.wait().succeeded();
    }
    let call = bench.drivelab_without_store(["serve", "memory:1M", "--nbd", "unix:s"]);
    call.variable("NOTIFY_SOCKET", "no path").done().refused(&["NOTIFY_SOCKET", "unset"]);
}

#[test]
fn a_line_on_a_descriptor_says_that_clients_can_connect() {
    let bench = Bench::new();
    let line = r#"exec "$0" serve memory:16M --nbd unix:mem.sock --ready-fd 9 --quiet 9>&1 >&2"#;
    let mut child = Command::new("sh");
    child.args(["-c", line, common::DRIVELAB]).current_dir(bench.path("."));
    let mut child = child.stdout(std::process::Stdio::piped()).spawn().expect("a shell");
    // To its end: the descriptor is closed while the server goes on.
    let mut told = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut told).expect("text");
    let connects = UnixStream::connect(bench.path("mem.sock")).is_ok();
    let id = child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().is_ok_and(|status| status.success()));
    assert!(child.wait().is_ok_and(|status| status.success()));
    assert!(told.starts_with("ready nbd+unix:///?socket=/") && told.ends_with("\n"), "{told}");
    assert!(connects);
    for number in ["1", "77"] {
        let words = ["serve", "memory:1M", "--nbd", "unix:s", "--ready-fd", number];
        bench.drivelab_without_store(words).done().refused(&["--ready-fd", number, "not open"]);
    }
}

#[test]
fn a_pid_file_is_of_one_living_server() {
    let bench = Bench::new();
    let file = bench.path("pid");
    let start = |socket: &str| {
        let nbd = format!("unix:{socket}");
        let words = ["serve", "memory:1M", "--nbd", &nbd, "--pid-file", "pid"];
        bench.drivelab_without_store(words)
    };
    let serves = |living: &mut Living, socket: &str| {
        let socket = bench.path(socket);
        living.wait_until("it listens", || UnixStream::connect(&socket).is_ok());
    };
    let mut first = start("a").start();
    serves(&mut first, "a");
    assert_eq!(fs::read_to_string(&file).expect("a number"), format!("{}\n", first.id()));
    let number = first.id().to_string();
    start("b").done().refused(&["--pid-file", &number, "alive", "another path"]);
    first.signal("KILL");
    assert_eq!(first.wait().code, None);
    assert!(file.exists(), "a killed one leaves it");
    let mut second = start("b").start();
    serves(&mut second, "b");
    assert_eq!(fs::read_to_string(&file).expect("a number"), format!("{}\n", second.id()));
    second.signal("TERM");
    second.wait().succeeded();
    assert!(!file.exists(), "it goes with its server");
    fs::write(&file, "notes\n").expect("written");
    start("c").done().refused(&["--pid-file", "no process's number"]);
}

/// The answer to a request at a Unix socket.
fn asked(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

fn metrics(socket: &Path) -> String {
    let answer = asked(socket, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    body.to_owned()
}

/// Samples by name and labels, from a page that must be what the specification of OpenMetrics 1.0
/// wants: one block a family, in which TYPE, UNIT and HELP stand once and before samples, names
/// that fit the type, histograms that add up, and EOF.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let page = page.strip_suffix("# EOF\n").expect("an end");
    assert!(!page.contains("# EOF") && !page.contains("\n\n") && page.ends_with('\n'));
    let mut families: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut family, mut kind, mut said) = ("", "", Vec::new());
    let mut samples = BTreeMap::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let [word, name, rest] = [(); 3].map(|()| words.next().expect("three words"));
            if word == "TYPE" {
                assert!(families.insert(name, rest).is_none(), "{name} is told twice");
                (family, kind, said) = (name, rest, Vec::new());
            }
            assert_eq!(name, family, "{line}");
            assert!(!said.contains(&word), "{line}");
            said.push(word);
            match word {
                "TYPE" => assert!(["counter", "gauge", "histogram", "info"].contains(&rest)),
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                "HELP" => assert!(!rest.is_empty()),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let value: f64 = value.parse().expect("a number");
        let (metric, labels) = name.split_once('{').unwrap_or((name, "}"));
        let labels = labels.strip_suffix('}').expect("an end of labels");
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, quoted) = label.split_once('=').expect("a label");
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            assert!(quoted.len() >= 2 && quoted.starts_with('"') && quoted.ends_with('"'));
        }
        let suffix = metric.strip_prefix(family).expect("a sample of its family");
        let suffixes: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            "info" => &["_info"],
            _ => &[""],
        };
        assert!(suffixes.contains(&suffix), "{line} is no {kind}");
        assert!(kind == "gauge" || value >= 0.0, "{line}");
        assert!(samples.insert(name.to_owned(), value).is_none(), "{name} is there twice");
    }
    for name in families.iter().filter(|family| *family.1 == "histogram").map(|family| family.0) {
        histogram_adds_up(name, &samples);
    }
    samples
}

fn histogram_adds_up(name: &str, samples: &BTreeMap<String, f64>) {
    let mut last: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let of = |sample: &str| sample.starts_with(&format!("{name}_bucket{{"));
    let mut buckets: Vec<(&str, f64, f64)> = samples
        .iter()
        .filter(|(sample, _)| of(sample))
        .map(|(sample, &count)| {
            let (labels, bound) = sample.split_once(",le=\"").expect("a bound, last");
            let bound = bound.trim_end_matches("\"}").replace("+Inf", "inf");
            (labels, bound.parse().expect("a number"), count)
        })
        .collect();
    buckets.sort_by(|one, other| one.1.total_cmp(&other.1));
    for (labels, bound, count) in buckets {
        let before = last.insert(labels, (bound, count));
        assert!(before.is_none_or(|before| before.1 <= count), "{labels} falls at {bound}");
    }
    assert!(!last.is_empty());
    for (labels, (bound, count)) in last {
        assert!(bound.is_infinite(), "{labels} has no +Inf");
        let all = labels.replace("_bucket{", "_count{") + "}";
        assert_eq!(samples[&all], count, "{all}");
    }
}

#[test]
fn metrics_count_what_clients_did_and_how_the_volume_stands() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    a_volume(&bench);
    let place = bench.path("metrics.sock");
    let metrics_at = format!("unix:{}", place.display());
    let server = Serving::start(&bench, &["flash:vol.img", "--metrics", &metrics_at]);
    assert_eq!(fs::metadata(&place).expect("a socket").permissions().mode() & 0o777, 0o600);
    let before = samples(&metrics(&place));
    assert_eq!(before["drivelab_nbd_requests_total{command=\"write\"}"], 0.0);
    assert_eq!(before["drivelab_volume_mapped_bytes"], 0.0);
    qemu_io(
        &server.uri,
        &["write -P 7 0 8M", "write -P 9 1M 64k", "read -P 7 0 1M", "discard 4M 1M", "flush"],
    );
    let after = samples(&metrics(&place));
    let of = |name: &str, command: &str| after[&format!("{name}{{command=\"{command}\"}}")];
    assert!(of("drivelab_nbd_requests_total", "write") >= 2.0);
    assert_eq!(
        of("drivelab_nbd_request_size_bytes_total", "write"),
        ((8 << 20) + (64 << 10)) as f64
    );
    assert_eq!(of("drivelab_nbd_request_size_bytes_total", "read"), (1 << 20) as f64);
    assert!(of("drivelab_nbd_requests_total", "flush") >= 1.0);
    assert!(of("drivelab_nbd_request_duration_seconds_sum", "write") > 0.0);
    assert_eq!(of("drivelab_nbd_errors_total", "write"), 0.0);
    assert_eq!(after["drivelab_volume_mapped_bytes"], (7 << 20) as f64);
    let fill = after["drivelab_volume_fill_ratio"] * after["drivelab_volume_size_bytes"];
    assert!((fill - (7 << 20) as f64).abs() < 1.0, "{fill}");
    assert!(after["drivelab_volume_write_amplification_ratio"] > 1.0);
    assert!(after["drivelab_volume_clean_pool_bytes"] > 0.0);
    assert_eq!(after["drivelab_volume_checksum_errors_total"], 0.0);
    assert!(after["drivelab_snapshot_age_seconds"] < 1.0, "a new one is taken for each");
    qemu_io(&server.uri, &["read -P 7 0 1M"]);
    let later = samples(&metrics(&place));
    let more = |name: &str| later[name] - after[name];
    assert_eq!(more("drivelab_volume_drive_read_bytes_total"), (1 << 20) as f64);
    assert!(more("drivelab_volume_drive_reads_total") >= 1.0);
    let refused = asked(&place, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 404 "), "{refused}");
    let refused = asked(&place, "DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
    server.stop();
    assert!(!place.exists(), "its socket goes with it");
}

/// An independent reader: the parser of the Prometheus client for Python, which is strict about
/// OpenMetrics.
#[test]
fn prometheus_reads_the_metrics() {
    const READ: &str = "import sys; from prometheus_client.openmetrics.parser import \
                        text_string_to_metric_families as parse; \
                        print(len(list(parse(sys.stdin.read()))))";
    // The user's own Python, or the system's, for which the package is made. An empty page is
    // refused with an exception of its own; without the package it cannot be imported.
    let has_parser = |python: &&str| {
        let mut parser = Command::new(python);
        let output = parser.args(["-c", READ]).stdin(std::process::Stdio::null()).output();
        output.is_ok_and(|output| {
            !String::from_utf8_lossy(&output.stderr).contains("ModuleNotFoundError")
        })
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has_parser);
    let python = need!(python, "python3-prometheus-client");
    let bench = Bench::new();
    a_volume(&bench);
    let place = bench.path("metrics.sock");
    let metrics_at = format!("unix:{}", place.display());
    let server = Serving::start(&bench, &["flash:vol.img", "--metrics", &metrics_at]);
    bench.file("page", metrics(&place));
    let line = format!("{python} -c '{READ}' < '{}'", bench.path("page").display());
    let families = good("sh", &["-c", &line]);
    assert!(families.trim().parse::<u32>().is_ok_and(|count| count > 20), "{families}");
    server.stop();
}

/// Who does not read, says nothing, or asks all the time costs the clients nothing.
#[test]
fn metrics_hold_up_nobody() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    let place = bench.path("metrics.sock");
    let metrics_at = format!("unix:{}", place.display());
    let server = Serving::start(&bench, &["memory:16M", "--metrics", &metrics_at]);
    let mute: Vec<UnixStream> =
        (0..40).map(|_| UnixStream::connect(&place).expect("room at the door")).collect();
    let start = Instant::now();
    qemu_io(&server.uri, &["write -P 7 0 8M", "read -P 7 0 8M", "flush"]);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    drop(mute);
    samples(&metrics(&place));
    server.stop();
}

#[test]
fn metrics_are_for_this_machine_unless_said() {
    let bench = Bench::new();
    let refused = |metrics: &[&str], words: &[&str]| {
        let call = bench.drivelab_without_store(["serve", "memory:1M", "--nbd", "unix:s"]);
        call.and(metrics).done().refused(words);
    };
    refused(
        &["--metrics", "tcp:0.0.0.0:9187"],
        &["--metrics", "tcp:127.0.0.1:9187", "--metrics-remote"],
    );
    refused(&["--metrics", "9187"], &["--metrics", "unix:PATH"]);
    refused(&["--metrics-remote"], &["--metrics"]);
    fs::write(bench.path("file"), "precious").expect("written");
    refused(&["--metrics", "unix:file"], &["--metrics", "no socket"]);
    let mut server = bench
        .drivelab_without_store(["serve", "memory:1M", "--nbd", "unix:s"])
        .and(["--metrics", "tcp:0.0.0.0:0", "--metrics-remote"])
        .start();
    let line = server.line();
    assert!(line.starts_with("metrics at http://0.0.0.0:") && line.ends_with("/metrics"), "{line}");
    server.signal("TERM");
    server.wait().succeeded();
}

/// Where each block of a volume lies on its drive is its own affair: what is damaged here is every
/// twentieth block that is not empty, away from superblocks and roots.
fn damage(image: &Path) -> usize {
    let file = fs::OpenOptions::new().read(true).write(true).open(image).expect("an image");
    let whole = fs::read(image).expect("an image");
    let blocks = (1024..4096)
        .step_by(20)
        .filter(|block| whole[block * 4096..(block + 1) * 4096].iter().any(|&byte| byte != 0));
    blocks
        .map(|block| file.write_all_at(&[0x5a; 4096], block as u64 * 4096).expect("written"))
        .count()
}

/// Damage was found when a client happened to read it, or by `check`, for which the server had to
/// be stopped.
#[test]
fn a_scrub_finds_damage_while_the_volume_is_served() {
    need_programs!("qemu-io");
    let bench = Bench::new();
    a_volume(&bench);
    let server = Serving::start(&bench, &["flash:vol.img"]);
    qemu_io(&server.uri, &["write -P 7 0 20M", "flush"]);
    server.stop();
    let damaged = damage(&bench.path("vol.img"));
    assert!(damaged > 100, "{damaged} blocks hold something");
    let place = bench.path("metrics.sock");
    let metrics_at = format!("unix:{}", place.display());
    let words = ["flash:vol.img", "--scrub", "200M/s", "--metrics", &metrics_at];
    let server = Serving::start(&bench, &words);
    let start = Instant::now();
    let seen = loop {
        let seen = samples(&metrics(&place));
        if seen["drivelab_scrub_passes_total"] >= 1.0 {
            break seen;
        }
        // Clients are served meanwhile.
        qemu_io(&server.uri, &["write -P 9 30M 64k", "read -P 9 30M 64k"]);
        assert!(start.elapsed() < PATIENCE, "{seen:?}");
    };
    let errors = seen["drivelab_scrub_errors_total"];
    let headers = seen["drivelab_scrub_headers_damaged_total"];
    assert!(errors > 50.0 && errors + headers <= damaged as f64, "{errors} of {damaged}");
    assert!(seen["drivelab_scrub_damaged_bytes"] > 50.0 * 4096.0);
    assert!(seen["drivelab_scrub_verified_bytes_total"] > 10.0 * 1048576.0);
    let said = server.stop().stdout;
    assert!(said.contains("scrubbed: 1 pass, ") && said.contains(" errors: "), "{said}");
    assert!(said.contains("\ndamaged: bytes "), "{said}");
    let refused = |words: &[&str], said: &[&str]| {
        let call = bench.drivelab_without_store(["serve", "--nbd", "unix:s"]);
        call.and(words).done().refused(said);
    };
    refused(&["memory:1M", "--scrub", "1M"], &["--scrub", "managed volume"]);
    refused(&["flash:vol.img", "--scrub", "0"], &["--scrub", "20M"]);
}

/// The unit's own command line, with this test's places: it becomes ready, and stops as the unit
/// says.
#[test]
fn the_unit_in_examples_starts_and_becomes_ready() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/drivelab-serve@.service");
    let unit = fs::read_to_string(unit).expect("the example").replace("\\\n", " ");
    assert!(unit.contains("\nType=notify\n") && unit.contains("\nKillSignal=SIGTERM\n"));
    let bench = Bench::new();
    a_volume(&bench);
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let place = |word: &str| {
        let here = format!("{}/", bench.path("").display());
        let word = word.replace("/run/drivelab/", &here).replace("/var/lib/drivelab/", &here);
        word.replace("//", "/").replace("%i", "vol")
    };
    let words: Vec<String> = line.split_whitespace().skip(1).map(place).collect();
    let notify = bench.path("notify");
    let manager = UnixDatagram::bind(&notify).expect("a free path");
    let call = bench.drivelab_without_store(&words);
    let living = call.variable("NOTIFY_SOCKET", &notify.display().to_string()).start();
    assert!(heard(&manager).starts_with("READY=1\n"));
    assert!(UnixStream::connect(bench.path("vol.sock")).is_ok(), "where the unit says");
    samples(&metrics(&bench.path("vol.metrics")));
    living.signal("TERM");
    living.wait().succeeded();
}

/// The command line of the other unit is one that the binary understands: what it refuses is that
/// there is no driver here, or no such volume.
#[test]
fn the_unit_of_a_disk_says_what_the_binary_understands() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/drivelab-ublk@.service");
    let unit = fs::read_to_string(unit).expect("the example").replace("\\\n", " ");
    assert!(unit.contains("\nType=notify\n") && unit.contains("\nKillSignal=SIGTERM\n"));
    assert!(unit.contains("\nAfter=modprobe@ublk_drv.service\n"));
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    assert!(line.contains(" --ublk ") && line.contains(" --restartable "), "{line}");
    let words = line.split_whitespace().skip(1).map(|word| word.replace("%i", "no-such"));
    let bench = Bench::new();
    let outcome = bench.drivelab_without_store(words.collect::<Vec<_>>()).done().refused(&[]);
    assert!(!outcome.stderr.contains("--help"), "{outcome:?}");
}
