//! Files that a user names: read with a bound, so that one that never ends fills no memory.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Longest record: ten times that of the longest run, a day of SNIA rounds with all its ticks.
pub const RECORD_BYTES_MAX: u64 = 64 << 20;
/// Longest text that a person writes: a method, a data sheet, a drive of the catalog.
pub const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The text of a file of at most `bytes_max` bytes. The error says what is wrong and what helps,
/// and leaves it to the caller to name the file.
///
/// # Errors
/// The system's, with the cure; too long; no UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let bytes = read_bytes(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text: check the path"))
}

/// The content of a file of at most `bytes_max` bytes, as [`read_text`].
///
/// # Errors
/// The system's, with the cure; too long.
pub fn read_bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(explained)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!(
            "it is longer than {} MiB, and none is: check the path",
            bytes_max >> 20
        )));
    }
    Ok(bytes)
}

/// Opens a file that may be of any length; the error as [`read_text`].
///
/// # Errors
/// The system's, with the cure.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path).map_err(explained)?;
    if file.metadata()?.is_dir() {
        return Err(explained(io::ErrorKind::IsADirectory.into()));
    }
    Ok(file)
}

fn explained(error: io::Error) -> io::Error {
    let text = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file: check the spelling",
        io::ErrorKind::IsADirectory => "it is a directory: name a file in it",
        io::ErrorKind::PermissionDenied => "this user may not read it: `chmod` it, or be another",
        _ => return error,
    };
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `show /dev/zero` read until the machine had no memory left.
    #[test]
    fn a_file_that_never_ends_is_refused_at_the_bound() {
        let refusal = read_text(Path::new("/dev/zero"), 1 << 20).expect_err("it never ends");
        assert!(refusal.to_string().contains("longer than 1 MiB"), "{refusal}");
        assert_eq!(read_text(Path::new("/dev/null"), 0).expect("it is empty"), "");
        let refusal = read_text(Path::new("/nope"), 1).expect_err("nothing there").to_string();
        assert_eq!(refusal, "there is no such file: check the spelling");
        let refusal = read_text(Path::new("/"), 1).expect_err("a directory").to_string();
        assert!(refusal.contains("name a file in it"), "{refusal}");
    }
}
