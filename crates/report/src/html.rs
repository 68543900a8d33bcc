//! A document as one HTML file that asks nothing of anybody: styles, script and drawings are
//! inside, a policy in the page forbids every request. Without the script all is there, but still.

use crate::{
    HTML_MARK,
    chart::{Column, Entry, Figure, Table, Unit, slug},
    document::{Against, Block, Document, Doubt, Highlight, Reading, Section},
    markup::Escaped,
    number::{self, counted},
    svg::{self, Legend},
};
use std::fmt::Write;

/// A figure of more values is drawn in one way: a second drawing would be half a megabyte.
const BOTH_VIEWS_MAX: usize = 500;

/// A folded table of more rows stays folded on paper: its chart is there, and nobody reads numbers
/// by the page.
const ROWS_ON_PAPER: usize = 16;

/// The script of pages, as a file of its own.
pub const SCRIPT: &str = include_str!("html/script.js");

/// Where a page stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// In a file: everything is inside, and a policy in the page forbids every request.
    File,
    /// Below a server of ours, which sends the policy and gives out [`rules`] and [`SCRIPT`].
    /// `head` is markup for the page's head that fetches them, `top` markup that leads to its other
    /// pages.
    Server {
        /// Goes into the head.
        head: &'a str,
        /// Stands above the heading.
        top: &'a str,
    },
}

/// The page as the text of a file.
pub fn page(document: &Document) -> String {
    page_in(document, Place::File)
}

/// The page as text.
pub fn page_in(document: &Document, place: Place<'_>) -> String {
    let title = Escaped(&document.title);
    let (policy, rules, top) = match place {
        Place::File => {
            let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                          style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n";
            (policy, format!("<style>{}</style>", rules()), "")
        }
        Place::Server { head, top } => ("", head.to_owned(), top),
    };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{HTML_MARK}\n{policy}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n{rules}\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">To the content</a>\n{top}\
         <header><div><h1>{title}</h1><p class=\"origin\">{}</p></div>\
         <button id=\"theme\" class=\"js\" type=\"button\">Dark</button></header>\n",
        Escaped(&document.origin)
    );
    contents(&mut page, document);
    page += "<main id=\"content\">\n";
    summary(&mut page, document);
    for section in &document.sections {
        self::section(&mut page, section);
    }
    page += "</main>\n<div id=\"tip\" aria-hidden=\"true\" hidden></div>\n\
             <div id=\"said\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></div>\n";
    if place == Place::File {
        let _ = writeln!(page, "<script>{SCRIPT}</script>");
    }
    page + "</body>\n</html>\n"
}

/// The page's rules and the drawings', light, dark where the reader's system or the reader says so,
/// light on paper.
pub fn rules() -> String {
    let under =
        |selector: &str, rules: &str| rules.replace(".chart", &format!("{selector} .chart"));
    let (dark, page_dark) = (svg::CSS_DARK, include_str!("html/dark.css"));
    let system = ":root:not([data-theme=light])";
    let chosen = ":root[data-theme=dark]";
    format!(
        "{}{}@media screen and (prefers-color-scheme:dark){{{system}{{{page_dark}}}{}}}\
         @media screen{{{chosen}{{{page_dark}}}{}}}",
        include_str!("html/style.css"),
        svg::CSS,
        under(system, dark),
        under(chosen, dark)
    )
}

fn contents(page: &mut String, document: &Document) {
    *page += "<nav aria-label=\"Contents\"><ul><li><a href=\"#summary\">Summary</a></li>";
    for section in &document.sections {
        let (id, title) = (slug(&section.title), Escaped(&section.title));
        let _ = write!(page, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    *page += "</ul></nav>\n";
}

fn summary(page: &mut String, document: &Document) {
    *page +=
        "<section id=\"summary\" aria-labelledby=\"summary-h\"><h2 id=\"summary-h\">Summary</h2>\n";
    for paragraph in &document.summary {
        let _ = writeln!(page, "<p>{}</p>", Escaped(paragraph));
    }
    tiles(page, &document.highlights);
    if let Some(all) = &document.doubts {
        doubts(page, all);
    }
    *page += "</section>\n";
}

/// A tile for each highlight; in it a line for each target, with what it comes to against the
/// first.
fn tiles(page: &mut String, highlights: &[Highlight]) {
    if highlights.is_empty() {
        return;
    }
    let of_several = highlights.iter().any(|highlight| highlight.readings.len() > 1);
    *page += if of_several { "<dl class=\"tiles of-several\">" } else { "<dl class=\"tiles\">" };
    for highlight in highlights {
        let _ = write!(page, "<div><dt>{}</dt>", Escaped(&highlight.name));
        for reading in &highlight.readings {
            self::reading(page, reading);
        }
        *page += "</div>";
    }
    *page += "</dl>\n";
}

fn reading(page: &mut String, reading: &Reading) {
    *page += "<dd>";
    if !reading.of.is_empty() {
        let _ = write!(page, "<span class=\"of\">{}</span> ", Escaped(&reading.of));
    }
    let half = reading.half_width.map(|share| format!("\u{b1}{}", number::percent(share)));
    let note = Some(reading.note.clone()).filter(|note| !note.is_empty());
    let note = half.into_iter().chain(note).collect::<Vec<_>>().join(", ");
    let (value, note) = (reading.unit.text(reading.value), Escaped(note));
    let _ = write!(page, "{} <small>{note}</small>", Escaped(value));
    if let Some(Against { ratio, ci95, verdict }) = &reading.against {
        let ends = ci95.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", Unit::Ratio.text(low), Unit::Ratio.text(high))
        });
        let ratio = Unit::Ratio.text(*ratio);
        let _ = write!(
            page,
            "<span class=\"against {verdict}\">{ratio} \u{d7} the first{ends}: \
             <b>{verdict}</b></span>"
        );
    }
    for name in &reading.doubts {
        let _ = write!(page, "<a class=\"mark\" href=\"#flag-{name}\">\u{2691} {name}</a>");
    }
    *page += "</dd>";
}

