//! Serving NBD clients.

use crate::{
    control::{Control, refusal},
    error::ServingError,
    floor,
    session::{Audience, Order, Session, is_set, tell},
    words,
};
use block::display_bytes;
use nbd::{
    Address, Listener, Options, Server, Traffic,
    protocol::{Access, Export},
};
use record::ServerEvent;
use std::{
    cell::Cell,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use target::{
    TargetText,
    serve::{Loss, ServedEngine, power_cycle},
};

/// A cut in the middle of a flush comes after this time where no flush does.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Serves at `address` until it is to stop; gives the engine back.
pub(crate) fn serve(
    session: &mut Session<'_>,
    address: &Address,
    engine: ServedEngine,
    mut control: Option<Control>,
) -> Result<(ServedEngine, Traffic), ServingError> {
    let order = session.order;
    let listener = Listener::bind(address)?;
    // Before a client comes; without it a model is served all the same.
    let is_model = matches!(order.target, TargetText::Model(_));
    let floor_ns = is_model.then(|| floor::measure(listener.address(), order.clock).ok()).flatten();
    let mut text = ready(order.name, listener.address(), &session.export);
    text += &words::slowed(engine.slower());
    text += &floor_ns.map_or_else(String::new, |floor_ns| floor::words(floor_ns, engine.slower()));
    text += &engine.volume().map_or_else(String::new, words::kept_in_memory);
    let uri = words::uri(listener.address(), &session.export.name);
    session.tell(&ServerEvent::Ready { address: uri.clone() }, &text)?;
    session.starter.ready(&uri)?;
    let mut server = Server::new(engine, session.export.clone(), listener, Options::default());
    if let Some(control) = &control {
        server.wake_by(control.waker()?);
    }
    let audience = session.audience;
    let mut turn = |engine: &ServedEngine, traffic: &Traffic| session.turn(engine, traffic);
    let served = serve_until_stopped(order, audience, server, &mut turn, control.as_mut());
    let mut server = served?;
    session.starter.stopping();
    let outcome = server.finish();
    audience.clear();
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

/// Serves until it is to stop, and after each power cut what is left.
fn serve_until_stopped(
    order: &Order<'_>,
    audience: &dyn Audience,
    mut server: Server<ServedEngine>,
    turn: &mut impl FnMut(&ServedEngine, &Traffic),
    mut control: Option<&mut Control>,
) -> Result<Server<ServedEngine>, ServingError> {
    let mut seed = order.power_cut;
    loop {
        let asked = control.as_deref();
        let in_flush = InFlush::default();
        let is_cut =
            || is_set(order.cut) || in_flush.is_due.get() || asked.is_some_and(Control::wants_cut);
        let mut watch = |engine: &ServedEngine, traffic: &Traffic| {
            turn(engine, traffic);
            if is_set(order.cut_in_flush) || asked.is_some_and(Control::wants_cut_in_flush) {
                in_flush.look(engine, traffic);
            }
            if let Some(control) = asked {
                control.turn(|| engine.sectors_at_risk(), traffic.connections);
            }
        };
        server.serve_until(|| is_set(order.stop) || is_cut(), &mut watch)?;
        let Some(drawn) = seed.filter(|_| is_cut() && !is_set(order.stop)) else {
            return Ok(server);
        };
        order.cut.store(false, Ordering::Relaxed);
        order.cut_in_flush.store(false, Ordering::Relaxed);
        let mut line = String::new();
        let back = server.power_cycle(|engine| {
            let (engine, loss) = power_cycle(engine, order.target, drawn, order.lost_member)?;
            let event = event_of(&loss);
            line = event.line();
            tell(audience, &event, &words::cut(&loss))?;
            Ok::<_, ServingError>(engine)
        });
        if let Some(control) = &mut control {
            control.was_cut(match &back {
                Ok(_) => line,
                Err(error) => refusal(&error.to_string()),
            });
        }
        server = back?;
        seed = Some(drawn.wrapping_add(1));
    }
}

/// Waits for a flush that has something to lose.
#[derive(Default)]
struct InFlush {
    since: Cell<Option<Instant>>,
    is_due: Cell<bool>,
}

impl InFlush {
    fn look(&self, engine: &ServedEngine, traffic: &Traffic) {
        let since = self.since.get().unwrap_or_else(Instant::now);
        self.since.set(Some(since));
        // What a managed volume gathers in memory is not counted, and goes with the power, too.
        let has_something = || engine.volume().is_some() || engine.sectors_at_risk() > 0;
        let is_due = traffic.flush_under_way && has_something();
        self.is_due.set(is_due || since.elapsed() >= FLUSH_PATIENCE);
    }
}

fn event_of(&Loss { sectors_at_risk, sectors_changed, .. }: &Loss) -> ServerEvent {
    ServerEvent::PowerCut { sectors_at_risk, sectors_changed }
}
