//! What all pages have in common: head, the way back to the list, colours and type of the reports.

use crate::http::{Answer, Kind};
use report::{Escaped, html};

/// What a page's head fetches.
pub const HEAD: &str = "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n\
                        <script src=\"/script.js\" defer></script>";

/// The reports' rules, and those of the list.
pub fn style() -> String {
    html::rules() + include_str!("style.css")
}

/// The line above every heading but the list's own; `more` is markup.
pub fn top(more: &str) -> String {
    format!(
        "<nav class=\"site\" aria-label=\"drivelab\"><a href=\"/\">All runs</a> <a href=\"/devices\">Devices</a>{more}</nav>\n"
    )
}

/// A page with a heading.
pub fn page(title: &str, origin: &str, body: &str) -> Answer {
    page_below(&top(""), title, origin, body)
}

/// A page with a heading under a line of its own.
pub fn page_below(top: &str, title: &str, origin: &str, body: &str) -> Answer {
    let (title, origin) = (Escaped(title), Escaped(origin));
    Answer::of(
        Kind::Html,
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - drivelab</title>\n{HEAD}\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#content\">To the content</a>\n{top}\
             <header><div><h1>{title}</h1><p class=\"origin\">{origin}</p></div></header>\n\
             <p id=\"lost\" role=\"status\"></p>\n<main id=\"content\">\n{body}</main>\n</body>\n</html>\n"
        ),
    )
}
