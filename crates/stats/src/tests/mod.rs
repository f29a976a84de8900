//! What the method as a whole promises, held against invented rounds whose truth is known.

mod change_points;
mod error_rates;
mod power;
mod properties;
pub(crate) mod simulation;

use crate::judge::Judge;
use crate::plan::{Plan, Sequential};

fn scheduled() -> Judge {
    Judge::new(Plan::default()).unwrap()
}

fn anytime() -> Judge {
    Judge::new(Plan { sequential: Sequential::Anytime, ..Plan::default() }).unwrap()
}
