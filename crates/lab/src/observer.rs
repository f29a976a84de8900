//! Who watches a run.

use std::sync::Arc;

use basecase_load::Progress;
use basecase_model::{StepFacts, Trial};

/// Something that happened in a run.
pub enum Event<'a> {
    /// What is being done besides measuring, e.g. `starting the server`.
    Phase {
        /// The candidate's printed name; empty before the first.
        candidate: &'a str,
        /// What is done.
        text: &'a str,
    },
    /// A step begins.
    StepBegins {
        /// The candidate's printed name.
        candidate: &'a str,
        /// The step's label.
        step: &'a str,
        /// How far it is, while it runs.
        progress: Arc<Progress>,
        /// Seconds that the step will probably take.
        seconds: f64,
        /// Seconds that the rest of the experiment will probably take after it.
        seconds_after: f64,
    },
    /// A trial is stored, now or since an earlier run.
    TrialStored {
        /// The trial.
        trial: &'a Trial,
        /// Its step.
        step: &'a StepFacts,
        /// Whether an earlier run measured it.
        was_found: bool,
        /// Trials stored or found in the store so far.
        done: usize,
        /// Trials of the whole experiment.
        all: usize,
    },
    /// A round is over.
    RoundEnds {
        /// The round, from 0.
        round: u32,
        /// How long it took.
        seconds: f64,
        /// Steps that it decided.
        decided: usize,
        /// Steps that are not decided yet.
        open: usize,
    },
    /// Something that the user should know.
    Note(&'a str),
}

/// Who watches a run.
pub trait Observer {
    /// Takes notice of an event.
    fn notice(&mut self, event: Event<'_>);
}
