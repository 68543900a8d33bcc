//! A sheet that is filled from the top.

use crate::chart::{Column, Entry, Table};
use rust_xlsxwriter::{Format, FormatAlign, Workbook, Worksheet, XlsxError};
use std::collections::{BTreeMap, BTreeSet};

/// ISO A4 in the workbook's numbering of paper sizes.
const A4: u8 = 9;

/// What Excel allows: characters of a sheet's name, and of a field.
const NAME_MAX: usize = 31;
const FIELD_MAX: usize = 32_000;

/// Names of sheets so far: no two may be the same, whatever their case.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// The title as far as a sheet's name can hold it.
    fn taken_from(&mut self, title: &str) -> String {
        let allowed = |letter: char| if "[]:*?/\\'".contains(letter) { ' ' } else { letter };
        let title: String = cleaned(title).chars().map(allowed).collect();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut number = 1;
        loop {
            let end = if number == 1 { String::new() } else { format!(" {number}") };
            let name = beginning(&title, NAME_MAX - end.len());
            let name = format!("{}{end}", if name.is_empty() { "Sheet" } else { name.trim_end() });
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
            number += 1;
        }
    }
}

/// As many letters as fit; Excel counts in units of UTF-16.
fn beginning(text: &str, units_max: usize) -> String {
    let mut units = 0;
    let fits = |letter: &char| {
        units += letter.len_utf16();
        units <= units_max
    };
    text.chars().take_while(fits).collect()
}

/// Text without what a workbook's XML cannot hold, and no longer than a field.
pub(super) fn cleaned(text: &str) -> String {
    let clean = |letter: char| match letter {
        '\n' | '\t' | '\r' => ' ',
        _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        _ => letter,
    };
    beginning(text, FIELD_MAX).chars().map(clean).collect()
}

/// A plain number that stands as text, such as the count of passes among facts in words.
fn plain_number(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (value.is_finite() && value.to_string() == text).then_some(value)
}

/// How far a paragraph runs, in columns.
const PARAGRAPH_COLUMNS: usize = 6;
/// Height of a line of text, points.
const LINE_POINTS: f64 = 15.0;

/// A sheet and the row that is written next.
pub(super) struct Sheet<'w> {
    pub(super) worksheet: &'w mut Worksheet,
    pub(super) name: String,
    pub(super) row: u32,
    /// By column, the letters of its longest text.
    widest: Vec<usize>,
    /// Rows that run over several columns, with their letters.
    paragraphs: Vec<(u32, usize)>,
    /// Rows of tables, with the column and the letters of each text.
    texts: Vec<(u32, u16, usize)>,
}

