//! The tables of a study: what is printed, and beside it what was computed and modelled.

use crate::{Basis, Beside, Dossier, Models, Printed, TableFile, relative_error};
use report::{
    number,
    terminal::{Align, Page, Paint, Table},
};

/// An error beyond this is painted.
const FAR: f64 = 0.1;

/// A table ready to be shown anywhere.
pub struct Printout<'d> {
    /// Its grids, each under a title that may be empty.
    pub panels: Vec<(String, Grid)>,
    /// What the marks `[1]`, `[2]` stand for.
    pub notes: Vec<&'d str>,
    /// Why cells have no model, each reason once.
    pub reasons: Vec<&'d str>,
}

/// Lines of fields under heads.
pub struct Grid {
    /// Over the fields.
    pub heads: Vec<String>,
    /// In order: what is printed, and under it what is beside it.
    pub lines: Vec<Line>,
}

/// A line of a grid.
pub struct Line {
    /// What it says: the row's name, or `- fitted`.
    pub label: String,
    /// As many as there are heads.
    pub fields: Vec<String>,
    /// How it stands out.
    pub paint: Paint,
}

/// The tables that the study printed or that models fill; not those of other studies, nor those
/// that only a user's run fills.
pub fn shown(dossier: &Dossier) -> impl Iterator<Item = &TableFile> {
    let own = dossier.file.tables.iter().filter(|table| table.of.is_none());
    own.filter(|table| dossier.of_table(&table.id).next().is_some())
}

/// One table on a terminal: its panels, its notes, and why cells have no model.
pub fn table(page: &mut Page, dossier: &Dossier, models: &Models, table: &TableFile) {
    page.heading(&format!("{}  {}", table.id, title(dossier, models, table)));
    let printout = printout(dossier, models, table);
    for (title, grid) in &printout.panels {
        if !title.is_empty() {
            page.gap();
            page.line(title);
        }
        let mut shown = Table::of_numbers("", grid.heads.iter().map(String::as_str));
        for line in &grid.lines {
            let fields = [&line.label].into_iter().chain(&line.fields);
            shown.painted_row(fields.map(|field| (field.clone(), line.paint)).collect());
        }
        page.table(&shown);
    }
    for (number, note) in printout.notes.iter().enumerate() {
        page.hanging(&format!("[{}] ", number + 1), note, Paint::Plain);
    }
    for reason in printout.reasons {
        page.hanging("not modelled: ", reason, Paint::Alert);
    }
}

/// A table's panels and what stands under them.
pub fn printout<'d>(
    dossier: &'d Dossier,
    models: &'d Models,
    table: &'d TableFile,
) -> Printout<'d> {
    let cells: Vec<usize> = dossier.of_table(&table.id).collect();
    let mut notes = Vec::new();
    let sheet = Sheet { dossier, models, table };
    let mut panels = Vec::new();
    for panel in sheet.distinct(&cells, &table.panels.iter().collect::<Vec<_>>()) {
        let of_panel: Vec<usize> = cells
            .iter()
            .copied()
            .filter(|at| sheet.keys(*at, &table.panels.iter().collect::<Vec<_>>()) == panel)
            .collect();
        let title = sheet.named(&panel, &table.panels.iter().cloned().collect::<Vec<_>>());
        panels.push((title, sheet.grid(&of_panel, &mut notes)));
    }
    let mut reasons: Vec<&str> = Vec::new();
    for reason in cells.iter().filter_map(|at| models.values[*at].as_ref()?.as_ref().err()) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    let notes = notes.into_iter().map(|note| dossier.file.notes[note].text.as_str()).collect();
    Printout { panels, notes, reasons }
}

/// What a table shows, its unit, and, where models alone fill it, that they predict.
pub fn title(dossier: &Dossier, models: &Models, table: &TableFile) -> String {
    let mut bases = dossier.of_table(&table.id).map(|at| &models.bases[at]);
    let is_predicted = table.published.is_none()
        && table.stacks.iter().any(|row| row.stack.is_some())
        && bases.all(|basis| *basis == Some(Basis::Predicted));
    let basis = if is_predicted { "; predicted" } else { "" };
    format!("{} ({}{basis})", table.title, table.unit)
}

