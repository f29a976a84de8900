//! Invented searches with known answers, for the tests of every format.

use std::collections::{BTreeMap, BTreeSet};

use basecase_analysis::{
    Bisected, BisectedCounts, Confirmation, ConfirmedTime, Counted, Effect, Found, Probed, Reversal, Rounds,
    Stored, fixture,
};
use basecase_model::{Commit, Experiment, StepFacts};
use basecase_stats::{Bisection, BisectionEvidence, BisectionProbe, JudgedMetric};

/// The step that is counted.
pub(crate) const STEP: &str = "range-covered-pk_range=100";
/// What a compiler says of a commit that does not compile.
pub(crate) const BROKEN: &str = "compiling postgres 5a0e1f3c failed (exit status: 2):\n  \
    src/backend/access/nbtree/nbtsearch.c: In function '_bt_first':\n  \
    src/backend/access/nbtree/nbtsearch.c:1088:17: error: 'so' undeclared (first use in this function)\n  \
    make: *** [Makefile:22: all] Error 2\nlog: /home/user/builds/5a0e1f3c.log\nhint: the commit may need another compiler";

/// A search by work among candidates that need the work of one of three levels.
pub(crate) struct InventedWork {
    step: String,
    levels: Vec<usize>,
    experiment: Experiment,
    /// What is counted at each level.
    counted: Vec<Counted>,
    pub(crate) commits: Option<Vec<Commit>>,
    skipped: BTreeMap<usize, String>,
    bisection: Bisection,
    /// The numbers of the candidates that were counted.
    probed: BTreeSet<usize>,
    is_confirmed: bool,
}

impl InventedWork {
    /// Searches on this step. Those that are `broken` cannot be had; it is interrupted after `most` probes.
    pub(crate) fn search(step: &str, levels: &[usize], broken: &[usize], most: usize) -> InventedWork {
        let bisection = Bisection::new(levels.len()).unwrap();
        InventedWork::go_on(bisection, step, levels, broken, most)
    }

    fn go_on(
        bisection: Bisection,
        step: &str,
        levels: &[usize],
        broken: &[usize],
        most: usize,
    ) -> InventedWork {
        let (experiment, counted) = fixture::counted();
        let command = "basecase bisect git:~/postgres REL_17_0..REL_17_2 --counts --workload microbenchmarks --rows 2000";
        let experiment = Experiment { command: command.into(), ..experiment };
        let counted = vec![counted.clone(), counted.clone(), dearer(&counted)];
        let mut search = InventedWork {
            step: step.to_owned(),
            levels: levels.to_vec(),
            experiment,
            counted,
            commits: None,
            skipped: BTreeMap::new(),
            bisection,
            probed: BTreeSet::new(),
            is_confirmed: false,
        };
        for _ in 0..most {
            let Some(probe) = search.bisection.probe() else { break };
            let asked = match probe {
                BisectionProbe::Ends => vec![0, levels.len() - 1],
                BisectionProbe::Middle { version, .. } => vec![version],
            };
            if let Some(number) = asked.iter().find(|number| broken.contains(number)) {
                search.bisection.skip(*number);
                search.skipped.insert(*number, BROKEN.to_owned());
                continue;
            }
            search.probed.extend(asked);
            let counts = search.counts();
            let course = counts.course();
            let evidence = BisectionEvidence::Work { course: &course, margin: counts.margin() };
            let mut bisection = search.bisection.clone();
            bisection.learn(Some(evidence)).unwrap();
            search.bisection = bisection;
        }
        search
    }

    /// The same with candidates that are commits, of which every change is confirmed.
    pub(crate) fn of_commits(levels: &[usize], broken: &[usize], most: usize) -> InventedWork {
        let commits = commits(levels.len());
        let tagged = commits.iter().map(|commit| !commit.tags.is_empty()).collect();
        let bisection = Bisection::new(levels.len()).unwrap().preferring(tagged);
        let search = InventedWork::go_on(bisection, STEP, levels, broken, most);
        InventedWork { commits: Some(commits), is_confirmed: true, ..search }
    }

    fn counts(&self) -> BisectedCounts<'_> {
        let mut counts = BisectedCounts::new(self.levels.len(), self.counted[0].margin);
        for &number in &self.probed {
            self.add(&mut counts, number, number);
        }
        counts
    }

    /// Adds what is counted of a candidate as that of the number `place`.
    fn add<'a>(&'a self, counts: &mut BisectedCounts<'a>, number: usize, place: usize) {
        let level = self.levels[number];
        let numbers = if level == 0 { [place, usize::MAX] } else { [usize::MAX, place] };
        counts.add(&self.step, &numbers, &self.experiment, &self.counted[level]);
    }

    fn confirmation(&self, before: usize, since: usize) -> Confirmation<'_> {
        let mut work = BisectedCounts::new(2, self.counted[0].margin);
        self.add(&mut work, before, 0);
        self.add(&mut work, since, 1);
        let (experiment, trials) = pair(-0.03);
        let step = compared(&experiment).name.clone();
        let Probed { decision, round_s, .. } = Probed::new(1, 0, &step, &experiment, &trials).unwrap();
        Confirmation {
            files: vec![
                "src/backend/storage/page/checksum.c".into(),
                "src/include/storage/checksum_impl.h".into(),
            ],
            touched: BTreeSet::from(["pg_checksum_page".to_owned()]),
            work: Some(work),
            time: Some(ConfirmedTime { decision, round_s }),
            reversal: Some(Reversal::Done {
                work: Some(Effect { ratio: 0.976, interval: Some([0.9757, 0.9763]) }),
            }),
        }
    }

    /// What was found.
    pub(crate) fn bisected(&self) -> Bisected<'_> {
        let name = |number: usize| match self.commits.as_ref().and_then(|commits| commits.get(number)) {
            Some(commit) => format!("git:~/postgres@{}", commit.short()),
            None => format!("postgres:17.{number}"),
        };
        let exact = self.bisection.changes().iter().enumerate().filter(|_| self.is_confirmed);
        let exact = exact.filter(|(_, change)| change.since == change.before + 1);
        Bisected {
            candidates: (0..self.levels.len()).map(name).collect(),
            commits: self.commits.as_deref(),
            label: &self.step,
            found: Found::Work(self.counts()),
            bisection: &self.bisection,
            skipped: &self.skipped,
            builds: self.commits.as_ref().map(|_| (self.probed.len(), self.skipped.len())),
            confirmations: exact
                .map(|(number, change)| (number, self.confirmation(change.before, change.since)))
                .collect(),
            experiment: Some(&self.experiment),
        }
    }

    /// The experiment of the last probe, and what it counted.
    pub(crate) fn last_probe(&self) -> (&Experiment, &Counted) {
        (&self.experiment, &self.counted[0])
    }
}

