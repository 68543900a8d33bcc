//! What the tests share: surroundings of their own, and a job file's method.

use fio_job::{JobError, Surroundings};
use lab::method::Method;
use std::collections::BTreeMap;

/// An environment, and files beside the job file.
#[derive(Default)]
pub struct Around {
    pub variables: BTreeMap<&'static str, &'static str>,
    pub files: BTreeMap<&'static str, &'static str>,
}

impl Surroundings for Around {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn include(&self, _from: &str, name: &str) -> Result<(String, String), String> {
        let text = self.files.get(name).ok_or("there is no such file")?;
        Ok((name.to_owned(), (*text).to_owned()))
    }
}

/// What the job files of the tests are told.
pub fn usual() -> Around {
    let variables = [
        ("DEV", "/dev/sdz"),
        ("SIZE", "1g"),
        ("TIME", "30"),
        ("DEPTH", "8"),
        ("BLKSIZE", "4k"),
        ("JOBS", "2"),
    ];
    Around { variables: variables.into(), files: BTreeMap::new() }
}

pub fn translated(text: &str) -> Result<String, JobError> {
    fio_job::method("job.fio", text, &usual())
}

/// The method; it must be one.
pub fn method(text: &str) -> Method {
    let toml = translated(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Method::parse("job.fio", &toml, &[]).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// The complaint about a job file.
pub fn complaint(text: &str) -> String {
    translated(text).expect_err(text).to_string()
}
