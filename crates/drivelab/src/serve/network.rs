//! Serving NBD clients.

use super::session::{Session, is_set, say};
use crate::cli::ServeArguments;
use ::serve::{floor, words};
use anyhow::{Result, bail};
use block::display_bytes;
use engine::Clock;
use nbd::{
    Address, Listener, Options, Server, Traffic,
    protocol::{Access, Export, NAME_BYTES_MAX},
};
use record::ServerEvent;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use target::{
    TargetText,
    serve::{Loss, ServedEngine, power_cycle},
};

/// What is wrong with the words, before anything is opened.
pub fn check(name: &str) -> Result<()> {
    if name.len() > NAME_BYTES_MAX {
        bail!("--name: NBD allows names of {NAME_BYTES_MAX} bytes at most: choose a shorter one");
    }
    Ok(())
}

/// Serves at `address` until a signal comes; gives the engine back.
pub fn serve(
    session: &mut Session<'_>,
    address: &Address,
    engine: ServedEngine,
    clock: Clock,
) -> Result<(ServedEngine, Traffic)> {
    let listener = Listener::bind(address)?;
    // Before a client comes; without it a model is served all the same.
    let is_model = matches!(session.target, TargetText::Model(_));
    let floor_ns = is_model.then(|| floor::measure(listener.address(), clock).ok()).flatten();
    let mut text = ready(session.name, listener.address(), &session.export);
    text += &floor_ns.map_or_else(String::new, floor::words);
    text += &engine.volume().map_or_else(String::new, words::kept_in_memory);
    let uri = words::uri(listener.address(), &session.export.name);
    session.say(&ServerEvent::Ready { address: uri.clone() }, &text)?;
    session.starter.ready(&uri)?;
    let server = Server::new(engine, session.export.clone(), listener, Options::default());
    let (stop, cut) = (Arc::clone(&session.stop), Arc::clone(&session.cut));
    let seed = session.arguments.power_cut;
    let arguments = session.arguments;
    let power = Power { arguments, target: session.target, cut: &cut, seed, clock };
    let mut turn = |engine: &ServedEngine, traffic: &Traffic| session.turn(engine, traffic);
    let mut server = power.serve_until(server, || is_set(&stop), &mut turn)?;
    session.starter.stopping();
    let outcome = server.finish();
    session.status.finish();
    outcome?;
    let traffic = server.traffic();
    Ok((server.into_engine(), traffic))
}

/// Where it is, and a command line for each common client.
fn ready(target: &str, address: &Address, export: &Export) -> String {
    let access = match export.access {
        Access::ReadOnly => "read-only",
        Access::ReadWrite => "read-write",
    };
    let uri = words::uri(address, &export.name);
    format!(
        "serving {target} at {address}: {}, {access}\n  \
         nbdinfo '{uri}'\n  \
         qemu-system-x86_64 -drive 'file={uri},format=raw'\n  \
         mkdir mnt; nbdfuse mnt '{uri}' & losetup --find --show mnt/nbd\n",
        display_bytes(export.size_bytes)
    )
}

fn event_of(&Loss { sectors_at_risk, sectors_changed, .. }: &Loss) -> ServerEvent {
    ServerEvent::PowerCut { sectors_at_risk, sectors_changed }
}

/// The power of a modelled target, which a signal cuts.
struct Power<'a> {
    arguments: &'a ServeArguments,
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
                say(self.arguments, &event_of(&loss), &words::cut(&loss))?;
                anyhow::Ok(engine)
            })?;
            self.seed = Some(drawn.wrapping_add(1));
        }
    }
}
