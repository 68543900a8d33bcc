//! `drivelab serve`: a target behind a socket.
//!
//! ```text
//!   target::serve -> Served: an engine, a hold      words    what to connect with
//!   nbd::Server   -> until a signal                 status   a line on a terminal, a summary
//!   metrics       what it does, for monitoring      ready, pid_file   who started it
//! ```

mod metrics;
mod pid_file;
mod ready;
mod status;
pub mod words;

use crate::{cli::ServeArguments, interrupt, output};
use anyhow::{Context, Result, bail};
use block::{Drive, Engine};
use engine::Clock;
use flash::Scrubbing;
use host::Consent;
use metrics::Metrics;
use nbd::{
    Address, Listener, Options, Server, Traffic,
    protocol::{Access, Discarded, Export, Flushing, NAME_BYTES_MAX},
};
use pid_file::PidFile;
use ready::Starter;
use status::Status;
use std::{
    io::IsTerminal,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use target::{
    TargetText,
    serve::{Cuttable, Served, ServedEngine, Sharing, Wishes, power_cycle},
};

/// With `--scrub` everything is read once in so long, in nanoseconds: a day.
const SCRUB_EVERY_NS: u64 = 86_400_000_000_000;

/// Serves the target until a signal comes.
pub fn serve(arguments: &ServeArguments) -> Result<ExitCode> {
    let address: Address = arguments.nbd.parse().context("--nbd")?;
    if let Address::Unix(path) = &address {
        host::missing::refuse_in_kernels_place(path).context("--nbd")?;
    }
    if arguments.name.len() > NAME_BYTES_MAX {
        bail!("--name: NBD allows names of {NAME_BYTES_MAX} bytes at most: choose a shorter one");
    }
    let target: TargetText = arguments.target.parse()?;
    let sharing = if arguments.read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
    let wishes = Wishes {
        sharing,
        consent: Consent::typed(&arguments.destroy),
        volatile_cache: arguments.volatile_cache,
        power: if arguments.power_cut.is_some() { Cuttable::Yes } else { Cuttable::No },
    };
    // Before anything is opened that could have the descriptor's number.
    let mut starter = Starter::find(arguments.ready_fd)?;
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
        eprintln!("drivelab: {}: {warning}", arguments.target);
    }
    if arguments.restartable {
        served.engine.survive_kills()?;
    }
    if let Some(bytes_per_s) = arguments.scrub {
        served.engine.scrub(Scrubbing { bytes_per_s, every_ns: SCRUB_EVERY_NS })?;
    }
    let listener = Listener::bind(&address)?;
    let metrics = Metrics::wished(arguments, &served.engine)?;
    let export = export(&served, sharing, &arguments.name);
    output::print(&words::ready(&arguments.target, listener.address(), &export))?;
    if let Some(volume) = served.engine.volume() {
        output::print(&words::kept_in_memory(volume))?;
    }
    starter.ready(&words::uri(listener.address(), &export.name))?;
    let Served { engine, hold, .. } = served;
    let server = Server::new(engine, export, listener, Options::default());
    let shows = !arguments.quiet && std::io::stderr().is_terminal();
    let mut status = Status::new(shows);
    let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
    let mut turn = |engine: &ServedEngine, traffic: &Traffic| {
        status.turn(engine, traffic);
        if let Some(metrics) = &metrics {
            metrics.turn(engine, traffic);
        }
    };
    let power = Power { target: &target, cut: &cut, seed: arguments.power_cut, clock };
    let mut server = power.serve_until(server, || is_set(&stop), &mut turn)?;
    starter.stopping();
    let outcome = server.finish();
    status.finish();
    outcome?;
    let traffic = server.traffic();
    let engine = server.into_engine();
    let standing = engine.standing().filter(|_| !engine.is_read_only());
    let scrubbed = engine.scrub_report();
    if let Err(error) = engine.stop() {
        bail!(
            "the volume could not be stopped in order ({error:?}): it is recovered when it is opened again"
        );
    }
    drop(hold);
    drop(pid_file);
    if !arguments.quiet {
        output::print(&words::summary(&traffic, standing.as_ref(), status.seconds()))?;
        if let Some(report) = &scrubbed {
            output::print(&words::scrubbed(report))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The power of a modelled target, which a signal cuts.
struct Power<'a> {
    target: &'a TargetText,
    cut: &'a AtomicBool,
    /// What the next cut is drawn from; without one nobody cuts it.
    seed: Option<u64>,
    clock: Clock,
}

impl Power<'_> {
    /// Serves until `ended`, and after each cut what is left.
    fn serve_until(
        mut self,
        mut server: Server<ServedEngine>,
        ended: impl Fn() -> bool,
        turn: &mut impl FnMut(&ServedEngine, &Traffic),
    ) -> Result<Server<ServedEngine>> {
        let is_cut = || self.cut.load(Ordering::Relaxed);
        loop {
            server.serve_until(|| ended() || is_cut(), turn)?;
            let Some(drawn) = self.seed.filter(|_| is_cut() && !ended()) else {
                return Ok(server);
            };
            self.cut.store(false, Ordering::Relaxed);
            server = server.power_cycle(|engine| {
                let (engine, loss) = power_cycle(engine, self.target, drawn, self.clock)?;
                output::print(&words::cut(&loss))?;
                anyhow::Ok(engine)
            })?;
            self.seed = Some(drawn.wrapping_add(1));
        }
    }
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
        discarded: match served.discarded {
            target::serve::Discarded::ReadsZero => Discarded::ReadsZero,
            target::serve::Discarded::Unknown => Discarded::Unknown,
        },
        flushing: match served.write_cache {
            target::serve::WriteCache::Volatile => Flushing::Needed,
            target::serve::WriteCache::None => Flushing::Unneeded,
        },
        ..reach
    }
}
