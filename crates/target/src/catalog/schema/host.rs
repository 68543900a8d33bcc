//! The parameters of what stands between a host and its drives: ports and array drivers.

use super::{
    Dimension::{Count, Rate, Share, Size, Time, TimePerSize},
    Holds, Key, NS,
    Need::{Optional, Required},
    RATE, number,
};

/// A port: controller, driver, link.
pub const PORT_KEYS: &[Key] = &[
    number("own", Time, NS, Required, "the asking thread's own time a request"),
    number(
        "own_per_kib",
        TimePerSize,
        0..=1_000_000,
        Required,
        "the same for the size of a request's first command",
    ),
    number("own_write", Time, NS, Optional, "in place of own for a write; left out: the same"),
    number(
        "driver",
        Time,
        NS,
        Required,
        "the driver's time a request; an array's serial time takes its place",
    ),
    number(
        "transfer_max",
        Size,
        512..=1 << 30,
        Required,
        "largest command: longer requests are cut",
    ),
    number("command", Time, NS, Required, "what the controller adds to every command of a drive"),
    number("link_rate", Rate, RATE, Optional, "the link that all drives share; left out: no limit"),
    number(
        "write_rate",
        Rate,
        RATE,
        Optional,
        "most that this host writes to all drives; left out: no limit",
    ),
    number(
        "drive_link_rate",
        Rate,
        RATE,
        Optional,
        "the link of each drive, where slower than the drive's",
    ),
    number(
        "command_queue",
        Count,
        1..=65_536,
        Optional,
        "commands of a drive at a time, where fewer than the drive takes",
    ),
    number(
        "gather",
        Time,
        NS,
        Optional,
        "time in which answers are gathered for one interrupt; else none is",
    ),
    number(
        "gather_from",
        Count,
        1..=65_536,
        Optional,
        "with gather: from so many requests outstanding on; else from 1",
    ),
    Key {
        name: "fua",
        holds: Holds::Word(&["native", "flush"]),
        need: Required,
        about: "what makes a write durable in a drive's cache: its own bit, or a flush after it",
    },
];

/// An array's driver. What begins with `cache` is there together or not at all.
pub const DRIVER_KEYS: &[Key] = &[
    number(
        "serial",
        Time,
        NS,
        Required,
        "what each command of all drives takes of the one host resource they share",
    ),
    number(
        "cache",
        Size,
        16 << 20..=8 << 30,
        Optional,
        "memory with a battery, which answers writes; left out: none",
    ),
    number("cache_command", Time, NS, Optional, "a request that memory answers; needed with cache"),
    number(
        "cache_rate",
        Rate,
        RATE,
        Optional,
        "bytes of such requests, one after the other; needed with cache",
    ),
    number(
        "cache_eager",
        Share,
        0..=1_000_000,
        Optional,
        "dirty share beyond which rows do not wait; needed with cache",
    ),
    number(
        "cache_age",
        Time,
        NS,
        Optional,
        "how long a row waits for more of itself; needed with cache",
    ),
    number(
        "cache_rows",
        Count,
        1..=1024,
        Optional,
        "runs of rows destaged at a time above it; needed with cache",
    ),
];
