//! What reports are written as, and how a file of ours is told from others.

use crate::{HTML_MARK, SVG_MARK, export, long_form, xlsx};
use std::io::{self, Read, Seek, SeekFrom};

/// What a file is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A page.
    Html,
    /// A workbook.
    Xlsx,
    /// A table in long form.
    Csv,
    /// The same, in Apache Parquet.
    Parquet,
    /// A drawing.
    Svg,
    /// Metrics of runs.
    OpenMetrics,
    /// Tables of runs for a wiki.
    Markdown,
    /// A run as fio's JSON.
    Fio,
    /// A job file of fio's, made of a method.
    FioJob,
    /// Records, one a line.
    Json,
}

/// Bytes read to see whose a file is.
const HEAD_BYTES: u64 = 4096;

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// More than the footer of a file of ours.
const FOOTER_BYTES: u64 = 64 << 10;

impl Format {
    /// Whether what a file holds is an older report of this format, or nothing.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn is_ours(self, mut file: impl Read + Seek) -> io::Result<bool> {
        if file.seek(SeekFrom::End(0))? == 0 {
            return Ok(true);
        }
        file.rewind()?;
        let mark = match self {
            Self::Html => HTML_MARK,
            Self::Csv => long_form::HEAD,
            Self::Svg => SVG_MARK,
            Self::OpenMetrics => export::METRICS_MARK,
            Self::Markdown => export::MARKDOWN_MARK,
            Self::Fio => export::fio::MARK,
            Self::FioJob => export::JOB_MARK,
            Self::Json => export::JSON_MARK,
            Self::Xlsx => return Ok(is_our_workbook(file)),
            Self::Parquet => return is_our_parquet(file),
        };
        let mut head = Vec::new();
        file.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(String::from_utf8_lossy(&head).contains(mark))
    }
}

/// Whether the end of a Parquet file, where what it is about stands, carries the mark.
fn is_our_parquet(mut file: impl Read + Seek) -> io::Result<bool> {
    let mut magic = Vec::new();
    file.by_ref().take(PARQUET_MAGIC.len() as u64).read_to_end(&mut magic)?;
    let bytes = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(bytes.saturating_sub(FOOTER_BYTES)))?;
    let mut end = Vec::new();
    file.take(FOOTER_BYTES).read_to_end(&mut end)?;
    let mark = export::PARQUET_MARK.as_bytes();
    Ok(magic == PARQUET_MAGIC && end.windows(mark.len()).any(|part| part == mark))
}

/// Whether a workbook's properties carry the mark; what is no workbook has none.
fn is_our_workbook(file: impl Read + Seek) -> bool {
    let properties = || {
        let mut archive = zip::ZipArchive::new(file).ok()?;
        let mut text = String::new();
        let properties = archive.by_name("docProps/core.xml").ok()?;
        properties.take(HEAD_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    };
    properties().is_some_and(|text| text.contains(xlsx::MARK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use std::io::Cursor;

    #[test]
    fn a_file_is_ours_by_what_it_holds() {
        let is_ours = |format: Format, bytes: &[u8]| {
            format.is_ours(Cursor::new(bytes.to_vec())).expect("bytes can be read")
        };
        let page = crate::html::page(&Document::default());
        let workbook = xlsx::workbook(&Document::default()).expect("a workbook");
        let table = format!("{}\n", long_form::HEAD);
        for (format, bytes) in [
            (Format::Html, page.as_bytes()),
            (Format::Xlsx, &workbook),
            (Format::Csv, table.as_bytes()),
            (Format::Svg, SVG_MARK.as_bytes()),
        ] {
            assert!(is_ours(format, bytes), "{format:?}");
            assert!(is_ours(format, b""), "{format:?}: empty files are nobody's");
            assert!(!is_ours(format, b"my thesis"), "{format:?}");
        }
        assert!(!is_ours(Format::Csv, page.as_bytes()), "a page is no table");
    }
}
