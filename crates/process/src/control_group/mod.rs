//! Control groups that limit the memory of servers.
//!
//! [`ControlGroups`] finds out once how this process may make them: as folders of the hierarchy, below or beside the group
//! that it is in, or through systemd. A [`ControlGroup`] is that of one server, which is in it from its first instruction
//! on. It is removed when it is dropped, and also if this process is killed.

mod error;
mod folders;
mod hierarchy;
mod scope;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use basecase_probe::ServerGroup;

use crate::account::Account;
pub use error::ControlGroupError;
use folders::Folders;
use hierarchy::{Place, places};
use scope::{Manager, Scope};

/// Where the kernel shows its hierarchies.
const ROOT: &str = "/sys/fs/cgroup";
/// The limit of a group that is made to find out whether that is possible.
const TRIAL_BYTES: u64 = 64 << 20;

/// How this process makes control groups for servers.
#[derive(Debug, Clone)]
pub struct ControlGroups(Arc<Way>);

#[derive(Debug)]
enum Way {
    /// As folders in this place.
    Folders(Place),
    /// As scopes of systemd.
    Scopes(Manager),
}

/// The control group of one server.
#[derive(Debug)]
pub struct ControlGroup {
    kind: Kind,
    limit_bytes: u64,
}

#[derive(Debug)]
enum Kind {
    Folders(Folders),
    Scope(Scope),
}

impl ControlGroups {
    /// Finds out how to make control groups for servers that run under `account`, by making one. `device` is the block device
    /// under their data, whose reads are counted for each group.
    ///
    /// # Errors
    /// If there is no way, with the reason of each; or if servers could swap.
    pub fn find(account: Option<&Account>, device: Option<&str>) -> Result<Self, ControlGroupError> {
        let told = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let device = device.and_then(basecase_probe::device_number);
        ControlGroups::find_in(Path::new(ROOT), &told, account, device.as_deref())
    }

    /// The same for hierarchies below `root`, with the text of `/proc/self/cgroup`.
    fn find_in(
        root: &Path,
        told: &str,
        account: Option<&Account>,
        device: Option<&str>,
    ) -> Result<Self, ControlGroupError> {
        let places = places(root, told, device);
        if places.is_empty() {
            return Err(ControlGroupError::NoController);
        }
        let mut reasons = Vec::new();
        for place in places {
            let path = place.memory().to_path_buf();
            let way = ControlGroups(Arc::new(Way::Folders(place)));
            match way.try_out(account) {
                Ok(()) => return Ok(way),
                Err(error @ ControlGroupError::Swap) => return Err(error),
                Err(error) => reasons.push(format!("{}: {}", path.display(), error.reason())),
            }
        }
        for manager in Manager::available(account) {
            match manager.try_out(TRIAL_BYTES) {
                Ok(()) => return Ok(ControlGroups(Arc::new(Way::Scopes(manager)))),
                Err(reason) => reasons.push(format!("{}: {reason}", manager.name())),
            }
        }
        Err(ControlGroupError::Unusable { reasons: reasons.join("\n  ") })
    }

    /// Makes the control group of one server, with a limit on its memory.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn make(&self, limit_bytes: u64) -> Result<ControlGroup, ControlGroupError> {
        let kind = match self.0.as_ref() {
            Way::Folders(place) => Kind::Folders(Folders::make(place, limit_bytes)?),
            Way::Scopes(manager) => Kind::Scope(Scope::new(manager.clone(), limit_bytes)),
        };
        Ok(ControlGroup { kind, limit_bytes })
    }

    /// Runs a program that does nothing in a group.
    fn try_out(&self, account: Option<&Account>) -> Result<(), ControlGroupError> {
        let group = self.make(TRIAL_BYTES)?;
        let mut command = crate::process::command(Path::new("/bin/sh"), account);
        command.args(["-c", ":"]);
        let failed = |source| ControlGroupError::Group { path: PathBuf::from("/bin/sh"), source };
        let status = group.enclose(command).and_then(|mut command| command.status()).map_err(failed)?;
        if status.success() { Ok(()) } else { Err(failed(io::Error::other(status.to_string()))) }
    }
}

impl ControlGroup {
    /// The limit on its memory, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The command, which runs in the group from its first instruction on. What is set besides program, arguments and
    /// environment must be set afterwards.
    ///
    /// # Errors
    /// If the group is gone, or must not be used.
    pub fn enclose(&self, mut command: Command) -> io::Result<Command> {
        match &self.kind {
            Kind::Folders(folders) => folders.join(&mut command).map(|()| command),
            Kind::Scope(scope) => Ok(scope.enclose(&command)),
        }
    }

