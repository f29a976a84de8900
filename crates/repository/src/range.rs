//! A range of commits.

use basecase_model::Commit;

use crate::error::RepositoryError;
use crate::repository::Repository;

/// The commits `A..B` on the first-parent line of B, the oldest first. The first is that with which the others are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// As it was written.
    pub text: String,
    /// Its commits, two at least.
    pub commits: Vec<Commit>,
    /// What the first one is.
    pub start: RangeStart,
    /// How many commits are left out, because they touch nothing of what is compiled.
    pub left_out: usize,
}

/// What the first commit of a range is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeStart {
    /// The one that was named.
    Named,
    /// That one is on another branch, and this is where the branches part.
    MergeBase,
}

impl Range {
    /// Whether a word of a command line is written as a range, `A..B`, and is no option, candidate or path.
    pub fn is_one(word: &str) -> bool {
        let is_pair = |(first, last): (&str, &str)| !first.is_empty() && !last.starts_with('.');
        let is_other = word.starts_with('-') || word.contains(':') || word.contains("../");
        !is_other && word.split_once("..").is_some_and(is_pair)
    }

    /// The range that `text` names, `A..B`; without B, up to `HEAD`. Only commits that touch some of `paths` (pathspecs of git) are in it,
    /// with its ends; all of them if there are none.
    ///
    /// # Errors
    /// If there is no such range, or git fails.
    pub fn find(repository: &Repository<'_>, text: &str, paths: &[String]) -> Result<Range, RepositoryError> {
        let wrong = |reason: String, hint: String| RepositoryError::Range {
            repository: repository.folder().to_path_buf(),
            range: text.to_owned(),
            reason,
            hint,
        };
        let (first, last) = text.split_once("..").unwrap_or((text, ""));
        let last = if last.is_empty() { "HEAD" } else { last };
        let (from, to) = (repository.commit(first)?, repository.commit(last)?);
        if from == to {
            let reason = format!("{first} and {last} are the same commit");
            return Err(wrong(reason, "name an older commit first, as in REL_17_0..REL_18_0".into()));
        }
        let Some(base) = repository.merge_base(&from, &to)? else {
            let hint = if repository.is_shallow()? {
                format!(
                    "its history was cut off when it was cloned; get it: git -C {} fetch --unshallow",
                    repository.folder().display()
                )
            } else {
                "name two commits of one history".into()
            };
            return Err(wrong(format!("{first} and {last} have no common ancestor"), hint));
        };
        if base == to {
            let reason = format!("{first} comes after {last}");
            return Err(wrong(reason, format!("the older one comes first: {last}..{first}")));
        }
        let start = if base == from { RangeStart::Named } else { RangeStart::MergeBase };
        let all =
            repository.log(&["--first-parent", "--reverse", "--ancestry-path", &format!("{base}..{to}")])?;
        let parent =
            all.first().map(|oldest| repository.commit(&format!("{}^1", oldest.hash))).transpose()?;
        if parent.as_deref() != Some(&base) {
            return Err(wrong(
                format!(
                    "{} is not on the first-parent line of {last}, but on a branch that was merged into it",
                    short(&base)
                ),
                format!("begin with a commit that `git log --first-parent {last}` lists"),
            ));
        }
        let mut commits = repository.log(&["-1", &base])?;
        let (touching, left_out) = touching(repository, &format!("{base}..{to}"), all, paths)?;
        commits.extend(touching);
        Ok(Range { text: text.to_owned(), commits, start, left_out })
    }
}

/// Those of `all` the commits of a range that touch some of `paths`, with its end, and how many are left out.
fn touching(
    repository: &Repository<'_>,
    range: &str,
    all: Vec<Commit>,
    paths: &[String],
) -> Result<(Vec<Commit>, usize), RepositoryError> {
    let mut chosen = vec!["--first-parent", "--reverse", range];
    if !paths.is_empty() {
        chosen.push("--");
        chosen.extend(paths.iter().map(String::as_str));
    }
    let mut touching = repository.log(&chosen)?;
    let left_out = all.len().saturating_sub(touching.len());
    // The end stays what the user named, although it may equal the commit before it.
    let end =
        all.into_iter().next_back().filter(|end| touching.last().is_none_or(|last| last.hash != end.hash));
    let left_out = left_out.saturating_sub(usize::from(end.is_some()));
    touching.extend(end);
    Ok((touching, left_out))
}

fn short(hash: &str) -> &str {
    hash.get(..Commit::DIGITS).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_ranges() {
        for word in ["v1..main", "origin/a..b", "@{u}..HEAD", "REL_17_0.."] {
            assert!(Range::is_one(word), "{word}");
        }
        for word in ["git:../r", "../r", "--x=a..b", "path", "a...b", "..b"] {
            assert!(!Range::is_one(word), "{word}");
        }
    }
}