fn doubts(page: &mut String, doubts: &[Doubt]) {
    if doubts.is_empty() {
        *page += "<p class=\"fine\"><b>No flags.</b> No automatic check found a reason to doubt these numbers.</p>\n";
        return;
    }
    *page += "<h3>What to know before trusting these numbers</h3>\n<ul class=\"doubts\">";
    for doubt in doubts {
        let [name, meaning, cure] = [&doubt.name, &doubt.meaning, &doubt.cure].map(Escaped);
        let _ = write!(
            page,
            "<li id=\"flag-{name}\"><b><code>{name}</code></b> {meaning} \
             <span>To do: {cure}.</span><ul>"
        );
        for seen in &doubt.seen {
            let (place, finding) = (Escaped(&seen.place), Escaped(&seen.finding));
            let colon = if seen.finding.is_empty() { "" } else { ": " };
            let _ = write!(page, "<li><b>{place}</b>{colon}{finding}</li>");
        }
        *page += "</ul></li>";
    }
    *page += "</ul>\n";
}

fn section(page: &mut String, section: &Section) {
    let (id, title) = (slug(&section.title), Escaped(&section.title));
    let _ = writeln!(
        page,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{title}</h2>"
    );
    let mut in_figures = false;
    for block in &section.blocks {
        let is_figure = matches!(block, Block::Figure(_));
        if is_figure != in_figures {
            *page += if is_figure { "<div class=\"figures\">\n" } else { "</div>\n" };
            in_figures = is_figure;
        }
        match block {
            Block::Text(text) => {
                let _ = writeln!(page, "<p>{}</p>", Escaped(text));
            }
            Block::Figure(figure) => self::figure(page, figure),
            Block::Table(table) => {
                if !table.title.is_empty() && table.title != section.title {
                    let _ = writeln!(page, "<h3>{}</h3>", Escaped(&table.title));
                }
                let name = if table.title.is_empty() { &section.title } else { &table.title };
                self::table(page, table, name);
            }
            Block::Verbatim { title, text } => {
                // The lines of a file are its meaning: they stay.
                let lines: Vec<String> =
                    text.lines().map(|line| Escaped(line).to_string()).collect();
                let (title, text) = (Escaped(title), lines.join("\n"));
                let _ = writeln!(
                    page,
                    "<details><summary>{title}</summary><pre tabindex=\"0\">{text}</pre></details>"
                );
            }
        }
    }
    if in_figures {
        *page += "</div>\n";
    }
    *page += "</section>\n";
}

fn figure(page: &mut String, figure: &Figure) {
    let (id, title) = (&figure.id, Escaped(&figure.title));
    let mut views = svg::views(figure);
    if figure.values() > BOTH_VIEWS_MAX {
        views.truncate(1);
    }
    let _ = write!(
        page,
        "<figure id=\"{id}\" data-values=\"{}\"><figcaption><h3>{title}</h3>",
        figure.values()
    );
    if !figure.note.is_empty() {
        let _ = write!(page, "<p>{}</p>", Escaped(&figure.note));
    }
    *page += "</figcaption>";
    if views.len() > 1 {
        let _ = write!(
            page,
            "<div class=\"views js\" role=\"group\" aria-label=\"How to draw: {title}\">"
        );
        for (at, view) in views.iter().enumerate() {
            let (name, title) = (view.name(), view.title());
            let pressed = at == 0;
            let _ = write!(
                page,
                "<button type=\"button\" data-v=\"{name}\" aria-pressed=\"{pressed}\">{title}</button>"
            );
        }
        *page += "</div>";
    }
    keys(page, figure);
    for (at, view) in views.iter().enumerate() {
        let hidden = if at == 0 { "" } else { " hidden" };
        let _ = write!(
            page,
            "<div class=\"plot\" data-v=\"{}\" tabindex=\"0\" role=\"group\" aria-roledescription=\"chart\" aria-label=\"{title}: \
             arrow keys go through its values, the table below lists them\"{hidden}>{}</div>",
            view.name(),
            svg::element(figure, *view, Legend::Outside)
        );
    }
    let table = figure.table();
    let class = if table.rows.len() > ROWS_ON_PAPER { " class=\"long\"" } else { "" };
    let _ = write!(
        page,
        "<details{class}><summary>Table of {}</summary>",
        counted(figure.values(), "value")
    );
    self::table(page, &table, &figure.title);
    *page += "</details></figure>\n";
}

