//! The report on an experiment.

use basecase_analysis::{Results, failures};
use basecase_model::{Experiment, StepFacts};

use super::{Block, method, notes, work};
use crate::options::Options;
use crate::tables::{
    Table, builds, compaction, configs, connections, events, grouped, groups, latency_ratio, lines, memory,
    purge_lag, resources, response_time, run_noise, running, statements, summary, sweeps, verdicts,
};
use crate::words::{FailureWords as _, TWO_MODES, all_mode_lines, caption, refusal, sentences, suite_lines};

/// The whole report.
pub(crate) fn compose(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let experiment = results.experiment;
    let mut blocks = vec![Block::Title(title(results))];
    if results.rounds.is_some() {
        blocks.push(Block::List(sentences(results, options.thresholds)));
    }
    blocks.extend(verdicts(results));
    blocks.extend(work::overview(results));
    blocks.extend(notes::candidates(experiment).map(Block::Note));
    if !results.has_counts_only() {
        blocks.extend(rates(results, options));
    }
    blocks.extend(failed(results));
    let warnings = notes::warnings(results);
    if !warnings.is_empty() {
        blocks.extend([Block::Heading("Warnings".into()), Block::List(warnings)]);
    }
    if options.steps && !results.has_counts_only() {
        blocks.extend(method::blocks(results));
        blocks.extend(purge_lag::table(results).map(Block::Table));
        blocks.extend(steps(results, options));
    }
    with_limits(&mut blocks, experiment);
    blocks.push(Block::Heading("Facts".into()));
    let facts = [builds::experiment(results), builds::host(experiment), builds::builds(experiment)];
    let settings = configs::differences(experiment).into_iter().chain(running::differences(experiment));
    blocks.extend(facts.into_iter().chain(settings).map(Block::Table));
    blocks
}

/// Rates and how to read them.
fn rates(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let mut blocks = Vec::new();
    for section in summary(results, options) {
        blocks.extend(section.heading.map(Block::Heading));
        blocks.extend(section.reading.map(|reading| Block::Paragraph(reading.into())));
        blocks.extend(section.tables.into_iter().chain(section.more).map(Block::Table));
    }
    blocks.push(Block::Paragraph(notes::noise(results)));
    blocks.extend(notes::published(results).map(Block::Paragraph));
    blocks
}

/// Adds the limit on memory, if there is one, to the captions of tables.
pub(crate) fn with_limits(blocks: &mut [Block], experiment: &Experiment) {
    for block in blocks {
        if let Block::Table(table) = block {
            table.caption = caption(experiment, &table.caption);
        }
    }
}

/// The verdicts of an experiment in rounds.
pub(crate) fn verdicts(results: &Results<'_>) -> Vec<Block> {
    let refusal = results.rounds.and_then(refusal);
    let mut blocks: Vec<Block> = refusal.map(Block::Note).into_iter().collect();
    let lines = suite_lines(results);
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    blocks.extend(verdicts::table(results).map(Block::Table));
    blocks.extend(two_modes(results));
    blocks
}

/// The sessions that fall into two groups; empty if there are none.
pub(crate) fn two_modes(results: &Results<'_>) -> Vec<Block> {
    let lines = all_mode_lines(results);
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Block::Paragraph(TWO_MODES.into()), Block::List(lines)]
}

/// Tables of the summary that share an explanation.
pub(crate) struct Section {
    /// Their heading, if they share one.
    pub(crate) heading: Option<String>,
    /// How to read all of them.
    pub(crate) reading: Option<&'static str>,
    /// The tables; never empty.
    pub(crate) tables: Vec<Table>,
    /// Tables that may be folded away.
    pub(crate) more: Vec<Table>,
    /// Title of those.
    pub(crate) more_title: &'static str,
    /// Number of the sweep that it shows, which has charts.
    pub(crate) sweep: Option<usize>,
    /// Whether its ratios are also drawn as bars.
    pub(crate) has_bars: bool,
}

