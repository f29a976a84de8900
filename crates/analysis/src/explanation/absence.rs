//! What an explanation lacks because trial or server did not provide it.

use basecase_model::{CandidateFacts, Observation, Trial, names};

/// Something that a trial or its server did not provide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Tracks: numbers over time.
    Tracks,
    /// What sessions waited for.
    Waits,
    /// Plans of statements.
    Plans,
    /// The server's own counters.
    Counters,
    /// Settings as the server ran.
    Settings,
}

/// What is not known about a candidate on a step.
pub(super) fn absent(facts: &CandidateFacts, trial: &Trial) -> Vec<Absent> {
    let is_server = !facts.build.dbms.is_embedded();
    let is_unwatched = trial.observation == Observation::Off;
    let all = [
        (is_unwatched, Absent::Tracks),
        (is_unwatched && is_server, Absent::Waits),
        (is_unwatched && trial.plans.is_empty(), Absent::Plans),
        (is_server && trial.counters.get(names::SERVER_CACHE_REQUESTS).is_none(), Absent::Counters),
        (is_server && facts.running.is_empty(), Absent::Settings),
    ];
    all.into_iter().filter(|(is_absent, _)| *is_absent).map(|(_, what)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_an_older_basecase_did_not_keep_is_known() {
        let (experiment, _) = fixture::sample();
        let [pg, _, _, sqlite] = experiment.candidates.as_slice() else { panic!("four candidates") };
        let unwatched = Trial { observation: Observation::Off, ..fixture::empty_trial() };
        let mut watched = Trial { observation: Observation::Usual, ..fixture::empty_trial() };
        watched.counters.set(names::SERVER_CACHE_REQUESTS, 1.0);
        let mut untold = pg.clone();
        untold.running.clear();
        assert_eq!(absent(pg, &watched), []);
        assert_eq!(absent(pg, &unwatched), [Absent::Tracks, Absent::Waits, Absent::Plans, Absent::Counters]);
        assert_eq!(absent(&untold, &watched), [Absent::Settings]);
        assert_eq!(absent(sqlite, &unwatched), [Absent::Tracks, Absent::Plans], "no server");
    }
}
