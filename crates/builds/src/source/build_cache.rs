//! The builds from source that are here. A manifest in each folder says what the build was made from and how.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use basecase_model::{BuildFacts, Dbms, Version, optimisation_flag};
use basecase_process::Account;
use serde::{Deserialize, Serialize};

use super::error::CompileError;
use super::label::ANY;
use crate::build::{Build, BuildError};
use crate::recipe::{BuildRequest, RecipeError, Source};
use crate::suggestion::alternatives;

/// The manifest. It is written last: a folder without it is not a build.
const MANIFEST: &str = ".basecase-source.toml";
/// Digits of the hash in a folder's name.
const HASH_DIGITS: usize = 12;

/// A build from source: what it was made from and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceBuild {
    /// The dbms.
    pub dbms: Dbms,
    /// The version as the source states it, e.g. `17.6` or `19devel`.
    pub version: String,
    /// The name that tells it from other builds of its version, e.g. `o2nofp`; empty for what a recipe describes, which is asked
    /// for by its version.
    pub label: String,
    /// SHA-256 over everything that the build depends on: source, arguments, compiler.
    pub hash: String,
    /// The source: file name and checksum, or repository and commit.
    pub artifact: String,
    /// E.g. `gcc 12.2.0`.
    pub compiler: String,
    /// The flags that the compiler was given.
    pub flags: String,
    /// The arguments of configure or CMake.
    pub arguments: Vec<String>,
    /// The patches that the source was given: file names and checksums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<String>,
    /// Whether it was made for a candidate that is a commit, and may be removed to make room for others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_candidate: bool,
}

impl SourceBuild {
    /// How other commands ask for it: `postgres:17.6:o2nofp`.
    pub fn request(&self) -> BuildRequest {
        let (version, provider) = (self.version.clone(), Some(self.label.clone()));
        BuildRequest::Version { dbms: self.dbms, version, provider }
    }

    fn is_labelled(&self) -> bool {
        !self.label.is_empty()
    }

    /// Compiler and optimisation flag, e.g. `gcc 12.2.0 -O2`.
    pub fn toolchain(&self) -> String {
        let optimisation = optimisation_flag(&self.flags);
        optimisation.map_or_else(|| self.compiler.clone(), |flag| format!("{} {flag}", self.compiler))
    }

    /// The name of its folder, and of its log without `.log`.
    pub(crate) fn folder(&self) -> String {
        let hash = self.hash.get(..HASH_DIGITS).unwrap_or(&self.hash);
        format!("{}-{}-source-{hash}", self.dbms, self.version)
    }

    /// Opens the build, which lies in the folder `place`.
    ///
    /// # Errors
    /// If its programs do not run, or the account for servers cannot reach them.
    pub(crate) fn open(&self, place: &Path, account: Option<&Account>) -> Result<Build, BuildError> {
        let mut build = Build::at(place, &self.request(), None, account)?;
        self.complete(&mut build.facts);
        Ok(build)
    }

    /// Adds the facts that the build's own programs cannot report.
    pub(crate) fn complete(&self, facts: &mut BuildFacts) {
        facts.provider = ANY.to_owned();
        facts.artifact.clone_from(&self.artifact);
        facts.sha256 = Some(self.hash.clone());
        facts.compiler.get_or_insert_with(|| self.compiler.clone());
        facts.flags.get_or_insert_with(|| self.flags.clone());
        facts.details.entry("configure".into()).or_insert_with(|| self.arguments.join(" "));
        if !self.patches.is_empty() {
            facts.details.insert("patches".into(), self.patches.join(", "));
        }
    }

    /// Writes the manifest, which makes the finished tree `folder` count as this build.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), CompileError> {
        let broken =
            |error: toml::ser::Error| CompileError::Data { file: MANIFEST.into(), reason: error.to_string() };
        let text = toml::to_string(self).map_err(broken)?;
        let path = folder.join(MANIFEST);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, PermissionsExt::from_mode(0o644)))
            .map_err(CompileError::file(&path))
    }

    fn read(folder: &Path) -> Option<SourceBuild> {
        let build: SourceBuild = toml::from_str(&fs::read_to_string(folder.join(MANIFEST)).ok()?).ok()?;
        // A copy under another name is not that build, because its programs name their folder.
        let is_in_place = folder.file_name().is_some_and(|name| *name == *build.folder());
        is_in_place.then_some(build)
    }
}

