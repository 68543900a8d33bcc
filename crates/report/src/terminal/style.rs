//! How text may look, and text that cannot break out of it.

/// What the terminal can show. The binary decides; nothing here asks the surroundings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Columns; no line is longer. At least [`WIDTH_MIN`] is assumed.
    pub width: usize,
    /// Whether escape sequences for colours may be written.
    pub color: Color,
    /// Which characters may be used.
    pub characters: Characters,
}

/// The narrowest layout, in columns.
pub const WIDTH_MIN: usize = 40;

/// Whether to write colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// ANSI escape sequences.
    Always,
    /// Text alone.
    Never,
}

/// Which characters to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Characters {
    /// 7-bit only; others in names become `?`.
    Ascii,
    /// Box drawing, plus-minus, sparklines.
    Unicode,
}

/// What a piece of text is for; a colour when there are colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// As it is.
    Plain,
    /// A heading.
    Strong,
    /// Of less weight: units, notes.
    Faint,
    /// Something to look at.
    Alert,
    /// Something that is wrong.
    Wrong,
    /// Good.
    Good,
}

impl Style {
    /// 80 columns, no colours, ASCII: what a pipe gets.
    pub const PLAIN: Self = Self { width: 80, color: Color::Never, characters: Characters::Ascii };

    pub(crate) fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    pub(crate) fn paint(&self, text: &str, paint: Paint) -> String {
        let code = match (self.color, paint) {
            (Color::Never, _) | (_, Paint::Plain) => return text.to_owned(),
            (_, Paint::Strong) => "1",
            (_, Paint::Faint) => "2",
            (_, Paint::Alert) => "33",
            (_, Paint::Wrong) => "31",
            (_, Paint::Good) => "32",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub(crate) fn plus_minus(&self) -> &'static str {
        self.choose("+-", "\u{b1}")
    }

    pub(crate) fn rule(&self) -> &'static str {
        self.choose("-", "\u{2500}")
    }

    pub(crate) fn choose<T>(&self, ascii: T, unicode: T) -> T {
        match self.characters {
            Characters::Ascii => ascii,
            Characters::Unicode => unicode,
        }
    }

    /// Text from a record, which may have come from anywhere, without anything that would steer a
    /// terminal.
    pub fn clean(&self, text: &str) -> String {
        text.chars()
            .map(|letter| match letter {
                '\n' | '\r' | '\t' => ' ',
                _ if letter.is_control() || is_invisible(letter) => '?',
                _ if !letter.is_ascii() && self.characters == Characters::Ascii => '?',
                _ => letter,
            })
            .collect()
    }
}

/// Marks that turn the direction of text, join letters or take no room.
fn is_invisible(letter: char) -> bool {
    matches!(u32::from(letter), 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfe00..=0xfe0f)
}

/// Columns that `text` takes: two for East Asian wide letters and pictures (Unicode Standard Annex
/// 11), none for combining accents, one for all else.
pub(crate) fn columns_of(text: &str) -> usize {
    text.chars().map(letter_columns).sum()
}

fn letter_columns(letter: char) -> usize {
    match u32::from(letter) {
        0x300..=0x36f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Breaks `text` into lines of at most `width` columns, at blanks where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2); // A wide letter must fit.
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        if columns_of(&line) + gap + columns_of(word) <= width {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if gap == 1 {
            lines.push(std::mem::take(&mut line));
        }
        for letter in word.chars() {
            if columns_of(&line) + letter_columns(letter) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The beginning of `text` that fits `width` columns, marked where something was cut off.
pub fn shorten(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if columns_of(&short) + letter_columns(letter) + 2 > width {
            break;
        }
        short.push(letter);
    }
    short + &".."[..2.min(width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_long_words_inside() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("\u{6f22}\u{5b57}\u{6f22}", 4), ["\u{6f22}\u{5b57}", "\u{6f22}"]);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let unicode = Style { characters: Characters::Unicode, ..Style::PLAIN };
        assert_eq!(unicode.clean("a\x1b[31mb\nc\u{202e}d\u{e9}"), "a?[31mb c?d\u{e9}");
        assert_eq!(Style::PLAIN.clean("\u{e9}t\u{e9}"), "?t?");
    }

    #[test]
    fn what_is_cut_off_is_marked() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcd..");
        assert_eq!(shorten("abc", 1), ".");
    }
}
