//! What the method as a whole promises, tested on simulated rounds whose truth is known.

mod change_points;
mod error_rates;
mod long_run;
mod power;
mod properties;
pub(crate) mod simulation;

use crate::analysis_plan::{AnalysisPlan, Sequential};
use crate::comparison::{Comparison, Round};
use crate::interim_data::{Basis, InterimData};
use crate::judge::Judge;
use crate::reading::Reading;

fn scheduled() -> Judge {
    Judge::new(AnalysisPlan::default()).unwrap()
}

/// The reading of rounds at an error of 5 %, with all effects used as they are.
fn read_plain(judge: &Judge, rounds: &[Round]) -> Option<Reading> {
    let basis = Basis { has_stalls: false, rounds_each: 1, nodes: 1 };
    let effects: Vec<f64> = rounds.iter().map(|round| round.effect).collect();
    let data = |data: InterimData| InterimData { values: effects[..data.rounds].to_vec(), basis, ..data };
    let seen = judge.interim_data(&Comparison { rounds: rounds.to_vec(), margin: 1.0 });
    judge.read_data(rounds, &seen.into_iter().map(data).collect::<Vec<_>>(), 0.05)
}

/// Rounds of these effects.
fn rounds_of(effects: &[f64]) -> Vec<Round> {
    effects.iter().copied().map(Round::from).collect()
}

fn anytime() -> Judge {
    Judge::new(AnalysisPlan { sequential: Sequential::Anytime, ..AnalysisPlan::default() }).unwrap()
}