/// Whether `version` is `wanted`, or belongs to that branch if `wanted` is one, such as `17.x`.
pub(crate) fn is_wanted(version: &str, wanted: &str) -> bool {
    match wanted.strip_suffix(".x") {
        None => version == wanted,
        Some(branch) => {
            let branch = branch.parse::<Version>();
            branch.is_ok_and(|branch| numbers_of(version).is_some_and(|own| own.is_of(&branch)))
        }
    }
}

/// The numbers that `version` begins with: `17.6`, and `19` of `19devel`.
pub(crate) fn numbers_of(version: &str) -> Option<Version> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version.get(..end)?.parse().ok()
}

/// All builds from source of one library.
#[derive(Debug)]
pub(crate) struct BuildCache {
    builds: PathBuf,
    here: Vec<SourceBuild>,
}

impl BuildCache {
    /// Reads those in the folder `builds`, sorted by dbms, version and label.
    pub(crate) fn read(builds: &Path) -> Self {
        let folders = fs::read_dir(builds).into_iter().flatten().flatten();
        let mut here: Vec<SourceBuild> =
            folders.filter_map(|entry| SourceBuild::read(&entry.path())).collect();
        here.sort_by_key(|build| (build.dbms, numbers_of(&build.version), build.label.clone()));
        BuildCache { builds: builds.to_path_buf(), here }
    }

    /// Every build that has a label.
    pub(crate) fn builds(self) -> Vec<SourceBuild> {
        self.here.into_iter().filter(SourceBuild::is_labelled).collect()
    }

    /// The build of the source archive with this checksum that a recipe describes.
    pub(crate) fn of_archive(&self, sha256: &str) -> Option<&SourceBuild> {
        self.here.iter().find(|build| !build.is_labelled() && build.artifact.ends_with(sha256))
    }

    /// The folder of `build`.
    pub(crate) fn place(&self, build: &SourceBuild) -> PathBuf {
        self.builds.join(build.folder())
    }

    /// Remembers that a build is used now.
    pub(crate) fn mark_used(&self, build: &SourceBuild) {
        let manifest = fs::File::options().write(true).open(self.place(build).join(MANIFEST));
        // Where it may not be written, it seems older, and goes earlier.
        let _ = manifest.and_then(|manifest| manifest.set_modified(SystemTime::now()));
    }

    /// Removes builds of candidates that are commits, those that were used longest ago first, until the others take at most so many bytes.
    /// What was made or used since `began` stays.
    pub(crate) fn trim(&self, most_bytes: u64, began: SystemTime) {
        let of_candidates = self.here.iter().filter(|build| build.is_of_candidate);
        let mut places: Vec<(SystemTime, u64, PathBuf)> = of_candidates
            .map(|build| self.place(build))
            .map(|place| (used_at(&place), size_of(&place), place))
            .collect();
        places.sort();
        let mut bytes: u64 = places.iter().map(|(_, bytes, _)| bytes).sum();
        for (used, size, place) in places {
            if bytes <= most_bytes || used >= began {
                break;
            }
            // The manifest first: without it, what is left counts as no build.
            let removed = fs::remove_file(place.join(MANIFEST)).and_then(|()| fs::remove_dir_all(&place));
            bytes -= if removed.is_ok() { size } else { 0 };
        }
    }

    /// The build made from exactly these inputs.
    pub(crate) fn with_hash(&self, hash: &str) -> Option<&SourceBuild> {
        self.here.iter().find(|build| build.hash == hash)
    }

