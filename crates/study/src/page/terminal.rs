//! What stands above and below the tables of a study on a terminal.

use super::tables;
use crate::Dossier;
use report::terminal::{Page, Paint};

/// What was asked, by whom, and how it was and is done.
pub fn head(page: &mut Page, dossier: &Dossier) {
    let file = &dossier.file;
    let by = file.authors.as_ref().map(|authors| format!("{authors}: ")).unwrap_or_default();
    page.heading(&format!("{by}{}. {}", file.title, file.source));
    page.line(&file.asks);
    if let Some(text) = &file.lacking {
        page.line(text);
    }
    page.gap();
    tables::steps(page, dossier);
}

/// On what it was measured, by which commands, and where the study contradicts itself outside its
/// tables.
pub fn foot(page: &mut Page, dossier: &Dossier) {
    if !dossier.file.hosts.is_empty() {
        page.heading("Machines");
    }
    for host in &dossier.file.hosts {
        let measured = host.measured.iter().map(|device| dossier.word("device", device));
        let measured = measured.collect::<Vec<_>>().join(", ");
        let text = format!("{}: {}. Measured: {measured}", host.name, host.has);
        page.hanging("- ", &text, Paint::Plain);
    }
    if !dossier.file.commands.is_empty() {
        page.heading("Commands");
    }
    for command in &dossier.file.commands {
        let text = format!("{}: {}", command.does, command.line);
        page.hanging("- ", &text, Paint::Plain);
    }
    let notes: Vec<_> = dossier.file.notes.iter().filter(|note| note.at.is_none()).collect();
    if !notes.is_empty() {
        page.heading("Also");
    }
    for note in notes {
        page.hanging("- ", &note.text, Paint::Plain);
    }
}
