//! A tree of Debian packages, including every library down to the C library, whose programs run from where the tree lies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{self, Apt, Archives, Package};
use crate::archive;
use crate::checksum::sha256_of;
use crate::client_tool::{Failure, run};
use crate::form::Form;
use crate::pattern::below;
use crate::recipe::Packages;

/// A tree that has been unpacked.
#[derive(Debug)]
pub(crate) struct Got {
    /// The name of the server program.
    pub server: String,
    /// The SHA-256 of the server program as in its package, before it was patched.
    pub sha256: String,
    /// Every package.
    pub packages: Vec<Package>,
}

/// Packages of one suite that can be downloaded.
#[derive(Debug)]
pub(crate) struct Offer<'p> {
    apt: Apt,
    packages: &'p Packages,
    plan: Vec<Package>,
}

impl<'p> Offer<'p> {
    /// Asks the archives for `packages`. `state` is a new folder for what apt remembers.
    pub(crate) fn ask(packages: &'p Packages, state: &Path) -> Result<Self, Failure> {
        let archives = Archives::of_system()?;
        let apt = Apt::open(state, &archives.of_suite(&packages.suite)?)?;
        let mut offer = Offer { apt, packages, plan: Vec::new() };
        offer.plan = offer.apt.plan_with_dependencies(&offer.with_dependencies())?;
        let over = offer.apt.plan(&offer.over(), &packages.suite)?;
        // A package from `over` replaces one of the same name.
        offer.plan.retain(|package| over.iter().all(|other| other.name != package.name));
        offer.plan.extend(over);
        Ok(offer)
    }

    /// The package of the server.
    pub(crate) fn server(&self) -> Result<&Package, Failure> {
        let server = self.plan.iter().find(|package| package.name == self.packages.server);
        server.ok_or_else(|| {
            let Packages { server, suite, .. } = self.packages;
            Failure::Failed(format!("  {suite} has no package {server}"))
        })
    }

    fn with_dependencies(&self) -> Vec<&str> {
        let Packages { server, with, over, .. } = self.packages;
        let mut names: Vec<&str> = with.iter().map(String::as_str).collect();
        if !over.contains(server) {
            names.push(server);
        }
        // The system may lack it.
        names.push("patchelf");
        names
    }

    fn over(&self) -> Vec<&str> {
        self.packages.over.iter().map(String::as_str).collect()
    }

    /// Downloads everything and unpacks it into the empty folder `tree`, whose programs will run once it lies at `place`.
    pub(crate) fn unpack(self, form: &Form, tree: &Path, place: &Path) -> Result<Got, Failure> {
        let mut files = self.apt.download_with_dependencies(&self.with_dependencies())?;
        files.extend(self.apt.download(&self.over(), Some(&self.packages.suite))?);
        for file in &files {
            apt::unpack(file, tree)?;
            // Downloads are half as large as the tree, and are not needed any more.
            let _ = fs::remove_file(file);
        }
        let failed = |error: io::Error| Failure::Failed(format!("  {}: {error}", tree.display()));
        for folder in &form.leave_out {
            match fs::remove_dir_all(tree.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        let bin = tree.join(form.bin.as_deref().unwrap_or("bin"));
        let server = form.relink.first().cloned().unwrap_or_default();
        let sha256 = sha256_of(&bin.join(&server)).map_err(|error| {
            Failure::Failed(format!("  no {server} came with {}: {error}", self.packages.server))
        })?;
        let programs: Vec<PathBuf> =
            form.relink.iter().map(|name| bin.join(name)).filter(|path| path.exists()).collect();
        relink(&programs, form, tree, place)?;
        archive::finish(form, tree).map_err(failed)?;
        Ok(Got { server, sha256, packages: self.plan })
    }
}

/// Patches `programs` to use the loader and the libraries of the tree, once it lies at `place`. This works however old the
/// system's own C library is, and processes keep their usual names.
fn relink(programs: &[PathBuf], form: &Form, tree: &Path, place: &Path) -> Result<(), Failure> {
    let folders = library_folders(tree);
    let loader = folders.iter().find_map(|folder| loader_in(tree, folder));
    let loader = loader.ok_or_else(|| Failure::Failed("  its packages contain no dynamic loader".into()))?;
    let path_of = |top: &Path| {
        folders.iter().map(|folder| top.join(folder).display().to_string()).collect::<Vec<_>>().join(":")
    };
    let patch = |file: &Path, is_program: bool| {
        let mut command = Command::new(tree.join(&loader));
        command.args(["--library-path", &path_of(tree)]).arg(tree.join("usr/bin/patchelf"));
        if is_program {
            command.arg("--set-interpreter").arg(place.join(&loader));
        }
        // A RUNPATH would not apply to the dependencies of libraries and plugins; an RPATH does.
        command.args(["--force-rpath", "--set-rpath", &path_of(place)]).arg(file);
        run("patchelf", &mut command).map(drop)
    };
    programs.iter().try_for_each(|program| patch(program, true))?;
    let libraries = folders.iter().flat_map(|folder| files_in(&tree.join(folder)));
    libraries
        .filter(|(name, _)| form.relink_libraries.iter().any(|pattern| below(pattern, name).is_some()))
        .try_for_each(|(_, library)| patch(&library, false))
}

/// Names and paths of the files in `folder`, without links.
fn files_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

/// The library folders: from bookworm on most are below `usr`, but not all.
pub(crate) fn library_folders(tree: &Path) -> Vec<String> {
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["usr/lib", "lib"].map(|folder| format!("{folder}/{triplet}"));
    folders.into_iter().filter(|folder| tree.join(folder).is_dir()).collect()
}

/// The loader in `folder`, relative to the top of the tree.
fn loader_in(tree: &Path, folder: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(tree.join(folder)).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let name = names.find(|name| name.starts_with("ld-linux-") && name.contains(".so."))?;
    // It may be a link to the file beside it.
    let path = tree.join(folder).join(name).canonicalize().ok()?;
    path.strip_prefix(tree.canonicalize().ok()?).ok().map(Path::to_path_buf)
}
