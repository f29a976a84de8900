//! Searches of commits whose builds are real and whose counts are invented.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use basecase_server::Settle;
use basecase_stats::{WorkCourse, WorkKind, WorkWindow};

use super::{CommitRange, RangeOrder, Search, SearchOptions};
use crate::request::{CandidateSpec, CountsEngine, Missing, PinRequest, Protocol, Request, Verify};
use crate::workload::WorkloadFile;

/// A repository whose commits are an amalgamation of SQLite by name only, which compiles in no time.
struct Bench {
    folder: tempfile::TempDir,
    /// Instructions per operation of each commit, by hash.
    instructions: Vec<(String, f64)>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("bc-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["r", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let bench = Bench { folder, instructions: Vec::new() };
        bench.git(&["init", "-q", "-b", "main"]);
        fs::write(bench.repository().join("sqlite3.h"), "#define SQLITE_VERSION \"3.50.0\"\n").unwrap();
        bench
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("r")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
        let output = command.current_dir(self.repository()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A commit that needs so many instructions, with this text in its one file.
    fn commit(&mut self, instructions: f64, text: &str) -> String {
        let number = self.instructions.len();
        let source =
            format!("/* commit {number} */\nconst int sqlite3_level = {};\n{text}\n", instructions as u64);
        fs::write(self.repository().join("sqlite3.c"), source).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", &format!("Commit {number}")]);
        let hash = self.git(&["rev-parse", "HEAD"]);
        self.instructions.push((hash.clone(), instructions));
        hash
    }

    fn candidate(&self, rest: &str) -> CandidateSpec {
        format!("git:{}{rest}", self.repository().display()).parse().unwrap()
    }

    fn range(&self, text: &str, order: &RangeOrder) -> CommitRange {
        CommitRange::find(&self.candidate(""), text, order).unwrap()
    }

    /// Searches the range; the search at its end, and how many builds it asked for.
    fn searched(&self, range: &CommitRange, options: SearchOptions) -> Search {
        let mut search = Search::new(request(range.candidates.clone()), None, options).unwrap();
        let mut course = WorkCourse { kind: WorkKind::Read, versions: vec![Vec::new(); range.commits.len()] };
        while let Some(probe) = search.probe() {
            if !search.compile(&probe, &self.home(), None, &mut |_| ()).unwrap() {
                continue;
            }
            for number in probe.numbers {
                let hash = &range.commits[number].hash;
                let (_, instructions) = self.instructions.iter().find(|(own, _)| own == hash).unwrap();
                let window = |start| WorkWindow { start, instructions: *instructions };
                course.versions[number] = [0, 0, 1, 1].map(window).to_vec();
            }
            search.learn_counts(&course, 1.005_f64.ln()).unwrap();
        }
        search
    }
}

/// A request of counts of one step on these candidates.
pub(crate) fn request(candidates: Vec<CandidateSpec>) -> Request {
    let definition = WorkloadFile::definition_of("microbenchmarks").unwrap();
    let options = [("rows".to_owned(), "1000".to_owned())];
    let workload = WorkloadFile::new(definition, &options, &["point-query".to_owned()]).unwrap();
    Request {
        name: "commits".into(),
        candidates,
        workload: Arc::new(workload),
        settle: Settle::Condition,
        settle_limit: None,
        verify: Verify::Auto,
        step_limit_seconds: None,
        pin: PinRequest::default(),
        extra_settings: Vec::new(),
        memory: None,
        meant_io_bound: false,
        protocol: Protocol::Counts(CountsEngine::Auto),
        replicates: Vec::new(),
        missing: Missing::Refuse,
        node: None,
    }
}

/// Forty commits: a fifth does not compile, nor do ten in a row from the twelfth on, and the change begins with the thirtieth.
fn planted() -> (Bench, Vec<String>) {
    let mut bench = Bench::new();
    let commit = |bench: &mut Bench, number: usize| {
        let is_broken = number > 0 && number < 39 && (number % 5 == 3 || (12..22).contains(&number));
        let level = if number < 30 { 1000.0 } else { 1030.0 };
        bench.commit(level, if is_broken { "#error not today" } else { "" })
    };
    let hashes = (0..40).map(|number| commit(&mut bench, number)).collect();
    (bench, hashes)
}

#[test]
fn a_change_is_found_among_commits_that_do_not_compile_and_builds_are_used_again() {
    let (bench, hashes) = planted();
    let range = bench.range(&format!("{}..main", hashes[0]), &RangeOrder::default());
    assert_eq!(range.commits.iter().map(|commit| commit.hash.clone()).collect::<Vec<_>>(), hashes);
    let search = bench.searched(&range, SearchOptions::default());
    assert_eq!(search.exact_changes(), [(0, 29, 30)]);
    let tally = search.builds();
    assert!(tally.made + tally.failed <= 2 + 2 * 6, "{tally:?}");
    assert!(
        search.skipped().values().all(|reason| reason.contains("#error not today")),
        "{:?}",
        search.skipped()
    );

    let again = bench.searched(&range, SearchOptions::default());
    assert_eq!((again.exact_changes(), again.builds().made), (search.exact_changes(), 0), "all are there");
    assert_eq!(again.skipped().keys().collect::<Vec<_>>(), search.skipped().keys().collect::<Vec<_>>());
}

#[test]
fn commits_that_are_known_to_be_broken_are_not_compiled_and_a_fix_mends_them() {
    let mut bench = Bench::new();
    let first = bench.commit(1000.0, "");
    for number in 1..9 {
        bench.commit(if number < 5 { 1000.0 } else { 1030.0 }, "int broken = 1 +;");
    }
    let last = bench.commit(1030.0, "");
    let text = format!("{first}..{last}");
    let broken = RangeOrder { broken: vec![format!("{first}..{last}~1")], ..RangeOrder::default() };
    let range = bench.range(&text, &broken);
    assert_eq!(range.broken, (1..9).collect());
    let options = || SearchOptions { broken: range.broken.clone(), ..SearchOptions::default() };
    let search = bench.searched(&range, options());
    assert!(search.exact_changes().is_empty() && search.builds().made == 2, "{:?}", search.builds());
    let change = search.bisection().changes()[0];
    assert_eq!((change.before, change.since), (0, 9), "it is told as the range in which it lies");

    let patch = bench.folder.path().join("fix.patch");
    fs::write(&patch, "--- a/sqlite3.c\n+++ b/sqlite3.c\n@@ -3 +3 @@\n-int broken = 1 +;\n+int mended;\n")
        .unwrap();
    let fixed = RangeOrder { fixes: vec![(format!("{first}..{last}~1"), patch)], ..RangeOrder::default() };
    let search = bench.searched(&bench.range(&text, &fixed), SearchOptions::default());
    assert_eq!(search.exact_changes(), [(0, 4, 5)], "{:?}", search.skipped());
}

#[test]
fn builds_that_differ_only_in_what_debuggers_read_are_twins() {
    let mut bench = Bench::new();
    let first = bench.commit(1000.0, "");
    bench.commit(1000.0, "/* a remark */");
    bench.commit(1030.0, "");
    let range = bench.range(&format!("{first}..main"), &RangeOrder::default());
    let mut search = Search::new(request(range.candidates), None, SearchOptions::default()).unwrap();
    let mut probe = search.probe().unwrap();
    probe.numbers = vec![0, 1, 2];
    assert!(search.compile(&probe, &bench.home(), None, &mut |_| ()).unwrap());
    let others = [0, 2].into();
    assert_eq!((search.twin(1, &others), search.twin(2, &[0, 1].into())), (Some(0), None));
}

#[test]
fn ranges_and_commits_that_cannot_be_searched_are_refused() {
    let mut bench = Bench::new();
    let first = bench.commit(1000.0, "");
    let second = bench.commit(1000.0, "/* more */");
    bench.git(&["tag", "version-1", &second]);
    bench.git(&["checkout", "-q", "-b", "side", &first]);
    let side = bench.commit(1000.0, "/* aside */");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["merge", "-q", "-s", "ours", "--no-edit", "side"]);
    bench.git(&["checkout", "-q", "--orphan", "other"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "Another beginning"]);
    bench.git(&["checkout", "-q", "main"]);
    let refused = |text: &str| {
        let found = CommitRange::find(&bench.candidate(""), text, &RangeOrder::default());
        let said = format!("{:#}", found.unwrap_err());
        assert!(said.contains("\nhint: "), "{said}");
        said
    };
    assert!(refused(&format!("{first}..{first}")).contains("are the same commit"));
    let backwards = refused(&format!("main..{first}"));
    assert!(backwards.contains(&format!("the older one comes first: {first}..main")), "{backwards}");
    assert!(refused("version-2..main").contains("is it version-1?"));
    assert!(refused("other..main").contains("have no common ancestor"));
    assert!(refused(&format!("{side}..main")).contains("is not on the first-parent line of main"));
    let whole = bench.range(&format!("{first}..main"), &RangeOrder::default());
    assert_eq!(whole.commits.len(), 3, "the commit aside is not on the first-parent line");
    assert_eq!(whole.commits[1].tags, ["version-1"]);

    let refused = |text: String| text.parse::<CandidateSpec>().unwrap_err().to_string();
    let path = |rest: &str| format!("git:{}{rest}", bench.repository().display());
    assert!(refused(path("@version1")).contains("is it version-1?"));
    assert!(refused(format!("git:{}", bench.home().display())).contains("is in no git repository"));
    assert!(refused("git:https://user:secret@host/x".into()).starts_with("basecase does not clone"));
    fs::remove_file(bench.repository().join("sqlite3.h")).unwrap();
    assert!(refused(path("")).contains("is not the source of a dbms"), "the working tree is taken as it is");
    assert_eq!(bench.candidate("@main@rollback_full").config.as_deref(), Some("rollback_full"));
}

#[test]
fn a_pull_request_is_compared_with_where_it_began_and_the_base_with_itself() {
    let mut bench = Bench::new();
    let common = bench.commit(1000.0, "");
    bench.git(&["checkout", "-q", "-b", "feature"]);
    bench.commit(1030.0, "");
    bench.git(&["checkout", "-q", "main"]);
    bench.commit(1000.0, "/* main goes on */");
    let mut asked = request(vec![bench.candidate("@main"), bench.candidate("@feature")]);
    let note = asked.take_merge_base().unwrap().unwrap();
    assert!(note.contains("has commits that") && note.contains(&common[..8]), "{note}");
    let commits: Vec<&str> =
        asked.candidates.iter().map(|spec| spec.commit().unwrap().commit.as_str()).collect();
    assert_eq!((commits[0], commits[2], commits.len()), (common.as_str(), common.as_str(), 3));
    let mut others = request(vec!["sqlite".parse().unwrap(), bench.candidate("@main")]);
    assert_eq!((others.take_merge_base().unwrap(), others.candidates.len()), (None, 2));
}

#[test]
fn a_clone_without_history_or_files_is_refused_with_the_command_that_gets_them() {
    let (bench, hashes) = planted();
    bench.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", bench.repository().display());
    let clone = |name: &str, how: &[&str]| {
        let arguments = [&["clone", "-q"], how, &["--no-checkout", &url, name]].concat();
        let cloned = Command::new("git").args(arguments).current_dir(bench.folder.path()).status();
        assert!(cloned.unwrap().success());
        bench.folder.path().join(name)
    };
    let said = |path: &Path, text: &str| -> String {
        let candidate = format!("git:{}@HEAD", path.display()).parse::<CandidateSpec>();
        let found = candidate.map_err(anyhow::Error::from);
        let found = found.and_then(|candidate| CommitRange::find(&candidate, text, &RangeOrder::default()));
        format!("{:#}", found.unwrap_err())
    };
    let shallow = clone("shallow", &["--depth", "1"]);
    let cut = said(&shallow, &format!("{}..HEAD", hashes[0]));
    assert!(cut.contains("fetch --unshallow"), "{cut}");
    let partial = clone("partial", &["--filter=blob:none"]);
    let lacks = said(&partial, &format!("{}..HEAD", hashes[0]));
    assert!(
        lacks.contains("it was cloned in part") && lacks.contains("fetch --refetch --no-filter"),
        "{lacks}"
    );
}
