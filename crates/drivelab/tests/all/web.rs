//! `drivelab web`: its pages, and what it refuses.

use crate::common;

use common::{Bench, Living, many_reads};
use record::{Record, State, Store};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/example-run.json");

/// `drivelab web` on a port of its own; killed when the test is left.
pub(crate) struct Web {
    pub(crate) living: Living,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
}

impl Web {
    pub(crate) fn start(bench: &Bench) -> Self {
        Self::of(bench.drivelab(["web", "--port", "0"]).start())
    }

    fn of(mut living: Living) -> Self {
        let line = living.line();
        let (_, address) = line.split_once(" at http://").expect("it prints its address");
        let address = address.strip_suffix('/').expect("a page").to_owned();
        Self { living, address }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends bytes, and reads what comes back until the server closes.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        // A server that has answered already need not take the rest.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("answers are text")
    }

    /// Asks for a page under the name that it printed.
    fn ask(&self, method: &str, path: &str) -> String {
        self.raw(format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes())
    }

    /// Status code and body of a page.
    fn get(&self, path: &str) -> (u16, String) {
        let answer = self.ask("GET", path);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (status(head), body.to_owned())
    }

    /// A page that is there.
    fn page(&self, path: &str) -> String {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path)).expect("JSON")
    }

    /// Ends it as its user does.
    pub(crate) fn stop(self) {
        self.living.signal("INT");
        self.living.wait().succeeded();
    }
}

fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    code.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

/// Runs of the example's cells, made apart, oldest first.
pub(crate) fn keep(bench: &Bench, count: usize, change: impl Fn(usize, &mut Record)) {
    let example = Record::read(Path::new(EXAMPLE)).expect("the example");
    let mut store = Store::open(&bench.path("store.sqlite")).expect("a store");
    for number in 0..count {
        let mut record = example.clone();
        record.cells.truncate(3);
        record.id = format!("{number:08x}");
        record.labels = BTreeMap::from([("label".to_owned(), format!("run-{number}"))]);
        change(number, &mut record);
        store.save(&record).expect("saves");
    }
}

#[test]
fn every_page_is_there_and_leads_nowhere_else() {
    let bench = Bench::new();
    keep(&bench, 3, |_, _| {});
    let web = Web::start(&bench);
    for path in [
        "/",
        "/?q=run-1&show=200",
        "/?q=fits+nothing",
        "/runs/00000001",
        "/runs/00000001/report",
        "/compare?run=00000002&run=00000000",
        "/compare?run=00000002&run=00000000&baseline=00000002",
        "/style.css",
        "/script.js",
        "/report.js",
        "/runs.json",
        "/runs/00000001/news?seen=0",
    ] {
        let answer = web.ask("GET", path);
        assert_eq!(status(&answer), 200, "{path}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(
            head.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"),
            "{head}"
        );
        assert!(!head.contains("Access-Control"), "no other site may read: {head}");
        let length = format!("Content-Length: {}\r\n", body.len());
        assert!(head.contains(&length), "{path}: {head}");
        assert_eq!(web.ask("HEAD", path), format!("{head}\r\n\r\n"), "{path}");
        for attribute in [" href=\"", " src=\"", " action=\""] {
            for link in body.split(attribute).skip(1) {
                let is_here = link.starts_with('/') && !link.starts_with("//");
                assert!(
                    is_here || link.starts_with(['#', '?']) || link.starts_with("data:,\""),
                    "{path}: {link:.60}"
                );
            }
        }
    }
    web.stop();
}

#[test]
fn what_the_guide_shows_is_what_it_prints() {
    let bench = Bench::new();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/README.md");
    let readme = fs::read_to_string(readme).expect("a guide");
    let (_, rest) =
        readme.split_once("<!-- web: --store lab.sqlite -->\n```text\n").expect("the block");
    let (block, _) = rest.split_once("```").expect("the block's end");
    let words = ["web", "--store", "lab.sqlite", "--port", "0"];
    let mut living = bench.drivelab_without_store(words).start();
    let lines = format!("{}\n{}\n", living.line(), living.line());
    let (_, port) = lines.split_once("127.0.0.1:").expect("an address");
    let (port, _) = port.split_once('/').expect("a port");
    assert_eq!(lines.replace(port, "3752"), block);
}

