//! "Did you mean": the nearest right names to a wrong one.

/// Up to three of `known` within a third of their length in edits, nearest first: at least two, but
/// one of names so short that two letters make another word, unless they begin alike. Capital and
/// small letters are the same here, and what differs in them alone is the only one.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let small = wrong.to_ascii_lowercase();
    let wrong = small.as_str();
    let is_near =
        |edits: usize, name: &str| edits <= edits_max(wrong, name) || name.starts_with(wrong);
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        // It takes at least as many edits as the lengths differ by.
        .filter(|name| is_near(name.len().abs_diff(wrong.len()), name))
        .map(|name| (edits(wrong, name), name))
        .filter(|(edits, name)| is_near(*edits, name))
        .collect();
    close.sort();
    let is_one = close.first().is_some_and(|(edits, _)| *edits == 0);
    close.truncate(if is_one { 1 } else { 3 });
    close.into_iter().map(|(_, name)| name).collect()
}

/// The key that is none, and those that are, of serde's "unknown field `x`, expected one of `a`,
/// `b`".
pub fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let (wrong, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    Some((wrong, rest.split('`').skip(1).step_by(2).collect()))
}

/// ` Did you mean ...?`, or nothing when nothing is near.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    these(&nearest(wrong, known))
}

/// The same of names that were found otherwise.
pub fn these(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(" Did you mean {}?", quoted.join(" or "))
}

fn edits_max(wrong: &str, name: &str) -> usize {
    let begin_alike = || name.len() > 2 && wrong.as_bytes().starts_with(&name.as_bytes()[..2]);
    match name.len() {
        0..=4 if !begin_alike() => 1,
        length => (length / 3).max(2),
    }
}

/// How many bytes must be put in, taken out, exchanged or swapped with the next to make one of the
/// other (Levenshtein's distance with Damerau's swaps).
pub fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // The table's last three rows.
    let (mut before, mut row) = (vec![0; b.len() + 1], vec![0; b.len() + 1]);
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        row[0] = i + 1;
        for j in 0..b.len() {
            let exchanged = last[j] + usize::from(!a[i].eq_ignore_ascii_case(&b[j]));
            let mut least = exchanged.min(row[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_far_ones_not_at_all() {
        let known = ["quick", "bm-flash", "iozone", "iozone-cmu", "oltp"];
        assert_eq!(nearest("quik", known), ["quick"]);
        assert_eq!(nearest("BM-FLASH", known), ["bm-flash"]);
        assert_eq!(nearest("iozone-cmv", known)[0], "iozone-cmu");
        assert_eq!(nearest("zzzzzz", known), [""; 0]);
        assert_eq!(did_you_mean("bmflash", known), " Did you mean `bm-flash`?");
    }

    #[test]
    fn edit_distances_are_the_textbook_ones() {
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "abc")), (3, 3, 0));
        assert_eq!((edits("prot", "port"), edits("nvme-tcl", "nvme-tlc")), (1, 1));
    }

    /// `drives nope` was asked whether it meant `none`, and `/nope` whether it was `/home`.
    #[test]
    fn of_short_names_only_one_letter_may_be_wrong() {
        assert_eq!(nearest("nope", ["home", "opt"]), [""; 0]);
        assert_eq!(nearest("prot", ["port", "post"]), ["port"]);
        assert_eq!(nearest("sdx", ["vda", "sda"]), ["sda"]);
        assert_eq!(nearest("maks", ["max", "min"]), ["max"], "they begin alike");
    }
}
