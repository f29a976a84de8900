//! Where in the hierarchies of control groups a server's group may lie: see cgroups(7).

use std::fs;
use std::path::{Path, PathBuf};

use basecase_probe::{Hierarchy, ServerGroup};

/// A place for groups: the folder that they are made in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hierarchy: Hierarchy,
    /// The folder for memory first; in version 1, that for input and output may follow.
    pub(super) folders: Vec<PathBuf>,
    /// The number of the device under the data, if its reads can be counted.
    pub(super) device: Option<String>,
}

impl Place {
    pub(super) fn memory(&self) -> &Path {
        self.folders.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// The places in the order in which to try them, from the text of `/proc/self/cgroup`.
pub(super) fn places(root: &Path, told: &str, device: Option<&str>) -> Vec<Place> {
    let device = device.map(str::to_owned);
    match group_for(told, "memory") {
        Some(group) => {
            let memory = within(&root.join("memory"), group);
            let io = group_for(told, "blkio").filter(|_| device.is_some());
            let io = io.map(|group| within(&root.join("blkio"), group)).filter(|folder| folder.is_dir());
            let device = device.filter(|_| io.is_some());
            let folders = [memory].into_iter().chain(io).collect();
            vec![Place { hierarchy: Hierarchy::Legacy, folders, device }]
        }
        None => unified_places(root, told, device),
    }
}

/// In version 2, only the root has processes and groups that are limited: so a group lies beside that of this process, or
/// further up.
fn unified_places(root: &Path, told: &str, device: Option<String>) -> Vec<Place> {
    let Some(group) = group_for(told, "") else { return Vec::new() };
    let group = Path::new(group.trim_start_matches('/'));
    let own = root.join(group);
    let mut places = Vec::new();
    for folder in group.ancestors().map(|group| root.join(group)) {
        // The kernel enables no controller below a group that has processes, as this one has.
        let may_have_groups = folder != own || lists(&folder.join("cgroup.subtree_control"), "memory");
        if may_have_groups && lists(&folder.join("cgroup.controllers"), "memory") {
            let device = device.clone().filter(|_| lists(&folder.join("cgroup.controllers"), "io"));
            places.push(Place { hierarchy: Hierarchy::Unified, folders: vec![folder], device });
        }
    }
    places
}

/// Whether a file of a group names a controller.
pub(super) fn lists(file: &Path, controller: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|word| word == controller))
}

/// The group that a process is in, as systemd made it; `None` if it is not one of version 2 with a limit on memory.
pub(super) fn group_of(root: &Path, pid: u32) -> Option<ServerGroup> {
    let told = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let folder = within(root, group_for(&told, "")?);
    let group = ServerGroup::new(Hierarchy::Unified, &folder, None);
    group.limit_bytes().map(|_| group)
}

/// The group for a controller, or that of version 2 if that is empty.
fn group_for<'a>(told: &'a str, controller: &str) -> Option<&'a str> {
    told.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|other| other == controller).then_some(group)
    })
}

/// The folder of a group. In a container, the mount may show only what lies below its own group.
fn within(mount: &Path, group: &str) -> PathBuf {
    let folder = mount.join(group.trim_start_matches('/'));
    if folder.is_dir() { folder } else { mount.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_group_with_the_controller_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, controllers: &str| {
            fs::create_dir_all(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("cgroup.controllers"), controllers).unwrap();
        };
        folder("", "cpu memory io\n");
        folder("user", "memory\n");
        folder("user/shell", "pids memory\n");
        let found = places(root.path(), "0::/user/shell\n", Some("8:0"));
        let told: Vec<_> = found.iter().map(|place| (place.memory(), place.device.as_deref())).collect();
        assert_eq!(told, [(root.path().join("user").as_path(), None), (&*root.path().join(""), Some("8:0"))]);
    }

    #[test]
    fn a_container_shows_its_own_group_as_the_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("memory")).unwrap();
        let found = places(root.path(), "4:memory:/docker/1234\n", None);
        assert_eq!(found[0].memory(), root.path().join("memory"));
        assert!(places(root.path(), "garbage\n1:cpu\n", None).is_empty());
    }
}
