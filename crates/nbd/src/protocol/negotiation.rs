//! Options: what client and server agree on before the first request.

use super::{
    Export, NAME_BYTES_MAX, REQUEST_BYTES_MAX,
    constants::{OPTION_REPLY_MAGIC, info, option, option_reply},
    reply::ALLOCATION_CONTEXT,
    request::Agreed,
    words::Fields,
};

/// The only metadata context there is.
const ALLOCATION: &[u8] = b"base:allocation";

/// Most bytes of one option that are kept to be read: the longest name, and room for a few queries.
/// What is longer is skipped and refused.
pub(super) const OPTION_BYTES_MAX: u32 = 4 * NAME_BYTES_MAX as u32;

/// Where an option leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// To the next option.
    Continue,
    /// To the first request.
    Transmit,
    /// To the end: the client sent NBD_OPT_ABORT.
    Abort,
    /// To the end without an answer: the option cannot be refused.
    Disconnect,
}

/// Answers one option with what the two have `agreed` on so far.
pub(super) fn answer(
    kind: u32,
    data: &[u8],
    export: &Export,
    agreed: &mut Agreed,
    out: &mut Vec<u8>,
) -> Outcome {
    match kind {
        option::EXPORT_NAME => return export_name(data, export, agreed, out),
        option::ABORT => {
            reply(kind, option_reply::ACK, &[], out);
            return Outcome::Abort;
        }
        option::LIST if data.is_empty() => {
            let name = export.name.as_bytes();
            let length = (name.len() as u32).to_be_bytes();
            reply(kind, option_reply::SERVER, &[&length, name], out);
            reply(kind, option_reply::ACK, &[], out);
        }
        option::STRUCTURED_REPLY if data.is_empty() => {
            agreed.structured = true;
            reply(kind, option_reply::ACK, &[], out);
        }
        option::INFO | option::GO => return tell(kind, data, export, agreed, out),
        option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
            meta_context(kind, data, export, agreed, out);
        }
        option::LIST | option::STRUCTURED_REPLY => {
            reply(kind, option_reply::ERR_INVALID, &[b"this option takes no data"], out);
        }
        _ => reply(kind, option_reply::ERR_UNSUP, &[], out),
    }
    Outcome::Continue
}

/// One answer to an option.
pub(super) fn reply(kind: u32, reply: u32, data: &[&[u8]], out: &mut Vec<u8>) {
    let bytes: usize = data.iter().map(|piece| piece.len()).sum();
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(reply.to_be_bytes());
    out.extend((bytes as u32).to_be_bytes());
    data.iter().for_each(|piece| out.extend(*piece));
}

/// `NBD_OPT_EXPORT_NAME`: the old way in. Its answer has no head, and there is none to a wrong
/// name.
fn export_name(name: &[u8], export: &Export, agreed: &Agreed, out: &mut Vec<u8>) -> Outcome {
    if !export.is_called(name) {
        return Outcome::Disconnect;
    }
    out.extend(export.size_bytes.to_be_bytes());
    out.extend(export.flags(agreed.structured).to_be_bytes());
    if !agreed.no_zeroes {
        out.extend([0; 124]);
    }
    Outcome::Transmit
}

/// `NBD_OPT_INFO` and `NBD_OPT_GO`: size, flags and whatever else was asked for.
fn tell(
    kind: u32,
    data: &[u8],
    export: &Export,
    agreed: &mut Agreed,
    out: &mut Vec<u8>,
) -> Outcome {
    let Some((name, wanted)) = wanted(data) else {
        reply(kind, option_reply::ERR_INVALID, &[b"malformed"], out);
        return Outcome::Continue;
    };
    if !export.is_called(name) {
        reply(kind, option_reply::ERR_UNKNOWN, &[b"no export of that name"], out);
        return Outcome::Continue;
    }
    let mut piece = |about: u16, facts: &[&[u8]]| {
        let about = about.to_be_bytes();
        let [one, two, three] =
            [0, 1, 2].map(|index| facts.get(index).copied().unwrap_or_default());
        reply(kind, option_reply::INFO, &[&about, one, two, three], out);
    };
    let size = export.size_bytes.to_be_bytes();
    piece(info::EXPORT, &[&size, &export.flags(agreed.structured).to_be_bytes()]);
    let asked = |about: u16| wanted.chunks(2).any(|word| word == about.to_be_bytes());
    if asked(info::NAME) {
        piece(info::NAME, &[export.name.as_bytes()]);
    }
    if asked(info::DESCRIPTION) && !export.description.is_empty() {
        piece(info::DESCRIPTION, &[export.description.as_bytes()]);
    }
    if asked(info::BLOCK_SIZE) {
        // Any byte may be asked for; what splits a block costs a read more.
        let sizes = [1, export.block_bytes_preferred, REQUEST_BYTES_MAX].map(u32::to_be_bytes);
        piece(info::BLOCK_SIZE, &[&sizes[0], &sizes[1], &sizes[2]]);
    }
    reply(kind, option_reply::ACK, &[], out);
    if kind == option::GO { Outcome::Transmit } else { Outcome::Continue }
}

/// The name in a request for information, and the wanted pieces, two bytes each.
fn wanted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(data);
    let name = fields.counted()?;
    let count = fields.u16()?;
    let pieces = fields.bytes(usize::from(count) * 2)?;
    fields.0.is_empty().then_some((name, pieces))
}

/// `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`. Listing without a query lists
/// everything; setting without one selects nothing.
fn meta_context(kind: u32, data: &[u8], export: &Export, agreed: &mut Agreed, out: &mut Vec<u8>) {
    let lists = kind == option::LIST_META_CONTEXT;
    if !lists {
        agreed.allocation = false; // Whatever comes of this, it replaces what was selected before.
    }
    if !agreed.structured {
        return reply(kind, option_reply::ERR_INVALID, &[b"needs structured replies"], out);
    }
    let Some((name, found)) = find_allocation(data, lists) else {
        return reply(kind, option_reply::ERR_INVALID, &[b"malformed"], out);
    };
    if !export.is_called(name) {
        return reply(kind, option_reply::ERR_UNKNOWN, &[b"no export of that name"], out);
    }
    if found {
        // The number means nothing in a list.
        let number = if lists { 0 } else { ALLOCATION_CONTEXT };
        reply(kind, option_reply::META_CONTEXT, &[&number.to_be_bytes(), ALLOCATION], out);
        agreed.allocation |= !lists;
    }
    reply(kind, option_reply::ACK, &[], out);
}

/// The export's name, and whether any query means `base:allocation`.
fn find_allocation(data: &[u8], lists: bool) -> Option<(&[u8], bool)> {
    let mut fields = Fields(data);
    let name = fields.counted()?;
    let queries = fields.u32()?;
    let mut found = lists && queries == 0;
    for _ in 0..queries {
        let query = fields.counted()?;
        found |= query == ALLOCATION || lists && query == b"base:";
    }
    fields.0.is_empty().then_some((name, found))
}
