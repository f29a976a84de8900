//! Patches that are applied to a source before it is compiled.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use basecase_model::hexadecimal;
use basecase_process::log::last_lines;
use sha2::{Digest, Sha256};

use super::error::CompileError;
use super::toolchain::Toolchain;

/// Digits of the hash by which a build's own name tells its patches.
const LABEL_DIGITS: usize = 6;
/// Lines of what git says about a patch that does not apply.
const REASON_LINES: usize = 6;

/// A patch, as `diff -u` and `git diff` write it, with paths below the source's top folder after their first part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    path: PathBuf,
    text: String,
    sha256: String,
}

impl Patch {
    /// Reads a patch.
    ///
    /// # Errors
    /// If it is not a text file, or has no part that changes a file.
    pub(crate) fn read(path: &Path) -> Result<Patch, CompileError> {
        let refuse = |reason: String| CompileError::Patch { path: path.to_path_buf(), reason };
        let text = basecase_probe::read_text(path).map_err(|error| refuse(error.to_string()))?;
        if !text.lines().any(|line| line.starts_with("+++ ") || line.starts_with("diff --git ")) {
            return Err(refuse("it is not a patch: no line begins with +++".into()));
        }
        let sha256 = hexadecimal(&Sha256::digest(text.as_bytes()));
        Ok(Patch { path: path.to_path_buf(), text, sha256 })
    }

    /// Its name and checksum.
    pub(crate) fn artifact(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} sha256:{}", self.sha256)
    }

    /// What a build depends on: the content, whatever the file is called.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What a build's own name gets for its patches; nothing without any.
    pub(crate) fn suffix(patches: &[Patch]) -> String {
        if patches.is_empty() {
            return String::new();
        }
        let mut hash = Sha256::new();
        patches.iter().for_each(|patch| hash.update(&patch.sha256));
        let digits = hexadecimal(&hash.finalize());
        format!("_p{}", digits.get(..LABEL_DIGITS).unwrap_or_default())
    }

    /// Applies the patch to the unpacked `source`, whole or not at all, as the account that compiles.
    ///
    /// # Errors
    /// If it does not apply: says where.
    pub(crate) fn apply(&self, source: &Path, toolchain: &Toolchain) -> Result<(), CompileError> {
        let git = toolchain.need("git", "git")?;
        let mut command = toolchain.command(&git);
        command.args(["apply", "-p1", "--whitespace=nowarn", "-"]).current_dir(source);
        // Inside the working tree of another repository, git would pass over files silently.
        command.env("GIT_CEILING_DIRECTORIES", source.parent().unwrap_or(source));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.spawn().and_then(|mut child| {
            if let Some(mut input) = child.stdin.take() {
                // Git reads all before it says anything; if it has ended, its words tell why.
                let _ = input.write_all(self.text.as_bytes());
            }
            child.wait_with_output()
        });
        let output = output.map_err(CompileError::file(&git))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = last_lines(&String::from_utf8_lossy(&output.stderr), REASON_LINES);
        Err(CompileError::Patch { path: self.path.clone(), reason: format!("it does not apply: {reason}") })
    }
}
