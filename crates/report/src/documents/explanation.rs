//! Where the time went.

use basecase_analysis::{Error, Explanation, Results, Thresholds, cells};
use basecase_model::{PlanUses, StatementPlan};

use super::work;
use crate::documents::Block;
use crate::tables::explanation as tables;
use crate::words::{TWO_MODES, absences, change, executions, mode_lines, summary};

/// Most plans shown.
const PLANS: usize = 20;

/// The requested explanations.
///
/// # Errors
/// When nothing has the requested name, or nothing was measured under it.
pub(crate) fn compose(
    results: &Results<'_>,
    wanted: Option<&str>,
    thresholds: Thresholds,
) -> Result<Vec<Block>, Error> {
    let mut blocks = Vec::new();
    for (step, candidate) in cells(results, wanted, thresholds)? {
        let (Some(facts), Some(candidate_facts)) =
            (results.experiment.steps.get(step), results.experiment.candidates.get(candidate))
        else {
            continue;
        };
        let (work, times) =
            (work::of_cell(results, step, candidate), Explanation::of(results, step, candidate));
        if work.is_empty() && times.is_none() {
            continue;
        }
        blocks.push(Block::Heading(format!("{} on {}", candidate_facts.name, facts.label)));
        let has_work = !work.is_empty();
        blocks.extend(work);
        match times {
            Some(explanation) => {
                if has_work {
                    blocks.push(Block::Paragraph(COSTS.into()));
                }
                blocks.extend([
                    Block::List(summary(&explanation)),
                    Block::Paragraph(change(&explanation, facts)),
                ]);
                let modes = mode_lines(results, step, candidate);
                if !modes.is_empty() {
                    blocks.extend([Block::Paragraph(TWO_MODES.into()), Block::List(modes)]);
                }
                blocks.extend(details(&explanation));
            }
            None => blocks.push(Block::Paragraph(NO_TIMES.into())),
        }
    }
    match wanted {
        _ if !blocks.is_empty() => Ok(blocks),
        Some(wanted) => Err(Error::NotMeasured(wanted.to_owned())),
        None if results.rounds.is_some() || results.counts.is_some() => Err(Error::NothingChanged),
        None => Err(Error::NothingBeyond),
    }
}

/// Leads from work to costs.
const COSTS: &str =
    "What a count does not see, by the costs of the trials: the kernel, storage, caches and waiting.";
/// Said where only work is known.
const NO_TIMES: &str = "A count does not see the kernel, storage, caches and waiting. Trials of the same experiment tell of \
                        their costs: `basecase compare … --counts`.";

/// Missing data, and everything that changed.
pub(crate) fn details(explanation: &Explanation<'_>) -> Vec<Block> {
    let absences = absences(explanation).into_iter().map(Block::Paragraph);
    let mut blocks: Vec<Block> =
        absences.chain(tables::tables(explanation).into_iter().map(Block::Table)).collect();
    for change in explanation.plans.iter().take(PLANS) {
        blocks.push(Block::Paragraph(format!("Plans of {}: {}", change.base.statement, change.base.sql)));
        let planned =
            explanation.planned.iter().find(|planned| planned.statement == change.base.counted_as());
        let (base, candidate) = planned.map_or((None, None), |planned| (planned.base, planned.candidate));
        blocks.push(plan(explanation.base_name, change.base, base));
        blocks.push(plan(explanation.candidate_name, change.candidate, candidate));
    }
    blocks
}

/// A plan under the name of its candidate, and how often plans of its kind were used.
fn plan(name: &str, plan: &StatementPlan, uses: Option<PlanUses>) -> Block {
    let uses = uses.map_or_else(String::new, |uses| format!(": executed {}", executions(uses)));
    Block::Log(format!("{name}{uses}\n{}", plan.text))
}
