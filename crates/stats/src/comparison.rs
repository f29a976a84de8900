//! The rounds of one contender against the base case in one step: the unit that is judged.

use thiserror::Error;

use crate::round_conditions::RoundConditions;

/// No logarithm of a throughput or a ratio is larger than this: its exponential would overflow.
const LARGEST_LOGARITHM: f64 = 700.0;

/// One step of one contender against the base, in one metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The rounds in the order in which they ran.
    pub rounds: Vec<Round>,
    /// The smallest effect that matters, as a logarithm: ln 1.02 for 2 %.
    pub margin: f64,
}

/// One round of a comparison. All numbers are natural logarithms, and larger is better.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// The typical difference in ln throughput, contender less base.
    pub effect: f64,
    /// What must be added to it to get the difference of means: below 0 if the contender has more or longer stalls, or was disturbed more.
    pub stalls: f64,
    /// The effect of each pass, if known.
    pub passes: Vec<f64>,
    /// ln throughput of the base's slices in order of time, if known.
    pub base: Vec<f64>,
    /// ln throughput of the contender's slices in order of time, if known.
    pub contender: Vec<f64>,
    /// What an analysis has to know of the round besides its effect.
    pub conditions: RoundConditions,
}

/// Why a comparison cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ComparisonError {
    /// A number is not finite, or too large for a logarithm.
    #[error(
        "round {round} of comparison {comparison}: the {what} is {value}, which is not the logarithm of a throughput or a ratio\n\
         hint: leave out slices that failed or did nothing"
    )]
    NotALogarithm {
        /// Which comparison of the family, from 1.
        comparison: usize,
        /// Which round, from 1.
        round: usize,
        /// Which of the round's numbers.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The margin is not above 0.
    #[error("comparison {comparison}: the margin is {margin}, but must be above 0")]
    Margin {
        /// Which comparison of the family, from 1.
        comparison: usize,
        /// Its margin.
        margin: f64,
    },
}

impl From<f64> for Round {
    /// A round with nothing but an effect.
    fn from(effect: f64) -> Self {
        Round { effect, ..Round::default() }
    }
}

impl Comparison {
    /// A comparison whose rounds have nothing but effects.
    pub fn of_effects(effects: &[f64], margin: f64) -> Self {
        Comparison { rounds: effects.iter().copied().map(Round::from).collect(), margin }
    }

    /// Refuses an invalid comparison; `place` is its place in the family, from 1.
    pub(crate) fn check(&self, place: usize) -> Result<(), ComparisonError> {
        if !(self.margin > 0.0 && self.margin < LARGEST_LOGARITHM) {
            return Err(ComparisonError::Margin { comparison: place, margin: self.margin });
        }
        for (index, round) in self.rounds.iter().enumerate() {
            let kinds: [(&str, &[f64]); 5] = [
                ("effect", &[round.effect]),
                ("effect of stalls", &[round.stalls]),
                ("effect of a pass", &round.passes),
                ("throughput of a slice of the base", &round.base),
                ("throughput of a slice of the contender", &round.contender),
            ];
            for (what, values) in kinds {
                if let Some(value) = values.iter().find(|value| !is_logarithm(**value)) {
                    let round = index + 1;
                    return Err(ComparisonError::NotALogarithm {
                        comparison: place,
                        round,
                        what,
                        value: *value,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Whether a number may be a natural logarithm of a throughput or a ratio.
pub(crate) fn is_logarithm(value: f64) -> bool {
    value.abs() <= LARGEST_LOGARITHM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_named_by_comparison_and_round() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let error = Comparison::of_effects(&[0.0, wrong], 0.02).check(3).unwrap_err().to_string();
            assert!(error.starts_with("round 2 of comparison 3: the effect is"), "{error}");
        }
        let slices = Round { base: vec![1.0, f64::NAN], ..Round::default() };
        let error = Comparison { rounds: vec![slices], margin: 0.02 }.check(1).unwrap_err();
        assert!(error.to_string().contains("slice of the base"), "{error}");
    }

    #[test]
    fn a_margin_is_above_zero() {
        for margin in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(Comparison::of_effects(&[], margin).check(1).is_err());
        }
    }
}
