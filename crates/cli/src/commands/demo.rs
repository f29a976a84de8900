//! `demo`: two versions of SQLite, compiled and compared within two minutes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use basecase_builds::{BuildRequest, Library, default_home};
use basecase_client::sqlite;
use basecase_lab::{CountsEngine, Request, RunOptions};
use clap::Parser as _;

use super::experiment::request;
use super::perform::{make_folder, perform};
use crate::Outcome;
use crate::arguments::{Arguments, Command, Compare, Demo, PlaceArguments};
use crate::output;
use crate::reporter::Reporter;

/// A version of 2018 that distributions still carry, and one of this year.
const VERSIONS: [&str; 2] = ["sqlite:3.26.0", "sqlite:3.54.1"];
/// Configs of the bundled version that really differ: what is left without a network, a C compiler or a loader of libraries.
const CONFIGS: [&str; 2] = ["sqlite@rollback_full", "sqlite@wal_normal"];
/// Steps that read and one that writes: few, so that each has rounds enough for a verdict.
const STEPS: &str = "point-query,range-covered-pk,scan,update-index";
const ROWS: &str = "5000";
/// How long compiling, rounds and counts may take together.
const WHOLE: Duration = Duration::from_secs(104);
/// How long the counts of these steps take on two processors, which come last.
const COUNTS: Duration = Duration::from_secs(30);
/// The least time for rounds: with less there would be no verdict.
const LEAST_ROUNDS: Duration = Duration::from_secs(45);

/// Compares two versions of SQLite in rounds, and by their work where something can count it.
pub(crate) fn demo(arguments: &Demo, reporter: &Reporter) -> Result<Outcome> {
    let began = Instant::now();
    if arguments.dry_run {
        let candidates = if sqlite::Library::check_loader().is_ok() { VERSIONS } else { CONFIGS };
        let compare = comparison(arguments, candidates)?;
        return perform(&demo_request(&compare)?, &compare.places, RunOptions::default(), reporter);
    }
    make_folder(&arguments.out)?;
    let candidates = match compile(reporter) {
        Ok(()) => VERSIONS,
        Err(error) => {
            basecase_stop::check()?;
            let reason = output::error_text(&error);
            let reason = reason.lines().next().unwrap_or_default();
            reporter.note(&format!(
                "two configs of the bundled SQLite are compared, because other versions cannot be had: {reason}"
            ));
            CONFIGS
        }
    };
    // What is a part of this program cannot be counted.
    let is_countable = candidates == VERSIONS;
    let counts = is_countable && basecase_lab::check_counts_engine(CountsEngine::Auto).is_ok();
    if is_countable && !counts {
        reporter.note("with valgrind installed, the demo also counts the instructions of each step and names the functions that changed");
    }
    let kept = if counts { COUNTS } else { Duration::ZERO };
    let left = WHOLE.saturating_sub(began.elapsed()).saturating_sub(kept).max(LEAST_ROUNDS);
    let compare = comparison(arguments, candidates)?;
    let budget = arguments.budget.or(Some(left));
    let places = PlaceArguments { budget, counts, ..compare.places.clone() };
    perform(&demo_request(&compare)?, &places, RunOptions::default(), reporter)
}

/// What the demo may have asked for, likeliest first, and where its results go.
pub(crate) fn demo_requests(arguments: &Demo) -> Result<(Vec<Request>, PlaceArguments)> {
    let asked = [VERSIONS, CONFIGS].map(|candidates| comparison(arguments, candidates));
    let asked: Vec<Compare> = asked.into_iter().collect::<Result<_>>()?;
    let places = asked[0].places.clone();
    Ok((asked.iter().map(demo_request).collect::<Result<_>>()?, places))
}

fn demo_request(compare: &Compare) -> Result<Request> {
    Ok(Request { name: "demo".to_owned(), ..request(compare)? })
}

/// The demo as a command that users can give themselves.
fn comparison(arguments: &Demo, candidates: [&str; 2]) -> Result<Compare> {
    let path = |name: &str| arguments.out.join(name).into_os_string();
    let words =
        ["--workload", "microbenchmarks", "--list", STEPS, "--tables", "1", "--rows", ROWS, "--budget", "1m"];
    let first = ["basecase", "compare"].into_iter().chain(candidates).chain(words).map(Into::into);
    let places = [("--store", "results.sqlite"), ("--out", "report"), ("--data", "data")];
    let places = places.into_iter().flat_map(|(option, name)| [option.into(), path(name)]);
    match Arguments::try_parse_from(first.chain(places)).context("the demo's own options")?.command {
        Command::Compare(compare) => {
            let places = PlaceArguments {
                progress: arguments.progress,
                dry_run: arguments.dry_run,
                budget: arguments.budget.or(compare.places.budget),
                ..compare.places.clone()
            };
            Ok(Compare { places, ..*compare })
        }
        _ => bail!("the demo asks for another command than compare"),
    }
}

/// Compiles both versions, unless they are here already.
fn compile(reporter: &Reporter) -> Result<()> {
    let library = Library::open(&default_home()?)?;
    let requests = VERSIONS.iter().map(|version| version.parse());
    let sources = library.resolve(&requests.collect::<Result<Vec<BuildRequest>, _>>()?)?;
    library.obtain_all(&sources, &mut |text| reporter.note(text))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::ProgressArgument;

    #[test]
    fn both_forms_of_the_demo_are_comparisons_in_rounds_of_all_its_steps() {
        let demo = Demo { out: "out".into(), budget: None, progress: ProgressArgument::Text, dry_run: false };
        let (requests, places) = demo_requests(&demo).unwrap();
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!((request.name.as_str(), request.candidates.len()), ("demo", 2));
            let outlines = request.workload.outlines();
            let measured = outlines.iter().filter(|outline| outline.facts.is_compared()).count();
            assert_eq!(measured, STEPS.split(',').count());
        }
        assert!(places.budget.is_some() && places.store.starts_with("out"));
    }
}
