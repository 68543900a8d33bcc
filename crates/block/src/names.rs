//! "Did you mean": the nearest right names to a wrong one.

/// Up to three of `known` within a third of their length in edits (at least two), nearest first.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (edits(wrong, name), name))
        .filter(|(edits, name)| *edits <= (name.len() / 3).max(2) || name.starts_with(wrong))
        .collect();
    close.sort();
    close.truncate(3);
    close.into_iter().map(|(_, name)| name).collect()
}

/// ` Did you mean ...?`, or nothing when nothing is near.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names = nearest(wrong, known);
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(" Did you mean {}?", quoted.join(" or "))
}

/// How many bytes must be put in, taken out or exchanged to make one of the other (Levenshtein).
pub fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitution = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_far_ones_not_at_all() {
        let known = ["quick", "bm-flash", "iozone", "iozone-cmu", "oltp"];
        assert_eq!(nearest("quik", known), ["quick"]);
        assert_eq!(nearest("iozone-cmv", known)[0], "iozone-cmu");
        assert_eq!(nearest("zzzzzz", known), [""; 0]);
        assert_eq!(did_you_mean("bmflash", known), " Did you mean `bm-flash`?");
    }

    #[test]
    fn edit_distances_are_the_textbook_ones() {
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "abc")), (3, 3, 0));
    }
}
