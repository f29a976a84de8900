//! A profile as a user orders it: the same steps a second time, pictures, and functions in the explanation.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use basecase_model::{Observation, ProfileKind, Trial};
use basecase_store::Store;
use basecase_tests::running::HARDLY_SETTLES;
use basecase_tests::{Sandbox, program};

fn trials(sandbox: &Sandbox) -> Vec<Trial> {
    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    store.trials(&store.experiments().unwrap().pop().unwrap().id).unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end")]
fn steps_run_a_second_time_and_their_stacks_are_drawn() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("custom.conf"), "plan_cache_mode = force_custom_plan\n").unwrap();
    let command = [
        "compare",
        "postgres:18.6",
        "postgres:18.6@custom.conf",
        "--workload",
        "oltp_point_select",
        "--rows",
        "5000",
        "--threads",
        "2",
        "--seconds",
        "3",
        "--profile",
        "--store",
        "s.sqlite",
        "--out",
        "pages",
        "--data",
        "data",
    ];
    let command = [&command[..], &HARDLY_SETTLES].concat();
    let output = sandbox.output(&command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("perf_event_paranoid") || said.contains("perf events") {
        assert!(std::env::var_os("CI").is_none(), "this machine allows no profile: {said}");
        println!("skipped: this machine allows no profile: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));

    let trials = trials(&sandbox);
    let of = |observation| trials.iter().filter(|trial| trial.observation == observation).collect::<Vec<_>>();
    assert_eq!((of(Observation::Usual).len(), of(Observation::Profiled).len()), (4, 4));
    for trial in of(Observation::Usual) {
        // A load of less than a second has no whole interval.
        assert!(
            trial.profiles.is_empty() && (trial.step == "load" || !trial.tracks.is_empty()),
            "{}",
            trial.step
        );
    }
    for trial in of(Observation::Profiled) {
        let [profile] = trial.profiles.as_slice() else { panic!("{:?}", trial.profiles) };
        assert_eq!(profile.kind, ProfileKind::Cpu);
        if trial.step == "oltp_point_select" {
            assert!(profile.samples > 100, "{}", profile.samples);
            // From the entry of the program to a function of the executor: stacks are whole.
            let is_whole =
                |line: &str| line.starts_with("postgres;_start;") && line.contains(";PostgresMain;");
            assert!(profile.stacks.lines().any(is_whole), "{}", profile.stacks);
        }
    }

    let page = fs::read_to_string(sandbox.path().join("pages/step-oltp_point_select.html")).unwrap();
    for picture in
        ["flame/step-oltp_point_select-0-cpu.svg", "flame/step-oltp_point_select-1-cpu-difference.svg"]
    {
        assert!(page.contains(picture), "{picture} is linked");
        assert!(
            fs::read_to_string(sandbox.path().join("pages").join(picture)).unwrap().contains("PostgresMain")
        );
    }
    // Planning each time is what the setting asks for.
    let output = sandbox.output(&["explain", "s.sqlite", "oltp_point_select"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let functions = text.split("Server functions").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(functions.contains("samples of the base case"), "{text}");

    // What is there is not run again, in either pass.
    let output = sandbox.output(&command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("8 of 8 trials were already in"), "{said}");
}

#[test]
fn without_looking_on_there_are_counters_and_no_tracks() {
    let sandbox = Sandbox::new();
    let command = [
        "compare",
        "sqlite",
        "postgres:18.6",
        "--workload",
        "oltp_point_select",
        "--rows",
        "2000",
        "--seconds",
        "2",
        "--probe",
        "off",
        "--store",
        "s.sqlite",
        "--data",
        "data",
    ];
    let output = sandbox.output(&[&command[..], &HARDLY_SETTLES].concat());
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    for trial in trials(&sandbox) {
        assert_eq!(trial.observation, Observation::Off);
        assert!(
            trial.tracks.is_empty()
                && trial.plans.is_empty()
                && trial.counters.get("host.context_switches").is_some()
        );
        assert_eq!(trial.counters.get("server.cache_requests").is_some(), trial.candidate.starts_with("pg"));
    }
}

#[test]
fn who_may_not_profile_is_told_before_anything_is_fetched() {
    /// The user who owns nothing.
    const NOBODY: u32 = 65_534;
    let setting = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let setting = setting.trim();
    if !setting.parse().is_ok_and(|setting: i32| setting > 0) {
        println!("skipped: here everybody may profile, or the kernel has no such setting");
        return;
    }
    let sandbox = Sandbox::new();
    // Where every user reaches it.
    let reachable = sandbox.path().join("basecase");
    fs::copy(program(), &reachable).unwrap();
    let mut command = Command::new(&reachable);
    command.args(["compare", "postgres:17.11", "--profile", "--store", "s.sqlite", "--data", "data"]);
    command.current_dir(sandbox.path()).env("BASECASE_HOME", sandbox.path().join("home"));
    // The setting does not bind root.
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    assert_eq!(
        sandbox.transcript(&command.output().unwrap()),
        format!(
            "exit code 1\n-- stderr\n\
             error: the kernel does not let this user take samples of whole processors: kernel.perf_event_paranoid is {setting}\n\
             hint: run as root, or `sysctl kernel.perf_event_paranoid=0`, or give the program CAP_PERFMON\n"
        )
    );
    let found = fs::read_dir(sandbox.path()).unwrap().count();
    assert_eq!(found, 1, "the program alone: neither a store nor data nor a build");
}
