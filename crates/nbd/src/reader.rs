//! A client that reads one block over and over and times it: what the way to a server takes.

use crate::{
    Address,
    protocol::constants::{OPTION_MAGIC, REQUEST_MAGIC, handshake, option},
};
use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

/// Magic, type or error, and cookie of a simple reply, bytes.
const REPLY_HEAD_BYTES: usize = 16;
/// Two magics and the handshake flags, bytes.
const GREETING_BYTES: usize = 18;
/// Size and transmission flags, which answer [`option::EXPORT_NAME`], bytes.
const EXPORT_BYTES: usize = 10;

/// A socket, of either kind.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

fn connect(address: &Address, patience: Duration) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(patience))?;
            Box::new(stream)
        }
        Address::Tcp(socket) => {
            let stream = TcpStream::connect(socket)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(patience))?;
            Box::new(stream)
        }
    })
}

/// Reads the first `block_bytes` of the default export `count` times, one after the other, and says
/// what each took, ns. After `patience` it reads no more.
///
/// # Errors
/// Those of sockets, and a server that speaks another protocol.
pub fn time_reads(
    address: &Address,
    block_bytes: u32,
    count: u32,
    patience: Duration,
) -> io::Result<Vec<u64>> {
    let mut client = connect(address, patience)?;
    let mut greeting = [0; GREETING_BYTES];
    client.read_exact(&mut greeting)?;
    if greeting[8..16] != OPTION_MAGIC.to_be_bytes() {
        return Err(io::Error::other("the server greets in another way"));
    }
    let mut hello =
        u32::from(handshake::NO_ZEROES | handshake::FIXED_NEWSTYLE).to_be_bytes().to_vec();
    hello.extend(OPTION_MAGIC.to_be_bytes());
    hello.extend(option::EXPORT_NAME.to_be_bytes());
    // A name of no bytes.
    hello.extend(0u32.to_be_bytes());
    client.write_all(&hello)?;
    client.read_exact(&mut [0; EXPORT_BYTES])?;
    let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
    // Flags, type 0 (a read), cookie, offset, length.
    request.extend([0; 2 + 2 + 8 + 8]);
    request.extend(block_bytes.to_be_bytes());
    let mut reply = vec![0; REPLY_HEAD_BYTES + block_bytes as usize];
    let (mut times, began) = (Vec::with_capacity(count as usize), Instant::now());
    while times.len() < count as usize && began.elapsed() < patience {
        let sent = Instant::now();
        client.write_all(&request)?;
        client.read_exact(&mut reply)?;
        times.push(sent.elapsed().as_nanos() as u64);
    }
    Ok(times)
}