/// The legend, whose entries show and hide their series.
fn keys(page: &mut String, figure: &Figure) {
    let legend = svg::legend(figure);
    if legend.is_empty() {
        return;
    }
    *page += "<div class=\"keys\" role=\"group\" aria-label=\"Series shown\">";
    for entry in &legend {
        let (name, swatch) = (Escaped(&entry.name), &entry.swatch);
        let _ = match entry.series {
            Some(series) => write!(
                page,
                "<button type=\"button\" data-s=\"{series}\" aria-pressed=\"true\">{swatch}\
                 <span>{name}</span></button>"
            ),
            None => write!(page, "<span class=\"source\">{swatch}<span>{name}</span></span>"),
        };
    }
    *page += "</div>";
}

fn table(page: &mut String, table: &Table, name: &str) {
    let name = Escaped(name);
    let _ = write!(
        page,
        "<div class=\"save js\"><button type=\"button\">Save as CSV</button></div>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {name}\"><table><caption>{name}</caption>\
         <thead><tr>"
    );
    let numeric: Vec<bool> = (0..table.columns.len()).map(|at| is_numeric(table, at)).collect();
    for (column, is_numeric) in table.columns.iter().zip(&numeric) {
        let class = if *is_numeric { " class=\"n\"" } else { "" };
        let unit = column.name_with_unit();
        let name = if is_said_once(column) { &unit } else { &column.name };
        let (name, unit) = (Escaped(name), Escaped(&unit));
        let _ = write!(page, "<th scope=\"col\"{class} data-h=\"{unit}\">{name}</th>");
    }
    *page += "</tr></thead><tbody>";
    for row in &table.rows {
        // What belongs to the row above, as tables on a terminal have it, too.
        let belongs = matches!(row.first(), Some(Entry::Text(text)) if text.starts_with("- "));
        *page += if belongs { "<tr class=\"sub\">" } else { "<tr>" };
        for (at, (entry, column)) in row.iter().zip(&table.columns).enumerate() {
            field(page, at, entry, column, numeric[at]);
        }
        *page += "</tr>";
    }
    *page += "</tbody></table></div>\n";
}

/// Whether the unit is so long that it stands in the head alone.
fn is_said_once(column: &Column) -> bool {
    matches!(&column.unit, Some(Unit::Other(name)) if name.len() > 6)
}

/// Whether a column holds numbers, some of them as they are printed elsewhere: `$5.80`, `+7.2 %`,
/// `14422[1]`.
fn is_numeric(table: &Table, at: usize) -> bool {
    let is_number = |entry: &Entry| match entry {
        Entry::Text(text) => {
            let digits = text.trim_start_matches(['+', '-', '$', '<', '>', '~', ' ']);
            text == "-"
                || text.len() < 24 && digits.starts_with(|letter: char| letter.is_ascii_digit())
        }
        Entry::Number(_) | Entry::Empty => true,
    };
    let mut entries = table.rows.iter().filter_map(|row| row.get(at));
    table.columns[at].unit.is_some() || at > 0 && entries.all(is_number)
}

fn field(page: &mut String, at: usize, entry: &Entry, column: &Column, is_numeric: bool) {
    let tag = if at == 0 { "th scope=\"row\"" } else { "td" };
    let end = if at == 0 { "th" } else { "td" };
    let class = if is_numeric { " class=\"n\"" } else { "" };
    match (entry, &column.unit) {
        (Entry::Empty, _) => {
            let _ = write!(page, "<{tag}></{end}>");
        }
        (Entry::Text(text), _) => {
            let _ = write!(page, "<{tag}{class}>{}</{end}>", Escaped(text));
        }
        (Entry::Number(value), Some(unit)) => {
            let text = match is_said_once(column) {
                true => number::significant(*value),
                false => unit.text(*value),
            };
            let _ = write!(page, "<{tag} class=\"n\" data-v=\"{value}\">{}</{end}>", Escaped(text));
        }
        (Entry::Number(value), None) => {
            let _ = write!(page, "<{tag} class=\"n\">{value}</{end}>");
        }
    }
}
