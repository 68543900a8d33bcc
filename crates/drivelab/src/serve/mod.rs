//! `drivelab serve`: a target behind a socket.
//!
//! ```text
//!   target::serve -> Served: an engine, a hold      words    what to connect with
//!   nbd::Server   -> until a signal                 status   a line on a terminal, a summary
//! ```

mod status;
pub mod words;

use crate::{cli::ServeArguments, interrupt, output};
use anyhow::{Context, Result, bail};
use block::{Drive, Engine};
use nbd::{
    Address, Listener, Options, Server, Traffic,
    protocol::{Access, Discarded, Export, Flushing, NAME_BYTES_MAX},
};
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

/// Serves the target until a signal comes.
pub fn serve(arguments: &ServeArguments) -> Result<ExitCode> {
    let address: Address = arguments.nbd.parse().context("--nbd")?;
    if arguments.name.len() > NAME_BYTES_MAX {
        bail!("--name: NBD allows names of {NAME_BYTES_MAX} bytes at most: choose a shorter one");
    }
    let target: TargetText = arguments.target.parse()?;
    let sharing = if arguments.read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
    let wishes = Wishes {
        sharing,
        destroy: arguments.destroy.clone(),
        volatile_cache: arguments.volatile_cache,
        power: if arguments.power_cut.is_some() { Cuttable::Yes } else { Cuttable::No },
    };
    // From here on a signal ends it in order, however far it came.
    let stop = interrupt::flag()?;
    let cut = match arguments.power_cut {
        Some(_) => interrupt::power_cut_flag()?,
        None => Arc::default(),
    };
    let clock = engine::Clock::start();
    let served = target::serve::serve(&target, &wishes, clock)?;
    let listener = Listener::bind(&address)?;
    let export = export(&served, sharing, &arguments.name);
    output::print(&words::ready(&arguments.target, listener.address(), &export))?;
    let Served { engine, hold, .. } = served;
    let mut server = Server::new(engine, export, listener, Options::default());
    let shows = !arguments.quiet && std::io::stderr().is_terminal();
    let mut status = Status::new(shows);
    let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
    let mut seed = arguments.power_cut;
    let outcome = loop {
        let mut turn = |engine: &ServedEngine, traffic: &Traffic| status.turn(engine, traffic);
        let served = server.serve_until(|| is_set(&stop) || is_set(&cut), &mut turn);
        let Some(drawn) = seed.filter(|_| served.is_ok() && is_set(&cut) && !is_set(&stop)) else {
            break served.and_then(|()| server.finish());
        };
        cut.store(false, Ordering::Relaxed);
        server = server.power_cycle(|engine| {
            let (engine, loss) = power_cycle(engine, &target, drawn, clock)?;
            output::print(&words::cut(&loss))?;
            anyhow::Ok(engine)
        })?;
        seed = Some(drawn.wrapping_add(1));
    };
    status.finish();
    outcome?;
    let traffic = server.traffic();
    let engine = server.into_engine();
    let standing = engine.standing();
    if let Err(error) = engine.stop() {
        bail!(
            "the volume could not be stopped in order ({error:?}): it is recovered when it is opened again"
        );
    }
    drop(hold);
    if !arguments.quiet {
        output::print(&words::summary(&traffic, standing.as_ref(), status.seconds()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn export(served: &Served, sharing: Sharing, name: &str) -> Export {
    let reach = Export::of(&served.engine.geometry(Drive(0)));
    Export {
        name: name.to_owned(),
        description: served.description.clone(),
        size_bytes: served.bytes.min(reach.size_bytes),
        access: match sharing {
            Sharing::ReadOnly => Access::ReadOnly,
            Sharing::ReadWrite => Access::ReadWrite,
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
