//! One line of comma-separated fields among lines of other kinds.

use csv::ReaderBuilder;

/// The fields of a line; none of an empty one.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(super::fields("a,\"b,\"\"c\"\"\",,d"), ["a", "b,\"c\"", "", "d"]);
        assert!(super::fields("").is_empty());
    }
}
