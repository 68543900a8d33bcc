//! Paths that are no text: JSON holds text alone, and a path is any bytes but NUL.

use serde_json::Value;
use std::{
    ffi::OsString,
    fmt::Write,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// A path as text from which [`from_exact`] makes it again: each byte that is no UTF-8, and each
/// `%`, as `%` and two digits (RFC 3986, 2.1). `None` where the path is text and says it itself.
pub fn exact(path: &Path) -> Option<String> {
    if path.to_str().is_some() {
        return None;
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text += &chunk.valid().replace('%', "%25");
        for byte in chunk.invalid() {
            write!(text, "%{byte:02X}").expect("a String takes everything");
        }
    }
    Some(text)
}

/// An object with paths: each as text under its key and, where that lacks bytes, exactly under
/// `KEY_exact` (docs/reference/record-format.md).
pub fn with_paths(mut object: Value, paths: &[(&str, &Path)]) -> Value {
    for (key, path) in paths {
        object[*key] = path.to_string_lossy().into();
        if let Some(exact) = exact(path) {
            object[format!("{key}_exact")] = exact.into();
        }
    }
    object
}

/// The path that [`exact`] wrote; a `%` without two digits stands for itself.
pub fn from_exact(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|_| first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_text_is_written_otherwise() {
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/tmp/caf\xe9/100%"));
        assert_eq!(exact(path).as_deref(), Some("/tmp/caf%E9/100%25"));
        assert_eq!(exact(Path::new("/tmp/café/100%")), None);
        assert_eq!(from_exact("a%zz%4"), Path::new("a%zz%4"));
    }

    #[test]
    fn every_byte_comes_back() {
        for first in 1..=u8::MAX {
            for second in 1..=u8::MAX {
                let path = PathBuf::from(OsString::from_vec(vec![b'/', first, second, b'4', b'1']));
                if let Some(text) = exact(&path) {
                    assert_eq!(from_exact(&text), path, "{text}");
                }
            }
        }
    }
}
