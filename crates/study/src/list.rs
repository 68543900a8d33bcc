//! The studies, and what each asks.

use crate::Study;
use report::terminal::hanging;

/// All of them; 80 columns.
pub fn list() -> String {
    let mut text = String::new();
    for study in Study::ALL {
        let file = study.file();
        let label = format!("{:<12}", study.name());
        let by = file.authors.map(|authors| format!("{authors}: ")).unwrap_or_default();
        text += &hanging(&label, &format!("{by}{}. {}", file.title, file.source));
        text += &hanging("            ", &file.asks);
        text += "\n";
    }
    text + &hanging("", "`drivelab study NAME` runs one again on its own drives, modelled.")
}
