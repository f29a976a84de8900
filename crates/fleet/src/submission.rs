//! Submitting a fleet, and what is kept of it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Element, ElementState, FleetError, FleetFolder, Job, Scheduler, file, job_script};

/// The file in the fleet's folder.
const FILE: &str = "submission.json";
/// The same while the scheduler is asked: what is to be in the file, but for the job whose id is not known yet.
const UNANSWERED_FILE: &str = "submitting.json";
/// How long a program that submits for a command that was killed is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was submitted, as it is kept in the fleet's folder for whoever comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The scheduler's name.
    pub scheduler: String,
    /// The ids of its jobs, the last one at the end: nodes that join later or are run again are jobs of their own.
    pub jobs: Vec<String>,
    /// How many nodes the fleet has.
    pub nodes: u32,
    /// The words behind `basecase` that every node runs, without the options of the node.
    pub command: Vec<String>,
    /// When it was submitted, as in RFC 3339.
    pub submitted_at: String,
}

/// What is to be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// How many nodes the fleet has.
    pub nodes: u32,
    /// The nodes that are submitted, from 1: all, or those that failed before.
    pub submitted: BTreeSet<u32>,
    /// The words behind `basecase` that every node runs, without the options of the node. Nodes start in the folder in which the
    /// job was submitted, as is usual with the scheduler.
    pub command: Vec<String>,
    /// Words of the user for the scheduler.
    pub options: Vec<String>,
    /// When it is submitted, as in RFC 3339.
    pub submitted_at: String,
}

/// Submits the nodes of a fleet whose folder has been created, and keeps what was submitted in the folder.
///
/// # Errors
/// If the scheduler refuses, or the folder cannot be written.
pub fn submit(
    folder: &FleetFolder,
    scheduler: &dyn Scheduler,
    order: &Order,
) -> Result<Submission, FleetError> {
    for node in &order.submitted {
        let folder = folder.node(*node);
        fs::create_dir_all(&folder).map_err(FleetError::at(&folder))?;
        // That of an earlier try says nothing any more.
        remove(&folder.join("exit"))?;
    }
    let script = job_script::text(folder, &folder.id()?, order.nodes, &order.command);
    file::replace(&folder.script(), script.as_bytes())?;
    let before = folder.submission()?.map(|before| before.jobs);
    let mut submission = Submission {
        scheduler: scheduler.name().to_owned(),
        jobs: before.unwrap_or_default(),
        nodes: order.nodes,
        command: order.command.clone(),
        submitted_at: order.submitted_at.clone(),
    };
    submission.write(folder, UNANSWERED_FILE)?;
    let name = folder.path().file_stem().map(|name| format!("basecase {}", name.to_string_lossy()));
    let job = scheduler.submit(&Job {
        name: name.unwrap_or_else(|| "basecase".to_owned()),
        folder: folder.clone(),
        nodes: order.submitted.clone(),
        options: order.options.clone(),
    })?;
    submission.jobs.push(job);
    submission.keep(folder)?;
    Ok(submission)
}

