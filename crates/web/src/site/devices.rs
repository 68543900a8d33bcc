//! The block devices of this machine, as `drivelab devices` lists them. The rows come from whoever
//! started the server: this room sees no devices.

use super::frame;
use crate::http::Answer;
use report::Escaped;
use std::fmt::Write;

/// What the page shows.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    /// The option that takes their words.
    pub option: &'static str,
    /// One a device, in order.
    pub rows: Vec<Row>,
    /// What could not be seen, a sentence each.
    pub unseen: Vec<String>,
}

/// One device, in words.
#[derive(Clone, Debug)]
pub struct Row {
    /// Kernel name.
    pub name: String,
    /// Its bus, or what kind it is.
    pub bus: String,
    /// Its size.
    pub size: String,
    /// The word by which one agrees to lose what is on it.
    pub word: Option<String>,
    /// Whether it would be measured.
    pub measured: &'static str,
    /// What is on it, who uses it.
    pub what: String,
    /// Why it would not be written, and the cure.
    pub cure: Option<String>,
}

/// The page.
pub fn page(devices: &Devices) -> Answer {
    let mut body = format!(
        "<div class=\"scroll\"><table>\n<thead><tr><th>Device</th><th>Bus</th>\
         <th class=\"n\">Size</th><th>Word after <span class=\"n\">{}</span></th>\
         <th>Measured</th><th>What is on it, who uses it</th></tr></thead>\n<tbody>\n",
        devices.option
    );
    for row in &devices.rows {
        let word = row.word.as_deref().unwrap_or("-");
        let cure = row.cure.as_ref().map_or_else(String::new, |cure| {
            format!("<br><small>No writes: {}</small>", Escaped(cure))
        });
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td><code>{}</code></td><td>{}</td>\
             <td>{}{cure}</td></tr>",
            Escaped(&row.name),
            Escaped(&row.bus),
            Escaped(&row.size),
            Escaped(word),
            row.measured,
            Escaped(&row.what),
        );
    }
    body += "</tbody>\n</table></div>\n";
    if devices.rows.is_empty() {
        body = "<p>No block device is seen here.</p>\n".to_owned();
    }
    if !devices.unseen.is_empty() {
        let unseen = devices.unseen.join("; ");
        let _ = writeln!(body, "<p>Not seen: {}. Run drivelab as root.</p>", Escaped(&unseen));
    }
    frame::page("Block devices", "of the machine that serves this page, as they are now", &body)
}
