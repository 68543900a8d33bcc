//! Files that appear whole or not at all, and never in place of somebody else's.

use crate::output;
use anyhow::{Context, Error, Result, anyhow};
use host::outputs::{self, Foreign, OutputError};
pub use report::Format;
use report::{
    chart::Figure,
    number::{counted, size},
    svg,
};
use std::path::{Path, PathBuf};

/// Everything that one command writes. All of it is checked before any of it is written.
pub struct Outputs {
    files: outputs::Outputs,
    drawings: Vec<PathBuf>,
}

impl Outputs {
    /// Nothing yet; `force` overwrites whatever is there.
    pub fn new(force: bool) -> Self {
        let foreign = if force { Foreign::Overwritten } else { Foreign::Kept };
        Self { files: outputs::Outputs::new(foreign), drawings: Vec::new() }
    }

    /// A file, or stdout when the path is `-`.
    pub fn add(&mut self, path: &Path, format: Format, bytes: Vec<u8>) -> Result<()> {
        self.files.add(path, bytes, &move |file| format.is_ours(file)).map_err(in_words)?;
        if format == Format::Svg && path != Path::new("-") {
            self.drawings.push(path.to_owned());
        }
        Ok(())
    }

    /// One file a figure into a directory; two for what has a second form.
    pub fn drawings<'f>(
        &mut self,
        directory: &Path,
        figures: impl IntoIterator<Item = &'f Figure>,
    ) -> Result<()> {
        self.files.directory(directory).map_err(in_words).context("--svg")?;
        for (name, text) in figures.into_iter().flat_map(svg::files) {
            self.add(&directory.join(name), Format::Svg, text.into_bytes())?;
        }
        Ok(())
    }

    /// Files of one format into a directory, which is made if need be.
    pub fn folder(
        &mut self,
        directory: &Path,
        format: Format,
        files: Vec<(String, String)>,
    ) -> Result<()> {
        self.files.directory(directory).map_err(in_words)?;
        for (name, text) in files {
            self.add(&directory.join(name), format, text.into_bytes())?;
        }
        Ok(())
    }

    /// Writes everything and says what: a line a file, one for all drawings.
    pub fn write(self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (path, bytes) in self.files.ready()? {
            output::write_whole(&path, &bytes)?;
            if path != Path::new("-") && !self.drawings.contains(&path) {
                lines.push(format!("wrote {} ({})", path.display(), size(bytes.len() as u64)));
            }
        }
        if let Some(first) = self.drawings.first() {
            let directory = first.parent().unwrap_or(Path::new("."));
            let drawings = counted(self.drawings.len() as u64, "drawing");
            lines.push(format!("wrote {drawings} to {}", directory.display()));
        }
        Ok(lines)
    }
}

fn in_words(error: OutputError) -> Error {
    match error {
        OutputError::Foreign(_) => {
            anyhow!("{error}: name another file, or add --force to overwrite it")
        }
        OutputError::Place(error) => Error::new(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "wrote 1 drawings to figures".
    #[test]
    fn one_drawing_is_no_drawings() {
        let directory = tempfile::tempdir().expect("a directory");
        let said = |names: &[&str]| {
            let mut outputs = Outputs::new(true);
            for name in names {
                outputs.add(&directory.path().join(name), Format::Svg, Vec::new()).expect("fine");
            }
            outputs.write().expect("written").remove(0)
        };
        assert!(said(&["a.svg"]).starts_with("wrote 1 drawing to "));
        assert!(said(&["a.svg", "b.svg"]).starts_with("wrote 2 drawings to "));
        let names = std::fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!(names, 2, "nothing is left beside them");
    }
}
