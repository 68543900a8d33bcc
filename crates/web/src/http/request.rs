//! The head of a request: read strictly, for whatever a browser would not send is a mistake or an
//! attack. The crate `httparse` takes the head apart; what it lets pass and a browser does not send
//! is refused here.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Longest head, in bytes: a search with every field filled takes less than one.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most lines in a head; a browser sends a dozen or two.
const LINES_MAX: usize = 100;
/// What is encoded in a path or in a query: all but the unreserved letters (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What may be asked. Nothing else is needed, for nothing is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The page.
    Get,
    /// Its head alone.
    Head,
}

/// What a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Whether it wants the page or its head.
    pub method: Method,
    /// The parts between the slashes, decoded; `/` has none.
    pub path: Vec<String>,
    /// `key=value` behind the question mark, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The name by which the client calls this server.
    pub host: String,
}

impl Request {
    /// The first value of `key`; empty without one.
    pub fn value(&self, key: &str) -> &str {
        let found = self.query.iter().find(|(name, _)| name == key);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Every value of `key`.
    pub fn values<'r>(&'r self, key: &'r str) -> impl Iterator<Item = &'r str> {
        self.query.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Why a head is not answered with a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It is no request of HTTP/1, or contradicts itself.
    Malformed,
    /// It wants something changed, or is of a method that there is not.
    Method,
    /// It is longer than [`HEAD_BYTES_MAX`].
    TooLong,
    /// It did not come within the time allowed.
    TooSlow,
    /// It calls this server by a name that is not its own.
    Host,
}

/// How many bytes the head at the front of `bytes` takes, with the empty line that ends it; `None`
/// while it goes on.
pub fn head_length(bytes: &[u8]) -> Option<usize> {
    let ends = |at: usize| {
        let rest = &bytes[at..];
        rest.starts_with(b"\n\r\n")
            .then_some(at + 3)
            .or(rest.starts_with(b"\n\n").then_some(at + 2))
    };
    (0..bytes.len()).find_map(ends)
}

impl Request {
    /// Reads a whole head.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Method`].
    pub fn parse(head: &[u8]) -> Result<Self, Refusal> {
        let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
        let mut read = httparse::Request::new(&mut lines);
        // Empty lines in front are for servers that keep connections (RFC 9112, section 2.2).
        let begins = head.first().is_some_and(u8::is_ascii_graphic);
        let status = read.parse(head).map_err(|_| Refusal::Malformed)?;
        let (Some(method), Some(target)) = (read.method, read.path) else {
            return Err(Refusal::Malformed);
        };
        let is_target =
            target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic());
        if !begins || status.is_partial() || !is_target {
            return Err(Refusal::Malformed);
        }
        let method = match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            _ => return Err(Refusal::Method),
        };
        let hosts = read.headers.iter().filter(|line| line.name.eq_ignore_ascii_case("host"));
        let [host] = hosts.collect::<Vec<_>>()[..] else { return Err(Refusal::Malformed) };
        let host = str::from_utf8(host.value).map_err(|_| Refusal::Malformed)?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parts = path.split('/').filter(|part| !part.is_empty());
        Ok(Self {
            method,
            path: parts.map(decoded).collect::<Result<_, _>>()?,
            query: pairs(query)?,
            host: host.to_owned(),
        })
    }
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    // A form sends a blank as a plus sign; in a path it stands for itself.
    let of_form = |text: &str| decoded(&text.replace('+', "%20"));
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((of_form(key)?, of_form(value)?))
    };
    pairs.map(pair).collect()
}

/// `percent_decode_str` leaves alone what is no code; here that is a mistake.
fn decoded(text: &str) -> Result<String, Refusal> {
    let is_code =
        |code: &str| code.len() >= 2 && code.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_code) {
        return Err(Refusal::Malformed);
    }
    let text = percent_decode_str(text).decode_utf8().map_err(|_| Refusal::Malformed)?;
    Ok(text.into_owned())
}

/// Text as it may stand in a path or in a query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn parse(head: &str) -> Result<Request, Refusal> {
        Request::parse(head.as_bytes())
    }

    #[test]
    fn what_a_browser_sends_is_read() {
        let head = "GET /runs/0badcafe?q=two+words%26&q=%C3%A9&empty HTTP/1.1\r\nHost: localhost:3752\r\n\
                    Accept: */*\r\n\r\n";
        let request = parse(head).expect("a request");
        assert_eq!((request.method, request.host.as_str()), (Method::Get, "localhost:3752"));
        assert_eq!(request.path, ["runs", "0badcafe"]);
        assert_eq!(request.values("q").collect::<Vec<_>>(), ["two words&", "\u{e9}"]);
        assert_eq!((request.value("empty"), request.value("absent")), ("", ""));
        assert_eq!(head_length(head.as_bytes()), Some(head.len()));
        assert_eq!(head_length(&head.as_bytes()[..head.len() - 1]), None);
    }

    #[test]
    fn what_no_browser_sends_is_refused() {
        let host = "\r\nHost: localhost\r\n\r\n";
        for line in [
            "",
            "GET",
            "GET /",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 ",
            "GET / HTTP/2.0",
            "GET http://localhost/ HTTP/1.1",
            "GET * HTTP/1.1",
            "GET /%2 HTTP/1.1",
            "GET /%zz HTTP/1.1",
            "GET /%ff HTTP/1.1",
            "GET /\u{7} HTTP/1.1",
            "GET / HTTP/1.1\r\nno colon",
            "GET / HTTP/1.1\r\n folded: line",
            "GET / HTTP/1.1\r\nHost : localhost",
            "GET / HTTP/1.1\r\nHost: elsewhere",
            "\r\nGET / HTTP/1.1",
            "GET / HTTP/1.1\r\nA: \u{7}",
        ] {
            assert_eq!(parse(&format!("{line}{host}")), Err(Refusal::Malformed), "{line}");
        }
        assert_eq!(parse("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Malformed), "no host");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            assert_eq!(
                parse(&format!("{method} / HTTP/1.1{host}")),
                Err(Refusal::Method),
                "{method}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_more_than_refused(bytes in vec(any::<u8>(), 0..300)) {
            let _ = Request::parse(&bytes);
            if let Some(length) = head_length(&bytes) {
                prop_assert!(bytes[..length].ends_with(b"\n"));
            }
        }

        #[test]
        fn a_request_is_read_as_it_was_written(
            path in vec("\\PC{1,8}", 0..4),
            query in vec(("\\PC{1,8}", "\\PC{0,12}"), 0..5),
        ) {
            let target: String = path.iter().map(|part| format!("/{}", encoded(part))).collect();
            let pairs = query.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
            let pairs = pairs.collect::<Vec<_>>().join("&");
            let head = format!("HEAD /{target}?{pairs} HTTP/1.1\r\nhost:\tlocalhost \r\n\r\n");
            let expected = Request { method: Method::Head, path, query, host: "localhost".to_owned() };
            prop_assert_eq!(parse(&head), Ok(expected));
        }
    }
}
