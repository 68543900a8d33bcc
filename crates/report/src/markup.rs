//! Text that cannot break out of HTML or XML, and coordinates as short as they can be.

use std::fmt::{self, Display};

/// Writes text for a place between tags or in a quoted attribute, in HTML and XML alike. What XML
/// cannot hold (control characters, non-characters) becomes U+FFFD; marks that turn the direction
/// of text are dropped, so that a name reads as it is spelled.
pub struct Escaped<T>(pub T);

impl<T: AsRef<str>> Display for Escaped<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.as_ref().chars() {
            match letter {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                '\t' | '\n' | '\r' => formatter.write_str(" ")?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
                '\u{fffe}' | '\u{ffff}' => formatter.write_str("\u{fffd}")?,
                _ if letter.is_control() => formatter.write_str("\u{fffd}")?,
                _ => write!(formatter, "{letter}")?,
            }
        }
        Ok(())
    }
}

/// A coordinate in tenths of a pixel.
#[derive(Clone, Copy)]
pub(crate) struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.0.is_finite(), "a coordinate is a number");
        let tenths = (self.0.clamp(-1e6, 1e6) * 10.0).round() as i64;
        if tenths < 0 {
            formatter.write_str("-")?;
        }
        match (tenths.abs() / 10, tenths.abs() % 10) {
            (whole, 0) => write!(formatter, "{whole}"),
            (whole, tenth) => write!(formatter, "{whole}.{tenth}"),
        }
    }
}

/// Roughly how wide text is in a proportional font: measured on DejaVu Sans, the widest that
/// systems put in the place of their own.
pub(crate) fn text_px(text: &str, font_px: f64) -> f64 {
    let letter = |letter: char| match letter {
        'i' | 'l' | 'j' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | '/' | '-' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' => 0.9,
        'A'..='Z' => 0.7,
        _ if u32::from(letter) >= 0x2e80 => 1.0,
        _ => 0.61,
    };
    text.chars().map(letter).sum::<f64>() * font_px
}

/// The beginning of `text` that is at most `width_px` wide, with an ellipsis where something was
/// cut off.
pub(crate) fn fitted(text: &str, width_px: f64, font_px: f64) -> String {
    if text_px(text, font_px) <= width_px {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if text_px(&short, font_px) + 1.6 * font_px > width_px {
            break;
        }
        short.push(letter);
    }
    short.trim_end().to_owned() + "\u{2026}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_user_types_is_markup() {
        let typed = "a</title><script>\"x\"='&amp;'\u{0}\u{1b}\u{202e}\u{ffff}\n";
        assert_eq!(
            Escaped(typed).to_string(),
            "a&lt;/title&gt;&lt;script&gt;&quot;x&quot;=&#39;&amp;amp;&#39;\u{fffd}\u{fffd}\u{fffd} "
        );
    }

    #[test]
    fn coordinates_have_at_most_one_decimal() {
        let texts = [0.0, 12.34, -0.04, -1.55, 7.96, 1e300].map(|value| Px(value).to_string());
        assert_eq!(texts, ["0", "12.3", "0", "-1.6", "8", "1000000"]);
    }

    #[test]
    fn a_long_name_is_cut_with_an_ellipsis() {
        assert_eq!(fitted("short", 100.0, 12.0), "short");
        let cut = fitted(&"long name ".repeat(20), 100.0, 12.0);
        assert!(cut.ends_with('\u{2026}') && text_px(&cut, 12.0) <= 112.0, "{cut}");
    }
}
