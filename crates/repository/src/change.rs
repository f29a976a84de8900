//! What a commit changes.

use std::collections::BTreeSet;

use crate::error::RepositoryError;
use crate::repository::Repository;

/// The difference of two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The files that differ.
    pub files: Vec<ChangedFile>,
    /// The way back from the second to the first, as a patch.
    pub reversal: Vec<u8>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its name in the second commit, or in the first if it is no longer there.
    pub name: String,
    /// The functions in which lines differ, as far as git tells: by the heads of functions before differing lines, and in them.
    pub functions: BTreeSet<String>,
}

impl Change {
    /// From `before` to `after`.
    ///
    /// # Errors
    /// If git fails.
    pub fn between(
        repository: &Repository<'_>,
        before: &str,
        after: &str,
    ) -> Result<Change, RepositoryError> {
        let common = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
        let told = repository.run(&[&common[..], &["-U0", "--no-renames", before, after]].concat())?;
        let reversal =
            repository.run(&[&common[..], &["--binary", "--full-index", after, before]].concat())?;
        Ok(Change { files: read(&String::from_utf8_lossy(&told)), reversal })
    }

    /// Whether it touches a function of this name, in a file of this name if one is known.
    pub fn touches(&self, function: &str, file: Option<&str>) -> bool {
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let is_file = |changed: &ChangedFile| file.is_none_or(|file| base(file) == base(&changed.name));
        // Compilers add to the names of functions that they split or copy, as in `exec_simple.part.0`.
        let plain = function.split(['.', '(']).next().unwrap_or(function);
        let plain = plain.rsplit("::").next().unwrap_or(plain);
        self.files.iter().any(|changed| is_file(changed) && changed.functions.contains(plain))
    }
}

/// Reads what `git diff -U0` prints.
fn read(text: &str) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            files.push(ChangedFile { name: name.to_owned(), functions: BTreeSet::new() });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        let heading =
            line.strip_prefix("@@ ").and_then(|rest| rest.split_once(" @@ ")).map(|(_, heading)| heading);
        let changed =
            line.strip_prefix(['+', '-']).filter(|_| !line.starts_with("+++") && !line.starts_with("---"));
        file.functions.extend(heading.or(changed.filter(|line| begins_a_function(line))).and_then(function));
    }
    files
}

/// Whether a line of C or C++ may begin the definition of a function: it does not stand within one.
fn begins_a_function(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && !line.trim_end().ends_with(';')
}

/// The name before the first parenthesis of a function's head.
fn function(head: &str) -> Option<String> {
    let (before, _) = head.split_once('(')?;
    let name =
        before.trim_end().rsplit(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_by_heads_before_lines_and_in_them() {
        let text = "diff --git a/src/a.c b/src/a.c\nindex 1..2 100644\n--- a/src/a.c\n+++ b/src/a.c\n\
                    @@ -10 +10,2 @@ ExecProcNode(PlanState *node)\n-  old();\n+  slow();\n+  old();\n\
                    @@ -30,0 +32,4 @@\n+static int\n+helper(int a)\n+{\n+}\n\
                    diff --git a/doc/x.sgml b/doc/x.sgml\n--- a/doc/x.sgml\n+++ b/doc/x.sgml\n@@ -1 +1 @@\n-a\n+b\n";
        let files = read(text);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["src/a.c", "doc/x.sgml"]);
        assert_eq!(files[0].functions, ["ExecProcNode", "helper"].map(String::from).into());
        assert!(files[1].functions.is_empty());
        let change = Change { files, reversal: Vec::new() };
        assert!(
            change.touches("ExecProcNode", Some("/build/src/a.c")) && change.touches("helper.part.0", None)
        );
        assert!(!change.touches("ExecProcNode", Some("b.c")) && !change.touches("old", None));
    }
}
