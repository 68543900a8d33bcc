//! A volume that got another size.

use super::{blocks, percent};
use block::display_bytes;
use flash::tools::Resized;
use report::terminal::hanging;
use std::path::Path;

/// Its sizes before and after.
pub fn text(path: &Path, resized: &Resized) -> String {
    let Resized { before, after, blocks_discarded } = resized;
    let from_to = |before: u64, after: u64| match before == after {
        true => format!("{}, as before", display_bytes(after)),
        false => format!("{} instead of {}", display_bytes(after), display_bytes(before)),
    };
    let (old, new) = (&before.shape, &after.shape);
    let mut text = hanging(
        "volume    ",
        &format!("{}: {}", path.display(), from_to(old.exported_bytes, new.exported_bytes)),
    );
    text += &hanging("drive     ", &from_to(old.device_bytes, new.device_bytes));
    if after.mapped_max < after.exported_blocks {
        let room = blocks(after.mapped_max.into());
        text +=
            &hanging("thin      ", &format!("{room} can be written at a time, then \"no space\""));
    }
    let spare = 1.0 - new.exported_bytes as f64 / new.device_bytes as f64;
    text += &hanging("spare     ", &percent(spare.max(0.0)));
    if *blocks_discarded > 0 {
        text += &hanging("discarded ", &blocks(*blocks_discarded));
    }
    text
}
