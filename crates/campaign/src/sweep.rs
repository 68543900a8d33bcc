//! What killed writers left half written.
//!
//! A file of a campaign is written beside its name, under one with a dot in front
//! ([`crate::whole`]). Who is killed while it writes leaves that file. Nobody ever reads it, so it
//! does no harm but that it lies there.

use crate::{Campaign, claim::BEAT_STOPPED};
use std::{
    fs::{self, DirEntry},
    path::Path,
    time::SystemTime,
};

impl Campaign {
    /// Removes what was left half written by writers that are dead: what is older than any beat of
    /// a living one. What cannot be removed stays. The number of files that went.
    pub fn sweep(&self) -> usize {
        let now = self.now();
        let top = self.place().to_owned();
        let below = directories(&top);
        // The tasks that begin together have a directory a step.
        let steps = directories(&self.path("together"));
        let all = [top].into_iter().chain(below).chain(steps);
        all.map(|directory| sweep(&directory, now)).sum()
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

fn directories(place: &Path) -> Vec<std::path::PathBuf> {
    let is_directory = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries(place).filter(is_directory).map(|entry| entry.path()).collect()
}

fn sweep(directory: &Path, now: SystemTime) -> usize {
    let is_beside = |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let is_left = |entry: &DirEntry| {
        let meta = entry.metadata().ok().filter(|meta| meta.is_file());
        let written = meta.and_then(|meta| meta.modified().ok());
        let age = written.and_then(|written| now.duration_since(written).ok());
        age.is_some_and(|age| age >= BEAT_STOPPED)
    };
    let left = entries(directory).filter(is_beside).filter(is_left);
    left.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}
