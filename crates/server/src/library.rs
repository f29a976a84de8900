//! The builds of one home folder: those that are here and those that can be obtained.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::account::{Account, AccountError};
use crate::archive;
use crate::build::{Build, BuildError};
use crate::client_tool::{self, Failure};
use crate::disk::sha256_of;
use crate::recipe::{BuildRequest, Catalogue, Provider, Recipe, RecipeError, Source};
use crate::source::{CompileError, Shelf};
use crate::suggestion::alternatives;

/// The file in a build's folder that says what it was made from. It is written last.
const MARK: &str = ".basecase-artifact";

/// What was to be downloaded, from where, with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its coordinates at the provider.
    pub coordinates: String,
    /// Who offers it.
    pub provider: String,
    /// The program that downloads, or what to install where it is missing.
    pub client: String,
    /// What else gives the same version, as a clause.
    pub other: String,
}

/// Why a build could not be obtained.
#[derive(Debug, Error)]
pub enum ObtainError {
    /// The program that downloads is missing.
    #[error("cannot download {} from {}: {reason}\nhint: install {}, or use {}", artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Client {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// What is missing.
        reason: String,
    },
    /// The download failed.
    #[error("{} could not download {} from {}:\n{tail}\nhint: check that {} reaches its registry or mirror, or use {}", artifact.client, artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Download {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// The program's last lines.
        tail: String,
    },
    /// The artifact is not the one of the recipe.
    #[error("{} from {} has SHA-256 {actual}, but its recipe says {expected}\nhint: the registry or a mirror gave another file; clear the cache of {} and try again, or use {}", artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Checksum {
        /// What was downloaded.
        artifact: Box<Artifact>,
        /// What was found.
        actual: String,
        /// What the recipe says.
        expected: String,
    },
    /// The artifact is for another kind of machine.
    #[error("{} from {} runs on {wanted}, and this machine is {actual}\nhint: use an installed build with path:DIR", artifact.coordinates, artifact.provider)]
    Platform {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// Where it runs.
        wanted: String,
        /// What this machine is.
        actual: String,
    },
    /// The artifact could not be unpacked.
    #[error("cannot unpack {artifact}: {source}\nhint: check the free space of {}", folder.display())]
    Unpack {
        /// The artifact.
        artifact: String,
        /// Where to.
        folder: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// A file or folder of the home could not be used.
    #[error("cannot use {}: {source}\nhint: set BASECASE_HOME to a folder that this user may write to", path.display())]
    Home {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The tree is no usable build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It could not be made from source.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The user that servers run as is missing or kept out.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The request names no recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
}

/// One line of the list of builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The recipe.
    pub recipe: Recipe,
    /// Whether the build is here already.
    pub is_here: bool,
}

/// The home of basecase's own files when the user names none: `BASECASE_HOME`; else `/var/lib/basecase` for root, since servers
/// run as another user then, which cannot search root's own folder; else `basecase` in the user's cache folder.
pub fn default_home() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = variable("BASECASE_HOME") {
        return home;
    }
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/basecase");
    }
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("basecase")
}

/// The builds of one home folder.
#[derive(Debug)]
pub struct Library {
    catalogue: Catalogue,
    builds: PathBuf,
    account: Option<Account>,
}

impl Library {
    /// The library under `home`, which is made when it is missing.
    ///
    /// # Errors
    /// When the home cannot be made, or, of root, the user that servers run as.
    pub fn open(home: &Path) -> Result<Self, ObtainError> {
        let builds = home.join("builds");
        fs::create_dir_all(&builds).map_err(|source| ObtainError::Home { path: builds.clone(), source })?;
        let builds =
            builds.canonicalize().map_err(|source| ObtainError::Home { path: builds.clone(), source })?;
        let account = Account::for_servers()?;
        if let Some(account) = &account {
            account.check_reaches(&builds)?;
        }
        Ok(Library { catalogue: Catalogue::embedded()?, builds, account })
    }

