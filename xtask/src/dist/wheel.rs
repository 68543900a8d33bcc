//! A Python wheel that has the program for a script: what maturin makes for `bindings = "bin"`, a
//! ZIP file with its metadata beside it (the binary distribution format of packaging.python.org).
//! It needs no Python to be made.

use super::{
    Ground,
    deb::ABOUT,
    tools::{sha256, write},
    tree::{LICENCES, Tree},
};
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// A static program runs with every C library, so that both kinds of system may take it; the tag of
/// the oldest pip that reads such names.
const PLATFORMS: [&str; 2] = ["manylinux2014_x86_64", "musllinux_1_1_x86_64"];

/// Makes it.
pub fn pack(ground: &Ground, tree: &Tree) -> Result<PathBuf> {
    let room = ground.room("wheel")?;
    let (version, data) = (&ground.version, format!("drivelab-{}.data", ground.version));
    let metadata = format!("drivelab-{version}.dist-info");
    let readme = fs::read_to_string(ground.root.join("README.md")).context("README.md")?;
    write(&room.join(&metadata).join("METADATA"), &described(version, &readme))?;
    write(&room.join(&metadata).join("WHEEL"), &tags())?;
    tree.put_program(&room, &format!("{data}/scripts/drivelab"))?;
    tree.put_licences(ground, &room.join(&metadata).join("licenses"))?;
    let mut names = vec![format!("{data}/scripts/drivelab"), format!("{metadata}/METADATA")];
    names.push(format!("{metadata}/WHEEL"));
    names.extend(LICENCES.map(|name| format!("{metadata}/licenses/{name}")));
    let record = format!("{metadata}/RECORD");
    let mut sums = String::new();
    for name in &names {
        let path = room.join(name);
        let (sum, bytes) = (url_base64(&digits(&sha256(&path)?)), fs::metadata(&path)?.len());
        sums += &format!("{name},sha256={sum},{bytes}\n");
    }
    write(&room.join(&record), &(sums + &record + ",,\n"))?;
    names.push(record);
    let name = format!("drivelab-{version}-py3-none-{}.whl", PLATFORMS.join("."));
    let wheel = ground.to.join(name);
    zipped(&room, &names, &wheel).with_context(|| wheel.display().to_string())?;
    Ok(wheel)
}

fn described(version: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.1\n\
         Name: drivelab\n\
         Version: {version}\n\
         Summary: {}\n\
         License: MIT OR Apache-2.0\n\
         Requires-Python: >=3.7\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Topic :: System :: Benchmark\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        ABOUT.split(": ").next().unwrap_or_default().replace('\n', " ")
    )
}

fn tags() -> String {
    let tags = PLATFORMS.map(|platform| format!("Tag: py3-none-{platform}\n")).concat();
    format!("Wheel-Version: 1.0\nGenerator: drivelab\nRoot-Is-Purelib: false\n{tags}")
}

/// Files in this order, all of one time: ZIP's first, since it has no earlier one.
fn zipped(room: &Path, names: &[String], wheel: &Path) -> Result<()> {
    let mut zip = ZipWriter::new(File::create(wheel)?);
    for name in names {
        let mode = if name.ends_with("/scripts/drivelab") { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        zip.start_file(name.as_str(), options)?;
        zip.write_all(&fs::read(room.join(name))?)?;
    }
    zip.finish()?;
    Ok(())
}

/// Bytes of a sum in hexadecimal digits.
fn digits(sum: &str) -> Vec<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).expect("a hexadecimal digit") as u8;
    sum.as_bytes().chunks(2).map(|two| value(two[0]) << 4 | value(two[1])).collect()
}

/// Base64 for addresses, unpadded (RFC 4648, section 5).
fn url_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..=three.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10, without their padding.
    #[test]
    fn sums_are_written_as_the_rfc_has_it() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(url_base64(bytes.as_bytes()), text);
        }
        assert_eq!(url_base64(&[0xfb, 0xff]), "-_8");
        assert_eq!(digits("00ff1a"), [0, 255, 26]);
    }
}
