//! Claims, and the verdicts that are computed for them; `docs/reference/study-format.md` defines
//! each.
//!
//! ```text
//!   compute (printed book) --------> Seen -> holds | holds rounded | neither -> Verdict
//!   experiment (modelled book) ----> Seen -> model only, or beside the verdict
//!   a wish, a question ------------> answered | open: a command | not built
//! ```

use crate::{
    Book, ClaimFile, Relation,
    expression::{Expression, Function, Reading, Series, Trouble, Value, same},
};

/// A claim whose expression cannot be computed: a table or a device that is not there, or more
/// values than figures.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("claim {claim}: {complaint}")]
pub struct BadClaim {
    claim: String,
    complaint: String,
}

/// What "about" grants, as a share.
const ABOUT: f64 = 0.1;

/// A claim with its expressions read.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its words.
    pub file: ClaimFile,
    compute: Option<Expression>,
    experiment: Option<Expression>,
    yours: Option<Expression>,
    also: Vec<(String, Expression)>,
}

/// What is to be thought of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The relation holds for the numbers as computed.
    Supported,
    /// It holds for them rounded as the claim's figure is.
    Rounded,
    /// It does not hold.
    Contradicted,
    /// Nothing printed computes it; a model does.
    ModelOnly,
    /// Nothing does.
    NotCheckable,
    /// Of a wish or a question: printed figures or models answer it here.
    Answered,
    /// Of a wish or a question: a command answers it on a target of the user's.
    Open,
    /// Of a wish or a question: nothing of ours answers it.
    NotBuilt,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Supported,
        Self::Rounded,
        Self::Contradicted,
        Self::ModelOnly,
        Self::NotCheckable,
        Self::Answered,
        Self::Open,
        Self::NotBuilt,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Rounded => "rounded",
            Self::Contradicted => "contradicted",
            Self::ModelOnly => "model only",
            Self::NotCheckable => "not checkable",
            Self::Answered => "answered",
            Self::Open => "open",
            Self::NotBuilt => "not built",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// In a word.
    pub verdict: Verdict,
    /// The values that were compared, from printed figures or, for [`Verdict::ModelOnly`], from
    /// models.
    pub values: Vec<Value>,
    /// Of comparisons: how many hold, of how many.
    pub holds: Option<(usize, usize)>,
    /// What the model's values say.
    pub modelled: Option<Modelled>,
    /// What else printed figures give: in words, and the values.
    pub also: Vec<(String, Vec<Value>)>,
    /// How it was rounded, what was missing, or why nothing can be computed.
    pub because: Vec<String>,
}

/// An experiment's outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Modelled {
    /// Whether the relation holds for the model's values, rounded if need be.
    pub agrees: bool,
    /// The values.
    pub values: Vec<Value>,
    /// Of comparisons: how many hold, of how many.
    pub holds: Option<(usize, usize)>,
}

/// How numbers could have been rounded when they met the printed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounding {
    /// The one that counts.
    Nearest,
    CutOff,
    Up,
}

impl Rounding {
    /// `number` in whole steps. A millionth of a step is given to what binary fractions lose.
    fn apply(self, number: f64, step: f64) -> f64 {
        let steps = number / step;
        step * match self {
            Self::Nearest => (steps + 1e-6).round(),
            Self::CutOff => (steps + 1e-6).floor(),
            Self::Up => (steps - 1e-6).ceil(),
        }
    }
}

