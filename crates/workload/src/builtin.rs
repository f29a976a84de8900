//! The built-in workloads, in the same file format as a user's own.

use crate::{Workload, WorkloadError};

/// Families of steps that share tables, and their files.
const FILES: [(&str, &str); 2] = [
    ("microbenchmarks", include_str!("../../../workloads/microbenchmarks.toml")),
    ("oltp", include_str!("../../../workloads/oltp.toml")),
];

impl Workload {
    /// Names of the built-in workload files.
    pub fn families() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// Every name that [`Workload::builtin`] knows: families, and steps that can be used as workloads on their own.
    pub fn builtin_names() -> Vec<String> {
        let mut names: Vec<String> = Self::families().map(str::to_owned).collect();
        for (family, text) in FILES {
            if let Ok(workload) = Workload::load(text, family)
                && workload.lists.is_empty()
            {
                names.extend(workload.steps.into_iter().map(|step| step.name));
            }
        }
        names
    }

    /// The text of a built-in workload file.
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The built-in workload of this name: a family, or a family without lists reduced to one step, such as `oltp_read_write`. `None` if
    /// there is none.
    ///
    /// # Errors
    /// A mistake in a built-in file, which its tests rule out.
    pub fn builtin(name: &str) -> Option<Result<Workload, WorkloadError>> {
        if let Some(text) = Self::builtin_text(name) {
            return Some(Workload::load(text, name));
        }
        FILES.iter().find_map(|(family, text)| match Workload::load(text, family) {
            Err(error) => Some(Err(error)),
            Ok(workload) => workload.only(name).map(Ok),
        })
    }

    /// This workload reduced to one of its steps, if it has no lists and there is such a step.
    fn only(mut self, step: &str) -> Option<Workload> {
        if !self.lists.is_empty() {
            return None;
        }
        self.steps.retain(|known| known.name == step);
        let about = self.steps.first()?.about.clone();
        Some(Workload { name: step.to_owned(), about, ..self })
    }
}
