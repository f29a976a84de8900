//! How the time of a round is best divided among passes, sessions and the start.

use crate::luck::{Luck, LuckComponent};
use crate::signed_rank::median;

/// How many degrees of freedom the scatter of starts of the median step is worth beside that of one step: a few rounds of one step tell little
/// of its own starts.
const FREEDOM_OF_MEDIAN: f64 = 4.0;

/// The variances of a step's difference to the base case, by where they come from. In squared logarithms, averaged over contenders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepVariances {
    /// Of single passes.
    pub pass: f64,
    /// Of sessions; 0 if passes explain it.
    pub session: f64,
    /// Of starts, and of loads with them; 0 if sessions explain it.
    pub start: f64,
}

/// What a unit costs beside the units within it, in any unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitCosts {
    /// One pass.
    pub pass: f64,
    /// A new session.
    pub session: f64,
    /// What a step of a round takes before and after it is measured: its share of the start, and the warm-up.
    pub start: f64,
}

/// How often a step is repeated within a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allocation {
    /// Passes of each session; infinite if sessions do not differ.
    pub passes_of_session: f64,
    /// Sessions of each round; infinite if starts do not differ.
    pub sessions: f64,
}

impl StepVariances {
    /// Of several steps, each with the components of its contenders; `None` where starts were not repeated. The variance of starts is put
    /// together from that of the step and that of the median step.
    pub fn of_steps(steps: &[Vec<Luck>]) -> Vec<Option<StepVariances>> {
        let starts: Vec<Option<(f64, f64)>> = steps.iter().map(|lucks| of_starts(lucks)).collect();
        let mut known: Vec<f64> = starts.iter().flatten().map(|(variance, _)| *variance).collect();
        let of_median = if known.is_empty() { 0.0 } else { median(&mut known) };
        let of_step = |(lucks, start): (&Vec<Luck>, Option<(f64, f64)>)| {
            let (own, freedom) = start?;
            Some(StepVariances {
                pass: mean_variance(lucks, |luck| Some(luck.pass)),
                session: mean_variance(lucks, |luck| luck.session),
                start: (freedom * own + FREEDOM_OF_MEDIAN * of_median) / (freedom + FREEDOM_OF_MEDIAN),
            })
        };
        steps.iter().zip(starts).map(of_step).collect()
    }
}

/// The variance of starts with that of loads, and the degrees of freedom of the larger part; `None` if neither was repeated.
fn of_starts(lucks: &[Luck]) -> Option<(f64, f64)> {
    let parts = lucks.iter().flat_map(|luck| [luck.start, luck.image]).flatten();
    let freedom = parts.map(|part| part.freedom).max().filter(|freedom| *freedom > 0)?;
    let variance = mean_variance(lucks, |luck| luck.start) + mean_variance(lucks, |luck| luck.image);
    Some((variance, freedom as f64))
}

/// The mean of a component's variance over contenders; what one does not have is part of what lies within it.
fn mean_variance(lucks: &[Luck], component: impl Fn(&Luck) -> Option<LuckComponent>) -> f64 {
    let variances = lucks.iter().map(|luck| component(luck).map_or(0.0, |component| component.sd.powi(2)));
    variances.sum::<f64>() / lucks.len().max(1) as f64
}

impl Allocation {
    /// The allocation that makes the variance of a mean over rounds smallest for the time that they take together, whatever the time:
    /// a unit is repeated √(cost above it / its cost · its variance / variance above it) times (Cochran 1977, Sampling Techniques, section
    /// 10.6; Kalibera & Jones 2013, section 7.1).
    pub fn best(variances: StepVariances, costs: UnitCosts) -> Allocation {
        let passes_of_session = repetitions([costs.session, costs.pass], [variances.session, variances.pass]);
        Allocation {
            passes_of_session,
            sessions: Allocation::sessions_of(passes_of_session, variances, costs),
        }
    }

