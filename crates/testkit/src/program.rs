//! Programs of the system, and tests that skip without them.

use std::{
    env, fs,
    fs::File,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Says why a test does not run, or fails it where DRIVELAB_NO_SKIP=1.
///
/// # Panics
/// Where DRIVELAB_NO_SKIP=1.
pub fn skip(needs: &str) {
    assert!(
        env::var_os("DRIVELAB_NO_SKIP").is_none_or(|value| value != "1"),
        "needs {needs}, and DRIVELAB_NO_SKIP=1 forbids skipping"
    );
    eprintln!("skipped: needs {needs}");
}

/// Unwraps what the environment must offer, or leaves the test.
#[macro_export]
macro_rules! need {
    ($value:expr, $needs:expr) => {
        match $value {
            Some(value) => value,
            None => return $crate::skip($needs),
        }
    };
}

/// PATH, and where programs of the administrator's lie.
fn path() -> String {
    env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin"
}

/// Whether a program can be started from here. Programs that were masked by /dev/null were taken
/// for installed, and tests failed that should have been skipped.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// Whether a program of that name is installed.
pub fn has(program: &str) -> bool {
    env::split_paths(&path()).any(|directory: PathBuf| is_program(&directory.join(program)))
}

/// Runs a program of the system; its output when it succeeded.
pub fn system(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("PATH", path()).output().ok()?;
    if !output.status.success() {
        eprintln!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// FNV-1a over a file's words: enough to see that none changed.
pub fn hash(path: &Path) -> u64 {
    let mut file = File::open(path).expect("readable");
    let mut piece = vec![0; 1 << 20];
    let mut hash = 0xcbf2_9ce4_8422_2325;
    loop {
        let bytes = file.read(&mut piece).expect("readable");
        if bytes == 0 {
            return hash;
        }
        for word in piece[..bytes].chunks(8) {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
