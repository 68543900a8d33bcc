//! KEY=VALUE, as several options take it.

/// Reads `key=value`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE, such as block=4K".to_owned()),
    }
}
