//! Why there is no finding.

use basecase_stats::{HistoryError, JudgementError, WorkError};
use thiserror::Error;

/// Why there is no finding.
#[derive(Debug, Error)]
pub enum Error {
    /// Nothing in the experiment has that name.
    #[error("the experiment has no {what} `{name}`\nhint: {}", alternatives(name, known))]
    Unknown {
        /// What was sought.
        what: &'static str,
        /// Its name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// No cell of the experiment has that key.
    #[error(
        "the experiment has no cell whose key begins with {0}\nhint: `basecase store show` prints the keys; a step, or CANDIDATE/STEP, names \
         cells as well"
    )]
    UnknownKey(String),
    /// Several cells have it.
    #[error("the keys of {} cells begin with {beginning}\nhint: give more digits: {}", known.len(), known.join(", "))]
    AmbiguousKey {
        /// What was given of a key.
        beginning: String,
        /// The cells.
        known: Vec<String>,
    },
    /// The base case was named, with which the others are compared.
    #[error("{name} is the base case, with which the others are compared\nhint: name one of the others: {}", others.join(", "))]
    BaseCase {
        /// Its name.
        name: String,
        /// The other candidates.
        others: Vec<String>,
    },
    /// There is only a base case.
    #[error(
        "the experiment has only one candidate, and nothing to compare it with\nhint: name two or more in `basecase compare`; the first is \
         the base case"
    )]
    Alone,
    /// What was named has no result.
    #[error(
        "nothing was measured that explains {0}: it takes a complete trial of the base case and of a candidate\nhint: `basecase store show` \
         tells which trials failed; the command of the run measures what is missing"
    )]
    NotMeasured(String),
    /// No cell differs from the base case by more than the thresholds.
    #[error(
        "there is nothing to explain: no measured cell is beyond the thresholds\nhint: name a step to explain it anyway"
    )]
    NothingBeyond,
    /// There are no two versions to compare.
    #[error(
        "there is no history: no step was measured on two candidates, in the same round where the experiment has rounds\nhint: `basecase \
         store show` tells which trials failed; the command of the run measures what is missing"
    )]
    NoHistory,
    /// Versions of several dates were requested, but the experiment was not measured in rounds.
    #[error(
        "only experiments in rounds can be joined by date: their versions are compared with a base case in the same round\nhint: without \
         --dates the candidates of one experiment are compared; `basecase compare … --rounds 5` measures in rounds"
    )]
    DatesOfSingleRuns,
    /// An experiment of a history has rounds that cannot be judged.
    #[error("the rounds of experiment {id} ({name}) cannot be judged: {reason}")]
    Unjudged {
        /// Its id.
        id: String,
        /// Its name.
        name: String,
        /// Why.
        reason: JudgementError,
    },
    /// A trial holds an invalid number.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// Counts cannot be judged.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// No step of an experiment in rounds has changed, as far as is decided.
    #[error(
        "there is nothing to explain: no step is decided to have changed\nhint: name a step to explain it anyway"
    )]
    NothingChanged,
}

/// The least similarity, 0 to 1, at which one name is taken for a misspelling of the other.
const ALIKE: f64 = 0.75;

/// All known names, preceded by the one that is most similar to `name`.
fn alternatives(name: &str, known: &[String]) -> String {
    let likeness = |known: &String| strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase());
    let nearest = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let all = known.join(", ");
    match nearest.filter(|nearest| likeness(nearest) > ALIKE) {
        Some(nearest) => format!("did you mean `{nearest}`? There are {all}"),
        None => format!("there are {all}"),
    }
}
