use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::thread;

use basecase_store::Store;

use super::*;
use crate::{Delivery, Job};

/// What a scheduler answers each time it is asked.
type Answer = Box<dyn FnMut() -> Result<Vec<Element>, FleetError>>;

/// A scheduler whose elements the test says.
struct Said(RefCell<Answer>);

impl Said {
    fn new(say: impl FnMut() -> Result<Vec<Element>, FleetError> + 'static) -> Said {
        Said(RefCell::new(Box::new(say)))
    }

    /// States that stay.
    fn always(states: &[ElementState]) -> Said {
        let elements = elements(states);
        Said::new(move || Ok(elements.clone()))
    }

    /// The states of each look, of which the last one stays.
    fn in_turn(looks: &[&[ElementState]]) -> Said {
        let looks: Vec<Vec<Element>> = looks.iter().map(|states| elements(states)).collect();
        let mut turn = 0;
        Said::new(move || {
            turn += 1;
            Ok(looks[(turn - 1).min(looks.len() - 1)].clone())
        })
    }
}

impl Scheduler for Said {
    fn name(&self) -> &str {
        "said"
    }

    fn submit(&self, _: &Job) -> Result<String, FleetError> {
        Ok("7".to_owned())
    }

    fn jobs(&self, _: &FleetFolder) -> Result<Vec<String>, FleetError> {
        Ok(vec!["7".to_owned()])
    }

    fn elements(&self, job: &str) -> Result<Vec<Element>, FleetError> {
        assert_eq!(job, "7");
        (self.0.borrow_mut())()
    }

    fn cancel(&self, _: &str) -> Result<(), FleetError> {
        Ok(())
    }
}

fn elements(states: &[ElementState]) -> Vec<Element> {
    let element = |(node, state): (u32, &ElementState)| Element {
        node,
        state: *state,
        host: Some(format!("n{node}")),
        reason: Some("Resources".to_owned()),
    };
    (1..).zip(states).map(element).collect()
}

/// A fleet's folder with the stores of its coordinator and of a node.
struct Fleet {
    _place: tempfile::TempDir,
    folder: FleetFolder,
    store: PathBuf,
    of_node: PathBuf,
}

impl Fleet {
    fn new() -> Fleet {
        let place = tempfile::tempdir().unwrap();
        let store = place.path().join("fleet.sqlite");
        let folder = FleetFolder::beside(&store);
        let program = place.path().join("program");
        fs::write(&program, "").unwrap();
        folder.create(&program).unwrap();
        let of_node = place.path().join("node.sqlite");
        drop(Store::create_or_open(&of_node).unwrap());
        Fleet { _place: place, folder, store, of_node }
    }

    fn coordinator<'s>(&self, scheduler: &'s Said, nodes: u32) -> Coordinator<'s> {
        let submission = Submission {
            scheduler: "said".into(),
            jobs: vec!["7".into()],
            nodes,
            command: vec!["run".into()],
            submitted_at: "2026-01-01T00:00:00Z".into(),
        };
        let store = Store::create_or_open(&self.store).unwrap();
        let lock = store.lock_for_run("coordinator").unwrap();
        Coordinator::new(self.folder.clone(), scheduler, submission, lock)
    }

    fn deliver(&self, node: u32) {
        Delivery::to(&self.folder.node(node)).deliver(&self.of_node).unwrap();
    }

    fn end(&self, node: u32, code: i32) {
        fs::create_dir_all(self.folder.node(node)).unwrap();
        fs::write(self.folder.node(node).join("exit"), format!("{code}\n")).unwrap();
    }
}

/// For tests in which nothing is judged.
fn nothing(_: &[Collected]) -> Result<Judged, FleetError> {
    Ok(Judged::default())
}

use ElementState::{Cancelled, Done, Failed, Gone, Requeued, Running, Waiting};

#[test]
fn deliveries_are_judged_once_and_the_nodes_are_told() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running, Running]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    let judged = RefCell::new(Vec::new());
    let mut judge = |collected: &[Collected]| -> Result<Judged, FleetError> {
        judged.borrow_mut().push(collected.iter().map(|collected| collected.node).collect::<Vec<_>>());
        let rounds = collected.iter().map(|collected| (collected.node, 4)).collect();
        Ok(Judged { decided: BTreeSet::from(["scan".to_owned()]), rounds })
    };
    assert!(coordinator.look(&mut judge).unwrap().decided.is_empty());
    fleet.deliver(2);
    let standing = coordinator.look(&mut judge).unwrap();
    assert_eq!(standing.decided, BTreeSet::from(["scan".to_owned()]));
    assert_eq!(read_decided(&fleet.folder.decided()), Some(standing.decided));
    let [first, second] = standing.nodes.as_slice() else { panic!("{:?}", standing.nodes) };
    assert_eq!((first.deliveries, first.rounds, &first.collected), (0, None, &None));
    assert_eq!((second.deliveries, second.rounds), (1, Some(4)));
    coordinator.look(&mut judge).unwrap();
    fleet.deliver(1);
    coordinator.look(&mut judge).unwrap();
    assert_eq!(*judged.borrow(), [vec![2], vec![1]], "what was seen is not judged again");
}

