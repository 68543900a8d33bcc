//! What the guard would say of a device, without holding it: for lists. That nothing is said
//! against writing is no permit: it is judged anew when it is opened.

use super::{
    Reason, Refusal, check_claims, claims::claims_on, naming::Naming, of_device, openers::Opener,
    paths, signatures_on, unreadable,
};
use crate::{roots::Roots, sysfs::BlockDevice};
use record::devices::{Against, AgainstKind};
use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};

/// The word that `--destroy` takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    /// The one that is asked for.
    pub text: String,
    /// What it is: `serial`, `WWN`, `name`...
    pub called: String,
    /// Others that agree as well.
    pub others: Vec<String>,
}

/// A device as the guard sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// What must be typed; none where it cannot be told from another.
    pub word: Option<Word>,
    /// Formats recognised on it; none where it could not be read.
    pub holds: Option<Vec<String>>,
    /// Who uses it, a clause each.
    pub uses: Vec<String>,
    /// Why it cannot be read, a clause with the cure.
    pub not_read: Option<String>,
    /// Why it would not be written, a clause with the cure.
    pub not_written: Option<String>,
    /// The same without the cure, and of which kind it is.
    pub against: Option<Against>,
}

/// Looks at a device; `openers` are those of all devices.
pub(crate) fn look(device: &BlockDevice, openers: &[Opener], roots: &Roots) -> Look {
    let path = roots.dev.join(&device.name);
    let clause = |reason: &Reason| {
        let refusal = Refusal { path: path.clone(), reason: reason.clone() };
        format!("{}; {}", refusal.reason.found(), refusal.cure())
    };
    let naming = Naming::of_device(device, roots);
    let held = holds(device, &path, roots);
    let open = of_device(device, openers, roots);
    let uses = uses(device, &open, roots);
    let writer = open.iter().find(|(_, opener)| opener.writes).map(|(device, opener)| {
        Reason::OpenElsewhere { device: device.name.clone(), holder: opener.who() }
    });
    let marks = || {
        let own: Vec<(String, String)> = held.as_ref().ok()?.clone();
        let parts = device.partitions().into_iter().flat_map(|part| {
            let path = roots.dev.join(&part.name);
            holds(&part, &path, roots).unwrap_or_default()
        });
        let found: Vec<(String, String)> = own.into_iter().chain(parts).collect();
        (!found.is_empty()).then_some(Reason::Signature { found })
    };
    let against = check_claims(device, roots)
        .err()
        .or(writer)
        .or_else(|| naming.as_ref().err().cloned())
        .or_else(|| held.as_ref().err().cloned())
        .or_else(marks);
    Look {
        word: naming.ok().map(|naming| Word {
            text: naming.word().to_owned(),
            called: naming.called().to_owned(),
            others: naming.others().to_vec(),
        }),
        uses,
        not_read: held.as_ref().err().map(&clause),
        not_written: against.as_ref().map(&clause),
        against: against.as_ref().map(in_lists),
        holds: held.ok().map(|found| found.into_iter().map(|(_, name)| name).collect()),
    }
}

/// Every use that is a reason is among [`uses`].
fn in_lists(reason: &Reason) -> Against {
    let kind = match reason {
        Reason::Signature { .. } => AgainstKind::Data,
        Reason::Denied { .. } | Reason::Unreadable { .. } => AgainstKind::Unseen,
        Reason::Mounted { .. }
        | Reason::Swap { .. }
        | Reason::Held { .. }
        | Reason::BacksLoop { .. }
        | Reason::SharedFile { .. }
        | Reason::PoolMember { .. }
        | Reason::OpenElsewhere { .. }
        | Reason::SameDrive { .. } => AgainstKind::Use,
        _ => AgainstKind::Other,
    };
    Against { kind, found: reason.found() }
}

/// Of a device that did not answer within `patience`: nothing is known, so nothing is done.
pub(crate) fn no_look(device: &BlockDevice, patience: Duration) -> Look {
    let silent = format!("{} did not answer within {} s", device.name, patience.as_secs());
    let not_read = format!("{silent}; look what the kernel says of it (`dmesg`)");
    Look {
        word: None,
        holds: None,
        uses: Vec::new(),
        against: Some(Against { kind: AgainstKind::Other, found: silent }),
        not_written: Some(not_read.clone()),
        not_read: Some(not_read),
    }
}

fn holds(
    device: &BlockDevice,
    path: &Path,
    roots: &Roots,
) -> Result<Vec<(String, String)>, Reason> {
    if device.bytes() == 0 {
        return Err(Reason::NoMedium);
    }
    if device.text("dm/suspended").as_deref() == Some("1") {
        return Err(Reason::Suspended);
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    let file = options.open(path).map_err(unreadable)?;
    signatures_on(device, path, &file, roots)
}

/// Claims of the kernel and open descriptors, its own name left out.
fn uses(device: &BlockDevice, open: &[(BlockDevice, Opener)], roots: &Roots) -> Vec<String> {
    let own = format!("{} ", device.name);
    let claims = claims_on(device, roots).into_iter().chain(paths::claim_elsewhere(device, roots));
    let mut uses: Vec<String> = claims
        .map(|claim| {
            let found = claim.found();
            let rest = found.strip_prefix(&own).unwrap_or(&found);
            rest.strip_prefix("is ").unwrap_or(rest).to_owned()
        })
        .collect();
    uses.extend(open.iter().map(|(what, opener)| opener.clause(what)));
    uses.dedup();
    uses
}
