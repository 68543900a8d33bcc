//! What the user or the catalog knows beside a record: prices, data sheets, and what counts as a
//! finding.
//!
//! ```text
//!   --price RUN=129EUR   prices.rs     a price for each target
//!   --spec FILE          sheets.rs     a data sheet for each target
//!   --fail-on spec|FLAG  fail_on.rs    exit code 1
//! ```
//!
//! What the words mean says `report::known`; here they are named as options.

pub mod fail_on;
pub mod prices;
pub mod sheets;

use anyhow::{Result, anyhow};
use record::input::{TEXT_BYTES_MAX, read_text};
pub use report::known::Named;
use std::path::Path;

/// The text of a file that a person wrote and an option names; `what` says what it is.
///
/// # Errors
/// Not there, with the nearest names; no text; too long.
pub fn read_file(option: &str, what: &str, path: &Path) -> Result<String> {
    read_text(path, TEXT_BYTES_MAX).map_err(|error| {
        let near = match error.kind() {
            std::io::ErrorKind::NotFound => target::did_you_mean(path),
            _ => String::new(),
        };
        anyhow!(
            "{}",
            format!("{option}: cannot read the {what} {}: {error}.{near}", path.display())
                .trim_end_matches('.')
        )
    })
}