#[test]
fn what_the_judge_refuses_ends_the_look_and_is_judged_again() {
    struct Refusal;
    impl From<FleetError> for Refusal {
        fn from(_: FleetError) -> Self {
            Refusal
        }
    }
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running]);
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    fleet.deliver(1);
    assert!(coordinator.look(&mut |_| Err::<Judged, Refusal>(Refusal)).is_err());
    assert_eq!(coordinator.look(&mut nothing).unwrap().nodes[0].deliveries, 1);
}

#[test]
fn a_node_whose_delivery_does_not_fit_is_told_once_and_the_others_go_on() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running, Running]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    fleet.deliver(1);
    fleet.deliver(2);
    fs::write(fleet.folder.node(1).join("results.sqlite"), "lies").unwrap();
    let standing = coordinator.look(&mut nothing).unwrap();
    assert_eq!(standing.nodes.iter().map(|node| node.deliveries).collect::<Vec<_>>(), [0, 1]);
    let [news] = standing.news.as_slice() else { panic!("{:?}", standing.news) };
    assert!(news.starts_with("the delivery of node 1 does not fit its checksum"), "{news}");
    let began = Instant::now();
    assert_eq!(coordinator.look(&mut nothing).unwrap().news, [""; 0]);
    assert!(began.elapsed() < Duration::from_millis(300), "it is not read again");
    fleet.deliver(1);
    let standing = coordinator.look(&mut nothing).unwrap();
    assert_eq!((standing.nodes[0].deliveries, standing.news), (1, Vec::new()));
}

#[test]
fn a_queue_that_does_not_start_is_told_once_with_its_reason() {
    let fleet = Fleet::new();
    let scheduler = Said::in_turn(&[&[Waiting, Waiting]]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    assert_eq!(coordinator.look(&mut nothing).unwrap().news, [""; 0], "not before its time");
    coordinator.queue_patience = Duration::ZERO;
    let news = coordinator.look(&mut nothing).unwrap().news;
    assert!(news.len() == 1 && news[0].starts_with("no node has started yet: Resources (said job 7)"));
    assert_eq!(coordinator.look(&mut nothing).unwrap().news, [""; 0]);
    // Nor once one has started.
    drop(coordinator);
    let scheduler = Said::in_turn(&[&[Waiting, Running], &[Waiting, Waiting]]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    coordinator.queue_patience = Duration::ZERO;
    for _ in 0..2 {
        assert_eq!(coordinator.look(&mut nothing).unwrap().news, [""; 0]);
    }
}

#[test]
fn what_happens_to_a_node_is_told_each_time() {
    let fleet = Fleet::new();
    let failed = Failed { exit_code: Some(1) };
    let scheduler =
        Said::in_turn(&[&[Running], &[Requeued], &[Requeued], &[Running], &[Requeued], &[failed]]);
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    let news: Vec<Vec<String>> = (0..7).map(|_| coordinator.look(&mut nothing).unwrap().news).collect();
    assert_eq!(news.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0, 0, 1, 1, 0]);
    assert!(news[1][0].starts_with("node 1 on n1 was broken off"), "{news:?}");
    assert!(news[5][0].starts_with("node 1 on n1 ended with exit code 1"), "{news:?}");
}

#[test]
fn what_the_scheduler_has_forgotten_is_told_by_the_exit_code_that_the_node_left() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running]);
    let mut coordinator = fleet.coordinator(&scheduler, 4);
    fleet.end(2, 0);
    fleet.end(3, 5);
    let standing = coordinator.look(&mut nothing).unwrap();
    let states: Vec<ElementState> = standing.elements.iter().map(|element| element.state).collect();
    assert_eq!(states, [Running, Done, Failed { exit_code: Some(5) }, Gone]);
    assert_eq!(standing.failed(), BTreeSet::from([3, 4]));
    assert!(!standing.is_over());
}

#[test]
fn what_was_seen_to_end_stays_so_when_it_is_forgotten() {
    let fleet = Fleet::new();
    let scheduler = Said::in_turn(&[&[Cancelled], &[]]);
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    for _ in 0..2 {
        assert_eq!(coordinator.look(&mut nothing).unwrap().elements[0].state, Cancelled);
    }
}

