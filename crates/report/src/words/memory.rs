//! Limits on the memory of servers, in words.

use basecase_analysis::Results;
use basecase_model::{CandidateFacts, Experiment};

/// A table's caption with the limit on memory that its numbers were measured with, if there is one.
pub(crate) fn caption(experiment: &Experiment, caption: &str) -> String {
    match limit(experiment) {
        Some(limit) => format!("{caption} ({limit})"),
        None => caption.to_owned(),
    }
}

/// The limit of all servers in a few words; `None` if there is none.
fn limit(experiment: &Experiment) -> Option<String> {
    let limits = limits(experiment);
    match limits.as_slice() {
        [] | [None] => None,
        [Some(bytes)] => Some(format!("memory: {}", mib(*bytes))),
        several => {
            let told: Vec<String> =
                several.iter().map(|limit| limit.map_or("no limit".to_owned(), mib)).collect();
            Some(format!("memory: {}", told.join(" or ")))
        }
    }
}

/// The limits, each once, in the order of the candidates.
fn limits(experiment: &Experiment) -> Vec<Option<u64>> {
    let mut limits: Vec<Option<u64>> = Vec::new();
    for CandidateFacts { memory_limit_bytes, .. } in &experiment.candidates {
        if !limits.contains(memory_limit_bytes) {
            limits.push(*memory_limit_bytes);
        }
    }
    limits
}

/// A note that candidates had different amounts of memory; `None` if they had the same.
pub(crate) fn different_limits(experiment: &Experiment) -> Option<String> {
    if limits(experiment).len() < 2 {
        return None;
    }
    let of = |facts: &CandidateFacts| {
        format!("{} {}", facts.name, facts.memory_limit_bytes.map_or("no limit".to_owned(), mib))
    };
    let each: Vec<String> = experiment.candidates.iter().map(of).collect();
    Some(format!(
        "The servers had different limits on memory, so a difference between them may come from that: {}.",
        each.join(", ")
    ))
}

/// A warning that a size which was meant to be IO-bound is not; `None` if it is, or was not meant to be.
pub(crate) fn cached(results: &Results<'_>) -> Option<String> {
    let names = results.unexpectedly_cached();
    (!names.is_empty()).then(|| {
        format!(
            "this size was published as IO-bound, and no step was here: the database fits in memory; load more rows, or limit memory with --memory ({})",
            names.join(", ")
        )
    })
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn captions_tell_the_limit_and_a_note_that_it_differs() {
        let (mut experiment, _) = fixture::sample();
        let table = "Table 1: throughput";
        assert_eq!(caption(&experiment, table), "Table 1: throughput");
        for candidate in &mut experiment.candidates {
            candidate.memory_limit_bytes = Some(300 << 20);
        }
        assert_eq!(caption(&experiment, table), "Table 1: throughput (memory: 300 MiB)");
        assert_eq!(different_limits(&experiment), None);
        experiment.candidates[0].memory_limit_bytes = None;
        assert_eq!(caption(&experiment, table), "Table 1: throughput (memory: no limit or 300 MiB)");
        let note = different_limits(&experiment).unwrap();
        let name = &experiment.candidates[0].name;
        assert!(note.contains(&format!("{name} no limit, ")) && note.contains("300 MiB"), "{note}");
    }
}