impl Claim {
    /// Reads the expressions of `file`.
    ///
    /// # Errors
    /// What is wrong, with the claim's name.
    pub(crate) fn read(file: &ClaimFile) -> Result<Self, String> {
        let about = |complaint: String| format!("claim {}: {complaint}", file.id);
        let read = |text: &Option<String>| text.as_ref().map(|text| text.parse()).transpose();
        let also = file.also.iter().map(|(words, text)| Ok((words.clone(), text.parse()?)));
        let claim = Self {
            compute: read(&file.compute).map_err(about)?,
            experiment: read(&file.experiment).map_err(about)?,
            yours: read(&file.yours).map_err(about)?,
            also: also.collect::<Result<_, String>>().map_err(about)?,
            file: file.clone(),
        };
        let count = file.value.len();
        let fits = match file.is {
            Relation::True => count == 0,
            Relation::Within => count == 2 && file.value[0] <= file.value[1],
            _ => count >= 1,
        };
        let checkable =
            [&claim.compute, &claim.experiment, &claim.yours].iter().any(|one| one.is_some());
        if checkable && !fits {
            return Err(about(format!("`is` does not go with {count} values")));
        }
        if !checkable && file.why.is_none() {
            return Err(about("neither compute, experiment nor why".to_owned()));
        }
        if file.command.is_some() && !file.kind.asks() {
            return Err(about("`command` is for a wish or a question".to_owned()));
        }
        Ok(claim)
    }

    /// The relation in words, with the expression that picks its cells; `None` where nothing is
    /// computed.
    pub fn rule(&self) -> Option<String> {
        let expression = self.file.compute.as_ref().or(self.file.experiment.as_ref())?;
        let values = self.file.value.iter().map(f64::to_string).collect::<Vec<_>>();
        let steps = self.steps().iter().map(f64::to_string).collect::<Vec<_>>();
        let (values, steps) = (values.join(", "), steps.join(", "));
        let rounded = match self.is_rounded() {
            true => format!(", or rounds to that in steps of {steps}"),
            false => String::new(),
        };
        Some(match self.file.is {
            Relation::True => expression.clone(),
            Relation::Equal => format!("{expression} rounds to {values} in steps of {steps}"),
            Relation::About => format!("{expression} is within a tenth of {values}"),
            Relation::Within => {
                let values = values.replace(", ", " to ");
                format!("{expression} lies in {values}{rounded}")
            }
            Relation::Below => format!("{expression} is below {values}{rounded}"),
            Relation::AtMost => format!("{expression} is at most {values}{rounded}"),
            Relation::Above => format!("{expression} is above {values}{rounded}"),
            Relation::AtLeast => format!("{expression} is at least {values}{rounded}"),
        })
    }

    /// Judges the claim by the printed figures, and where there are none by the modelled.
    ///
    /// # Errors
    /// When an expression is wrong.
    pub fn judge(&self, printed: &Book, modelled: Option<&Book>) -> Result<Judgement, BadClaim> {
        let about = |complaint: String| BadClaim { claim: self.file.id.clone(), complaint };
        let experiment = self.experiment.as_ref().zip(modelled);
        let answer = match experiment {
            Some((expression, book)) => Some(self.seen(expression, book).map_err(about)?),
            None => None,
        };
        let mut judgement = match &self.compute {
            Some(expression) => match self.seen(expression, printed).map_err(about)? {
                Seen::Values { series, holds, missing } => {
                    self.compared(series, holds, missing).map_err(about)?
                }
                Seen::Nothing(reason) => Judgement::nothing(reason),
            },
            None => match &answer {
                Some(Seen::Values { .. }) => {
                    Judgement { verdict: Verdict::ModelOnly, ..Judgement::nothing(String::new()) }
                }
                Some(Seen::Nothing(reason)) => Judgement::nothing(reason.clone()),
                None if self.experiment.is_some() => {
                    Judgement::nothing("a model can tell, and was not run".to_owned())
                }
                None => Judgement::nothing(String::new()),
            },
        };
        if let Some(Seen::Values { series, holds, missing }) = answer {
            let left_out = missing.iter().map(|reason| format!("not modelled: {reason}"));
            judgement.because.extend(left_out);
            let seen = self.compared(series.clone(), holds, Vec::new()).map_err(about)?;
            let verdict = seen.verdict;
            let agrees = verdict < Verdict::Contradicted;
            judgement.modelled = Some(Modelled { agrees, values: series.values, holds });
        }
        for (words, expression) in &self.also {
            if let Seen::Values { series, .. } = self.seen(expression, printed).map_err(about)? {
                judgement.also.push((words.clone(), series.values));
            }
        }
        if self.file.kind.asks() {
            judgement.verdict = self.state(&judgement);
        }
        judgement.because.retain(|text| !text.is_empty());
        judgement.because.extend(self.file.why.clone());
        Ok(judgement)
    }

