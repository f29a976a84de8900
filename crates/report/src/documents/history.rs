//! Changes over many versions, as text.

mod work;

use basecase_analysis::{Joined, Shift, StepHistory, VersionHistory};

use crate::documents::Block;
use crate::tables::{self, Column, Highlight, Row, Table, TableCell};
use crate::words::{EffectWords as _, caption, left_out};

/// The report for people.
pub(crate) fn compose(history: &VersionHistory<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Title(format!("History: {}", history.experiment.name))];
    if !history.steps.is_empty() {
        blocks.extend(of_times(history));
    }
    if !history.work.is_empty() {
        blocks.extend(work::of_work(history));
    }
    blocks
}

fn of_times(history: &VersionHistory<'_>) -> Vec<Block> {
    let mut blocks = vec![reading(history)];
    blocks.push(Block::Table(table(history)));
    blocks.push(Block::Heading("Change points".into()));
    let lines = |step: &StepHistory<'_>| -> Vec<String> {
        step.changes.iter().map(|shift| line(history, step, shift)).collect()
    };
    let lines: Vec<String> = history.steps.iter().flat_map(lines).collect();
    blocks.push(if lines.is_empty() { Block::Paragraph("None.".into()) } else { Block::List(lines) });
    blocks
}

/// How to read the times.
pub(crate) fn reading(history: &VersionHistory<'_>) -> Block {
    match (&history.experiment.schedule, &history.joined) {
        (None, _) => Block::Note(SINGLE_RUNS.into()),
        (Some(_), None) => Block::Paragraph(IN_ROUNDS.into()),
        (Some(_), Some(joined)) => Block::Paragraph(over_dates(history, joined)),
    }
}

/// E.g. `point-query: 4.8 % slower (4.1–5.5 %) since pg180.x10a`.
fn line(history: &VersionHistory<'_>, step: &StepHistory<'_>, shift: &Shift<'_>) -> String {
    format!("{}: {} since {}", step.label, shift.effect().difference(), history.versions[shift.version])
}

/// A row for each step or each version, whichever are more.
fn table(history: &VersionHistory<'_>) -> Table {
    let is_in_rounds = history.experiment.schedule.is_some();
    let ratio = |step: &StepHistory<'_>, version: usize| {
        let shift = step.changes.iter().find(|shift| shift.version == version);
        let mark = shift.map_or(Highlight::None, mark_of);
        match step.ratios[version] {
            Some(effect) if version > 0 && is_in_rounds => TableCell { mark, ..TableCell::ratio(&effect) },
            Some(effect) => TableCell::marked(format!("{:.3}", effect.ratio), mark),
            None => TableCell::marked(tables::MISSING, mark),
        }
    };
    let cells = |step: &StepHistory<'_>| -> Vec<TableCell> {
        let rounds = is_in_rounds.then(|| TableCell::plain(step.rounds.to_string()));
        (0..history.versions.len()).map(|version| ratio(step, version)).chain(rounds).collect()
    };
    let cells: Vec<Vec<TableCell>> = history.steps.iter().map(cells).collect();
    let versions = history.versions.iter().map(String::as_str);
    let steps = history.steps.iter().map(|step| step.label).collect();
    let (corner, columns, rows) =
        laid_out(versions.collect(), is_in_rounds.then_some("rounds"), steps, cells);
    let meanings =
        [(Highlight::Worse, "a slower level begins"), (Highlight::Better, "a faster level begins")];
    let shifts = history.steps.iter().flat_map(|step| &step.changes);
    Table {
        caption: caption(history.experiment, &format!("Throughput relative to {}", history.versions[0])),
        corner,
        columns,
        rows,
        legend: legend(meanings, shifts.map(mark_of)),
        ..Table::default()
    }
}

/// Corner, columns and rows of a table whose `cells` are those of each step: a row for each step or each version, whichever are more.
/// `further` is what stands behind the versions.
fn laid_out(
    versions: Vec<&str>,
    further: Option<&str>,
    steps: Vec<&str>,
    cells: Vec<Vec<TableCell>>,
) -> (&'static str, Vec<Column>, Vec<Row>) {
    let is_by_version = versions.len() > steps.len();
    let versions = versions.into_iter().chain(further);
    let column = |name| Column::numbers(name, "");
    if is_by_version {
        let of_place = |place: usize| cells.iter().map(|cells| cells[place].clone()).collect();
        let rows = versions.enumerate().map(|(place, name)| Row::new(name, of_place(place)));
        ("version", steps.into_iter().map(column).collect(), rows.collect())
    } else {
        let rows = steps.into_iter().zip(cells).map(|(name, cells)| Row::new(name, cells));
        ("step", versions.map(column).collect(), rows.collect())
    }
}

