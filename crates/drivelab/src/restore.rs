//! `drivelab restore`: puts back what a killed run left changed on this machine.

use crate::{cli::RestoreArguments, output};
use anyhow::{Result, bail};
use host::{
    Ledger, Roots,
    ledger::{Left, left},
};
use std::process::ExitCode;

/// Lists what is left, or puts it back.
pub fn restore(arguments: &RestoreArguments) -> Result<ExitCode> {
    let directory = Ledger::directory();
    let found = left(&directory)?;
    if found.is_empty() {
        output::talk!("nothing to put back: no run has left anything changed on this machine");
        return Ok(ExitCode::SUCCESS);
    }
    let (mut problems, mut told) = (0, Ok(()));
    let mut tell = |text: &str| {
        let printed = output::print(text);
        if told.is_ok() {
            told = printed;
        }
    };
    for ledger in found {
        match ledger {
            Err(error) => {
                output::talk!("drivelab: {error}");
                problems += 1;
            }
            Ok(ledger) if arguments.list || ledger.is_alive => tell(&listed(&ledger)),
            Ok(ledger) => {
                tell(&head(&ledger));
                let path = ledger.path().to_owned();
                let failures =
                    ledger.put_back(&Roots::default(), &mut |step| tell(&format!("  {step}\n")));
                for failure in &failures {
                    output::talk!("drivelab: {failure}");
                }
                if !failures.is_empty() {
                    // What bears the drive's name is another: only a person can tell when that is
                    // seen to.
                    output::talk!(
                        "drivelab: the ledger stays; remove {} when nothing of it is to be put \
                         back",
                        path.display()
                    );
                }
                problems += failures.len();
            }
        }
    }
    if problems > 0 {
        bail!(
            "{problems} of the changes are not put back: see to what is said above, then run `drivelab restore` again"
        );
    }
    told.map(|()| ExitCode::SUCCESS)
}

/// Says where killed runs left something changed. A loop device over a mount whose server is gone,
/// for one, makes mkfs.btrfs fail, whatever it is to format.
pub fn tell_left_behind() {
    let Ok(found) = left(&Ledger::directory()) else { return };
    let dead = found.iter().flatten().filter(|ledger| !ledger.is_alive).count();
    let runs = if dead == 1 { "a killed run" } else { "killed runs" };
    if dead > 0 {
        output::talk!(
            "drivelab: {runs} left changes on this machine that may be in the way: `drivelab \
             restore --list` shows them, `drivelab restore` puts them back"
        );
    }
}

/// `drivelab matrix --loop ., process 4711, 2026-11-22T09:30:00Z: still running`.
fn head(ledger: &Left) -> String {
    let head = &ledger.head;
    let started = jiff::Timestamp::from_second(head.started_unix_s as i64)
        .map_or_else(|_| "at an unknown time".to_owned(), |time| time.to_string());
    let state = match ledger.is_alive {
        true => ", still running: it puts this back itself",
        false => "",
    };
    format!("{}, process {}, {started}{state}\n", head.command, head.pid)
}

/// The same with what is changed, newest first: the order in which it is put back.
fn listed(ledger: &Left) -> String {
    let changes = ledger.standing.iter().rev().map(|(_, change)| format!("  {change}\n"));
    head(ledger) + &changes.collect::<String>()
}
