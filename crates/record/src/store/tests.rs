//! The store as its callers see it, on real files.

use super::*;
use crate::example;
use rusqlite::Connection;
use std::{fs, os::unix::ffi::OsStringExt};
use tempfile::TempDir;

fn scratch_store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(&directory.path().join("deep/er/history.sqlite")).expect("opens");
    (directory, store)
}

fn run(id: &str, label: &str) -> Record {
    let mut record = example::full();
    record.id = id.to_owned();
    record.labels = BTreeMap::from([("label".to_owned(), label.to_owned())]);
    record
}

/// The file of a store.
fn file(store: &Store) -> &Path {
    store.place().file().expect("a file")
}

/// The file, behind the store's back.
fn behind(store: &Store, statements: &str) {
    let connection = Connection::open(file(store)).expect("opens");
    connection.execute_batch(statements).expect("is done");
}

fn refusal<T>(outcome: Result<T, StoreError>) -> String {
    outcome.err().expect("refused").to_string()
}

#[test]
fn the_default_place_follows_the_xdg_specification() {
    let place = |data: &str, home: &str| {
        default_path(|name| {
            let value = if name == "HOME" { home } else { data };
            (!value.is_empty()).then(|| value.into())
        })
    };
    let data = place("/data", "/home/a").expect("a place");
    assert_eq!(data, Path::new("/data/drivelab/history.sqlite"));
    let home = Path::new("/home/a/.local/share/drivelab/history.sqlite");
    assert_eq!(place("", "/home/a").expect("a place"), home);
    assert_eq!(place("relative", "/home/a").expect("a place"), home);
    assert!(refusal(place("", "")).contains("--store"));
}

#[test]
fn a_saved_record_comes_back_equal_also_from_a_new_process() {
    let (_directory, mut store) = scratch_store();
    let record = example::full();
    store.save(&record).expect("saves");
    assert_eq!(store.load(&record.id).expect("loads"), record);
    let again = Store::open(file(&store)).expect("opens again");
    assert_eq!(again.load(&record.id).expect("loads"), record);
    assert_eq!(again.list(10).expect("lists"), [record.summary()]);
}

#[test]
fn saves_after_each_cell_keep_every_change() {
    let (_directory, mut store) = scratch_store();
    let full = example::full();
    let mut record = Record { cells: Vec::new(), state: State::Running, ..full.clone() };
    for cell in full.cells.iter().rev() {
        record.cells.insert(0, cell.clone());
        store.save(&record).expect("saves");
        assert_eq!(store.load(&record.id).expect("loads"), record);
    }
    record.cells[1].iops = 7.0;
    record.cells.pop();
    record.state = State::Complete;
    store.save(&record).expect("saves");
    assert_eq!(store.load(&record.id).expect("loads"), record);
    record.cells[1].iops = 8.0;
    store.save(&record).expect("saves");
    assert_eq!(store.load(&record.id).expect("loads"), record);
}

