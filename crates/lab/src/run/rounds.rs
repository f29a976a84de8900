//! Rounds: all candidates freshly started from the same data, again and again until each step is decided.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use basecase_model::{Cell, State, Trial};
use basecase_server::{copy_data, keep_data, move_data, remove_data, take_data};
use basecase_stats::Orders;

use super::relaying::{Occasion, Stand};
use super::{Run, blank_trial, relaying};
use crate::agenda::Agenda;
use crate::observer::Event;
use crate::plan::{Candidate, Plan};
use crate::site::{Content, Site};

impl Run<'_> {
    /// Rounds in which the candidates take turns in each step, which begins with what the load left.
    pub(super) fn rounds(&mut self, plan: &mut Plan, candidates: &mut [Candidate]) -> Result<()> {
        self.until_decided(plan, candidates, |run, plan, candidates, agenda, steps| {
            run.round(plan, candidates, agenda, steps)
        })?;
        if !self.options.keep_data && !self.stop.load(Ordering::Relaxed) {
            remove_folder(&plan.folder.join(SLOTS))?;
            candidates.iter().try_for_each(|candidate| remove_folder(&candidate.directory))?;
        }
        Ok(())
    }

    /// Rounds in which each candidate goes through all steps by itself, since each begins with what the one before it left.
    pub(super) fn chains(&mut self, plan: &mut Plan, candidates: &mut [Candidate]) -> Result<()> {
        let orders = orders(plan);
        self.until_decided(plan, candidates, |run, plan, candidates, agenda, _| {
            for index in orders.balanced("chains", run.round as usize, candidates.len()) {
                if !run.stop.load(Ordering::Relaxed) {
                    run.candidate(plan, index, &mut candidates[index])?;
                }
            }
            *agenda = Agenda::new(&plan.experiment, run.store.trials(&plan.experiment.id)?)?;
            Ok(())
        })
    }

    /// Runs rounds until every step is decided, there may be no more, or the time is over.
    fn until_decided(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        mut round_of: impl FnMut(&mut Self, &mut Plan, &mut [Candidate], &mut Agenda, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let Some(schedule) = plan.experiment.schedule.clone() else { return Ok(()) };
        let mut agenda = Agenda::new(&plan.experiment, self.store.trials(&plan.experiment.id)?)?;
        let began = Instant::now();
        let mut longest = Duration::ZERO;
        let mut last = None;
        // What is wanted again right after it was done has failed.
        while let Some((round, steps)) = agenda.next_round().filter(|next| last.as_ref() != Some(next)) {
            let is_over = self.options.budget.is_some_and(|budget| began.elapsed() + longest > budget);
            let most = self.options.most_rounds.into_iter().chain(schedule.looks.last().copied()).min();
            if (is_over && !longest.is_zero()) || most.is_some_and(|most| round >= most) {
                break;
            }
            let round_began = Instant::now();
            self.round = round;
            round_of(self, plan, candidates, &mut agenda, &steps)?;
            last = Some((round, steps.clone()));
            longest = longest.max(round_began.elapsed());
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let open = agenda.open_steps().len();
            self.observer.notice(Event::RoundEnds {
                round,
                seconds: round_began.elapsed().as_secs_f64(),
                decided: steps.len().saturating_sub(open),
                open,
            });
        }
        Ok(())
    }

    /// One round of these steps.
    fn round(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        agenda: &mut Agenda,
        steps: &[usize],
    ) -> Result<()> {
        let orders = orders(plan);
        for index in 0..candidates.len() {
            self.provide_image(plan, candidates, index)?;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        let order = |name: &str, of: &[usize]| -> Vec<usize> {
            orders.shuffled(name, self.round as usize, of.len()).into_iter().map(|place| of[place]).collect()
        };
        let (writes, reads): (Vec<usize>, Vec<usize>) =
            steps.iter().partition(|step| plan.steps[**step].facts.writes);
        let slots = orders.balanced("slots", self.round as usize, candidates.len());
        let (reads, writes) = (order("steps that read", &reads), order("steps that write", &writes));
        if !reads.is_empty() {
            self.sitting(plan, candidates, agenda, &slots, &reads, Data::Kept)?;
        }
        for step in writes {
            if !self.stop.load(Ordering::Relaxed) {
                self.sitting(plan, candidates, agenda, &slots, &[step], Data::Copied)?;
            }
        }
        Ok(())
    }

    /// Brings all candidates up, measures these steps and brings them down again.
    fn sitting(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        agenda: &mut Agenda,
        slots: &[usize],
        steps: &[usize],
        data: Data,
    ) -> Result<()> {
        let mut stands = Vec::with_capacity(candidates.len());
        for (slot, &index) in slots.iter().enumerate() {
            let opened = self.open_stand(plan, &mut candidates[index], index, slot, data);
            match opened {
                Ok(stand) => stands.push(stand),
                Err(error) => {
                    let at = std::time::SystemTime::now();
                    let blank = blank_trial(plan, &candidates[index], steps[0], self.place(slot), at);
                    let trial = relaying::failed(blank, &error, String::new());
                    self.store.save_trial(&plan.experiment.id, &candidates[index].cells[steps[0]], &trial)?;
                    return Err(error);
                }
            }
        }
        for (nth, &number) in steps.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let occasion = Occasion { number, is_first: nth == 0 };
            let Some(trials) = self.relay(plan, candidates, &mut stands, occasion)? else { break };
            let cells: Vec<&Cell> =
                stands.iter().map(|stand| &candidates[stand.candidate].cells[number]).collect();
            let together: Vec<(&Cell, &Trial)> = cells.into_iter().zip(&trials).collect();
            self.store.save_together(&plan.experiment.id, &together)?;
            for trial in &trials {
                self.take_in(plan, number, trial);
            }
            let measured_by = |trial: Trial| Trial { measured_by: plan.experiment.id.clone(), ..trial };
            agenda.add(trials.into_iter().map(measured_by).collect())?;
        }
        for stand in stands {
            let Stand { candidate, slot, mut site, .. } = stand;
            drop(site.control);
            if let Some(note) = site.served.stop() {
                self.observer.notice(Event::Note(&note));
            }
            drop(site.served);
            let slot = slot_of(plan, slot);
            match data {
                Data::Kept => keep_data(&slot, &kept_of(&candidates[candidate]))?,
                Data::Copied => remove_data(&slot)?,
            }
        }
        Ok(())
    }

    /// Brings a candidate up in a slot.
    fn open_stand(
        &mut self,
        plan: &mut Plan,
        candidate: &mut Candidate,
        index: usize,
        slot: usize,
        data: Data,
    ) -> Result<Stand> {
        let directory = slot_of(plan, slot);
        let (image, kept) = (image_of(candidate), kept_of(candidate));
        self.phase(candidate, "starting the server");
        // A server that a killed run left there is stopped first.
        let bring = || match data {
            Data::Kept if take_data(&kept, &directory)? => Ok(()),
            Data::Kept | Data::Copied => copy_data(&image, &directory).map(drop),
        };
        let site = Site::open_in(plan, candidate, &directory, Content::Brought(&bring))?;
        let mut site = site.with_context(|| format!("the data of {} is gone", candidate.facts.name))?;
        site.identify(candidate)?;
        plan.experiment.candidates[index] = candidate.facts.clone();
        let mut course = plan.task.course(candidate.dialect)?;
        course.resume(1, &read_state(&image)?);
        Ok(Stand { candidate: index, slot, site, course })
    }

    /// Loads the data that a candidate's rounds begin with, unless it is there.
    fn provide_image(&mut self, plan: &mut Plan, candidates: &mut [Candidate], index: usize) -> Result<()> {
        let image = image_of(&candidates[index]);
        if read_state(&image).is_ok() {
            return Ok(());
        }
        let candidate = &mut candidates[index];
        let slot = slot_of(plan, 0);
        self.phase(candidate, candidate.opening());
        let mut site =
            Site::open_in(plan, candidate, &slot, Content::Fresh)?.context("the candidate was not opened")?;
        site.identify(candidate)?;
        plan.experiment.candidates[index] = candidate.facts.clone();
        self.store.save_experiment(&plan.experiment)?;
        let mut course = plan.task.course(candidate.dialect)?;
        let Some(trial) = self.step(plan, candidate, &mut site, course.as_mut(), 0, index)? else {
            return Ok(());
        };
        self.save(plan, candidate, 0, &trial)?;
        if !trial.is_complete() {
            bail!("{} cannot be loaded", candidate.facts.name);
        }
        self.settle(plan, candidate, &mut site)?;
        self.phase(candidate, "stopping the server and keeping its data");
        drop(site.control);
        if let Some(note) = site.served.stop() {
            self.observer.notice(Event::Note(&note));
        }
        drop(site.served);
        move_data(&slot, &image)?;
        write_state(&image, &trial.state)
    }
}

