//! The processes of a tree, as they start and change.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use super::address_space::{AddressSpace, Mapping, mappings};
use super::module::Modules;
use super::record::What;
use crate::process;

/// A process that is observed.
#[derive(Clone)]
struct Member {
    command: Arc<str>,
    /// Read only when needed, because a process maps many files when it starts.
    space: Option<Arc<AddressSpace>>,
}

/// The processes of a tree.
pub(super) struct Family {
    members: HashMap<u32, Member>,
    /// Processes that were forked from each other share it.
    spaces: HashMap<Vec<Mapping>, Arc<AddressSpace>>,
    modules: Modules,
}

impl Family {
    /// The processes of the tree under `root`; empty if there is no such process.
    pub(super) fn of(root: u32) -> Self {
        let mut family =
            Family { members: HashMap::new(), spaces: HashMap::new(), modules: Modules::default() };
        for process in process::server_processes(root) {
            family.members.insert(process, Member { command: command(process), space: None });
            // Read now, so that no sample has to wait for large files.
            family.space(process);
        }
        family
    }

    /// Records what happened to a process.
    pub(super) fn note(&mut self, process: u32, what: &What) {
        match what {
            What::Forked { parent } if *parent == process => {}
            What::Forked { parent } => match self.members.get(parent).cloned() {
                Some(member) => drop(self.members.insert(process, member)),
                // The id is reused, by a process outside the tree.
                None => drop(self.members.remove(&process)),
            },
            What::Executed => {
                if let Some(member) = self.members.get_mut(&process) {
                    *member = Member { command: command(process), space: None };
                }
            }
            What::Mapped => {
                if let Some(member) = self.members.get_mut(&process) {
                    member.space = None;
                }
            }
            _ => {}
        }
    }

    /// The name of a process of the tree; `None` for any other.
    pub(super) fn command(&self, process: u32) -> Option<&Arc<str>> {
        self.members.get(&process).map(|member| &member.command)
    }

    /// What a process of the tree has mapped; `None` for any other.
    pub(super) fn space(&mut self, process: u32) -> Option<Arc<AddressSpace>> {
        let member = self.members.get_mut(&process)?;
        if member.space.is_none() {
            let mapped = mappings(process);
            let modules = &mut self.modules;
            let space = self
                .spaces
                .entry(mapped)
                .or_insert_with_key(|mapped| Arc::new(AddressSpace::new(mapped, modules)));
            member.space = Some(Arc::clone(space));
        }
        member.space.clone()
    }

    /// The files that were found.
    pub(super) fn into_modules(self) -> Modules {
        self.modules
    }
}

/// The name of a process. A semicolon would end a frame.
fn command(process: u32) -> Arc<str> {
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    let name = String::from_utf8_lossy(&name).trim().replace(';', ":");
    if name.is_empty() { Arc::from("[ended]") } else { Arc::from(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_belong_to_it_and_numbers_are_given_again() {
        let own = std::process::id();
        let mut family = Family::of(own);
        let (child, stranger) = (1 << 23, (1 << 23) + 1);
        family.note(child, &What::Forked { parent: own });
        assert_eq!(family.command(child), family.command(own));
        assert!(Arc::ptr_eq(&family.space(child).unwrap(), &family.space(own).unwrap()));
        family.note(child, &What::Executed);
        assert_eq!(family.command(child).map(|command| &**command), Some("[ended]"));
        family.note(child, &What::Forked { parent: child });
        assert!(family.command(child).is_some(), "a thread of its own");
        family.note(child, &What::Forked { parent: stranger });
        assert_eq!(family.command(child), None);
        assert!(family.space(stranger).is_none());
    }

    #[test]
    fn nobody_has_no_family() {
        assert!(Family::of(1 << 23).members.is_empty());
    }
}
