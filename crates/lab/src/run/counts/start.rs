//! One start of a candidate's server, and the sessions that are counted in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use basecase_model::{CandidateFacts, StepCount};

use super::events::Events;
use super::server::{Server, Session};
use super::sqlite_session::SqliteSessions;
use super::windows::{SessionCount, windows};
use crate::message::explain;
use crate::plan::{Candidate, InstructionMeter, Plan};

/// The starts of one candidate for some steps.
pub(super) struct Start<'a> {
    pub(super) plan: &'a Plan,
    pub(super) meter: &'a InstructionMeter,
    pub(super) candidate: usize,
    /// Which of the candidate's starts it is, from 0.
    pub(super) number: u32,
    /// The steps: several only if none changes rows.
    pub(super) steps: Vec<usize>,
    /// The events of the sessions, by step.
    pub(super) events: &'a BTreeMap<usize, Events>,
    /// Its sessions, where they are those of SQLite.
    pub(super) sessions: &'a SqliteSessions<'a>,
    pub(super) stop: &'a AtomicBool,
}

/// What the sessions of one step did, as far as they went.
type StepSessions = Result<Vec<Session>>;

/// What a start told.
pub(super) struct Told {
    /// The count of each step.
    pub(super) counts: Vec<StepCount>,
    /// The candidate, completed by what its server reports while it is counted; `None` if no server got through its sessions.
    pub(super) facts: Option<CandidateFacts>,
}

impl Start<'_> {
    /// Counts the steps. One that fails says why in its count.
    pub(super) fn count(&self) -> Told {
        let started_at = jiff::Timestamp::now().to_string();
        let mut facts = None;
        let counted = if self.steps.iter().any(|step| changes_rows(self.plan, *step)) {
            self.in_starts_of_their_own(&mut facts)
        } else {
            self.in_one_start(&mut facts)
        };
        let results = match counted {
            Ok(results) => results,
            Err(error) => {
                let reason = explain(&error);
                self.steps.iter().map(|_| Err(anyhow::anyhow!(reason.clone()))).collect()
            }
        };
        let counts = self.steps.iter().zip(results);
        let counts = counts.map(|(&step, pairs)| self.step_count(step, &started_at, pairs)).collect();
        Told { counts, facts }
    }

    pub(super) fn candidate(&self) -> &Candidate {
        &self.plan.candidates[self.candidate]
    }

    /// The directory of the server: of each start its own, because several run at once. Its path is as long for all candidates, since a
    /// dbms takes longer with a longer path.
    pub(super) fn directory(&self) -> PathBuf {
        let steps = self.steps.first().copied().unwrap_or(0);
        let length = |candidate: &Candidate| candidate.directory.as_os_str().len();
        let longest = self.plan.candidates.iter().map(length).max().unwrap_or(0);
        let rest = "_".repeat(longest - length(self.candidate()));
        self.candidate().directory.join("counts").join(format!("{}-{steps}{rest}", self.number))
    }

    /// Two windows of each step, one step after the other. Before them, a session of the same statements fills the caches of a server.
    fn in_one_start(
        &self,
        facts: &mut Option<CandidateFacts>,
    ) -> Result<Vec<Result<Vec<[SessionCount; 2]>>>> {
        let mut server = Server::start(self, self.steps[0])?;
        let sessions: Vec<StepSessions> = self
            .steps
            .iter()
            .map(|&step| {
                let Events { shorter, longer } = self.events_of(step)?;
                let windows = server.windows();
                if !server.is_embedded() {
                    // One window alone has to be as warm as can be.
                    server.session(self, step, if windows == 1 { longer } else { shorter })?;
                }
                let lengths = [shorter, longer].into_iter().cycle().take(2 * windows);
                lengths.map(|events| server.session(self, step, events)).collect()
            })
            .collect();
        // After a failure the server may be gone, and the failure is what the user must be told.
        if sessions.iter().all(Result::is_ok) {
            *facts = Some(server.identify(self)?);
        }
        let counts = server.end()?;
        let pairs = |sessions: Vec<Session>| -> Result<Vec<[SessionCount; 2]>> {
            let of = |session: &Session| session.count(&counts);
            sessions.chunks_exact(2).map(|pair| Ok([of(&pair[0])?, of(&pair[1])?])).collect()
        };
        Ok(sessions.into_iter().map(|sessions| sessions.and_then(pairs)).collect())
    }

    /// One window of each step. Both of its sessions begin with the same data, each in a start of its own.
    fn in_starts_of_their_own(
        &self,
        facts: &mut Option<CandidateFacts>,
    ) -> Result<Vec<Result<Vec<[SessionCount; 2]>>>> {
        let mut alone = |step: usize, events: u64| -> Result<SessionCount> {
            let mut server = Server::start(self, step)?;
            let session = server.session(self, step, events);
            if session.is_ok() && facts.is_none() {
                *facts = Some(server.identify(self)?);
            }
            let counts = server.end()?;
            session?.count(&counts)
        };
        let pair = |&step: &usize| {
            let Events { shorter, longer } = self.events_of(step)?;
            Ok(vec![[alone(step, shorter)?, alone(step, longer)?]])
        };
        Ok(self.steps.iter().map(pair).collect())
    }

    fn events_of(&self, step: usize) -> Result<Events> {
        self.events.get(&step).copied().context("it was not found out how long an event takes")
    }

    /// The count of a step for which not even the events of its sessions could be found out.
    pub(super) fn failed(&self, step: usize, error: anyhow::Error) -> StepCount {
        self.step_count(step, &jiff::Timestamp::now().to_string(), Err(error))
    }

    fn step_count(&self, step: usize, started_at: &str, pairs: Result<Vec<[SessionCount; 2]>>) -> StepCount {
        let facts = &self.plan.steps[step].facts;
        let counted = pairs.and_then(|pairs| {
            windows(&pairs).with_context(|| {
                format!("{} ends too soon for a window\nhint: give it more rows", facts.label)
            })
        });
        let (counted, failure) = match counted {
            Ok(counted) => (counted, None),
            Err(error) => (Default::default(), Some(explain(&error))),
        };
        let mut warnings = Vec::new();
        if self.meter.callgrind().is_some_and(|callgrind| !callgrind.fixes_addresses()) {
            warnings.push(
                "addresses were randomised, because this process may not prevent it: counts scatter more"
                    .to_owned(),
            );
        }
        StepCount {
            cell: self.candidate().cells[step].key(),
            step: facts.name.clone(),
            candidate: self.candidate().facts.name.to_string(),
            start: self.number,
            started_at: started_at.to_owned(),
            engine: self.meter.engine(),
            engine_version: self.meter.version(&self.plan.experiment.host),
            failure,
            operation: facts.headline.class(),
            windows: counted.0,
            functions: counted.1,
            warnings,
        }
    }
}

/// Whether a step leaves other data than it begins with, so that each of its sessions needs a start of its own.
pub(super) fn changes_rows(plan: &Plan, step: usize) -> bool {
    plan.workload.changes_rows(&plan.steps[step].facts)
}
