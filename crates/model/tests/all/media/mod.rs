//! Media, power cuts, faults and pacing, against oracles that keep the whole history.

mod drive;
mod faults;
mod history;
mod paced;
mod power_cuts;
mod stored;
