//! A history in a file and one in a database answer alike, and as they should: what fits a search
//! is counted here by hand.

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use record::{
    CampaignTask, Cell, Ended, Flag, FleetRow, Place, Pushed, Record, RunSummary, Search, State,
    Store, StoreError, Tables, sql,
};
use std::{collections::BTreeMap, path::Path};
use testkit::{Postgresql, need};

/// Two targets, three cells, two verdicts.
fn example() -> Record {
    let text = include_str!("../../record/tests/example.json");
    Record::from_json(text, "example.json").expect("a record")
}

/// What of a run is drawn.
#[derive(Clone, Debug)]
struct Drawn {
    id: String,
    method: &'static str,
    target: &'static str,
    host: &'static str,
    model: Option<&'static str>,
    label: Option<&'static str>,
    campaign: Option<u64>,
    day: u32,
    state: State,
    flags: Vec<Flag>,
    iops: f64,
    cells: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let texts = (
        "[0-9a-f]{8}",
        prop::sample::select(vec!["quick", "oltp", "Quick%", "käfer"]),
        prop::sample::select(vec!["/mnt/a", "/mnt/B_1", "model:x y", "\\\\h\\É", "/mnt/c d"]),
        prop::sample::select(vec!["attic", "Cellar", "host-1"]),
        prop::option::of(prop::sample::select(vec!["Acme 1", "acme 10%", "Ö Drive"])),
        prop::option::of(prop::sample::select(vec!["before", "After trim", "x=y", "last"])),
    );
    let numbers = (
        prop::option::of(0..9_u64),
        1..29_u32,
        prop::sample::select(vec![State::Complete, State::Failed, State::Interrupted]),
        prop::sample::subsequence(vec![Flag::Drifting, Flag::Steal, Flag::Stalled], 0..=2),
        prop::num::f64::POSITIVE,
        0..4_usize,
    );
    (texts, numbers).prop_map(|(texts, numbers)| {
        let (id, method, target, host, model, label) = texts;
        let (campaign, day, state, flags, iops, cells) = numbers;
        // No rate is beyond what 64 bits count.
        let iops = iops % 1e15;
        Drawn { id, method, target, host, model, label, campaign, day, state, flags, iops, cells }
    })
}

fn record(drawn: &Drawn) -> Record {
    let mut record = example();
    record.id.clone_from(&drawn.id);
    record.method.name = drawn.method.to_owned();
    record.method.text = "a NUL \0, and what looks like one: \\u0000".to_owned();
    record.targets[0].text = drawn.target.to_owned();
    record.environment.host.name = drawn.host.to_owned();
    for layer in &mut record.targets[0].stack {
        if let Some(drive) = &mut layer.drive {
            drive.model = drawn.model.map(str::to_owned);
        }
    }
    record.labels =
        drawn.label.map(|text| ("label".to_owned(), text.to_owned())).into_iter().collect();
    record.campaign =
        drawn.campaign.map(|task| CampaignTask { name: "Fleet".to_owned(), task, of: 9 });
    record.started = format!("2026-11-{:02}T10:00:00Z", drawn.day);
    record.state = drawn.state;
    record.flags.clone_from(&drawn.flags);
    let cells = example().cells;
    let cell = |at: usize| Cell { iops: drawn.iops, ..cells[at % cells.len()].clone() };
    record.cells = (0..drawn.cells).map(cell).collect();
    record
}

/// As a database keeps it.
fn without_nul(record: &Record) -> Record {
    let mut record = record.clone();
    record.method.text = record.method.text.replace('\0', "\u{fffd}");
    record
}