#[test]
fn two_stores_that_take_turns_on_one_run_agree() {
    let (_directory, mut one) = scratch_store();
    let mut two = Store::open(file(&one)).expect("opens");
    let mut record = run("00000001", "a");
    for turn in 0..6 {
        record.cells[0].iops = f64::from(turn);
        record.state = State::Complete;
        let store = if turn % 2 == 0 { &mut one } else { &mut two };
        store.save(&record).expect("saves");
        assert_eq!(store.load("00000001").expect("loads"), record);
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_refused_and_the_earlier_save_stays() {
    let (_directory, mut store) = scratch_store();
    let good = example::full();
    store.save(&good).expect("saves");
    let mut bad = good.clone();
    bad.cells[0].iops = f64::NAN;
    assert!(refusal(store.save(&bad)).contains("not saved"));
    assert_eq!(store.load(&good.id).expect("loads"), good);
}

#[test]
fn a_run_is_found_by_id_prefix_last_label_and_file() {
    let (directory, mut store) = scratch_store();
    for (id, label) in [("aa11", "before"), ("aa22", "after"), ("bb33", "before"), ("last", "x=y")]
    {
        store.save(&run(id, label)).expect("saves");
    }
    let found = |text: &str| store.resolve(text).expect("found").id;
    assert_eq!(found("aa22"), "aa22");
    assert_eq!(found("bb"), "bb33");
    assert_eq!(found("BB"), "bb33");
    assert_eq!(found("last"), "last");
    assert_eq!(found("last~1"), "bb33");
    assert_eq!(found("last~3"), "aa11");
    assert_eq!(found("before"), "bb33", "the newest with the label");
    assert_eq!(found("label=after"), "aa22");
    let file = directory.path().join("elsewhere.json");
    fs::write(&file, run("cc44", "z").to_json()).expect("writes");
    assert_eq!(found(file.to_str().expect("UTF-8")), "cc44");
}

#[test]
fn a_run_that_is_not_there_is_refused_with_what_is_near() {
    let (directory, mut store) = scratch_store();
    for any in ["last", "last~3", "aa11"] {
        assert!(refusal(store.resolve(any)).ends_with("`drivelab run` makes a first one"), "{any}");
    }
    for id in ["aa11", "aa22"] {
        store.save(&run(id, "before")).expect("saves");
    }
    assert!(refusal(store.resolve("aa13")).contains("`aa11`"));
    assert!(refusal(store.resolve("befroe")).contains("`before`"));
    assert!(refusal(store.resolve("lst")).contains("`last`"));
    assert!(
        refusal(store.resolve("something")).contains("`aa22`"),
        "the newest, for want of better"
    );
    assert!(refusal(store.resolve("aa")).contains("aa22, aa11"));
    assert!(refusal(store.resolve("last~2")).contains("holds 2 runs"));
    assert!(refusal(store.resolve("")).contains("no run"));
    let missing = directory.path().join("missing.json");
    assert!(refusal(store.resolve(missing.to_str().expect("UTF-8"))).contains("missing.json"));
}

#[test]
fn a_killed_run_is_closed_and_a_live_one_is_left_alone() {
    let (_directory, mut store) = scratch_store();
    let living = Record { state: State::Running, ..run("00000001", "a") };
    store.save(&living).expect("saves");
    // As if another process, now gone, had written the next ones.
    store.owner.as_mut().expect("of a file").started_ticks -= 1;
    let killed = Record { state: State::Running, ..run("00000002", "b") };
    store.save(&killed).expect("saves");
    store.save(&run("00000003", "complete")).expect("saves");
    store.note_scratch("00000002", Path::new("/mnt/a/scratch")).expect("notes");
    store.note_scratch("00000001", Path::new("/mnt/a/in-use")).expect("notes");

    let mut next = Store::open(file(&store)).expect("opens");
    let orphan =
        Orphan { id: "00000002".to_owned(), scratch: vec![PathBuf::from("/mnt/a/scratch")] };
    let looking = Store::open_to_read(file(&store)).expect("opens").expect("is there");
    let seen = looking.load("00000002").expect("loads");
    let interrupted = Search { state: Some(State::Interrupted), ..Search::default() };
    let found = looking.search(&interrupted, 0, 9).expect("searches");
    let ids = |found: &Found| found.runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
    assert_eq!(
        (ids(&found), found.runs[0].state),
        (vec!["00000002".to_owned()], State::Interrupted)
    );
    let running = Search { state: Some(State::Running), ..Search::default() };
    assert_eq!(ids(&looking.search(&running, 0, 9).expect("searches")), ["00000001"]);
    let states = ["00000001", "00000002"]
        .map(|id| looking.news(id, 1).expect("reads").expect("is there").state);
    assert_eq!(states, [State::Running, State::Interrupted]);

    assert_eq!(next.close_orphans().expect("closes"), [orphan]);
    assert_eq!(next.close_orphans().expect("closes"), []);
    let closed = next.load("00000002").expect("loads");
    assert_eq!(closed, seen, "as who only looked saw it");
    assert_eq!(closed.error.as_deref(), Some(orphans::KILLED));
    assert_eq!(closed, Record { state: State::Interrupted, error: closed.error.clone(), ..killed });
    assert_eq!(next.load("00000001").expect("loads"), living);
    let states: Vec<State> = next.list(9).expect("lists").iter().map(|run| run.state).collect();
    assert_eq!(states, [State::Complete, State::Interrupted, State::Running]);

    assert_eq!(next.orphaned_scratch().expect("lists"), [Path::new("/mnt/a/scratch")]);
    next.forget_scratch(Path::new("/mnt/a/scratch")).expect("forgets");
    assert!(next.orphaned_scratch().expect("lists").is_empty());
}

#[test]
fn a_scratch_path_need_not_be_text() {
    let (_directory, mut store) = scratch_store();
    let path = PathBuf::from(OsString::from_vec(b"/mnt/\xff\xfe".to_vec()));
    store.note_scratch("00000009", &path).expect("notes");
    assert_eq!(store.orphaned_scratch().expect("lists"), [path]);
}

#[test]
fn files_of_others_are_refused_and_left_untouched() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = directory.path().join("notes.txt");
    fs::write(&text, "dear diary, ".repeat(100)).expect("writes");
    let before = fs::read(&text).expect("reads");
    assert!(refusal(Store::open(&text)).contains("--store"));
    assert_eq!(fs::read(&text).expect("reads"), before);

    let other = directory.path().join("other.sqlite");
    let connection = Connection::open(&other).expect("opens");
    connection.execute_batch("CREATE TABLE song (name TEXT)").expect("creates");
    drop(connection);
    let before = fs::read(&other).expect("reads");
    assert!(refusal(Store::open(&other)).contains("another program"));
    assert_eq!(fs::read(&other).expect("reads"), before);
    assert!(refusal(Store::open(directory.path())).contains("directory"));
}

#[test]
fn a_store_of_a_later_drivelab_is_refused() {
    let (_directory, store) = scratch_store();
    behind(&store, &format!("PRAGMA user_version = {}", steps::KNOWN + 1));
    let message = refusal(Store::open(file(&store)));
    assert!(message.contains("newer drivelab"), "{message}");
}

#[test]
fn a_stored_record_of_a_later_format_is_refused_and_the_others_are_read() {
    let (_directory, mut store) = scratch_store();
    store.save(&run("00000001", "a")).expect("saves");
    store.save(&run("00000002", "b")).expect("saves");
    let later =
        "UPDATE run SET document = json_set(document, '$.version', 2) WHERE id = '00000002'";
    behind(&store, later);
    assert!(refusal(store.load("00000002")).contains("version 2"));
    store.load("00000001").expect("loads");
}

#[test]
fn stores_opened_and_written_at_once_lose_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("history.sqlite");
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open(path).expect("opens");
                for number in 0..5 {
                    store.save(&run(&format!("{writer:04}{number:04}"), "x")).expect("saves");
                }
            });
        }
    });
    assert_eq!(Store::open(&path).expect("opens").list(100).expect("lists").len(), 30);
}