    /// The best number of passes where a round has one session, so that sessions scatter as starts do.
    pub fn passes_of_one_session(variances: StepVariances, costs: UnitCosts) -> f64 {
        repetitions([costs.start, costs.pass], [variances.start + variances.session, variances.pass])
    }

    /// The best number of sessions, each of which has so many passes.
    pub fn sessions_of(passes_of_session: f64, variances: StepVariances, costs: UnitCosts) -> f64 {
        if passes_of_session.is_infinite() {
            return 1.0;
        }
        let of_session = variances.session + variances.pass / passes_of_session;
        let cost = costs.session + passes_of_session * costs.pass;
        repetitions([costs.start, cost], [variances.start, of_session])
    }
}

/// How often a unit is repeated, given costs and variances of [the one above it, itself].
fn repetitions([cost_above, cost]: [f64; 2], [variance_above, variance]: [f64; 2]) -> f64 {
    if variance_above > 0.0 { (cost_above / cost * variance / variance_above).sqrt() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: UnitCosts = UnitCosts { pass: 0.12, session: 0.2, start: 6.0 };

    /// The variance of a mean over as many rounds as an hour holds.
    fn uncertainty(allocation: Allocation, variances: StepVariances) -> f64 {
        let Allocation { passes_of_session, sessions } = allocation;
        let cost = COSTS.start + sessions * (COSTS.session + passes_of_session * COSTS.pass);
        let variance = variances.start + (variances.session + variances.pass / passes_of_session) / sessions;
        variance * cost / 3600.0
    }

    #[test]
    fn no_other_allocation_tells_more_in_the_same_time() {
        for [pass, session, start] in [[0.05, 0.02, 0.01], [0.01, 0.03, 0.01], [0.1, 0.005, 0.02]] {
            let variances =
                StepVariances { pass: pass * pass, session: session * session, start: start * start };
            let best = Allocation::best(variances, COSTS);
            for (more, factor) in [(0, 0.7), (0, 1.4), (1, 0.7), (1, 1.4)] {
                let mut other = best;
                if more == 0 {
                    other.passes_of_session *= factor;
                } else {
                    other.sessions *= factor;
                }
                assert!(uncertainty(other, variances) > uncertainty(best, variances), "{best:?} {other:?}");
            }
        }
    }

    #[test]
    fn what_does_not_differ_is_not_drawn_again() {
        let alike = StepVariances { pass: 1e-4, session: 0.0, start: 1e-4 };
        let best = Allocation::best(alike, COSTS);
        assert_eq!((best.passes_of_session, best.sessions), (f64::INFINITY, 1.0));
        let one_start = StepVariances { pass: 1e-4, session: 1e-4, start: 0.0 };
        assert_eq!(Allocation::best(one_start, COSTS).sessions, f64::INFINITY);
    }

    fn luck(session: f64, start: f64, freedom: usize) -> Luck {
        let component = |sd| LuckComponent { sd, draws: freedom + 1, freedom };
        Luck {
            pass: component(0.05),
            session: Some(component(session)),
            start: Some(component(start)),
            image: None,
        }
    }

    #[test]
    fn starts_of_a_step_resemble_those_of_the_median_step_while_there_are_few() {
        let steps = |freedom| {
            let of_steps = StepVariances::of_steps(&[
                vec![luck(0.01, 0.0, freedom), luck(0.03, 0.0, freedom)],
                vec![luck(0.01, 0.02, freedom)],
                Vec::new(),
            ]);
            assert_eq!(of_steps[2], None, "it was not repeated");
            [of_steps[0].unwrap(), of_steps[1].unwrap()]
        };
        let [one, other] = steps(1);
        assert!((one.session - (0.01_f64.powi(2) + 0.03_f64.powi(2)) / 2.0).abs() < 1e-12);
        assert!((one.pass - 0.0025).abs() < 1e-12);
        assert!(one.start > 0.0 && one.start < other.start && other.start < 0.02_f64.powi(2));
        let [of_many, _] = steps(100);
        assert!(of_many.start < one.start / 5.0);
    }
}
