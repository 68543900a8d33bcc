//! A method's text: a built-in one's, or a file's.

use crate::{CannotRun, job_file};
use lab::{
    method::{BUILT_IN, Method},
    order::OrderError,
};
use record::input::{TEXT_BYTES_MAX, read_text};
use std::{ffi::OsStr, io::ErrorKind, path::Path};

/// The name and the text of a method: a word with a dot or a slash is a file, and a job file of
/// fio's is translated.
///
/// # Errors
/// A file that cannot be read, and a name that none has; it names the nearest.
pub fn method_text(named: &OsStr) -> Result<(String, String), CannotRun> {
    let path = Path::new(named);
    let Some(named) = named.to_str() else {
        return of_file(path, path.display().to_string());
    };
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == named) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    if named.contains(['.', '/']) || path.is_file() {
        return of_file(path, named.to_owned());
    }
    // The error names the nearest.
    let method = Method::built_in(named, &[]).map_err(OrderError::from)?;
    Ok((named.to_owned(), method.text))
}

fn of_file(path: &Path, name: String) -> Result<(String, String), CannotRun> {
    let text = read(path)?;
    if fio_job::is_job_file(&name, &text) {
        let text = job_file::method(&name, &text).map_err(CannotRun::MethodFile)?;
        return Ok((name, text));
    }
    Ok((name, text))
}

fn read(path: &Path) -> Result<String, CannotRun> {
    read_text(path, TEXT_BYTES_MAX).map_err(|error| {
        let near = match error.kind() {
            ErrorKind::NotFound => target::did_you_mean(path),
            _ => String::new(),
        };
        let text = format!("cannot read the method file {}: {error}.{near}", path.display());
        CannotRun::MethodFile(text.trim_end_matches('.').to_owned())
    })
}
