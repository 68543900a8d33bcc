//! The ladder of fall-backs: what a ring can be asked for, what the kernel granted, and what it
//! refused and why.

use io_uring::{Builder, IoUring};
use std::{fmt, io};

/// One thing that makes a ring cheaper, and that a kernel may not know or not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Completions are worked off when the owner asks for them (`IORING_SETUP_DEFER_TASKRUN`, Linux
    /// 6.1).
    DeferTaskrun,
    /// One thread alone submits (`IORING_SETUP_SINGLE_ISSUER`, Linux 6.0).
    SingleIssuer,
    /// A flag in memory shows that completions wait to be worked off (`IORING_SETUP_TASKRUN_FLAG`,
    /// Linux 5.19).
    TaskrunFlag,
    /// Completions do not interrupt the owner (`IORING_SETUP_COOP_TASKRUN`, Linux 5.19).
    CoopTaskrun,
    /// A refused request does not hold up the rest of its batch (`IORING_SETUP_SUBMIT_ALL`, Linux
    /// 5.18).
    SubmitAll,
    /// Submitting and waiting with a time limit are one call (`IORING_FEAT_EXT_ARG`, Linux 5.11).
    TimedWait,
    /// The file is looked up once for all (`IORING_REGISTER_FILES`).
    RegisteredFile,
    /// The memory is pinned once for all (`IORING_REGISTER_BUFFERS`).
    RegisteredBuffers,
}

impl Feature {
    /// Those asked for when the ring is set up, the youngest first, since a kernel that refuses one
    /// refuses all younger ones.
    const SETUP: [Self; 5] = [
        Self::DeferTaskrun,
        Self::SingleIssuer,
        Self::TaskrunFlag,
        Self::CoopTaskrun,
        Self::SubmitAll,
    ];

    /// What it cannot be without. Deferred completions do not wake a sleeper in poll(2) on the ring
    /// (seen on Linux 6.18), which is how a wait without the timed one sleeps.
    fn needs(self) -> &'static [Self] {
        match self {
            Self::DeferTaskrun => &[Self::SingleIssuer, Self::TimedWait],
            Self::TaskrunFlag => &[Self::CoopTaskrun],
            _ => &[],
        }
    }

    fn ask(self, builder: &mut Builder) {
        match self {
            Self::DeferTaskrun => builder.setup_defer_taskrun(),
            // Disabled until the thread that will own it is known: the first to wait.
            Self::SingleIssuer => builder.setup_single_issuer().setup_r_disabled(),
            Self::TaskrunFlag => builder.setup_taskrun_flag(),
            Self::CoopTaskrun => builder.setup_coop_taskrun(),
            Self::SubmitAll => builder.setup_submit_all(),
            Self::TimedWait | Self::RegisteredFile | Self::RegisteredBuffers => {
                unreachable!("not a set-up flag")
            }
        };
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::DeferTaskrun => "defer-taskrun",
            Self::SingleIssuer => "single-issuer",
            Self::TaskrunFlag => "taskrun-flag",
            Self::CoopTaskrun => "coop-taskrun",
            Self::SubmitAll => "submit-all",
            Self::TimedWait => "timed-wait",
            Self::RegisteredFile => "registered-file",
            Self::RegisteredBuffers => "registered-buffers",
        })
    }
}

/// What a ring may use; by default everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UringOptions {
    forbidden: Vec<Feature>,
}

impl UringOptions {
    /// Forbids `feature`, and with it those that build on it.
    pub fn without(mut self, feature: Feature) -> Self {
        self.forbidden.push(feature);
        self
    }

    /// For an engine whose [`poll_fd`](block::Engine::poll_fd) a server sleeps on: without deferred
    /// completions, which do not wake it.
    pub fn pollable() -> Self {
        Self::default().without(Feature::DeferTaskrun)
    }

    pub(super) fn forbids(&self, feature: Feature) -> bool {
        self.forbidden.contains(&feature)
    }
}

/// What a ring uses and what it had to do without. Displays as words for the record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// In use.
    pub used: Vec<Feature>,
    /// Given up, and why.
    pub given_up: Vec<(Feature, String)>,
}

impl Features {
    /// Whether `feature` is in use.
    pub fn uses(&self, feature: Feature) -> bool {
        self.used.contains(&feature)
    }

    /// Notes whether the kernel granted `feature`.
    pub(super) fn note(&mut self, feature: Feature, outcome: io::Result<()>) {
        match outcome {
            Ok(()) => self.used.push(feature),
            Err(error) => self.give_up(feature, error.to_string()),
        }
    }

