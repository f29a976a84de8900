//! How much of the error may be spent by when, where an experiment has a budget.

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

/// The share that an analysis after each of these rounds may have spent; `None` where the experiment has no calendar. `bases` are the base
/// case's trials of one step, in the order in which they were measured. After the last of them, all that has passed by now counts: nothing
/// more was learnt since.
pub fn shares_spent(experiment: &Experiment, bases: &[&Trial]) -> Vec<Option<f64>> {
    let Some(CalendarTime { budget_seconds, passed_seconds }) = experiment.calendar_time else {
        return vec![None; bases.len()];
    };
    let share = |seconds: f64| share_spent(seconds / budget_seconds);
    let own = |trial: &&Trial| {
        let seconds = trial.gauges.get(names::CALENDAR_SECONDS).unwrap_or(0.0);
        // Another experiment's calendar says nothing of this one's.
        Some(if trial.measured_by == experiment.id { share(seconds) } else { 0.0 })
    };
    let mut shares: Vec<Option<f64>> = bases.iter().map(own).collect();
    if let Some(last) = shares.last_mut() {
        *last = Some(share(passed_seconds));
    }
    shares
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
