//! Candidates of the same build and config.

use anyhow::{Result, bail};
use basecase_model::{CandidateFacts, CandidateName};
use basecase_server::Plant;

use super::{Protocol, Request};

/// What tells a candidate from another of the same build and config.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicate {
    /// The suffix of its name.
    pub tag: String,
    /// What is planted in its server.
    pub plant: Option<Plant>,
}

/// The replicates among the candidates: those that the request tells apart, and in rounds repeated candidates, which show how far one differs
/// from itself. Their tags are appended to the names.
///
/// # Errors
/// When a candidate is repeated although each is measured once.
pub(crate) fn replicates(request: &Request, facts: &mut [CandidateFacts]) -> Result<Vec<Option<Replicate>>> {
    let mut replicates: Vec<Option<Replicate>> = Vec::with_capacity(facts.len());
    let names: Vec<_> = facts.iter().map(|facts| facts.name.clone()).collect();
    for (index, facts) in facts.iter_mut().enumerate() {
        let times = names[..index].iter().filter(|name| **name == facts.name).count();
        let replicate = match request.replicates.get(index) {
            Some(replicate) => Some(replicate.clone()),
            None if times == 0 => None,
            None if request.protocol == Protocol::Classic => bail!(
                "candidate {} is named twice\nhint: name each build with each config once; in rounds, as with --rounds 10, a repeated candidate shows \
                 how far it differs from itself",
                facts.name
            ),
            None => Some(Replicate { tag: CandidateName::again(times), plant: None }),
        };
        if let Some(replicate) = &replicate {
            facts.name.0.push_str(&replicate.tag);
        }
        replicates.push(replicate);
    }
    Ok(replicates)
}