    pub(super) fn give_up(&mut self, feature: Feature, reason: String) {
        self.used.retain(|&used| used != feature);
        self.given_up.push((feature, reason));
    }
}

impl fmt::Display for Features {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("io_uring")?;
        for (index, feature) in self.used.iter().enumerate() {
            write!(formatter, "{}{feature}", if index == 0 { " with " } else { ", " })?;
        }
        for (index, (feature, reason)) in self.given_up.iter().enumerate() {
            write!(
                formatter,
                "{}{feature} ({reason})",
                if index == 0 { "; without " } else { ", " }
            )?;
        }
        Ok(())
    }
}

/// The kernel offers no usable io_uring: the sync engine does without it.
#[derive(Debug)]
pub struct UringUnavailable {
    source: io::Error,
}

impl UringUnavailable {
    /// The error number of `io_uring_setup`: ENOSYS, EPERM, ENOMEM, ...
    pub fn errno(&self) -> i32 {
        self.source.raw_os_error().unwrap_or(libc::ENOSYS)
    }
}

impl fmt::Display for UringUnavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.errno() {
            libc::ENOSYS => {
                "io_uring is not available (ENOSYS): the kernel is older than 5.6 or built without it"
            }
            libc::EPERM => {
                "io_uring is not allowed (EPERM): the sysctl kernel.io_uring_disabled (`sysctl \
                 kernel.io_uring_disabled=0` allows it) or a container's seccomp filter forbids it"
            }
            libc::ENOMEM => {
                "io_uring got no memory (ENOMEM): raise the limit on locked memory \
                 (`ulimit -l`), or lower the queue depth"
            }
            libc::EMFILE => {
                "io_uring got no file descriptor (EMFILE): raise the limit on open files (`ulimit \
                 -n`)"
            }
            _ => "io_uring could not be set up",
        })?;
        write!(formatter, "; the sync engine does without it: {}", self.source)
    }
}

impl std::error::Error for UringUnavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Sets a ring up with all that options and kernel allow: whatever is refused is dropped, the
/// youngest feature first, and noted.
pub(crate) fn set_up(
    entries: u32,
    options: &UringOptions,
) -> Result<(IoUring, Features), UringUnavailable> {
    let mut features = Features::default();
    let mut rungs: Vec<Feature> = Vec::new();
    for feature in Feature::SETUP {
        let missing = feature.needs().iter().find(|&&needed| options.forbids(needed));
        if options.forbids(feature) {
            features.give_up(feature, "forbidden".to_owned());
        } else if let Some(needed) = missing {
            features.give_up(feature, format!("needs {needed}"));
        } else {
            rungs.push(feature);
        }
    }
    let ring = loop {
        let mut builder = IoUring::builder();
        builder.dontfork();
        rungs.iter().for_each(|feature| feature.ask(&mut builder));
        match builder.build(entries) {
            Ok(ring) => break ring,
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !rungs.is_empty() => {
                features.give_up(rungs.remove(0), error.to_string());
            }
            Err(source) => return Err(UringUnavailable { source }),
        }
    };
    // Linux 5.6 brought plain reads and writes and this flag together.
    if !ring.params().is_feature_rw_cur_pos() {
        return Err(UringUnavailable { source: io::Error::from_raw_os_error(libc::ENOSYS) });
    }
    features.used.extend(rungs);
    if options.forbids(Feature::TimedWait) {
        features.give_up(Feature::TimedWait, "forbidden".to_owned());
    } else if ring.params().is_feature_ext_arg() {
        features.used.push(Feature::TimedWait);
    } else {
        features.give_up(Feature::TimedWait, "not offered by this kernel".to_owned());
    }
    Ok((ring, features))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_and_given_up_reads_as_a_sentence() {
        let mut features = Features::default();
        assert_eq!(features.to_string(), "io_uring");
        features.note(Feature::SubmitAll, Ok(()));
        features.note(Feature::RegisteredFile, Ok(()));
        features.give_up(Feature::RegisteredBuffers, "forbidden".to_owned());
        assert_eq!(
            features.to_string(),
            "io_uring with submit-all, registered-file; without registered-buffers (forbidden)"
        );
    }

    #[test]
    fn a_missing_ring_is_told_apart_from_a_forbidden_one() {
        let told =
            |errno| UringUnavailable { source: io::Error::from_raw_os_error(errno) }.to_string();
        assert!(
            told(libc::ENOSYS).contains("ENOSYS") && told(libc::ENOSYS).contains("sync engine")
        );
        assert!(told(libc::EPERM).contains("kernel.io_uring_disabled"));
        assert!(told(libc::ENOMEM).contains("ulimit -l"));
    }
}
