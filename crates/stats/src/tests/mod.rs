//! What the method as a whole promises, held against invented rounds whose truth is known.

mod change_points;
mod error_rates;
mod long_run;
mod power;
mod properties;
pub(crate) mod simulation;

use crate::comparison::Comparison;
use crate::glance::{Basis, Glance};
use crate::judge::Judge;
use crate::plan::{Plan, Sequential};

fn scheduled() -> Judge {
    Judge::new(Plan::default()).unwrap()
}

/// The looks at effects, all of which they take as they are.
fn plain(judge: &Judge, effects: &[f64]) -> Vec<Glance> {
    let basis = Basis { has_stalls: false, rounds_each: 1 };
    let glance = |glance: Glance| Glance { values: effects[..glance.rounds].to_vec(), basis, ..glance };
    judge.glances(&Comparison::of_effects(effects, 1.0)).into_iter().map(glance).collect()
}

fn anytime() -> Judge {
    Judge::new(Plan { sequential: Sequential::Anytime, ..Plan::default() }).unwrap()
}
