//! `explain --try`: measures what a setting has to do with a change.

use anyhow::{Context as _, Result, bail};
use basecase_analysis::{Counts, Error, Explanation, Results, Rounds, cells};
use basecase_lab::{AskedSetting, Request, RunOptions, experiment_file};
use basecase_model::Experiment;
use basecase_store::Store;
use clap::Parser as _;

use super::demo::demo_requests;
use super::experiment::{request, selected};
use super::perform::{check_same, measure_without_pages};
use super::store::{counted, explained};
use crate::arguments::{Arguments, Command, Explain, PlaceArguments};
use crate::reporter::Reporter;
use crate::{Outcome, output};

pub(crate) fn run(arguments: &Explain, asked: &AskedSetting, reporter: &Reporter) -> Result<Outcome> {
    let store = Store::open_read_only(&arguments.store)?;
    let experiment = explained(&store, arguments.experiment.as_deref())?;
    let (step, contender) = cell(&store, &experiment, arguments)?;
    drop(store);
    let facts = experiment.candidates.first().zip(experiment.candidates.get(contender));
    let (base, facts) = facts.context("the experiment has no such candidates")?;
    let tried = asked.tried(base, facts)?;
    // Before any download, so that a store that cannot be written is found early.
    drop(Store::create_or_open(&arguments.store)?);
    let (original, places) = original(&experiment, arguments, reporter)?;
    check_all_measured(&original, &experiment)?;
    let trying = original.trying(&tried, contender, arguments.detect)?;
    let options = RunOptions { only_step: Some(step.clone()), ..RunOptions::default() };
    let measured = measure_without_pages(&trying, &places, options, reporter)?;
    let document = basecase_report::setting_effect(&measured.experiment, &measured.trials, &tried, &step)?;
    let text = if arguments.markdown { document.markdown() } else { document.text(output::may_colour()) };
    let printed = output::print_report(&text);
    let outcome = measured.summarize(&places, reporter);
    printed?;
    Ok(outcome)
}

/// Refuses an experiment that lacks candidates of its command: their numbers would be those of others.
fn check_all_measured(request: &Request, experiment: &Experiment) -> Result<()> {
    let Some(base) = experiment.candidates.first() else { return Ok(()) };
    let measured = experiment.candidates.iter().filter(|facts| !facts.name.is_again(&base.name)).count();
    if measured < request.candidates.len() {
        bail!(
            "only {measured} of the {} candidates that the experiment asked for could be measured here, so that it cannot be told which of them to try the setting on\nhint: measure the base case and the contender by `basecase compare`, and explain that experiment",
            request.candidates.len()
        );
    }
    Ok(())
}

/// The name of the step and the number of the candidate whose change is to be explained: there must be one.
fn cell(store: &Store, experiment: &Experiment, arguments: &Explain) -> Result<(String, usize)> {
    let trials = store.trials(&experiment.id)?;
    let counted = counted(store, experiment)?;
    let rounds = Rounds::of(experiment, &trials);
    let counts = Counts::of(experiment, &counted);
    let results = Results::of(experiment, &trials, rounds.as_ref()).counting(counts.as_ref());
    let wanted = arguments.cell.as_deref();
    let all = cells(&results, wanted, arguments.thresholds)?;
    let is_compared =
        |(step, candidate): &(usize, usize)| Explanation::of(&results, *step, *candidate).is_some();
    let compared: Vec<(usize, usize)> = all.into_iter().filter(is_compared).collect();
    let name = |(step, candidate): &(usize, usize)| {
        let step = experiment.steps.get(*step).map_or("", |facts| &facts.label);
        let candidate = experiment.candidates.get(*candidate).map_or("", |facts| &facts.name.0);
        format!("{candidate}/{step}")
    };
    match (compared.as_slice(), wanted) {
        ([(step, candidate)], _) => {
            let step = experiment.steps.get(*step).context("the experiment has no such step")?;
            Ok((step.name.clone(), *candidate))
        }
        ([], Some(wanted)) => Err(Error::NotMeasured(wanted.to_owned()).into()),
        ([], None) if rounds.is_some() => Err(Error::NothingChanged.into()),
        ([], None) => Err(Error::NothingBeyond.into()),
        (several, _) => bail!(
            "--try measures one candidate on one step, and {} have changed or were named\nhint: name one of them: {}",
            several.len(),
            several.iter().map(name).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The request of the command that made the experiment, which must still mean the same experiment, and where its data goes.
fn original(
    experiment: &Experiment,
    arguments: &Explain,
    reporter: &Reporter,
) -> Result<(Request, PlaceArguments)> {
    let command = &experiment.command;
    let words = shlex::split(command).unwrap_or_default();
    let again = Arguments::try_parse_from(words).ok().and_then(|parsed| requests(parsed.command).transpose());
    let Some(again) = again else {
        bail!(
            "`{command}` cannot be given again, so its candidates cannot be run with another setting\nhint: measure the base case and the contender by `basecase compare`, and explain that experiment"
        );
    };
    let (requests, places) = again.with_context(|| format!("`{command}` cannot be given again"))?;
    let mut reason = None;
    for request in requests {
        match check_same(&request, &places, &experiment.id, reporter) {
            Ok(true) => return Ok((request, adapted(places, arguments))),
            Ok(false) => {}
            Err(error) => reason = Some(error),
        }
    }
    match reason {
        Some(error) => Err(error.context(format!("`{command}` cannot be given again"))),
        None => bail!(
            "`{command}` would be another experiment by now: a file that it names, a version of a build or this machine has changed\nhint: give that command again, and explain the experiment that it makes"
        ),
    }
}

/// The experiments that a command asks for; `None` of one that makes them from results.
fn requests(command: Command) -> Result<Option<(Vec<Request>, PlaceArguments)>> {
    Ok(Some(match command {
        Command::Compare(compare) => (vec![request(&compare)?], compare.places),
        Command::Gate(gate) => {
            let mut asked = request(&gate.compare)?;
            asked.protocol = asked.protocol.in_rounds();
            asked.take_merge_base()?;
            (vec![asked], gate.compare.places)
        }
        Command::Run(run) => {
            let variants = selected(&run)?.into_iter();
            (variants.map(|experiment_file::Variant { request, .. }| request).collect(), run.places)
        }
        Command::Demo(demo) => demo_requests(&demo)?,
        _ => return Ok(None),
    }))
}

/// The places of the original command, as far as they are part of how it was measured.
fn adapted(places: PlaceArguments, arguments: &Explain) -> PlaceArguments {
    PlaceArguments {
        store: arguments.store.clone(),
        budget: arguments.budget,
        progress: arguments.progress,
        json: false,
        profile: Vec::new(),
        profile_measured: false,
        counts: false,
        keep_data: false,
        rebuild: false,
        dry_run: false,
        ..places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_that_lacks_a_candidate_of_its_command_is_refused() {
        // The made-up experiment has three.
        let (experiment, _) = basecase_report::fixture::in_rounds();
        let checked = |candidates: &[&str]| {
            let words = ["basecase", "compare"].iter().chain(candidates);
            let parsed = Arguments::try_parse_from(words).unwrap();
            let (requests, _) = requests(parsed.command).unwrap().unwrap();
            check_all_measured(&requests[0], &experiment)
        };
        assert!(checked(&["sqlite:3.52.0", "sqlite:3.53.0", "sqlite:3.54.0"]).is_ok());
        let refusal = checked(&["sqlite:3.51.0", "sqlite:3.52.0", "sqlite:3.53.0", "sqlite:3.54.0"]);
        assert!(refusal.unwrap_err().to_string().starts_with("only 3 of the 4 candidates"));
    }
}
