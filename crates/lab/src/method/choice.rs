//! A setting that is one of several words.

use super::fio_words::value_here;

pub(super) fn one_of<T: Default>(
    key: &str,
    written: &Option<String>,
    parse: impl Fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<T, String> {
    match written {
        None => Ok(T::default()),
        Some(text) => parse(text).ok_or_else(|| unknown(key, text, names)),
    }
}

pub(super) fn unknown(key: &str, text: &str, names: &[&str]) -> String {
    let near = value_here(text, names);
    format!("{key} = `{text}` is unknown.{near} There are: {}.", names.join(", "))
}
