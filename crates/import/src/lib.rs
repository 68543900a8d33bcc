//! Results of other programs as runs: recognised by their content, with what they lack marked
//! absent.
//!
//! ```text
//!   bytes -> Kind -> one reader a format -> Draft {cells, what is left out, notes} -> Record
//! ```
//!
//! docs/reference/import-formats.md says what is read of each format. A reader takes the figures
//! that a program printed; where it printed one twice in different forms, they are compared, and a
//! difference is a warning of the cell. Nothing here opens a file or asks for the time.
#![forbid(unsafe_code)]

mod bonnie;
mod csv;
mod dd;
mod disk_mark;
mod draft;
mod elbencho;
mod fio;
mod hdparm;
mod identity;
mod ioping;
mod iozone;
mod number;

pub use identity::DriveFile;

use draft::Draft;
use record::Record;

/// Which program wrote a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `fio --output-format=json` or `json+`.
    FioJson,
    /// `fio --output-format=terse`, versions 3 to 5.
    FioTerse,
    /// IOzone's table, its throughput mode, or its `-R` tables.
    IozoneText,
    /// IOzone's `-b` file.
    IozoneWorkbook,
    /// Bonnie++'s CSV line, with or without its table.
    Bonnie,
    /// dd of GNU, BSD or busybox.
    Dd,
    /// ioping's text, `-B` line or `-J` document.
    Ioping,
    /// `hdparm -t`, `-T`.
    Hdparm,
    /// CrystalDiskMark's or KDiskMark's text.
    DiskMark,
    /// `elbencho --csvfile`.
    Elbencho,
    /// `smartctl -j`, `nvme id-ctrl -o json` or `nvme list -o json`: a drive, no results.
    Drive,
}

impl Kind {
    /// All, in the order in which they are asked.
    pub const ALL: [Self; 11] = [
        Self::IozoneWorkbook,
        Self::FioJson,
        Self::Drive,
        Self::FioTerse,
        Self::IozoneText,
        Self::Elbencho,
        Self::Bonnie,
        Self::DiskMark,
        Self::Ioping,
        Self::Hdparm,
        Self::Dd,
    ];

    /// What is read, for lists.
    pub fn about(self) -> &'static str {
        match self {
            Self::FioJson => "fio's JSON and JSON+, other text around it",
            Self::FioTerse => "fio's terse form, versions 3 to 5",
            Self::IozoneText => "IOzone's table, throughput mode, and -R",
            Self::IozoneWorkbook => "IOzone's -b file",
            Self::Bonnie => "Bonnie++'s CSV, 1.03 to 2.00, its table around it",
            Self::Dd => "dd of GNU, BSD and busybox",
            Self::Ioping => "ioping, its -B lines and its -J document",
            Self::Hdparm => "hdparm -t and -T",
            Self::DiskMark => "CrystalDiskMark and KDiskMark, saved as text",
            Self::Elbencho => "elbencho's CSV file",
            Self::Drive => "smartctl -j, nvme id-ctrl and nvme list -o json, beside results",
        }
    }

    /// The kind of a content; `None` for what none of these programs writes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if iozone::workbook::is(bytes) {
            return Some(Self::IozoneWorkbook);
        }
        let text = std::str::from_utf8(bytes).ok()?;
        Self::ALL.into_iter().find(|kind| match kind {
            Self::FioJson => fio::json::is(text),
            Self::FioTerse => fio::terse::is(text),
            Self::IozoneText => iozone::text::is(text),
            Self::IozoneWorkbook => false,
            Self::Bonnie => bonnie::is(text),
            Self::Dd => dd::is(text),
            Self::Ioping => ioping::is(text),
            Self::Hdparm => hdparm::is(text),
            Self::DiskMark => disk_mark::is(text),
            Self::Elbencho => elbencho::is(text),
            Self::Drive => identity::is(text),
        })
    }
}

/// Why a file is not imported; the caller names the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImportError {
    /// No program's.
    #[error("no program's result is recognised in it")]
    Unknown,
    /// fio's text for people.
    #[error("it is fio's text for people, whose figures are rounded: have fio write JSON")]
    FioText,
    /// A drive's identity alone.
    #[error("it says which drive it was and holds no result: name it together with one")]
    DriveAlone,
    /// Recognised, and not whole or not readable.
    #[error("line {line}: {what}")]
    Damaged {
        /// Which line, from 1; a workbook's byte.
        line: usize,
        /// What is wrong with it, and the cure.
        what: String,
    },
    /// Nothing in it could be read as a result.
    #[error("{0}")]
    Nothing(String),
}

/// Makes a run of what a program wrote. `name` is the file's, `now` the time in RFC 3339 that
/// stands for a start which the file does not tell.
///
/// # Errors
/// [`ImportError`]: unknown, damaged, or without a result.
pub fn import(name: &str, bytes: &[u8], now: &str) -> Result<Record, ImportError> {
    let Some(kind) = Kind::of(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        let is_fio = text.contains("Run status group ") && text.contains(": IOPS=");
        return Err(if is_fio { ImportError::FioText } else { ImportError::Unknown });
    };
    let draft = match kind {
        Kind::IozoneWorkbook => iozone::workbook::read(bytes)?,
        Kind::Drive => return Err(ImportError::DriveAlone),
        _ => {
            let text = std::str::from_utf8(bytes).map_err(|_| ImportError::Unknown)?;
            read(kind, text)?
        }
    };
    draft.record(name, bytes, now)
}

fn read(kind: Kind, text: &str) -> Result<Draft, ImportError> {
    match kind {
        Kind::FioJson => fio::json::read(text),
        Kind::FioTerse => fio::terse::read(text),
        Kind::IozoneText => iozone::text::read(text),
        Kind::Bonnie => bonnie::read(text),
        Kind::Dd => dd::read(text),
        Kind::Ioping => ioping::read(text),
        Kind::Hdparm => hdparm::read(text),
        Kind::DiskMark => disk_mark::read(text),
        Kind::Elbencho => elbencho::read(text),
        Kind::IozoneWorkbook | Kind::Drive => Err(ImportError::Unknown),
    }
}
