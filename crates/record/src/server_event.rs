//! What `drivelab serve --json` tells whoever started it: one JSON object a line.

use serde::{Deserialize, Serialize};

/// Something that happened to a server. Its field `event` says which: `ready`, `power_cut` or
/// `stopped`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ServerEvent {
    /// Clients can connect.
    Ready {
        /// An NBD URI, or the path of a block device.
        address: String,
    },
    /// The power of its modelled drives was cut; whoever connects now finds what is left.
    PowerCut {
        /// Sectors that the write caches held.
        sectors_at_risk: u64,
        /// Those of them that no longer read as they did before.
        sectors_changed: u64,
    },
    /// It ended in order, and everything is flushed.
    Stopped {
        /// Requests answered, those that failed included.
        requests: u64,
        /// Requests that failed.
        failures: u64,
    },
}

impl ServerEvent {
    /// The line, line feed included.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("plain fields become JSON") + "\n"
    }

    /// The event that a line tells of; none if the line is no event.
    pub fn of_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_json_and_read_as_what_it_was() {
        let cut = ServerEvent::PowerCut { sectors_at_risk: 812, sectors_changed: 77 };
        let line = cut.line();
        assert_eq!(
            line,
            "{\"event\":\"power_cut\",\"sectors_at_risk\":812,\"sectors_changed\":77}\n"
        );
        assert_eq!(ServerEvent::of_line(&line), Some(cut));
        let ready = ServerEvent::Ready { address: "nbd+unix:///?socket=/a\nb".to_owned() };
        assert_eq!(ready.line().lines().count(), 1);
        assert_eq!(ServerEvent::of_line(&ready.line()), Some(ready));
        assert_eq!(ServerEvent::of_line("the power was cut: 812 sectors"), None);
    }
}