/// The marks that stand in a table, with their meanings.
fn legend(
    meanings: [(Highlight, &str); 2],
    marks: impl Iterator<Item = Highlight>,
) -> Vec<(Highlight, String)> {
    let marks: Vec<Highlight> = marks.collect();
    let shown = meanings.into_iter().filter(|(mark, _)| marks.contains(mark));
    shown.map(|(mark, meaning)| (mark, meaning.to_owned())).collect()
}

fn mark_of(shift: &Shift<'_>) -> Highlight {
    if shift.change.magnitude < 0.0 { Highlight::Worse } else { Highlight::Better }
}

const IN_ROUNDS: &str = "Every version was measured in the same rounds as the base case. A change is named by the version \
                         with which the new level begins; its size is relative to the previous level, with its 95 % \
                         interval. On average, at most 5 % of the named changes are false, and none is smaller than half \
                         of the step's margin.";

const SINGLE_RUNS: &str = "Each version was measured once. Single runs carry no verdict: they cannot show how much of a \
                           difference is noise. Change points are those of the compatibility mode, by energy statistic and \
                           t-test as in Apache Otava, with 99.9 % intervals. It does not correct for the number of places \
                           tested, and finds nothing with fewer than four versions on a side. Measure in rounds (--rounds, \
                           --budget) for more.";

