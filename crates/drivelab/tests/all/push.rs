//! Histories that many machines share: `push`, and every verb that reads over a database.

use crate::common;

use common::{Bench, Call, assert_one_sentence};
use std::path::Path;

const RUN: [&str; 5] = ["run", "null:", "--seed", "1", "--quiet"];

impl Bench {
    /// A call in which a user's own history lies in the bench.
    fn at_home(&self, words: &[&str]) -> Call {
        let home = self.path("home");
        let mut call = Call::new(words, &self.path("."));
        for name in ["PGPASSWORD", "PGPASSFILE", "DRIVELAB_STORE"] {
            call = call.variable(name, "");
        }
        call.variable("HOME", home.to_str().expect("plain names")).variable("XDG_DATA_HOME", "")
    }

    /// A short run at home.
    fn run_at_home(&self, more: &[&str]) -> Call {
        let method = self.path("small.toml");
        self.at_home(&RUN).and(["--max-time", "0.2s", "--method"]).and([method]).and(more)
    }
}

#[test]
fn what_is_pushed_into_another_file_is_there_once() {
    let bench = Bench::new();
    for label in ["a", "b"] {
        bench.run_at_home(&["--label", label]).done().succeeded();
    }
    let push = || bench.at_home(&["push", "--to", "all.db"]).done().succeeded().stdout;
    assert_eq!(push(), "pushed 2 runs to all.db\n");
    assert_eq!(push(), "pushed 0 runs to all.db; 2 were there already\n");
    bench.run_at_home(&["--label", "c"]).done().succeeded();
    let one = bench.at_home(&["push", "a", "c", "--to", "all.db"]).done().succeeded().stdout;
    assert_eq!(one, "pushed 1 run to all.db; 1 was there already\n");
    let list = |words: &[&str]| bench.at_home(words).done().succeeded().stdout;
    assert_eq!(list(&["history", "--json", "--store", "all.db"]), list(&["history", "--json"]));
    let found = list(&["history", "--json", "--find", "label=b small", "--store", "all.db"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.contains("\"label\":\"b\""), "{found}");
    let none = bench.at_home(&["history", "--host", "elsewhere"]).done().succeeded();
    assert!(none.stderr.contains("no such runs"), "{}", none.stderr);
}

#[test]
fn a_push_that_goes_nowhere_says_what_to_name() {
    let bench = Bench::new();
    bench.run_at_home(&[]).done().succeeded();
    for (words, parts) in [
        (&["push"][..], &["where to?", "--to", "DRIVELAB_STORE"][..]),
        (&["push", "nothing", "--to", "all.db"], &["no run `nothing`"]),
        (&["push", "--to", "mysql://db/lab"], &["--to", "an address of something else"]),
        (&["push", "--to", "home/.local/share/drivelab/history.sqlite"], &["--to", "name another"]),
    ] {
        let outcome = bench.at_home(words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, parts);
    }
}

#[cfg(not(feature = "postgresql"))]
#[test]
fn a_drivelab_that_was_built_without_postgresql_says_how_to_get_it() {
    let bench = Bench::new();
    for words in [
        &["history", "--store", "postgresql://db/lab"][..],
        &["run", "null:", "--store", "postgresql://db/lab"],
        &["push", "--to", "postgres://db/lab"],
    ] {
        let outcome = bench.at_home(words).done();
        assert_eq!(outcome.code, Some(2), "{words:?}: {}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, &["built without", "feature `postgresql`"]);
    }
    assert!(!Path::new(&bench.path("home")).exists(), "nothing was measured");
}

#[cfg(feature = "postgresql")]
mod postgresql {
    use super::*;
    use common::Outcome;
    use record::{Place, Record, State, Store};
    use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, thread, time::Duration};
    use testkit::Postgresql;

    fn refused(outcome: &Outcome, parts: &[&str]) {
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert_one_sentence(&outcome.stderr, parts);
    }

    #[test]
    fn every_verb_reads_a_database_as_it_reads_a_file() {
        let server = need!(Postgresql::start(), "postgresql");
        let bench = Bench::new();
        let base = server.database("lab");
        for label in ["a", "b"] {
            bench.run_at_home(&["--label", label, "--store", &base]).done().succeeded();
        }
        let own = bench.at_home(&["history", "--json"]).done().succeeded().stdout;
        assert_eq!(own.lines().count(), 2);
        let from = |words: &[&str]| bench.at_home(words).variable("DRIVELAB_STORE", &base).done();
        for words in [
            &["history"][..],
            &["history", "--find", "label=a"],
            &["show", "a"],
            &["show", "last", "--explain"],
            &["compare", "a", "b"],
            &["report", "a", "--csv", "-"],
            &["export", "a", "b", "--as", "csv"],
        ] {
            // How long ago a run began changes from one call to the next.
            let undated = |text: &str| {
                let after =
                    |line: &str| line.rsplit_once(" ago").map_or(line, |it| it.1).to_owned();
                let lines = text.lines().filter(|line| !line.contains("──"));
                lines
                    .map(|line| after(line).split_whitespace().collect::<Vec<_>>().join(" "))
                    .collect::<Vec<_>>()
            };
            let file = bench.at_home(words).done();
            let read = from(words);
            let (expected, found) = (undated(&file.stdout), undated(&read.stdout));
            assert_eq!((read.code, found), (file.code, expected), "{words:?}");
            let named = bench.at_home(words).and(["--store", &base]).done();
            assert_eq!(named.code, file.code, "{words:?}: {}", named.stderr);
        }
        let json = |text: &str| -> Vec<serde_json::Value> {
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        let listed = from(&["history", "--json"]).succeeded().stdout;
        assert_eq!(json(&listed), json(&own));
        // A run that the environment sends there arrives, too.
        bench.run_at_home(&["--label", "c"]).variable("DRIVELAB_STORE", &base).done().succeeded();
        assert_eq!(server.ask("lab", "SELECT count(*) FROM drivelab.run"), "3");
    }

    #[test]
    fn a_database_that_is_down_costs_a_sentence_and_no_run() {
        let server = need!(Postgresql::start(), "postgresql");
        let bench = Bench::new();
        let base = server.database("lab");
        server.down();
        let run = bench.run_at_home(&["--store", &base]).done().succeeded();
        assert_one_sentence(&run.stderr, &["is kept here", "cannot reach", "push --to"]);
        let history = bench.at_home(&["history", "--store", &base]).done();
        refused(&history, &["cannot reach the database", "see that the server runs"]);
        server.up();
        let pushed = bench.at_home(&["push", "--to", &base]).done().succeeded();
        assert!(pushed.stdout.starts_with("pushed 1 run to"), "{}", pushed.stdout);
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said_in_one_sentence_without_a_password() {
        let server = need!(Postgresql::start(), "postgresql");
        let bench = Bench::new();
        let (tcp, port) = (server.address_of_tcp("lab"), server.port());
        let history = |place: &str| bench.at_home(&["history", "--store", place]);
        refused(&history(&tcp).done(), &["does not accept the user", "~/.pgpass"]);
        let wrong = history(&tcp).variable("PGPASSWORD", "hunter2").done();
        refused(&wrong, &["does not accept the user", "password authentication failed"]);
        assert!(!wrong.stderr.contains("hunter2"), "{}", wrong.stderr);
        let right = || history(&tcp).variable("PGPASSWORD", server.password());
        refused(&right().done(), &["database \"lab\" does not exist", "createdb"]);
        server.database("lab");
        refused(&right().done(), &["there is no history", "drivelab push"]);
        let seen = tcp.replace("postgres@", "postgres:hunter2@");
        refused(&history(&seen).done(), &["postgres:***@", "seen by all users", ".pgpass"]);
        let kept = bench.at_home(&["history"]).variable("DRIVELAB_STORE", &seen).done();
        refused(&kept, &["postgres:***@", "does not accept the user"]);
        assert!(!kept.stderr.contains("hunter2"), "{}", kept.stderr);
        let strict = format!("{tcp}?sslmode=verify-full");
        refused(&history(&strict).done(), &["no safe connection", "sslrootcert"]);
        refused(&history(&format!("{tcp}?sslmode=maybe")).done(), &["sslmode is maybe"]);
        let nobody = format!("postgresql://a@127.0.0.1:{}/lab", if port == 1 { 2 } else { 1 });
        refused(&history(&nobody).done(), &["cannot reach the database"]);

        // The file of passwords, as psql takes it: not where others may read it.
        let file = bench.file("passwords", "");
        let escaped = server.password().replace('\\', "\\\\").replace(':', "\\:");
        fs::write(&file, format!("127.0.0.1:*:lab:postgres:{escaped}\n")).expect("writes");
        let path = file.to_str().expect("plain names");
        for (mode, parts) in [(0o644, "does not accept"), (0o600, "there is no history")] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("ours");
            refused(&history(&tcp).variable("PGPASSFILE", path).done(), &[parts]);
        }
        bench.run_at_home(&[]).done().succeeded();
        let push = bench.at_home(&["push", "--to", &tcp]).variable("PGPASSWORD", server.password());
        push.done().succeeded();
        server.ask("lab", "UPDATE drivelab.schema_version SET version = 2");
        let older =
            bench.at_home(&["push", "--to", &tcp]).variable("PGPASSWORD", server.password());
        refused(&older.done(), &["schema 2", "push --migrate --to"]);
        refused(&right().done(), &["schema 2", "push --migrate --to"]);
        server.ask("lab", "UPDATE drivelab.schema_version SET version = 99");
        refused(&right().done(), &["schema 99", "newer drivelab"]);
    }

    #[test]
    fn who_may_only_read_is_told_so_when_he_pushes() {
        let server = need!(Postgresql::start(), "postgresql");
        let bench = Bench::new();
        let base = server.database("lab");
        bench.run_at_home(&["--store", &base]).done().succeeded();
        server.ask(
            "lab",
            "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA drivelab TO reader;
             GRANT SELECT ON ALL TABLES IN SCHEMA drivelab TO reader",
        );
        let reader = base.replace("postgres@", "reader@");
        let read = bench.at_home(&["history", "--json", "--store", &reader]).done().succeeded();
        assert_eq!(read.stdout.lines().count(), 1);
        bench.run_at_home(&[]).done().succeeded();
        refused(&bench.at_home(&["push", "--to", &reader]).done(), &["may not", "GRANT"]);
    }

    const WRITERS: usize = 8;
    const RUNS: usize = 200;

    /// A history with [`RUNS`] runs, as one machine has it.
    fn machine(directory: &Path, number: usize) -> String {
        let path = directory.join(format!("machine-{number}.sqlite"));
        let text = include_str!("../../../record/tests/example.json");
        let mut record = Record::from_json(text, "example").expect("a record");
        let mut store = Store::open(&path).expect("opens");
        record.state = State::Complete;
        record.environment.host.name = format!("machine-{number}");
        for run in 0..RUNS {
            record.id = format!("{:08x}", number * RUNS + run);
            store.save(&record).expect("saves");
        }
        path.to_str().expect("plain names").to_owned()
    }

    #[test]
    fn eight_machines_push_at_once_one_is_killed_the_server_restarts_and_every_run_is_there_once() {
        let server = need!(Postgresql::start(), "postgresql");
        let bench = Bench::new();
        let base = server.database("lab");
        let here = bench.path(".");
        let files: Vec<String> = thread::scope(|scope| {
            let here = &here;
            let made: Vec<_> =
                (0..WRITERS).map(|number| scope.spawn(move || machine(here, number))).collect();
            made.into_iter().map(|thread| thread.join().expect("made")).collect()
        });
        let push = |file: &str| bench.at_home(&["push", "--store", file, "--to", &base]);
        let count = || -> usize {
            let there = server.ask("lab", "SELECT to_regclass('drivelab.run') IS NOT NULL");
            if there != "t" {
                return 0;
            }
            server.ask("lab", "SELECT count(*) FROM drivelab.run").parse().expect("a number")
        };
        let mut writers: Vec<_> = files.iter().map(|file| push(file).start()).collect();
        let all = WRITERS * RUNS;
        while count() < all / 8 {
            thread::sleep(Duration::from_millis(10));
        }
        let killed = writers.remove(0);
        killed.signal("KILL");
        let before = count();
        assert!(before < all, "the kill came too late: {before} runs were there");
        server.down();
        server.up();
        assert!(count() >= before, "what was there is there");
        let ended = writers.into_iter().map(|writer| writer.wait_within(Duration::from_secs(300)));
        let ended: Vec<Outcome> = ended.collect();
        drop(killed);
        // Who found nobody at all may have given up with a sentence; nobody lost anything by it.
        for outcome in &ended {
            assert!(matches!(outcome.code, Some(0 | 2)), "{}", outcome.stderr);
        }
        for file in &files {
            push(file).start().wait_within(Duration::from_secs(300)).succeeded();
        }
        let shared =
            Store::at(&Place::of(Path::new(&base), Some(::postgresql::connect))).expect("opens");
        let listed = shared.ended().expect("lists");
        let ids: BTreeSet<String> = listed.iter().map(|run| run.id.clone()).collect();
        assert_eq!((listed.len(), ids.len()), (all, all), "nothing is lost, nothing is twice");
        let expected: BTreeSet<String> = (0..all).map(|run| format!("{run:08x}")).collect();
        assert_eq!(ids, expected);
        let cells = "SELECT count(*), count(DISTINCT (run, position)) FROM drivelab.cell";
        assert_eq!(server.ask("lab", cells), format!("{0}|{0}", 3 * all), "three cells a run");
        println!("{before} of {all} runs were there at the restart");
    }
}
