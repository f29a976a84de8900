//! What identifies the results of a plan.

use basecase_model::{CandidateFacts, Cell, Dbms, HostFacts, PROTOCOL_REVISION, hexadecimal};
use basecase_server::{Plant, Transport};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::transport_name;
use crate::request::{Placement, Places, Replicate, Request};
use crate::workload::Outline;

/// The cells of the steps of all candidates.
pub(super) fn cells(
    facts: &[CandidateFacts],
    replicates: &[Option<Replicate>],
    request: &Request,
    places: &Places,
    steps: &[Outline],
    placement: &Placement,
    host: &HostFacts,
) -> Vec<Vec<Cell>> {
    let of_candidate = |(facts, replicate): (&CandidateFacts, &Option<Replicate>)| {
        cells_of(facts, replicate.as_ref(), request, places, steps, placement, host)
    };
    facts.iter().zip(replicates).map(of_candidate).collect()
}

/// The cells of a candidate's steps.
fn cells_of(
    facts: &CandidateFacts,
    replicate: Option<&Replicate>,
    request: &Request,
    places: &Places,
    steps: &[Outline],
    placement: &Placement,
    host: &HostFacts,
) -> Vec<Cell> {
    let build = &facts.build;
    let identity = build.identity();
    let parameters = |number: usize| {
        let mut parameters = serde_json::json!({
            "sizes": request.workload.cell_sizes(number),
            "settle": request.settle,
            // Counting rows warms caches for the step after.
            "verify": request.verify,
            "transport": transport_name(places.transport.unwrap_or(Transport::published(build.dbms))),
        });
        // Without a limit the key stays that of results from before there was a choice.
        if let Some(limit) = request.settle_limit {
            parameters["settle_limit"] = limit.to_string().into();
        }
        if let Some(bytes) = facts.memory_limit_bytes {
            parameters["memory"] = bytes.into();
        }
        if let Some(mark) = places.timing.mark() {
            parameters["timing"] = mark.into();
        }
        if let Some(pin) = placement.cell_parameter() {
            parameters["pin"] = pin.into();
        }
        if let Some(Replicate { tag, plant }) = replicate {
            parameters["twin"] = serde_json::json!({ "tag": tag, "plant": plant });
            if plant.is_some() {
                parameters["twin"]["library"] = Plant::library_digest().into();
            }
        }
        // Rounds of one number are measured on every node, and counts on one.
        if let Some(node) = request.node.as_ref().filter(|_| !request.protocol.is_counts()) {
            parameters["node"] = node.number.into();
        }
        if let Some(protocol) = request.protocol.cell_parameters() {
            parameters["protocol"] = protocol;
        }
        if request.protocol.is_counts() {
            let changes_rows = request.workload.changes_rows(&steps[number].facts);
            add_parameters_of_counts(&mut parameters, build.dbms, request.workload.is_chain(), changes_rows);
        }
        parameters
    };
    steps
        .iter()
        .enumerate()
        .map(|(number, step)| Cell {
            build: identity.clone(),
            engine: facts.engine,
            config: facts.config.sha256.clone(),
            workload: request.workload.name().to_owned(),
            step: step.facts.name.clone(),
            parameters: parameters(number),
            host: host.id.clone(),
            protocol_revision: PROTOCOL_REVISION,
        })
        .collect()
}

/// How the work of a step is counted, beside what decides how long it takes.
fn add_parameters_of_counts(parameters: &mut Value, dbms: Dbms, is_chain: bool, changes_rows: bool) {
    // Sessions that load the library themselves have another allocator, which is up to a per cent of the work.
    if dbms.is_embedded() {
        parameters["sessions"] = "forked".into();
    }
    // With one load for all starts, its luck was in no interval.
    if is_chain {
        parameters["loads"] = "each start".into();
    }
    // When old versions of rows are removed decides how much it is to write.
    if dbms.has_threads() && changes_rows {
        parameters["purge"] = "held".into();
        // Pages of a cold index are read, or what changes in them is buffered, as it happens.
        parameters["indexes"] = "warm".into();
    }
}

/// Two candidates whose results could not be told apart.
pub(super) fn same_cell(cells: &[Vec<Cell>]) -> Option<(usize, usize)> {
    let first = |candidate: &Vec<Cell>| candidate.first().cloned();
    (0..cells.len()).find_map(|other| {
        let one = (0..other).find(|&one| first(&cells[one]) == first(&cells[other]))?;
        Some((one, other))
    })
}

/// The same cells in the same order are the same experiment.
pub(super) fn experiment_id(cells: &[Vec<Cell>]) -> String {
    let mut hasher = Sha256::new();
    for cell in cells.iter().flatten() {
        hasher.update(cell.key());
    }
    hexadecimal(&hasher.finalize()[..6])
}
