//! One experiment on two nodes of a real Slurm: what dies on the way is not missed, and nothing is measured twice.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use basecase_model::{Experiment, Trial};
use basecase_store::Store;
use basecase_tests::running::MICROBENCHMARKS;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::schema::Schema;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The most rounds of a step on each node; what both have decided together gets no more.
const ROUNDS: usize = 16;
/// At most twice as many over both nodes, with short times: verdicts are not what this is about.
const COMMAND: [&str; 12] = [
    "compare",
    "sqlite@wal_normal",
    "sqlite@rollback_full",
    "--rounds",
    "32",
    "--timing",
    "1/10",
    "--pin",
    "off",
    "--fleet",
    "slurm",
    "--nodes",
];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    words_of("point-query,insert", "fleet.sqlite", more)
}

fn words_of<'a>(steps: &'a str, store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&COMMAND[..], &["2"], &MICROBENCHMARKS, &[steps, "--store", store], more].concat()
}

/// A coordinator that runs beside the test, and is killed when the test is over.
struct Coordinator {
    child: Child,
    log: std::path::PathBuf,
}

impl Coordinator {
    fn start(cluster: &Cluster, name: &str) -> Coordinator {
        let log = cluster.path().join(name);
        let mut command = cluster.basecase(&words(&[]));
        let child = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        Coordinator { child, log }
    }

    /// Waits until its log says this.
    fn wait_for(&self, cluster: &Cluster, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            if said.contains(text) {
                return;
            }
            assert!(Instant::now() < until, "no {text:?} in\n{said}\n{}", cluster.logs());
            sleep(Duration::from_millis(100));
        }
    }

    fn kill(&mut self) {
        // Killing it is what the test is about, or what is left to do after a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.kill();
    }
}

fn printed(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end")]
fn two_nodes_measure_one_experiment_through_the_deaths_of_a_node_and_of_the_coordinator() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let mut first = Coordinator::start(&cluster, "first.log");
    first.wait_for(&cluster, "submitted 2 nodes: slurm job ");
    first.wait_for(&cluster, "rounds 1: ");

    // One coordinator at a time, also of another command, and the status can be asked meanwhile.
    let (code, _, said) = printed(&mut cluster.basecase(&words(&[])));
    assert!(code == Some(1) && said.contains("hint: "), "{code:?}\n{said}");
    let (code, status, said) = printed(&mut cluster.basecase(&["fleet", "status", "fleet.sqlite", "--json"]));
    assert_eq!(code, Some(0), "{said}");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["nodes"].as_array().map(Vec::len), Some(2), "{status}");
    let schema = Schema::named("fleet-status");
    schema.assert_fits(&status);
    schema.assert_refuses(&status, "/nodes/0/state", "lost".into());
    let host = status["nodes"][0]["host"].as_str().unwrap_or("n1").to_owned();

    first.kill();
    let killed: u32 = host.strip_prefix('n').unwrap().parse().unwrap();
    cluster.kill_node(killed);
    cluster.start_node(killed);

    let (code, _, said) = printed(&mut cluster.basecase(&words(&["--seed", "5"])));
    assert!(code == Some(1) && said.contains("runs another command"), "{code:?}\n{said}");
    let (code, _, said) = printed(&mut cluster.basecase(&words(&["--budget", "1ms"])));
    assert!(code == Some(1) && said.contains("has not ended") && said.contains("hint: "), "{code:?}\n{said}");
    let (code, answer, said) = printed(&mut cluster.basecase(&words(&[])));
    assert_eq!(code, Some(0), "{answer}\n{said}\n{}", cluster.logs());
    assert!(said.contains("back at slurm job "), "{said}");
    assert!(answer.contains(" rows, 2 nodes"), "{answer}");
    assert!(cluster.path().join("basecase-report/node-2/index.html").is_file());

    // Each round of a step is there once, and no node has more than its share.
    let store = Store::open_read_only(&cluster.path().join("fleet.sqlite")).unwrap();
    let experiments = store.experiments().unwrap();
    assert_eq!(experiments.len(), 2);
    for experiment in &experiments {
        let mut rounds: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
        for trial in store.trials(&experiment.id).unwrap().into_iter().filter(Trial::is_complete) {
            rounds.entry((trial.step, trial.candidate)).or_default().push(trial.place.round);
        }
        for (of, rounds) in rounds.iter_mut().filter(|((step, _), _)| step != "load") {
            rounds.sort_unstable();
            assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]), "{of:?} twice: {rounds:?}");
            assert!((1..=ROUNDS).contains(&rounds.len()), "{of:?}: {rounds:?}");
        }
    }
    drop(store);

    // As the workflow of `fleet manifest github` asks for it.
    let (code, markdown, said) =
        printed(&mut cluster.basecase(&["report", "fleet.sqlite", "--format", "md"]));
    assert!(code == Some(0) && markdown.starts_with("# "), "{code:?}\n{said}{markdown}");

    // What nodes delivered gives the same in any order, and all was collected.
    let report = |store: &str| {
        let (code, text, said) = printed(&mut cluster.basecase(&["report", store, "--format", "json"]));
        assert_eq!(code, Some(0), "{said}");
        text
    };
    let delivered = [1, 2].map(|node| format!("fleet.sqlite.fleet/node-{node}/results.sqlite"));
    for (store, order) in [("one.sqlite", [0, 1]), ("other.sqlite", [1, 0])] {
        let [first, second] = order.map(|place| delivered[place].as_str());
        let (code, _, said) = printed(&mut cluster.basecase(&["store", "merge", store, first, second]));
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(report("one.sqlite"), report("other.sqlite"));
    assert_eq!(report("one.sqlite"), report("fleet.sqlite"));

    // Nodes that have ended with little measure on with another budget, and not with the same.
    let measured = |budget: &str, wanted: &str| {
        let command = words_of("point-query", "more.sqlite", &["--budget", budget]);
        let (code, _, said) = printed(&mut cluster.basecase(&command));
        assert!(code == Some(0) && said.contains(wanted), "{budget}: {said}\n{}", cluster.logs());
        let store = Store::open_read_only(&cluster.path().join("more.sqlite")).unwrap();
        let trials = |experiment: &Experiment| store.trials(&experiment.id).unwrap();
        store.experiments().unwrap().iter().flat_map(trials).filter(|trial| trial.step != "load").count()
    };
    assert_eq!(measured("1ms", "submitted 2 nodes: slurm job "), 4, "a round of two candidates on each node");
    assert_eq!(measured("1ms", "back at slurm job "), 4);
    assert_eq!(measured("2ms", "submitted 2 nodes: slurm job "), 8);
}