    /// What became of a wish or a question.
    fn state(&self, judgement: &Judgement) -> Verdict {
        if !judgement.values.is_empty() || judgement.modelled.is_some() {
            Verdict::Answered
        } else if self.file.command.is_some() {
            Verdict::Open
        } else if self.experiment.is_some() || self.compute.is_some() {
            Verdict::NotCheckable
        } else {
            Verdict::NotBuilt
        }
    }

    /// Judges the claim by what a user measured. `None` where it says nothing of other drives.
    pub fn judge_yours(&self, yours: &Book) -> Option<Judgement> {
        let expression = self.yours.as_ref()?;
        Some(match self.seen(expression, yours) {
            Ok(Seen::Values { series, holds, missing }) => {
                self.compared(series, holds, missing).unwrap_or_else(Judgement::nothing)
            }
            // What was never measured under one of the settings selects nothing, which is no
            // mistake here.
            Ok(Seen::Nothing(reason)) | Err(reason) => Judgement::nothing(reason),
        })
    }

    fn seen(&self, expression: &Expression, book: &Book) -> Result<Seen, String> {
        let mut reading = Reading::new(book);
        let series = match reading.evaluate(expression) {
            Ok(series) => series,
            Err(Trouble::Missing(reason)) => return Ok(Seen::Nothing(reason)),
            Err(Trouble::Wrong(complaint)) => return Err(complaint),
        };
        let inner = match expression {
            Expression::Call(Function::All | Function::Any, arguments) => {
                reading.evaluate(&arguments[0]).ok()
            }
            // Whatever is to be true is a comparison.
            _ if self.file.kind.asks() => None,
            _ => (self.file.is == Relation::True).then(|| series.clone()),
        };
        let holds = inner.map(|inner| {
            let holding = inner.values.iter().filter(|value| value.number != 0.0).count();
            (holding, inner.values.len())
        });
        Ok(Seen::Values { series, holds, missing: reading.missing })
    }

    /// The verdict over computed values.
    ///
    /// # Errors
    /// When there are not as many as the claim names figures.
    fn compared(
        &self,
        series: Series,
        holds: Option<(usize, usize)>,
        missing: Vec<String>,
    ) -> Result<Judgement, String> {
        let numbers = series.numbers();
        let (wanted, met) = (self.file.value.len(), numbers.len());
        if wanted > 1 && wanted != met && self.file.is != Relation::Within {
            return Err(format!("{wanted} figures meet {met} computed values"));
        }
        let mut because: Vec<String> = missing
            .iter()
            .map(|reason| format!("computed without the rows that are {reason}"))
            .collect();
        let verdict = if self.holds(&numbers) {
            Verdict::Supported
        } else if self.holds_rounded(&numbers, Rounding::Nearest) {
            Verdict::Rounded
        } else {
            because.extend(self.near_miss(&numbers));
            Verdict::Contradicted
        };
        let also = Vec::new();
        Ok(Judgement { verdict, values: series.values, holds, modelled: None, also, because })
    }

    /// How the figure could have come about all the same.
    fn near_miss(&self, numbers: &[f64]) -> Option<String> {
        let others = [(Rounding::CutOff, "cut off"), (Rounding::Up, "rounded up")];
        let is_figure = self.file.is == Relation::Equal;
        let found = others.iter().find(|(rounding, _)| self.holds_rounded(numbers, *rounding));
        let (_, words) = found.filter(|_| is_figure)?;
        Some(format!("the figure is that {words}, not rounded to the nearest"))
    }

