//! A study as a document: what it asks and how it fares, its charts, tables, claims and method.

pub mod charts;
pub mod claims;
pub mod json;
pub mod tables;
pub mod terminal;
pub mod yours;

use crate::{BadClaim, Dossier, Models, TableFile, Verdict};
use report::{
    chart::{Column, Entry, Table, Unit},
    document::{Block, Document, Highlight, Reading, Section},
};

/// The whole study.
///
/// # Errors
/// A claim's expression that is wrong.
pub fn document(dossier: &Dossier, models: &Models) -> Result<Document, BadClaim> {
    let file = &dossier.file;
    let counts = verdicts(dossier, models)?;
    let by = file.authors.as_ref().map(|authors| format!("{authors}. ")).unwrap_or_default();
    let mut summary = vec![file.asks.clone()];
    summary.extend(file.lacking.clone());
    summary.push(
        "The study is run again here on models of its own drives. What it published stands beside what the models give; \
         a note stands where it contradicts itself."
            .to_owned(),
    );
    summary.extend(tables::summary(dossier, models));
    if !dossier.claims.is_empty() {
        summary.push(format!("{} claims: {}.", dossier.claims.len(), claims::tally(&counts)));
    }
    let mut sections = vec![charts_of(dossier, models)];
    sections.push(tables_of(dossier, models));
    sections.push(claims_of(dossier, models)?);
    sections.push(method(dossier));
    Ok(Document {
        title: file.title.clone(),
        origin: format!("{by}{}. Run again by drivelab {}", file.source, env!("CARGO_PKG_VERSION")),
        summary,
        highlights: highlights(dossier, models, &counts),
        doubts: None,
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    })
}

fn verdicts(dossier: &Dossier, models: &Models) -> Result<[usize; Verdict::ALL.len()], BadClaim> {
    let mut counts = [0; Verdict::ALL.len()];
    for claim in &dossier.claims {
        let judgement = claim.judge(&dossier.printed, Some(&models.book))?;
        counts[judgement.verdict as usize] += 1;
    }
    Ok(counts)
}

fn highlights(
    dossier: &Dossier,
    models: &Models,
    counts: &[usize; Verdict::ALL.len()],
) -> Vec<Highlight> {
    let tile = |name: &str, value: f64, unit: Unit, note: String| Highlight {
        name: name.to_owned(),
        readings: vec![Reading { note, ..Reading::new(value, unit) }],
    };
    let mut highlights = Vec::new();
    let count = |name: &str, count: usize, note| tile(name, count as f64, Unit::Number, note);
    for (is_fitted, word) in [(true, "fitted"), (false, "predicted")] {
        let Some(all) = models.errors(dossier, is_fitted) else { continue };
        let of = format!("of {} {word} figures", all.cells);
        let median = format!("median error, {word}");
        highlights.push(tile(&median, all.median * 100.0, Unit::Percent, of.clone()));
        highlights.push(count(&format!("within a tenth, {word}"), all.within_tenth, of));
    }
    if dossier.claims.is_empty() {
        return highlights;
    }
    let hold = counts[Verdict::Supported as usize] + counts[Verdict::Rounded as usize];
    let claims = format!("of {} claims", dossier.claims.len());
    highlights.push(count("claims that its figures bear out", hold, claims.clone()));
    let not = counts[Verdict::Contradicted as usize];
    highlights.push(count("claims that they contradict", not, claims));
    highlights
}

fn charts_of(dossier: &Dossier, models: &Models) -> Section {
    let figures = (0..dossier.figures.len()).filter_map(|at| charts::chart(dossier, models, at));
    let blocks = figures.map(|figure| Block::Figure(Box::new(figure))).collect();
    Section { title: "Charts".to_owned(), sheet: "Charts", blocks }
}

fn tables_of(dossier: &Dossier, models: &Models) -> Section {
    let blocks =
        tables::shown(dossier).flat_map(|table| table_of(dossier, models, table)).collect();
    Section { title: "Tables".to_owned(), sheet: "Tables", blocks }
}

