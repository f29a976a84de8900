//! Fetches one build that is not in the home yet.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use basecase_model::Version;
use basecase_process::make_open;

use crate::archive;
use crate::catalogue::Catalogue;
use crate::checksum::sha256_of;
use crate::client_tool::{self, Failure};
use crate::home::HomeError;
use crate::layout::layout_of;
use crate::manifest::{GotPackages, Manifest};
use crate::obtain_error::{Artifact, ObtainError};
use crate::private_tree::Offer;
use crate::programs;
use crate::recipe::{BuildRequest, Packages, Recipe};
use crate::suggestion::alternatives;
use crate::work_folder::WorkFolder;

/// A build to fetch.
#[derive(Debug)]
pub(crate) struct Fetch<'f> {
    /// The folder of all builds.
    pub builds: &'f Path,
    /// How to fetch it.
    pub recipe: &'f Recipe,
    /// What the user asked for.
    pub request: &'f BuildRequest,
    /// The alternatives, for hints.
    pub catalogue: &'f Catalogue,
}

impl Fetch<'_> {
    /// Downloads, checks and unpacks in `work`. Returns the recipe of the result, which may be another version if it came
    /// from packages.
    pub(crate) fn run(&self, work: &WorkFolder, notify: &mut dyn FnMut(&str)) -> Result<Recipe, ObtainError> {
        self.check_platform()?;
        let (download, tree) = (work.path().join("download"), work.path().join("tree"));
        for folder in [&download, &tree] {
            fs::create_dir(folder).map_err(|source| self.home(source))?;
        }
        let (got, manifest) = match &self.recipe.packages {
            None => self.fetch_file(&download, &tree, notify)?,
            Some(packages) => self.fetch_packages(packages, &download, &tree, notify)?,
        };
        programs::record(&tree).map_err(|error| self.unpacking(io::Error::other(error)))?;
        manifest
            .write(&tree)
            .and_then(|()| archive::open_to_all(&tree))
            .map_err(|source| self.unpacking(source))?;
        self.place(&tree, &got, work)?;
        Ok(got)
    }

    /// The archive of the source that the recipe names, in the folder `sources`: downloaded and checked if it is not there yet.
    pub(crate) fn archive(
        &self,
        sources: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, ObtainError> {
        self.check_platform()?;
        let place = sources.join(format!("{}.tar.gz", self.recipe.folder()));
        let expected = self.recipe.sha256.clone().unwrap_or_default();
        if sha256_of(&place).is_ok_and(|actual| actual == expected) {
            return Ok(place);
        }
        let unusable = |source| self.home(source);
        make_open(sources).map_err(unusable)?;
        // In the same folder, so that the last step is a rename.
        let work = tempfile::Builder::new().prefix(".partial-").tempdir_in(sources).map_err(unusable)?;
        let (download, tree) = (work.path().join("download"), work.path().join("tree"));
        fs::create_dir(&download).and_then(|()| fs::create_dir(&tree)).map_err(unusable)?;
        let mut file = self.download(&download, notify)?;
        if !self.recipe.form.parts.is_empty() {
            archive::unpack(&file, &self.recipe.form, &tree).map_err(|source| self.unpacking(source))?;
            let inner = fs::read_dir(&tree).map_err(unusable)?.next().transpose().map_err(unusable)?;
            file = inner.map_or(file, |inner| inner.path());
        }
        let actual = sha256_of(&file).map_err(unusable)?;
        if actual != expected {
            return Err(ObtainError::Checksum { artifact: self.artifact(), actual, expected });
        }
        fs::rename(&file, &place).and_then(|()| archive::open_to_all(&place)).map_err(unusable)?;
        Ok(place)
    }

    fn download(&self, folder: &Path, notify: &mut dyn FnMut(&str)) -> Result<PathBuf, ObtainError> {
        let Recipe { artifact, provider, .. } = self.recipe;
        notify(&format!("downloading {artifact} from {} with {}", provider.name, provider.client));
        client_tool::download(&provider.client, artifact, folder, self.builds, notify)
            .map_err(|failure| self.failure(failure))
    }

    fn fetch_file(
        &self,
        download: &Path,
        tree: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(Recipe, Manifest), ObtainError> {
        let artifact = &self.recipe.artifact;
        let file = self.download(download, notify)?;
        let actual = sha256_of(&file).map_err(|source| self.home(source))?;
        let expected = self.recipe.sha256.clone().unwrap_or_default();
        if actual != expected {
            return Err(ObtainError::Checksum { artifact: self.artifact(), actual, expected });
        }
        notify(&format!("unpacking {artifact}"));
        archive::unpack(&file, &self.recipe.form, tree).map_err(|source| self.unpacking(source))?;
        Ok((self.recipe.clone(), Manifest { sha256: actual, got: None }))
    }

    fn fetch_packages(
        &self,
        packages: &Packages,
        download: &Path,
        tree: &Path,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(Recipe, Manifest), ObtainError> {
        let failure = |failure| self.failure(failure);
        let Packages { server, suite, .. } = packages;
        notify(&format!("asking {suite} for {server} with apt-get"));
        let offer = Offer::ask(packages, download).map_err(failure)?;
        let package = offer.server().map_err(failure)?;
        let artifact = format!("{server} {} ({suite})", package.version);
        let version = self.accept(&package.upstream(), suite)?;
        let place = self.builds.join(Recipe { version: version.clone(), ..self.recipe.clone() }.folder());
        notify(&format!("downloading and unpacking {artifact} and its libraries"));
        let got = offer.unpack(&self.recipe.form, tree, &place).map_err(failure)?;
        let program = tree.join("bin").join(&got.server);
        let imprint = layout_of(self.recipe.dbms).imprint(&program, "").unwrap_or_default();
        let manifest = Manifest {
            sha256: got.sha256,
            got: Some(GotPackages {
                artifact,
                place,
                flags: imprint.optimisation(),
                compiler: imprint.compiler,
                packages: got
                    .packages
                    .iter()
                    .map(|package| format!("{} {}", package.name, package.version))
                    .collect(),
            }),
        };
        let wanted = Recipe { version, ..self.recipe.clone() };
        let got = wanted.found(manifest.clone()).unwrap_or(wanted);
        Ok((got, manifest))
    }

    /// The suite's version, if it is the requested one or belongs to the requested branch.
    fn accept(&self, actual: &str, suite: &str) -> Result<Version, ObtainError> {
        let version = actual.parse::<Version>().ok();
        let branch = match self.request {
            BuildRequest::Version { version, .. } => version.strip_suffix(".x"),
            BuildRequest::Path(_) | BuildRequest::Commit(_) => None,
        };
        let is_wanted = |version: &Version| match branch.and_then(|branch| branch.parse::<Version>().ok()) {
            Some(branch) => version.is_of(&branch),
            None => *version == self.recipe.version,
        };
        if let Some(version) = version.clone().filter(is_wanted) {
            return Ok(version);
        }
        let wanted = self.recipe.version.major();
        let is_near = version.is_some_and(|version| version.is_of(&wanted)) && branch.is_none();
        let hint = if is_near {
            let Recipe { dbms, provider, .. } = self.recipe;
            format!("{dbms}:{wanted}.x:{} takes whichever {wanted} it has", provider.name)
        } else {
            format!("use {}", self.other_ways())
        };
        Err(ObtainError::Moved {
            dbms: self.recipe.dbms,
            suite: suite.to_owned(),
            actual: actual.to_owned(),
            wanted: branch.map_or_else(|| self.recipe.version.to_string(), |branch| format!("{branch}.x")),
            hint,
        })
    }

    fn check_platform(&self) -> Result<(), ObtainError> {
        let actual = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        if self.recipe.provider.platform == actual {
            return Ok(());
        }
        let wanted = self.recipe.provider.platform.clone();
        Err(ObtainError::Platform { artifact: self.artifact(), wanted, actual })
    }

    /// Moves the finished tree to its place.
    fn place(&self, tree: &Path, got: &Recipe, work: &WorkFolder) -> Result<(), ObtainError> {
        let place = self.builds.join(got.folder());
        let is_here = || Manifest::read(&place).and_then(|manifest| got.found(manifest)).is_some();
        let mut last = None;
        for _ in 0..3 {
            match fs::rename(tree, &place) {
                Ok(()) => return Ok(()),
                // Another basecase was faster.
                Err(_) if is_here() => return Ok(()),
                // A build of an older recipe lies there.
                Err(error) => {
                    last = Some(error);
                    let _ = fs::rename(&place, work.path().join("old"));
                }
            }
        }
        let source = last.unwrap_or_else(|| io::Error::other("cannot rename"));
        Err(HomeError::Unusable { path: place, source }.into())
    }

    fn failure(&self, failure: Failure) -> ObtainError {
        match failure {
            Failure::Missing(reason) => {
                let client = client_tool::to_install(&self.recipe.provider.client).to_owned();
                ObtainError::Client { artifact: Box::new(Artifact { client, ..*self.artifact() }), reason }
            }
            Failure::Failed(tail) => ObtainError::Download { artifact: self.artifact(), tail },
        }
    }

    fn home(&self, source: io::Error) -> ObtainError {
        HomeError::Unusable { path: self.builds.to_path_buf(), source }.into()
    }

    fn unpacking(&self, source: io::Error) -> ObtainError {
        let artifact = self.recipe.artifact.clone();
        ObtainError::Unpack { artifact, folder: self.builds.to_path_buf(), source }
    }

    fn artifact(&self) -> Box<Artifact> {
        Box::new(Artifact {
            coordinates: self.recipe.artifact.clone(),
            provider: self.recipe.provider.name.clone(),
            client: self.recipe.provider.client.clone(),
            other: self.other_ways(),
        })
    }

    /// What else provides this version, as a clause.
    fn other_ways(&self) -> String {
        let Recipe { dbms, version, provider, .. } = self.recipe;
        let same = self.catalogue.recipes().iter().filter(|other| {
            other.dbms == *dbms && other.version == *version && other.provider.name != provider.name
        });
        let mut ways: Vec<String> =
            same.map(|other| format!("{dbms}:{version}:{}", other.provider.name)).collect();
        ways.push("an installed build with path:DIR".into());
        alternatives(&ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(request: &str, check: impl FnOnce(&Fetch<'_>)) {
        let catalogue = Catalogue::embedded().unwrap();
        let request: BuildRequest = request.parse().unwrap();
        let recipe = catalogue.resolve(std::slice::from_ref(&request)).unwrap().remove(0).recipe.unwrap();
        check(&Fetch { builds: Path::new("/b"), recipe: &recipe, request: &request, catalogue: &catalogue });
    }

    #[test]
    fn other_ways_name_the_other_provider() {
        with("postgres:17.11", |fetch| {
            let ways = fetch.other_ways();
            assert!(ways.starts_with("postgres:17.11:maven"), "{ways}");
            assert!(ways.ends_with(" or an installed build with path:DIR"), "{ways}");
        });
    }

    #[test]
    fn a_suite_that_moved_on_gives_its_version_to_those_who_ask_for_the_branch() {
        with("mariadb:10.11.18", |fetch| {
            assert_eq!(fetch.accept("10.11.18", "bookworm").unwrap().to_string(), "10.11.18");
            let message = fetch.accept("10.11.98", "bookworm").unwrap_err().to_string();
            assert_eq!(
                message,
                "bookworm now has mariadb 10.11.98, not 10.11.18\nhint: mariadb:10.11.x:debian takes whichever 10.11 it has"
            );
        });
        with("mariadb:10.11.x:debian", |fetch| {
            assert_eq!(fetch.accept("10.11.98", "bookworm").unwrap().to_string(), "10.11.98");
            let message = fetch.accept("11.8.1", "bookworm").unwrap_err().to_string();
            assert!(message.contains("not 10.11.x\nhint: use an installed build"), "{message}");
        });
    }
}
