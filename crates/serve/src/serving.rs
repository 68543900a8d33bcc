//! A target that is open, served until it is told to stop.
//!
//! ```text
//!   Order, Served -> Session: what both ways of serving have in common
//!     network   nbd::Server, until the flag is raised
//!     disk      ublk::Server, likewise
//!   -> the volume is stopped, a summary
//! ```

use crate::{
    below::Below,
    control::Control,
    error::ServingError,
    metrics::{Door, Metrics},
    network,
    pid_file::PidFile,
    ready::Starter,
    session::{Audience, Order, Restart, Session},
    status::Status,
    words,
};
use block::{Drive, Engine};
use nbd::{
    Address,
    protocol::{Access, Export, Flushing},
};
use record::ServerEvent;
use target::serve::{Served, Sharing, WriteCache};

/// How those who are served reach it.
pub enum Front {
    /// At an address, as NBD clients.
    Network(Address),
    /// As a disk, of that number or any.
    #[cfg(feature = "ublk")]
    Disk(Option<u32>),
}

/// Who started the server, and who watches it.
pub struct Supervision {
    /// Is told when it is ready, and when it ends.
    pub starter: Starter,
    /// Where metrics are told.
    pub door: Option<Door>,
    /// Where power cuts of modelled drives are asked for.
    pub control: Option<Control>,
    /// Has the process's number until the target is stopped.
    pub pid_file: Option<PidFile>,
}

/// What opening a target for it had to say: a tail that was cut, a root that was damaged, a volume
/// in doubt.
pub fn warnings(served: &Served) -> Vec<String> {
    let report = served.engine.volume().and_then(flash::Volume::open_report);
    report.map(flash::OpenReport::warnings).unwrap_or_default()
}

/// Serves until it is told to stop, and stops the target in order.
///
/// # Errors
/// What cannot be served so; the drive is gone; the system's.
pub fn serve(
    order: &Order<'_>,
    front: Front,
    served: Served,
    supervision: Supervision,
    audience: &dyn Audience,
) -> Result<(), ServingError> {
    let export = export(&served, order);
    let Served { mut engine, hold, .. } = served;
    let Supervision { starter, door, control, pid_file } = supervision;
    if order.restart == Restart::GoesOn {
        engine.survive_kills()?;
    }
    if let Some(scrubbing) = order.scrubbing {
        engine.scrub(scrubbing)?;
    }
    let mut session = Session {
        order,
        export,
        starter,
        audience,
        status: Status::default(),
        metrics: door.map(|door| Metrics::start(door, &engine)).transpose()?,
        below: Below::of(order.target),
        is_unrecorded: false,
    };
    for said in session.below.conditions().iter().filter_map(words::condition) {
        audience.note(&format!("{}: {said}", order.name));
    }
    let outcome = match front {
        Front::Network(address) => network::serve(&mut session, &address, engine, control),
        #[cfg(feature = "ublk")]
        Front::Disk(id) => crate::disk::serve(&mut session, id, engine),
    };
    // That the last flush failed follows from it.
    if let Some(gone) = session.below.gone() {
        return Err(match order.sharing {
            // Nothing was written that could be lost.
            Sharing::ReadOnly => ServingError::Gone(gone),
            Sharing::ReadWrite => ServingError::GoneWithWrites(gone),
        });
    }
    let (engine, traffic) = outcome?;
    let standing = engine.standing().filter(|_| !engine.is_read_only());
    let scrubbed = engine.scrub_report();
    engine.stop().map_err(ServingError::Unstopped)?;
    drop(hold);
    drop(pid_file);
    let stopped = ServerEvent::Stopped {
        requests: traffic.kinds.iter().map(|tally| tally.requests).sum(),
        failures: traffic.failures(),
    };
    let summary = words::summary(&traffic, standing.as_ref(), session.status.seconds());
    let scrubbed = scrubbed.as_ref().map_or_else(String::new, words::scrubbed);
    session.tell(&stopped, &(summary + &scrubbed))
}

fn export(served: &Served, order: &Order<'_>) -> Export {
    let reach = Export::of(&served.engine.geometry(Drive(0)));
    Export {
        name: order.export_name.to_owned(),
        description: served.description.clone(),
        size_bytes: served.bytes.min(reach.size_bytes),
        access: match order.sharing {
            // One that does not make sense to its own recovery is only read, whatever was asked
            // for.
            Sharing::ReadWrite if !served.engine.is_read_only() => Access::ReadWrite,
            Sharing::ReadOnly | Sharing::ReadWrite => Access::ReadOnly,
        },
        discarded: served.discarded,
        flushing: match served.write_cache {
            WriteCache::Volatile => Flushing::Needed,
            WriteCache::None => Flushing::Unneeded,
        },
        ..reach
    }
}
