//! The builds of one home: those that are in it, and those that can be fetched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use basecase_client::sqlite;
use basecase_model::Dbms;
use basecase_process::Account;

use crate::binary::code_and_data;
use crate::build::{Build, BuildError};
use crate::catalogue::Catalogue;
use crate::client_tool::Failure;
use crate::commit_request::CommitRequest;
use crate::fetch::Fetch;
use crate::home::{Home, HomeError};
use crate::layout::Tree;
use crate::loader::{self, KnownLibraries};
use crate::manifest::Manifest;
use crate::obtain_error::{Attempt, ObtainError};
use crate::programs;
use crate::recipe::{BuildRequest, Recipe, RecipeError, Source};
use crate::setup::Setup;
use crate::source::{BuildCache, Builder, SourceBuild, SourceOrder, Toolchain};
use crate::supply;
use crate::tool::Tool;
use crate::work_folder::WorkFolder;

/// One line in the list of builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The recipe.
    pub recipe: Recipe,
    /// Whether the build is in the home already.
    pub is_here: bool,
    /// Shared libraries that the build needs and this system lacks: according to its loader if the build is here, otherwise
    /// according to the recipe.
    pub missing: Vec<String>,
}

/// The builds of one home.
#[derive(Debug)]
pub struct Library {
    catalogue: Catalogue,
    builds: PathBuf,
    account: Option<Account>,
    /// The folders of builds whose programs have been compared with their checksums.
    verified: Mutex<BTreeSet<PathBuf>>,
}

/// What has to be done before a build is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// It is downloaded.
    Download,
    /// It is compiled, after its source is downloaded if need be.
    Compile,
}

impl Library {
    /// Opens the library in `home`, and creates it if it is missing.
    ///
    /// # Errors
    /// If the home cannot be created or could be somebody else's, or, as root, if the account for servers cannot be created.
    pub fn open(home: &Path) -> Result<Self, ObtainError> {
        let Home { builds, account } = Home::open(home)?;
        Ok(Library { catalogue: Catalogue::embedded()?, builds, account, verified: Mutex::default() })
    }

    /// The account that servers run under; `None` means the caller's.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The names of all providers, some more than once.
    fn provider_names(&self) -> Vec<String> {
        self.catalogue.recipes().iter().map(|recipe| recipe.provider.name.clone()).collect()
    }

    /// Every recipe and whether its build is here, sorted by dbms and version; preferred providers come first.
    pub fn list(&self) -> Vec<Listing> {
        let known = KnownLibraries::of_system();
        let catalogue = self.catalogue();
        let compiled = BuildCache::read(&self.builds);
        let mut listings: Vec<Listing> = catalogue
            .recipes()
            .iter()
            .map(|recipe| {
                if recipe.is_source() {
                    return self.listing_of_source(recipe, &compiled);
                }
                let is_here = self.found(recipe).is_some();
                let tree = self.builds.join(recipe.folder());
                let missing = if !is_here {
                    loader::lacking(&recipe.needs, &known)
                } else if programs::check_owners(&tree).is_ok() {
                    loader::missing_in(&tree, self.account())
                } else {
                    // Asking its loader would run its code.
                    BTreeSet::new()
                };
                Listing { recipe: recipe.clone(), is_here, missing: missing.into_iter().collect() }
            })
            .collect();
        listings.sort_by(|left, right| {
            (left.recipe.dbms, &left.recipe.version).cmp(&(right.recipe.dbms, &right.recipe.version))
        });
        listings
    }

    /// The line of a recipe whose artifact is source, which is here once it has been compiled.
    fn listing_of_source(&self, recipe: &Recipe, compiled: &BuildCache) -> Listing {
        let build = recipe.sha256.as_ref().and_then(|sha256| compiled.of_archive(sha256));
        let mut recipe = recipe.clone();
        if let Some(build) = build {
            recipe.compiler = Some(build.compiler.clone());
            recipe.flags = Some(build.flags.clone());
        }
        Listing { recipe, is_here: build.is_some(), missing: Vec::new() }
    }

    /// Finds the source of each request: builds from source by their label, others by [`Catalogue::resolve`].
    ///
    /// # Errors
    /// If a request matches neither, or is a library of SQLite, and this program cannot load any.
    pub fn resolve(&self, requests: &[BuildRequest]) -> Result<Vec<Source>, ObtainError> {
        requests.iter().try_for_each(|request| check_loader(request.dbms()))?;
        let resolve_rest = |rest: &[BuildRequest]| self.catalogue().resolve(rest);
        Ok(BuildCache::read(&self.builds).resolve(requests, resolve_rest)?)
    }

