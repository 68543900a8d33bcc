//! A page in a browser, as its reader has it: headless Chromium, driven through its DevTools
//! protocol.
//!
//! `DRIVELAB_PICTURES=DIR` keeps a picture of each page that [`reads`] goes through, for eyes.

mod pipe;
mod reading;

pub use reading::{marks, reads, reads_file};

use pipe::{DEADLINE, Pipe};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// One page in one browser; the browser is killed on drop.
pub struct Browser {
    pipe: Pipe,
    complaints: Vec<String>,
    requests: Vec<String>,
}

/// The colours that the reader's system asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    Light,
    Dark,
}

impl Browser {
    /// `None` where Chromium is not installed: `need!(Browser::start(), "chromium")`.
    pub fn start() -> Option<Self> {
        let mut pipe = Pipe::start()?;
        for domain in ["Page", "Runtime", "Log", "Network"] {
            pipe.call(&format!("{domain}.enable"), json!({}));
        }
        let mut browser = Self { pipe, complaints: Vec::new(), requests: Vec::new() };
        browser.window(1400, 900);
        browser.scheme(Scheme::Light);
        Some(browser)
    }

    /// Opens a page and waits until it is loaded; complaints and requests begin anew.
    pub fn open(&mut self, url: &str) {
        self.listen();
        self.complaints.clear();
        self.requests.clear();
        let answer = self.pipe.call("Page.navigate", json!({ "url": url }));
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
        self.pipe.wait_for("Page.loadEventFired");
    }

    /// Clicks on what leads to another page, and waits until that is loaded.
    pub fn follow(&mut self, selector: &str) {
        self.listen();
        self.click(selector);
        self.pipe.wait_for("Page.loadEventFired");
    }

    /// Opens a file.
    pub fn open_file(&mut self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// What a JavaScript expression comes to in the page; a promise is waited for, an exception
    /// fails the test.
    pub fn value(&mut self, expression: &str) -> Value {
        let value = self.evaluated(expression);
        value.unwrap_or_else(|refusal| panic!("{expression} was refused: {refusal}"))
    }

    fn evaluated(&mut self, expression: &str) -> Result<Value, Value> {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.pipe.ask("Runtime.evaluate", asked)?;
        let thrown = answer.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {answer}");
        Ok(answer["result"]["value"].clone())
    }

    /// The same as text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is no text: {value}")).to_owned()
    }

    /// The same as a number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is no number: {value}"))
    }

    /// Waits until an expression is true. A page that gives way to the next one in the middle of
    /// the question refuses to answer, which failed a test on a busy machine: then the next one is
    /// asked.
    pub fn wait_until(&mut self, expression: &str) {
        let start = Instant::now();
        while self.evaluated(&format!("Boolean({expression})")) != Ok(Value::Bool(true)) {
            assert!(start.elapsed() < DEADLINE, "never: {expression}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Gives the page this room, in its own pixels. Windows have a least width; this has none.
    pub fn window(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.pipe.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Lets the reader's system ask for these colours.
    pub fn scheme(&mut self, scheme: Scheme) {
        let value = if scheme == Scheme::Dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.pipe.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Moves the mouse to a place in the window.
    pub fn point_at(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y, "none");
    }

    /// Clicks at a place in the window.
    pub fn click_at(&mut self, x: f64, y: f64) {
        self.point_at(x, y);
        self.mouse("mousePressed", x, y, "left");
        self.mouse("mouseReleased", x, y, "left");
    }

    /// Scrolls to the first element that a CSS selector finds, and clicks in its middle.
    pub fn click(&mut self, selector: &str) {
        let [x, y] = self.middle(selector);
        self.click_at(x, y);
    }

    /// Presses the button in the middle of an element, moves by this much, and lets go.
    pub fn drag(&mut self, selector: &str, across: f64, down: f64) {
        let [x, y] = self.middle(selector);
        self.point_at(x, y);
        self.mouse("mousePressed", x, y, "left");
        self.mouse("mouseMoved", x + across / 2.0, y + down / 2.0, "left");
        self.mouse("mouseMoved", x + across, y + down, "left");
        self.mouse("mouseReleased", x + across, y + down, "left");
    }

    /// Scrolls to an element; where its middle is in the window.
    pub fn middle(&mut self, selector: &str) -> [f64; 2] {
        let place = self.value(&format!(
            "(() => {{ const found = document.querySelector({}); if (!found) return null; \
             found.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        [0, 1].map(|at| place[at].as_f64().unwrap_or_else(|| panic!("no {selector} in the page")))
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64, button: &str) {
        let buttons = u8::from(button == "left" && kind != "mouseReleased");
        let count = u8::from(kind != "mouseMoved");
        let event = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": count,
        });
        self.pipe.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key by its DOM name: `Tab`, `Enter`, `ArrowRight`, `Escape`, `a`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            " " => (32, " "),
            letter => {
                let first = letter.chars().next().expect("a key has a name");
                (u32::from(first.to_ascii_uppercase()), letter)
            }
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.pipe.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into what has the focus.
    pub fn write(&mut self, text: &str) {
        self.pipe.call("Input.insertText", json!({ "text": text }));
    }

    /// The whole page as a PNG file.
    pub fn picture(&mut self, path: &Path) {
        let asked = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.pipe.call("Page.captureScreenshot", asked);
        fs::write(path, decoded(&answer["data"])).expect("a picture is written");
    }

    /// The page on A4 paper, as a PDF file.
    pub fn print(&mut self, path: &Path) {
        let paper = json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true });
        let answer = self.pipe.call("Page.printToPDF", paper);
        fs::write(path, decoded(&answer["data"])).expect("a print is written");
    }

    /// What stands in the console the page was opened: messages of scripts, exceptions, refusals of
    /// the policy.
    pub fn complaints(&mut self) -> &[String] {
        self.listen();
        &self.complaints
    }

    /// Addresses that the page asked for besides its own, since it was opened.
    pub fn requests(&mut self) -> &[String] {
        self.listen();
        &self.requests
    }

    fn listen(&mut self) {
        for event in self.pipe.take_events() {
            let told = &event["params"];
            let complaint = match event["method"].as_str() {
                Some("Runtime.consoleAPICalled") => &told["args"],
                Some("Runtime.exceptionThrown") => &told["exceptionDetails"],
                Some("Log.entryAdded") => &told["entry"],
                Some("Network.requestWillBeSent") => {
                    // The page itself is the request that its loader is named after.
                    if told["requestId"] != told["loaderId"] {
                        self.requests.push(told["request"]["url"].to_string());
                    }
                    continue;
                }
                _ => continue,
            };
            self.complaints.push(complaint.to_string());
        }
    }
}

/// Base64 (RFC 4648), in which the protocol puts what is no text.
fn decoded(data: &Value) -> Vec<u8> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no base64"),
    };
    let text = data.as_str().expect("data").trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.chunks(4) {
        let bits = four.iter().fold(0, |bits, letter| bits << 6 | u32::from(digit(*letter)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