/// Finds the jobs of a submission that was broken off before their ids were kept, and keeps them. Returns their ids: none if the scheduler had
/// not got the job, or nothing was broken off.
///
/// # Errors
/// If the scheduler does not answer, its program of the command that was killed does not end, or the folder cannot be read or written.
pub fn recover(folder: &FleetFolder, scheduler: &dyn Scheduler) -> Result<Vec<String>, FleetError> {
    let Some(mut submission) = folder.submission_of(UNANSWERED_FILE)? else { return Ok(Vec::new()) };
    // What still submits has a job that the scheduler does not know yet.
    folder.await_submission(PATIENCE)?;
    // The scheduler forgets a job some minutes after its end.
    let noted = (1..=submission.nodes).filter_map(|node| folder.job(node));
    let all = scheduler.jobs(folder)?.into_iter().chain(noted);
    let found: BTreeSet<String> = all.filter(|job| !submission.jobs.contains(job)).collect();
    if found.is_empty() {
        remove(&folder.unanswered())?;
    } else {
        submission.jobs.extend(found.iter().cloned());
        submission.keep(folder)?;
    }
    Ok(found.into_iter().collect())
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> Result<(), FleetError> {
    file::if_there(fs::remove_file(path)).map_err(FleetError::at(path)).map(drop)
}

impl Submission {
    /// What each node does, in their order. Of a node that was submitted again, the last job tells. Where the scheduler knows nothing any
    /// more, the exit code that the node left tells.
    ///
    /// # Errors
    /// If the scheduler does not answer.
    pub fn elements(
        &self,
        folder: &FleetFolder,
        scheduler: &dyn Scheduler,
    ) -> Result<Vec<Element>, FleetError> {
        let mut known = Vec::new();
        for job in &self.jobs {
            known.extend(scheduler.elements(job)?);
        }
        let element = |node: u32| {
            let told = known.iter().rfind(|element| element.node == node);
            told.cloned().unwrap_or_else(|| {
                let state = match folder.exit_code(node) {
                    None => ElementState::Gone,
                    Some(0) => ElementState::Done,
                    code => ElementState::Failed { exit_code: code },
                };
                Element { node, state, host: None, reason: None }
            })
        };
        Ok((1..=self.nodes).map(element).collect())
    }

    /// The ids of its jobs, for people.
    pub fn job_names(&self) -> String {
        self.jobs.join(", ")
    }

    /// Keeps it, now that all ids are known.
    fn keep(&self, folder: &FleetFolder) -> Result<(), FleetError> {
        self.write(folder, FILE)?;
        remove(&folder.unanswered())
    }

    fn write(&self, folder: &FleetFolder, name: &str) -> Result<(), FleetError> {
        let path = folder.path().join(name);
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::from);
        file::replace(&path, &text.map_err(FleetError::at(&path))?)
    }
}

impl FleetFolder {
    /// What was submitted; `None` if nothing was.
    ///
    /// # Errors
    /// If the file cannot be read, or says something else.
    pub fn submission(&self) -> Result<Option<Submission>, FleetError> {
        self.submission_of(FILE)
    }

    /// The lock that the scheduler's program keeps while it submits, also when the command that started it is killed: for its standard
    /// input, which ends with it. `None` where the file system has no locks.
    pub(crate) fn submission_lock(&self) -> Option<File> {
        let file = self.open_unanswered().ok()?;
        file.try_lock().ok().map(|()| file)
    }

    /// Waits until nothing submits any more.
    pub(crate) fn await_submission(&self, patience: Duration) -> Result<(), FleetError> {
        let path = self.unanswered();
        let file = self.open_unanswered().map_err(FleetError::at(&path))?;
        let began = Instant::now();
        while let Err(TryLockError::WouldBlock) = file.try_lock() {
            if began.elapsed() >= patience || basecase_stop::is_asked() {
                return Err(FleetError::Submitting { path });
            }
            basecase_stop::pause(Duration::from_millis(100));
        }
        Ok(())
    }

    fn unanswered(&self) -> PathBuf {
        self.path().join(UNANSWERED_FILE)
    }

    fn open_unanswered(&self) -> io::Result<File> {
        // A network file system locks only what may be written.
        OpenOptions::new().read(true).write(true).open(self.unanswered())
    }

