//! An archive that the kernel unpacks as its first root: cpio, "newc"
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use anyhow::{Context, Result};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

pub struct Archive {
    file: BufWriter<File>,
    made: BTreeSet<String>,
}

impl Archive {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        Ok(Self { file: BufWriter::new(file), made: BTreeSet::new() })
    }

    /// A directory and those above it.
    pub fn directory(&mut self, path: &str) -> Result<()> {
        let path = path.trim_matches('/');
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            if self.made.insert(path[..end].to_owned()) {
                self.entry(&path[..end], DIRECTORY, &[])?;
            }
        }
        Ok(())
    }

    /// A file that can be executed. A second one of the same path is left out.
    pub fn file(&mut self, path: &str, contents: &[u8]) -> Result<()> {
        self.place(path, PROGRAM, contents)
    }

    pub fn link(&mut self, path: &str, aim: &str) -> Result<()> {
        self.place(path, LINK, aim.as_bytes())
    }

    /// A file of this machine, or of what a link leads to.
    pub fn copy(&mut self, path: &str, source: &Path) -> Result<()> {
        if self.made.contains(path.trim_matches('/')) {
            return Ok(());
        }
        self.file(path, &fs::read(source).with_context(|| source.display().to_string())?)
    }

    /// Everything below a directory of this machine.
    pub fn copy_tree(&mut self, path: &str, source: &Path) -> Result<()> {
        for entry in fs::read_dir(source).with_context(|| source.display().to_string())? {
            let entry = entry?;
            let below = format!("{path}/{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => self.copy_tree(&below, &entry.path())?,
                false => self.copy(&below, &entry.path())?,
            }
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.file.flush()?;
        Ok(())
    }

    fn place(&mut self, path: &str, mode: u32, contents: &[u8]) -> Result<()> {
        let path = path.trim_matches('/');
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above)?;
        }
        if self.made.insert(path.to_owned()) {
            self.entry(path, mode, contents)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
        let number = self.made.len() as u32;
        let length = u32::try_from(contents.len()).map_err(io::Error::other)?;
        let fields = [number, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, path.len() as u32 + 1, 0];
        self.file.write_all(b"070701")?;
        for field in fields {
            write!(self.file, "{field:08x}")?;
        }
        self.file.write_all(path.as_bytes())?;
        // The name ends with a zero, and with it the header a multiple of four bytes.
        let header = 6 + fields.len() * 8 + path.len();
        self.file.write_all(&[0; 4][..4 - header % 4])?;
        self.file.write_all(contents)?;
        self.file.write_all(&[0; 4][..(4 - contents.len() % 4) % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// The names' lengths go through all that padding may be; cpio, where it is there, reads it.
    #[test]
    fn names_and_contents_of_every_length_are_padded_to_four_bytes() {
        let path = std::env::temp_dir().join(format!("drivelab-cpio-{}", std::process::id()));
        let mut archive = Archive::create(&path).expect("archive");
        let mut names = vec!["a".to_owned()];
        archive.directory("a").expect("directory");
        for length in 1..9 {
            let name = format!("a/{}", "b".repeat(length));
            archive.file(&name, &vec![b'c'; 9 - length]).expect("file");
            names.push(name);
        }
        archive.link("a/link", "b").expect("link");
        names.push("a/link".to_owned());
        archive.finish().expect("finish");
        let bytes = fs::read(&path).expect("archive");
        let file = File::open(&path).expect("archive");
        fs::remove_file(&path).expect("archive");
        assert_eq!(bytes.len() % 4, 0);
        for (at, _) in bytes.windows(6).enumerate().filter(|(_, window)| *window == b"070701") {
            assert_eq!(at % 4, 0);
        }
        let listed =
            Command::new("cpio").args(["-it", "--quiet"]).stdin(Stdio::from(file)).output();
        if let Ok(listed) = listed {
            let listed: Vec<String> =
                String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
            assert_eq!(listed, names);
        }
    }
}
