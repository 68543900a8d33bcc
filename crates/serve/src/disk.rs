//! Serving a target as a disk of this machine's kernel (ublk).

use crate::{
    error::{InWords, ServingError},
    session::{Audience, Restart, Session, is_set},
    words,
};
use block::{Drive, Engine, display_bytes};
use nbd::{
    Traffic,
    protocol::{Access, Export},
};
use record::ServerEvent;
use std::path::Path;
use target::{TargetText, serve::ServedEngine};
use ublk::{Beginning, Ended, Leftover, Orphan, Release, Server, Shape, Use, Wish};

/// What this kernel may do when the server is killed.
fn warning() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let release = release.trim();
    ublk::may_stop_when_killed(release).then(|| {
        format!(
            "Linux {release} may stop when this server is killed (CVE-2025-37906): end it with \
             SIGTERM, or use Linux 6.14.6 or later"
        )
    })
}

/// Serves the disk `id`, or any, until it is to stop; gives the engine back.
pub(crate) fn serve(
    session: &mut Session<'_>,
    id: Option<u32>,
    engine: ServedEngine,
) -> Result<(ServedEngine, Traffic), ServingError> {
    let (order, audience) = (session.order, session.audience);
    let shape = Shape::of(&session.export, &engine.geometry(Drive(0)))?;
    let wish = Wish {
        id,
        orphan: match order.restart {
            Restart::GoesOn => Orphan::Waits,
            Restart::Anew => Orphan::Removed,
        },
        mark: mark(order.target, &engine)?,
    };
    let slowed = words::slowed(engine.slower());
    let recovered = engine.volume().map(words::kept_in_memory).unwrap_or_default();
    let attached = ublk::attach(&wish, &shape)?;
    for found in &attached.leftovers {
        audience.note(&leftover(*found, audience));
    }
    if shape.unreached_bytes > 0 {
        audience.note(&format!("{}: {}", order.name, unreached(&shape)));
    }
    if let Some(text) = warning() {
        audience.note(&text);
    }
    let beginning = attached.beginning;
    let mut server = Server::start(engine, &session.export, attached)?;
    // From here on the disk is there, and goes whatever happens.
    let path = server.path();
    let ready = ready(order.name, &path, &session.export, beginning, wish.orphan);
    let address = path.display().to_string();
    let event = ServerEvent::Ready { address: address.clone() };
    let told = session.tell(&event, &(ready + &slowed + &recovered));
    let told = told.and_then(|()| Ok(session.starter.ready(&address)?));
    let served = told.and_then(|()| {
        let mut turn = |engine: &ServedEngine, traffic: &Traffic| session.turn(engine, traffic);
        Ok(server.serve_until(|| is_set(order.stop), &mut turn)?)
    });
    session.starter.stopping();
    let released = server.finish();
    audience.clear();
    let ended = served?;
    let released = released?;
    if let Some(text) = farewell(&path, released) {
        audience.note(&text);
    }
    if ended == Ended::Stopped {
        return Err(ServingError::DiskStopped(path));
    }
    let traffic = server.traffic();
    Ok((server.into_engine(), traffic))
}

/// What a killed server's disk is known by.
fn mark(target: &TargetText, engine: &ServedEngine) -> Result<u64, ServingError> {
    let volume = engine.volume().and_then(flash::Volume::id).map(|id| id.0);
    match target {
        TargetText::Path(path) | TargetText::Flash(path) => {
            let mark = ublk::mark_of_file(path, volume).in_words(|| path.display().to_string());
            Ok(mark?)
        }
        TargetText::Null | TargetText::Model(_) | TargetText::Memory(_) => {
            Ok(ublk::mark_of_process())
        }
    }
}

/// Where it is, and what to do with it.
fn ready(
    target: &str,
    disk: &Path,
    export: &Export,
    beginning: Beginning,
    orphan: Orphan,
) -> String {
    let (disk, size) = (disk.display(), display_bytes(export.size_bytes));
    let access = match export.access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    };
    let mut text = format!("serving {target} as {disk}: {size}, {access}\n");
    text += &match (beginning, export.access) {
        (Beginning::TakenUp, _) => {
            "  taken up again: whoever uses it goes on where its server was killed\n".to_owned()
        }
        (Beginning::Made, Access::ReadWrite) => {
            format!("  mkfs.ext4 {disk}; mkdir mnt; mount {disk} mnt\n")
        }
        (Beginning::Made, Access::ReadOnly) => {
            format!("  mkdir mnt; mount -o ro,noload {disk} mnt\n")
        }
    };
    text += match orphan {
        Orphan::Waits => {
            "  killed, it waits for the same command; ended in order, it goes\n  \
             a kill under load has crashed Linux 6.12: see docs/reference/ublk.md\n"
        }
        Orphan::Removed => "  it goes with this process: unmount it first\n",
    };
    text
}

fn leftover(found: Leftover, audience: &dyn Audience) -> String {
    match found {
        Leftover::Removed(id) => format!("removed what a killed server left of /dev/ublkb{id}"),
        Leftover::Waiting(id) => format!(
            "/dev/ublkb{id} waits for a killed server of another target: {}",
            audience.waiting_disk(id)
        ),
    }
}

fn unreached(shape: &Shape) -> String {
    format!(
        "its last {} B are no whole block of {} B, and a disk does not reach them",
        shape.unreached_bytes, shape.parameters.logical_block_bytes
    )
}

/// What is to be said when the disk has gone, if anything.
fn farewell(disk: &Path, release: Release) -> Option<String> {
    let disk = disk.display();
    match (release.r#use, release.is_gone) {
        (Use::Held, _) => Some(format!(
            "{disk} was mounted or in use: what was written is on the drive, and whoever goes on \
             with it gets I/O errors; unmount it first"
        )),
        (Use::Free, false) => {
            Some(format!("somebody still has {disk} open: it goes when they close it"))
        }
        (Use::Free, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Data, Geometry};

    #[test]
    fn what_is_printed_fits_a_terminal_and_says_what_becomes_of_the_disk() {
        let geometry = Geometry {
            capacity_bytes: 10 << 30,
            block_bytes: 512,
            transfer_bytes_max: 1 << 20,
            queue_depth: 8,
            data: Data::Stored,
        };
        let mut export = Export::of(&geometry);
        let disk = Path::new("/dev/ublkb12");
        for access in [Access::ReadWrite, Access::ReadOnly] {
            export.access = access;
            for beginning in [Beginning::Made, Beginning::TakenUp] {
                for orphan in [Orphan::Waits, Orphan::Removed] {
                    let text = ready("flash:volume", disk, &export, beginning, orphan);
                    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
                    assert!(
                        text.starts_with("serving flash:volume as /dev/ublkb12: 10 GiB, read-")
                    );
                    assert_eq!(text.contains("taken up again"), beginning == Beginning::TakenUp);
                    assert_eq!(text.contains("killed, it waits"), orphan == Orphan::Waits);
                }
            }
        }
    }

    #[test]
    fn who_still_uses_a_disk_that_goes_is_told_of() {
        let said = |r#use, is_gone| farewell(Path::new("/dev/ublkb0"), Release { r#use, is_gone });
        assert_eq!(said(Use::Free, true), None);
        assert!(said(Use::Free, false).expect("open").contains("when they close it"));
        assert!(said(Use::Held, true).expect("mounted").contains("unmount it first"));
    }
}