    /// Whether figures are rounded: printed ones are, but not where a claim says "about", nor is a
    /// number that is our own reading of a word such as "much".
    fn is_rounded(&self) -> bool {
        let is_figure = !self.file.printed.is_empty();
        is_figure && !matches!(self.file.is, Relation::True | Relation::About)
    }

    /// Whether the relation holds for rounded numbers.
    fn holds_rounded(&self, numbers: &[f64], rounding: Rounding) -> bool {
        if !self.is_rounded() {
            return false;
        }
        let Some(steps) = in_order(&self.steps(), numbers.len()) else { return false };
        let pairs = numbers.iter().zip(steps);
        let rounded: Vec<f64> = pairs.map(|(number, step)| rounding.apply(*number, step)).collect();
        self.holds(&rounded)
    }

    /// One unit of the last digit of each printed figure; of a range the finer one, for both ends.
    fn steps(&self) -> Vec<f64> {
        if !self.file.step.is_empty() {
            return self.file.step.clone();
        }
        let steps = self.file.value.iter().map(|value| last_digit(*value));
        match self.file.is {
            Relation::Within => vec![steps.fold(f64::INFINITY, f64::min)],
            _ => steps.collect(),
        }
    }

    fn holds(&self, numbers: &[f64]) -> bool {
        let value = &self.file.value;
        let against = |test: fn(f64, f64) -> bool| {
            let wanted = in_order(value, numbers.len());
            wanted.is_some_and(|wanted| {
                numbers.iter().zip(wanted).all(|(&number, wanted)| test(number, wanted))
            })
        };
        match self.file.is {
            Relation::True => numbers.iter().all(|&number| number == 1.0),
            Relation::Equal => against(same),
            Relation::About => {
                against(|number, wanted| (number / wanted - 1.0).abs() <= ABOUT + 1e-9)
            }
            Relation::Within => numbers.iter().all(|number| (value[0]..=value[1]).contains(number)),
            Relation::Below => against(|number, wanted| number < wanted),
            Relation::AtMost => against(|number, wanted| number <= wanted),
            Relation::Above => against(|number, wanted| number > wanted),
            Relation::AtLeast => against(|number, wanted| number >= wanted),
        }
    }
}

/// One unit of the last digit of `number` that is no trailing zero: 10 of 50, 1 of 135, 0.1 of 3.8.
fn last_digit(number: f64) -> f64 {
    let text = number.to_string();
    let digits = text.trim_start_matches('-');
    match digits.split_once('.') {
        Some((_, decimals)) => 10f64.powi(-(decimals.len() as i32)),
        None if digits == "0" => 1.0,
        None => 10f64.powi((digits.len() - digits.trim_end_matches('0').len()) as i32),
    }
}

/// One of `given` for each of `count` numbers: the one there is, or as many.
fn in_order(given: &[f64], count: usize) -> Option<Vec<f64>> {
    match given {
        [one] => Some(vec![*one; count]),
        several => (several.len() == count).then(|| several.to_vec()),
    }
}

/// What an expression gave.
enum Seen {
    Values { series: Series, holds: Option<(usize, usize)>, missing: Vec<String> },
    Nothing(String),
}

impl Judgement {
    fn nothing(reason: String) -> Self {
        let (verdict, because) = (Verdict::NotCheckable, vec![reason]);
        let (values, also) = (Vec::new(), Vec::new());
        Self { verdict, values, holds: None, modelled: None, also, because }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_of_a_figure_is_the_last_that_is_no_trailing_zero() {
        let figures = [10.0, 5.0, 200.0, 135.0, 3.8, 0.98, 1.0, 37_000.0, 83.5, 0.0];
        let expected = [10.0, 1.0, 100.0, 1.0, 0.1, 0.01, 1.0, 1000.0, 0.1, 1.0];
        for (figure, step) in figures.into_iter().zip(expected) {
            assert!((last_digit(figure) - step).abs() < 1e-12, "{figure}");
        }
    }
}
