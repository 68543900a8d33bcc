//! Files that appear whole or not at all, and never in place of somebody else's.

use crate::output;
use anyhow::{Context, Result, bail, ensure};
use host::Destination;
use report::{
    chart::Figure,
    number::counted,
    svg::{self, View},
};
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

/// What a file is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A page.
    Html,
    /// A workbook.
    Xlsx,
    /// A table in long form.
    Csv,
    /// A drawing.
    Svg,
}

impl Format {
    /// What a report of ours of this format has near its beginning.
    fn mark(self) -> &'static str {
        match self {
            Self::Html => report::HTML_MARK,
            Self::Xlsx => report::xlsx::MARK,
            Self::Csv => report::long_form::HEAD,
            Self::Svg => report::SVG_MARK,
        }
    }
}

/// Bytes read to see whose a file is.
const HEAD_BYTES: u64 = 4096;

/// Everything that one command writes. All of it is checked before any of it is written.
pub struct Outputs {
    force: bool,
    files: Vec<(PathBuf, Format, Vec<u8>)>,
    stdout: Option<Vec<u8>>,
    directories: Vec<PathBuf>,
}

impl Outputs {
    /// Nothing yet; `force` overwrites whatever is there.
    pub fn new(force: bool) -> Self {
        Self { force, files: Vec::new(), stdout: None, directories: Vec::new() }
    }

    /// A directory that is made when its parent exists.
    pub fn directory(&mut self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        ensure!(
            !path.exists(),
            "{} is a file, but a report of several files needs a directory: name another",
            path.display()
        );
        parent_exists(path)?;
        self.directories.push(path.to_owned());
        Ok(())
    }

    /// A file, or stdout when the path is `-`.
    pub fn add(&mut self, path: &Path, format: Format, bytes: Vec<u8>) -> Result<()> {
        if path == Path::new("-") {
            ensure!(self.stdout.is_none(), "two reports cannot share stdout: name a file for one");
            self.stdout = Some(bytes);
            return Ok(());
        }
        let named_twice = self.files.iter().any(|(other, _, _)| other == path);
        ensure!(!named_twice, "{} is named twice: name two files", path.display());
        if !self.directories.iter().any(|made| path.starts_with(made)) {
            parent_exists(path)?;
        }
        ensure!(!path.is_dir(), "{} is a directory: name a file in it", path.display());
        let is_made = self.directories.iter().any(|made| path.starts_with(made));
        let replaces = !is_made && Destination::of(path)?.replaces();
        if replaces && !self.force && !is_ours(path, format)? {
            bail!(
                "{} exists and is no report of drivelab's: name another file, or add --force to overwrite it",
                path.display()
            );
        }
        self.files.push((path.to_owned(), format, bytes));
        Ok(())
    }

    /// One file a figure into a directory; two for what has a second form.
    pub fn drawings<'f>(
        &mut self,
        directory: &Path,
        figures: impl IntoIterator<Item = &'f Figure>,
    ) -> Result<()> {
        self.directory(directory)?;
        for figure in figures {
            let views = svg::views(figure);
            let first = views.first().copied();
            // Linear or logarithmic is a matter of taste; a surface shows something else.
            for view in
                views.into_iter().filter(|view| Some(*view) == first || *view == View::Surface)
            {
                let name = match view {
                    View::Surface => format!("{}-surface.svg", figure.id),
                    _ => format!("{}.svg", figure.id),
                };
                let text = svg::file(figure, view);
                self.add(&directory.join(name), Format::Svg, text.into_bytes())?;
            }
        }
        Ok(())
    }

    /// Writes everything and says what: a line a file, one for all drawings.
    pub fn write(self) -> Result<Vec<String>> {
        for directory in &self.directories {
            host::missing::refuse_in_kernels_place(directory).context("--svg")?;
            fs::create_dir(directory)
                .with_context(|| format!("cannot make the directory {}", directory.display()))?;
        }
        let mut lines = Vec::new();
        let mut drawings = 0u32;
        for (path, format, bytes) in &self.files {
            output::write_whole(path, bytes)?;
            match format {
                Format::Svg => drawings += 1,
                Format::Html | Format::Xlsx | Format::Csv => {
                    let size = report::number::size(bytes.len() as u64);
                    lines.push(format!("wrote {} ({size})", path.display()));
                }
            }
        }
        if let Some((path, _, _)) = self.files.iter().find(|file| file.1 == Format::Svg) {
            let directory = path.parent().unwrap_or(Path::new("."));
            lines.push(format!(
                "wrote {} to {}",
                counted(drawings, "drawing"),
                directory.display()
            ));
        }
        if let Some(bytes) = &self.stdout {
            output::print_bytes(bytes)?;
        }
        Ok(lines)
    }
}

fn parent_exists(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
        bail!(
            "the directory {} does not exist: make it with `mkdir -p {}`, or name another",
            parent.display(),
            parent.display()
        );
    }
    Ok(())
}

/// Empty files are nobody's.
fn is_ours(path: &Path, format: Format) -> Result<bool> {
    if format == Format::Xlsx {
        return Ok(fs::metadata(path).is_ok_and(|file| file.len() == 0) || is_our_workbook(path));
    }
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head))
        .with_context(|| format!("cannot read {} to see what it is", path.display()))?;
    Ok(head.is_empty() || String::from_utf8_lossy(&head).contains(format.mark()))
}

/// Whether a workbook's properties carry the mark; what is no workbook has none.
fn is_our_workbook(path: &Path) -> bool {
    let properties = || {
        let mut archive = zip::ZipArchive::new(File::open(path).ok()?).ok()?;
        let mut text = String::new();
        archive
            .by_name("docProps/core.xml")
            .ok()?
            .take(HEAD_BYTES)
            .read_to_string(&mut text)
            .ok()?;
        Some(text)
    };
    properties().is_some_and(|text| text.contains(Format::Xlsx.mark()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(outputs: &mut Outputs, path: &Path) -> String {
        outputs.add(path, Format::Csv, b"x".to_vec()).expect_err("refused").to_string()
    }

    #[test]
    fn only_a_report_of_ours_is_overwritten_without_force() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report.csv");
        let bytes = || format!("{}\n", report::long_form::HEAD).into_bytes();
        let write = |force: bool| {
            let mut outputs = Outputs::new(force);
            outputs.add(&path, Format::Csv, bytes())?;
            outputs.write()
        };
        write(false).expect("a new file");
        write(false).expect("a file of ours");
        fs::write(&path, "my thesis").expect("a file");
        assert!(write(false).expect_err("refused").to_string().contains("--force"));
        assert_eq!(fs::read(&path).expect("a file"), b"my thesis");
        write(true).expect("forced");
        assert_eq!(fs::read(&path).expect("a file"), bytes());
        let names = fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!(names, 1, "nothing is left beside the report");
    }

    #[test]
    fn everything_is_checked_before_anything_is_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut outputs = Outputs::new(false);
        outputs.add(&directory.path().join("a.csv"), Format::Csv, Vec::new()).expect("fine");
        assert!(refusal(&mut outputs, &directory.path().join("no/b.csv")).contains("mkdir -p"));
        assert!(refusal(&mut outputs, directory.path()).contains("is a directory"));
        assert!(refusal(&mut outputs, &directory.path().join("a.csv")).contains("named twice"));
        outputs.add(Path::new("-"), Format::Csv, Vec::new()).expect("fine");
        assert!(refusal(&mut outputs, Path::new("-")).contains("cannot share stdout"));
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

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
    }
}
