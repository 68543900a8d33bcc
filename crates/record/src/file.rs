//! Reading and writing a record as a file: JSON in, JSON out, and a clear word when it is something
//! else.

use crate::{
    FORMAT, Record, VERSION,
    input::{RECORD_BYTES_MAX, read_text},
};
use serde::Deserialize;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a text is no record that this drivelab reads.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("cannot read the record file {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not JSON, or cut off in the middle.
    #[error(
        "{origin} is not a record: {source}; name a file that `drivelab run --json FILE` wrote"
    )]
    NotJson {
        /// Where the text came from.
        origin: String,
        /// Line and column.
        source: serde_json::Error,
    },
    /// JSON of something else.
    #[error(
        "{origin} is JSON, but not a record: its `format` is {found}, not `{FORMAT}`: name a file \
         that `drivelab run --json FILE` wrote; what other tools print, drivelab does not read"
    )]
    WrongFormat {
        /// Where the text came from.
        origin: String,
        /// What stands under `format`.
        found: String,
    },
    /// Written by a later drivelab.
    #[error(
        "{origin} is a record of version {found}; this drivelab reads versions up to {VERSION}: use \
         the drivelab that wrote it, or a newer one"
    )]
    NewerVersion {
        /// Where the text came from.
        origin: String,
        /// Its version.
        found: u64,
    },
    /// A record by its head, but with a section missing or of the wrong type.
    #[error(
        "{origin} is a damaged record: {source}; run the measurement again or restore the file"
    )]
    Damaged {
        /// Where the text came from.
        origin: String,
        /// Which field.
        source: serde_json::Error,
    },
}

/// The two fields every version has.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: serde_json::Value,
    #[serde(default)]
    version: u64,
}

impl Record {
    /// The record in JSON text, which `origin` names in errors. Unknown fields are ignored, so that
    /// a newer drivelab may add some without a new version.
    ///
    /// # Errors
    /// [`FileError`], anything but [`FileError::Io`].
    pub fn from_json(text: &str, origin: &str) -> Result<Self, FileError> {
        let origin = origin.to_owned();
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(source) => return Err(FileError::NotJson { origin, source }),
        };
        let head = Head::deserialize(&value).ok();
        let Some(head) = head.filter(|head| head.format == FORMAT) else {
            let found =
                value.get("format").map_or("missing".to_owned(), |found| format!("`{found}`"));
            return Err(FileError::WrongFormat { origin, found });
        };
        if head.version > u64::from(VERSION) {
            return Err(FileError::NewerVersion { origin, found: head.version });
        }
        // From the text again: its errors name the line, those of a parsed value do not.
        serde_json::from_str(text).map_err(|source| FileError::Damaged { origin, source })
    }

    /// The record in the file at `path`.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = read_text(path, RECORD_BYTES_MAX)
            .map_err(|source| FileError::Io { path: path.to_owned(), source })?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// The record as indented JSON text with a line feed at the end: what `--json` writes.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a record has only string keys");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_record_comes_back_from_its_json_as_it_was() {
        let record = example::full();
        assert_eq!(Record::from_json(&record.to_json(), "test").expect("a record"), record);
    }

    #[test]
    fn fields_of_a_later_drivelab_are_ignored() {
        let record = example::full();
        let mut value: serde_json::Value = serde_json::to_value(&record).expect("serialises");
        value["colour"] = "green".into();
        value["cells"][0]["watts"] = 3.into();
        assert_eq!(Record::from_json(&value.to_string(), "test").expect("a record"), record);
    }

    #[test]
    fn something_else_is_refused_by_name() {
        let refusal =
            |text: &str| Record::from_json(text, "x.json").expect_err("refused").to_string();
        assert!(refusal("{\"format\":").contains("not a record"), "{}", refusal("{\"format\":"));
        assert!(refusal("{\"fio version\": \"fio-3.36\"}").contains("run --json FILE"));
        assert!(refusal("[1, 2]").contains("missing"));
        assert!(refusal("{\"format\":\"drivelab-record\",\"version\":2}").contains("version 2"));
        let cut = refusal("{\"format\":\"drivelab-record\",\"version\":1,\"id\":\"0badcafe\"}");
        assert!(cut.contains("missing field"), "{cut}");
    }
}
