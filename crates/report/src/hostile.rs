//! No format of the report lets text of servers or others' files steer a terminal or deceive a reader.

use std::path::Path;

use basecase_analysis::{Counted, Gate, JudgedExperiment, Results, Rounds};
use basecase_model::{Experiment, Trial, TrialStatus, printable};
use proptest::prelude::*;

use crate::fixture::{self, Shape};
use crate::invented::InventedWork;
use crate::{
    FORMATS, Format, Options, Written, bisection, explain, gate_summary, junit, render, write,
    write_bisection, write_history, write_pages,
};

/// One of every attack: escape sequences, a title, a direction override, zero-width characters, HTML, Markdown, a formula.
const HOSTILE: &str = "=1+1\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\u{202e}\u{200b}\u{2028}\u{0}\u{8}<script>&#x202e;|`x`\n\n# next";

/// Puts `said` wherever text comes from servers, their builds or users' files.
fn put(said: &str, experiment: &mut Experiment, trials: &mut [Trial]) {
    let names: Vec<String> = experiment.candidates.iter().map(|facts| facts.name.0.clone()).collect();
    let new = |name: &str| format!("{said}{name}");
    for facts in &mut experiment.candidates {
        facts.name.0 = new(&facts.name.0);
        let build = &mut facts.build;
        for text in [&mut build.version, &mut build.short, &mut build.requested, &mut build.provider] {
            text.insert_str(0, said);
        }
        build.artifact.insert_str(0, said);
        (build.compiler, build.flags) = (Some(new("gcc")), Some(new("-O2")));
        build.details.insert(new("detail"), new("value"));
        facts.config.name.insert_str(0, said);
        facts.config.settings.push((new("setting"), new(&facts.config.name)));
        facts.running.insert(new("setting"), new(&facts.config.name));
    }
    for text in [&mut experiment.name, &mut experiment.command, &mut experiment.host.cpu_model] {
        text.insert_str(0, said);
    }
    experiment.host.device = Some(new("sda"));
    experiment.parameters.push((new("option"), new("value")));
    for step in &mut experiment.steps {
        for text in [&mut step.name, &mut step.label, &mut step.title] {
            text.insert_str(0, said);
        }
    }
    for trial in trials {
        assert!(names.contains(&trial.candidate));
        for text in [&mut trial.candidate, &mut trial.step, &mut trial.placement] {
            text.insert_str(0, said);
        }
        trial.warnings.push(new("warning"));
        if let TrialStatus::Failed { reason, log_tail } = &mut trial.status {
            *reason = new(reason);
            *log_tail = new(log_tail);
        }
        for check in &mut trial.checks {
            check.name.insert_str(0, said);
            check.passed = trial.status == TrialStatus::Complete;
        }
        trial.tracks.iter_mut().for_each(|track| track.name.insert_str(0, said));
        trial.plans.iter_mut().for_each(|plan| plan.text.insert_str(0, said));
        trial.state.tables.iter_mut().for_each(|table| table.table.insert_str(0, said));
        trial.counters.set(&new("postgres.wait_event"), 5.0);
    }
}

fn is_clean(text: &str) -> bool {
    printable(text) == text
}

/// Counts of two candidates whose functions, files and warnings have such names.
fn counted(said: &str, experiment: &Experiment) -> Counted {
    let mut counted = fixture::counted().1;
    counted.starts.retain(|start| start.step == "range-covered-pk_range=100");
    let base = counted.starts[0].candidate.clone();
    for start in &mut counted.starts {
        let number = usize::from(start.candidate != base);
        start.candidate = experiment.candidates[number].name.0.clone();
        start.step = experiment.steps[1].name.clone();
        start.engine_version = said.into();
        start.warnings.push(said.into());
        for function in &mut start.functions {
            function.name.push_str(said);
            function.object = said.into();
            function.file = Some(said.into());
        }
    }
    counted
}

/// A report with servers in every text format, by name.
fn reports(said: &str) -> Vec<(String, String)> {
    let shape = Shape { candidates: 2, steps: &["l.i0", "qr100"], seconds: 2, clients: 1 };
    let (mut experiment, mut trials) = fixture::synthetic(shape);
    if let Some(last) = trials.last_mut() {
        last.status = TrialStatus::Failed { reason: "gone".into(), log_tail: "line 1\nline 2".into() };
    }
    put(said, &mut experiment, &mut trials);
    let counted = counted(said, &experiment);
    let options = Options { steps: true, counted, ..Options::default() };
    let report = |format: &Format| match format {
        Format::Text(text) => Some((text.name.to_owned(), render(&experiment, &trials, *text, &options))),
        Format::Export(_) => match write(&experiment, &trials, *format, &options, Path::new("")) {
            Ok(Written::Export(export)) => Some((format.name().to_owned(), export.text)),
            _ => panic!("{} writes nothing", format.name()),
        },
        Format::Verdicts(_) | Format::Pages(_) => None,
    };
    let mut reports: Vec<(String, String)> = FORMATS.iter().filter_map(report).collect();
    let step = experiment.steps[0].name.clone();
    if let Ok(document) = explain(&experiment, &trials, Some(&step), options.thresholds, &options.counted) {
        reports.push(("explained, text".into(), document.text(false)));
        reports.push(("explained, md".into(), document.markdown()));
    }
    reports
}

