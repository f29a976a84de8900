//! The data that a candidate's rounds begin with: the result of the load, stored while it is not in use.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use basecase_model::State;
use basecase_server::move_data;

use super::slot_of;
use crate::observer::Phase;
use crate::plan::Candidate;
use crate::run::Run;
use crate::run::bench::{Bench, Deployment as _};
use crate::run::deployment::Content;
use crate::run::measure::settling::unrest;
use crate::run::resume::is_kept;
use crate::run::rounds::open_comparisons::OpenComparisons;

/// The warning on the trial of a load whose data had to be loaded again.
const ON_LOADED_AGAIN: &str =
    "the data was loaded again for rounds that came later: same rows, and no trial of its own";

impl<B: Bench> Run<'_, B> {
    /// Loads the data that a candidate's rounds begin with, unless it exists and the store has the trial of its load. Returns whether it
    /// exists now.
    ///
    /// # Errors
    /// When it cannot be loaded, or existing data cannot be read. Existing data is kept then.
    pub(crate) fn provide_image(
        &mut self,
        open_comparisons: &mut OpenComparisons,
        index: usize,
    ) -> Result<bool> {
        let plan = self.plan;
        let candidate = &plan.candidates[index];
        let image = image_of(candidate);
        let loaded = open_comparisons.load(index).cloned();
        let is_asked = self.options.rebuilds && !self.loaded_for.contains_key(&index);
        let is_drawn = loaded.is_some() && self.loads_anew;
        let is_wanted_anew = is_asked || is_drawn;
        if !is_wanted_anew && loaded.is_some() {
            let state = read_state(&image).with_context(|| is_kept(candidate))?;
            if state.is_some() {
                return Ok(true);
            }
        }
        let began = self.bench.now();
        remove_folder(&image)?;
        remove_folder(&kept_of(candidate))?;
        let slot = slot_of(plan, 0);
        self.phase(candidate, candidate.opening());
        let opened = self.open(candidate, &slot, Content::Fresh)?;
        let mut deployment = opened.context("the candidate was not opened")?;
        self.identify(index, &mut deployment)?;
        let state = match loaded {
            Some(loaded) => {
                let (_, state) = self.rebuild(candidate, &mut deployment, 1)?;
                if self.is_stopped() {
                    return Ok(false);
                }
                if !is_drawn {
                    self.store.add_warning(&loaded, ON_LOADED_AGAIN)?;
                }
                state
            }
            None => {
                let mut workload_state = candidate.workload_state(plan.workload.as_ref())?;
                let Some(trial) = self.step(candidate, &mut deployment, workload_state.as_mut(), 0, index)?
                else {
                    return Ok(false);
                };
                self.save(candidate, 0, &trial)?;
                if !trial.is_complete() {
                    return Ok(false);
                }
                let state = trial.state.clone();
                open_comparisons.add(trial);
                state
            }
        };
        self.keep_as_image(candidate, deployment, &slot, &state)?;
        self.loaded_for.insert(index, self.round);
        let in_round = self.loading.in_round.get_or_insert_default();
        *in_round += self.bench.now() - began;
        Ok(true)
    }

    /// Lets what was loaded settle, stops the server, and keeps its data as the candidate's image.
    fn keep_as_image(
        &mut self,
        candidate: &Candidate,
        mut deployment: B::Deployment,
        slot: &Path,
        state: &State,
    ) -> Result<()> {
        let settled = self.settle(candidate, &mut deployment)?;
        if let Some(warning) = unrest(self.plan.settle, &settled) {
            self.note(&format!("{}, image: {warning}", candidate.facts.name));
        }
        self.phase(candidate, Phase::Keep);
        if let Some(note) = deployment.stop() {
            self.note(&note);
        }
        let image = image_of(candidate);
        move_data(slot, &image)?;
        write_round(&image, self.round)?;
        write_state(&image, state)
    }
}

/// What the load left.
pub(crate) fn image_of(candidate: &Candidate) -> PathBuf {
    candidate.directory.join("image")
}

/// The same, used by servers that changed nothing.
pub(crate) fn kept_of(candidate: &Candidate) -> PathBuf {
    candidate.directory.join("kept")
}

/// The file of an image that says what its tables hold. It is written last: an image without it is not whole.
const STATE: &str = "state.json";

/// What the tables of an image hold; `None` where there is no whole image.
///
/// # Errors
/// When the file cannot be read, which says nothing about the image.
pub(crate) fn read_state(image: &Path) -> Result<Option<State>> {
    let path = image.join(STATE);
    let text = match basecase_probe::read_text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let state = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    Ok(Some(state))
}

/// The file of an image that says for which round it was loaded.
const ROUND: &str = "round";

/// The round for which an image was loaded, if it says so.
pub(crate) fn read_round(image: &Path) -> Option<u32> {
    basecase_probe::read_text(&image.join(ROUND)).ok()?.trim().parse().ok()
}

fn write_round(image: &Path, round: u32) -> Result<()> {
    let path = image.join(ROUND);
    fs::write(&path, round.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes it atomically: a process that is killed meanwhile must not leave half of it.
pub(crate) fn write_state(image: &Path, state: &State) -> Result<()> {
    let (path, new) = (image.join(STATE), image.join("state.json.new"));
    let write = || {
        // What an interrupted run left, or a link, is not written to.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&new)?;
        file.write_all(serde_json::to_string(state)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Removes a folder after renaming it: if the process is killed meanwhile, the remainder must not pass for the whole.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    let mut going = folder.as_os_str().to_owned();
    going.push(".going");
    let if_there = |done: io::Result<()>| match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    };
    if_there(fs::remove_dir_all(&going))
        .and_then(|()| if_there(fs::rename(folder, &going)))
        .and_then(|()| if_there(fs::remove_dir_all(&going)))
        .with_context(|| format!("cannot remove {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_19_an_image_that_cannot_be_read_is_not_one_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path();
        assert_eq!(read_state(image).unwrap(), None);
        write_state(image, &State::default()).unwrap();
        assert_eq!(read_state(image).unwrap(), Some(State::default()));
        fs::write(image.join(STATE), "{").unwrap();
        assert!(read_state(image).unwrap_err().to_string().contains("is damaged"));
        fs::remove_file(image.join(STATE)).unwrap();
        fs::create_dir(image.join(STATE)).unwrap();
        assert!(read_state(image).unwrap_err().to_string().contains("cannot read"));
    }
}