    /// The user as which servers run; `None` means the caller.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Every recipe, and whether its build is here.
    pub fn list(&self) -> Vec<Listing> {
        let recipes = self.catalogue.recipes().iter();
        recipes.map(|recipe| Listing { recipe: recipe.clone(), is_here: self.is_here(recipe) }).collect()
    }

    /// Finds where each request comes from: builds from source by their label, others as [`Catalogue::resolve`] says.
    ///
    /// # Errors
    /// When a request names neither.
    pub fn resolve(&self, requests: &[BuildRequest]) -> Result<Vec<Source>, ObtainError> {
        let shelf = Shelf::read(&self.builds);
        let of_recipes = |rest: &[BuildRequest]| self.catalogue.resolve(rest);
        Ok(shelf.resolve(requests, of_recipes)?)
    }

    /// The build of `source`: downloaded, checked and unpacked when it is not here yet. `notify` is called with a line for
    /// people before anything that takes long.
    ///
    /// # Errors
    /// When the download, its checksum, unpacking or the first run of the program fails.
    pub fn obtain(&self, source: &Source, notify: &mut dyn FnMut(&str)) -> Result<Build, ObtainError> {
        let tree = match (&source.recipe, &source.request) {
            (Some(recipe), _) => {
                if !self.is_here(recipe) {
                    self.fetch(recipe, notify)?;
                }
                self.builds.join(recipe.folder())
            }
            (None, BuildRequest::Path(path)) => path.clone(),
            (None, request @ BuildRequest::Version { dbms, version, .. }) => {
                let shelf = Shelf::read(&self.builds);
                if let Some(build) = shelf.find(request)? {
                    return build.open(&shelf.place(build), self.account());
                }
                return Err(RecipeError::Version {
                    dbms: *dbms,
                    version: version.clone(),
                    near: "resolve the request first".into(),
                }
                .into());
            }
        };
        Ok(Build::at(&tree, &source.request, source.recipe.as_ref(), self.account.as_ref())?)
    }

    pub(crate) fn builds(&self) -> &Path {
        &self.builds
    }

    /// The names of all providers, some more than once.
    pub(crate) fn provider_names(&self) -> Vec<String> {
        self.catalogue.recipes().iter().map(|recipe| recipe.provider.name.clone()).collect()
    }

    fn is_here(&self, recipe: &Recipe) -> bool {
        let mark = fs::read_to_string(self.builds.join(recipe.folder()).join(MARK));
        mark.is_ok_and(|text| text.trim() == recipe.sha256)
    }

    fn fetch(&self, recipe: &Recipe, notify: &mut dyn FnMut(&str)) -> Result<(), ObtainError> {
        let artifact = || {
            Box::new(Artifact {
                coordinates: recipe.artifact.clone(),
                provider: recipe.provider.name.clone(),
                client: recipe.provider.client.clone(),
                other: self.other_ways(recipe),
            })
        };
        let actual = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        if recipe.provider.platform != actual {
            let wanted = recipe.provider.platform.clone();
            return Err(ObtainError::Platform { artifact: artifact(), wanted, actual });
        }
        let home = |source| ObtainError::Home { path: self.builds.clone(), source };
        let _turn = self.take_turn(recipe).map_err(home)?;
        if self.is_here(recipe) {
            return Ok(());
        }
        let prefix = format!(".partial-{}-", recipe.folder());
        self.sweep(&prefix);
        // In the same folder as the result, so that the last step is a rename and a kill leaves no half tree.
        let work = tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.builds).map_err(home)?;
        let (downloads, unpacked) = (work.path().join("download"), work.path().join("unpacked"));
        fs::create_dir(&downloads).map_err(home)?;
        fs::create_dir(&unpacked).map_err(home)?;

