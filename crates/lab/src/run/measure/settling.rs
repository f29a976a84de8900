//! Settles the debt of a step before the next one.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use basecase_load::Limits;
use basecase_model::Measures;
use basecase_server::{POLL_INTERVAL, Settle, Settling, settle};

use crate::observer::Phase;
use crate::plan::{Candidate, Plan};
use crate::run::Run;
use crate::run::bench::Bench;
use crate::run::deployment::LiveDeployment;

/// How long settling took, and whether it came to rest.
const SETTLE_SECONDS: &str = "settle.seconds";
const AT_REST: &str = "settle.at_rest";

impl<B: Bench> Run<'_, B> {
    /// Settles as the plan says. Returns how it went, and the debt that was left.
    pub(crate) fn settle(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
    ) -> Result<Measures> {
        self.phase(candidate, Phase::Settle(self.plan.settle));
        self.bench.settle(self.plan, deployment, &Limits { stop: self.stop, time: None })
    }
}

/// Settles a server. Returns how it went, and the debt that was left.
pub(crate) fn settle_deployment(
    plan: &Plan,
    deployment: &mut LiveDeployment,
    stop: &AtomicBool,
) -> Result<Measures> {
    let LiveDeployment { served, control, tables, .. } = deployment;
    let settling = Settling {
        mode: plan.settle,
        limit: plan.settle_limit,
        loaded_rows: plan.experiment.loaded_rows,
        poll_interval: plan.timing.of(POLL_INTERVAL),
    };
    let settled = settle(served.as_ref(), control.as_mut(), tables, settling, stop)?;
    let mut gauges = settled.debt;
    gauges.set(SETTLE_SECONDS, settled.seconds);
    gauges.set(AT_REST, f64::from(u8::from(settled.at_rest)));
    Ok(gauges)
}

/// The warning about a step that began with a debt that settling should have paid.
pub(crate) fn unrest(mode: Settle, settled: &Measures) -> Option<String> {
    if mode == Settle::Off || settled.get(AT_REST) != Some(0.0) {
        return None;
    }
    let seconds = settled.get(SETTLE_SECONDS).unwrap_or(0.0);
    let left: Vec<String> = settled
        .iter()
        .filter(|(_, value)| *value > 0.0)
        .filter_map(|(name, value)| Some(format!("{} {value}", name.strip_prefix("debt.")?)))
        .collect();
    let left = if left.is_empty() { "unknown".to_owned() } else { left.join(", ") };
    Some(format!(
        "what was put off was not at rest when the step began, after {seconds:.0} s of settling: {left}; --settle-limit allows more time"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_24_settling_without_rest_is_a_warning() {
        let settled = |at_rest| {
            let mut settled = Measures::new();
            for (name, value) in [
                (AT_REST, at_rest),
                (SETTLE_SECONDS, 60.0),
                ("debt.dirty_pages", 0.0),
                ("debt.unpurged_transactions", 481.0),
            ] {
                settled.set(name, value);
            }
            settled
        };
        assert_eq!(
            unrest(Settle::Condition, &settled(0.0)).as_deref(),
            Some(
                "what was put off was not at rest when the step began, after 60 s of settling: unpurged_transactions 481; --settle-limit allows more time"
            )
        );
        assert_eq!(unrest(Settle::Condition, &settled(1.0)), None);
        assert_eq!(unrest(Settle::Off, &settled(0.0)), None);
    }
}
