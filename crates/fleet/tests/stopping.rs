//! The coordinator stops when the user wants to. This has a process of its own, because the wish stays.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use basecase_fleet::{
    Collected, Coordinator, Element, ElementState, Ending, FleetError, FleetFolder, Job, Judged, Order,
    Scheduler, submit,
};
use basecase_store::Store;

/// A scheduler whose nodes run for ever.
struct Endless;

impl Scheduler for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn submit(&self, job: &Job) -> Result<String, FleetError> {
        assert!(job.folder.script().is_file());
        Ok("1".to_owned())
    }

    fn jobs(&self, _: &FleetFolder) -> Result<Vec<String>, FleetError> {
        unreachable!("no submission was broken off")
    }

    fn elements(&self, _: &str) -> Result<Vec<Element>, FleetError> {
        Ok(vec![Element { node: 1, state: ElementState::Running, host: None, reason: None }])
    }

    fn cancel(&self, _: &str) -> Result<(), FleetError> {
        unreachable!("Ctrl-C leaves jobs running")
    }
}

#[test]
fn ctrl_c_ends_the_wait_and_leaves_the_nodes_alone() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("s.sqlite");
    let program = place.path().join("program");
    fs::write(&program, "").unwrap();
    let folder = FleetFolder::beside(&store);
    folder.create(&program).unwrap();
    let order = Order {
        nodes: 1,
        submitted: [1].into(),
        command: vec!["run".into()],
        options: Vec::new(),
        submitted_at: "2026-01-01T00:00:00Z".into(),
    };
    let submission = submit(&folder, &Endless, &order).unwrap();
    assert_eq!(folder.submission().unwrap(), Some(submission.clone()), "for whoever comes back");
    let lock = Store::create_or_open(&store).unwrap().lock_for_run("coordinator").unwrap();
    let mut coordinator = Coordinator::new(folder, &Endless, submission, lock);
    let mut judge = |_: &[Collected]| -> Result<Judged, FleetError> { Ok(Judged::default()) };
    let began = Instant::now();
    let mut ask_to_stop = |_: &_| basecase_stop::flag().store(true, Ordering::Relaxed);
    let ending = coordinator.run(Duration::from_secs(60), &mut judge, &mut ask_to_stop).unwrap();
    assert!(matches!(ending, Ending::Stopped(_)), "{ending:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
}
