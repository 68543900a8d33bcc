//! A document as a workbook of a few sheets: the summary with the environment, then one for each
//! kind of section, its charts on top and all their numbers below. Units stand in the heads,
//! numbers are numbers.
//!
//! ```text
//!   Document.sections --by Section.sheet--> a sheet: charts, numbers   SHEETS_MAX with the summary
//! ```

mod charts;
mod sheet;

use crate::{
    chart::Unit,
    document::{Block, Document, Highlight, Section},
};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use sheet::{Names, Sheet};

/// Stands among the workbook's properties, so that it can be told from others.
pub const MARK: &str = "drivelab report";

/// More tabs than this are searched, not seen.
pub const SHEETS_MAX: usize = 8;

/// The workbook as the bytes of a file: the same document gives the same bytes.
///
/// # Errors
/// When the document is beyond what a workbook holds.
pub fn workbook(document: &Document) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // The report's own date stands in the summary; this one only has to be the same every time.
    let made = ExcelDateTime::from_ymd(2000, 1, 1)?;
    let properties = DocProperties::new()
        .set_title(sheet::cleaned(&document.title))
        .set_comment(MARK)
        .set_creation_datetime(&made);
    workbook.set_properties(&properties);
    let mut names = Names::default();
    summary(&mut workbook, &mut names, document)?;
    for (name, sections) in topics(&document.sections) {
        topic(&mut workbook, &mut names, name, &sections)?;
    }
    workbook.save_to_buffer()
}

/// Sections by the sheet that they stand on, in the order of the first of each; what is too much
/// goes onto the last.
fn topics(sections: &[Section]) -> Vec<(&str, Vec<&Section>)> {
    let mut topics: Vec<(&str, Vec<&Section>)> = Vec::new();
    for section in sections {
        let is_full = topics.len() == SHEETS_MAX - 1;
        match topics.iter().position(|(name, _)| *name == section.sheet) {
            Some(at) => topics[at].1.push(section),
            None if is_full => topics[SHEETS_MAX - 2].1.push(section),
            None => topics.push((section.sheet, vec![section])),
        }
    }
    topics
}

/// The charts of all sections side by side, then their numbers and tables.
fn topic(
    workbook: &mut Workbook,
    names: &mut Names,
    name: &str,
    sections: &[&Section],
) -> Result<(), XlsxError> {
    let mut sheet = Sheet::new(workbook, names, name)?;
    let mut board = charts::Board::of(sections, &sheet);
    sheet.row = board.rows();
    for section in sections {
        for block in &section.blocks {
            match block {
                Block::Figure(figure) => board.numbers(&mut sheet, figure)?,
                Block::Table(table) => {
                    let own = !table.title.is_empty();
                    sheet.heading(if own { &table.title } else { &section.title })?;
                    sheet.table(table)?;
                    sheet.gap();
                }
                Block::Verbatim { title, text } => {
                    sheet.heading(title)?;
                    for line in text.lines() {
                        sheet.line(&[line])?;
                    }
                    sheet.gap();
                }
                Block::Text(text) => {
                    sheet.paragraph(text)?;
                    sheet.gap();
                }
            }
        }
    }
    sheet.finish()?;
    board.hang(&mut sheet)
}

fn summary(
    workbook: &mut Workbook,
    names: &mut Names,
    document: &Document,
) -> Result<(), XlsxError> {
    let mut sheet = Sheet::new(workbook, names, "Summary")?;
    sheet.heading(&document.title)?;
    sheet.paragraph(&document.origin)?;
    sheet.gap();
    for paragraph in &document.summary {
        sheet.paragraph(paragraph)?;
    }
    highlights(&mut sheet, &document.highlights)?;
    sheet.gap();
    match document.doubts.as_deref() {
        None => {}
        Some([]) => {
            sheet.line(&["No flags: no automatic check found a reason to doubt these numbers."])?;
        }
        Some(doubts) => {
            sheet.heading("What to know before trusting these numbers")?;
            for doubt in doubts {
                let seen: Vec<String> = doubt.seen.iter().map(|seen| seen.words()).collect();
                let (seen, cure) = (seen.join(". "), &doubt.cure);
                let text =
                    format!("{}: {} Seen: {seen}. To do: {cure}.", doubt.name, doubt.meaning);
                sheet.paragraph(&text)?;
            }
        }
    }
    // Where and how: the facts of the last section, so that nobody has to look for them.
    let tables = document.sections.last().into_iter().flat_map(|section| &section.blocks);
    for block in tables {
        if let Block::Table(table) = block {
            sheet.gap();
            sheet.table(table)?;
        }
    }
    sheet.widths(&[32.0, 36.0, 10.0, 10.0, 10.0, 14.0, 10.0, 11.0, 17.0, 20.0])
}

/// A row for each number: its name, whose it is, the number, its unit and what is known of it.
fn highlights(sheet: &mut Sheet<'_>, highlights: &[Highlight]) -> Result<(), XlsxError> {
    if highlights.is_empty() {
        return Ok(());
    }
    sheet.gap();
    sheet.head(&[
        "what",
        "of",
        "value",
        "unit",
        "95 %, \u{b1} %",
        "latency and more",
        "ratio to the first",
        "verdict",
        "95 % of the ratio",
        "flags",
    ])?;
    for highlight in highlights {
        for reading in &highlight.readings {
            let row = sheet.row;
            let (factor, unit) = reading.unit.common(reading.value.abs());
            sheet.text(row, 0, &highlight.name)?;
            sheet.text(row, 1, &reading.of)?;
            sheet.number(row, 2, reading.value / factor)?;
            sheet.text(row, 3, &unit)?;
            if let Some(share) = reading.half_width {
                sheet.number(row, 4, share * 100.0)?;
            }
            sheet.text(row, 5, &reading.note)?;
            if let Some(against) = &reading.against {
                sheet.number(row, 6, against.ratio)?;
                sheet.text(row, 7, against.verdict)?;
                if let Some([low, high]) = against.ci95 {
                    let [low, high] = [low, high].map(|end| Unit::Ratio.text(end));
                    sheet.text(row, 8, &format!("{low} to {high}"))?;
                }
            }
            sheet.text(row, 9, &reading.doubts.join(", "))?;
            sheet.row += 1;
        }
    }
    Ok(())
}
