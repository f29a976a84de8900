//! With which of many candidates a step changed: what is measured to find out, one experiment after the other.

use anyhow::{Context, Result, bail};
use basecase_model::{Experiment, StepFacts, Trial};
use basecase_stats::{Bisection, BisectionEvidence, BisectionProbe, JudgedMetric, Judgement, WorkCourse};

use crate::request::{CandidateSpec, Protocol, Request, Rounds};

/// A search for the candidate with which a step changed, among those of a request in their order. It decides by work if the request is one
/// of counts, otherwise by throughput in rounds.
#[derive(Debug, Clone)]
pub struct Search {
    request: Request,
    step: String,
    label: String,
    bisection: Bisection,
}

/// What is to be measured next.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The candidate that is asked about, by its number in the request. It is the second one here, after the first of all.
    pub candidate: usize,
    /// The numbers that the candidates of the experiment have in the search.
    pub numbers: Vec<usize>,
    /// The experiment.
    pub request: Request,
    /// See [`crate::RunOptions::keeps_margins`].
    pub keeps_margins: bool,
}

impl Search {
    /// Of the step with this name or label; without one, of the only step that the request compares.
    ///
    /// # Errors
    /// When there are fewer than three candidates, or it is not clear which step is meant.
    pub fn new(request: Request, wanted: Option<&str>) -> Result<Self> {
        let bisection = Bisection::new(request.candidates.len()).with_context(|| {
            format!(
                "{} candidates have none between them where a change could have begun\nhint: name three or more, the oldest first; two are for `basecase compare`",
                request.candidates.len()
            )
        })?;
        let outlines = request.workload.outlines().into_iter().map(|outline| outline.facts);
        let steps: Vec<StepFacts> = outlines.filter(StepFacts::is_compared).collect();
        let known = || steps.iter().map(|step| step.label.as_str()).collect::<Vec<_>>().join(", ");
        let meant = match wanted {
            Some(wanted) => StepFacts::named(&steps, wanted),
            None => (0..steps.len()).collect(),
        };
        let (step, label) = match (&meant[..], wanted) {
            ([step], _) => (steps[*step].name.clone(), steps[*step].label.clone()),
            ([], Some(wanted)) => {
                bail!("the workload has no step {wanted}\nhint: --step names one of these: {}", known())
            }
            _ => bail!(
                "{} steps match, and a change is searched for in one step\nhint: --step names one of these: {}",
                meant.len(),
                known()
            ),
        };
        Ok(Search { request, step, label, bisection })
    }

    /// What to measure next; `None` when the search has ended.
    pub fn probe(&self) -> Option<Probe> {
        let last = self.request.candidates.len() - 1;
        let (candidate, numbers, margin) = match self.bisection.probe()? {
            BisectionProbe::Last => (last, vec![0, last], None),
            BisectionProbe::Middle { version, margin } => (version, vec![0, version, last], Some(margin)),
        };
        let in_rounds = |asked: Rounds| Protocol::Rounds(Rounds { detect: margin.or(asked.detect), ..asked });
        let protocol = match &self.request.protocol {
            Protocol::Rounds(rounds) => in_rounds(rounds.clone()),
            Protocol::Classic => in_rounds(Rounds::default()),
            Protocol::Counts(engine) => Protocol::Counts(*engine),
        };
        let keeps_margins = margin.is_some() && !self.is_by_work();
        let candidates: Vec<CandidateSpec> =
            numbers.iter().filter_map(|number| self.request.candidates.get(*number).cloned()).collect();
        let name = Request::named_after(&candidates);
        let request = Request { name, candidates, protocol, ..self.request.clone() };
        Some(Probe { candidate, numbers, request, keeps_margins })
    }

    /// Whether it decides by work.
    pub fn is_by_work(&self) -> bool {
        self.request.protocol.is_counts()
    }

    /// Takes in what the rounds of [`Search::probe`] came to.
    ///
    /// # Errors
    /// When a trial holds impossible values.
    pub fn learn_rounds(&mut self, experiment: &Experiment, trials: &[Trial]) -> Result<()> {
        let judgement = Judgement::of(experiment, trials)?;
        let step = experiment.steps.iter().position(|step| step.name == self.step);
        let decision = step.and_then(|step| judgement.decision(JudgedMetric::Throughput, step, 1));
        self.bisection.learn(decision.map(BisectionEvidence::Throughput))?;
        Ok(())
    }

    /// Takes in what was counted of all candidates so far; `margin` is the smallest change from first to last that matters, as a logarithm.
    ///
    /// # Errors
    /// When counts hold impossible values.
    pub fn learn_counts(&mut self, course: &WorkCourse, margin: f64) -> Result<()> {
        self.bisection.learn(Some(BisectionEvidence::Work { course, margin }))?;
        Ok(())
    }

    /// Name of the step.
    pub fn step(&self) -> &str {
        &self.step
    }

    /// What the step is called in tables.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The candidates as the user wrote them.
    pub fn candidates(&self) -> Vec<String> {
        self.request.candidates.iter().map(ToString::to_string).collect()
    }

    /// How far it has come.
    pub fn bisection(&self) -> &Bisection {
        &self.bisection
    }
}