fn searches() -> Vec<Search> {
    let all = Search::default;
    let text = |text: &str| text.to_owned();
    vec![
        all(),
        Search { words: text("quick"), ..all() },
        Search { words: text("QUICK% attic"), ..all() },
        Search { words: text("label=before drifting"), ..all() },
        Search { words: text("b_1"), ..all() },
        Search { words: text("fleet 10%"), ..all() },
        Search { words: text("\\h\\É"), ..all() },
        Search { method: text("quick"), ..all() },
        Search { target: text("MNT/b"), ..all() },
        Search { label: text("after TRIM"), ..all() },
        Search { host: text("Cellar"), ..all() },
        Search { drive: text("ACME 1"), ..all() },
        Search { drive: text("Ö"), ..all() },
        Search { campaign: text("Fleet"), ..all() },
        Search { state: Some(State::Failed), ..all() },
        Search { from: text("2026-11-05"), to: text("2026-11-20"), ..all() },
        Search { words: text("trim"), method: text("oltp"), state: Some(State::Complete), ..all() },
    ]
}

/// The same by hand: what a search means.
fn fits(search: &Search, record: &Record) -> bool {
    let lower = |text: &str| text.to_ascii_lowercase();
    let has = |text: &str, piece: &str| lower(text).contains(&lower(piece));
    let layers = record.targets.iter().flat_map(|target| &target.stack);
    let of_drives: Vec<String> = layers
        .filter_map(|layer| layer.drive.as_ref())
        .flat_map(|drive| [&drive.model, &drive.serial, &drive.firmware].into_iter().flatten())
        .cloned()
        .collect();
    let labels: Vec<String> =
        record.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let campaign = record.campaign.as_ref().map_or("", |task| &task.name);
    let mut told = vec![
        record.id.as_str(),
        &record.method.name,
        &record.started,
        &record.environment.host.name,
        campaign,
    ];
    told.extend(record.targets.iter().map(|target| target.text.as_str()));
    told.extend(of_drives.iter().chain(&labels).map(String::as_str));
    let summary = record.summary();
    told.extend(summary.flags.iter().map(|flag| flag.name()));
    let day = &record.started[..10];
    search.words.split_whitespace().all(|word| told.iter().any(|text| has(text, word)))
        && (search.method.is_empty() || search.method == record.method.name)
        && (search.host.is_empty() || search.host == record.environment.host.name)
        && (search.campaign.is_empty() || search.campaign == campaign)
        && has(&targets(record), &search.target)
        && (search.label.is_empty() || labels.iter().any(|label| has(label, &search.label)))
        && (search.drive.is_empty() || of_drives.iter().any(|text| has(text, &search.drive)))
        && (search.from.is_empty() || day >= search.from.as_str())
        && (search.to.is_empty() || day <= search.to.as_str())
        && search.state.is_none_or(|state| state == record.state)
}