/// A table's panels, its notes under them.
fn table_of(dossier: &Dossier, models: &Models, table: &TableFile) -> Vec<Block> {
    let printout = tables::printout(dossier, models, table);
    let mut blocks = Vec::new();
    for (panel, grid) in &printout.panels {
        let panel = if panel.is_empty() { String::new() } else { format!(", {panel}") };
        let title = format!("{}: {}{panel}", table.id, tables::title(dossier, models, table));
        let columns = [""].into_iter().chain(grid.heads.iter().map(String::as_str));
        let row = |line: &tables::Line| {
            let fields = [&line.label].into_iter().chain(&line.fields);
            fields.map(|field| Entry::text(field)).collect()
        };
        blocks.push(Block::Table(Table {
            title,
            columns: columns.map(Column::text).collect(),
            rows: grid.lines.iter().map(row).collect(),
        }));
    }
    let notes = printout.notes.iter().enumerate();
    blocks.extend(notes.map(|(at, note)| Block::Text(format!("[{}] {note}", at + 1))));
    let reasons = printout.reasons.iter();
    blocks.extend(reasons.map(|reason| Block::Text(format!("Not modelled: {reason}."))));
    blocks
}

fn claims_of(dossier: &Dossier, models: &Models) -> Result<Section, BadClaim> {
    let mut rows = Vec::new();
    for claim in &dossier.claims {
        let judgement = claim.judge(&dossier.printed, Some(&models.book))?;
        let because = claims::because(dossier, &judgement);
        let fields = [
            claim.file.text.as_str(),
            claim.file.kind.name(),
            &claim.file.printed,
            judgement.verdict.name(),
            &claim.rule().unwrap_or_default(),
            &because,
        ];
        rows.push(fields.map(Entry::text).to_vec());
    }
    let heads = ["claim", "kind", "printed", "verdict", "rule", "why"];
    let columns = heads.map(Column::text).to_vec();
    // A section without blocks is left out.
    let table = (!rows.is_empty()).then(|| Table { title: String::new(), columns, rows });
    let blocks = table.map(Block::Table).into_iter().collect();
    Ok(Section { title: "Claims".to_owned(), sheet: "Claims", blocks })
}

fn method(dossier: &Dossier) -> Section {
    let file = &dossier.file;
    let words = |title: &str, heads: &[&str], rows: Vec<Vec<Entry>>| {
        let columns = heads.iter().map(|head| Column::text(head)).collect();
        Block::Table(Table { title: title.to_owned(), columns, rows })
    };
    let steps = file.steps.iter().map(|step| [&step.did, &step.ours].map(|text| Entry::text(text)));
    let steps = steps.map(Vec::from).collect();
    let device = |device: &crate::Device| {
        let word = |name: &str| dossier.word("metric", name);
        let facts = device.facts.iter();
        let facts = facts.map(|(name, fact)| format!("{} {}", word(name), fact.text()));
        let facts = facts.collect::<Vec<_>>().join(", ");
        [&device.short, &device.title, &facts].map(|text| Entry::text(text)).to_vec()
    };
    let mut blocks = vec![
        words("What it did, and what stands for it here", &["the study", "here"], steps),
        words("Devices", &["name", "device", "stated"], file.devices.iter().map(device).collect()),
    ];
    let hosts = file.hosts.iter().map(|host| {
        let names = host.measured.iter().map(|device| dossier.word("device", device));
        let names = names.collect::<Vec<_>>().join(", ");
        [&host.name, &host.has, &names].map(|text| Entry::text(text)).to_vec()
    });
    let commands = file.commands.iter();
    let commands =
        commands.map(|command| [&command.does, &command.line].map(|text| Entry::text(text)));
    blocks.push(words("Machines", &["machine", "has", "measured"], hosts.collect()));
    blocks.push(words("Commands", &["what for", "command"], commands.map(Vec::from).collect()));
    let notes = file.notes.iter().filter(|note| note.at.is_none());
    blocks.extend(notes.map(|note| Block::Text(note.text.clone())));
    Section { title: "Method".to_owned(), sheet: "Method", blocks }
}