    /// The build of `source`. It is downloaded, checked and unpacked if it is not here yet, and gets the shared libraries
    /// that the system lacks. `notify` gets a line for the user before each long operation.
    ///
    /// # Errors
    /// If the download, its checksum, unpacking or the first run of the program fails.
    pub fn obtain(&self, source: &Source, notify: &mut dyn FnMut(&str)) -> Result<Build, ObtainError> {
        match (&source.recipe, &source.request) {
            (Some(recipe), request) if recipe.is_source() => self.compile_recipe(recipe, request, notify),
            (Some(recipe), request) => {
                let recipe = match self.found(recipe) {
                    Some(recipe) => recipe,
                    None => self.fetch(recipe, request, notify)?,
                };
                let tree = self.builds.join(recipe.folder());
                self.verify(&tree)?;
                self.supply(&recipe, notify);
                let mut build = Build::at(&tree, request, Some(&recipe), self.account())?;
                if let Some(got) = Manifest::read(&tree).and_then(|manifest| manifest.got) {
                    build.facts.details.insert("packages".into(), got.packages.join(", "));
                }
                Ok(build)
            }
            (None, BuildRequest::Commit(commit)) => self.obtain_commit(commit, notify),
            (None, BuildRequest::Path(path)) => Ok(Build::at(path, &source.request, None, self.account())?),
            (None, request @ BuildRequest::Version { dbms, version, .. }) => {
                let cache = BuildCache::read(&self.builds);
                if let Some(build) = cache.find(request)? {
                    self.verify(&cache.place(build))?;
                    return Ok(build.open(&cache.place(build), self.account())?);
                }
                Err(RecipeError::Version {
                    dbms: *dbms,
                    version: version.clone(),
                    near: "resolve the request first".into(),
                }
                .into())
            }
        }
    }

    /// What has to be done before the build of `source` is here; `None` if it is.
    ///
    /// # Errors
    /// If the source or a program that compiles it is missing.
    pub fn pending(&self, source: &Source) -> Result<Option<Pending>, ObtainError> {
        let cache = BuildCache::read(&self.builds);
        Ok(match (&source.recipe, &source.request) {
            (Some(recipe), _) if recipe.is_source() => {
                (!self.listing_of_source(recipe, &cache).is_here).then_some(Pending::Compile)
            }
            (Some(recipe), _) => self.found(recipe).is_none().then_some(Pending::Download),
            (None, BuildRequest::Commit(commit)) => {
                let (builds, reserved) = (self.builds.clone(), self.provider_names());
                let toolchain = Toolchain::system(self.account().cloned());
                let builder = Builder { builds, toolchain, reserved, labels: true };
                (!builder.has(&SourceOrder::of_commit(commit)?)?).then_some(Pending::Compile)
            }
            (None, BuildRequest::Path(_) | BuildRequest::Version { .. }) => None,
        })
    }

    /// The build that `order` describes, compiled if it is not here yet. `notify` gets a line for the user before each long
    /// operation, and every minute while it runs.
    ///
    /// # Errors
    /// If the source or a program that compiles is missing, or a step of the build fails.
    pub fn compile(
        &self,
        order: &SourceOrder,
        notify: &mut dyn FnMut(&str),
    ) -> Result<SourceBuild, ObtainError> {
        check_loader(order.request.dbms())?;
        let mut order = order.clone();
        let is_of_recipe = matches!(order.request, BuildRequest::Version { dbms, .. } if dbms.is_embedded());
        if order.source.is_none() && is_of_recipe {
            let resolved = self.catalogue.resolve(std::slice::from_ref(&order.request))?;
            if let Some(recipe) = resolved.into_iter().find_map(|source| source.recipe) {
                order.source = Some(self.archive(&recipe, &order.request, notify)?);
            }
        }
        Ok(self.builder(true, notify).make(&order, notify)?)
    }