/// The tables that every format for people shows first.
pub(crate) fn summary(results: &Results<'_>, options: &Options) -> Vec<Section> {
    let section = |heading: &str, reading, tables| Section {
        heading: Some(heading.to_owned()),
        reading: Some(reading),
        tables,
        more: Vec::new(),
        more_title: "Latency, statements, CPU and rows",
        sweep: None,
        has_bars: false,
    };
    let mut sections = if results.is_workload_file() {
        of_workload_file(results, options, section)
    } else {
        let mut tables = summary::tables(results, options.thresholds);
        let more = tables.split_off(2);
        let more_title = "Insert rate of the read-write steps";
        vec![Section { heading: None, reading: None, tables, more, more_title, sweep: None, has_bars: false }]
    };
    let reads = memory::reads(results);
    sections.extend(reads.map(|table| Section {
        heading: None,
        reading: None,
        ..section("", "", vec![table])
    }));
    let noise = run_noise::table(results, options.thresholds);
    sections.extend(noise.map(|table| section("What single runs can tell", run_noise::READING, vec![table])));
    sections
}

fn of_workload_file(
    results: &Results<'_>,
    options: &Options,
    section: impl Fn(&str, &'static str, Vec<Table>) -> Section,
) -> Vec<Section> {
    let mut sections = vec![
        Section {
            has_bars: true,
            ..section(
                "Relative queries per second",
                groups::relative_reading(results),
                groups::relative_to_base(results, options.thresholds),
            )
        },
        section("Queries per second", groups::ABSOLUTE, groups::absolute(results)),
    ];
    sections.retain(|section| !section.tables.is_empty());
    sections.extend(results.sweeps().iter().enumerate().map(|(number, sweep)| Section {
        more: sweeps::others(results, sweep, options),
        sweep: Some(number),
        ..section(
            &format!("{} by threads", sweep.name),
            sweeps::READING,
            sweeps::throughput(results, sweep, options),
        )
    }));
    sections
}

/// The report's title, e.g. `demo: insert-benchmark, 20,000 rows, 1 client`.
pub(crate) fn title(results: &Results<'_>) -> String {
    let experiment = results.experiment;
    let (count, unit) = results.concurrency();
    let rows = grouped(experiment.loaded_rows);
    format!("{}: {}, {rows} rows, {count} {unit}", experiment.name, experiment.workload)
}

/// The failed trials, with the servers' logs; empty if there are none.
pub(crate) fn failed(results: &Results<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for failure in failures(results) {
        if blocks.is_empty() {
            blocks.push(Block::Heading("Failed trials".into()));
        }
        blocks.push(Block::Paragraph(format!("{}: {}", failure.place(), failure.reason)));
        let checks = failure.check_lines();
        if !checks.is_empty() {
            blocks.push(Block::List(checks));
        }
        if !failure.log_tail.is_empty() {
            blocks.push(Block::Log(failure.log_tail.to_owned()));
        }
    }
    blocks
}

fn steps(results: &Results<'_>, options: &Options) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading("How to read the steps' tables".into()),
        Block::Paragraph(response_time::reading(results)),
        Block::Paragraph(lines::reading(results)),
    ];
    if results.is_workload_file() {
        blocks.push(Block::Paragraph(resources::READING.into()));
    }
    for step in results.steps() {
        blocks.push(Block::Heading(format!("{}: {}", step.1.label, step.1.title)));
        blocks.extend(of_events(results, step, options).into_iter().map(Block::Table));
        blocks.extend(of_latencies(results, step).into_iter().map(Block::Table));
        blocks.extend(resources::tables(results, step).into_iter().map(Block::Table));
        blocks.extend(lines::tables(results, step).map(Block::Table));
        blocks.extend(memory::of_step(results, step).map(Block::Table));
        blocks.extend(compaction::table(results, step).map(Block::Table));
    }
    blocks
}

/// The latencies of a step, and in rounds also relative to the base case.
pub(crate) fn of_latencies(results: &Results<'_>, step: (usize, &StepFacts)) -> Vec<Table> {
    let tables = |(class, clock)| {
        [response_time::table(results, step, class, clock), latency_ratio::table(results, step, class, clock)]
    };
    response_time::timed().flat_map(tables).flatten().collect()
}

/// Tables that only steps of workload files have: events, kinds of statements, and connections.
pub(crate) fn of_events(results: &Results<'_>, step: (usize, &StepFacts), options: &Options) -> Vec<Table> {
    let tables = [
        events::table(results, step, options.percentile),
        statements::table(results, step),
        connections::table(results, step),
    ];
    tables.into_iter().flatten().collect()
}
