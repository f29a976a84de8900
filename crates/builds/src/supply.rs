//! Puts shared libraries that a build needs and the system lacks beside the build. They come from packages of the system's
//! own suite; nothing is installed, and root is not needed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use basecase_process::Account;

use crate::apt::{self, Apt, Archives};
use crate::client_tool::Failure;
use crate::layout::SUPPLIED;
use crate::loader;

/// Gets the libraries that the programs of `tree` lack, and what those need in turn, until nothing is missing or nothing
/// more can be fetched. `scratch` is an empty folder for downloads.
pub(crate) fn supply(
    tree: &Path,
    account: Option<&Account>,
    scratch: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("  {}: {error}", tree.join(SUPPLIED).display()));
    let mut missing = loader::missing_in(tree, account);
    if missing.is_empty() {
        // Another basecase was faster.
        return Ok(());
    }
    notify(&format!("this system lacks {}; getting it with apt-get", names(&missing)));
    let apt = Apt::open(&scratch.join("apt"), Archives::of_system()?.of_host())?;
    while !missing.is_empty() {
        for library in &missing {
            let unpacked = scratch.join(library);
            fs::create_dir(&unpacked).map_err(failed)?;
            let package = fetch(&apt, library, &unpacked)?;
            let Some(file) = find(&unpacked, library) else {
                return Err(Failure::Failed(format!("  the package {package} does not contain {library}")));
            };
            put(&file, &tree.join(SUPPLIED), library).map_err(failed)?;
            notify(&format!("put {library} from {package} into {}", tree.join(SUPPLIED).display()));
        }
        let still = loader::missing_in(tree, account);
        if !still.is_disjoint(&missing) {
            return Err(Failure::Failed(format!("  the loader does not accept {}", names(&still))));
        }
        missing = still;
    }
    Ok(())
}

/// The file names of libraries, joined for messages.
pub(crate) fn names(libraries: &BTreeSet<String>) -> String {
    libraries.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Unpacks the package of `library` into `folder`, and returns the package's name.
fn fetch(apt: &Apt, library: &str, folder: &Path) -> Result<String, Failure> {
    let package = loader::debian_package(library)
        .ok_or_else(|| Failure::Failed(format!("  basecase knows no package with {library}")))?;
    // Packages were renamed in Debian's transition to 64-bit time stamps.
    let names = [package.clone(), format!("{package}t64")];
    let mut last = None;
    for name in names {
        match apt.download(&[&name], None) {
            Ok(files) => {
                files.iter().try_for_each(|file| apt::unpack(file, folder))?;
                return Ok(name);
            }
            Err(failure) => last = last.or(Some(failure)),
        }
    }
    Err(last.unwrap_or_else(|| Failure::Failed(format!("  no package {package}"))))
}

/// The library in an unpacked package. It may have been renamed together with its package, e.g. `libaio.so.1t64`.
fn find(folder: &Path, library: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        let metadata = path.symlink_metadata().ok()?;
        if metadata.is_dir() {
            return find(&path, library);
        }
        let name = path.file_name()?.to_str()?;
        let is_it = name == library || name.strip_suffix("t64") == Some(library);
        // A link points to the file beside it.
        if is_it { path.canonicalize().ok().filter(|path| path.starts_with(folder)) } else { None }
    })
}

/// Copies `file` into `folder` as `name`, atomically.
fn put(file: &Path, folder: &Path, name: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755))?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    fs::copy(file, new.path())?;
    fs::set_permissions(new.path(), PermissionsExt::from_mode(0o644))?;
    new.persist(folder.join(name))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_library_is_found_behind_its_link_and_under_its_newer_name() {
        let package = tempfile::tempdir().unwrap();
        let top = package.path().canonicalize().unwrap();
        let folder = top.join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libnuma.so.1.0.0"), "numa").unwrap();
        symlink("libnuma.so.1.0.0", folder.join("libnuma.so.1")).unwrap();
        fs::write(folder.join("libaio.so.1t64.0.2"), "aio").unwrap();
        symlink("libaio.so.1t64.0.2", folder.join("libaio.so.1t64")).unwrap();
        let place = tempfile::tempdir().unwrap();
        let place = place.path().join(SUPPLIED);
        for (library, text) in [("libnuma.so.1", "numa"), ("libaio.so.1", "aio")] {
            put(&find(&top, library).unwrap(), &place, library).unwrap();
            assert_eq!(fs::read_to_string(place.join(library)).unwrap(), text);
        }
        assert_eq!(find(&top, "libncurses.so.5"), None);
    }
}
