//! The language on a book small enough to compute by hand.

use super::{Expression, Reading, Trouble};
use crate::{Book, Study, StudyFile};

const FILE: &str = r#"
title = "t"
year = 1
source = "s"
asks = "a?"
[[device]]
id = "a"
name = "drive-a"
short = "A"
title = "A"
groups = ["ssd"]
facts = { price = [10, "$10"] }
[[device]]
id = "b"
name = "drive-b"
short = "B"
title = "B"
groups = ["ssd"]
facts = { price = [40, "$40"] }
[[device]]
id = "d"
name = "disk"
short = "D"
title = "D"
facts = { price = [5, "$5"] }
[[table]]
id = "I"
title = "one"
unit = "x"
rows = ["device"]
columns = ["block"]
"#;

/// device, block, value: A 6, 8; B 12, 20; disk 3, 4; and a row of the disk that is missing.
fn book() -> Book {
    let file = StudyFile::parse(Study::Cmu2009, FILE).expect("good");
    let mut book = Book::new(&file);
    let figures = [
        ("drive-a", "4096", 6.0),
        ("drive-a", "8192", 8.0),
        ("drive-b", "4096", 12.0),
        ("drive-b", "8192", 20.0),
        ("disk", "4096", 3.0),
        ("disk", "8192", 4.0),
    ];
    let at = |device: &str, block: &str| {
        [("table", "I"), ("device", device), ("block", block)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    };
    for (device, block, number) in figures {
        book.put(at(device, block), Ok(number));
    }
    book.put(at("disk", "16384"), Err("lost".to_owned()));
    book
}

fn numbers(text: &str) -> Vec<f64> {
    let expression: Expression = text.parse().expect("an expression");
    let book = book();
    let series = Reading::new(&book).evaluate(&expression);
    series.unwrap_or_else(|trouble| panic!("{text}: {trouble:?}")).numbers()
}

fn trouble(text: &str) -> Trouble {
    let expression: Expression = text.parse().expect("an expression");
    let book = book();
    Reading::new(&book).evaluate(&expression).expect_err(text)
}

#[test]
fn arithmetic_has_its_usual_ranks() {
    assert_eq!(numbers("1 + 2 * 3 - 8 / 4 / 2"), [6.0]);
    assert_eq!(numbers("(1 + 2) * 3"), [9.0]);
    assert_eq!(numbers("3 - 2 - 1"), [0.0]);
    assert_eq!(numbers("2 * 3 >= 7 - 1"), [1.0]);
}

#[test]
fn selections_filter_by_device_group_and_size() {
    assert_eq!(numbers("I[device=ssd block=4K]"), [6.0, 12.0]);
    assert_eq!(numbers("I[device=a,drive-b block=8K]"), [8.0, 20.0]);
    assert_eq!(numbers("I[device=d block=4K..8K]"), [3.0, 4.0]);
    assert_eq!(numbers("price[]"), [10.0, 40.0, 5.0]);
}

#[test]
fn two_selections_meet_where_what_they_filter_alike_is_equal() {
    // Each solid state drive over the disk, block by block.
    assert_eq!(numbers("I[device=ssd] / I[device=d]"), [2.0, 2.0, 4.0, 5.0]);
    // Filtered alike: the same device on both sides.
    assert_eq!(numbers("I[device=ssd block=8K] - I[device=ssd block=4K]"), [2.0, 8.0]);
    // A fact has no block, and meets every one.
    assert_eq!(numbers("price[device=ssd] / I[device=ssd block=4K]"), [10.0 / 6.0, 40.0 / 12.0]);
    assert_eq!(numbers("I[device=a] / I[device=*]").len(), 6);
}

#[test]
fn functions_give_what_they_say() {
    assert_eq!(numbers("range(I[device=ssd])"), [6.0, 20.0]);
    assert_eq!(numbers("mean(I[device=d])"), [3.5]);
    assert_eq!(numbers("least(I[], block)"), [3.0, 4.0]);
    assert_eq!(numbers("most(I[], device)"), [8.0, 20.0, 4.0]);
    assert_eq!(numbers("all(I[device=ssd] > I[device=d])"), [1.0]);
    assert_eq!(numbers("share(I[] > 7)"), [0.5]);
    assert_eq!(numbers("list(max(I[]), count(I[]))"), [20.0, 6.0]);
    // Half reads at 4 a second, half writes at 1: 1 / (0.125 + 0.5).
    assert_eq!(numbers("mix(4, 1, 0.5)"), [1.6]);
    // 6 at 4096 and 8 at 8192 lie on a line that starts at 4.
    assert!((numbers("intercept(I[device=a])")[0] - 4.0).abs() < 1e-9);
}

#[test]
fn what_is_missing_is_told_apart_from_what_is_wrong() {
    assert_eq!(trouble("I[block=16K]"), Trouble::Missing("lost".to_owned()));
    assert!(matches!(trouble("I[block=32K]"), Trouble::Wrong(text) if text.contains("nothing")));
    assert!(matches!(trouble("J[]"), Trouble::Wrong(text) if text.contains("`J`")));
    assert!(matches!(trouble("I[device=c]"), Trouble::Wrong(text) if text.contains("`c`")));
    let book = book();
    let mut reading = Reading::new(&book);
    let sum: Expression = "sum(I[device=d])".parse().expect("good");
    assert_eq!(reading.evaluate(&sum).expect("some are there").numbers(), [7.0]);
    assert_eq!(reading.missing, ["lost"]);
}

#[test]
fn a_text_that_is_no_expression_is_refused_where_it_goes_wrong() {
    for (text, part) in [
        ("max(I[]", "`,` or `)`"),
        ("maks(I[])", "`max`"),
        ("I[device]", "key=value"),
        ("1 +", "after `1 +`"),
        ("1 2", "an operator"),
        ("mix(1, 2)", "takes 3"),
        ("I|J", "`[`"),
    ] {
        let error = text.parse::<Expression>().expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}
