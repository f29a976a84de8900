//! What is left of a change once one setting is as in the base case.

use basecase_analysis::SettingEffect;
use basecase_model::{CandidateFacts, Experiment, TriedSetting};
use basecase_stats::Decision;

use crate::documents::Block;
use crate::words::{left_of_change, verdict};

/// Of an experiment with base case, contender and the contender with the setting, on the step of this name.
pub(crate) fn compose(
    experiment: &Experiment,
    effect: Option<&SettingEffect>,
    tried: &TriedSetting,
    step: &str,
) -> Vec<Block> {
    let [base, contender, varied] = [0, 1, 2]
        .map(|number| experiment.candidates.get(number).map_or("", |facts: &CandidateFacts| &facts.name.0));
    let label = experiment.steps.iter().find(|facts| facts.name == step).map_or(step, |facts| &facts.label);
    let mut blocks = vec![Block::Heading(format!("{tried} on {label}"))];
    let Some(effect) = effect else {
        blocks.push(Block::Paragraph(NO_ROUND.into()));
        return blocks;
    };
    let line = |one: &str, other: &str, decision: &Decision| {
        let rounds = if decision.rounds == 1 { "round" } else { "rounds" };
        format!("{one} compared with {other}: {}; {} {rounds}", verdict(decision, None), decision.rounds)
    };
    blocks.extend([
        Block::List(vec![left_of_change(effect, tried, contender)]),
        Block::Paragraph("How that was decided:".into()),
        Block::List(vec![
            line(contender, base, &effect.change),
            line(varied, base, &effect.left),
            line(varied, contender, &effect.difference),
        ]),
    ]);
    blocks
}

/// Said where nothing can be compared.
const NO_ROUND: &str =
    "No round has all three candidates: trials failed, or the run was stopped before one was complete.";
