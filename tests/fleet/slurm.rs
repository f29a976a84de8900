//! A fleet on a real Slurm, whose nodes are played by a shell script.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use basecase_fleet::{
    Collected, Coordinator, Element, ElementState, Ending, FleetError, FleetFolder, Job, Judged, Order,
    Scheduler, Slurm, Standing, recover, submit,
};
use basecase_store::Store;

use crate::cluster::Cluster;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A node: it counts its starts, delivers a store, and ends when the test lets it.
const NODE: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --deliver) deliver=$2 ;;
    esac
    shift
done
echo "start on $SLURMD_NODENAME" >>"$deliver/starts"
cp SOURCE "$deliver/.new" && sum=$(sha256sum <"$deliver/.new")
printf '%s  results.sqlite\n' "${sum%% *}" >"$deliver/.sum" && mv "$deliver/.sum" "$deliver/results.sqlite.sha256"
mv "$deliver/.new" "$deliver/results.sqlite"
trap 'echo "asked to stop" >>"$deliver/starts"; exit 1' TERM
# Not for ever, should nobody be there any more.
for second in $(seq 600); do
    [ ! -e "${deliver%/*}/go" ] || break
    sleep 1
done
exit CODE
"#;

/// A fleet's folder in the folder of the cluster, with nodes that end with this code, and the store of its coordinator.
fn fleet(cluster: &Cluster, name: &str, code: u8) -> (FleetFolder, PathBuf) {
    let place = cluster.path().join(name);
    fs::create_dir(&place).unwrap();
    // Of a node, which delivers it as it is.
    let source = cluster.path().join("source.sqlite");
    if !source.exists() {
        let store = Store::create_or_open(&cluster.path().join("node.sqlite")).unwrap();
        store.copy_to(&source).unwrap();
    }
    let text = NODE.replace("SOURCE", source.to_str().unwrap());
    let program = place.join("program");
    fs::write(&program, text.replace("CODE", &code.to_string())).unwrap();
    let store = place.join("fleet.sqlite");
    let folder = FleetFolder::beside(&store);
    folder.create(&program).unwrap();
    (folder, store)
}

fn order(nodes: u32, options: &[&str]) -> Order {
    Order {
        nodes,
        submitted: (1..=nodes).collect(),
        command: vec!["run".into(), "it's an experiment.toml".into()],
        options: options.iter().map(|word| (*word).to_owned()).collect(),
        submitted_at: "2026-01-01T00:00:00Z".into(),
    }
}

/// Slurm, for a coordinator that is killed when it has submitted.
struct Killed(Slurm);

impl Scheduler for Killed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn submit(&self, job: &Job) -> Result<String, FleetError> {
        panic!("killed after job {}", self.0.submit(job)?)
    }

    fn jobs(&self, folder: &FleetFolder) -> Result<Vec<String>, FleetError> {
        self.0.jobs(folder)
    }

    fn elements(&self, job: &str) -> Result<Vec<Element>, FleetError> {
        self.0.elements(job)
    }

    fn cancel(&self, job: &str) -> Result<(), FleetError> {
        self.0.cancel(job)
    }
}

/// Submits and watches a fleet.
fn coordinator<'s>(
    scheduler: &'s dyn Scheduler,
    folder: &FleetFolder,
    store: &Path,
    order: &Order,
) -> Coordinator<'s> {
    submit(folder, scheduler, order).unwrap();
    returning(scheduler, folder, store)
}

/// Watches a fleet that was submitted.
fn returning<'s>(scheduler: &'s dyn Scheduler, folder: &FleetFolder, store: &Path) -> Coordinator<'s> {
    let submission = folder.submission().unwrap().unwrap();
    let lock = Store::create_or_open(store).unwrap().lock_for_run("coordinator").unwrap();
    Coordinator::new(folder.clone(), scheduler, submission, lock)
}

fn nothing(_: &[Collected]) -> Result<Judged, FleetError> {
    Ok(Judged::default())
}

/// Looks until it is so, and returns all news.
fn look_until(
    cluster: &Cluster,
    coordinator: &mut Coordinator<'_>,
    what: &str,
    is: impl Fn(&Standing) -> bool,
) -> Vec<String> {
    let until = Instant::now() + PATIENCE;
    let mut news = Vec::new();
    loop {
        let standing = coordinator.look(&mut nothing).unwrap();
        news.extend(standing.news.clone());
        if is(&standing) {
            return news;
        }
        assert!(Instant::now() < until, "not so: {what}\n{standing:#?}\n{}", cluster.logs());
        sleep(Duration::from_millis(200));
    }
}

fn states(elements: &[Element]) -> Vec<ElementState> {
    elements.iter().map(|element| element.state).collect()
}

