//! What an explanation would hold if trial and server had told it.

use basecase_model::{CandidateFacts, Dbms, Observation, Trial, names};

/// What is not known of base case and candidate, a sentence for each, or one when it is the same.
pub(super) fn sentences(both: [(&CandidateFacts, &Trial); 2]) -> Vec<String> {
    let [base, candidate] = both.map(|(facts, trial)| (facts.name.0.as_str(), absent(facts, trial)));
    let takes_turns = both.iter().any(|(_, trial)| !trial.slices.is_empty());
    let reason =
        if takes_turns { "since candidates took turns" } else { "by --probe off or an older basecase" };
    let sentence =
        |names: &str, absent: &[&str]| format!("Not kept of {names}, {reason}: {}.", absent.join(", "));
    if base.1 == candidate.1 && !base.1.is_empty() {
        return vec![sentence(&format!("{} and {}", base.0, candidate.0), &base.1)];
    }
    let known = [base, candidate].into_iter().filter(|(_, absent)| !absent.is_empty());
    known.map(|(name, absent)| sentence(name, &absent)).collect()
}

fn absent(facts: &CandidateFacts, trial: &Trial) -> Vec<&'static str> {
    let is_server = facts.build.dbms != Dbms::Sqlite;
    let is_unwatched = trial.observation == Observation::Off;
    let all = [
        (is_unwatched, "numbers over time"),
        (is_unwatched && is_server, "what sessions waited for"),
        (is_unwatched && trial.plans.is_empty(), "plans"),
        (
            is_server && trial.counters.get(names::SERVER_CACHE_REQUESTS).is_none(),
            "the server's own counters",
        ),
        (is_server && facts.running.is_empty(), "settings as the server ran"),
    ];
    all.into_iter().filter(|(is_absent, _)| *is_absent).map(|(_, what)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_an_older_basecase_did_not_keep_is_said_once() {
        let (experiment, _) = fixture::sample();
        let [pg, newer, _, sqlite] = experiment.candidates.as_slice() else { panic!("four candidates") };
        let unwatched = Trial { observation: Observation::Off, ..fixture::empty_trial() };
        let mut watched = Trial { observation: Observation::Usual, ..fixture::empty_trial() };
        watched.counters.set(names::SERVER_CACHE_REQUESTS, 1.0);
        assert_eq!(sentences([(pg, &watched), (newer, &watched)]), Vec::<String>::new());
        assert_eq!(
            sentences([(pg, &unwatched), (newer, &unwatched)]),
            [
                "Not kept of pg1711.x10a and pg1711.x10b_sync_off, by --probe off or an older basecase: numbers over time, what sessions waited \
              for, plans, the server's own counters."
            ]
        );
        let mut untold = pg.clone();
        untold.running.clear();
        assert_eq!(
            sentences([(&untold, &watched), (sqlite, &unwatched)]),
            [
                "Not kept of pg1711.x10a, by --probe off or an older basecase: settings as the server ran.",
                "Not kept of sqlite3510.wal, by --probe off or an older basecase: numbers over time, plans."
            ]
        );
    }
}
