//! What is wrong with a method file, in a sentence with the line.

use super::fio_words::key_here;
use block::names::unknown_field;

/// `line 7: there is no key `blok`. Did you mean ...`: a TOML error as one sentence.
pub fn complaint(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map_or(String::new(), |span| {
        let before = &text.as_bytes()[..span.start];
        format!("line {}: ", 1 + before.iter().filter(|&&byte| byte == b'\n').count())
    });
    match unknown_field(error.message()) {
        Some((wrong, known)) => format!(
            "{place}there is no key `{wrong}` here.{} Keys: {}.",
            key_here(wrong, known.iter().copied()),
            known.join(", ")
        ),
        None => format!("{place}{}", error.message()),
    }
}

/// `cell 3 (line 41)`: the third cell, and where it stands when it is written as a table of its
/// own.
pub(super) fn cell_at(text: &str, number: usize) -> String {
    let headers = text.lines().enumerate().filter(|(_, line)| {
        let bare = line.split('#').next().unwrap_or_default().trim();
        bare == "[[cell]]"
    });
    match headers.map(|(line, _)| line + 1).nth(number - 1) {
        Some(line) => format!("cell {number} (line {line})"),
        None => format!("cell {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_found_by_its_header() {
        let text = "name = 'x'\n[[cell]]\nop = 'read'\n [[cell]] # second\n";
        assert_eq!(cell_at(text, 1), "cell 1 (line 2)");
        assert_eq!(cell_at(text, 2), "cell 2 (line 4)");
        assert_eq!(cell_at(text, 3), "cell 3");
    }
}