#[test]
fn the_list_is_searched_and_paged() {
    let bench = Bench::new();
    keep(&bench, 120, |number, record| {
        record.started = format!("2026-11-{:02}T12:00:00Z", number / 5 + 1);
        record.targets[0].text = if number % 2 == 0 { "/mnt/even" } else { "/mnt/odd" }.to_owned();
    });
    let web = Web::start(&bench);
    let rows = |path: &str| web.page(path).matches("<tr data-run=").count();
    assert_eq!(
        [rows("/"), rows("/?page=3"), rows("/?show=200"), rows("/?page=4")],
        [50, 20, 120, 0]
    );
    assert!(web.page("/").contains("1 to 50 of 120 runs"));
    assert!(web.page("/?page=3").contains("101 to 120 of 120 runs"));
    assert_eq!(rows("/?q=run-77"), 1);
    assert_eq!(rows("/?target=odd&from=2026-11-03&to=2026-11-04"), 5);
    assert_eq!(rows("/?state=running"), 0);
    assert_eq!(web.json("/runs.json?q=even&show=1")["count"], 60);
    let page = web.page("/?q=even&page=2&show=20");
    assert!(
        page.contains("href=\"/?page=3&amp;show=20&amp;q=even\""),
        "the search goes with its pages"
    );
    for (path, cure) in [
        ("/?page=0", "page=1"),
        ("/?show=many", "show=50"),
        ("/?from=yesterday", "from=2026-11-01"),
        ("/?state=asleep", "complete, interrupted or failed"),
        ("/compare", "2 to 20 runs"),
        ("/compare?run=00000001", "2 to 20 runs"),
        ("/runs/00000001/news?seen=x", "seen=0"),
    ] {
        let (status, body) = web.get(path);
        assert!(status == 400 && body.contains(cure), "{path}: {status} {body}");
    }
    web.stop();
}

#[test]
fn what_a_user_typed_is_never_markup() {
    let bench = Bench::new();
    let typed = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>";
    keep(&bench, 2, |_, record| {
        record.labels = BTreeMap::from([(typed.to_owned(), typed.to_owned())]);
        typed.clone_into(&mut record.targets[0].text);
        typed.clone_into(&mut record.method.name);
        typed.clone_into(&mut record.cells[0].name);
    });
    let web = Web::start(&bench);
    let coded =
        "%22%27%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%3Cscript%3Ealert(2)%3C%2Fscript%3E";
    for path in [
        "/",
        &format!("/?q={coded}&target={coded}&label={coded}&method={coded}"),
        &format!("/?page={coded}"),
        &format!("/runs/{coded}"),
        &format!("/runs/00000000/news?seen={coded}"),
        &format!("/compare?run={coded}&run=00000000"),
        "/runs/00000001",
        "/compare?run=00000000&run=00000001",
    ] {
        let (_, body) = web.get(path);
        assert!(!body.contains("<img") && !body.contains("<script>"), "{path}: {body}");
    }
    web.stop();
}