#[test]
fn what_vanishes_before_it_started_was_cancelled() {
    let fleet = Fleet::new();
    let scheduler = Said::in_turn(&[&[Waiting], &[]]);
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    coordinator.look(&mut nothing).unwrap();
    assert_eq!(coordinator.look(&mut nothing).unwrap().elements[0].state, Cancelled);
}

#[test]
fn what_is_held_in_the_queue_is_told_with_what_lets_it_go() {
    let fleet = Fleet::new();
    let mut turn = 0;
    let scheduler = Said::new(move || {
        turn += 1;
        let reason = ["BeginTime", "launch_failed_requeued_held"][usize::from(turn > 1)];
        let held = |element| Element { reason: Some(reason.to_owned()), ..element };
        Ok(elements(&[Requeued]).into_iter().map(held).collect())
    });
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    let news: Vec<Vec<String>> = (0..3).map(|_| coordinator.look(&mut nothing).unwrap().news).collect();
    assert_eq!(news.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
    assert!(news[1][0].contains("is held in the queue") && news[1][0].contains("scontrol release 7_1"));
}

#[test]
fn a_scheduler_that_is_silent_for_a_while_is_asked_again() {
    let fleet = Fleet::new();
    let silent = || FleetError::Refused { program: "scontrol".into(), reason: "no".into(), hint: "x".into() };
    let mut turn = 0;
    let scheduler = Said::new(move || {
        turn += 1;
        if turn % 2 == 0 { Err(silent()) } else { Ok(elements(&[Running])) }
    });
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    let news: Vec<usize> = (0..4)
        .map(|_| {
            let standing = coordinator.look(&mut nothing).unwrap();
            assert_eq!(standing.elements[0].state, Running);
            standing.news.len()
        })
        .collect();
    assert_eq!(news, [0, 1, 0, 0]);
    drop(coordinator);
    let never = Said::new(move || Err(silent()));
    assert!(fleet.coordinator(&never, 1).look(&mut nothing).is_err(), "the first time it must answer");
}

#[test]
fn a_clock_that_is_wrong_is_told() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running, Running]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (node, time) in [(1, now - 600), (2, now + 5)] {
        fs::create_dir_all(fleet.folder.node(node)).unwrap();
        fs::write(fleet.folder.node(node).join("clock"), format!("{time}\n")).unwrap();
    }
    let news = coordinator.look(&mut nothing).unwrap().news;
    let [news] = news.as_slice() else { panic!("{news:?}") };
    assert!(news.starts_with("the clock of node 1 is ") && news.contains(" s behind that of this machine"));
    assert_eq!(coordinator.look(&mut nothing).unwrap().news, [""; 0]);
}

#[test]
fn there_is_no_second_coordinator() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Running]);
    let _first = fleet.coordinator(&scheduler, 1);
    let store = Store::create_or_open(&fleet.store).unwrap();
    let message = store.lock_for_run("second").unwrap_err().to_string();
    assert!(message.contains("in use by pid") && message.contains("(coordinator)"), "{message}");
}

#[test]
fn watching_ends_when_all_nodes_have_ended_and_what_they_left_is_there() {
    let fleet = Fleet::new();
    let failed = Failed { exit_code: Some(1) };
    let scheduler = Said::in_turn(&[&[Running, Running], &[Done, Running], &[Done, failed]]);
    let mut coordinator = fleet.coordinator(&scheduler, 2);
    let looks = RefCell::new(0);
    let ending = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            fleet.deliver(1);
            fleet.end(1, 0);
        });
        let mut tell = |_: &Standing| *looks.borrow_mut() += 1;
        coordinator.run(Duration::from_millis(20), &mut nothing, &mut tell).unwrap()
    });
    let Ending::Finished(standing) = ending else { panic!("{ending:?}") };
    assert!(*looks.borrow() > 3, "it looks until the exit code of node 1 is there");
    assert_eq!(standing.nodes[0].deliveries, 1);
    assert_eq!(standing.failed(), BTreeSet::from([2]));
}

#[test]
fn what_never_becomes_visible_is_not_waited_for_for_ever() {
    let fleet = Fleet::new();
    let scheduler = Said::always(&[Gone]);
    let mut coordinator = fleet.coordinator(&scheduler, 1);
    coordinator.cache_patience = Duration::from_millis(50);
    let judge = &mut |_: &[Collected]| -> Result<Judged, FleetError> { unreachable!("nothing is delivered") };
    let ending = coordinator.run(Duration::from_millis(5), judge, &mut |_| {}).unwrap();
    assert!(matches!(ending, Ending::Finished(_)));
}

#[test]
fn steps_alone_are_a_judgement() {
    let judged = Judged { decided: BTreeSet::from(["scan".to_owned()]), ..Judged::default() };
    assert_eq!((judged.decided.len(), judged.rounds.len()), (1, 0));
}
