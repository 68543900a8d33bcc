//! A job file of fio's: its variables from the environment, the files that it includes.

use fio_job::Surroundings;
use record::input::{TEXT_BYTES_MAX, read_text};
use std::{env, path::Path, thread::available_parallelism};

/// The method that it becomes; the error is a sentence with file and line.
pub(crate) fn method(file: &str, text: &str) -> Result<String, String> {
    fio_job::method(file, text, &Machine).map_err(|error| error.to_string())
}

/// This machine.
struct Machine;

impl Surroundings for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        let own = env::var(name).ok();
        own.or_else(|| match name {
            "ncpus" => available_parallelism().ok().map(|count| count.to_string()),
            _ => None,
        })
    }

    fn include(&self, from: &str, name: &str) -> Result<(String, String), String> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        let text = read_text(&beside, TEXT_BYTES_MAX).map_err(|error| error.to_string())?;
        Ok((beside.display().to_string(), text))
    }
}