#[test]
fn hostile_requests_are_refused_and_the_next_one_is_answered() {
    let bench = Bench::new();
    keep(&bench, 1, |_, _| {});
    fs::copy(EXAMPLE, bench.path("elsewhere.json")).expect("a record beside the store");
    let web = Web::start(&bench);
    let file = bench.path("elsewhere.json").display().to_string().replace('/', "%2F");
    for path in [
        "/../../../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/runs/last",
        "/runs/run-0",
        "/runs/0000",
        "/runs/%00",
        "/runs/00000000/cells",
        "/runs/00000000/report/more",
        "/store.sqlite",
        &format!("/runs/{file}"),
        &format!("/compare?run=00000000&run={file}"),
    ] {
        let (status, body) = web.get(path);
        assert_eq!(status, 404, "{path}: {body}");
    }
    let host = format!("Host: {}\r\n", web.address);
    let long = format!("GET /?q={} HTTP/1.1\r\n{host}\r\n", "x".repeat(20_000));
    for (bytes, expected) in [
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\na=b"), 405),
        (format!("DELETE /runs/00000000 HTTP/1.1\r\n{host}\r\n"), 405),
        (format!("OPTIONS / HTTP/1.1\r\n{host}Origin: http://evil.example\r\n\r\n"), 405),
        (format!("GET / HTTP/2.0\r\n{host}\r\n"), 400),
        (format!("GET http://evil.example/ HTTP/1.1\r\n{host}\r\n"), 400),
        (format!("GET /%zz HTTP/1.1\r\n{host}\r\n"), 400),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("\u{1}\u{2}\u{3}\r\n\r\n".to_owned(), 400),
        (long, 431),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 421),
        (format!("GET / HTTP/1.1\r\nHost: evil.example:{}\r\n\r\n", web.address), 421),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 421),
    ] {
        let answer = web.raw(bytes.as_bytes());
        assert_eq!(status(&answer), expected, "{bytes:.80} got {answer}");
        assert!(!answer.contains("00000000"), "it tells nothing: {answer}");
        web.page("/");
    }
    let port = web.address.rsplit(':').next().expect("a port");
    let by_name = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    assert_eq!(status(&web.raw(by_name.as_bytes())), 200);
    web.stop();
}

#[test]
fn clients_that_hang_are_cut_off_and_hold_up_nobody() {
    let bench = Bench::new();
    keep(&bench, 1, |_, _| {});
    let web = Web::start(&bench);
    let address = web.address.clone();
    let hang = |text: &[u8]| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(text).expect("it takes a beginning");
        stream
    };
    let hanging: Vec<TcpStream> = (0..20).map(|_| hang(b"GET / HTTP/1.1\r\nHost: local")).collect();
    web.page("/");
    for mut stream in hanging {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is told why");
        assert_eq!(status(&answer), 408);
    }
    // A signal does not wait for those who hang.
    let _hanging = hang(b"GET");
    web.stop();
}

