//! Claims, and the verdicts that are computed for them; `docs/study-format.md` defines each.

use crate::{
    Book, ClaimFile, Relation,
    expression::{Expression, Function, Reading, Series, Trouble, Value, same},
};

/// A claim with its expressions read.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its words.
    pub file: ClaimFile,
    compute: Option<Expression>,
    experiment: Option<Expression>,
    yours: Option<Expression>,
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
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Supported, Self::Rounded, Self::Contradicted, Self::ModelOnly, Self::NotCheckable];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Rounded => "rounded",
            Self::Contradicted => "contradicted",
            Self::ModelOnly => "model only",
            Self::NotCheckable => "not checkable",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// In a word.
    pub verdict: Verdict,
    /// The values that were compared, from printed figures or, for [`Verdict::ModelOnly`], from models.
    pub values: Vec<Value>,
    /// Of comparisons: how many hold, of how many.
    pub holds: Option<(usize, usize)>,
    /// What the model's values say.
    pub modelled: Option<Modelled>,
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

/// How numbers were rounded when they met the printed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounding {
    Nearest,
    CutOff,
    Up,
}

impl Rounding {
    const ALL: [Self; 3] = [Self::Nearest, Self::CutOff, Self::Up];

    fn words(self) -> &'static str {
        match self {
            Self::Nearest => "rounded to the nearest",
            Self::CutOff => "cut off",
            Self::Up => "rounded up",
        }
    }

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
        let claim = Self {
            compute: read(&file.compute).map_err(about)?,
            experiment: read(&file.experiment).map_err(about)?,
            yours: read(&file.yours).map_err(about)?,
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
        Ok(claim)
    }

    /// Judges the claim by the printed figures, and where there are none by the modelled.
    ///
    /// # Errors
    /// When an expression is wrong; names the claim.
    pub fn judge(&self, printed: &Book, modelled: Option<&Book>) -> Result<Judgement, String> {
        let about = |complaint: String| format!("claim {}: {complaint}", self.file.id);
        let why = self.file.why.clone();
        let experiment = self.experiment.as_ref().zip(modelled);
        let answer = match experiment {
            Some((expression, book)) => Some(self.seen(expression, book).map_err(about)?),
            None => None,
        };
        let mut judgement = match &self.compute {
            Some(expression) => match self.seen(expression, printed).map_err(about)? {
                Seen::Values { series, holds, missing } => self.compared(series, holds, missing),
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
        if let Some(Seen::Values { series, holds, .. }) = answer {
            let verdict = self.compared(series.clone(), holds, Vec::new()).verdict;
            let agrees = verdict < Verdict::Contradicted;
            judgement.modelled = Some(Modelled { agrees, values: series.values, holds });
        }
        judgement.because.retain(|text| !text.is_empty());
        judgement.because.extend(why);
        Ok(judgement)
    }

    /// Judges the claim by what a user measured. `None` where it says nothing of other drives.
    pub fn judge_yours(&self, yours: &Book) -> Option<Judgement> {
        let expression = self.yours.as_ref()?;
        Some(match self.seen(expression, yours) {
            Ok(Seen::Values { series, holds, missing }) => self.compared(series, holds, missing),
            // What was never measured under one of the settings selects nothing, which is no mistake here.
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
            _ => (self.file.is == Relation::True).then(|| series.clone()),
        };
        let holds = inner.map(|inner| {
            let holding = inner.values.iter().filter(|value| value.number != 0.0).count();
            (holding, inner.values.len())
        });
        Ok(Seen::Values { series, holds, missing: reading.missing })
    }

    /// The verdict over computed values.
    fn compared(
        &self,
        series: Series,
        holds: Option<(usize, usize)>,
        missing: Vec<String>,
    ) -> Judgement {
        let numbers = series.numbers();
        let mut because: Vec<String> = missing
            .iter()
            .map(|reason| format!("computed without the rows that are {reason}"))
            .collect();
        let verdict = if self.holds(&numbers) {
            Verdict::Supported
        } else if let Some(rounding) = self.rounding(&numbers) {
            because.insert(0, rounding.words().to_owned());
            Verdict::Rounded
        } else {
            Verdict::Contradicted
        };
        Judgement { verdict, values: series.values, holds, modelled: None, because }
    }

    /// The first rounding with which the relation holds.
    fn rounding(&self, numbers: &[f64]) -> Option<Rounding> {
        let steps = in_order(&self.file.step, numbers.len())?;
        let with = |rounding: &Rounding| {
            let pairs = numbers.iter().zip(&steps);
            let rounded: Vec<f64> =
                pairs.map(|(number, step)| rounding.apply(*number, *step)).collect();
            self.holds(&rounded)
        };
        let allowed: &[Rounding] = match self.file.is {
            Relation::Equal => &Rounding::ALL,
            Relation::True => &[],
            _ => &[Rounding::Nearest],
        };
        allowed.iter().copied().find(with)
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
            Relation::Equal => numbers.len() == value.len() && against(same),
            Relation::About => against(|number, wanted| (number / wanted - 1.0).abs() <= 0.1),
            Relation::Within => numbers.iter().all(|number| (value[0]..=value[1]).contains(number)),
            Relation::Below => against(|number, wanted| number < wanted),
            Relation::AtMost => against(|number, wanted| number <= wanted),
            Relation::Above => against(|number, wanted| number > wanted),
            Relation::AtLeast => against(|number, wanted| number >= wanted),
        }
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
        let because = vec![reason];
        let verdict = Verdict::NotCheckable;
        Self { verdict, values: Vec::new(), holds: None, modelled: None, because }
    }
}
