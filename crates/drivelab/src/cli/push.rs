//! The command line of `drivelab push`.

use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// What `push --help` opens with.
pub const ABOUT: &str = "\
Push runs into a database that many machines share

Every run is kept in this machine's own history first. What of it the database does not have yet,
or not as it now is, is pushed: each run whole, in one transaction, and known by its id, so that to
push again changes nothing. Runs that still go on are left for later.

The address is PostgreSQL's: postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full. What it
leaves out comes from PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGPASSFILE, PGSSLMODE and
~/.pgpass. With DRIVELAB_STORE set to it, every run is pushed at its end, and all that reads a
history reads the database. `--to` takes the path of another history's file, too.

  drivelab push --to postgresql://lab@db.example/drivelab
  drivelab history --store postgresql://lab@db.example/drivelab

`drivelab push --help` shows all; docs/guide/store.md tells how to set a database up.";

/// `drivelab push`.
#[derive(Args, Debug)]
pub struct PushArguments {
    /// Which runs: ids, labels, `last`; all that have ended when none is named
    #[arg(value_name = "RUN")]
    pub runs: Vec<OsString>,

    /// The database, postgresql://USER@HOST/NAME, or another history's file; without it the one
    /// that DRIVELAB_STORE names
    #[arg(long, value_name = "PLACE")]
    pub to: Option<PathBuf>,

    /// Bring a database of an earlier drivelab up to date; earlier drivelabs then refuse it
    #[arg(long)]
    pub migrate: bool,

    /// The history to push from
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}
