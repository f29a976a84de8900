//! A short uninterrupted piece of load on one candidate.

use serde::{Deserialize, Serialize};

/// A short uninterrupted piece of load on one candidate, interleaved with those of others in the same round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Pass within the round, from 0.
    pub pass: u32,
    /// Position among the slices of the step in this round over all candidates, from 0: they alternate in this order.
    pub position: u32,
    /// When it opened, µs after the first slice of the step in this round began.
    pub opened_us: u64,
    /// From the first operation that counts to the last answer, µs; the longest over all roles.
    pub length_us: f64,
    /// Operations that count, in the unit of the step's headline.
    pub operations: u64,
    /// Operations per second: the sum over the roles of each one's operations divided by the time that it worked.
    pub rate: f64,
    /// Operations of events that began before it opened, right after the switch from another candidate.
    pub warm_up_operations: u64,
    /// CPU time of all processes of the server, from before the switch until all operations were answered, µs.
    pub server_cpu_us: Option<f64>,
    /// CPU time of all processors that neither the server nor the client used meanwhile, µs. The host counts in ticks of some ms, so it can
    /// be below 0.
    pub others_cpu_us: Option<f64>,
    /// Time of all processors that the hypervisor gave to others meanwhile, µs.
    pub steal_us: Option<f64>,
    /// Time of one iteration of a fixed loop of integer arithmetic right before its pass, ns: the speed of the processor.
    pub canary_ns: Option<f64>,
}

impl Slice {
    /// Server CPU time per operation, µs: over all operations that the time was spent on.
    pub fn server_cpu_us_per_operation(&self) -> Option<f64> {
        let executed = self.operations + self.warm_up_operations;
        Some(self.server_cpu_us? / executed as f64).filter(|cost| cost.is_finite())
    }
}
