//! How well a cell is to be measured: what an assessment is held against.

/// How much trouble to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grade {
    /// A first impression: one pass, 5 %, 3 to 20 s a cell.
    Quick,
    /// A result: three passes, 2 %, 5 to 60 s a cell.
    Normal,
    /// A result to publish: five passes, 1 %, 10 to 300 s a cell.
    Publish,
}

impl Grade {
    /// As it is typed and recorded.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Publish => "publish",
        }
    }

    /// How often the whole method is run.
    pub fn passes(self) -> usize {
        match self {
            Self::Quick => 1,
            Self::Normal => 3,
            Self::Publish => 5,
        }
    }
}

/// When a cell is measured well enough, and when to give up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StopRule {
    /// Measure at least this long, in seconds.
    pub seconds_min: f64,
    /// Give up after this long, in seconds.
    pub seconds_max: f64,
    /// Wait for at least this many completions.
    pub completions_min: u64,
    /// The 95 % interval's half-width to reach, as a share of the value.
    pub half_width_max: f64,
}

impl StopRule {
    /// The rule of a grade.
    pub fn for_grade(grade: Grade) -> Self {
        let (seconds_min, seconds_max, half_width_max) = match grade {
            Grade::Quick => (3.0, 20.0, 0.05),
            Grade::Normal => (5.0, 60.0, 0.02),
            Grade::Publish => (10.0, 300.0, 0.01),
        };
        Self { seconds_min, seconds_max, completions_min: 1000, half_width_max }
    }
}
