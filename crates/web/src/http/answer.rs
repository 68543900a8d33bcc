//! What goes back to a client.

use super::{Method, Refusal};

/// What the body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A page.
    Html,
    /// Rules of style.
    Css,
    /// A script.
    Script,
    /// A JSON document.
    Json,
    /// A sentence.
    Text,
    /// Metrics, as OpenMetrics 1.0 has them.
    OpenMetrics,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Css => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A status and a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status code of RFC 9110, with its words.
    pub status: &'static str,
    /// What the body is.
    pub kind: Kind,
    /// The body.
    pub body: String,
}

/// With every answer. Nothing is asked of other servers, no other site may frame, read or embed an
/// answer, and no copy stays on a disk. Drawings colour some of their text by a style attribute.
const ALWAYS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
style-src-attr 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
frame-ancestors 'none'\r\n\
X-Content-Type-Options: nosniff\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Referrer-Policy: no-referrer\r\n\
Cache-Control: no-store\r\n\
Connection: close\r\n";

impl Answer {
    /// 200 with a body.
    pub fn of(kind: Kind, body: impl Into<String>) -> Self {
        Self { status: "200 OK", kind, body: body.into() }
    }

    /// What a refused request gets: a sentence.
    pub fn refused(refusal: Refusal) -> Self {
        let (status, sentence) = match refusal {
            Refusal::Malformed => {
                ("400 Bad Request", "That is no request that drivelab understands.")
            }
            Refusal::Method => (
                "405 Method Not Allowed",
                "Nothing can be changed here: only GET and HEAD are answered.",
            ),
            Refusal::TooLong => (
                "431 Request Header Fields Too Large",
                "The request is too long: search for less at once.",
            ),
            Refusal::TooSlow => {
                ("408 Request Timeout", "The request did not come in time: send it again.")
            }
            Refusal::Host => (
                "421 Misdirected Request",
                "This server does not answer to that name: open the address that `drivelab web` printed.",
            ),
        };
        Self { status, kind: Kind::Text, body: format!("{sentence}\n") }
    }

    /// The bytes for a client.
    pub fn bytes(&self, method: Method) -> Vec<u8> {
        let Self { status, kind, body } = self;
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let (kind, length) = (kind.name(), body.len());
        let mut text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}{ALWAYS}\r\n"
        );
        if method == Method::Get {
            text += body;
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_how_long_the_page_would_be() {
        let answer = Answer::of(Kind::Html, "<p>\u{e9}</p>");
        let [page, head] = [Method::Get, Method::Head]
            .map(|method| String::from_utf8(answer.bytes(method)).expect("text"));
        assert_eq!(page, format!("{head}{}", answer.body));
        assert!(head.contains("\r\nContent-Length: 9\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(!head.contains("Allow: ") && !head.contains("Access-Control"), "{head}");
        let refused = Answer::refused(Refusal::Method).bytes(Method::Get);
        assert!(String::from_utf8(refused).expect("text").contains("\r\nAllow: GET, HEAD\r\n"));
    }
}
