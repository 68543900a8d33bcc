//! `drivelab serve`: a target behind a socket, or as a disk.
//!
//! ```text
//!   words -> Front, Wishes, Supervision; signals -> flags
//!   target::serve::serve  -> an engine, a hold
//!   serve::serving::serve -> until a signal comes        crates/serve
//! ```

use crate::{
    cli::{ServeArguments, Slower},
    interrupt, output,
};
use ::serve::{
    ServingError, StartError,
    control::Control,
    metrics::{Door, Reach},
    pid_file::PidFile,
    ready::Starter,
    serving::{self, Front, Supervision},
    session::{Audience, Order, Restart},
};
use anyhow::{Context, Error, Result, anyhow, bail};
use engine::Clock;
use flash::Scrubbing;
use host::Consent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nbd::{Address, protocol::NAME_BYTES_MAX};
use record::ServerEvent;
use std::{error, io::IsTerminal, num::NonZeroU32, process::ExitCode};
use target::{
    TargetText,
    serve::{Cuttable, Sharing, Wishes},
};

/// With `--scrub` everything is read once in so long, in nanoseconds: a day.
const SCRUB_EVERY_NS: u64 = 86_400_000_000_000;

#[cfg(not(feature = "ublk"))]
const WITHOUT_UBLK: &str = "this drivelab was built without the feature `ublk`: build it with \
    `cargo build --release --features ublk`, or serve with --nbd";

