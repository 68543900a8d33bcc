//! A document as a workbook: the first sheet is the summary with the environment, then a sheet for every figure, its numbers
//! beside a chart of the spreadsheet's own, and a sheet for every table. Units stand in the heads, numbers are numbers.

mod charts;
mod sheet;

use crate::document::{Block, Document};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use sheet::{Names, Sheet};

/// Stands among the workbook's properties, so that it can be told from others.
pub const MARK: &str = "drivelab report";

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
    for section in &document.sections {
        for block in &section.blocks {
            match block {
                Block::Figure(figure) => charts::sheet(&mut workbook, &mut names, figure)?,
                Block::Table(table) => {
                    let title = if table.title.is_empty() { &section.title } else { &table.title };
                    let mut sheet = Sheet::new(&mut workbook, &mut names, title)?;
                    sheet.heading(title)?;
                    sheet.table(table)?;
                    sheet.finish()?;
                }
                Block::Verbatim { title, text } => {
                    let mut sheet = Sheet::new(&mut workbook, &mut names, title)?;
                    sheet.heading(title)?;
                    for line in text.lines() {
                        sheet.line(&[line])?;
                    }
                }
                Block::Text(_) => {}
            }
        }
    }
    workbook.save_to_buffer()
}

fn summary(
    workbook: &mut Workbook,
    names: &mut Names,
    document: &Document,
) -> Result<(), XlsxError> {
    let mut sheet = Sheet::new(workbook, names, "Summary")?;
    sheet.heading(&document.title)?;
    sheet.line(&[&document.origin])?;
    sheet.gap();
    for paragraph in &document.summary {
        sheet.line(&[paragraph])?;
    }
    if !document.highlights.is_empty() {
        sheet.gap();
        sheet.head(&["what", "rate", "95 % interval, latency"])?;
        for highlight in &document.highlights {
            sheet.line(&[&highlight.name, &highlight.value, &highlight.note])?;
        }
    }
    sheet.gap();
    match document.doubts.as_deref() {
        None => {}
        Some([]) => {
            sheet.line(&["No flags: no automatic check found a reason to doubt these numbers."])?;
        }
        Some(doubts) => {
            sheet.head(&["flag", "what it means", "seen in", "what to do"])?;
            for doubt in doubts {
                sheet.line(&[&doubt.name, &doubt.meaning, &doubt.places, &doubt.cure])?;
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
    sheet.widths(&[34.0, 40.0, 34.0, 34.0])
}