#[test]
fn runs_are_found_by_every_field_and_counted_over_all_pages() {
    let (_directory, mut store) = scratch_store();
    for number in 0..25 {
        let mut record = run(&format!("{number:08}"), if number % 2 == 0 { "Even" } else { "odd" });
        record.started = format!("2026-11-{:02}T10:00:00+01:00", number + 1);
        record.method.name = if number < 5 { "oltp" } else { "quick" }.to_owned();
        record.targets[0].text = format!("/mnt/disk_{number}");
        for cell in &mut record.cells {
            cell.flags = if number == 7 { vec![crate::Flag::Drifting] } else { Vec::new() };
        }
        record.state = if number == 3 { State::Failed } else { State::Complete };
        store.save(&record).expect("saves");
    }
    let ids = |search: &Search, skip, limit| {
        let found = store.search(search, skip, limit).expect("searches");
        let numbers = found.runs.iter().map(|run| run.id.parse::<u64>().expect("a number"));
        (numbers.collect::<Vec<_>>(), found.count)
    };
    let all = Search::default();
    assert_eq!(ids(&all, 0, 3), (vec![24, 23, 22], 25));
    assert_eq!(ids(&all, 24, 3), (vec![0], 25));
    assert_eq!(ids(&all, 25, 3), (vec![], 25));
    let words = |words: &str| Search { words: words.to_owned(), ..Search::default() };
    assert_eq!(ids(&words("even OLTP"), 0, 9), (vec![4, 2, 0], 3));
    assert_eq!(ids(&words("label=odd disk_1"), 0, 2), (vec![19, 17], 6), "1, 11, 13... 19");
    assert_eq!(ids(&words("disk%"), 0, 9), (vec![], 0), "a percent sign is no pattern");
    assert_eq!(ids(&words("drifting"), 0, 9), (vec![7], 1));
    assert_eq!(ids(&words("00000011"), 0, 9), (vec![11], 1));
    let with = |change: &dyn Fn(&mut Search)| {
        let mut search = Search::default();
        change(&mut search);
        ids(&search, 0, 2)
    };
    assert_eq!(with(&|search| search.method = "oltp".to_owned()), (vec![4, 3], 5));
    assert_eq!(with(&|search| search.target = "disk_12".to_owned()), (vec![12], 1));
    assert_eq!(with(&|search| search.label = "EVEN".to_owned()), (vec![24, 22], 13));
    assert_eq!(with(&|search| search.state = Some(State::Failed)), (vec![3], 1));
    assert_eq!(with(&|search| search.from = "2026-11-25".to_owned()), (vec![24], 1));
    let week = |search: &mut Search| {
        (search.from, search.to) = ("2026-11-03".to_owned(), "2026-11-09".to_owned());
    };
    assert_eq!(with(&week), (vec![8, 7], 7));
    assert_eq!(store.methods().expect("lists"), ["oltp", "quick"]);
    let ids = ["00000009", "absent", "00000002"];
    assert_eq!(store.oldest_first(&ids).expect("lists"), ["00000002", "00000009"]);
}

