//! The way up: what the engine did becomes data, replies and free room.

use super::{Connections, FLUSH, Service, range_of};
use crate::{
    protocol::{Chunk, Command, ErrorCode, ReplyStyle, Request},
    server::{
        connection::{Connection, Presence},
        cut::Piece,
        flushes::Trust,
        operation::{Operation, Work, error_code},
        stream::Arrival,
        traffic::Outcome,
    },
};
use block::{Buf, Completion, Durability, Engine, Payload};

impl<E: Engine> Service<E> {
    /// Takes in one answer of the engine.
    pub fn complete(&mut self, connections: &mut Connections, completion: Completion) {
        self.released = true;
        let Completion { tag, finished, result, payload, .. } = completion;
        self.now = self.now.max(finished);
        if tag == FLUSH {
            return self.flushed(connections, result.map_err(error_code));
        }
        let part = self.parts.remove(tag.0 as u32);
        let number = part.operation;
        let operation = self.operations.get_mut(number);
        operation.pieces -= 1;
        let connection = connections[usize::from(operation.connection)].as_mut();
        let connection = connection.expect("it waits for its operations");
        let failure = result.err().map(error_code);
        match part.work {
            Work::Read { piece, order } => {
                let arrival = Arrival { buffer: memory(payload), range: piece.range(), failure };
                self.deliver(number, connection, piece, order, arrival);
            }
            Work::Write => {
                self.note(number, failure);
                self.release(&mut connection.held, memory(payload));
            }
            Work::Discard => {
                // A trim is a hint: a drive that cannot take it has not failed.
                let is_hint = operation.request.command == Command::Trim;
                let ignored = is_hint && failure == Some(ErrorCode::NotSupported);
                self.note(number, failure.filter(|_| !ignored));
            }
            Work::MergeRead { piece, from } => {
                self.merge_read(number, connection, piece, from, memory(payload), failure);
            }
            Work::MergeWrite => {
                self.merging -= 1;
                self.pool.give_spare(memory(payload));
                self.note(number, failure);
            }
        }
        self.conclude(connections, number);
    }

    /// Notes the failure of a change. One that was to be forced may have used up the operating
    /// system's only report that earlier writes were lost, unless it just found no space.
    fn note(&mut self, number: u32, failure: Option<ErrorCode>) {
        let Some(error) = failure else { return };
        let operation = self.operations.get_mut(number);
        operation.fail(error);
        let forced = operation.request.durability == Durability::Fua;
        if forced && !matches!(error, ErrorCode::NoSpace | ErrorCode::NotSupported) {
            self.flushes.distrust(error);
        }
    }

    /// The block to merge into is here: changes it and stores it again.
    fn merge_read(
        &mut self,
        number: u32,
        connection: &mut Connection,
        piece: Piece,
        from: Option<Buf>,
        mut block: Buf,
        failure: Option<ErrorCode>,
    ) {
        let into = &mut block.bytes_mut()[piece.range()];
        match &from {
            Some(from) => into.copy_from_slice(&from.bytes()[..piece.bytes as usize]),
            None => into.fill(0),
        }
        if let Some(from) = from {
            self.release(&mut connection.held, from);
        }
        let operation = self.operations.get_mut(number);
        if let Some(error) = failure {
            // A failed read took nothing with it: trust stays.
            operation.fail(error);
            self.merging -= 1;
            return self.pool.give_spare(block);
        }
        let durability = operation.request.durability;
        let command =
            block::Command::Write { at: piece.span, from: Payload::Bytes(block), durability };
        self.submit(number, Work::MergeWrite, range_of(piece.span), command);
    }

    /// Sends what was read, or says that it could not be.
    fn deliver(
        &mut self,
        number: u32,
        connection: &mut Connection,
        piece: Piece,
        order: u32,
        arrival: Arrival,
    ) {
        let operation = self.operations.get_mut(number);
        if connection.presence == Presence::Gone {
            return self.release(&mut connection.held, arrival.buffer);
        }
        if operation.is_streamed {
            connection.stream.arrive(order, arrival);
            return self.deliver_in_order(number, connection);
        }
        let style = connection.session.style();
        let (cookie, last) = (operation.request.cookie, last_if(operation.is_over()));
        let heads = connection.outgoing.heads();
        match arrival.failure {
            Some(error) => {
                operation.fail(error);
                style.failed_at(cookie, piece.offset, error, last, heads);
                self.release(&mut connection.held, arrival.buffer);
            }
            None => {
                style.data(cookie, piece.offset, piece.bytes, last, heads);
                connection.outgoing.push(arrival.buffer, arrival.range);
            }
        }
    }

