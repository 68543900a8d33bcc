//! One connection's conversation: bytes in; answers, requests and payload out.

use super::{
    ErrorCode, Export, ReplyStyle, Request,
    constants::{GREETING_MAGIC, OPTION_MAGIC, command, handshake, option, option_reply},
    negotiation::{OPTION_BYTES_MAX, Outcome, answer, reply},
    request::{Agreed, Command, HEADER_BYTES, Header},
    words::{u32_at, u64_at},
};

const OPTION_HEADER_BYTES: usize = 16;

/// What became of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// They were taken in, and perhaps answered. Go on with the rest.
    Taken,
    /// A request that is in order. If it is a write, its payload comes next.
    Asked(Request),
    /// They are payload of the write before.
    Payload,
    /// The client takes its leave: finish what it asked for, send what is to be sent, and close.
    Leave,
    /// The client does not speak the protocol: close at once.
    Violation,
}

/// Where the conversation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    ClientFlags,
    OptionHeader,
    Option { kind: u32, bytes: u32 },
    RequestHeader,
    Payload { left: u32 },
    Skip { left: u32, then: Refusal },
    Over(Event),
}

/// How to refuse what is too long or not in order, once it has been skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    Option { kind: u32, reply: u32 },
    Write { cookie: u64, error: ErrorCode },
}

/// One client's conversation, from the greeting to the disconnect.
///
/// It knows neither sockets nor drives. How the client's bytes are split makes no difference, no
/// bytes make it panic, and what it keeps of them is bounded.
///
/// ```
/// use nbd::protocol::{Access, Discarded, Event, Export, Flushing, Session};
/// let export = Export {
///     name: "volume".to_owned(),
///     description: String::new(),
///     size_bytes: 1 << 20,
///     block_bytes_preferred: 4096,
///     access: Access::ReadWrite,
///     discarded: Discarded::Unknown,
///     flushing: Flushing::Needed,
/// };
/// let mut answers = Vec::new();
/// let mut session = Session::new(export, &mut answers);
/// assert_eq!(&answers[..16], b"NBDMAGICIHAVEOPT");
/// session.feed(b"any bytes at all", &mut answers, |_, _, _| {});
/// assert!(session.is_over());
/// ```
#[derive(Debug)]
pub struct Session {
    export: Export,
    stage: Stage,
    /// The beginning of a message whose end has not come yet.
    partial: Vec<u8>,
    agreed: Agreed,
    welcome: Welcome,
}

/// Whether anything is to be had here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Welcome {
    /// All that the export permits.
    Open,
    /// Nothing: all places are taken.
    Full,
    /// Nothing any more: the server is ending.
    Ending,
}

impl Session {
    /// Greets a client that wants `export`, which all its requests will be held against.
    ///
    /// # Panics
    /// If the export's name is longer than the protocol allows.
    pub fn new(export: Export, out: &mut Vec<u8>) -> Self {
        assert!(export.name.len() <= super::NAME_BYTES_MAX, "too long a name");
        out.extend(GREETING_MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        Self {
            export,
            stage: Stage::ClientFlags,
            partial: Vec::with_capacity(64),
            agreed: Agreed::default(),
            welcome: Welcome::Open,
        }
    }

    /// Takes in one message or a part of one, appends the answer if it can be given at once, and
    /// says how many bytes it took and what they were. Takes at least one byte if there is any.
    pub fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        let wanted = match self.stage {
            Stage::Over(end) => return (input.len(), end),
            Stage::Payload { left } => {
                let taken = input.len().min(left as usize);
                self.payload_received(taken as u32);
                return (taken, if taken == 0 { Event::Taken } else { Event::Payload });
            }
            Stage::Skip { left, then } => {
                let taken = input.len().min(left as usize);
                self.skip(left - taken as u32, then, out);
                return (taken, Event::Taken);
            }
            Stage::ClientFlags => 4,
            Stage::OptionHeader => OPTION_HEADER_BYTES,
            Stage::Option { bytes, .. } => bytes as usize,
            Stage::RequestHeader => HEADER_BYTES,
        };
        if self.partial.is_empty() && input.len() >= wanted {
            return (wanted, self.message(&input[..wanted], out));
        }
        let taken = input.len().min(wanted - self.partial.len());
        self.partial.extend(&input[..taken]);
        if self.partial.len() < wanted {
            return (taken, Event::Taken);
        }
        let mut message = std::mem::take(&mut self.partial);
        let event = self.message(&message, out);
        message.clear();
        self.partial = message;
        (taken, event)
    }

    /// Takes in all of `input`, with `each` told what every piece of it was: the event, the bytes,
    /// and where to append answers.
    pub fn feed(
        &mut self,
        mut input: &[u8],
        out: &mut Vec<u8>,
        mut each: impl FnMut(Event, &[u8], &mut Vec<u8>),
    ) {
        while !input.is_empty() {
            let (taken, event) = self.receive(input, out);
            let (piece, rest) = input.split_at(taken);
            each(event, piece, out);
            input = rest;
        }
    }

    /// Bytes that the last write's payload still lacks.
    pub fn payload_left(&self) -> u32 {
        match self.stage {
            Stage::Payload { left } => left,
            _ => 0,
        }
    }

    /// Whether what comes next belongs to something that was refused.
    pub fn is_skipping(&self) -> bool {
        matches!(self.stage, Stage::Skip { .. })
    }

