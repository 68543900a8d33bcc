//! `drivelab serve`: a target behind a socket, or as a disk.
//!
//! ```text
//!   target::serve -> Served: an engine, a hold       serve    words, metrics, readiness, PID file
//!   Session       -> what both ways have in common   status   a line on a terminal, a summary
//!   network       nbd::Server, until a signal
//!   disk          ublk::Server, until a signal
//! ```

#[cfg(feature = "ublk")]
mod disk;
mod network;
mod session;
mod status;

use crate::{cli::ServeArguments, interrupt, output};
use ::serve::{
    StartError,
    metrics::{Door, Metrics, Reach},
    pid_file::PidFile,
    ready::Starter,
    words,
};
use anyhow::{Context, Error, Result, anyhow, bail};
use block::{Drive, Engine};
use engine::Clock;
use flash::Scrubbing;
use host::Consent;
use nbd::{
    Address,
    protocol::{Access, Export, Flushing},
};
use record::ServerEvent;
use session::Session;
use status::Status;
use std::{io::IsTerminal, process::ExitCode, sync::Arc};
use target::{
    TargetText,
    serve::{Cuttable, Served, ServedEngine, Sharing, Wishes},
};

/// With `--scrub` everything is read once in so long, in nanoseconds: a day.
const SCRUB_EVERY_NS: u64 = 86_400_000_000_000;

/// How those who are served reach it.
enum Front {
    /// At an address, as NBD clients.
    Network(Address),
    /// As a disk, of that number or any.
    #[cfg(feature = "ublk")]
    Disk(Option<u32>),
}

impl Front {
    /// What the words name, if it can be had.
    fn named(arguments: &ServeArguments) -> Result<Self> {
        if let Some(address) = &arguments.nbd {
            network::check(&arguments.name)?;
            let address = Address::of_word(address).context("--nbd")?;
            if let Address::Unix(path) = &address {
                host::missing::refuse_in_kernels_place(path).context("--nbd")?;
            }
            return Ok(Self::Network(address));
        }
        // The parser asks for one of the two.
        Self::disk(arguments.ublk.flatten())
    }

    #[cfg(feature = "ublk")]
    fn disk(id: Option<u32>) -> Result<Self> {
        disk::check().context("--ublk")?;
        Ok(Self::Disk(id))
    }

    #[cfg(not(feature = "ublk"))]
    fn disk(_: Option<u32>) -> Result<Self> {
        bail!("--ublk: {WITHOUT_UBLK}");
    }
}

#[cfg(not(feature = "ublk"))]
const WITHOUT_UBLK: &str = "this drivelab was built without the feature `ublk`: build it with \
    `cargo build --release --features ublk`, or serve with --nbd";

