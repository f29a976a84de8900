//! The coordinator: it looks at all nodes now and then, and tells them what is decided. Between two looks it sleeps.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use basecase_store::RunLock;

use crate::delivery::{Signature, collect, signature};
use crate::{
    Collected, Element, ElementState, FleetError, FleetFolder, Scheduler, Submission, failure, read_decided,
    write_decided,
};

/// How long the queue may take before its reason is told.
const QUEUE_PATIENCE: Duration = Duration::from_secs(60);
/// How long what a node wrote may stay invisible here: caches of a network file system usually forget within a minute.
const CACHE_PATIENCE: Duration = Duration::from_secs(60);
/// How many times as long as it looks the coordinator rests at least: it runs where others work, and judging a large fleet takes seconds.
const RESTS: u32 = 9;
/// By how much clocks may differ, in seconds.
const CLOCK_LIMIT_S: f64 = 60.0;

/// What the caller of a look made of all deliveries so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// The steps that need no more rounds.
    pub decided: BTreeSet<String>,
    /// How many rounds each node has stored, as far as the caller counted.
    pub rounds: BTreeMap<u32, u32>,
}

/// What is known of a node's deliveries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeStanding {
    /// The node, from 1.
    pub node: u32,
    /// The checksum of the last delivery that was collected.
    pub collected: Option<String>,
    /// How many deliveries this coordinator has collected.
    pub deliveries: u32,
    /// How many rounds the node has stored, as [`Judged`] said.
    pub rounds: Option<u32>,
}

/// How the fleet stands after a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// What each node does, in their order.
    pub elements: Vec<Element>,
    /// What each node has delivered, in their order.
    pub nodes: Vec<NodeStanding>,
    /// The steps that need no more rounds.
    pub decided: BTreeSet<String>,
    /// What the user should know, each said in one look only. A line may have a second one that begins with `hint: `.
    pub news: Vec<String>,
}

impl Standing {
    /// Whether no node will do anything any more.
    pub fn is_over(&self) -> bool {
        self.elements.iter().all(|element| element.state.has_ended())
    }

    /// The nodes that did not end well.
    pub fn failed(&self) -> BTreeSet<u32> {
        self.elements
            .iter()
            .filter(|element| element.state.has_failed())
            .map(|element| element.node)
            .collect()
    }
}

/// How watching ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All nodes have ended.
    Finished(Standing),
    /// The user wants to stop. The nodes go on.
    Stopped(Standing),
}

/// Watches the nodes of a fleet.
pub struct Coordinator<'s> {
    folder: FleetFolder,
    scheduler: &'s dyn Scheduler,
    submission: Submission,
    nodes: Vec<NodeStanding>,
    /// The delivery of each node that was read last, whether or not it fitted its checksum.
    read: BTreeMap<u32, Signature>,
    elements: Vec<Element>,
    /// What each node did when it was told last, and whether it was held.
    told: BTreeMap<u32, (ElementState, bool)>,
    /// Nodes whose clocks have been compared.
    compared: BTreeSet<u32>,
    decided: BTreeSet<String>,
    /// What must not be said again.
    said: BTreeSet<String>,
    news: Vec<String>,
    began: Instant,
    has_started: bool,
    own_clock_ahead_s: f64,
    queue_patience: Duration,
    cache_patience: Duration,
    _lock: RunLock,
}

impl<'s> Coordinator<'s> {
    /// Watches what was submitted. The lock is that of the store that everything is merged into, so that there is no second
    /// coordinator.
    pub fn new(
        folder: FleetFolder,
        scheduler: &'s dyn Scheduler,
        submission: Submission,
        lock: RunLock,
    ) -> Self {
        let node = |node| NodeStanding { node, ..NodeStanding::default() };
        Coordinator {
            nodes: (1..=submission.nodes).map(node).collect(),
            decided: read_decided(&folder.decided()).unwrap_or_default(),
            own_clock_ahead_s: folder.own_clock_ahead_s().unwrap_or_default(),
            folder,
            scheduler,
            submission,
            read: BTreeMap::new(),
            elements: Vec::new(),
            told: BTreeMap::new(),
            compared: BTreeSet::new(),
            said: BTreeSet::new(),
            news: Vec::new(),
            began: Instant::now(),
            has_started: false,
            queue_patience: QUEUE_PATIENCE,
            cache_patience: CACHE_PATIENCE,
            _lock: lock,
        }
    }