fn is_csv(format: &str) -> bool {
    ["csv", "otava"].contains(&format)
}

/// CSV lines end with CRLF by standard.
fn with_plain_line_ends(format: &str, text: String) -> String {
    if is_csv(format) { text.replace("\r\n", "\n") } else { text }
}

#[test]
fn defect_06_text_of_others_stays_text_in_every_format() {
    for (format, text) in reports(HOSTILE) {
        let text = with_plain_line_ends(&format, text);
        assert!(is_clean(&text), "{format}: {text:?}");
        assert!(
            ["json", "bmf"].contains(&format.as_str()) || text.contains("U+001B"),
            "{format} says what was there: {text}"
        );
        if format == "md" || format == "blog" {
            let outside: String = text.split("```").step_by(2).collect();
            assert!(!outside.contains("<script>") && !outside.contains("\n# next"), "{format}: {outside}");
            assert!(!outside.contains("&#x202e;") || outside.contains("\\&\\#x202e;"), "{format}");
        }
        if is_csv(&format) {
            assert!(!text.contains(",=") && !text.contains("\"=") && text.contains("'=1+1"), "{text}");
        }
    }
}

#[test]
fn defect_06_pages_hold_nothing_hidden() {
    let (mut experiment, mut trials) = fixture::sample();
    put(HOSTILE, &mut experiment, &mut trials);
    let folder = tempfile::tempdir().unwrap();
    write_pages(&experiment, &trials, &Options::default(), folder.path()).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let page = std::fs::read_to_string(&path).unwrap();
            assert!(is_clean(&page) && !page.contains("<script>&"), "{}", path.display());
        }
    }
}

#[test]
fn pages_of_a_history_hold_nothing_hidden() {
    let (mut experiment, mut trials) = fixture::history(&[0.0, 0.0, -0.05, -0.05], 8, 0.005, 3);
    put(HOSTILE, &mut experiment, &mut trials);
    let mut other = experiment.clone();
    (other.id, other.workload) = (format!("{HOSTILE}id"), format!("{HOSTILE}load"));
    let others = [JudgedExperiment::of((other, Vec::new()))];
    let folder = tempfile::tempdir().unwrap();
    let chosen = JudgedExperiment::of((experiment, trials));
    let (answer, _) = write_history(&chosen, Some(&others), None, folder.path()).unwrap();
    let text = answer.document.text(false);
    assert!(is_clean(&text) && text.contains("another workload") && is_clean(&answer.json), "{text}");
    let pages = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<_> = pages.filter(|path| path.is_file()).collect();
    assert_eq!(pages.len(), 3);
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(
            is_clean(&page) && page.contains("U+001B") && !page.contains("<script"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn what_commits_say_of_themselves_stays_text() {
    let mut search = InventedWork::of_commits(&[0, 0, 1, 1, 1, 1], &[3], 100);
    for commit in search.commits.iter_mut().flatten() {
        for text in [&mut commit.subject, &mut commit.author, &mut commit.author_date] {
            text.insert_str(0, HOSTILE);
        }
        commit.tags.iter_mut().for_each(|tag| tag.insert_str(0, HOSTILE));
    }
    let bisected = search.bisected();
    let answer = bisection(&bisected);
    let folder = tempfile::tempdir().unwrap();
    let (experiment, counted) = search.last_probe();
    let options = Options { counted: counted.clone(), ..Options::default() };
    let page = write_bisection(&bisected, (experiment, &[]), &options, folder.path()).unwrap();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let (page, markdown) = (read(&page), read(&page.with_file_name("bisection.md")));
    assert!(is_clean(&answer.json));
    for text in [&answer.document.text(false), &page, &markdown] {
        assert!(is_clean(text) && text.contains("U+001B"), "{text:?}");
    }
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"), "{page}");
    let outside: String = markdown.split("```").step_by(2).collect();
    assert!(!outside.contains("<script>") && !outside.contains("\n# next"), "{outside}");
}

#[test]
fn defect_06_files_for_pipelines_hold_nothing_hidden() {
    let (mut experiment, mut trials) = fixture::in_rounds();
    let last = experiment.candidates[2].name.0.clone();
    for trial in trials.iter_mut().filter(|trial| trial.candidate == last) {
        trial.status = TrialStatus::Failed { reason: "gone".into(), log_tail: "line 1\nline 2".into() };
    }
    put(HOSTILE, &mut experiment, &mut trials);
    let rounds = Rounds::of(&experiment, &trials);
    let results = Results::of(&experiment, &trials, rounds.as_ref());
    let gate = Gate::of(&results);
    assert!(gate.failed() > 0);
    let (summary, junit) = (gate_summary(&results, None), junit(&gate));
    assert!(
        is_clean(&summary) && !summary.contains("<script>") && !summary.contains("\n# next"),
        "{summary}"
    );
    assert!(is_clean(&junit) && !junit.contains("<script>"), "{junit}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn defect_06_no_text_of_others_reaches_a_format_as_a_control(said in "\\PC{0,4}[\\x00-\\x1f\\x7f-\\x9f\u{200b}-\u{202e}]{1,6}.{0,4}") {
        for (format, text) in reports(&said) {
            let text = with_plain_line_ends(&format, text);
            prop_assert!(is_clean(&text), "{format}: {text:?}");
        }
    }
}
