//! Numbers of each trial and settings of each server as plain text, for tools of the user.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use basecase_model::{CandidateFacts, Experiment, Measures, ServerReadings, Trial, printable};

use crate::error::Error;
use crate::formats::file_name;

/// Writes the files into `folder`, and returns how many.
///
/// `settings/CANDIDATE.tsv` has all settings of the running server. `STEP/CANDIDATE.counters.tsv` has what was counted during the step:
/// of the server's status the difference between end and start, without what did not move. `STEP/CANDIDATE.levels.tsv` has the levels at
/// the end. `STEP/CANDIDATE.start.tsv` and `.end.tsv` have all that the server reported before and after the step, where the store has it. The
/// place of a trial in rounds stands after the candidate, as `.round-2`.
///
/// # Errors
/// When a folder or file cannot be written.
pub(crate) fn write(experiment: &Experiment, trials: &[Trial], folder: &Path) -> Result<usize, Error> {
    let mut files = Files { folder, count: 0 };
    for CandidateFacts { name, running, .. } in
        experiment.candidates.iter().filter(|one| !one.running.is_empty())
    {
        let lines = running.iter().map(|(name, value)| (name.as_str(), value.clone()));
        files.write("settings", &format!("{}.tsv", file_name(&name.0)), lines)?;
    }
    for trial in trials.iter().filter(|trial| trial.is_complete()) {
        let round = match experiment.schedule {
            Some(_) => format!(".round-{}", trial.place.round + 1),
            None => String::new(),
        };
        let name = |what: &str| format!("{}{round}.{what}.tsv", file_name(&trial.candidate));
        let ServerReadings { start, end } = &trial.server_readings;
        let readings =
            [("start", start), ("end", end)].into_iter().filter(|(_, reading)| !reading.is_empty());
        let all = [("counters", &trial.counters), ("levels", &trial.gauges)].into_iter().chain(readings);
        for (what, measures) in all {
            files.write(&file_name(&trial.step), &name(what), lines(measures))?;
        }
    }
    Ok(files.count)
}

fn lines(measures: &Measures) -> impl Iterator<Item = (&str, String)> {
    measures.iter().map(|(name, value)| (name, value.to_string()))
}

struct Files<'a> {
    folder: &'a Path,
    count: usize,
}

impl Files<'_> {
    fn write<'a>(
        &mut self,
        within: &str,
        name: &str,
        lines: impl Iterator<Item = (&'a str, String)>,
    ) -> Result<(), Error> {
        let folder = self.folder.join(within);
        fs::create_dir_all(&folder)
            .map_err(|source| Error::CreateDirectory { path: folder.clone(), source })?;
        let mut text = String::new();
        for (name, value) in lines {
            // Neither tabs nor line ends may split a line.
            let value = value.replace(['\t', '\n', '\r'], " ");
            let _ = writeln!(text, "{}\t{}", printable(name), printable(&value));
        }
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| Error::WriteFile { path, source })?;
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_complete_trial_has_its_counters_and_levels_and_every_server_its_settings() {
        let (experiment, trials) = fixture::sample();
        let folder = tempfile::tempdir().unwrap();
        let count = write(&experiment, &trials, folder.path()).unwrap();
        let complete = trials.iter().filter(|trial| trial.is_complete()).count();
        let servers = experiment.candidates.iter().filter(|one| !one.running.is_empty()).count();
        assert_eq!(count, 2 * complete + servers);
        let first = trials.iter().find(|trial| trial.is_complete()).unwrap();
        let file = |what| format!("{}/{}.{what}.tsv", file_name(&first.step), file_name(&first.candidate));
        let text = fs::read_to_string(folder.path().join(file("counters"))).unwrap();
        let (name, value) = first.counters.iter().next().unwrap();
        assert_eq!(text.lines().next(), Some(format!("{name}\t{value}").as_str()));
        assert!(folder.path().join(file("levels")).is_file());
    }

    #[test]
    fn what_the_server_reported_before_and_after_a_step_has_a_file_each() {
        let (experiment, mut trials) = fixture::sample();
        let folder = tempfile::tempdir().unwrap();
        let first = trials.iter_mut().find(|trial| trial.is_complete()).unwrap();
        first.server_readings.start.set("mysql.questions", 7.0);
        first.server_readings.end.set("mysql.questions", 12.0);
        write(&experiment, &trials, folder.path()).unwrap();
        let first = trials.iter().find(|trial| trial.is_complete()).unwrap();
        let text = |moment| {
            let file = format!("{}/{}.{moment}.tsv", file_name(&first.step), file_name(&first.candidate));
            fs::read_to_string(folder.path().join(file)).unwrap()
        };
        assert_eq!([text("start"), text("end")], ["mysql.questions\t7\n", "mysql.questions\t12\n"]);
    }

    #[test]
    fn rounds_have_files_of_their_own() {
        let (experiment, trials) = fixture::in_rounds();
        let folder = tempfile::tempdir().unwrap();
        write(&experiment, &trials, folder.path()).unwrap();
        let trial = trials.iter().find(|trial| trial.is_complete() && trial.place.round == 1).unwrap();
        let file = format!("{}/{}.round-2.levels.tsv", file_name(&trial.step), file_name(&trial.candidate));
        assert!(folder.path().join(file).is_file());
    }
}
