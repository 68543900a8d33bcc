//! docs/results/five-documents.md is what the binary says of every line of `studies/*/lines.toml`:
//! each command runs, each id is there, each state is computed, and nothing that the binary has is
//! left out. `cargo xtask lines --write` makes the page anew.

use crate::common;

use common::{Call, LoopDevice, MIB, ROOT};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
    time::Duration,
};
use study::{Dossier, Line, Study};
use tempfile::tempdir;

const WIDTH: usize = 100;
/// All trials of a study on a busy machine.
const LIMIT: Duration = Duration::from_secs(1800);

const HEAD: &str = "\
# The five documents, line by line

`cargo xtask lines --write` made this page from `studies/*/lines.toml` and from what the binary
says; a test holds both together. Each program, setting, machine, table, chart, conclusion and wish
of the five studies stands here in the order of its document, in our words, with its state, the
command that does it, and what is missing.

| state | means |
|---|---|
| runs | the command does it, or shows what it would do (`--dry-run`: without, it measures) |
| told | printed by `drivelab study NAME`; nothing here does it again |
| not built | drivelab has nothing for it |
| reprinted | the table's figures as printed; none follows from others, none is modelled |
| computed | some follow from other printed figures, and stand beside them |
| modelled | some stand beside a model's: fitted on them, predicted, or, of managed flash, ours |
| added | nothing of it is printed: ours |
| drawn | by `drivelab study NAME --html FILE`, with all printed values that it is drawn from |
| not printed | a chart of which the document's text has no value |

A claim's state is its verdict, a question's or wish's whether it is answered, open or not built;
[`study-format.md`](../reference/study-format.md) says how each is computed. `drivelab study NAME
--table ID` prints a table, `drivelab study NAME --claims` all claims with what each verdict rests
on.
";

/// What the binary says of a study.
struct Said {
    study: Study,
    lines: Vec<Line>,
    dossier: Dossier,
    /// What `drivelab study NAME` prints, its white space made one.
    text: String,
    /// Of each table in order: how many values of each kind, and of each basis of the modelled.
    tables: Vec<(String, BTreeMap<String, usize>)>,
    /// Of each claim in order: its words and its verdict.
    claims: Vec<(String, String, String)>,
}

fn house() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn said(study: Study) -> Said {
    let place = tempdir().expect("a place");
    let json = |words: &[&str]| -> (String, Vec<Value>) {
        let call =
            Call::new(["study", study.name(), "--quiet", "--json", "values.json"], place.path());
        let text = call.and(words).start().wait_within(LIMIT).succeeded().stdout;
        let rows = fs::read_to_string(place.path().join("values.json")).expect("values");
        (text, serde_json::from_str(&rows).expect("JSON"))
    };
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let (text, rows) = json(&[]);
    let mut tables: Vec<(String, BTreeMap<String, usize>)> = Vec::new();
    for row in rows.iter().filter(|row| !row["value"].is_null()) {
        let (id, kind) = (word(row, "table"), word(row, "kind"));
        if tables.last().is_none_or(|(last, _)| *last != id) {
            tables.push((id, BTreeMap::new()));
        }
        let kind = if kind == "modelled" { word(row, "basis") } else { kind };
        *tables.last_mut().expect("just pushed").1.entry(kind).or_default() += 1;
    }
    let claims = json(&["--claims"]).1;
    let claims =
        claims.iter().map(|row| (word(row, "id"), word(row, "text"), word(row, "verdict")));
    Said {
        study,
        lines: study.lines(),
        dossier: Dossier::open(study),
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        tables,
        claims: claims.collect(),
    }
}

/// `text` in lines of at most [`WIDTH`] columns, those after the first under the first's words.
fn item(text: &str) -> String {
    let mut lines = vec!["-".to_owned()];
    for word in unbroken(text) {
        let last = lines.last_mut().expect("one at least");
        if last.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("  {word}"));
        } else {
            *last += &format!(" {word}");
        }
    }
    lines.join("\n") + "\n"
}

/// The words of a text; what is code is one, if a line has room for it.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_open && last.len() + word.len() < WIDTH - 2 => {
                *last += &format!(" {word}");
            }
            _ => words.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    words
}

fn code(ids: &str) -> String {
    ids.split(' ').map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" ")
}

fn lacking(line: &Line) -> String {
    line.lacks.as_ref().map(|lacks| format!(" Missing: {lacks}.")).unwrap_or_default()
}

