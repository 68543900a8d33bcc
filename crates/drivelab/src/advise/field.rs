//! What the words of the command line let be considered: drives, STACKs, RUNs.

use super::words;
use crate::known::{Named, prices};
use advice::{Candidate, Field, Question};
use anyhow::{Context, Error, Result, anyhow};
use record::StoreError;
use report::runs::{self, Run};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
    slice,
};
use target::{
    catalog::{Catalog, DriveEntry},
    stack::Stack,
};

/// What was named; the whole catalog without a name.
pub fn field(
    names: &[OsString],
    store: Option<&Path>,
    catalog: &Catalog,
    question: &Question,
) -> Result<Field> {
    let mut field = Field::new(question);
    let mut known: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    if names.is_empty() {
        known.extend(catalog.drive_names());
        catalog.drives().iter().for_each(|drive| field.put_drive(drive, question));
    }
    for word in names {
        let name = &*word.to_string_lossy();
        if let Some(drive) = catalog.drive(name.strip_prefix("model:").unwrap_or(name)) {
            known.push(drive.name());
            field.put_drive(drive, question);
        } else if let Some(stack) = as_stack(name)? {
            field.put_stack(&stack, catalog, question).with_context(|| name.to_owned())?;
            let drives = stack.members.iter();
            let drives = drives.filter_map(|member| catalog.drive(&member.drive.name));
            known.extend(drives.map(DriveEntry::name));
        } else {
            let runs = recorded(word, store, catalog, question);
            for candidate in runs.map_err(|error| of_nothing(error, name, catalog))? {
                field.put(candidate, question);
            }
        }
    }
    question.check_prices(&known).map_err(|unknown| words::unknown_price(&unknown, question))?;
    Ok(field)
}

/// `model:STACK`, or a word that can only be a STACK; a file's name is a RUN.
fn as_stack(name: &str) -> Result<Option<Stack>> {
    if let Some(text) = name.strip_prefix("model:") {
        return Ok(Some(text.parse()?));
    }
    let counted = name.split_once('x').is_some_and(|(count, _)| count.parse::<u16>().is_ok());
    let looks_so = counted || name.contains(['/', ':', '+']);
    if !looks_so
        || name.ends_with(".json")
        || name.starts_with(['.', '/', '~'])
        || Path::new(name).is_file()
    {
        return Ok(None);
    }
    Ok(Some(name.parse()?))
}

/// The targets of a run.
fn recorded(
    word: &OsStr,
    store: Option<&Path>,
    catalog: &Catalog,
    question: &Question,
) -> Result<Vec<Candidate>> {
    let mut store = crate::store::open(store)?;
    store.close_orphans()?;
    let record = store.resolve(word)?;
    let named = [OsString::from(word)];
    let prices = prices::of(&Named::all(&named, slice::from_ref(&record)), &[])?.concat();
    let subjects = runs::subjects(&[Run { record: &record, prices }]);
    let word = &*word.to_string_lossy();
    let candidates = subjects.iter().map(|subject| {
        advice::candidate(word, subject, catalog, question)
            .map_err(|lacks| words::lacks(&lacks, &question.workload))
    });
    candidates.collect()
}

/// Neither a drive nor a run.
fn of_nothing(error: Error, name: &str, catalog: &Catalog) -> Error {
    match error.downcast_ref::<StoreError>() {
        Some(StoreError::NotFound { .. }) => {
            let near = catalog.did_you_mean_drive(name);
            anyhow!(
                "`{name}` is no drive of the catalog, no STACK and no RUN.{near} `drivelab drives` \
                 lists drives, `drivelab history` runs"
            )
        }
        _ => error,
    }
}