/// Serves the target until a signal comes.
pub fn serve(arguments: &ServeArguments) -> Result<ExitCode> {
    if let Some(id) = arguments.ublk_remove {
        return remove_disk(id, arguments.quiet);
    }
    let front = front(arguments)?;
    let word = arguments.target.as_deref().expect("the parser asks for it");
    let target = TargetText::of_word(word)?;
    let name = &*word.to_string_lossy();
    let slower = slower(arguments.slower, &target, &front)?;
    if let (Some(member), TargetText::Model(stack)) = (arguments.lose_member, &target) {
        target::serve::without(stack, member).context("--lose-member")?;
    }
    let sharing = if arguments.read_only { Sharing::ReadOnly } else { Sharing::ReadWrite };
    let wishes = Wishes {
        sharing,
        consent: Consent::typed(&arguments.destroy),
        volatile_cache: arguments.volatile_cache,
        power: match arguments.power_cut {
            Some(_) => Cuttable::Yes(arguments.flushes),
            None => Cuttable::No,
        },
        slower,
        record_writes: arguments.record_writes.clone(),
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
    let [cut, cut_in_flush] = match arguments.power_cut {
        Some(_) => interrupt::power_cut_flags()?,
        None => Default::default(),
    };
    let clock = Clock::start();
    let served = target::serve::serve(&target, &wishes, clock)?;
    for warning in serving::warnings(&served) {
        output::talk!("drivelab: {name}: {warning}");
    }
    let order = Order {
        name,
        target: &target,
        export_name: &arguments.name,
        sharing,
        restart: if arguments.restartable { Restart::GoesOn } else { Restart::Anew },
        scrubbing: arguments
            .scrub
            .map(|bytes_per_s| Scrubbing { bytes_per_s, every_ns: SCRUB_EVERY_NS }),
        power_cut: arguments.power_cut,
        lost_member: arguments.lose_member,
        stop: &stop,
        cut: &cut,
        cut_in_flush: &cut_in_flush,
        clock,
    };
    let control = arguments.control.as_deref().map(Control::start).transpose();
    let control = control.context("--control")?;
    let supervision = Supervision { starter, door: door(arguments)?, control, pid_file };
    let served = serving::serve(&order, front, served, supervision, &Terminal::new(arguments));
    served.map_err(in_words)?;
    Ok(ExitCode::SUCCESS)
}

/// How many times slower the target's time is to pass.
fn slower(word: Slower, target: &TargetText, front: &Front) -> Result<NonZeroU32> {
    match (word, target, front) {
        (Slower::Times(NonZeroU32::MIN), ..) => Ok(NonZeroU32::MIN),
        (Slower::Times(times), TargetText::Model(_), _) => Ok(times),
        (Slower::Auto, TargetText::Model(stack), Front::Network(address)) => {
            ::serve::floor::slower(stack, address, Clock::start()).map_err(in_words)
        }
        #[cfg(feature = "ublk")]
        (Slower::Auto, TargetText::Model(_), Front::Disk(_)) => {
            bail!("--slower auto measures the way of --nbd: with --ublk name a number")
        }
        _ => {
            bail!("--slower is for modelled drives, whose time is drivelab's own: name model:STACK")
        }
    }
}

/// What the words name, if it can be had.
fn front(arguments: &ServeArguments) -> Result<Front> {
    let Some(address) = &arguments.nbd else {
        // The parser asks for one of the two.
        return disk(arguments.ublk.flatten());
    };
    if arguments.name.len() > NAME_BYTES_MAX {
        bail!("--name: NBD allows names of {NAME_BYTES_MAX} bytes at most: choose a shorter one");
    }
    let address = Address::of_word(address).context("--nbd")?;
    if let Address::Unix(path) = &address {
        host::missing::refuse_in_kernels_place(path).context("--nbd")?;
    }
    Ok(Front::Network(address))
}

#[cfg(feature = "ublk")]
fn disk(id: Option<u32>) -> Result<Front> {
    ublk::available().map_err(no_disk).context("--ublk")?;
    Ok(Front::Disk(id))
}

#[cfg(not(feature = "ublk"))]
fn disk(_: Option<u32>) -> Result<Front> {
    bail!("--ublk: {WITHOUT_UBLK}");
}

/// Removes the disk `id` that a killed server left.
#[cfg(feature = "ublk")]
fn remove_disk(id: u32, quiet: bool) -> Result<ExitCode> {
    let is_gone = ublk::remove(id).map_err(no_disk).context("--ublk-remove")?;
    if !quiet {
        output::print(&match is_gone {
            true => format!("/dev/ublkb{id} is removed\n"),
            false => format!("/dev/ublkb{id} goes when whoever has it open closes it\n"),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(not(feature = "ublk"))]
fn remove_disk(id: u32, _: bool) -> Result<ExitCode> {
    bail!("--ublk-remove {id}: {WITHOUT_UBLK}");
}

fn in_words(error: ServingError) -> Error {
    match error {
        #[cfg(feature = "ublk")]
        ServingError::NoDisk(refusal) | ServingError::Disk(ublk::Error::Refused(refusal)) => {
            no_disk(refusal)
        }
        error => error.into(),
    }
}

/// Why there is no disk, and which option cures it.
#[cfg(feature = "ublk")]
fn no_disk(refusal: ublk::Refusal) -> Error {
    use ublk::Refusal;
    let remove = |id: u32| format!("`drivelab serve --ublk-remove {id}`");
    let again = |id: u32| format!("with --ublk={id} --restartable");
    let cure = match &refusal {
        Refusal::NoDriver | Refusal::NoRight(_) | Refusal::TooOld(_) | Refusal::NoRing(_) => {
            ", or serve with --nbd".to_owned()
        }
        Refusal::LongBlocks { .. } | Refusal::ShortTransfers { .. } => {
            ": serve it with --nbd".to_owned()
        }
        Refusal::Taken { server: Some(_), .. } => {
            ": leave the number out, or choose another".to_owned()
        }
        &Refusal::Taken { id, is_ours: true, .. } => format!(
            ": serve that one again {}, remove it with {}, or choose another number",
            again(id),
            remove(id)
        ),
        &Refusal::Taken { id, .. } => {
            format!(": remove it with {}, or choose another number", remove(id))
        }
        &Refusal::OtherNumber { id } => {
            format!(": take it up again {}, or remove it with {}", again(id), remove(id))
        }
        &Refusal::NotRestartable { id } => format!(
            ": whoever takes it up again must say --restartable; or remove it with {}",
            remove(id)
        ),
        Refusal::Changed { id, .. } => {
            format!("; serve it as before, or remove the disk with {}", remove(*id))
        }
        Refusal::Stuck { id, .. } => format!("; remove it with {}", remove(*id)),
        _ => return refusal.into(),
    };
    anyhow!("{refusal}{cure}")
}

/// Where metrics are told, if that is wished for.
fn door(arguments: &ServeArguments) -> Result<Option<Door>> {
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
    Ok(Some(door))
}

/// Events on stdout, notes on stderr, and a line on a terminal.
struct Terminal<'a> {
    arguments: &'a ServeArguments,
    line: Option<ProgressBar>,
}

impl<'a> Terminal<'a> {
    fn new(arguments: &'a ServeArguments) -> Self {
        let shows = !arguments.quiet && !arguments.json && std::io::stderr().is_terminal();
        let line = shows.then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(ProgressStyle::with_template("{wide_msg}").expect("it is valid"));
            line
        });
        Self { arguments, line }
    }
}

impl Audience for Terminal<'_> {
    fn tell(
        &self,
        event: &ServerEvent,
        words: &str,
    ) -> Result<(), Box<dyn error::Error + Send + Sync + 'static>> {
        let printed = match event {
            _ if self.arguments.json => output::print(&event.line()),
            ServerEvent::Stopped { .. } if self.arguments.quiet => Ok(()),
            _ => output::print(words),
        };
        Ok(printed?)
    }

    fn note(&self, sentence: &str) {
        output::talk!("drivelab: {sentence}");
    }

    fn show(&self, status: &str) {
        if let Some(line) = &self.line {
            line.set_message(status.to_owned());
        }
    }

    fn clear(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    fn waiting_disk(&self, id: u32) -> String {
        format!(
            "serve that one again with --ublk={id} --restartable, or remove it with \
             `drivelab serve --ublk-remove {id}`"
        )
    }
}

#[cfg(all(test, feature = "ublk"))]
mod tests {
    use super::*;
    use ublk::Refusal;

    #[test]
    fn a_disk_that_is_refused_names_the_option_that_cures_it() {
        let said = |refusal: Refusal| no_disk(refusal).to_string();
        assert!(said(Refusal::NoDriver).ends_with("CONFIG_BLK_DEV_UBLK), or serve with --nbd"));
        let taken = |server, is_ours| said(Refusal::Taken { id: 3, server, is_ours });
        assert!(taken(Some(7), true).ends_with("7: leave the number out, or choose another"));
        assert!(taken(None, true).contains("again with --ublk=3 --restartable, remove it with"));
        assert!(taken(None, false).contains("`drivelab serve --ublk-remove 3`, or choose"));
        assert_eq!(
            said(Refusal::NotRestartable { id: 3 }),
            "/dev/ublkb3 waits for its server, which was killed: whoever takes it up again must \
             say --restartable; or remove it with `drivelab serve --ublk-remove 3`"
        );
        let empty = said(Refusal::Empty { bytes: 511 });
        assert!(empty.ends_with("`truncate -s 1G`"), "no option cures it: {empty}");
    }
}
