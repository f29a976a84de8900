//! What a run would do, for people.

use basecase_analysis::{DryRun, MissingBuild, PlannedProtocol};

use crate::documents::Block;
use crate::tables::dry_run::table;
use crate::words::{duration, first};

/// How many candidates are named.
const NAMED: usize = 6;

/// The plan as a table, with its time, its disk space and its memory below; then what is counted after that.
pub(crate) fn compose(dry_run: &DryRun, counts: Option<&DryRun>) -> Vec<Block> {
    let planned = &dry_run.planned;
    let names = first(&planned.candidates, NAMED);
    let mut blocks = vec![
        Block::Title(format!("Dry run: {}", planned.workload)),
        Block::Paragraph(format!("Nothing was started. {}: {names}.", protocol(planned.protocol))),
    ];
    let missing: Vec<String> = planned.missing.iter().map(missing_build).collect();
    if !missing.is_empty() {
        blocks.push(Block::Paragraph(
            "These builds are not here. What is stored of their steps and the memory of servers are known once they are:"
                .to_owned(),
        ));
        blocks.push(Block::List(missing));
    }
    blocks.push(Block::Table(table(dry_run)));
    blocks.push(Block::List(vec![
        format!("time: {}", time(dry_run)),
        format!("disk: {}", disk(dry_run)),
        format!("memory: {}", memory(dry_run)),
    ]));
    if let Some(counts) = counts {
        blocks.extend([
            Block::Paragraph("After that, instructions would be counted:".to_owned()),
            Block::Table(table(counts)),
            Block::List(vec![format!("time of counting: {}", time(counts))]),
        ]);
    }
    blocks
}

fn protocol(protocol: PlannedProtocol) -> &'static str {
    match protocol {
        PlannedProtocol::Classic => "Each candidate would be measured once",
        PlannedProtocol::Rounds { .. } => "Candidates would be measured in rounds",
        PlannedProtocol::Counts => "Instructions would be counted",
    }
}

fn missing_build(MissingBuild { candidate, is_compiled }: &MissingBuild) -> String {
    let what = if *is_compiled { "compiled" } else { "downloaded" };
    format!("{candidate}: would be {what}")
}

/// How long all of it takes.
fn time(dry_run: &DryRun) -> String {
    let beside = "without starting servers, settling, and loading or copying data again";
    match (dry_run.planned.protocol, dry_run.total_seconds) {
        (PlannedProtocol::Rounds { budget_seconds: Some(_), .. }, Some((budget, _))) => {
            format!("the budget, {}", duration(budget))
        }
        (PlannedProtocol::Rounds { last, .. }, Some((0.0, most))) => {
            format!("at most {} until all {last} rounds are measured, {beside}", duration(most))
        }
        (PlannedProtocol::Rounds { first, last, .. }, Some((least, most))) => format!(
            "{} for {first} rounds, after which there may be verdicts, to {} for all {last}, {beside}",
            duration(least),
            duration(most)
        ),
        (_, Some((_, seconds))) => format!("{}, {beside}", duration(seconds)),
        (_, None) => "not known, because counting ends by itself".to_owned(),
    }
}

fn disk(dry_run: &DryRun) -> String {
    let planned = &dry_run.planned.disk;
    let free = size(planned.free_bytes);
    match dry_run.known_disk_bytes {
        Some(bytes) => format!("{}, as in earlier runs, of {free} that are free", size(bytes)),
        None => {
            let estimated = size(planned.estimated_bytes);
            format!("at most {estimated}, estimated from the number of rows, of {free} that are free")
        }
    }
}

fn memory(dry_run: &DryRun) -> String {
    let planned = &dry_run.planned.memory;
    let machine = size(planned.machine_bytes);
    match planned.asked_bytes {
        None => format!("not known before the builds are here; the machine has {machine}"),
        Some(0) => format!("no server is started; the machine has {machine}"),
        Some(bytes) => format!("{} for servers that run at the same time, of {machine}", size(bytes)),
    }
}

/// E.g. `1.5 GiB` or `20 MiB`.
fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use basecase_analysis::fixture::{self, planned};
    use basecase_analysis::{Planned, PlannedMemory};

    use super::*;

    fn text(dry_run: &DryRun) -> String {
        let answer = crate::dry_run(dry_run, None);
        assert!(serde_json::from_str::<serde_json::Value>(&answer.json).is_ok(), "{}", answer.json);
        let text = answer.document.text(false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    #[test]
    fn a_plan_of_rounds_that_were_measured_before() {
        let (experiment, trials) = fixture::in_rounds();
        let planned = planned(&experiment, &trials);
        let dry_run = DryRun::of(planned, &[(experiment, trials.clone())], &trials, &BTreeSet::new());
        insta::assert_snapshot!(text(&dry_run));
    }

    #[test]
    fn a_plan_of_times_and_counts() {
        let (experiment, trials) = fixture::in_rounds();
        let planned = planned(&experiment, &trials);
        let counts = Planned { protocol: PlannedProtocol::Counts, ..planned.clone() };
        let counts = DryRun::of(counts, &[], &[], &BTreeSet::new());
        let answer = crate::dry_run(&DryRun::of(planned, &[], &trials, &BTreeSet::new()), Some(&counts));
        let json: serde_json::Value = serde_json::from_str(&answer.json).unwrap();
        assert_eq!((&json["protocol"], &json["counts"]["protocol"]), (&"rounds".into(), &"counts".into()));
        assert!(json["counts"]["counts"].is_null());
        let text = answer.document.text(false);
        assert!(text.contains("After that, instructions would be counted"), "{text}");
        assert!(text.contains("time of counting: not known"), "{text}");
    }

    #[test]
    fn a_plan_whose_builds_are_missing() {
        let (experiment, _) = fixture::in_rounds();
        let planned = Planned { protocol: PlannedProtocol::Classic, ..planned(&experiment, &[]) };
        let missing =
            |candidate: &str, is_compiled| MissingBuild { candidate: candidate.into(), is_compiled };
        let missing = vec![missing("postgres:18.6", false), missing("git:.@HEAD", true)];
        let memory = PlannedMemory { asked_bytes: None, machine_bytes: 16 << 30 };
        let planned = Planned { missing, memory, id: None, ..planned };
        insta::assert_snapshot!(text(&DryRun::of(planned, &[], &[], &BTreeSet::new())));
    }
}