/// The targets as they were typed, one behind the other.
fn targets(record: &Record) -> String {
    record.targets.iter().map(|target| target.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// The table by hand: drives that are alone below their target, their rates in order.
fn fleet_by_hand(search: &Search, records: &[Record]) -> Vec<FleetRow> {
    type Key = (String, String, String, Option<String>);
    let mut groups: BTreeMap<Key, Vec<(f64, String)>> = BTreeMap::new();
    for record in records.iter().filter(|record| fits(search, record)) {
        for cell in &record.cells {
            let stack = &record.targets[cell.target].stack;
            let drives: Vec<_> = stack.iter().filter_map(|layer| layer.drive.as_ref()).collect();
            let [drive] = drives[..] else { continue };
            let Some(model) = drive.model.clone() else { continue };
            let method = record.method.name.clone();
            let key = (method, cell.name.clone(), model, drive.firmware.clone());
            let host = record.environment.host.name.clone();
            groups.entry(key).or_default().push((cell.iops, host));
        }
    }
    let row = |((method, cell, drive, firmware), mut rates): (Key, Vec<(f64, String)>)| {
        rates.sort_by(|one, two| one.0.total_cmp(&two.0));
        let n = rates.len();
        let (low, high) = (rates[(n - 1) / 2].0, rates[n / 2].0);
        let hosts: std::collections::BTreeSet<&String> =
            rates.iter().map(|(_, host)| host).collect();
        FleetRow {
            method,
            cell,
            drive,
            firmware,
            cells: n as u64,
            hosts: hosts.len() as u64,
            iops_min: rates[0].0,
            iops_median: if n % 2 == 1 { low } else { f64::midpoint(low, high) },
            iops_max: rates[n - 1].0,
        }
    };
    groups.into_iter().map(row).collect()
}

fn said<T>(outcome: Result<T, StoreError>) -> Result<T, String> {
    outcome.map_err(|error| error.to_string())
}

fn place(text: &str) -> Place {
    Place::of(Path::new(text), Some(super::connect))
}

fn push_all(shared: &mut Store, local: &Store) -> usize {
    let lacking = shared.lacks(&local.ended().expect("lists")).expect("asks");
    for (run, id) in &lacking {
        shared.push(&local.load(&run.id).expect("loads"), run, id).expect("pushes");
    }
    lacking.len()
}

/// Every search finds in both what fits it by hand.
fn searched_alike(
    file: &Store,
    base: &Store,
    records: &[Record],
    listed: &[RunSummary],
) -> Result<(), TestCaseError> {
    for search in searches() {
        let expected: Vec<RunSummary> = listed
            .iter()
            .filter(|run| records.iter().any(|it| it.id == run.id && fits(&search, it)))
            .cloned()
            .collect();
        for store in [file, base] {
            let all = store.search(&search, 0, 100).expect("searches");
            let ids =
                |runs: &[RunSummary]| runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
            prop_assert_eq!(ids(&all.runs), ids(&expected), "{:?} in {}", search, store.place());
            prop_assert_eq!(all.count, expected.len() as u64);
            let page = store.search(&search, 1, 2).expect("searches");
            prop_assert_eq!(page.count, all.count);
            let one = expected.len().min(1);
            prop_assert_eq!(ids(&page.runs), ids(&expected[one..expected.len().min(3)]));
        }
    }
    for search in searches() {
        let expected = fleet_by_hand(&search, records);
        prop_assert_eq!(&base.fleet(&search).expect("reads"), &expected);
        prop_assert_eq!(&file.fleet(&search).expect("reads"), &expected);
    }
    Ok(())
}

/// Every run is found by its names in both, and is the same.
fn named_alike(file: &Store, base: &Store, records: &[Record]) -> Result<(), TestCaseError> {
    prop_assert_eq!(base.methods().expect("lists"), file.methods().expect("lists"));
    for record in records {
        let id = record.id.as_str();
        prop_assert_eq!(&base.load(id).expect("loads"), record);
        prop_assert_eq!(base.summary(id).expect("reads"), file.summary(id).expect("reads"));
        let cells = |store: &Store| {
            let news = store.news(id, 0).expect("reads").expect("is there");
            (news.state, news.cells, news.changed)
        };
        prop_assert_eq!(cells(base), cells(file));
    }
    let ids: Vec<&str> = records.iter().rev().map(|record| record.id.as_str()).collect();
    let ordered = |store: &Store| store.oldest_first(&ids).expect("reads");
    prop_assert_eq!(ordered(base), ordered(file));
    let words =
        ["last", "last~1", "last~30", "before", "label=After trim", "x=y", "a", "befroe", ""];
    for word in words.into_iter().map(str::to_owned).chain(ids.iter().map(|id| id[..3].to_owned()))
    {
        let id = |store: &Store| said(store.resolve(&word)).map(|record| record.id);
        prop_assert_eq!(id(base), id(file), "{}", word);
    }
    Ok(())
}

/// No run is left, and the next one is the first.
const EMPTIED: &str = "TRUNCATE drivelab.run RESTART IDENTITY CASCADE";

/// All histograms as one, `lower|count` a row.
fn merged(histogram: &str) -> String {
    format!(
        "SELECT CAST(lower_ns AS text) || '|' || CAST(CAST(sum(count) AS bigint) AS text)
         FROM {histogram} GROUP BY lower_ns ORDER BY lower_ns"
    )
}

fn answer_alike(runs: &[Drawn], server: &Postgresql) -> Result<(), TestCaseError> {
    let address = &server.address("alike");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("history.sqlite");
    let mut file = Store::open(&path).expect("opens");
    let mut records: Vec<Record> = Vec::new();
    for drawn in runs {
        let record = record(drawn);
        file.save(&record).expect("saves");
        records.retain(|known| known.id != record.id);
        records.push(without_nul(&record));
    }
    let mut base = Store::at_to_push(&place(address), Tables::Made).expect("opens");
    server.ask("alike", EMPTIED);
    prop_assert_eq!(push_all(&mut base, &file), records.len());
    prop_assert_eq!(push_all(&mut base, &file), 0, "pushed twice it is there once");
    let base = Store::at(&place(address)).expect("opens");
    let listed = file.list(100).expect("lists");
    prop_assert_eq!(&base.list(100).expect("lists"), &listed);
    searched_alike(&file, &base, &records, &listed)?;
    named_alike(&file, &base, &records)?;
    let mut by_hand: BTreeMap<i64, i64> = BTreeMap::new();
    let cells = records.iter().flat_map(|record| &record.cells);
    for [lower, count] in
        cells.filter_map(|cell| cell.latency.as_ref()).flat_map(|it| &it.histogram)
    {
        *by_hand.entry(*lower as i64).or_default() += *count as i64;
    }
    let by_hand: Vec<String> =
        by_hand.into_iter().map(|(lower, count)| format!("{lower}|{count}")).collect();
    prop_assert_eq!(server.ask("alike", &merged("drivelab.histogram")), by_hand.join("\n"));
    let opened = rusqlite::Connection::open(&path).expect("opens");
    let mut statement = opened.prepare(&merged("histogram")).expect("is understood");
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("merges");
    prop_assert_eq!(rows.collect::<Result<Vec<_>, _>>().expect("rows"), by_hand);
    Ok(())
}

#[test]
fn a_file_and_a_database_answer_every_question_alike() {
    let server = need!(Postgresql::start(), "postgresql");
    server.database("alike");
    let mut runner =
        TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    runner
        .run(&vec(drawn(), 0..14), |runs| answer_alike(&runs, &server))
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn two_machines_may_draw_the_same_id_and_a_run_that_goes_on_is_pushed_anew() {
    let server = need!(Postgresql::start(), "postgresql");
    let address = server.database("ids");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let machine = |name: &str| {
        let mut store = Store::open(&directory.path().join(name)).expect("opens");
        let mut record = example();
        record.environment.host.name = name.to_owned();
        store.save(&record).expect("saves");
        (store, record)
    };
    let (one, first) = machine("attic");
    let (mut two, second) = machine("cellar");
    let mut base = Store::at_to_push(&place(&address), Tables::Made).expect("opens");
    for local in [&one, &two, &one, &two] {
        push_all(&mut base, local);
    }
    let listed = base.list(9).expect("lists");
    assert_eq!(listed.len(), 2, "none is lost, none is twice");
    assert_eq!(listed[1].id, first.id);
    let longer = listed[0].id.clone();
    assert!(longer.starts_with(&second.id) && longer.len() == second.id.len() + 8, "{longer}");
    assert_eq!(base.load(&first.id).expect("loads"), first);
    assert_eq!(base.load(&longer).expect("loads"), Record { id: longer.clone(), ..second.clone() });

    let more = Record { cells: second.cells[..1].to_vec(), ..second.clone() };
    let earlier = two.ended().expect("lists");
    two.save(&more).expect("saves");
    assert_eq!(push_all(&mut base, &two), 1);
    assert_eq!(base.load(&longer).expect("loads").cells, more.cells);
    // A slow one that read the run before changes nothing.
    let late = base.push(&second, &earlier[0], &longer).expect("pushes");
    assert_eq!((late, base.load(&longer).expect("loads").cells), (Pushed::Known, more.cells));
}

/// The record as drivelabs wrote it before they kept what is searched for in columns.
fn as_written_before(record: &Record) -> String {
    let header =
        serde_json::to_string(&Record { cells: Vec::new(), ..record.clone() }).expect("JSON");
    let summary = serde_json::to_string(&record.summary()).expect("JSON");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut rows = format!(
        "SET search_path TO drivelab;
         INSERT INTO run (id, started, state, method, target, summary, document) VALUES
         ({}, {}, 'complete', {}, {}, {}, {});",
        quoted(&record.id),
        quoted(&record.started),
        quoted(&record.method.name),
        quoted(&targets(record)),
        quoted(&summary),
        quoted(&header)
    );
    for (at, cell) in record.cells.iter().enumerate() {
        let cell = quoted(&serde_json::to_string(cell).expect("JSON"));
        rows += &format!("INSERT INTO cell (run, position, document) VALUES (1, {at}, {cell});");
    }
    for (key, value) in &record.labels {
        rows += &format!("INSERT INTO label VALUES (1, {}, {});", quoted(key), quoted(value));
    }
    rows
}

#[test]
fn tables_of_another_version_are_refused_and_older_ones_brought_up_on_demand() {
    let server = need!(Postgresql::start(), "postgresql");
    let address = server.database("versions");
    let refused =
        |tables| Store::at_to_push(&place(&address), tables).err().expect("refused").to_string();
    let blank = Store::at(&place(&address)).err().expect("refused").to_string();
    assert!(blank.contains("drivelab push"), "{blank}");
    let record = example();
    let made_as = |known| {
        server.ask("versions", "DROP SCHEMA IF EXISTS drivelab CASCADE");
        let text = place(&address);
        let Place::Server(there) = &text else { unreachable!("an address") };
        sql::made_as(&*super::connect(there).expect("connects"), &text, known).expect("makes");
    };
    for known in 3..sql::KNOWN {
        made_as(known);
        assert!(refused(Tables::Made).contains(&format!("schema {known}")));
        let store = Store::at_to_push(&place(&address), Tables::BroughtUp).expect("is brought up");
        assert_eq!(store.list(9).expect("lists"), []);
    }
    for known in 1..3 {
        made_as(known);
        let rows = as_written_before(&record);
        server.ask("versions", &rows);
        let told = format!("schema {known}");
        assert!(refused(Tables::Kept).contains(&told) && refused(Tables::Made).contains(&told));
        let store = Store::at_to_push(&place(&address), Tables::BroughtUp).expect("is brought up");
        assert_eq!(store.load(&record.id).expect("loads"), record);
        let host = record.environment.host.name.clone();
        for search in [
            Search { host, ..Search::default() },
            Search { words: "attic before-trim".to_owned(), ..Search::default() },
        ] {
            let found = store.search(&search, 0, 9).expect("searches");
            assert_eq!(found.runs, [record.summary()], "{search:?}");
        }
        let columns =
            "SELECT name, host, method, drive, firmware FROM drivelab.cell ORDER BY position";
        let migrated = server.ask("versions", columns);
        let mut fresh = store;
        server.ask("versions", EMPTIED);
        let run = Ended {
            id: record.id.clone(),
            host: record.environment.host.name.clone(),
            started: record.started.clone(),
            saves: 1,
        };
        fresh.push(&record, &run, &run.id).expect("pushes");
        assert_eq!(server.ask("versions", columns), migrated, "as it would be written now");
    }
    server.ask("versions", "UPDATE drivelab.schema_version SET version = 99");
    let later = refused(Tables::BroughtUp);
    assert!(later.contains("schema 99") && later.contains("newer drivelab"), "{later}");
}

/// As many runs of 997 machines, 23 models of drives with five firmwares, in both.
fn many_runs(file: &mut Store, base: &mut Store, runs: usize) {
    let mut record = example();
    record.cells.truncate(2);
    record.state = State::Complete;
    for number in 0..runs {
        record.id = format!("{number:08x}");
        record.method.name = ["quick", "oltp", "etcd", "wal"][number % 4].to_owned();
        record.environment.host.name = format!("node-{:04}", number % 997);
        record.labels = [("bay".to_owned(), format!("b{}", number % 61))].into();
        record.started = format!("2026-{:02}-{:02}T10:00:00Z", 1 + number / 9000, 1 + number % 28);
        for drive in record.targets[0].stack.iter_mut().filter_map(|layer| layer.drive.as_mut()) {
            drive.model = Some(format!("Acme {}", number % 23));
            drive.serial = Some(format!("S{number:09}"));
            drive.firmware = Some(format!("F{}", number % 5));
        }
        for cell in &mut record.cells {
            cell.iops = 1000.0 + (number * 7919 % 100_003) as f64;
        }
        file.save(&record).expect("saves");
        let run = Ended {
            id: record.id.clone(),
            host: record.environment.host.name.clone(),
            started: record.started.clone(),
            saves: 1,
        };
        base.push(&record, &run, &run.id).expect("pushes");
    }
}

/// What a site has after years. It prints; `docs/results/benchmark.md` keeps what it printed.
#[test]
#[ignore = "takes minutes: 100,000 runs into a file and a database"]
fn a_hundred_thousand_runs_are_listed_searched_and_tabled() {
    const RUNS: usize = 100_000;
    let server = need!(Postgresql::start(), "postgresql");
    let address = server.database("many");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("history.sqlite");
    let mut file = Store::open(&path).expect("opens");
    let mut base = Store::at_to_push(&place(&address), Tables::Made).expect("opens");
    let start = std::time::Instant::now();
    many_runs(&mut file, &mut base, RUNS);
    println!("{RUNS} runs in both: {:.0} s", start.elapsed().as_secs_f64());
    let opened = rusqlite::Connection::open(&path).expect("opens");
    opened.execute_batch("PRAGMA optimize").expect("is done");
    server.ask("many", "VACUUM ANALYZE");
    let words = |text: &str| Search { words: text.to_owned(), ..Search::default() };
    let questions: Vec<(&str, Search)> = vec![
        ("a word: bay=b7 (1,640 runs)", words("bay=b7 2026-03")),
        ("a serial number among the words (1 run)", words("s000054321")),
        ("a day and later", Search { from: "2026-03-01".to_owned(), ..Search::default() }),
        ("a piece of a target", Search { target: "SDB".to_owned(), ..Search::default() }),
        ("a machine", Search { host: "node-0123".to_owned(), ..Search::default() }),
        ("a drive's serial number", Search { drive: "S000054321".to_owned(), ..Search::default() }),
    ];
    let median_ms = |ask: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..7)
            .map(|_| {
                let start = std::time::Instant::now();
                ask();
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[3]
    };
    for store in [&file, &base] {
        println!("{}, ms, median of 7:", store.place());
        let time = median_ms(&mut || drop(store.list(30).expect("lists")));
        println!("  history, the last 30: {time:.1}");
        for (name, search) in &questions {
            let time = median_ms(&mut || drop(store.search(search, 0, 30).expect("searches")));
            println!("  {name}: {time:.1}");
        }
        let rows = store.fleet(&Search::default()).expect("reads").len();
        let time = median_ms(&mut || drop(store.fleet(&Search::default()).expect("reads")));
        println!("  the fleet, {rows} rows: {time:.1}");
        let one = Search { method: "wal".to_owned(), ..Search::default() };
        let since = Search { from: "2026-03-01".to_owned(), ..Search::default() };
        for (name, part) in
            [("one method", one), ("one bay", words("bay=b7")), ("since March", since)]
        {
            let time = median_ms(&mut || drop(store.fleet(&part).expect("reads")));
            println!("  the fleet, {name}: {time:.1}");
        }
    }
    assert_eq!(
        file.fleet(&Search::default()).expect("reads"),
        base.fleet(&Search::default()).expect("reads")
    );
}
