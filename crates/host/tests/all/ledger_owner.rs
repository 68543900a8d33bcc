//! Whose ledgers are obeyed: the user's own, which nobody else can write.

use host::{Ledger, Roots, ledger::left};
use std::{
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Somebody who is not root.
const SOMEBODY: u32 = 65_534;

/// A directory of ledgers with one that would have `precious` removed.
struct Place {
    top: TempDir,
    directory: PathBuf,
    ledger: PathBuf,
    precious: PathBuf,
}

impl Place {
    fn new() -> Self {
        let top = tempfile::tempdir().expect("a directory");
        let directory = top.path().join("drivelab/ledger");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).expect("a directory");
        let precious = top.path().join("precious");
        fs::write(&precious, "mine").expect("a file");
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let text = format!(
            "{{\"ledger\":1,\"command\":\"forged\",\"pid\":999999999,\"boot\":\"{}\",\"started_unix_s\":1}}\n\
             {{\"change\":1,\"what\":{{\"kind\":\"file\",\"path\":\"{}\"}}}}\n",
            boot.trim(),
            precious.display()
        );
        let ledger = directory.join("1-1.ledger");
        fs::write(&ledger, text).expect("a ledger");
        Self { top, directory, ledger, precious }
    }

    /// What `restore` does with it: the sentence of a refusal, or nothing when it was obeyed.
    fn restored(&self) -> Option<String> {
        let found = match left(&self.directory) {
            Err(refused) => return Some(refused.to_string()),
            Ok(found) => found,
        };
        for ledger in found {
            match ledger {
                Err(refused) => return Some(refused.to_string()),
                Ok(ledger) => {
                    assert!(ledger.put_back(&Roots::default(), &mut |_| {}).is_empty());
                }
            }
        }
        None
    }

    fn refused(&self, words: &[&str]) {
        let said = self.restored().expect("refused");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!said.contains('\n') && self.precious.exists(), "{said}");
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn a_ledger_of_ones_own_is_obeyed() {
    let place = Place::new();
    assert_eq!(place.restored(), None);
    assert!(!place.precious.exists() && !place.ledger.exists());
}

/// root had become root by `su`, which keeps XDG_STATE_HOME: `restore` read the ledgers below a
/// user's home, and that user could write any file's name into one.
#[test]
fn a_ledger_or_a_directory_of_another_owner_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("root");
    }
    let place = Place::new();
    chown(&place.ledger, Some(SOMEBODY), None).expect("root may");
    place.refused(&["1-1.ledger belongs to uid 65534", "uid 0"]);
    let place = Place::new();
    chown(&place.directory, Some(SOMEBODY), None).expect("root may");
    place.refused(&["ledger belongs to uid 65534", "XDG_STATE_HOME"]);
    // What would not be obeyed later is not begun either.
    let made = Ledger::create(&place.directory, "a test", &Roots::default(), |_| {});
    assert!(made.expect_err("refused").to_string().contains("XDG_STATE_HOME"));
}

#[test]
fn what_others_can_write_is_refused() {
    for bits in [0o620, 0o602] {
        let place = Place::new();
        mode(&place.ledger, bits);
        place.refused(&["can be written by others", "chmod go-w"]);
    }
    for bits in [0o770, 0o703, 0o1777] {
        let place = Place::new();
        mode(&place.directory, bits);
        place.refused(&["can be written by others", "chmod go-w"]);
    }
    // To read them does no harm.
    let place = Place::new();
    mode(&place.directory, 0o755);
    mode(&place.ledger, 0o644);
    assert_eq!(place.restored(), None);
}

#[test]
fn links_and_pipes_are_not_followed() {
    let place = Place::new();
    let elsewhere = place.top.path().join("elsewhere");
    fs::rename(&place.ledger, &elsewhere).expect("it is moved");
    symlink(&elsewhere, &place.ledger).expect("a link");
    place.refused(&["is a link"]);
    let place = Place::new();
    let elsewhere = place.top.path().join("elsewhere");
    fs::rename(&place.directory, &elsewhere).expect("it is moved");
    symlink(&elsewhere, &place.directory).expect("a link");
    place.refused(&["is a link"]);
    let place = Place::new();
    let pipe = place.directory.join("0-0.ledger");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a pipe");
    // Opened to read, it would be waited for for ever.
    place.refused(&["no file"]);
}
