//! What an analysis has to know of rounds besides their effects: how much of the error may be spent by when, and which began with one load.

use basecase_model::{CalendarTime, Experiment, Trial, names};

/// The share of the error that is kept back for an experiment that goes on after its budget.
const KEPT_BACK: f64 = 0.1;

/// The share of the error that analyses may have spent after so much of the budget (1 is all of it): it grows with the square of the time up
/// to its end (the power family of Kim & DeMets 1987), since most steps are open until then; and of what is kept back the half when it is
/// doubled, two thirds when it is tripled.
///
/// Any clock will do that does not look at the effect (Lan & DeMets 1989). Where a budget holds five rounds, five rounds may so spend what
/// the budget has; in proportion to the rounds that a plan allows they would spend an eighth.
pub(crate) fn share_spent(budgets: f64) -> f64 {
    if budgets <= 1.0 { (1.0 - KEPT_BACK) * budgets.max(0.0).powi(2) } else { 1.0 - KEPT_BACK / budgets }
}

/// What an analysis has to know of a round besides its effect.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundConditions {
    /// The share of the error that an analysis after this round may have spent, 0 to 1, where it follows the calendar and not the number of
    /// rounds.
    pub spent: Option<f64>,
    /// The round for which its data was loaded, if loads are known.
    pub load: Option<u32>,
}

impl RoundConditions {
    /// Of each of these rounds. `bases` are the base case's trials of one step, in the order in which they were measured. After the last of
    /// them, all that has passed by now counts: nothing more was learnt since.
    pub fn of_all(experiment: &Experiment, bases: &[&Trial]) -> Vec<RoundConditions> {
        let of = |(index, trial): (usize, &&Trial)| RoundConditions {
            spent: experiment.calendar_time.map(|calendar_time| {
                share_spent(passed(experiment, calendar_time, trial, index + 1 == bases.len()))
            }),
            load: trial.gauges.get(names::IMAGE_ROUND).map(|round| round as u32),
        };
        bases.iter().enumerate().map(of).collect()
    }
}

/// How many budgets had passed when a trial was measured, or by now after the last.
fn passed(experiment: &Experiment, calendar_time: CalendarTime, trial: &Trial, is_last: bool) -> f64 {
    let seconds = match trial.gauges.get(names::CALENDAR_SECONDS) {
        _ if is_last => calendar_time.passed_seconds,
        Some(seconds) if trial.measured_by == experiment.id => seconds,
        // Another experiment's calendar says nothing of this one's.
        _ => 0.0,
    };
    seconds / calendar_time.budget_seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_spends_nine_tenths_and_more_time_never_all() {
        let shares = [0.0, 0.5, 1.0, 2.0, 10.0].map(share_spent);
        for (share, expected) in shares.iter().zip([0.0, 0.225, 0.9, 0.95, 0.99]) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
        assert!(share_spent(1.0 + 1e-9) >= share_spent(1.0) && share_spent(1e9) < 1.0);
    }
}