impl<'w> Sheet<'w> {
    pub(super) fn new(
        workbook: &'w mut Workbook,
        names: &mut Names,
        title: &str,
    ) -> Result<Self, XlsxError> {
        let name = names.taken_from(title);
        let worksheet = workbook.add_worksheet().set_name(&name)?;
        // On paper: as wide as the page, as long as it takes.
        worksheet.set_landscape().set_paper_size(A4).set_print_fit_to_pages(1, 0);
        worksheet.set_margins(0.4, 0.4, 0.5, 0.5, 0.2, 0.2);
        worksheet.set_footer("&L&A&RPage &P of &N");
        let (widest, paragraphs, texts) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { worksheet, name, row: 0, widest, paragraphs, texts })
    }

    pub(super) fn gap(&mut self) {
        self.row += 1;
    }

    pub(super) fn heading(&mut self, text: &str) -> Result<(), XlsxError> {
        let format = Format::new().set_bold().set_font_size(14);
        self.worksheet.write_string_with_format(self.row, 0, cleaned(text), &format)?;
        self.row += 1;
        Ok(())
    }

    /// Heads in as many lines as the longest takes in a column of numbers.
    pub(super) fn head(&mut self, names: &[&str]) -> Result<(), XlsxError> {
        let format = Format::new()
            .set_bold()
            .set_text_wrap()
            .set_align(FormatAlign::Top)
            .set_background_color(0x00F0_F2F5);
        for (column, name) in (0u16..).zip(names) {
            self.widen(column, "");
            let name = cleaned(name);
            self.worksheet.write_string_with_format(self.row, column, name, &format)?;
        }
        let lines = |name: &&str| (name.chars().count() as f64 / (COLUMN_MIN - 2.0)).ceil();
        let lines = names.iter().skip(1).map(lines).fold(1.0, f64::max).min(3.0);
        self.worksheet.set_row_height(self.row, LINE_POINTS * lines)?;
        self.row += 1;
        Ok(())
    }

    /// Text over several columns, in as many lines as it takes once their widths are known.
    pub(super) fn paragraph(&mut self, text: &str) -> Result<(), XlsxError> {
        let text = cleaned(text);
        let format = Format::new().set_text_wrap().set_align(FormatAlign::Top);
        let (row, last) = (self.row, PARAGRAPH_COLUMNS as u16 - 1);
        self.worksheet.merge_range(row, 0, row, last, &text, &format)?;
        self.paragraphs.push((row, text.chars().count()));
        self.row += 1;
        Ok(())
    }

    pub(super) fn text(&mut self, row: u32, column: u16, text: &str) -> Result<(), XlsxError> {
        if !text.is_empty() {
            self.widen(column, text);
            self.worksheet.write_string(row, column, cleaned(text))?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, texts: &[&str]) -> Result<(), XlsxError> {
        for (column, text) in texts.iter().enumerate() {
            self.worksheet.write_string(self.row, column as u16, cleaned(text))?;
        }
        self.row += 1;
        Ok(())
    }

    /// A number, or a dash for what a sheet cannot hold.
    pub(super) fn number(&mut self, row: u32, column: u16, value: f64) -> Result<(), XlsxError> {
        if value.is_finite() {
            self.worksheet.write_number_with_format(row, column, value, &number_format(value))?;
        } else {
            self.worksheet.write_string(row, column, "-")?;
        }
        Ok(())
    }

    /// A table below what is there; numbers of a column share a unit.
    pub(super) fn table(&mut self, table: &Table) -> Result<(), XlsxError> {
        let scales: Vec<(f64, String)> =
            (0..table.columns.len()).map(|at| scale(table, at)).collect();
        let heads: Vec<String> = table
            .columns
            .iter()
            .zip(&scales)
            .map(|(column, (_, unit))| head(column, unit))
            .collect();
        self.head(&heads.iter().map(String::as_str).collect::<Vec<_>>())?;
        let format = Format::new().set_text_wrap().set_align(FormatAlign::Top);
        for entries in &table.rows {
            for (column, (entry, (factor, _))) in (0u16..).zip(entries.iter().zip(&scales)) {
                match entry {
                    Entry::Empty => {}
                    Entry::Text(text) => match plain_number(text).filter(|_| column > 0) {
                        Some(value) => {
                            let left = Format::new().set_align(FormatAlign::Left);
                            let left = left.set_align(FormatAlign::Top).set_num_format("0.######");
                            self.worksheet
                                .write_number_with_format(self.row, column, value, &left)?;
                        }
                        None => {
                            let text = cleaned(text);
                            self.widen(column, &text);
                            self.texts.push((self.row, column, text.chars().count()));
                            self.worksheet
                                .write_string_with_format(self.row, column, text, &format)?;
                        }
                    },
                    Entry::Number(value) => self.number(self.row, column, value / factor)?,
                }
            }
            self.row += 1;
        }
        Ok(())
    }

    /// Sets the columns, and gives paragraphs the lines that they take over these.
    pub(super) fn widths(&mut self, widths: &[f64]) -> Result<(), XlsxError> {
        for (column, width) in (0u16..).zip(widths) {
            self.worksheet.set_column_width(column, *width)?;
        }
        let wide: f64 =
            (0..PARAGRAPH_COLUMNS).map(|at| widths.get(at).unwrap_or(&COLUMN_DEFAULT)).sum();
        for (row, letters) in &self.paragraphs {
            let lines = (*letters as f64 * 1.1 / wide).ceil().clamp(1.0, 25.0);
            self.worksheet.set_row_height(*row, LINE_POINTS * lines)?;
        }
        // Not every program makes a row as high as its wrapped texts.
        let mut rows = BTreeMap::<u32, f64>::new();
        for (row, column, letters) in &self.texts {
            let width = widths.get(usize::from(*column)).unwrap_or(&COLUMN_DEFAULT);
            let lines = (*letters as f64 * 1.1 / width).ceil().clamp(1.0, 25.0);
            let most = rows.entry(*row).or_insert(1.0);
            *most = most.max(lines);
        }
        for (row, lines) in rows.into_iter().filter(|(_, lines)| *lines > 1.0) {
            self.worksheet.set_row_height(row, LINE_POINTS * lines)?;
        }
        Ok(())
    }

    /// Columns as wide as their contents, within limits: what is longer is wrapped.
    pub(super) fn finish(&mut self) -> Result<(), XlsxError> {
        let width = |letters: &usize| (*letters as f64 + 2.0).clamp(COLUMN_MIN, COLUMN_MAX);
        let widths: Vec<f64> = self.widest.iter().map(width).collect();
        self.widths(&widths)
    }

    /// Takes note of a text that a column has to hold.
    fn widen(&mut self, column: u16, text: &str) {
        let at = usize::from(column);
        if self.widest.len() <= at {
            self.widest.resize(at + 1, 0);
        }
        self.widest[at] = self.widest[at].max(text.chars().count());
    }
}

/// Widths of columns, in characters.
const COLUMN_MIN: f64 = 12.0;
const COLUMN_MAX: f64 = 40.0;
/// What a column has that nobody set.
const COLUMN_DEFAULT: f64 = 8.4;

fn head(column: &Column, unit: &str) -> String {
    if unit.is_empty() { column.name.clone() } else { format!("{}, {unit}", column.name) }
}

/// The unit that the largest number of a column asks for.
fn scale(table: &Table, at: usize) -> (f64, String) {
    let Some(unit) = &table.columns[at].unit else { return (1.0, String::new()) };
    let largest = table.rows.iter().map(|row| match row[at] {
        Entry::Number(value) if value.is_finite() => value.abs(),
        _ => 0.0,
    });
    unit.common(largest.fold(0.0, f64::max))
}

/// Three digits where they say something; the value itself is kept whole.
fn number_format(value: f64) -> Format {
    let pattern = match value.abs() {
        size if size >= 1e4 => "#,##0",
        size if size >= 100.0 || size.fract() == 0.0 => "0",
        size if size >= 1.0 => "0.00",
        size if size >= 0.001 => "0.0000",
        _ => "0.00E+00",
    };
    Format::new().set_num_format(pattern)
}
