//! Who follows a matrix, and what is told of its turns.

use crate::axes::Configuration;
use lab::{plan::Plan, runner::Observer};
use std::fmt;

/// Who follows a matrix: hears of cells as of any run, and of turns.
pub trait Audience: Observer {
    /// All is planned; the first turn is about to begin.
    fn planned(&mut self, plans: &[Plan]);
    /// What happens beside the cells.
    fn tell(&mut self, told: Told<'_>);
    /// What each change of the machine is told to, as it would be typed.
    fn log(&self) -> Box<dyn Fn(&str)>;
}

/// What is told of turns.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// A turn begins.
    Turn {
        /// Which round, from 1.
        round: u32,
        /// Whose turn it is.
        configuration: &'a Configuration,
    },
    /// A turn is left out for an error of the drive's.
    Failed {
        /// Whose turn it was.
        configuration: &'a Configuration,
        /// The error.
        error: &'a str,
    },
    /// The path's own floor is measured under a file system.
    Floor(&'a Configuration),
    /// The power is cut under a configuration.
    PowerCut(&'a Configuration),
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn { round, configuration } => {
                write!(formatter, "round {round}: {configuration}")
            }
            Self::Failed { configuration, error } => {
                write!(formatter, "{configuration} failed: {error}")
            }
            Self::Floor(configuration) => {
                write!(formatter, "the path's own floor, {}", configuration.fs())
            }
            Self::PowerCut(configuration) => write!(formatter, "power cut: {configuration}"),
        }
    }
}
