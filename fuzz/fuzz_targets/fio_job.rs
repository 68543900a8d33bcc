//! A job file of fio's from anywhere: a method that `lab` takes, or a sentence with its line; never
//! a panic. What became a method is exported and read again.
#![no_main]

use fio_job::{Surroundings, job_file, method};
use lab::method::Method;
use libfuzzer_sys::fuzz_target;

struct Nowhere;

impl Surroundings for Nowhere {
    fn variable(&self, name: &str) -> Option<String> {
        (name.len() < 4).then(|| "8".to_owned())
    }

    fn include(&self, from: &str, name: &str) -> Result<(String, String), String> {
        match name {
            "again" => Ok((from.to_owned(), "include again".to_owned())),
            _ => Err("there is no such file".to_owned()),
        }
    }
}

fuzz_target!(|text: &str| {
    let toml = match method("fuzz.fio", text, &Nowhere) {
        Ok(toml) => toml,
        Err(error) => {
            assert!(error.place.line > 0 && !error.reason.is_empty());
            return;
        }
    };
    let parsed = Method::parse("fuzz.fio", &toml, &[]).expect("a method");
    let exported = job_file(&parsed, 10.0);
    if exported.text.contains("\nrw=") {
        let again = method("again.fio", &exported.text, &Nowhere);
        assert!(again.is_ok() || exported.text.contains("${"), "{again:?}\n{}", exported.text);
    }
});
