//! The commits of a range, each of them a candidate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use basecase_builds::CommitRequest;
use basecase_model::Commit;
use basecase_repository::{Range, RangeStart};

use crate::request::CandidateSpec;

/// Which commits are searched, and how they are compiled.
#[derive(Debug, Clone, Default)]
pub struct RangeOrder {
    /// Pathspecs of git: only commits that touch them. Empty for what the server is made of.
    pub paths: Vec<String>,
    /// Ranges of commits that are known not to compile.
    pub broken: Vec<String>,
    /// Ranges of commits, with a patch that each of them needs to compile.
    pub fixes: Vec<(String, PathBuf)>,
    /// Whether each is compiled anew, and not only what differs from the one before.
    pub is_clean: bool,
}

/// The commits of a range, in their order, each of them a candidate.
#[derive(Debug, Clone)]
pub struct CommitRange {
    /// As the user wrote it.
    pub text: String,
    /// What git tells of them. The first is that with which the range begins.
    pub commits: Vec<Commit>,
    /// The candidates.
    pub candidates: Vec<CandidateSpec>,
    /// Those that are known not to compile.
    pub broken: BTreeSet<usize>,
    /// What the user should know of the range.
    pub notes: Vec<String>,
}

impl CommitRange {
    /// The commits of `text`, `A..B`, in the repository of `repository`, a candidate that is a commit or a working tree.
    ///
    /// # Errors
    /// If there is no such range, or a file is not there.
    pub fn find(repository: &CandidateSpec, text: &str, order: &RangeOrder) -> Result<CommitRange> {
        let Some(commit) = repository.commit() else {
            bail!(
                "{repository} is no repository, and {text} is a range of commits\nhint: name the repository before it, as in git:PATH {text}"
            );
        };
        let range = commit.range(text, &order.paths)?;
        let within = |text: &str| -> Result<BTreeSet<String>> {
            let found = commit.range(text, &[".".to_owned()]).with_context(|| format!("the range {text}"))?;
            // What is named first is where the range begins, and not in it.
            Ok(found.commits.into_iter().skip(1).map(|commit| commit.hash).collect())
        };
        let mut broken = BTreeSet::new();
        for text in &order.broken {
            broken.extend(within(text)?);
        }
        let mut fixes = Vec::new();
        for (text, file) in &order.fixes {
            check_patch(file)?;
            fixes.push((within(text)?, file));
        }
        let made =
            CommitRequest { is_incremental: !order.is_clean, is_working_tree: false, ..commit.clone() };
        let candidate = |one: &Commit| {
            let mut request = made.with_commit(one);
            let needed = fixes.iter().filter(|(commits, _)| commits.contains(&one.hash));
            request.patches.extend(needed.map(|(_, file)| (*file).clone()));
            repository.of_commit(request)
        };
        let candidates = range.commits.iter().map(candidate).collect();
        let broken = range.commits.iter().enumerate().filter(|(_, one)| broken.contains(&one.hash));
        Ok(CommitRange {
            text: text.to_owned(),
            candidates,
            broken: broken.map(|(number, _)| number).collect(),
            notes: notes(&range),
            commits: range.commits,
        })
    }
}

impl CommitRange {
    /// The commits with these numbers.
    #[must_use]
    pub fn piece(&self, numbers: std::ops::Range<usize>) -> CommitRange {
        let own = |number: &usize| numbers.contains(number).then(|| number - numbers.start);
        CommitRange {
            text: self.text.clone(),
            commits: self.commits[numbers.clone()].to_vec(),
            candidates: self.candidates[numbers.clone()].to_vec(),
            broken: self.broken.iter().filter_map(own).collect(),
            notes: Vec::new(),
        }
    }

    /// Whether only what differs from the commit before is compiled.
    pub fn is_incremental(&self) -> bool {
        self.candidates.iter().any(CandidateSpec::is_incremental)
    }
}

/// Refuses a patch that is not there, before anything is compiled.
fn check_patch(file: &Path) -> Result<()> {
    if file.is_file() {
        return Ok(());
    }
    bail!(
        "there is no patch {}\nhint: --fix A..B=FILE.patch takes a file as `git diff` writes it",
        file.display()
    )
}

fn notes(range: &Range) -> Vec<String> {
    let mut notes = Vec::new();
    if let (RangeStart::MergeBase, Some(first)) = (range.start, range.commits.first()) {
        notes.push(format!(
            "{} begins on another branch; the search begins at {}, where the branches part",
            range.text,
            first.name()
        ));
    }
    if range.left_out > 0 {
        notes.push(format!(
            "{} commits are searched; {} more touch nothing that the server is made of (--paths . takes them as well)",
            range.commits.len() - 1,
            range.left_out
        ));
    }
    notes
}