    /// Sends the pieces of a stream whose turn has come. Once its head has left, a piece that
    /// failed leaves a structured reply whole, with zeroes, and ends a simple one, which cannot say
    /// so.
    fn deliver_in_order(&mut self, number: u32, connection: &mut Connection) {
        let style = connection.session.style();
        while let Some(mut arrival) = connection.stream.leave() {
            let operation = self.operations.get_mut(number);
            let request = operation.request;
            let begun = connection.stream.begun;
            if let Some(error) = arrival.failure {
                operation.fail(error);
                arrival.buffer.bytes_mut()[arrival.range.clone()].fill(0);
                if begun && style == ReplyStyle::Simple {
                    connection.presence = Presence::Gone;
                }
            }
            if !begun && operation.failure.is_some() || connection.presence == Presence::Gone {
                self.release(&mut connection.held, arrival.buffer);
                continue;
            }
            if !begun {
                connection.stream.begun = true;
                let heads = connection.outgoing.heads();
                style.data(request.cookie, request.offset, request.bytes, Chunk::Inner, heads);
            }
            connection.outgoing.push(arrival.buffer, arrival.range);
        }
    }

    fn flushed(&mut self, connections: &mut Connections, result: Result<(), ErrorCode>) {
        self.flushes.end(result);
        while let Some(number) = self.flushes.answer() {
            let operation = self.operations.get_mut(number);
            operation.flush_before_reply = false;
            operation.next = operation.end();
            self.conclude(connections, number);
        }
    }

    /// Answers an operation of which nothing is under way any more; else does nothing.
    pub(super) fn conclude(&mut self, connections: &mut Connections, number: u32) {
        let operation = self.operations.get_mut(number);
        if !operation.is_over() {
            return;
        }
        let index = usize::from(operation.connection);
        let connection = connections[index].as_mut().expect("it waits for its operations");
        if connection.current == Some(number) {
            return; // Still being cut; it comes here again.
        }
        if operation.flush_before_reply && operation.failure.is_none() {
            return self.flushes.ask(number);
        }
        let operation = self.operations.remove(number);
        self.released = true;
        connection.operations -= 1;
        let failure = match self.trust() {
            Trust::Lost(_) if operation.promises() => Some(ErrorCode::Io),
            _ => operation.failure,
        };
        let outcome = if failure.is_some() { Outcome::Failed } else { Outcome::Done };
        self.traffic.count(&operation.request, outcome, self.now.since(operation.begun));
        self.traffic.refuses_changes = self.trust() != Trust::Sound;
        if connection.presence != Presence::Gone {
            answer(connection, &operation, failure);
        }
    }
}

/// The last word on an operation.
fn answer(connection: &mut Connection, operation: &Operation, failure: Option<ErrorCode>) {
    let style = connection.session.style();
    let Request { cookie, offset, .. } = operation.request;
    let heads = connection.outgoing.heads();
    match (operation.request.command, failure) {
        (Command::Read(_), failure) if operation.is_streamed => {
            connection.stream.close();
            match failure {
                Some(error) => style.failed_at(cookie, offset, error, Chunk::Last, heads),
                None => style.end(cookie, heads),
            }
        }
        (Command::Read(_), _) => {} // Its pieces said it all.
        (_, Some(error)) => style.failed(cookie, error, heads),
        (_, None) => style.done(cookie, heads),
    }
}

fn last_if(over: bool) -> Chunk {
    if over { Chunk::Last } else { Chunk::Inner }
}

fn memory(payload: Payload) -> Buf {
    match payload {
        Payload::Bytes(buffer) => buffer,
        Payload::None | Payload::Stamp(_) => unreachable!("memory comes back with its completion"),
    }
}