    /// The build that `request` names by its label, or by the word `source` if it is the only one of its version; `None` if
    /// it names none.
    ///
    /// # Errors
    /// If `source` is ambiguous.
    pub(crate) fn find(&self, request: &BuildRequest) -> Result<Option<&SourceBuild>, RecipeError> {
        let BuildRequest::Version { dbms, version, provider: Some(word) } = request else { return Ok(None) };
        let is_meant = |build: &&SourceBuild| {
            build.dbms == *dbms && build.is_labelled() && is_wanted(&build.version, version)
        };
        let same: Vec<&SourceBuild> = self.here.iter().filter(is_meant).collect();
        if word != ANY {
            // For a branch, this is the newest, which comes last.
            return Ok(same.into_iter().rfind(|build| build.label == *word));
        }
        match same.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            several => Err(RecipeError::Provider {
                dbms: *dbms,
                version: version.clone(),
                provider: word.clone(),
                near: format!("choose {}", alternatives(&names(several))),
            }),
        }
    }

    /// Finds the source of each request: builds from source here, the others by `resolve_rest`.
    ///
    /// # Errors
    /// If a request matches neither.
    pub(crate) fn resolve(
        &self,
        requests: &[BuildRequest],
        resolve_rest: impl FnOnce(&[BuildRequest]) -> Result<Vec<Source>, RecipeError>,
    ) -> Result<Vec<Source>, RecipeError> {
        let found = requests.iter().map(|request| self.find(request)).collect::<Result<Vec<_>, _>>()?;
        let others: Vec<BuildRequest> = requests
            .iter()
            .zip(&found)
            .filter(|(_, build)| build.is_none())
            .map(|(request, _)| request.clone())
            .collect();
        let mut others = resolve_rest(&others).map_err(|error| self.complete(error))?.into_iter();
        // By its own name, whatever the user called it: two names for one build must not become two results.
        let own = |build: &SourceBuild| Some(Source { request: build.request(), recipe: None });
        Ok(found.into_iter().filter_map(|build| build.map_or_else(|| others.next(), own)).collect())
    }

    /// Adds to the error of a request that matches no recipe what is available from source.
    pub(crate) fn complete(&self, mut error: RecipeError) -> RecipeError {
        let (dbms, version, near, is_to_compile) = match &mut error {
            RecipeError::Version { dbms, version, near } => (*dbms, version, near, true),
            RecipeError::Provider { dbms, version, near, provider } => {
                (*dbms, version, near, provider == ANY)
            }
            _ => return error,
        };
        let same: Vec<&SourceBuild> = self
            .here
            .iter()
            .filter(|build| build.dbms == dbms && build.is_labelled() && is_wanted(&build.version, version))
            .collect();
        if !same.is_empty() {
            near.push_str(&format!("; built from source: {}", alternatives(&names(&same))));
        } else if is_to_compile {
            near.push_str(&format!(
                "; or compile it: `basecase server get {dbms}:{version} --from source --source …`"
            ));
        }
        error
    }
}