/// A program, a setting or a machine.
fn done(said: &Said, line: &Line, kind: &str, words: &str) -> String {
    let (state, how) = match (&line.run, &line.told) {
        (Some(run), _) => ("runs", format!(" `drivelab {run}`.")),
        (None, Some(_)) => ("told", String::new()),
        (None, None) => ("not built", String::new()),
    };
    let name = said.study.name();
    let told = line.told.as_ref().is_none_or(|told| said.text.contains(told.as_str()));
    assert!(told, "{name}: `drivelab study {name}` does not print {:?}", line.told);
    let silent = state == "not built" && line.lacks.is_none();
    assert!(!silent, "{name}: {words}: neither run nor told: say in `lacks` why");
    item(&format!("*{}*: {kind}: {words}: **{state}**.{how}{}", line.at, lacking(line)))
}

fn table_row(said: &Said, line: &Line, id: &str) -> String {
    let found = said.tables.iter().find(|(table, _)| table == id);
    let name = said.study.name();
    let (_, counts) = found.unwrap_or_else(|| panic!("{name} has no table `{id}`: lines.toml"));
    let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
    let (computed, ours) = (count("computed") + count("implied"), count("ours"));
    let modelled = count("fitted") + count("predicted") + ours;
    let state = match (count("published"), computed, modelled) {
        (0, _, _) => "added",
        (_, 0, 0) => "reprinted",
        (_, _, 0) => "computed",
        (_, 0, _) => "modelled",
        _ => "computed, modelled",
    };
    let shown = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    let counts = [count("published"), computed, count("fitted"), count("predicted"), ours];
    let counts = counts.map(shown).join(" | ");
    format!("| {} | `{id}` | {state} | {counts} |\n", line.at)
}

fn chart_row(said: &Said, line: &Line, chart: &str) -> String {
    let ids = line.draws.as_deref().unwrap_or_default();
    let (mut points, mut is_theirs) = (0, false);
    for id in ids.split_whitespace() {
        let place = said.dossier.file.figures.iter().position(|figure| figure.id == id);
        let place = place.unwrap_or_else(|| panic!("{}: no [[figure]] {id}", said.study.name()));
        let figure = &said.dossier.file.figures[place];
        is_theirs |= figure.printed.is_some();
        let printed =
            |at: &&usize| matches!(said.dossier.cells[**at].printed, study::Printed::Figure(..));
        points += said.dossier.figures[place].iter().filter(printed).count();
    }
    let state = match (line.at.as_str(), is_theirs) {
        ("added", _) => "added",
        (_, true) => "drawn",
        (_, false) => "not printed",
    };
    let points = if points == 0 { String::new() } else { points.to_string() };
    let shows = line.shows.as_deref().unwrap_or_default();
    let near = if ids.is_empty() || ids.len() > 30 { String::new() } else { code(ids) };
    format!("| {chart} | {shows} | {state} | {near} | {points} |\n")
}

fn section(said: &Said) -> String {
    let name = said.study.name();
    let file = &said.dossier.file;
    let by = file.authors.as_ref().map(|authors| format!("{authors}: ")).unwrap_or_default();
    let title = format!("{by}*{}*, {}.", file.title, file.source);
    let mut text = format!("\n## {name}\n\n{}", &item(&title)[2..].replace("\n  ", "\n"));
    let (mut doing, mut tables, mut charts, mut claims) =
        <(String, String, String, String)>::default();
    let mut lacks = String::new();
    for line in &said.lines {
        for (kind, words) in
            [("program", &line.program), ("setting", &line.setting), ("machine", &line.machine)]
        {
            doing.extend(words.iter().map(|words| done(said, line, kind, words)));
        }
        for id in line.table.iter().flat_map(|ids| ids.split(' ')) {
            tables += &table_row(said, line, id);
        }
        charts.extend(line.chart.iter().map(|chart| chart_row(said, line, chart)));
        if let (Some(what), Some(_)) = (line.table.as_ref().or(line.chart.as_ref()), &line.lacks) {
            lacks += &item(&format!("{what}:{}", &lacking(line)[" Missing:".len()..]));
        }
        for id in line.claims.iter().flat_map(|ids| ids.split(' ')) {
            let found = said.claims.iter().find(|(claim, ..)| claim == id);
            let (_, words, verdict) =
                found.unwrap_or_else(|| panic!("{name} has no claim `{id}`: lines.toml"));
            claims += &item(&format!("*{}*: `{id}`: **{verdict}**. {words}", line.at));
        }
    }
    text += &format!("\n### Programs, settings, machines\n\n{doing}\n### Tables\n\n");
    text += "| where | table | state | printed | computed | fitted | predicted | ours |\n";
    text += &format!("|---|---|---|---|---|---|---|---|\n{tables}\n### Charts\n\n");
    text += "| chart | shows | state | drawn by | printed values |\n|---|---|---|---|---|\n";
    text += &charts;
    if !lacks.is_empty() {
        text += &format!("\nMissing of tables and charts:\n\n{lacks}");
    }
    text + &format!("\n### What it says and asks\n\n{claims}")
}

