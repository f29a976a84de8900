//! Candidates that are one build and config with slowdowns of known size planted: what finds them on this machine?

use anyhow::{Context, Result};
use basecase_model::{CandidateName, Trial, names};
use basecase_server::Plant;

use super::Slowdown;
use crate::request::{CandidateSpec, Protocol, Replicate, Request, Rounds};

/// Spins of the run that finds out what one takes.
const PROBE_SPINS: u32 = 2_000;

/// The candidates of a calibration.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// What is run; its candidates are replaced.
    request: Request,
    candidate: CandidateSpec,
}

impl Calibration {
    /// Of the build and config that `request` names first.
    ///
    /// # Errors
    /// When it names none, or one in whose server nothing can be planted, or asks for more than one connection: sessions that share
    /// processors wait for each other's spins, so that far more is lost than was planted.
    pub fn new(request: Request) -> Result<Self> {
        let candidate = request.candidates.first().cloned().context("no candidate is named")?;
        if candidate.is_url() || candidate.dbms().is_embedded() {
            anyhow::bail!(
                "nothing can be planted in {candidate}: it is not a server that basecase starts\nhint: name a build, e.g. postgres:18.6"
            );
        }
        let connections = request.workload.sessions();
        if connections > 1 {
            anyhow::bail!(
                "this run opens {connections} connections, and what is planted in one holds up the others\n\
                 hint: calibrate steps of one connection, e.g. --workload microbenchmarks --list point-query"
            );
        }
        Ok(Calibration { request, candidate })
    }

    /// One round of it with nothing and with something planted, which shows what spins cost.
    pub fn probe(&self) -> Request {
        self.with(vec![
            replicate("_nothing", Plant::NONE),
            replicate("_probe", Plant { spins: PROBE_SPINS, ..Plant::NONE }),
        ])
    }

    /// The base case, and `copies` of itself and of each of these slowdowns of the step that the trials of
    /// [`Calibration::probe`] are of first.
    ///
    /// # Errors
    /// When the probe has no complete trials.
    pub fn planted(&self, probe: &[Trial], slowdowns: &[Slowdown], copies: usize) -> Result<Request> {
        let trial_of = |tag: &str| {
            let is_of = |trial: &&Trial| {
                trial.is_complete() && trial.candidate.ends_with(tag) && !trial.slices.is_empty()
            };
            probe
                .iter()
                .find(is_of)
                .context("the probe run that measures what spins cost has no complete trial")
        };
        let spin = trial_of("_probe")?;
        let base = probe.iter().find(|trial| {
            trial.step == spin.step && trial.candidate.ends_with("_nothing") && trial.is_complete()
        });
        let base = base.context("the probe run that measures what spins cost has no base case")?;
        let spin_us = (per_message_us(spin)? - per_message_us(base)?) / f64::from(PROBE_SPINS);
        let threads = base.roles.len() as f64;
        let rate = base.slices.iter().map(|slice| slice.rate).sum::<f64>() / base.slices.len() as f64;
        let statement_us = threads * 1e6 / rate;
        let planted =
            slowdowns.iter().map(|slowdown| (slowdown.tag(), slowdown.plant(statement_us, spin_us)));
        let kinds = std::iter::once(("_same".to_owned(), Plant::NONE)).chain(planted);
        let copied = kinds.flat_map(|(tag, plant)| {
            (0..copies).map(move |copy| replicate(&format!("{tag}{}", CandidateName::again(copy)), plant))
        });
        Ok(self.with(std::iter::once(replicate("_base", Plant::NONE)).chain(copied).collect()))
    }

    fn with(&self, replicates: Vec<Replicate>) -> Request {
        let candidates = vec![self.candidate.clone(); replicates.len()];
        Request { name: "calibration".to_owned(), candidates, replicates, ..self.request.clone() }
    }
}

/// A change that no number of rounds rules out, so that none is left out.
const TOO_SMALL: f64 = 0.0001;

/// The request for rounds of the build and config that `request` names first against itself, in which nothing is ever decided, and how many
/// rounds that is: those that it asks for, or else `usual`.
///
/// # Errors
/// When it names no candidate, or one that is already running: nobody starts that anew.
pub fn luck_request(request: Request, usual: u32) -> Result<(Request, u32)> {
    let candidate = request.candidates.first().cloned().context("no candidate is named")?;
    if candidate.is_url() {
        anyhow::bail!(
            "{candidate} is a server that basecase does not start, and starts and loads are what is drawn\nhint: name a build, e.g. postgres:18.6"
        );
    }
    let asked = match request.protocol {
        Protocol::Rounds(rounds) => rounds,
        _ => Rounds::default(),
    };
    let rounds = asked.most.unwrap_or(usual);
    let protocol = Protocol::Rounds(Rounds { detect: Some(TOO_SMALL), most: Some(rounds), ..asked });
    let candidates = vec![candidate; 2];
    Ok((Request { name: "luck".to_owned(), candidates, protocol, replicates: Vec::new(), ..request }, rounds))
}

fn replicate(tag: &str, plant: Plant) -> Replicate {
    Replicate { tag: tag.to_owned(), plant: Some(plant) }
}

/// Time that was planted after each message, with what the clocks take, µs.
fn per_message_us(trial: &Trial) -> Result<f64> {
    let planted = trial.gauges.get(names::PLANTED_US).zip(trial.gauges.get(names::PLANTED_CALLS));
    let (planted_us, calls) = planted.filter(|(_, calls)| *calls > 0.0).with_context(|| {
        format!(
            "nothing was planted in {}: its server receives messages otherwise than by recv(2)",
            trial.candidate
        )
    })?;
    Ok(planted_us / calls)
}
