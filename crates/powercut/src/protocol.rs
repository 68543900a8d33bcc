//! The lines that a workload and its check print.

/// The longest identifier that is kept, bytes.
const ID_BYTES_MAX: usize = 256;

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A promise is not kept: what was promised is not there.
    Lost(String),
    /// A promise is not kept: something else is there.
    Torn(String),
    /// What is left cannot be used at all, in the check's words.
    Broken(String),
}

/// The line behind the answers of a built-in check that goes on with the next one; `why` what is
/// left cannot be used.
pub fn ended(why: Option<&str>) -> String {
    why.map_or_else(|| "end".to_owned(), |why| format!("end {why}"))
}

/// Whether a line is that one, and what it says.
pub fn end(line: &str) -> Option<Option<&str>> {
    match line.strip_prefix("end")? {
        "" => Some(None),
        why => why.strip_prefix(' ').map(Some),
    }
}

/// The identifier of a promise, where the line is one: `ack ID`.
pub fn acknowledged(line: &str) -> Option<&str> {
    identifier(line.strip_prefix("ack ")?)
}

/// What a line of a check says; other lines are for people.
pub fn answer(line: &str) -> Option<Answer> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "lost" => Some(Answer::Lost(identifier(rest)?.to_owned())),
        "torn" => Some(Answer::Torn(identifier(rest)?.to_owned())),
        "broken" => Some(Answer::Broken(rest.trim().to_owned())),
        _ => None,
    }
}

/// A word without blanks, not too long.
fn identifier(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_one = !text.is_empty() && text.len() <= ID_BYTES_MAX;
    (is_one && !text.contains(char::is_whitespace)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_check_is_read_as_it_was_written() {
        for why in [None, Some("no database"), Some("")] {
            assert_eq!(end(&ended(why)), Some(why));
        }
        for line in ["ended", "lost 3", "", " end"] {
            assert_eq!(end(line), None, "{line:?}");
        }
    }

    #[test]
    fn promises_and_answers_are_told_from_other_lines() {
        assert_eq!(acknowledged("ack 17"), Some("17"));
        assert_eq!(acknowledged("ack a/b:3 "), Some("a/b:3"));
        for line in ["ack", "ack ", "acknowledged 3", "ack two words", "", " ack 3", "nack 3"] {
            assert_eq!(acknowledged(line), None, "{line:?}");
        }
        let long = format!("ack {}", "x".repeat(257));
        assert_eq!(acknowledged(&long), None);
        assert_eq!(answer("lost 3"), Some(Answer::Lost("3".to_owned())));
        assert_eq!(answer("torn x"), Some(Answer::Torn("x".to_owned())));
        assert_eq!(
            answer("broken cannot be opened: no journal"),
            Some(Answer::Broken("cannot be opened: no journal".to_owned()))
        );
        assert_eq!(answer("broken"), Some(Answer::Broken(String::new())));
        for line in ["lost", "lost ", "kept 3", "torn a b", ""] {
            assert_eq!(answer(line), None, "{line:?}");
        }
    }
}
