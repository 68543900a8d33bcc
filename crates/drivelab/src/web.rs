//! `drivelab web`: the history in a browser.
//!
//! ```text
//!   --listen, --port  -> an address that only this machine reaches, or a yes to more
//!   web::Server       -> until a signal: list, reports, comparisons, runs in progress   crates/web
//! ```

use crate::{
    cli::WebArguments,
    devices, interrupt,
    known::{Named, prices},
    output,
};
use ::web::{http::host, server::Server, site::History};
use anyhow::{Context, Error, Result, bail};
use record::{Money, Place, Record, Store};
use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    process::ExitCode,
};

/// Serves the history until a signal comes.
pub fn web(arguments: &WebArguments) -> Result<ExitCode> {
    let address = address(arguments)?;
    let store = crate::store::named(arguments.store.as_deref())?;
    // A history that cannot be shown is said here and not on every page. Its runs that were killed
    // are closed, as every verb does; from here on nothing writes.
    Store::at(&store).map_err(crate::store::in_words)?.close_orphans()?;
    let stop = interrupt::flag()?;
    let server = Server::bind(address).map_err(|error| not_bound(&error, address))?;
    if !host::is_loopback(address.ip()) {
        output::talk!(
            "drivelab: warning: whoever reaches {} may read all runs in {}: there is no password and no encryption",
            server.address(),
            store
        );
    }
    output::print(&ready(&store, server.address()))?;
    let first_run = first_run(arguments.store.as_deref());
    let history = History {
        store,
        first_run: &first_run,
        prices: &|record| prices_of(record),
        devices: &devices::rows_for_web,
    };
    server.run(&history, &stop).context("the listening socket failed: start it again")?;
    Ok(ExitCode::SUCCESS)
}

/// Where to listen, once the user has agreed to it.
fn address(arguments: &WebArguments) -> Result<SocketAddr> {
    let text = arguments.listen.as_str();
    let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let number: Result<IpAddr, _> = plain.parse();
    let ip = match number {
        Ok(ip) => ip,
        Err(_) if text == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Err(_) => bail!(
            "--listen {text}: write the address as a number, such as 127.0.0.1 or ::1, and the port with --port"
        ),
    };
    if !host::is_loopback(ip) && !arguments.allow_remote {
        bail!(
            "--listen {text} would let other machines read the whole history, without a password: leave it out, or add \
             --allow-remote to say that they may"
        );
    }
    Ok(SocketAddr::new(ip, arguments.port))
}

fn not_bound(error: &io::Error, address: SocketAddr) -> Error {
    let port = address.port();
    let cure = match error.kind() {
        ErrorKind::AddrInUse => format!(
            "it is taken, perhaps by another `drivelab web`: open http://{address}/, or choose another port with --port \
             N, or --port 0 for any that is free"
        ),
        ErrorKind::PermissionDenied if port < 1024 => {
            "ports below 1024 are the system's: choose a higher one with --port".to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address: see `ip address`, or leave --listen out".to_owned()
        }
        _ => error.to_string(),
    };
    Error::msg(format!("cannot listen on {address}: {cure}"))
}

/// What is printed once it listens.
fn ready(store: &Place, address: SocketAddr) -> String {
    // A browser cannot open "any address".
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let open = SocketAddr::new(ip, address.port());
    format!("the history {store} at http://{open}/\nCtrl-C ends it\n")
}

fn first_run(store: Option<&Path>) -> String {
    match store {
        Some(path) => format!("drivelab run . --store {}", path.display()),
        None => "drivelab run .".to_owned(),
    }
}

/// Prices that the record keeps or the catalog prints; without a readable catalog those of the
/// record alone.
fn prices_of(record: &Record) -> Vec<Option<Money>> {
    let kept = || record.targets.iter().map(|target| target.price.clone()).collect();
    let of_all = prices::of(&Named::of_targets(&record.targets), &[]);
    of_all.ok().and_then(|mut runs| runs.pop()).unwrap_or_else(kept)
}