    /// Looks once: asks the scheduler, collects new deliveries, has `judge` merge and judge them if there are any, and tells the
    /// nodes what is decided.
    ///
    /// # Errors
    /// If `judge` fails, or the scheduler does not answer the first time it is asked. Later it is asked again in the next look.
    pub fn look<E: From<FleetError>>(
        &mut self,
        judge: &mut dyn FnMut(&[Collected]) -> Result<Judged, E>,
    ) -> Result<Standing, E> {
        // Before deliveries are collected: what a node that has ended delivered is there.
        self.ask()?;
        let collected = self.collect();
        if !collected.is_empty() {
            let judged = judge(&collected).inspect_err(|_| {
                // They are collected again, should the caller look again.
                self.read.retain(|node, _| collected.iter().all(|collected| collected.node != *node));
            })?;
            for Collected { node, sha256, .. } in collected {
                if let Some(standing) = self.standing_of(node) {
                    standing.collected = Some(sha256);
                    standing.deliveries += 1;
                }
            }
            self.heed(judged);
        }
        self.notice();
        Ok(Standing {
            elements: self.elements.clone(),
            nodes: self.nodes.clone(),
            decided: self.decided.clone(),
            news: std::mem::take(&mut self.news),
        })
    }

    /// Looks every `interval`, or as often as a tenth of the time allows, until all nodes have ended or the user wants to stop. `tell` gets the
    /// result of each look.
    ///
    /// # Errors
    /// As [`Coordinator::look`].
    pub fn run<E: From<FleetError>>(
        &mut self,
        interval: Duration,
        judge: &mut dyn FnMut(&[Collected]) -> Result<Judged, E>,
        tell: &mut dyn FnMut(&Standing),
    ) -> Result<Ending, E> {
        let mut over_since = None;
        loop {
            let began = Instant::now();
            let standing = self.look(judge)?;
            let rest = interval.max(began.elapsed() * RESTS);
            tell(&standing);
            if standing.is_over() {
                let since = *over_since.get_or_insert_with(Instant::now);
                if self.is_visible(&standing) || since.elapsed() >= self.cache_patience {
                    return Ok(Ending::Finished(standing));
                }
            } else {
                over_since = None;
            }
            basecase_stop::pause(rest);
            if basecase_stop::is_asked() {
                return Ok(Ending::Stopped(standing));
            }
        }
    }

    /// Ends all nodes.
    ///
    /// # Errors
    /// If the scheduler does not answer or refuses.
    pub fn cancel(&self) -> Result<(), FleetError> {
        self.submission.jobs.iter().try_for_each(|job| self.scheduler.cancel(job))
    }

    fn standing_of(&mut self, node: u32) -> Option<&mut NodeStanding> {
        self.nodes.iter_mut().find(|standing| standing.node == node)
    }

    /// Says something unless it was said before.
    fn say_once(&mut self, text: String) {
        if self.said.insert(text.clone()) {
            self.news.push(text);
        }
    }

    /// Asks the scheduler what each node does. Where it knows nothing any more, the exit code that the node left tells.
    fn ask(&mut self) -> Result<(), FleetError> {
        let mut known = match self.submission.elements(&self.folder, self.scheduler) {
            Ok(elements) => elements,
            Err(error) if self.elements.is_empty() => return Err(error),
            // The question was broken off.
            Err(_) if basecase_stop::is_asked() => return Ok(()),
            Err(error) => {
                self.say_once(format!(
                    "{} does not answer, and is asked again: {error}",
                    self.scheduler.name()
                ));
                return Ok(());
            }
        };
        for element in &mut known {
            let Some(before) = self.elements.iter().find(|before| before.node == element.node) else {
                continue;
            };
            element.host = element.host.take().or_else(|| before.host.clone());
            element.state = match (element.state, before.state) {
                (ElementState::Gone, state) if state.has_ended() => state,
                // Slurm keeps no record of an element that was cancelled before it started.
                (ElementState::Gone, ElementState::Waiting) => ElementState::Cancelled,
                (state, _) => state,
            };
        }
        self.elements = known;
        Ok(())
    }