/// 300 connections that said nothing took all places, and for five seconds everybody else got
/// "503 Service Unavailable". What is right: who has been silent longest makes room, also where he
/// has asked and does not read, and who comes is answered.
#[test]
fn silent_connections_make_room_for_who_comes() {
    let bench = Bench::new();
    keep(&bench, 1, |_, _| {});
    let web = Web::start(&bench);
    let silent = |text: &[u8]| {
        let mut stream = TcpStream::connect(&web.address).expect("it listens");
        // Those that were dropped meanwhile take nothing.
        let _ = stream.write_all(text);
        stream
    };
    let ask = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", web.address);
    for text in ["", "GET / HTTP/1.1\r\nHost: local", &ask] {
        let mut crowd: Vec<TcpStream> = (0..300).map(|_| silent(text.as_bytes())).collect();
        // Half a head, or none, waits five seconds to be told; these have no time for that.
        web.page("/");
        let mut answer = String::new();
        // Whatever its end: it is over for the first of them.
        let _ = crowd[0].read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    web.stop();
}

#[test]
fn other_machines_are_let_in_only_with_a_yes() {
    let bench = Bench::new();
    let web = |words: &[&str]| bench.drivelab(["web", "--port", "0"]).and(words);
    for address in ["0.0.0.0", "::", "192.0.2.1"] {
        web(&["--listen", address]).done().refused(&["--allow-remote", "without a password"]);
    }
    web(&["--listen", "192.0.2.1", "--allow-remote"]).done().refused(&["no such address"]);
    web(&["--listen", "lab.example"]).done().refused(&["as a number", "127.0.0.1"]);
    web(&["--listen", "127.0.0.1:80"]).done().refused(&["the port with --port"]);
    web(&["--allow-remote"]).done().refused(&["--listen"]);
    let open = Web::of(web(&["--listen", "0.0.0.0", "--allow-remote"]).start());
    let ask = |host: &str| {
        let port = open.address.rsplit(':').next().expect("a port");
        status(&open.raw(format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n").as_bytes()))
    };
    assert_eq!([ask("192.0.2.7"), ask("lab.example")], [200, 421], "a number cannot be rebound");
    open.living.signal("TERM");
    let outcome = open.living.wait().succeeded();
    assert!(outcome.stderr.contains("warning: whoever reaches 0.0.0.0:"), "{}", outcome.stderr);
    let six = Web::of(web(&["--listen", "::1"]).start());
    assert!(six.address.starts_with("[::1]:"), "{}", six.address);
    six.page("/");
}

#[test]
fn a_taken_port_and_a_file_that_is_no_history_are_said_with_the_cure() {
    let bench = Bench::new();
    let web = Web::start(&bench);
    let port = web.address.rsplit(':').next().expect("a port");
    bench.drivelab(["web", "--port", port]).done().refused(&["taken", "--port", &web.address]);
    web.stop();
    bench.file("store.sqlite", "dear diary, ".repeat(100));
    bench.drivelab(["web", "--port", "0"]).done().refused(&["not a drivelab history", "--store"]);
}

#[test]
fn a_history_appears_when_its_first_run_is_made_and_not_before() {
    let bench = Bench::new();
    let web = Web::start(&bench);
    let page = web.page("/");
    let command = format!("drivelab run . --store {}", bench.path("store.sqlite").display());
    assert!(page.contains("no runs yet") && page.contains(&command), "{page}");
    assert_eq!(web.get("/runs/00000001").0, 404);
    assert_eq!(web.json("/runs.json")["count"], 0);
    assert!(!bench.path("store.sqlite").exists(), "looking makes no history");
    bench.small_run(["null:"]).done().succeeded();
    assert!(web.page("/").contains(">1 run<"), "{}", web.page("/"));
    web.stop();
}

#[test]
fn a_run_and_its_readers_do_not_hold_up_each_other() {
    let bench = Bench::new();
    keep(&bench, 40, |_, _| {});
    bench.file("many.toml", many_reads(30));
    let web = Web::start(&bench);
    let run = bench.drivelab(["run", "null:", "--method", "many.toml", "--max-time", "4s"]).start();
    let is_over = AtomicBool::new(false);
    let looks: usize = thread::scope(|scope| {
        let reader = |_| {
            scope.spawn(|| {
                let mut looks = 0;
                while !is_over.load(SeqCst) {
                    let running = web.json("/runs.json?state=running");
                    if let Some(id) = running["runs"][0]["run"]["id"].as_str() {
                        web.json(&format!("/runs/{id}/news?seen=0"));
                        web.page(&format!("/runs/{id}"));
                    }
                    web.page("/");
                    looks += 1;
                }
                looks
            })
        };
        let readers: Vec<_> = (0..4).map(reader).collect();
        run.wait().succeeded();
        is_over.store(true, SeqCst);
        readers.into_iter().map(|reader| reader.join().expect("a reader")).sum()
    });
    assert!(looks > 4, "{looks} looks at the list");
    let newest = &web.json("/runs.json?show=1")["runs"][0]["run"];
    assert_eq!((&newest["state"], &newest["cells"]), (&Value::from("complete"), &Value::from(30)));
    web.stop();
}

#[test]
fn a_run_killed_while_it_is_watched_is_shown_as_interrupted() {
    let bench = Bench::new();
    bench.file("many.toml", many_reads(30));
    let web = Web::start(&bench);
    let mut run =
        bench.drivelab(["run", "null:", "--method", "many.toml", "--max-time", "30s"]).start();
    run.wait_until("two cells", || {
        web.json("/runs.json")["runs"][0]["run"]["cells"].as_u64() >= Some(2)
    });
    let id = web.json("/runs.json")["runs"][0]["run"]["id"].as_str().expect("an id").to_owned();
    assert!(web.page(&format!("/runs/{id}")).contains("Running: "));
    run.signal("KILL");
    assert_eq!(run.wait().code, None);
    assert_eq!(web.json(&format!("/runs/{id}/news"))["state"], "interrupted");
    assert!(
        web.page(&format!("/runs/{id}")).contains("The run is interrupted"),
        "its report so far"
    );
    assert!(web.page("/").contains("class=\"state interrupted\""));
    web.stop();
    let store = Store::open_to_read(&bench.path("store.sqlite")).expect("opens").expect("is there");
    assert_eq!(store.summary(&id).expect("reads").expect("is there").state, State::Interrupted);
}
