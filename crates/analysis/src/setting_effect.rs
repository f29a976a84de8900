//! What is left of a change once one setting of the contender is as in the base case.

use basecase_model::{Experiment, Trial};
use basecase_stats::{Decision, JudgedMetric, Judgement, JudgementError, Verdict};

use crate::effect::Effect;

/// The numbers of the candidates of an experiment that tries a setting; the first is the base case.
const CONTENDER: usize = 1;
const VARIED: usize = 2;

/// The comparisons of an experiment that tries a setting.
#[derive(Debug, Clone)]
pub struct SettingEffect {
    /// Of the contender with the base case: the change that is to be explained.
    pub change: Decision,
    /// Of the contender with that setting with the base case: what is left of the change.
    pub left: Decision,
    /// Of the contender with that setting with the contender itself: what the setting does.
    pub difference: Decision,
}

/// What a setting has to do with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingConclusion {
    /// Nothing is left of the change.
    Explains,
    /// Some of it is left.
    ExplainsPart,
    /// Some of it is left; whether the setting explains a part is not decided.
    NotAll,
    /// It is as it was.
    DoesNot,
    /// It is larger.
    Hides,
    /// It is reversed.
    Reverses,
    /// These rounds show no change that could be explained.
    NoChange,
    /// There are too few rounds.
    Open,
}

impl SettingEffect {
    /// On the step of this name, of an experiment with base case, contender and the contender with the setting; `None` where not all of
    /// them have a round together.
    ///
    /// # Errors
    /// When a trial holds impossible values.
    pub fn of(experiment: &Experiment, trials: &[Trial], step: &str) -> Result<Option<Self>, JudgementError> {
        let Some(step) = experiment.steps.iter().position(|facts| facts.name == step) else {
            return Ok(None);
        };
        let against_base = Judgement::of(experiment, trials)?;
        // The same rounds with the contender as the base case.
        let candidates = experiment.candidates.iter().skip(CONTENDER).cloned().collect();
        let against_contender = Experiment { candidates, ..experiment.clone() };
        let against_contender = Judgement::of(&against_contender, trials)?;
        let decision = |judgement: &Judgement, candidate| {
            judgement.decision(JudgedMetric::Throughput, step, candidate).cloned()
        };
        let decided = decision(&against_base, CONTENDER)
            .zip(decision(&against_base, VARIED))
            .zip(decision(&against_contender, VARIED - CONTENDER));
        Ok(decided.map(|((change, left), difference)| SettingEffect { change, left, difference }))
    }

    /// What the setting has to do with the change.
    pub fn conclusion(&self) -> SettingConclusion {
        let [change, left, difference] =
            [&self.change, &self.left, &self.difference].map(|decision| decision.verdict);
        match (change, left, difference) {
            (Verdict::NoChange, ..) => SettingConclusion::NoChange,
            (Verdict::NotEnoughData, ..) => SettingConclusion::Open,
            // Both at once takes a change that is hardly larger than the margin.
            (_, Verdict::NoChange, Verdict::NoChange) => SettingConclusion::Open,
            (_, Verdict::NoChange, _) => SettingConclusion::Explains,
            (_, _, Verdict::NoChange) => SettingConclusion::DoesNot,
            (_, Verdict::NotEnoughData, _) => SettingConclusion::Open,
            (change, left, _) if left != change => SettingConclusion::Reverses,
            (_, _, Verdict::NotEnoughData) => SettingConclusion::NotAll,
            (change, _, difference) if difference == change => SettingConclusion::Hides,
            _ => SettingConclusion::ExplainsPart,
        }
    }

    /// Change, what is left of it and what the setting does, as ratios; `None` without a round.
    pub fn effects(&self) -> Option<[Effect; 3]> {
        let effect = |decision| Effect::of_decision(JudgedMetric::Throughput, decision);
        Some([effect(&self.change)?, effect(&self.left)?, effect(&self.difference)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// A made-up experiment in rounds has three candidates, of which the second and third differ from the base case on some steps.
    #[test]
    fn the_contender_is_the_base_case_of_what_the_setting_does() {
        let (experiment, trials) = fixture::in_rounds();
        for step in &experiment.steps {
            let Some(found) = SettingEffect::of(&experiment, &trials, &step.name).unwrap() else { continue };
            let [change, left, difference] = found.effects().unwrap().map(|effect| effect.ratio.ln());
            // Each has a robust mean of its own.
            assert!((left - change - difference).abs() < 0.02, "{}: {change} {left} {difference}", step.name);
        }
        assert!(SettingEffect::of(&experiment, &trials, "no such step").unwrap().is_none());
    }

    #[test]
    fn what_is_left_tells_whether_the_setting_explains_the_change() {
        use SettingConclusion::{
            DoesNot, Explains, ExplainsPart, Hides, NoChange as Nothing, NotAll, Open, Reverses,
        };
        use Verdict::{Improvement, NoChange, NotEnoughData, Regression};
        let (experiment, trials) = fixture::in_rounds();
        let found = experiment
            .steps
            .iter()
            .find_map(|step| SettingEffect::of(&experiment, &trials, &step.name).unwrap());
        let mut found = found.unwrap();
        for (verdicts, conclusion) in [
            ([Regression, NoChange, Improvement], Explains),
            ([Regression, NoChange, NotEnoughData], Explains),
            ([Regression, Regression, Improvement], ExplainsPart),
            ([Improvement, Improvement, Regression], ExplainsPart),
            ([Regression, Regression, NoChange], DoesNot),
            ([Regression, NotEnoughData, NoChange], DoesNot),
            ([Regression, Regression, Regression], Hides),
            ([Regression, Improvement, Improvement], Reverses),
            ([NoChange, Regression, Regression], Nothing),
            ([NotEnoughData, NoChange, NoChange], Open),
            ([Regression, NoChange, NoChange], Open),
            ([Regression, NotEnoughData, Improvement], Open),
            ([Regression, Regression, NotEnoughData], NotAll),
        ] {
            (found.change.verdict, found.left.verdict, found.difference.verdict) = verdicts.into();
            assert_eq!(found.conclusion(), conclusion, "{verdicts:?}");
        }
    }
}