    /// New deliveries. One that does not fit its checksum is told, and read again when it has changed.
    fn collect(&mut self) -> Vec<Collected> {
        let mut collected = Vec::new();
        for index in 0..self.nodes.len() {
            let NodeStanding { node, collected: seen, .. } = self.nodes[index].clone();
            let signature = signature(&self.folder, node);
            if self.read.get(&node) == Some(&signature) {
                continue;
            }
            let delivery = collect(&self.folder, node, seen.as_deref());
            if matches!(delivery, Ok(_) | Err(FleetError::Mismatch { .. })) {
                self.read.insert(node, signature);
            }
            match delivery {
                Ok(delivery) => collected.extend(delivery),
                Err(error) => self.say_once(error.to_string()),
            }
        }
        collected
    }

    /// Tells the nodes what is decided, if that has changed.
    fn heed(&mut self, judged: Judged) {
        for (node, rounds) in judged.rounds {
            if let Some(standing) = self.standing_of(node) {
                standing.rounds = Some(rounds);
            }
        }
        if judged.decided == self.decided && self.folder.decided().exists() {
            return;
        }
        match write_decided(&self.folder.decided(), &judged.decided) {
            Ok(()) => self.decided = judged.decided,
            // Nodes go on without it, and measure more than they need to.
            Err(error) => self.say_once(error.to_string()),
        }
    }

    /// Says what the user should know of the queue and the nodes.
    fn notice(&mut self) {
        let is_waiting = |element: &Element| element.state == ElementState::Waiting;
        self.has_started |= !self.elements.iter().all(is_waiting);
        // Said once, whatever reasons follow.
        if !self.has_started
            && self.began.elapsed() >= self.queue_patience
            && self.said.insert("the queue".to_owned())
        {
            let reason = self.elements.iter().find_map(|element| element.reason.clone());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let (name, job) = (self.scheduler.name(), self.submission.job_names());
            self.news.push(format!(
                "no node has started yet{reason} ({name} job {job})\nhint: Ctrl-C leaves the job in the queue; the same command comes back to it"
            ));
        }
        for element in self.elements.clone() {
            let state = (element.state, is_held(&element));
            if self.told.insert(element.node, state) != Some(state) {
                let job = self.submission.jobs.last().map_or("", String::as_str);
                self.news.extend(told(&self.folder, job, &element));
            }
            self.compare_clock(element.node);
        }
    }

    /// Compares the clock of a node with that of this machine once, by those of the file system.
    fn compare_clock(&mut self, node: u32) {
        if self.compared.contains(&node) {
            return;
        }
        let Some(ahead_s) = self.folder.clock_ahead_s(node) else { return };
        self.compared.insert(node);
        let apart_s = ahead_s - self.own_clock_ahead_s;
        if apart_s.abs() > CLOCK_LIMIT_S {
            let direction = if apart_s > 0.0 { "ahead of" } else { "behind" };
            self.news.push(format!(
                "the clock of node {node} is {:.0} s {direction} that of this machine, so times of their trials cannot be compared\nhint: let both take their time from the network (NTP)",
                apart_s.abs()
            ));
        }
    }

    /// Whether what nodes left at their ends can be seen here.
    fn is_visible(&self, standing: &Standing) -> bool {
        let leaves_a_code =
            |element: &&Element| matches!(element.state, ElementState::Done | ElementState::Gone);
        let mut nodes = standing.elements.iter().filter(leaves_a_code).map(|element| element.node);
        nodes.all(|node| self.folder.exit_code(node).is_some())
    }
}

/// Whether somebody must let the element go before it can start: Slurm's reasons are `JobHeldUser`, `JobHeldAdmin` and
/// `launch_failed_requeued_held`.
fn is_held(element: &Element) -> bool {
    let is_waiting = matches!(element.state, ElementState::Waiting | ElementState::Requeued);
    is_waiting && element.reason.as_ref().is_some_and(|reason| reason.to_lowercase().contains("held"))
}

/// What is said of a node whose state has changed.
fn told(folder: &FleetFolder, job: &str, element: &Element) -> Option<String> {
    if is_held(element) {
        let reason = element.reason.as_deref().unwrap_or_default();
        return Some(format!(
            "node {} is held in the queue ({reason})\nhint: `scontrol release {job}_{}` lets it go",
            element.node, element.node
        ));
    }
    if element.state != ElementState::Requeued {
        return failure::explain(folder, element);
    }
    let host = element.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let reason = element.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    Some(format!(
        "node {}{host} was broken off and waits in the queue again{reason}; it goes on with what it has delivered",
        element.node
    ))
}