/// The same counts with another function that got dearer on the second candidate.
fn dearer(counted: &Counted) -> Counted {
    const MORE: f64 = 4_000.0;
    let mut counted = counted.clone();
    let base = counted.starts[0].candidate.clone();
    for start in counted.starts.iter_mut().filter(|start| start.candidate != base) {
        for window in &mut start.windows {
            window.instructions += MORE as i64 * window.operations as i64;
        }
        for function in start.functions.iter_mut().filter(|function| function.name == "_bt_compare") {
            function.exclusive.iter_mut().chain(&mut function.inclusive).for_each(|count| *count += MORE);
        }
    }
    counted
}

/// So many commits, the first, the middle and the last of them with tags.
pub(crate) fn commits(count: usize) -> Vec<Commit> {
    let tag = |number: usize| match number {
        0 => vec!["REL_17_0".to_owned()],
        _ if number == count / 2 => vec!["REL_17_1".to_owned()],
        _ if number + 1 == count => vec!["REL_17_2".to_owned(), "latest".to_owned()],
        _ => Vec::new(),
    };
    let commit = |number: usize| Commit {
        hash: format!("{:08x}", 0x5a0e_1f30_u32 + number as u32).repeat(5),
        author_date: format!("2026-03-{:02}T10:00:00+00:00", 1 + number % 28),
        author: "Ada Example".into(),
        subject: format!("Change number {number} of <b>many</b> | *all*"),
        tags: tag(number),
    };
    (0..count).map(commit).collect()
}

/// Two candidates in rounds, the second at this level.
fn pair(level: f64) -> Stored {
    fixture::history(&[0.0, level], 8, 0.005, 7)
}

fn compared(experiment: &Experiment) -> &StepFacts {
    experiment.steps.iter().find(|step| step.is_compared()).unwrap()
}

/// A search by throughput among candidates at levels of their own.
pub(crate) struct InventedRounds {
    levels: Vec<f64>,
    bisection: Bisection,
    skipped: BTreeMap<usize, String>,
    step: String,
    /// Each probe: its candidate, the one before, and the rounds of both.
    probes: Vec<(usize, usize, Stored)>,
}

impl InventedRounds {
    /// Searches; levels are logarithms of the ratio to the first.
    pub(crate) fn search(levels: &[f64]) -> InventedRounds {
        let mut bisection = Bisection::new(levels.len()).unwrap();
        let (mut probes, mut step) = (Vec::new(), String::new());
        while let Some(probe) = bisection.probe() {
            let (before, candidate, margin) = match probe {
                BisectionProbe::Ends => (0, levels.len() - 1, None),
                BisectionProbe::Middle { before, version, margin, .. } => (before, version, Some(margin)),
            };
            let (mut experiment, trials) = pair(levels[candidate] - levels[before]);
            experiment.command =
                "basecase bisect postgres:17.0 postgres:17.1 postgres:17.2 --detect 2%".into();
            let schedule = experiment.schedule.as_mut().unwrap();
            if let Some(margin) = margin {
                (schedule.read_margin, schedule.write_margin) = (margin, margin);
            }
            let rounds = Rounds::of(&experiment, &trials).unwrap();
            let number = experiment.steps.iter().position(StepFacts::is_compared).unwrap();
            step.clone_from(&experiment.steps[number].name);
            let decision = rounds.judgement.decision(JudgedMetric::Throughput, number, 1);
            bisection.learn(decision.map(BisectionEvidence::Throughput)).unwrap();
            probes.push((candidate, before, (experiment, trials)));
        }
        InventedRounds { levels: levels.to_vec(), bisection, skipped: BTreeMap::new(), step, probes }
    }

    /// What was found.
    pub(crate) fn bisected(&self) -> Bisected<'_> {
        let probed = |(candidate, before, (experiment, trials)): &(usize, usize, Stored)| {
            Probed::new(*candidate, *before, &self.step, experiment, trials)
        };
        Bisected {
            candidates: (0..self.levels.len()).map(|number| format!("postgres:17.{number}")).collect(),
            commits: None,
            label: &self.step,
            found: Found::Throughput(self.probes.iter().filter_map(probed).collect()),
            bisection: &self.bisection,
            skipped: &self.skipped,
            builds: None,
            confirmations: BTreeMap::new(),
            experiment: self.probes.first().map(|(_, _, (experiment, _))| experiment),
        }
    }

    /// The experiment of the last probe.
    pub(crate) fn last_probe(&self) -> &Stored {
        self.probes.last().map(|(_, _, stored)| stored).unwrap()
    }
}