#[test]
fn a_node_whose_machine_dies_is_told_and_goes_on_elsewhere() {
    use ElementState::{Done, Requeued, Running};
    let Some(mut cluster) = Cluster::start(2) else { return };
    let slurm = cluster.slurm();
    let (folder, store) = fleet(&cluster, "it's a fleet of 100 %", 0);
    let mut coordinator = coordinator(&slurm, &folder, &store, &order(2, &["--comment=two words"]));
    look_until(&cluster, &mut coordinator, "both run and have delivered", |standing| {
        states(&standing.elements) == [Running; 2] && standing.nodes.iter().all(|node| node.deliveries == 1)
    });
    let job = folder.submission().unwrap().unwrap().jobs.remove(0);
    let host = slurm.elements(&job).unwrap()[0].host.clone().unwrap();
    let killed: u32 = host.strip_prefix('n').unwrap().parse().unwrap();
    cluster.kill_node(killed);
    let news = look_until(&cluster, &mut coordinator, "node 1 is in the queue again", |standing| {
        standing.elements[0].state == Requeued
    });
    assert!(
        news.iter().any(|line| line.starts_with("node 1 on n") && line.contains("was broken off")),
        "{news:?}"
    );
    cluster.start_node(killed);
    // Slurm lets an element wait for two minutes, so that what ends the old one does not end the new one.
    let changed = cluster.output("scontrol", &["update", &format!("JobId={job}_1"), "StartTime=now+10"]);
    assert_eq!(changed, "");
    look_until(&cluster, &mut coordinator, "node 1 runs again", |standing| {
        standing.elements[0].state == Running
    });
    fs::write(folder.path().join("go"), "").unwrap();
    let ending = coordinator.run(Duration::from_millis(200), &mut nothing, &mut |_| {}).unwrap();
    let Ending::Finished(standing) = ending else { panic!("{ending:?}") };
    assert_eq!(states(&standing.elements), [Done; 2], "{}", cluster.logs());
    let starts = fs::read_to_string(folder.node(1).join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2, "{starts}");
}

#[test]
fn failures_refusals_and_cancelling_are_told() {
    use ElementState::{Cancelled, Failed, Running};
    let Some(cluster) = Cluster::start(1) else { return };
    let slurm = cluster.slurm();
    assert_eq!(slurm.elements("4000000").unwrap(), [], "Slurm does not know it");

    let (folder, store) = fleet(&cluster, "refused", 0);
    let message = submit(&folder, &slurm, &order(1, &["--partition=nowhere"])).unwrap_err().to_string();
    assert!(message.starts_with("sbatch refuses: ") && message.contains("--partition=NAME"), "{message}");
    assert_eq!(folder.submission().unwrap(), None);
    assert_eq!(recover(&folder, &slurm).unwrap(), [""; 0], "Slurm has none of its jobs");
    // The same fleet again. Its coordinator is killed before it has kept the id of the job, and another one finds it.
    let killed = Killed(cluster.slurm());
    catch_unwind(AssertUnwindSafe(|| submit(&folder, &killed, &order(1, &[])))).unwrap_err();
    assert_eq!(folder.submission().unwrap(), None);
    let [job] = &recover(&folder, &slurm).unwrap()[..] else { panic!("not found\n{}", cluster.logs()) };
    assert_eq!(folder.submission().unwrap().unwrap().jobs, [job.as_str()]);
    // It is cancelled while it runs: its program is asked to stop first.
    let mut watched = returning(&slurm, &folder, &store);
    look_until(&cluster, &mut watched, "it runs and has delivered", |standing| {
        states(&standing.elements) == [Running] && standing.nodes[0].deliveries == 1
    });
    watched.cancel().unwrap();
    let news = look_until(&cluster, &mut watched, "it is cancelled", |standing| {
        states(&standing.elements) == [Cancelled]
    });
    assert!(news.iter().any(|line| line.contains("was cancelled")), "{news:?}");
    let until = Instant::now() + PATIENCE;
    while folder.exit_code(1).is_none() && Instant::now() < until {
        sleep(Duration::from_millis(100));
    }
    assert_eq!(folder.exit_code(1), Some(1), "the code of a program that stopped by itself");
    let starts = fs::read_to_string(folder.node(1).join("starts")).unwrap();
    assert!(starts.contains("asked to stop"), "{starts}");

    let (folder, store) = fleet(&cluster, "failed", 5);
    fs::write(folder.path().join("go"), "").unwrap();
    let mut watched = coordinator(&slurm, &folder, &store, &order(1, &[]));
    let news = look_until(&cluster, &mut watched, "it has failed", Standing::is_over);
    assert!(news.iter().any(|line| line.contains("ended with exit code 5")), "{news:?}");

    // A node that sees another folder than the coordinator.
    let (folder, store) = fleet(&cluster, "elsewhere", 0);
    let order = order(1, &["--begin=now+2"]);
    let mut watched = coordinator(&slurm, &folder, &store, &order);
    fs::write(folder.path().join("fleet-id"), "another\n").unwrap();
    let news = look_until(&cluster, &mut watched, "it has failed", Standing::is_over);
    assert!(news.iter().any(|line| line.contains("does not see the folder")), "{news:?}");
    let seen = watched.look(&mut nothing).unwrap().elements;
    assert_eq!(states(&seen), [Failed { exit_code: Some(75) }]);
}
