//! Where text goes: data to stdout, talk to stderr, and how each of them looks.

use anyhow::{Context, Result};
use host::Destination;
pub use report::terminal::hanging;
use report::terminal::{Characters, Color, Style};
use rustix::{
    fs::{self, FileType, RawMode},
    io::Errno,
};
use std::{
    fmt,
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    path::Path,
};

/// Columns when stdout is no terminal.
const COLUMNS: usize = 80;
/// Wider lines are hard to read.
const COLUMNS_MAX: usize = 100;

/// How stdout looks: coloured and as wide as the terminal, or plain 80 columns when piped.
pub fn style() -> Style {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let columns = terminal_columns().filter(|_| is_terminal).unwrap_or(COLUMNS);
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let plain = !is_terminal || set("NO_COLOR") || std::env::var("TERM").is_ok_and(|t| t == "dumb");
    Style {
        width: columns.clamp(report::terminal::WIDTH_MIN, COLUMNS_MAX),
        color: if plain { Color::Never } else { Color::Always },
        characters: if speaks_utf8() { Characters::Unicode } else { Characters::Ascii },
    }
}

/// How a list looks whose rows stay on one line each: as wide as the terminal; whole when piped, as
/// what reads it there looks for words and not at columns.
pub fn style_of_list() -> Style {
    let columns = terminal_columns().filter(|_| io::stdout().is_terminal());
    Style { width: columns.unwrap_or(usize::MAX), ..style() }
}

/// Lines of the terminal; `None` when stdout is none.
pub fn rows() -> Option<usize> {
    let stdout = console::Term::stdout();
    stdout.size_checked().map(|(rows, _)| usize::from(rows)).filter(|_| io::stdout().is_terminal())
}

fn terminal_columns() -> Option<usize> {
    let asked: Option<usize> = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    asked
        .or_else(|| console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)))
}

/// Whether the locale takes more than ASCII.
fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|text| {
        let text = text.to_ascii_lowercase();
        text.contains("utf-8") || text.contains("utf8")
    })
}

/// A line of talk: `talk!("wrote {path}")`. It is dropped where nobody can read it, and the work
/// goes on: see [`say`].
macro_rules! talk {
    ($($text:tt)*) => { $crate::output::say(format_args!("{}\n", format_args!($($text)*))) };
}

/// Likewise a part of a line: a terminal's, drawn anew.
macro_rules! draw {
    ($($text:tt)*) => { $crate::output::say(format_args!($($text)*)) };
}

pub(crate) use {draw, talk};

/// Writes to stderr what nobody needs to read: behind a pipe that was closed, a terminal that hung
/// up or a full disk it is dropped. `eprintln!` panics there, and a run of hours would end for a
/// line of talk; `cargo xtask check` keeps it out of the rooms.
pub fn say(text: fmt::Arguments<'_>) {
    // At once, so that lines of several processes stay whole.
    let _ = io::stderr().write_all(text.to_string().as_bytes());
}

/// Writes a result to stdout. A reader that went away (`drivelab history | head`, a terminal that
/// hung up) is no error of ours: what is left to do is done, and the exit code says what was found.
///
/// # Errors
/// It cannot be written, though somebody wants it: the disk is full.
pub fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Likewise, for what is no text.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    judged(write_flushed(&mut io::stdout().lock(), bytes))
}

/// What became of a write to stdout.
pub fn judged(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if is_unread(&error, io::stdout()) => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// Whether whoever reads this stream went away. A terminal that hung up answers EIO, and no longer
/// says that it is one.
fn is_unread(error: &io::Error, stream: impl AsFd) -> bool {
    let is_character_device = || {
        let found = fs::fstat(stream).ok();
        found.is_some_and(|it| {
            FileType::from_raw_mode(it.st_mode as RawMode) == FileType::CharacterDevice
        })
    };
    match Errno::from_io_error(error) {
        Some(Errno::PIPE) => true,
        Some(Errno::IO) => is_character_device(),
        _ => false,
    }
}

fn write_flushed(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// ` --store PATH`, as a shell takes it, for the commands that a message names; nothing for the
/// user's own store.
pub fn store_option(named: Option<&Path>) -> String {
    named.map_or_else(String::new, |path| format!(" --store {}", record::quoted(path)))
}

/// Writes a file that the user named, whole or not at all: see [`Destination`].
///
/// # Errors
/// What it cannot be written for, with the path.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let destination = Destination::of(path)?;
    if destination.is_stdout() {
        return print_bytes(bytes);
    }
    destination.write(bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether a file that the user named for JSON can be written, asked before what it will hold is
/// measured.
///
/// # Errors
/// As [`Destination::of`].
pub fn check_json(path: Option<&Path>) -> Result<()> {
    path.map_or(Ok(()), |path| Destination::of(path).map(drop).context("--json"))
}

/// Writes the JSON document of a command to the file that was named.
///
/// # Errors
/// As [`write_whole`].
pub fn write_json(path: &Path, text: &str) -> Result<()> {
    write_whole(path, text.as_bytes()).context("--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_in_a_command_is_one_word_for_a_shell() {
        let option = |path: &str| store_option(Some(Path::new(path)));
        assert_eq!(store_option(None), "");
        assert_eq!(option("a/h.db"), " --store a/h.db");
        assert_eq!(option("my runs.db"), " --store 'my runs.db'");
        assert_eq!(option("it's"), r" --store 'it'\''s'");
        assert_eq!(option("~x"), " --store '~x'");
    }
}
