//! Which history: the one that was named, the one of the environment, or the user's own.
//!
//! ```text
//!   --store PLACE | DRIVELAB_STORE | the user's file
//!   who reads:    open       a file, or a database
//!   who measures: open_here  a file; where a database was named, the user's own
//!                 deliver    and what was measured is pushed there, once it has ended
//! ```

use crate::output;
use anyhow::{Context, Error, Result, bail, ensure};
use record::{Place, Record, Store, StoreError, sql::Connect};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// How a database is connected to; nothing where the feature was left out.
#[cfg(feature = "postgresql")]
pub const CONNECT: Option<Connect> = Some(postgresql::connect);
#[cfg(not(feature = "postgresql"))]
pub const CONNECT: Option<Connect> = None;

/// The variable that names a history for whoever names none.
pub const VARIABLE: &str = "DRIVELAB_STORE";

/// The history that is meant.
///
/// # Errors
/// An address that is none of a history, or one with a password in it.
pub fn named(named: Option<&Path>) -> Result<Place> {
    if let Some(path) = named {
        return place(path, "--store");
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => place(Path::new(&value), VARIABLE),
        None => Ok(Place::File(own()?)),
    }
}

/// The file of this machine in which runs are kept: the one that is meant, or the user's own where
/// a database is meant.
///
/// # Errors
/// As [`named`].
pub fn here(store: Option<&Path>) -> Result<PathBuf> {
    match named(store)? {
        Place::File(path) => Ok(path),
        Place::Server(_) => own(),
    }
}

fn own() -> Result<PathBuf> {
    let path = record::default_path(|name| std::env::var_os(name))?;
    // Where the environment leads to there, an option leads elsewhere.
    host::missing::refuse_in_kernels_place(&path).context("--store")?;
    Ok(path)
}

/// The place that `option` names.
///
/// # Errors
/// As [`named`].
pub fn place(path: &Path, option: &str) -> Result<Place> {
    let place = Place::of(path, CONNECT);
    let Place::Server(address) = &place else {
        refuse_address(path, option)?;
        host::missing::refuse_in_kernels_place(path).with_context(|| option.to_owned())?;
        return Ok(place);
    };
    place.check().map_err(in_words)?;
    // Whoever lists the processes would read it, and so would whoever reads the record.
    ensure!(
        !(option.starts_with('-') && address.has_password()),
        "{option} {address}: a password in a command is seen by all users of this machine: put it \
         into ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD, mode 0600, or into PGPASSWORD"
    );
    Ok(place)
}

/// Refuses `mysql://host/base` and every other address that is none of a history.
fn refuse_address(path: &Path, option: &str) -> Result<()> {
    let text = path.to_string_lossy();
    let Some((scheme, _)) = text.split_once("://") else { return Ok(()) };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(is_letter);
    ensure!(
        !is_scheme,
        "{option} {text}: a history is a file or a PostgreSQL database, and {scheme}:// is an \
         address of something else: name a path, such as ./history.db, or postgresql://HOST/NAME"
    );
    Ok(())
}

/// Opens the history that is meant, to read it: where there is none it is empty, and none is made.
///
/// # Errors
/// It cannot be read, with the cure.
pub fn open(store: Option<&Path>) -> Result<Store> {
    Store::at(&named(store)?).map_err(in_words)
}

/// The runs that are meant, of the history or of files.
///
/// # Errors
/// As [`find`].
pub fn load(store: Option<&Path>, runs: &[OsString]) -> Result<Vec<Record>> {
    let mut opened = open(store)?;
    opened.close_orphans()?;
    runs.iter().map(|run| find(&opened, store, run)).collect()
}

/// The run that is meant, of the history that [`open`] has opened or of a file.
///
/// # Errors
/// There is no such run, or an option names a history that is not there.
pub fn find(opened: &Store, store: Option<&Path>, run: &OsStr) -> Result<Record> {
    opened.resolve(run).map_err(|error| match (error.is_of_empty(), missing(store)) {
        (true, Ok(Some(missing))) => Error::msg(missing),
        _ => error.into(),
    })
}

/// What is said of a history that an option named and that is not there: a letter may be wrong.
///
/// # Errors
/// As [`named`].
pub fn missing(store: Option<&Path>) -> Result<Option<String>> {
    let (Some(path), true) = (store, named(store)?.is_missing()) else { return Ok(None) };
    let near = host::missing::did_you_mean(path, &[], &host::Roots::default());
    Ok(Some(format!(
        "there is no history {}: check the spelling.{near} `drivelab run . --store {}` begins one",
        path.display(),
        record::quoted(path)
    )))
}

/// Opens the history in which a run is kept while it goes on.
///
/// # Errors
/// It cannot be written, with the cure.
pub fn open_here(store: Option<&Path>) -> Result<Store> {
    Ok(Store::open(&here(store)?)?)
}

/// The same, without what killed runs left.
///
/// # Errors
/// As [`open_here`].
pub fn open_swept(store: Option<&Path>) -> Result<Store> {
    let mut store = open_here(store)?;
    run::clean_up(&mut store, &mut |left| output::talk!("drivelab: {left}"))?;
    Ok(store)
}

/// Pushes a run that has ended into the database, where one is meant. It is kept here whatever
/// happens: what goes wrong is said, and no more.
pub fn deliver(store: Option<&Path>, id: &str) {
    let Ok(place @ Place::Server(_)) = named(store) else { return };
    if let Err(error) = delivered(store, &place, id) {
        let to = to_option(store);
        output::talk!(
            "drivelab: run {id} is kept here and not yet in the database: {error}; later: drivelab \
             push{to}"
        );
    }
}

fn delivered(store: Option<&Path>, place: &Place, id: &str) -> Result<()> {
    let local = open_here(store)?;
    let Some(run) = local.ended_one(id)? else { bail!("it has not ended") };
    let mut shared = Store::at_to_push(place, record::Tables::Made).map_err(in_words)?;
    let pushed = shared.push_lacking(&[run], &mut |run| local.load(&run.id), &mut |_, _| true);
    pushed.map(drop).map_err(in_words)
}

/// ` --to PLACE` for the database that an option named; nothing where the environment did.
fn to_option(store: Option<&Path>) -> String {
    store.map_or_else(String::new, |path| format!(" --to {}", record::quoted(path)))
}

/// An error with the cure that the command line knows.
pub fn in_words(error: StoreError) -> Error {
    match &error {
        StoreError::Older { place, .. } => {
            let text = OsString::from(place.to_string());
            let cure = format!(
                "{error}: `drivelab push --migrate --to {}` brings it up to date, once all who \
                 use it have this drivelab",
                record::quoted(&text)
            );
            Error::msg(cure)
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_something_else_is_no_store() {
        let refused = |path: &str| refuse_address(Path::new(path), "--store").is_err();
        for address in ["mysql://a", "https://a/b", "file:///tmp/a", "s3+x://b"] {
            assert!(refused(address), "{address}");
        }
        for path in ["history.db", "/tmp/a.db", "./a://b", "a:b", "/x/y://z", "://a", "1://a"] {
            assert!(!refused(path), "{path}");
        }
    }
}