        let Provider { name, client, .. } = &recipe.provider;
        notify(&format!("downloading {} from {name} with {client}", recipe.artifact));
        let file = client_tool::download(recipe, &downloads).map_err(|failure| match failure {
            Failure::Missing(reason) => {
                let client = client_tool::to_install(client).to_owned();
                ObtainError::Client { artifact: Box::new(Artifact { client, ..*artifact() }), reason }
            }
            Failure::Failed(tail) => ObtainError::Download { artifact: artifact(), tail },
        })?;
        let sha256 = sha256_of(&file).map_err(home)?;
        if sha256 != recipe.sha256 {
            let expected = recipe.sha256.clone();
            return Err(ObtainError::Checksum { artifact: artifact(), actual: sha256, expected });
        }
        notify(&format!("unpacking {}", recipe.artifact));
        let tree = archive::unpack(&file, &recipe.provider.unpack, &unpacked)
            .and_then(|tree| fs::write(tree.join(MARK), format!("{sha256}\n")).map(|()| tree))
            .map_err(|source| ObtainError::Unpack {
                artifact: recipe.artifact.clone(),
                folder: self.builds.clone(),
                source,
            })?;
        self.place(recipe, &tree, work.path())
    }

    /// Waits until no other basecase fetches this build. The turn ends when the file is dropped.
    fn take_turn(&self, recipe: &Recipe) -> io::Result<File> {
        let path = self.builds.join(format!(".{}.lock", recipe.folder()));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    }

    /// Removes what a killed basecase left half done. Whoever has the turn is the only one at work on it.
    fn sweep(&self, prefix: &str) {
        for entry in fs::read_dir(&self.builds).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Moves the finished tree to its place.
    fn place(&self, recipe: &Recipe, tree: &Path, work: &Path) -> Result<(), ObtainError> {
        let place = self.builds.join(recipe.folder());
        let mut last = None;
        for _ in 0..3 {
            match fs::rename(tree, &place) {
                Ok(()) => return Ok(()),
                // Another basecase was faster.
                Err(_) if self.is_here(recipe) => return Ok(()),
                // A build of an older recipe is in the way.
                Err(error) => {
                    last = Some(error);
                    let _ = fs::rename(&place, work.join("old"));
                }
            }
        }
        let source = last.unwrap_or_else(|| io::Error::other("cannot rename"));
        Err(ObtainError::Home { path: place, source })
    }

    /// What else gives this version, as a clause.
    fn other_ways(&self, recipe: &Recipe) -> String {
        let same = self.catalogue.recipes().iter().filter(|other| {
            other.dbms == recipe.dbms
                && other.version == recipe.version
                && other.provider.name != recipe.provider.name
        });
        let mut ways: Vec<String> =
            same.map(|other| format!("{}:{}:{}", other.dbms, other.version, other.provider.name)).collect();
        ways.push("an installed build with path:DIR".into());
        alternatives(&ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> (tempfile::TempDir, Library) {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let library = Library::open(home.path()).unwrap();
        (home, library)
    }

    #[test]
    fn an_empty_library_has_nothing_here() {
        let (_home, library) = library();
        assert!(library.list().iter().all(|line| !line.is_here));
    }

    #[test]
    fn a_mark_of_another_artifact_does_not_count() {
        let (_home, library) = library();
        let recipe = library.list()[0].recipe.clone();
        let folder = library.builds.join(recipe.folder());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(MARK), "0000\n").unwrap();
        assert!(!library.is_here(&recipe));
        fs::write(folder.join(MARK), format!("{}\n", recipe.sha256)).unwrap();
        assert!(library.is_here(&recipe));
    }

    #[test]
    fn other_ways_name_the_other_provider() {
        let (_home, library) = library();
        let sources = library.resolve(&["postgres:17.11".parse().unwrap()]).unwrap();
        let ways = library.other_ways(sources[0].recipe.as_ref().unwrap());
        assert_eq!(ways, "postgres:17.11:maven or an installed build with path:DIR");
    }

    #[test]
    fn sha256_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "abc").unwrap();
        assert!(sha256_of(&path).unwrap().starts_with("ba7816bf8f01cfea"));
    }
}