/// How far the models are, in a sentence for those that were fitted on the figures and one for
/// those that predict them.
pub fn summary(dossier: &Dossier, models: &Models) -> Vec<String> {
    let sentence = |(is_fitted, what): (bool, &str)| {
        let all = models.errors(dossier, is_fitted)?;
        Some(format!(
            "{} printed figures {what}: median error {}, mean {}, {} of {} within 10 %.",
            all.cells,
            number::percent(all.median),
            number::percent(all.mean),
            all.within_tenth,
            all.cells
        ))
    };
    let kinds = [
        (true, "have a model that was fitted on them"),
        (false, "are predicted by a model that did not see them"),
    ];
    kinds.into_iter().filter_map(sentence).collect()
}

/// Modelled over published less 1.
fn error(dossier: &Dossier, models: &Models, at: usize) -> Option<f64> {
    let Printed::Figure(published, _) = dossier.cells[at].printed else { return None };
    let modelled = models.values[at].as_ref()?.as_ref().ok()?;
    Some(relative_error(*modelled, published))
}

/// A value of `table` as it prints them.
pub fn text(table: &TableFile, metric: &str, value: f64) -> String {
    match metric {
        "bytes_per_s" => number::bm_flash_bandwidth(value),
        _ => {
            // Halves go up, as people round: a price of 23.125 is printed as 23.13.
            let scale = 10f64.powi(table.decimals as i32);
            format!("{:.*}", table.decimals, (value * scale + 1e-7).round() / scale)
        }
    }
}

type Keys = Vec<Option<String>>;

struct Sheet<'s> {
    dossier: &'s Dossier,
    models: &'s Models,
    table: &'s TableFile,
}

