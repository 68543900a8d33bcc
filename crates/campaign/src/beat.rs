//! The sign of life of a process that works.

use crate::{Campaign, CampaignError, Worker, claim::BEAT};
use std::{
    fs,
    path::PathBuf,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
};

/// A process works as long as it holds this: its beat is touched by a thread of its own, and
/// removed at the end.
pub struct Beating {
    path: PathBuf,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Beating {
    /// Begins, before the first claim.
    ///
    /// # Errors
    /// The file system, or no thread to be had.
    pub fn begin(campaign: &Campaign, worker: &Worker) -> Result<Self, CampaignError> {
        let path = campaign.path("beats").join(worker.name());
        let io = |error| CampaignError::io("write", &path, error);
        fs::write(&path, "").map_err(io)?;
        let (sender, receiver) = mpsc::channel::<()>();
        let file = path.clone();
        let beat = move || {
            while receiver.recv_timeout(BEAT) == Err(mpsc::RecvTimeoutError::Timeout) {
                // By the file system's clock, not this host's. One that fails is made up for by
                // the next.
                let _ = fs::write(&file, "beat\n");
            }
        };
        let thread = thread::Builder::new().name("beat".to_owned()).spawn(beat).map_err(io)?;
        Ok(Self { path, thread: Some((sender, thread)) })
    }
}

impl Drop for Beating {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}
