//! What the method as a whole promises, tested on simulated rounds whose truth is known.

mod change_points;
mod error_rates;
mod long_run;
mod power;
mod properties;
pub(crate) mod simulation;

use crate::analysis_plan::{AnalysisPlan, Sequential};
use crate::comparison::Comparison;
use crate::interim_data::{Basis, InterimData};
use crate::judge::Judge;

fn scheduled() -> Judge {
    Judge::new(AnalysisPlan::default()).unwrap()
}

/// The interim data of effects, all used as they are.
fn plain(judge: &Judge, effects: &[f64]) -> Vec<InterimData> {
    let basis = Basis { has_stalls: false, rounds_each: 1 };
    let data = |data: InterimData| InterimData { values: effects[..data.rounds].to_vec(), basis, ..data };
    judge.interim_data(&Comparison::of_effects(effects, 1.0)).into_iter().map(data).collect()
}

fn anytime() -> Judge {
    Judge::new(AnalysisPlan { sequential: Sequential::Anytime, ..AnalysisPlan::default() }).unwrap()
}
