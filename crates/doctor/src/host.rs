//! The machine as findings see it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use basecase_probe::{device_under, filesystem_under, memory_limit_bytes, parse_field, usable_cores};

/// A machine: the kernel's files below a root, and what only system calls tell.
#[derive(Debug)]
pub struct Host {
    pub(crate) root: PathBuf,
    /// Where servers' data will lie.
    pub(crate) data: PathBuf,
    /// The folders in which programs are looked for, as in the variable `PATH`.
    pub(crate) path: OsString,
    /// The same for the programs that compile.
    pub(crate) compilers_path: OsString,
    /// How many processors this process may use.
    pub(crate) usable_cores: u32,
    /// What control groups let this process have of the memory, in bytes, if that is less than all.
    pub(crate) memory_limit_bytes: Option<u64>,
    /// The disk under the data, or why it is not known.
    pub(crate) space: Result<Space, String>,
    /// The file system under the data.
    pub(crate) filesystem: Option<String>,
    /// The block device under the data.
    pub(crate) device: Option<String>,
}

/// The size of a file system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    /// What a user without privileges may still write, in bytes.
    pub(crate) free_bytes: u64,
    pub(crate) all_bytes: u64,
}

impl Host {
    /// This machine, for servers whose data will lie in `data`, which need not exist yet.
    pub fn here(data: &Path) -> Self {
        Host {
            root: PathBuf::from("/"),
            data: data.to_path_buf(),
            path: std::env::var_os("PATH").unwrap_or_default(),
            compilers_path: basecase_process::PATH.into(),
            usable_cores: usable_cores(),
            memory_limit_bytes: memory_limit_bytes(),
            space: space(existing(data)).map_err(|error| error.to_string()),
            filesystem: filesystem_under(data),
            device: device_under(data),
        }
    }

    /// What a file says, without white space around it; the path begins below the root.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The names in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The first folder of servers' data that is there: the data's own, or one above it.
    pub(crate) fn data_above(&self) -> &Path {
        existing(&self.data)
    }

    /// Whether this is a virtual machine.
    pub(crate) fn is_guest(&self) -> bool {
        let processors = self.read("proc/cpuinfo").unwrap_or_default();
        let flags = parse_field(&processors, "flags").unwrap_or_default();
        flags.split_whitespace().any(|flag| flag == "hypervisor")
    }

    /// The program of this name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        program_in(&self.path, name)
    }

    /// The program of this name among those that compile.
    pub(crate) fn compiler(&self, name: &str) -> Option<PathBuf> {
        program_in(&self.compilers_path, name)
    }
}

fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(runs)
}

/// The path itself, or the nearest folder above it that is there.
fn existing(path: &Path) -> &Path {
    let found = path.ancestors().find(|folder| folder.exists());
    // The last ancestor of a relative path is empty, and means the current folder.
    found.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn space(path: &Path) -> io::Result<Space> {
    let told = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(told.f_frsize);
    Ok(Space { free_bytes: bytes(told.f_bavail), all_bytes: bytes(told.f_blocks) })
}

/// Machines that tests invent.
#[cfg(test)]
pub(crate) mod invented {
    use super::*;

    /// A machine without any file or program, of which system calls tell nothing unusual. It goes with its folder.
    pub(crate) fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let host = Host {
            root: folder.path().to_path_buf(),
            data: folder.path().join("data"),
            path: folder.path().join("bin").into(),
            compilers_path: folder.path().join("bin").into(),
            usable_cores: 8,
            memory_limit_bytes: None,
            space: Ok(Space { free_bytes: 60 << 30, all_bytes: 100 << 30 }),
            filesystem: Some("ext4".to_owned()),
            device: Some("vda".to_owned()),
        };
        (folder, host)
    }

    /// Puts programs that do nothing into its folder of programs.
    pub(crate) fn install(host: &Host, names: &[&str]) {
        let bin = host.root.join("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in names {
            let program = bin.join(name);
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_is_not_there_yet_lies_below_what_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(existing(&folder.path().join("a/b")), folder.path());
        assert_eq!(existing(Path::new("no-such-folder/b")), Path::new("."));
        let host = Host::here(&folder.path().join("a/b"));
        let Space { free_bytes, all_bytes } = host.space.unwrap();
        assert!(free_bytes <= all_bytes && all_bytes > 0);
    }

    #[test]
    fn programs_can_be_run() {
        let (_folder, host) = invented::host(&[("bin/data", "no program")]);
        assert_eq!((host.program("data"), host.program("make")), (None, None));
        invented::install(&host, &["make"]);
        assert!(host.program("make").is_some() && host.compiler("make").is_some());
    }
}