/// Serves the target until a signal comes.
pub fn serve(arguments: &ServeArguments) -> Result<ExitCode> {
    if let Some(id) = arguments.ublk_remove {
        #[cfg(feature = "ublk")]
        return disk::remove(id, arguments.quiet).context("--ublk-remove");
        #[cfg(not(feature = "ublk"))]
        bail!("--ublk-remove {id}: {WITHOUT_UBLK}");
    }
    let front = Front::named(arguments)?;
    let word = arguments.target.as_deref().expect("the parser asks for it");
    let target = TargetText::of_word(word)?;
    let name = &*word.to_string_lossy();
    let sharing = if arguments.read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
    let wishes = Wishes {
        sharing,
        consent: Consent::typed(&arguments.destroy),
        volatile_cache: arguments.volatile_cache,
        power: if arguments.power_cut.is_some() { Cuttable::Yes } else { Cuttable::No },
    };
    // Before anything is opened that could have the descriptor's number.
    let starter = Starter::find()?;
    let starter = match arguments.ready_fd {
        Some(number) => starter.with_descriptor(number).context("--ready-fd")?,
        None => starter,
    };
    let pid_file = arguments.pid_file.as_deref().map(PidFile::write).transpose();
    let pid_file = pid_file.context("--pid-file")?;
    // From here on a signal ends it in order, however far it came.
    let stop = interrupt::flag()?;
    let cut = match arguments.power_cut {
        Some(_) => interrupt::power_cut_flag()?,
        None => Arc::default(),
    };
    let clock = Clock::start();
    let mut served = target::serve::serve(&target, &wishes, clock)?;
    // What recovery found: a tail that was cut, a root that was damaged, a volume in doubt.
    let report = served.engine.volume().and_then(flash::Volume::open_report);
    for warning in report.map(flash::OpenReport::warnings).unwrap_or_default() {
        output::talk!("drivelab: {name}: {warning}");
    }
    if arguments.restartable {
        served.engine.survive_kills()?;
    }
    if let Some(bytes_per_s) = arguments.scrub {
        served.engine.scrub(Scrubbing { bytes_per_s, every_ns: SCRUB_EVERY_NS })?;
    }
    let is_shown = !arguments.quiet && !arguments.json;
    let mut session = Session {
        arguments,
        name,
        target: &target,
        export: export(&served, sharing, &arguments.name),
        starter,
        status: Status::new(is_shown && std::io::stderr().is_terminal()),
        metrics: metrics(arguments, &served.engine)?,
        stop,
        cut,
        drive: session::Drive::of(&target),
    };
    for said in session.drive.conditions().iter().filter_map(words::condition) {
        output::talk!("drivelab: {name}: {said}");
    }
    let Served { engine, hold, .. } = served;
    let outcome = match front {
        Front::Network(address) => network::serve(&mut session, &address, engine, clock),
        #[cfg(feature = "ublk")]
        Front::Disk(id) => disk::serve(&mut session, id, engine),
    };
    // That the last flush failed follows from it.
    if let Some(gone) = session.drive.gone() {
        match sharing {
            // Nothing was written that could be lost.
            Sharing::ReadOnly => bail!("{gone}"),
            Sharing::ReadWrite => bail!("{gone}; what no flush covered is lost"),
        }
    }
    let (engine, traffic) = outcome?;
    let standing = engine.standing().filter(|_| !engine.is_read_only());
    let scrubbed = engine.scrub_report();
    if let Err(error) = engine.stop() {
        bail!(
            "the volume could not be stopped in order ({error:?}): it is recovered when it is opened again"
        );
    }
    drop(hold);
    drop(pid_file);
    if arguments.json || !arguments.quiet {
        let seconds = session.status.seconds();
        let summary = words::summary(&traffic, standing.as_ref(), seconds);
        let scrubbed = scrubbed.as_ref().map_or_else(String::new, words::scrubbed);
        let stopped = ServerEvent::Stopped {
            requests: traffic.kinds.iter().map(|tally| tally.requests).sum(),
            failures: traffic.failures(),
        };
        session.say(&stopped, &(summary + &scrubbed))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Begins to tell them, where that is wished for.
fn metrics(arguments: &ServeArguments, engine: &ServedEngine) -> Result<Option<Metrics>> {
    let Some(text) = &arguments.metrics else { return Ok(None) };
    let reach = if arguments.metrics_remote { Reach::Remote } else { Reach::Local };
    let door = Door::open(text, reach).map_err(|error| match error {
        StartError::Reachable { .. } => anyhow!("{error}, or agree with --metrics-remote"),
        error => Error::from(error),
    });
    let door = door.context("--metrics")?;
    if let Address::Tcp(socket) = door.address()
        && !arguments.quiet
        && !arguments.json
    {
        output::print(&format!("metrics at http://{socket}/metrics\n"))?;
    }
    Ok(Some(Metrics::start(door, engine)?))
}

fn export(served: &Served, sharing: Sharing, name: &str) -> Export {
    let reach = Export::of(&served.engine.geometry(Drive(0)));
    Export {
        name: name.to_owned(),
        description: served.description.clone(),
        size_bytes: served.bytes.min(reach.size_bytes),
        access: match sharing {
            // One that does not make sense to its own recovery is only read, whatever was asked
            // for.
            Sharing::ReadWrite if !served.engine.is_read_only() => Access::ReadWrite,
            Sharing::ReadOnly | Sharing::ReadWrite => Access::ReadOnly,
        },
        discarded: served.discarded,
        flushing: match served.write_cache {
            target::serve::WriteCache::Volatile => Flushing::Needed,
            target::serve::WriteCache::None => Flushing::Unneeded,
        },
        ..reach
    }
}
