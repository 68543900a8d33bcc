//! The syntax of job files: sections, options, comments, variables, other files.

use crate::{JobError, Place, options};

/// What a job file takes from elsewhere.
pub trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Another file, which `from` includes: what it is called, and its text.
    ///
    /// # Errors
    /// Why it cannot be read, without its name.
    fn include(&self, from: &str, name: &str) -> Result<(String, String), String>;
}

/// One option as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name, as fio's documentation has it: aliases are resolved.
    pub key: String,
    /// What it is set to; empty where nothing is.
    pub value: String,
    /// A variable in it that is not set.
    pub unset: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// One job: all that is set for it, the earlier `[global]` sections' first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Between the brackets.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// In order; a later one of the same key counts.
    pub settings: Vec<Setting>,
}

/// Files that include one another, at most.
const INCLUDES_MAX: usize = 16;
/// Jobs of one file, at most: more are a mistake or an attack.
const JOBS_MAX: usize = 4096;
/// Settings of all jobs together, at most.
const SETTINGS_MAX: usize = 100_000;

/// Whether a file is a job file: by its name, or else by what it begins with.
pub fn is_job_file(name: &str, text: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("fio" | "job") => return true,
        Some("toml") => return false,
        _ => {}
    }
    let mut lines = text.lines().map(bare).filter(|line| !line.is_empty());
    let begins = lines.next().is_some_and(|line| section_name(line).is_some());
    begins && lines.any(|line| options::canonical(key_of(line)).is_some())
}

/// Reads a job file.
///
/// # Errors
/// A line that is none of its syntax, an option that fio does not have, a file that cannot be
/// included, a file without a job.
pub fn parse(file: &str, text: &str, around: &dyn Surroundings) -> Result<Vec<Section>, JobError> {
    let mut reader = Reader { around, global: Vec::new(), jobs: Vec::new(), at: At::Before };
    reader.read(file, text, 0)?;
    if reader.jobs.is_empty() {
        let end = Place { file: file.to_owned(), line: text.lines().count().max(1) };
        return Err(end.wrong("there is no job: begin one with a line `[its-name]`"));
    }
    Ok(reader.jobs)
}

/// In which section the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Before,
    Global,
    Job,
}

struct Reader<'a> {
    around: &'a dyn Surroundings,
    global: Vec<Setting>,
    jobs: Vec<Section>,
    at: At,
}

impl Reader<'_> {
    fn read(&mut self, file: &str, text: &str, depth: usize) -> Result<(), JobError> {
        for (number, line) in (1..).zip(text.lines()) {
            let place = Place { file: file.to_owned(), line: number };
            let line = bare(line);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = section_name(line) {
                self.section(name, place)?;
            } else if line.starts_with('[') {
                return Err(place.wrong(format!("`{line}` has no `]`: write `[its-name]`")));
            } else if let Some(name) = included(line) {
                if depth == INCLUDES_MAX {
                    let most = format!("more than {INCLUDES_MAX} files include one another");
                    return Err(place.wrong(format!("{most}: take this line out")));
                }
                let read = self.around.include(file, name);
                let (file, text) = read.map_err(|reason| {
                    place.wrong(format!("`{name}` cannot be included: {reason}"))
                })?;
                self.read(&file, &text, depth + 1)?;
            } else {
                let setting = self.setting(line, place)?;
                self.put(setting)?;
            }
        }
        Ok(())
    }

    fn section(&mut self, name: &str, place: Place) -> Result<(), JobError> {
        if name.eq_ignore_ascii_case("global") {
            self.at = At::Global;
            return Ok(());
        }
        let settings: usize = self.jobs.iter().map(|job| job.settings.len()).sum();
        if self.jobs.len() == JOBS_MAX || settings + self.global.len() > SETTINGS_MAX {
            return Err(place.wrong(format!(
                "there are more than {JOBS_MAX} jobs, or {SETTINGS_MAX} options of them: make two \
                 files of it"
            )));
        }
        self.at = At::Job;
        let settings = self.global.clone();
        self.jobs.push(Section { name: name.to_owned(), place, settings });
        Ok(())
    }

    fn setting(&self, line: &str, place: Place) -> Result<Setting, JobError> {
        let key = key_of(line);
        let value = line.split_once('=').map_or("", |(_, value)| value).trim();
        let Some(key) = options::canonical(key) else {
            return Err(place.wrong(options::unknown(key)));
        };
        let (value, unset) = self.expanded(value);
        let value = unquoted(&value).to_owned();
        Ok(Setting { key: key.to_owned(), value, unset, place })
    }

    fn put(&mut self, setting: Setting) -> Result<(), JobError> {
        match (self.at, self.jobs.last_mut()) {
            (At::Global, _) => self.global.push(setting),
            (At::Job, Some(job)) => job.settings.push(setting),
            _ => {
                return Err(setting.place.wrong(format!(
                    "`{}` stands before the first section: put `[global]` above it",
                    setting.key
                )));
            }
        }
        Ok(())
    }

    /// The text with `${VAR}`, `$ncpus`, `$pagesize` and `$mb_memory` in it replaced, and a
    /// variable that is not set, whose place is left empty.
    fn expanded(&self, text: &str) -> (String, Option<String>) {
        let (mut whole, mut unset, mut rest) = (String::new(), None, text);
        while let Some(at) = rest.find('$') {
            whole += &rest[..at];
            let after = &rest[at + 1..];
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let keyword = KEYWORDS.iter().find_map(|word| Some((*word, after.strip_prefix(word)?)));
            let Some((name, tail)) = braced.or(keyword) else {
                whole.push('$');
                rest = after;
                continue;
            };
            match self.around.variable(name) {
                Some(value) => whole += &value,
                None => unset = Some(name.to_owned()),
            }
            rest = tail;
        }
        (whole + rest, unset)
    }
}

/// What fio itself knows by these names, without braces.
const KEYWORDS: &[&str] = &["pagesize", "mb_memory", "ncpus"];

/// The line without comment and blanks. fio takes `#` and `;` for the beginning of a comment
/// wherever they stand.
fn bare(line: &str) -> &str {
    line.split(['#', ';']).next().unwrap_or_default().trim()
}

fn section_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.split_once(']')?.0.trim();
    (!name.is_empty() && !name.starts_with('[')).then_some(name)
}

fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let name = rest.strip_prefix([' ', '\t'])?.trim();
    (!name.is_empty() && !name.starts_with('=')).then_some(name)
}

fn key_of(line: &str) -> &str {
    line.split('=').next().unwrap_or_default().trim()
}

fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}