    /// Notes payload that went from the socket straight to where it belongs.
    ///
    /// # Panics
    /// If it is more than is [left](Self::payload_left).
    pub fn payload_received(&mut self, bytes: u32) {
        let left = self.payload_left().checked_sub(bytes).expect("payload was announced");
        if let Stage::Payload { .. } = self.stage {
            self.stage = if left == 0 { Stage::RequestHeader } else { Stage::Payload { left } };
        }
    }

    /// From now on everything is refused, because the server is ending.
    pub fn refuse_all(&mut self) {
        self.welcome = Welcome::Ending;
    }

    /// Tells a client that has not shaken hands yet, whatever it wants, that all places are taken.
    pub fn turn_away(&mut self) {
        self.welcome = Welcome::Full;
    }

    /// How to answer requests.
    pub fn style(&self) -> ReplyStyle {
        if self.agreed.structured { ReplyStyle::Structured } else { ReplyStyle::Simple }
    }

    /// Whether the handshake is behind us.
    pub fn is_transmitting(&self) -> bool {
        matches!(self.stage, Stage::RequestHeader | Stage::Payload { .. })
            || matches!(self.stage, Stage::Skip { then: Refusal::Write { .. }, .. })
    }

    /// Whether a message has begun that is not complete.
    pub fn is_amid(&self) -> bool {
        let amid = matches!(self.stage, Stage::Payload { .. } | Stage::Skip { .. });
        amid || !self.partial.is_empty() || matches!(self.stage, Stage::Option { .. })
    }

    /// Whether nothing that comes matters any more.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// A whole message of the stage's kind.
    fn message(&mut self, message: &[u8], out: &mut Vec<u8>) -> Event {
        match self.stage {
            Stage::ClientFlags => self.client_flags(u32_at(message, 0)),
            Stage::OptionHeader => self.option_header(message, out),
            Stage::Option { kind, .. } => self.option(kind, message, out),
            Stage::RequestHeader => self.request(message, out),
            Stage::Payload { .. } | Stage::Skip { .. } | Stage::Over(_) => {
                unreachable!("these are no messages")
            }
        }
    }

    fn client_flags(&mut self, flags: u32) -> Event {
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !known != 0 {
            return self.end(Event::Violation);
        }
        self.agreed.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        self.stage = Stage::OptionHeader;
        Event::Taken
    }

    fn option_header(&mut self, header: &[u8], out: &mut Vec<u8>) -> Event {
        let (kind, bytes) = (u32_at(header, 8), u32_at(header, 12));
        if u64_at(header, 0) != OPTION_MAGIC {
            return self.end(Event::Violation);
        }
        let refusal = match kind {
            // Too long a name, or too late: it knows no refusal.
            option::EXPORT_NAME if self.welcome != Welcome::Open || bytes > OPTION_BYTES_MAX => {
                return self.end(Event::Violation);
            }
            option::ABORT if bytes <= OPTION_BYTES_MAX => None,
            _ => match self.welcome {
                Welcome::Ending => Some(option_reply::ERR_SHUTDOWN),
                Welcome::Full => Some(option_reply::ERR_POLICY),
                Welcome::Open if bytes > OPTION_BYTES_MAX => Some(option_reply::ERR_TOO_BIG),
                Welcome::Open => None,
            },
        };
        match refusal {
            Some(reply) => self.skip(bytes, Refusal::Option { kind, reply }, out),
            None if bytes == 0 => return self.option(kind, &[], out),
            None => self.stage = Stage::Option { kind, bytes },
        }
        Event::Taken
    }

    fn option(&mut self, kind: u32, data: &[u8], out: &mut Vec<u8>) -> Event {
        match answer(kind, data, &self.export, &mut self.agreed, out) {
            Outcome::Continue => self.stage = Stage::OptionHeader,
            Outcome::Transmit => self.stage = Stage::RequestHeader,
            Outcome::Abort => return self.end(Event::Leave),
            Outcome::Disconnect => return self.end(Event::Violation),
        }
        Event::Taken
    }

    fn request(&mut self, header: &[u8], out: &mut Vec<u8>) -> Event {
        let Some(header) = Header::read(header) else { return self.end(Event::Violation) };
        if header.kind == command::DISC {
            return self.end(Event::Leave);
        }
        let verdict = match self.welcome {
            Welcome::Open => header.check(&self.export, &self.agreed),
            Welcome::Full | Welcome::Ending => Err(ErrorCode::Shutdown),
        };
        match verdict {
            Ok(request) => {
                if request.command == Command::Write && request.bytes > 0 {
                    self.stage = Stage::Payload { left: request.bytes };
                }
                Event::Asked(request)
            }
            Err(error) => {
                // A write's payload comes whatever we think of it.
                let follows = if header.kind == command::WRITE { header.bytes } else { 0 };
                self.skip(follows, Refusal::Write { cookie: header.cookie, error }, out);
                Event::Taken
            }
        }
    }

    fn skip(&mut self, left: u32, then: Refusal, out: &mut Vec<u8>) {
        if left > 0 {
            self.stage = Stage::Skip { left, then };
            return;
        }
        match then {
            Refusal::Option { kind, reply: refusal } => {
                let why: &[u8] = match refusal {
                    option_reply::ERR_POLICY => b"all places are taken",
                    _ => b"",
                };
                reply(kind, refusal, &[why], out);
                self.stage = Stage::OptionHeader;
            }
            Refusal::Write { cookie, error } => {
                self.style().failed(cookie, error, out);
                self.stage = Stage::RequestHeader;
            }
        }
    }

    fn end(&mut self, how: Event) -> Event {
        self.stage = Stage::Over(how);
        how
    }
}