/// A list of a thousand runs would otherwise read a gigabyte of histograms.
#[test]
fn a_search_reads_no_document() {
    let (_directory, mut store) = scratch_store();
    let record = example::full();
    store.save(&record).expect("saves");
    let blank = "UPDATE run SET document = ''; UPDATE cell SET document = ''";
    behind(&store, blank);
    let found = store.search(&Search::default(), 0, 9).expect("searches");
    assert_eq!(found, Found { runs: vec![record.summary()], count: 1 });
    assert_eq!(store.summary(&record.id).expect("reads"), Some(record.summary()));
    assert!(refusal(store.load(&record.id)).contains("damaged in the history"));
}

#[test]
fn who_watches_a_run_reads_only_the_cells_that_changed() {
    let (_directory, mut store) = scratch_store();
    let looking = |path: &Path| Store::open_to_read(path).expect("opens").expect("is there");
    let full = example::full();
    let id = full.id.clone();
    assert_eq!(store.news(&id, 0).expect("reads"), None);
    let mut record = Record { cells: Vec::new(), state: State::Running, ..full.clone() };
    store.save(&record).expect("saves");
    let news = |seen| looking(file(&store)).news(&id, seen).expect("reads").expect("is there");
    let first = News { saves: 1, state: State::Running, cells: 0, changed: Vec::new() };
    assert_eq!(news(0), first);
    record.cells = full.cells[..2].to_vec();
    store.save(&record).expect("saves");
    let news = |seen| looking(file(&store)).news(&id, seen).expect("reads").expect("is there");
    assert_eq!(news(1).changed, [(0, full.cells[0].clone()), (1, full.cells[1].clone())]);
    assert_eq!(news(2), News { saves: 2, cells: 2, ..first.clone() });
    record.cells[1].iops = 7.0;
    record.state = State::Complete;
    store.save(&record).expect("saves");
    let news = |seen| looking(file(&store)).news(&id, seen).expect("reads").expect("is there");
    assert_eq!(news(2).changed, [(1, record.cells[1].clone())]);
    assert_eq!((news(2).saves, news(2).state), (3, State::Complete));
    assert_eq!(news(0).changed.len(), 2);
    assert_eq!(news(u64::MAX).changed, []);
}