impl Sheet<'_> {
    fn keys(&self, at: usize, of: &[&String]) -> Keys {
        of.iter().map(|key| self.dossier.cells[at].at.get(*key).cloned()).collect()
    }

    /// The keys that occur: sizes and counts in their order, others as they come.
    fn distinct(&self, cells: &[usize], of: &[&String]) -> Vec<Keys> {
        let mut seen: Vec<Keys> = Vec::new();
        for at in cells {
            let keys = self.keys(*at, of);
            if !seen.contains(&keys) {
                seen.push(keys);
            }
        }
        let came = seen.clone();
        let rank = |keys: &Keys| {
            let one = |(place, (key, name)): (usize, (&Option<String>, &&String))| {
                let counted = ["block", "threads", "file"].contains(&name.as_str());
                let number = key.as_ref().and_then(|key| key.parse::<usize>().ok());
                let first = came.iter().position(|other| other[place] == *key);
                number.filter(|_| counted).or(first)
            };
            keys.iter().zip(of).enumerate().map(one).collect::<Vec<_>>()
        };
        seen.sort_by_key(rank);
        seen
    }

    fn grid(&self, cells: &[usize], notes: &mut Vec<usize>) -> Grid {
        let (row_keys, column_keys): (Vec<_>, Vec<_>) =
            (self.table.rows.iter().collect(), self.table.columns.iter().collect());
        let columns = self.distinct(cells, &column_keys);
        let heads: Vec<String> =
            columns.iter().map(|keys| self.named(keys, &self.table.columns)).collect();
        let mut lines = Vec::new();
        for row in self.distinct(cells, &row_keys) {
            let find = |column: &Keys| {
                let here = |at: &&usize| {
                    self.keys(**at, &row_keys) == row && self.keys(**at, &column_keys) == *column
                };
                cells.iter().find(here).copied()
            };
            let found: Vec<Option<usize>> = columns.iter().map(find).collect();
            lines.extend(self.row(&self.named(&row, &self.table.rows), &found, notes));
        }
        Grid { heads, lines }
    }

    /// What a row, a column or a panel is called.
    fn named(&self, keys: &Keys, of: &[String]) -> String {
        let one = |(value, key): (&Option<String>, &String)| {
            Some(self.dossier.word(key, value.as_ref()?))
        };
        keys.iter().zip(of).filter_map(one).collect::<Vec<_>>().join(" ")
    }

    /// The lines of a row, each only if it says something.
    fn row(&self, name: &str, found: &[Option<usize>], notes: &mut Vec<usize>) -> Vec<Line> {
        let cells = || found.iter().flatten().copied();
        let is = |printed: &Printed| cells().any(|at| self.dossier.cells[at].printed == *printed);
        let common = self.common_notes(found);
        let name = &(name.to_owned() + &marks(&common, notes));
        let mut published = Vec::new();
        for at in found {
            published.push(at.map_or_else(String::new, |at| self.published(at, &common, notes)));
        }
        let value = |value: fn(&Self, usize) -> Option<String>| -> Vec<String> {
            found.iter().map(|at| at.and_then(|at| value(self, at)).unwrap_or_default()).collect()
        };
        let added = is(&Printed::Added);
        let mut lines = Vec::new();
        if !added {
            lines.push((name.to_owned(), published, Paint::Plain));
        }
        let follows = format!("- {}", self.table.follows.name());
        lines.push((follows, value(Self::computed), Paint::Plain));
        let against = match self.table.beside {
            Beside::Model => {
                lines.push(("- fitted".to_owned(), value(Self::fitted), Paint::Plain));
                lines.push(("- predicted".to_owned(), value(Self::predicted), Paint::Plain));
                "- error"
            }
            Beside::Ours => {
                lines.push(("- ours".to_owned(), value(Self::modelled), Paint::Plain));
                "- ratio"
            }
        };
        let far =
            cells().filter_map(|at| error(self.dossier, self.models, at)).any(|e| e.abs() > FAR);
        let paint =
            if far && self.table.beside == Beside::Model { Paint::Alert } else { Paint::Faint };
        lines.push((against.to_owned(), value(Self::against), paint));
        lines.retain(|(_, fields, _)| fields.iter().any(|field| !field.is_empty()));
        if added && let Some(first) = lines.first_mut() {
            first.0 = name.to_owned();
        }
        lines.into_iter().map(|(label, fields, paint)| Line { label, fields, paint }).collect()
    }

    /// Notes that stand at every figure of a row: they are marked at its name.
    fn common_notes(&self, found: &[Option<usize>]) -> Vec<usize> {
        let is_figure = |at: &usize| matches!(self.dossier.cells[*at].printed, Printed::Figure(..));
        let mut figures = found.iter().flatten().copied().filter(is_figure);
        let Some(first) = figures.next() else { return Vec::new() };
        let mut common = self.dossier.notes[first].clone();
        let mut several = false;
        for at in figures {
            common.retain(|note| self.dossier.notes[at].contains(note));
            several = true;
        }
        if several { common } else { Vec::new() }
    }

    fn published(&self, at: usize, common: &[usize], notes: &mut Vec<usize>) -> String {
        let text = match &self.dossier.cells[at].printed {
            Printed::Figure(_, text) => text.clone(),
            Printed::Blank => return "-".to_owned(),
            Printed::Added => String::new(),
        };
        let own = self.dossier.notes[at].iter().copied().filter(|note| !common.contains(note));
        text + &marks(&own.collect::<Vec<_>>(), notes)
    }

    fn computed(&self, at: usize) -> Option<String> {
        self.dossier.computed[at].map(|value| self.text(at, value))
    }

    fn text(&self, at: usize, value: f64) -> String {
        let metric = self.dossier.cells[at].coordinate("metric").unwrap_or_default();
        text(self.table, metric, value)
    }

    /// Not where nothing in it was modelled.
    fn modelled(&self, at: usize) -> Option<String> {
        let value = *self.models.values[at].as_ref()?.as_ref().ok()?;
        let is_modelled = self.models.bases[at].is_some() || self.table.beside == Beside::Ours;
        is_modelled.then(|| self.text(at, value))
    }

    /// Of a model that has seen what is printed here.
    fn fitted(&self, at: usize) -> Option<String> {
        let is_fitted = matches!(self.models.bases[at], Some(Basis::Fitted(_)));
        self.modelled(at).filter(|_| is_fitted)
    }

    /// Of a model that has not, and what follows from such values.
    fn predicted(&self, at: usize) -> Option<String> {
        let is_fitted = matches!(self.models.bases[at], Some(Basis::Fitted(_)));
        self.modelled(at).filter(|_| !is_fitted)
    }

    fn against(&self, at: usize) -> Option<String> {
        self.modelled(at)?;
        let error = error(self.dossier, self.models, at)?;
        Some(match self.table.beside {
            Beside::Model => format!("{:+.1} %", 100.0 * error),
            Beside::Ours => format!("{}x", number::three_digits(1.0 + error)),
        })
    }
}

/// `[1][2]`: the numbers of notes under the table, in the order in which they come.
fn marks(own: &[usize], notes: &mut Vec<usize>) -> String {
    let mut text = String::new();
    for note in own {
        let number = notes.iter().position(|known| known == note).unwrap_or_else(|| {
            notes.push(*note);
            notes.len() - 1
        });
        text += &format!("[{}]", number + 1);
    }
    text
}

/// A table of words: the steps of a method.
pub fn steps(page: &mut Page, dossier: &Dossier) {
    let mut table = Table::new(&[("the study", Align::Left), ("here", Align::Left)]);
    for step in &dossier.file.steps {
        table.row(vec![step.did.clone(), step.ours.clone()]);
    }
    page.table(&table);
}