/// What the binary has and `lines.toml` does not name, or names twice.
fn unnamed(said: &Said) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut compare = |kind: &str, have: Vec<&str>, named: Vec<&str>| {
        let path = format!("studies/{}/lines.toml", said.study.name());
        for id in have.iter().filter(|id| !named.contains(id)) {
            complaints.push(format!("{path}: add  [[line]] at = \"WHERE\" {kind} = \"{id}\""));
        }
        let mut seen = BTreeSet::new();
        let twice = named.iter().filter(|id| !seen.insert(**id));
        complaints.extend(twice.map(|id| format!("{path}: {kind} \"{id}\" stands there twice")));
    };
    let words = |pick: fn(&Line) -> &Option<String>| -> Vec<&str> {
        said.lines
            .iter()
            .filter_map(|line| pick(line).as_deref())
            .flat_map(|ids| ids.split(' '))
            .collect()
    };
    compare(
        "table",
        said.tables.iter().map(|(id, _)| id.as_str()).collect(),
        words(|line| &line.table),
    );
    compare(
        "claims",
        said.claims.iter().map(|(id, ..)| id.as_str()).collect(),
        words(|line| &line.claims),
    );
    // A chart of ours may come near two of the document's.
    let drawn: BTreeSet<&str> = words(|line| &line.draws).into_iter().collect();
    let figures = said.dossier.file.figures.iter().map(|figure| figure.id.as_str());
    compare("draws", figures.collect(), drawn.into_iter().collect());
    complaints
}

/// The words of a command, as a shell takes them: what stands between quotation marks is one.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("one at least").push(letter),
        }
    }
    words
}

#[test]
#[ignore = "a minute and a half of all processors: `cargo xtask lines`, which .ci/run calls"]
fn every_line_of_the_five_documents_has_the_state_that_the_binary_gives_it() {
    // One after the other: each takes all processors, and other tests want some.
    let studies: Vec<Said> = Study::DOCUMENTS.map(said).into();
    let complaints: Vec<String> = studies.iter().flat_map(unnamed).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let page = HEAD.to_owned() + &studies.iter().map(section).collect::<String>();
    let path = house().join("docs/results/five-documents.md");
    let wide: Vec<_> = page.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert!(wide.is_empty(), "over {WIDTH} columns: {wide:#?}");
    if env::var_os("DRIVELAB_WRITE_PAGE").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    let carried = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(carried.lines()).find(|(new, old)| new != old);
    let cure = "`cargo xtask lines --write` makes docs/results/five-documents.md anew";
    assert!(page == carried, "{cure}; the first difference, new and old: {differs:#?}");
}

#[test]
fn every_command_of_the_five_documents_runs() {
    // Plans of file systems on loop devices and on models say what they would need, and end.
    if !common::can_make_file_systems() {
        return;
    }
    need_programs!["nbdfuse", "mkfs.btrfs"];
    let mut count = 0;
    // A study's file is as large as 32 GiB, and a full machine's plan was refused: the room is
    // promised by a sparse file.
    let device = need!(LoopDevice::of_zeros(96 * 1024 * MIB), ROOT);
    let place = need!(device.mounted("mkfs.ext4", &[]), ROOT);
    for study in Study::DOCUMENTS {
        for run in study.lines().iter().filter_map(|line| line.run.as_deref()) {
            let outcome = Call::new(words(run), place.path()).done();
            assert_eq!(
                outcome.code,
                Some(0),
                "{}: drivelab {run}\n{}",
                study.name(),
                outcome.stderr
            );
            count += 1;
        }
    }
    assert!(count >= 30, "{count} commands");
}