    fn submission_of(&self, name: &str) -> Result<Option<Submission>, FleetError> {
        let path = self.path().join(name);
        let Some(text) = file::if_there(fs::read(&path)).map_err(FleetError::at(&path))? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&text);
        read.map(Some).map_err(|error| FleetError::Submission { path, reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Command;

    use super::*;

    /// A scheduler that takes jobs and may die before it tells their ids.
    #[derive(Default)]
    struct Forgetful {
        jobs: RefCell<Vec<String>>,
        dies: bool,
    }

    impl Scheduler for Forgetful {
        fn name(&self) -> &str {
            "forgetful"
        }

        fn submit(&self, _: &Job) -> Result<String, FleetError> {
            let id = (self.jobs.borrow().len() + 10).to_string();
            self.jobs.borrow_mut().push(id.clone());
            assert!(!self.dies, "killed");
            Ok(id)
        }

        fn jobs(&self, _: &FleetFolder) -> Result<Vec<String>, FleetError> {
            Ok(self.jobs.borrow().clone())
        }

        fn elements(&self, _: &str) -> Result<Vec<Element>, FleetError> {
            Ok(Vec::new())
        }

        fn cancel(&self, _: &str) -> Result<(), FleetError> {
            Ok(())
        }
    }

    /// A fleet's folder, and an order for it.
    fn fleet(place: &Path) -> (FleetFolder, Order) {
        let folder = FleetFolder::beside(&place.join("fleet.sqlite"));
        let program = place.join("program");
        fs::write(&program, "").unwrap();
        folder.create(&program).unwrap();
        let order = Order {
            nodes: 2,
            submitted: [1, 2].into(),
            command: vec!["run".into()],
            options: Vec::new(),
            submitted_at: "2026-01-01T00:00:00Z".into(),
        };
        (folder, order)
    }

    /// Submits, and is killed before the id is kept.
    fn break_off(folder: &FleetFolder, scheduler: &Forgetful, order: &Order) {
        catch_unwind(AssertUnwindSafe(|| submit(folder, scheduler, order))).unwrap_err();
    }

    /// A fleet whose only submission was broken off, the scheduler that got it, and the order.
    fn broken_off(place: &Path) -> (FleetFolder, Forgetful, Order) {
        let (folder, order) = fleet(place);
        let scheduler = Forgetful { dies: true, ..Forgetful::default() };
        break_off(&folder, &scheduler, &order);
        (folder, scheduler, order)
    }

    #[test]
    fn a_job_whose_id_was_lost_is_found_once() {
        let place = tempfile::tempdir().unwrap();
        let (folder, order) = fleet(place.path());
        let mut scheduler = Forgetful::default();
        assert_eq!(recover(&folder, &scheduler).unwrap(), [""; 0], "nothing was submitted");
        submit(&folder, &scheduler, &order).unwrap();
        scheduler.dies = true;
        break_off(&folder, &scheduler, &Order { nodes: 3, submitted: [3].into(), ..order });
        assert_eq!(folder.submission().unwrap().unwrap().nodes, 2);
        assert_eq!(recover(&folder, &scheduler).unwrap(), ["11"]);
        let submission = folder.submission().unwrap().unwrap();
        assert_eq!((submission.nodes, submission.jobs), (3, vec!["10".to_owned(), "11".to_owned()]));
        assert_eq!(recover(&folder, &scheduler).unwrap(), [""; 0]);
    }

    #[test]
    fn a_job_that_the_scheduler_has_forgotten_is_known_from_its_nodes() {
        let place = tempfile::tempdir().unwrap();
        let (folder, scheduler, _) = broken_off(place.path());
        scheduler.jobs.borrow_mut().clear();
        fs::write(folder.node(2).join("job"), "10\n").unwrap();
        assert_eq!(recover(&folder, &scheduler).unwrap(), ["10"]);
    }

    #[test]
    fn a_program_that_still_submits_for_a_killed_command_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let (folder, scheduler, _) = broken_off(place.path());
        let lock = folder.submission_lock().unwrap();
        let ended = place.path().join("ended");
        let waits = Command::new("sh").args(["-c", "sleep 1; touch \"$0\""]).arg(&ended).stdin(lock).spawn();
        let refusal = folder.await_submission(Duration::ZERO);
        let recovered = recover(&folder, &scheduler);
        assert!(ended.exists(), "it was not waited for");
        waits.unwrap().wait().unwrap();
        assert!(matches!(refusal, Err(FleetError::Submitting { .. })), "{refusal:?}");
        assert_eq!(recovered.unwrap(), ["10"]);
    }

    #[test]
    fn what_the_scheduler_never_got_is_submitted_anew() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mut scheduler, order) = broken_off(place.path());
        scheduler.jobs.borrow_mut().clear();
        assert_eq!(recover(&folder, &scheduler).unwrap(), [""; 0]);
        assert_eq!(folder.submission().unwrap(), None);
        scheduler.dies = false;
        assert_eq!(submit(&folder, &scheduler, &order).unwrap().jobs, ["10"]);
    }
}