    /// Compiles a commit, unless that is done already. That it does not compile is remembered.
    ///
    /// # Errors
    /// If this is not for what it compiles: a full disk, a missing compiler.
    pub fn attempt(
        &self,
        commit: &CommitRequest,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Attempt, ObtainError> {
        check_loader(commit.dbms)?;
        match self.builder(true, notify).attempt(&SourceOrder::of_commit(commit)?, notify) {
            Ok((made, is_new)) => {
                let tree = Tree::find(&BuildCache::read(&self.builds).place(&made));
                let imprint = tree.and_then(|tree| code_and_data(&tree.bin().join(tree.server())).ok());
                Ok(Attempt::Built { imprint, is_new })
            }
            Err(error) if error.is_of_source() => Ok(Attempt::Broken(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes builds of commits, those that were used longest ago first, until the others take at most so many bytes. What was made or used
    /// since `began` stays.
    pub fn trim(&self, most_bytes: u64, began: SystemTime) {
        BuildCache::read(&self.builds).trim(most_bytes, began);
    }

    /// The build of a commit, compiled if need be.
    fn obtain_commit(
        &self,
        commit: &CommitRequest,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Build, ObtainError> {
        let made = self.builder(true, notify).make(&SourceOrder::of_commit(commit)?, notify)?;
        let place = BuildCache::read(&self.builds).place(&made);
        self.verify(&place)?;
        Ok(made.open(&place, self.account())?)
    }

    /// The build of a recipe whose artifact is source, compiled if it is not here yet.
    fn compile_recipe(
        &self,
        recipe: &Recipe,
        request: &BuildRequest,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Build, ObtainError> {
        let (dbms, version) = (recipe.dbms, recipe.version.to_string());
        let order = SourceOrder {
            request: BuildRequest::Version { dbms, version, provider: None },
            source: Some(self.archive(recipe, request, notify)?),
            setup: Setup::Default,
            label: None,
            patches: Vec::new(),
            configure: Vec::new(),
            names_commit: false,
            is_incremental: false,
            jobs: None,
        };
        let made = self.builder(false, notify).make(&order, notify)?;
        let place = BuildCache::read(&self.builds).place(&made);
        self.verify(&place)?;
        let mut build = Build::at(&place, request, Some(recipe), self.account())?;
        made.complete(&mut build.facts);
        build.facts.provider.clone_from(&recipe.provider.name);
        build.facts.artifact.clone_from(&recipe.artifact);
        Ok(build)
    }

    /// The archive of a recipe's source, as a text that an order may have.
    fn archive(
        &self,
        recipe: &Recipe,
        request: &BuildRequest,
        notify: &mut dyn FnMut(&str),
    ) -> Result<String, ObtainError> {
        let fetch = Fetch { builds: &self.builds, recipe, request, catalogue: &self.catalogue };
        let path = fetch.archive(&self.builds.with_file_name("sources"), notify)?;
        Ok(path.display().to_string())
    }

    /// What compiles, with the system's toolchain.
    fn builder(&self, labels: bool, notify: &mut dyn FnMut(&str)) -> Builder {
        let mut toolchain = Toolchain::system(self.account().cloned());
        // If this fails, the builder reports what is missing.
        if toolchain.find("make").is_none()
            && let Ok(make) = Tool::get("make", &self.builds, notify)
        {
            toolchain = toolchain.and_in(make.folder());
        }
        Builder { builds: self.builds.clone(), toolchain, reserved: self.provider_names(), labels }
    }

    /// The builds from source that are here, sorted by dbms, version and label.
    pub fn source_builds(&self) -> Vec<SourceBuild> {
        BuildCache::read(&self.builds).builds()
    }

    /// Verifies, once in each process, that the programs in the folder `tree` are those that were unpacked there.
    fn verify(&self, tree: &Path) -> Result<(), BuildError> {
        let is_verified = self.verified.lock().is_ok_and(|verified| verified.contains(tree));
        if !is_verified {
            programs::verify(tree)?;
            if let Ok(mut verified) = self.verified.lock() {
                verified.insert(tree.to_path_buf());
            }
        }
        Ok(())
    }

    /// The recipes, and the builds here that they do not describe: the versions that came from packages.
    fn catalogue(&self) -> Catalogue {
        let mut catalogue = self.catalogue.clone();
        let packaged = self.catalogue.recipes().iter().filter(|recipe| recipe.packages.is_some());
        for recipe in packaged {
            for entry in fs::read_dir(&self.builds).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if let Some(version) = recipe.version_in(&name)
                    && let Some(got) = self.found(&Recipe { version, ..recipe.clone() })
                {
                    catalogue.add(got);
                }
            }
        }
        catalogue
    }

    /// The recipe of the build that is here; `None` if there is none. A build from packages stays as it is, whatever its
    /// suite has by now.
    fn found(&self, recipe: &Recipe) -> Option<Recipe> {
        recipe.found(Manifest::read(&self.builds.join(recipe.folder()))?)
    }

    fn fetch(
        &self,
        recipe: &Recipe,
        request: &BuildRequest,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Recipe, ObtainError> {
        let fetch = Fetch { builds: &self.builds, recipe, request, catalogue: &self.catalogue };
        let work = WorkFolder::claim(&self.builds, &recipe.folder())
            .map_err(|source| HomeError::Unusable { path: self.builds.clone(), source })?;
        match self.found(recipe) {
            // Another basecase was faster.
            Some(recipe) => Ok(recipe),
            None => fetch.run(&work, notify),
        }
    }

    /// Puts the shared libraries that the system lacks beside a build, as far as packages have them. The program's first run
    /// names any that are still missing.
    fn supply(&self, recipe: &Recipe, notify: &mut dyn FnMut(&str)) {
        let tree = self.builds.join(recipe.folder());
        if loader::missing_in(&tree, self.account()).is_empty() {
            return;
        }
        let supplied = WorkFolder::claim(&self.builds, &recipe.folder())
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.builds.display())))
            .and_then(|work| supply::supply(&tree, self.account(), work.path(), notify))
            .and_then(|()| programs::record(&tree).map_err(|error| Failure::Failed(error.to_string())));
        if let Err(Failure::Missing(reason) | Failure::Failed(reason)) = supplied {
            notify(&format!("cannot get the missing libraries: {}", reason.trim_start()));
        }
    }
}

/// Refuses builds that are libraries where this program cannot load any, before they are got or compiled.
fn check_loader(dbms: Dbms) -> Result<(), BuildError> {
    if dbms.is_embedded() { Ok(sqlite::Library::check_loader()?) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::GotPackages;

    fn library() -> (tempfile::TempDir, Library) {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let library = Library::open(home.path()).unwrap();
        (home, library)
    }

    fn recipe(library: &Library, request: &str) -> Recipe {
        library.resolve(&[request.parse().unwrap()]).unwrap().remove(0).recipe.unwrap()
    }

    #[test]
    fn an_empty_library_has_nothing_here_and_is_in_order() {
        let (_home, library) = library();
        let listings = library.list();
        assert!(listings.iter().all(|line| !line.is_here));
        assert!(listings.is_sorted_by_key(|line| (line.recipe.dbms, line.recipe.version.clone())));
    }

    #[test]
    fn a_mark_of_another_artifact_does_not_count() {
        let (_home, library) = library();
        let recipe = recipe(&library, "postgres:17.11");
        let folder = library.builds.join(recipe.folder());
        fs::create_dir(&folder).unwrap();
        Manifest { sha256: "0000".into(), got: None }.write(&folder).unwrap();
        assert_eq!(library.found(&recipe), None);
        Manifest { sha256: recipe.sha256.clone().unwrap(), got: None }.write(&folder).unwrap();
        assert_eq!(library.found(&recipe), Some(recipe));
    }

    #[test]
    fn what_packages_gave_is_known_by_its_mark() {
        let (_home, library) = library();
        let place = |folder: &str, artifact: &str| {
            let place = library.builds.join(folder);
            fs::create_dir(&place).unwrap();
            let got =
                GotPackages { artifact: artifact.into(), place: place.clone(), ..GotPackages::default() };
            Manifest { sha256: "ab".into(), got: Some(got) }.write(&place).unwrap();
        };
        assert_eq!(recipe(&library, "mariadb:10.11.x").sha256, None);
        place("mariadb-10.11.99-debian", "mariadb-server-core 1:10.11.99-0+deb12u1 (bookworm)");
        // It is of another suite, for which there is no recipe, so it cannot be requested.
        place("mariadb-10.11.100-debian", "mariadb-server-core 1:10.11.100-1 (potato)");
        let newest = recipe(&library, "mariadb:10.11.x");
        assert_eq!(newest.version.to_string(), "10.11.99");
        assert_eq!(newest.sha256.as_deref(), Some("ab"));
        assert_eq!(newest.artifact, "mariadb-server-core 1:10.11.99-0+deb12u1 (bookworm)");
        let here: Vec<Listing> = library.list().into_iter().filter(|line| line.is_here).collect();
        assert_eq!(here.len(), 1);
        assert_eq!(recipe(&library, "mariadb:10.11.99:debian"), here[0].recipe);
    }
}