/// The orders that the experiment draws.
fn orders(plan: &Plan) -> Orders {
    Orders::new(plan.experiment.schedule.as_ref().map_or(0, |schedule| schedule.seed))
}

/// Where a candidate's data comes from, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// From the sitting before, and kept for the next: nothing is changed.
    Kept,
    /// A copy of the image, which is thrown away.
    Copied,
}

/// The folder of the directories that servers run in.
const SLOTS: &str = "slots";

/// A directory in which a server runs. A candidate has another one in every round: what depends on its path hits all alike.
pub(super) fn slot_of(plan: &Plan, slot: usize) -> PathBuf {
    plan.folder.join(SLOTS).join(slot.to_string())
}

/// What the load left.
fn image_of(candidate: &Candidate) -> PathBuf {
    candidate.directory.join("image")
}

/// The same, used by servers that changed nothing.
fn kept_of(candidate: &Candidate) -> PathBuf {
    candidate.directory.join("kept")
}

/// What the tables of an image hold. It is written last: an image without it is not whole.
fn read_state(image: &Path) -> Result<State> {
    Ok(serde_json::from_str(&std::fs::read_to_string(image.join("state.json"))?)?)
}

fn write_state(image: &Path, state: &State) -> Result<()> {
    let path = image.join("state.json");
    std::fs::write(&path, serde_json::to_string(state)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