/// When the build at `place` was made or used last.
fn used_at(place: &Path) -> SystemTime {
    let modified = fs::metadata(place.join(MANIFEST)).and_then(|manifest| manifest.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The bytes of all files below `folder`, as far as they can be read.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn names(builds: &[&SourceBuild]) -> Vec<String> {
    builds.iter().map(|build| build.request().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn build(version: &str, label: &str) -> SourceBuild {
        SourceBuild {
            dbms: Dbms::Postgres,
            version: version.into(),
            label: label.into(),
            hash: format!("{version}{label}0123456789abcdef"),
            artifact: "postgres@1a2b3c4d".into(),
            compiler: "gcc 12.2.0".into(),
            flags: "-Wall -O2 -fno-omit-frame-pointer".into(),
            arguments: vec!["--enable-debug".into()],
            patches: Vec::new(),
            is_of_candidate: false,
        }
    }

    fn cache(builds: &[SourceBuild]) -> (tempfile::TempDir, BuildCache) {
        let folder = tempfile::tempdir().unwrap();
        for build in builds {
            let place = folder.path().join(build.folder());
            fs::create_dir(&place).unwrap();
            build.write(&place).unwrap();
        }
        let cache = BuildCache::read(folder.path());
        (folder, cache)
    }

    #[test]
    fn a_build_is_found_by_its_file_alone() {
        let mut devel = build("19devel", "o2nofp_1a2b3c4d");
        devel.hash = "0123456789abcdef".into();
        assert_eq!(devel.folder(), "postgres-19devel-source-0123456789ab");
        assert_eq!(devel.toolchain(), "gcc 12.2.0 -O2");
        let (folder, cache) = cache(std::slice::from_ref(&devel));
        assert_eq!(cache.with_hash(&devel.hash), Some(&devel));
        assert_eq!(cache.find(&"postgres:19devel:source".parse().unwrap()).unwrap(), Some(&devel));
        assert_eq!(cache.find(&devel.request()).unwrap(), Some(&devel));

        let place = cache.place(&devel);
        fs::rename(&place, folder.path().join("other")).unwrap();
        assert_eq!(BuildCache::read(folder.path()).builds(), []);
        fs::rename(folder.path().join("other"), &place).unwrap();
        fs::remove_file(place.join(MANIFEST)).unwrap();
        assert_eq!(BuildCache::read(folder.path()).builds(), []);
    }

    #[test]
    fn builds_of_candidates_make_room_and_others_stay() {
        let of_candidate = |version: &str| SourceBuild { is_of_candidate: true, ..build(version, "o2") };
        let builds = [of_candidate("17.1"), of_candidate("17.2"), of_candidate("17.3"), build("17.4", "o2")];
        let (_folder, cache) = cache(&builds);
        let long_ago = SystemTime::UNIX_EPOCH;
        for (number, build) in builds.iter().enumerate() {
            let place = cache.place(build);
            fs::write(place.join("postgres"), vec![0; 10_000]).unwrap();
            let used = long_ago + Duration::from_secs(number as u64);
            let manifest = fs::File::options().write(true).open(place.join(MANIFEST)).unwrap();
            manifest.set_modified(used).unwrap();
        }
        let left = || builds.each_ref().map(|build| cache.place(build).join(MANIFEST).exists());
        cache.trim(u64::MAX, SystemTime::now());
        assert_eq!(left(), [true; 4]);
        cache.trim(0, long_ago + Duration::from_secs(1));
        assert_eq!(left(), [false, true, true, true], "what is in use stays");
        cache.trim(15_000, SystemTime::now());
        assert_eq!(left(), [false, false, true, true]);
    }

    #[test]
    fn builds_are_named_by_label_or_as_the_only_one() {
        let (_folder, cache) = cache(&[build("17.6", "o3"), build("17.6", "o2nofp"), build("17.10", "o3")]);
        let found = |request: &str| {
            let found = cache.find(&request.parse().unwrap());
            found.map(|build| build.map(|build| build.request().to_string()))
        };
        assert_eq!(found("postgres:17.6:o3").unwrap().as_deref(), Some("postgres:17.6:o3"));
        assert_eq!(found("postgres:17.x:o3").unwrap().as_deref(), Some("postgres:17.10:o3"));
        assert_eq!(found("postgres:17.10:source").unwrap().as_deref(), Some("postgres:17.10:o3"));
        for none in
            ["postgres:17.10", "postgres:17.10:o2nofp", "postgres:17.1:o3", "mysql:17.6:o3", "path:/o3"]
        {
            assert_eq!(found(none).unwrap(), None, "{none}");
        }
        let message = found("postgres:17.6:source").unwrap_err().to_string();
        assert!(message.ends_with("hint: choose postgres:17.6:o2nofp or postgres:17.6:o3"), "{message}");
    }

    #[test]
    fn requests_are_resolved_in_their_order() {
        let (_folder, cache) = cache(&[build("17.6", "o3")]);
        let requests = ["path:/a", "postgres:17.x:source", "path:/b"].map(|text| text.parse().unwrap());
        let resolve_rest = |rest: &[BuildRequest]| {
            Ok(rest.iter().map(|request| Source { request: request.clone(), recipe: None }).collect())
        };
        let sources = cache.resolve(&requests, resolve_rest).unwrap();
        let names: Vec<String> = sources.iter().map(|source| source.request.to_string()).collect();
        assert_eq!(names, ["path:/a", "postgres:17.6:o3", "path:/b"]);
    }

    #[test]
    fn mistakes_are_told_what_there_is_from_source() {
        let (_folder, cache) = cache(&[build("17.6", "o3")]);
        let error = |version: &str| RecipeError::Version {
            dbms: Dbms::Postgres,
            version: version.into(),
            near: "near is 1".into(),
        };
        let message = cache.complete(error("17.6")).to_string();
        assert!(message.contains("near is 1; built from source: postgres:17.6:o3"), "{message}");
        let message = cache.complete(error("17.7")).to_string();
        assert!(
            message.contains("`basecase server get postgres:17.7 --from source --source …`"),
            "{message}"
        );
    }

    #[test]
    fn facts_name_the_source() {
        let mut facts = BuildFacts {
            dbms: Dbms::Postgres,
            short: "pg176_o3".into(),
            requested: "postgres:17.6:o3".into(),
            version: "17.6".into(),
            provider: "path".into(),
            artifact: "/x/bin".into(),
            sha256: None,
            compiler: None,
            flags: Some("-O3".into()),
            details: std::collections::BTreeMap::new(),
        };
        build("17.6", "o3").complete(&mut facts);
        assert_eq!((facts.provider.as_str(), facts.artifact.as_str()), ("source", "postgres@1a2b3c4d"));
        assert_eq!((facts.compiler.as_deref(), facts.flags.as_deref()), (Some("gcc 12.2.0"), Some("-O3")));
        assert_eq!(facts.sha256.as_deref(), Some("17.6o30123456789abcdef"));
        assert_eq!(facts.details["configure"], "--enable-debug");
    }
}