    /// What the kernel counts for the group, in which the process `pid` is; `None` if it is not known.
    pub fn counts(&self, pid: u32) -> Option<ServerGroup> {
        match &self.kind {
            Kind::Folders(folders) => Some(folders.counts()),
            Kind::Scope(_) => hierarchy::group_of(Path::new(ROOT), pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A hierarchy that is nothing but folders.
    fn fake(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn place_of(root: &Path, told: &str) -> Place {
        places(root, told, Some("254:0")).into_iter().next().unwrap()
    }

    fn made_in(root: &Path, told: &str) -> (ControlGroup, Vec<PathBuf>) {
        let groups = ControlGroups(Arc::new(Way::Folders(place_of(root, told))));
        let group = groups.make(400 << 20).unwrap();
        let Kind::Folders(folders) = &group.kind else { panic!("it is a scope") };
        let paths = folders.paths().to_vec();
        (group, paths)
    }

    const UNIFIED: [(&str, &str); 4] = [
        ("cgroup.controllers", "cpu io memory\n"),
        ("a/cgroup.controllers", "io memory\n"),
        ("a/cgroup.subtree_control", "io memory\n"),
        ("a/b/cgroup.controllers", "memory\n"),
    ];
    const LEGACY: [(&str, &str); 2] = [("memory/a/tasks", ""), ("blkio/a/tasks", "")];

    #[test]
    fn a_group_of_version_2_lies_beside_that_of_this_process_and_never_swaps() {
        let root = fake(&UNIFIED);
        let (group, paths) = made_in(root.path(), "0::/a/b\n");
        let [folder] = paths.as_slice() else { panic!("{paths:?}") };
        assert_eq!(folder.parent(), Some(root.path().join("a").as_path()));
        assert_eq!(fs::read_to_string(folder.join("memory.max")).unwrap(), "419430400");
        assert_eq!(fs::read_to_string(folder.join("memory.swap.max")).unwrap(), "0");
        assert_eq!(group.limit_bytes(), 400 << 20);
        assert_eq!(group.counts(1).unwrap().limit_bytes(), Some(400 << 20));
    }

    #[test]
    fn a_group_of_version_1_lies_below_that_of_this_process_and_counts_reads() {
        let root = fake(&LEGACY);
        let (group, paths) = made_in(root.path(), "7:blkio:/a\n4:hugetlb,memory:/a\n0::/\n");
        let [memory, reads] = paths.as_slice() else { panic!("{paths:?}") };
        assert_eq!(memory.parent(), Some(root.path().join("memory/a").as_path()));
        assert_eq!(fs::read_to_string(memory.join("memory.limit_in_bytes")).unwrap(), "419430400");
        assert_eq!(fs::read_to_string(memory.join("memory.swappiness")).unwrap(), "0");
        let rule = fs::read_to_string(reads.join("blkio.throttle.read_iops_device")).unwrap();
        assert!(rule.starts_with("254:0 "), "without a rule, kernels do not count: {rule}");
        assert_eq!(group.counts(1).unwrap().limit_bytes(), Some(400 << 20));
    }

    #[test]
    fn a_program_is_in_its_groups_from_its_first_instruction_on() {
        let root = fake(&LEGACY);
        let (group, paths) = made_in(root.path(), "7:blkio:/a\n4:memory:/a\n");
        paths.iter().for_each(|path| fs::write(path.join("cgroup.procs"), "").unwrap());
        // It finds its own groups already entered.
        let script = format!("cat {}/cgroup.procs {}/cgroup.procs", paths[0].display(), paths[1].display());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]);
        let output = group.enclose(command).unwrap().output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "00", "0 stands for the process that writes it");
    }

    #[test]
    fn a_process_that_cannot_join_does_not_run() {
        let root = fake(&LEGACY);
        let (group, _) = made_in(root.path(), "7:blkio:/a\n4:memory:/a\n");
        let error = group.enclose(Command::new("/bin/true")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn groups_go_with_their_owner_and_when_it_is_killed() {
        let root = fake(&LEGACY);
        let told = "7:blkio:/a\n4:memory:/a\n";
        let (group, paths) = made_in(root.path(), told);
        // In a real hierarchy the files go with their folder.
        let empty = |paths: &[PathBuf]| {
            for entry in paths.iter().flat_map(|path| fs::read_dir(path).unwrap()) {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
        };
        empty(&paths);
        drop(group);
        assert!(!paths.iter().any(|path| path.exists()));

        let (group, paths) = made_in(root.path(), told);
        empty(&paths);
        let Kind::Folders(folders) = group.kind else { panic!("it is a scope") };
        // This is what the kernel does when a process is killed.
        folders.abandon();
        assert!(!paths.iter().any(|path| path.exists()));
    }

    #[test]
    fn what_may_not_be_written_is_told_with_each_reason_and_what_to_do() {
        let root = fake(&[("memory", "a file, so that nothing can be made below it")]);
        let error = ControlGroups::find_in(root.path(), "4:memory:/a\n", None, None).unwrap_err().to_string();
        assert!(error.contains("memory: ") && error.contains("systemd-run"), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
        let none = ControlGroups::find_in(root.path(), "3:cpuset:/\n", None, None).unwrap_err();
        assert!(matches!(none, ControlGroupError::NoController), "{none}");
    }

    #[test]
    fn servers_get_real_groups_where_the_hierarchy_may_be_written() {
        let Ok(groups) = ControlGroups::find(None, None) else { return };
        let group = groups.make(TRIAL_BYTES).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cat /proc/self/cgroup"]);
        let output = group.enclose(command).unwrap().output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains("/basecase-"), "{told}");
        if let Kind::Folders(folders) = &group.kind {
            let paths = folders.paths().to_vec();
            assert_eq!(group.counts(1).unwrap().limit_bytes(), Some(TRIAL_BYTES));
            assert_eq!(group.counts(1).unwrap().kills(), Some(0));
            drop(group);
            assert!(!paths.iter().any(|path| path.exists()));
        }
    }
}
