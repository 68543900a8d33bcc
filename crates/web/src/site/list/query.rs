//! What the list's address asks for, and the form that writes it.

use super::{STATES, Trouble};
use crate::http::{Request, encoded};
use record::Search;
use report::Escaped;
use std::fmt::Write;

/// Runs on a page, as the form offers them; the first is meant without a word.
const SHOWN: [u64; 3] = [50, 200, 1000];

/// A search and a page of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// What to look for.
    pub search: Search,
    /// The page, from 1.
    pub page: u64,
    /// Runs on a page.
    pub show: u64,
}

impl Query {
    /// As an address has it.
    pub fn of(request: &Request) -> Result<Self, Trouble> {
        let text = |key| request.value(key).trim().to_owned();
        let state = match request.value("state") {
            "" => None,
            name => {
                let state = STATES.into_iter().find(|state| state.name() == name);
                Some(state.ok_or_else(|| {
                    Trouble::bad(
                        "A state is running, complete, interrupted or failed: choose one of them.",
                    )
                })?)
            }
        };
        let number = |key, otherwise| match request.value(key) {
            "" => Ok(otherwise),
            text => text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                Trouble::bad(format!(
                    "`{key}` is a whole number from 1 on: write {key}={otherwise}."
                ))
            }),
        };
        let search = Search {
            words: text("q"),
            method: text("method"),
            target: text("target"),
            label: text("label"),
            host: text("host"),
            drive: text("drive"),
            campaign: text("campaign"),
            state,
            from: day(request, "from")?,
            to: day(request, "to")?,
        };
        let show = number("show", SHOWN[0])?.min(SHOWN[SHOWN.len() - 1]);
        Ok(Self { search, page: number("page", 1)?, show })
    }

    /// Runs before this page.
    pub fn skip(&self) -> u64 {
        (self.page - 1).saturating_mul(self.show)
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.search == Search::default()
    }

    fn fields(&self) -> [(&'static str, &str); 10] {
        let Search { words, method, target, label, host, drive, campaign, state, from, to } =
            &self.search;
        let state = state.map_or("", |state| state.name());
        [
            ("q", words),
            ("method", method),
            ("state", state),
            ("target", target),
            ("label", label),
            ("host", host),
            ("drive", drive),
            ("campaign", campaign),
            ("from", from),
            ("to", to),
        ]
    }

    /// The address of another page of the same, for a quoted attribute.
    pub fn link(&self, page: u64) -> String {
        let mut link = format!("/?page={page}&amp;show={}", self.show);
        for (key, value) in self.fields().iter().filter(|(_, value)| !value.is_empty()) {
            link += &format!("&amp;{key}={}", encoded(value));
        }
        link
    }

    /// The form, filled in; the rarer fields are folded away while they are empty.
    pub fn form(&self, body: &mut String, methods: &[String]) {
        let search = &self.search;
        let open = if self.fields()[1..].iter().any(|(_, value)| !value.is_empty()) {
            " open"
        } else {
            ""
        };
        let _ = write!(
            body,
            "<form class=\"search\" role=\"search\" aria-label=\"Search runs\">\n\
             <p><label for=\"q\">Search</label> <input id=\"q\" name=\"q\" type=\"search\" value=\"{}\" \
             aria-describedby=\"about-q\"> <button>Search</button></p>\n\
             <p class=\"hint\" id=\"about-q\">Words of an id, a target, a method, a machine, a drive, a label, a flag or a date; all must fit.</p>\n\
             <details{open}><summary>More fields</summary><div class=\"more\">\n",
            Escaped(&search.words)
        );
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        choice(body, "method", "Method", &search.method, "any", &names);
        let state = search.state.map_or("", |state| state.name());
        choice(body, "state", "State", state, "any", &STATES.map(|state| state.name()));
        for (key, name, kind, value) in [
            ("target", "Target", "text", &search.target),
            ("label", "Label", "text", &search.label),
            ("host", "Machine", "text", &search.host),
            ("drive", "Drive", "text", &search.drive),
            ("campaign", "Campaign", "text", &search.campaign),
            ("from", "From", "date", &search.from),
            ("to", "To", "date", &search.to),
        ] {
            let value = Escaped(value);
            let _ = writeln!(
                body,
                "<label>{name} <input name=\"{key}\" type=\"{kind}\" value=\"{value}\"></label>"
            );
        }
        let shown = SHOWN.map(|show| show.to_string());
        let now = self.show.to_string();
        let others: Vec<&str> = shown[1..].iter().map(String::as_str).collect();
        let now = if now == shown[0] { "" } else { &now };
        choice(body, "show", "On a page", now, &shown[0], &others);
        *body += "</div></details>\n</form>\n";
    }
}

/// A field of fixed words; the first, with an empty value, leaves it out.
fn choice(body: &mut String, key: &str, name: &str, now: &str, first: &str, words: &[&str]) {
    let _ =
        write!(body, "<label>{name} <select name=\"{key}\"><option value=\"\">{first}</option>");
    for word in words {
        let selected = if *word == now { " selected" } else { "" };
        let word = Escaped(word);
        let _ = write!(body, "<option{selected}>{word}</option>");
    }
    *body += "</select></label>\n";
}

/// A day of the calendar as `2026-11-01`, or nothing.
fn day(request: &Request, key: &str) -> Result<String, Trouble> {
    let text = request.value(key);
    let is_day = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_day || text.is_empty() {
        Ok(text.to_owned())
    } else {
        Err(Trouble::bad(format!("`{key}` is a day: write it as {key}=2026-11-01.")))
    }
}