/// How to read a history over several experiments.
fn over_dates(history: &VersionHistory<'_>, joined: &Joined<'_>) -> String {
    let successors = match history.successors.join(", ") {
        names if names.is_empty() => names,
        names => format!(
            " Later base cases: {names}. Each was measured beside the previous one; the uncertainty of that is part of the \
             intervals of everything measured with it, and of changes across the replacement."
        ),
    };
    let left_out = left_out(history, &joined.left_out).map(|text| format!(" {text}")).unwrap_or_default();
    format!(
        "Versions are those of this experiment and of {} more in the store, in the order in which they were first \
         measured. Each was measured in rounds with the base case, but not with all of the others. A change is named by \
         the version with which the new level begins; its size is relative to the previous level, with its 95 % interval. \
         Whether the first version differs from the base case is up to its verdict. On average, at most 5 % of the named \
         changes are false, and none is smaller than half of the step's margin.{successors}{left_out}",
        joined.experiments
    )
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counted, JudgedExperiment, Stored, fixture};
    use basecase_model::{CandidateFacts, Experiment, StepCount};

    use crate::{Answer, Error};

    /// The history of experiments without counts.
    fn history(chosen: &Stored, others: Option<&[Stored]>, wanted: Option<&str>) -> Result<Answer, Error> {
        let judged = |stored: &Stored| JudgedExperiment::of(stored.clone());
        let others: Option<Vec<_>> = others.map(|others| others.iter().map(judged).collect());
        crate::history(&judged(chosen), others.as_deref(), wanted)
    }

    #[test]
    fn rounds_as_text_and_json() {
        let levels = [0.0, 0.0, -0.05, -0.05, 0.01, 0.01];
        let stored = fixture::history(&levels, 8, 0.005, 3);
        let found = history(&stored, None, None).unwrap();
        insta::assert_snapshot!(found.document.text(false));
        insta::assert_snapshot!(found.json);
    }

    /// A night's measurements of a base case and others, given their names, builds and levels.
    fn night(number: usize, measured: &[(&str, &str, f64)]) -> Stored {
        let levels: Vec<f64> = measured.iter().map(|(_, _, level)| *level).collect();
        let (mut experiment, mut trials) = fixture::history(&levels, 8, 0.005, 40 + number as u64);
        experiment.id = format!("night{number}");
        experiment.created_at = format!("2026-11-{:02}T03:00:00Z", number + 1);
        let names: Vec<String> =
            experiment.candidates.iter().map(|candidate| candidate.name.0.clone()).collect();
        for trial in &mut trials {
            let place = names.iter().position(|name| *name == trial.candidate).unwrap();
            trial.measured_by.clone_from(&experiment.id);
            trial.cell = format!("{} {}", measured[place].1, trial.step);
            trial.candidate = measured[place].0.to_owned();
        }
        // Start from equal builds, so that only checksums tell them apart.
        let one = experiment.candidates[0].clone();
        for (candidate, (name, build, _)) in experiment.candidates.iter_mut().zip(measured) {
            *candidate = one.clone();
            candidate.name.0 = (*name).to_owned();
            candidate.build.sha256 = Some((*build).to_owned());
        }
        (experiment, trials)
    }

    /// Nights that each measure one build against the anchor.
    fn nights(levels: &[f64]) -> Vec<Stored> {
        let night_of = |(number, level): (usize, &f64)| {
            let build = format!("night{number}");
            night(number, &[("pg180.x10a", "anchor", 0.0), ("pg181.x10a", &build, *level)])
        };
        levels.iter().enumerate().map(night_of).collect()
    }

    /// Three nights against 17; one with both 17 and 18, in either order; and three against 18, the last two slower.
    fn nights_with_two_anchors(is_reversed: bool) -> Vec<Stored> {
        let (old, new) = (("pg17.x10a", "17"), ("pg18.x10a", "18"));
        let night_number = |number: usize| {
            let build = format!("dev{number}");
            let with = |anchors: &[((&str, &str), f64)], level: f64| {
                let anchors = anchors.iter().map(|((name, build), level)| (*name, *build, *level));
                night(number, &anchors.chain([("dev.x10a", build.as_str(), level)]).collect::<Vec<_>>())
            };
            match number {
                0..3 => with(&[(old, 0.0)], 0.02),
                3 if is_reversed => with(&[(new, 0.0), (old, -0.03)], -0.01),
                3 => with(&[(old, 0.0), (new, 0.03)], 0.02),
                4 => with(&[(new, 0.0)], -0.01),
                _ => with(&[(new, 0.0)], -0.07),
            }
        };
        (0..7).map(night_number).collect()
    }

    #[test]
    fn a_base_case_that_replaces_another_continues_the_history() {
        let found = |is_reversed: bool| {
            let mut nights = nights_with_two_anchors(is_reversed);
            let chosen = nights.remove(6);
            history(&chosen, Some(&nights), Some("l.i0")).unwrap()
        };
        insta::assert_snapshot!(found(false).document.text(false));
        for is_reversed in [false, true] {
            let text = found(is_reversed).document.text(false);
            assert_eq!(text.matches(" since ").count(), 1, "{text}");
            assert!(text.contains("slower (") && text.contains("since dev.x10a 2026-11-06"), "{text}");
            assert!(found(is_reversed).json.contains("\"base\": \"pg17.x10a\""));
        }
    }

    #[test]
    fn base_cases_never_measured_together_have_separate_histories() {
        let mut nights = nights_with_two_anchors(false);
        nights.remove(3);
        let chosen = nights.remove(5);
        let text = history(&chosen, Some(&nights), Some("l.i0")).unwrap().document.text(false);
        assert!(text.contains("relative to pg18.x10a") && text.contains("Left out: 3"), "{text}");
    }

    #[test]
    fn nights_become_versions() {
        let mut nights = nights(&[0.0, 0.0, 0.0, -0.05, -0.05, -0.05]);
        // The base case against itself, another base case, and the same build once more on the last night.
        let again = nights[0].0.candidates[0].clone();
        nights[0].0.candidates.push(again);
        nights[1].1.iter_mut().for_each(|trial| trial.cell.push_str(" elsewhere"));
        let again = nights[4].0.candidates[1].build.clone();
        nights[5].0.candidates[1].build = again;
        let chosen = nights.remove(5);
        let text = history(&chosen, Some(&nights), None).unwrap().document.text(false);
        insta::assert_snapshot!(text);
        let json = history(&chosen, Some(&nights), Some("l.i0")).unwrap().json;
        assert!(json.contains("\"since\": \"pg181.x10a 2026-11-04\""), "{json}");
    }

    #[test]
    fn two_of_one_night_are_told_apart() {
        let mut nights = nights(&[0.0, 0.0, 0.0]);
        nights[1].0.created_at = "2026-11-01T15:30:00Z".into();
        let chosen = nights.remove(2);
        let text = history(&chosen, Some(&nights), Some("l.i0")).unwrap().document.text(false);
        assert!(text.contains("pg181.x10a 2026-11-01 03:00") && text.contains("2026-11-01 15:30"), "{text}");
    }

    #[test]
    fn single_runs_use_the_compatibility_mode() {
        let levels: Vec<f64> = (0..20).map(|number| if number < 12 { 0.0 } else { -0.1 }).collect();
        let (mut experiment, trials) = fixture::history(&levels, 1, 0.0005, 5);
        experiment.schedule = None;
        let stored = (experiment, trials);
        let text = history(&stored, None, Some("l.i0")).unwrap().document.text(false);
        assert!(
            text.contains("NOTE: Each version was measured once. Single runs carry no verdict"),
            "{text}"
        );
        assert!(text.contains("since pg1812.x10a"), "{text}");
    }

    #[test]
    fn what_has_no_history_is_refused() {
        let stored = fixture::history(&[0.0, 0.0], 5, 0.005, 1);
        let refuse = |stored: &Stored, others: Option<&[Stored]>, wanted: Option<&str>| {
            let found = history(stored, others, wanted);
            found.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let said = refuse(&stored, None, Some("l.i2"));
        assert!(said.contains("no step `l.i2`\nhint: did you mean `l.i"), "{said}");
        let said = refuse(&(stored.0.clone(), vec![]), None, None);
        assert!(said.contains("no step was measured on two candidates"), "{said}");
        let alone = refuse(&fixture::history(&[0.0], 5, 0.005, 1), None, None);
        assert!(alone.starts_with("the experiment has only one candidate"), "{alone}");
        let once = Experiment { schedule: None, ..stored.0 };
        let said = refuse(&(once, stored.1), Some(&[]), None);
        assert!(said.starts_with("only experiments in rounds can be joined by date"), "{said}");
    }

    #[test]
    fn what_was_counted_alone_has_a_history() {
        let (experiment, counted) = fixture::counted();
        let chosen = JudgedExperiment::of((experiment, Vec::new())).counting(counted);
        let found = crate::history(&chosen, None, None).unwrap();
        let text = found.document.text(false);
        insta::assert_snapshot!(text);
        let told: serde_json::Value = serde_json::from_str(&found.json).unwrap();
        let steps = told["work"].as_array().unwrap();
        let sums = steps.iter().find(|step| step["step"] == "read-only-sum_range=1000").unwrap();
        assert_eq!(
            (&sums["changes"][0]["verdict"], &told["steps"]),
            (&"less_work".into(), &serde_json::json!([]))
        );
        assert_eq!(sums["changes"][0]["movers"][0]["function"], "ExecInterpExprStillValid", "{sums}");
    }

    #[test]
    fn work_stands_below_times() {
        let (experiment, trials, counted) = fixture::counted_in_rounds();
        let chosen = JudgedExperiment::of((experiment, trials)).counting(counted);
        let both = crate::history(&chosen, None, None).unwrap().document.text(false);
        let (times, work) = (both.find("Change points").unwrap(), both.find("Changes of work").unwrap());
        assert!(times < work, "{both}");
    }

    /// What was counted of the candidates of a night on a step, which need so many instructions, in windows of so many events.
    fn counted(night: &Stored, instructions: &[f64], events: u64) -> Counted {
        let (experiment, _) = night;
        let planned = fixture::counted().1.starts;
        let count = |(facts, instructions): (&CandidateFacts, &f64)| -> Vec<StepCount> {
            let of_start = |start: u32| {
                let mut count = planned[0].clone();
                let total: f64 = count.functions.iter().map(|function| function.exclusive[0]).sum();
                // One function has all of the difference.
                for window in 0..2 {
                    count.functions[0].exclusive[window] += instructions - total;
                }
                for window in &mut count.windows {
                    (window.operations, window.events) = (events, events);
                    window.instructions = (instructions * events as f64) as i64;
                }
                StepCount { candidate: facts.name.0.clone(), step: "l.i0".into(), start, ..count }
            };
            (0..2).map(of_start).collect()
        };
        let starts = experiment.candidates.iter().zip(instructions).flat_map(count).collect();
        Counted::of(experiment, starts)
    }

    #[test]
    fn work_over_dates_is_that_of_versions_that_were_counted_alike() {
        let mut nights: Vec<(Stored, Counted)> = nights(&[0.0; 5])
            .into_iter()
            .zip([None, Some(40_000.0), Some(40_000.0), Some(41_000.0), Some(41_000.0)])
            .map(|(night, level)| {
                let counted = level.map(|level| counted(&night, &[40_000.0, level], 200));
                (night, counted.unwrap_or_default())
            })
            .collect();
        // Windows of another size execute other operations.
        nights[2].1 = counted(&nights[2].0, &[43_000.0, 43_000.0], 150);
        let mut nights: Vec<JudgedExperiment> = nights.into_iter().map(JudgedExperiment::from).collect();
        let chosen = nights.remove(4);
        let found = crate::history(&chosen, Some(&nights), Some("l.i0")).unwrap();
        insta::assert_snapshot!(found.document.text(false));
        let told: serde_json::Value = serde_json::from_str(&found.json).unwrap();
        let work = &told["work"][0];
        let instructions = serde_json::json!([40_000.0, null, 40_000.0, null, 41_000.0, 41_000.0]);
        assert_eq!(work["instructions"], instructions, "{work}");
        assert_eq!(work["changes"].as_array().unwrap().len(), 1);
        assert_eq!(work["changes"][0]["since"], "pg181.x10a 2026-11-04");
        assert_eq!(work["changes"][0]["movers"][0]["change"], 1_000.0);
    }
}