#[test]
fn looking_at_a_history_makes_none() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("history.sqlite");
    assert!(Store::open_to_read(&path).expect("nothing is there").is_none());
    assert_eq!(fs::read_dir(directory.path()).expect("lists").count(), 0);
    fs::write(&path, "").expect("writes");
    assert!(Store::open_to_read(&path).expect("blank").is_none());
    assert_eq!(fs::read(&path).expect("reads"), b"", "left as it was");
    fs::write(&path, "dear diary, ".repeat(100)).expect("writes");
    assert!(refusal(Store::open_to_read(&path).map(drop)).contains("not a drivelab history"));
    assert!(refusal(Store::open_to_read(directory.path()).map(drop)).contains("directory"));
}

/// A store of schema 1, as drivelab made them before it kept flags in the summaries.
#[test]
fn an_older_store_gets_the_flags_of_its_runs() {
    let (_directory, mut store) = scratch_store();
    let record = example::full();
    store.save(&record).expect("saves");
    let bare = Record { id: "00000001".to_owned(), cells: Vec::new(), ..record.clone() };
    store.save(&bare).expect("saves");
    assert!(record.summary().flags.len() > bare.summary().flags.len(), "cells have flags, too");
    let back = "UPDATE run SET summary = json_remove(summary, '$.flags');
                DROP VIEW histogram;
                DROP TABLE drive;
                DROP INDEX run_method;
                DROP INDEX run_host;
                DROP INDEX run_campaign;
                DROP INDEX cell_fleet;
                DROP INDEX run_searched;
                ALTER TABLE run DROP COLUMN host;
                ALTER TABLE run DROP COLUMN campaign;
                ALTER TABLE run DROP COLUMN task;
                ALTER TABLE run DROP COLUMN words;
                ALTER TABLE cell DROP COLUMN method;
                ALTER TABLE cell DROP COLUMN name;
                ALTER TABLE cell DROP COLUMN host;
                ALTER TABLE cell DROP COLUMN drive;
                ALTER TABLE cell DROP COLUMN firmware;
                ALTER TABLE cell DROP COLUMN iops;
                ALTER TABLE run DROP COLUMN saves;
                ALTER TABLE cell DROP COLUMN save;
                PRAGMA user_version = 1";
    behind(&store, back);
    let path = file(&store).to_owned();
    drop(store);
    let newer = Store::open_to_read(&path).expect("opens").expect("is there");
    assert_eq!(newer.list(9).expect("lists"), [bare.summary(), record.summary()]);
    let news = newer.news(&record.id, 0).expect("reads").expect("is there");
    assert_eq!(news.changed.len(), record.cells.len());
}

#[test]
fn a_delivery_that_was_stopped_goes_on_and_brings_each_run_once() {
    let (_here, mut local) = scratch_store();
    let (_there, shared) = scratch_store();
    for id in ["00000001", "00000002", "00000003"] {
        local.save(&run(id, id)).expect("saves");
    }
    let runs = local.ended().expect("reads");
    assert_eq!(runs.len(), 3);
    let (to, here) = (shared.place().clone(), file(&local).to_owned());
    drop(shared);
    let mut delivery = Delivery::new(local, to.clone(), Tables::Made);
    assert_eq!(delivery.count(), None, "nobody was asked yet");
    let stop = std::sync::atomic::AtomicBool::new(true);
    assert!(!delivery.carry_out(&runs, &stop).expect("nothing fails"));
    assert_eq!(delivery.count(), Some(DeliveryCount { lacking: 3, pushed: 0 }));
    // One is there by another way meanwhile.
    let local = Store::open(&here).expect("opens");
    let mut shared = Store::at_to_push(&to, Tables::Made).expect("opens");
    let one = &runs[..1];
    assert!(
        shared.push_lacking(one, &mut |run| local.load(&run.id), &mut |_, _| true).expect("pushes")
    );
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(delivery.carry_out(&runs, &stop).expect("pushes"));
    assert_eq!(delivery.count(), Some(DeliveryCount { lacking: 3, pushed: 3 }));
    let mut again = Delivery::new(Store::open(&here).expect("opens"), to, Tables::Made);
    assert!(again.carry_out(&runs, &stop).expect("nothing is left"));
    assert_eq!(again.count(), Some(DeliveryCount { lacking: 0, pushed: 0 }));
    assert_eq!(shared.ended().expect("reads"), local.ended().expect("reads"));
}
