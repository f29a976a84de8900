//! Makes one build from source.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use basecase_model::{Dbms, Version, hexadecimal};
use basecase_process::tree_copy::{self, FileOwner, Zeros};
use basecase_process::{Account, PrivateFolder, act, folder_in};
use sha2::{Digest, Sha256};

use super::SourceOrder;
use super::build_cache::{BuildCache, SourceBuild, is_wanted, numbers_of};
use super::build_step::{BuildStep, Folders, Log, flags_given, steps};
use super::error::CompileError;
use super::kept_folder::KeptFolder;
use super::label;
use super::origin::{Identity, Origin};
use super::patch::Patch;
use super::table::{Configuration, DebianSource, Table};
use super::toolchain::{Compiler, Language, Toolchain};
use crate::archive::open_to_all;
use crate::programs;
use crate::recipe::BuildRequest;
use crate::source_tree::{SourceKind, SourceTree, amalgamation, missing_submodule, recognise, trace_of_use};

/// Increased when basecase changes how it compiles in a way that no argument shows.
const REVISION: u32 = 1;
/// Arguments of Postgres' configure for a folder that is kept: what depends on a header is compiled again, and programs find their
/// libraries from where they are.
const POSTGRES_INCREMENTAL: [&str; 2] = ["--enable-depend", "LDFLAGS_EX=-Wl,-rpath,'$$ORIGIN/../lib'"];
/// The prefix of work folders.
const PARTIAL: &str = ".partial-";

/// Makes builds from source.
#[derive(Debug)]
pub(crate) struct Builder {
    /// The folder of all builds.
    pub(crate) builds: PathBuf,
    /// The programs that compile.
    pub(crate) toolchain: Toolchain,
    /// Labels that are refused, because they already mean something else.
    pub(crate) reserved: Vec<String>,
    /// Whether builds get a label. What recipes describe gets none.
    pub(crate) labels: bool,
}

/// An order that has been checked, with what is known of the build before its source is unpacked.
struct CheckedOrder<'o> {
    order: &'o SourceOrder,
    dbms: Dbms,
    version: &'o str,
    origin: Origin,
    identity: Identity,
    patches: Vec<Patch>,
    compilers: Vec<Compiler>,
    /// The configuration for each kind of source tree that may turn up.
    configurations: Vec<(SourceKind, Result<Configuration, CompileError>)>,
    hash: String,
}

impl Builder {
    /// Returns the build that `order` describes; see [`crate::Library::compile`].
    pub(crate) fn make(
        &self,
        order: &SourceOrder,
        notify: &mut dyn FnMut(&str),
    ) -> Result<SourceBuild, CompileError> {
        let checked = self.check_order(order, notify)?;
        match BuildCache::read(&self.builds).with_hash(&checked.hash) {
            Some(build) => checked.accept(build.dbms, &build.version).map(|()| build.clone()),
            None => self.make_missing(checked, notify),
        }
    }

    /// Whether the build that `order` describes is here. Its source must be.
    pub(crate) fn has(&self, order: &SourceOrder) -> Result<bool, CompileError> {
        let checked = self.check_order(order, &mut |_| ())?;
        Ok(BuildCache::read(&self.builds).with_hash(&checked.hash).is_some())
    }

    /// Makes a build that is not here.
    fn make_missing(
        &self,
        checked: CheckedOrder<'_>,
        notify: &mut dyn FnMut(&str),
    ) -> Result<SourceBuild, CompileError> {
        let _lock = self.lock_build(&checked)?;
        // Another basecase may have made it meanwhile.
        let cache = BuildCache::read(&self.builds);
        match cache.with_hash(&checked.hash) {
            Some(build) => checked.accept(build.dbms, &build.version).map(|()| build.clone()),
            None => self.compile(checked, &cache, notify),
        }
    }

    /// The same for one of many, most of which compile. Also returns whether it was made now. That it does not compile is remembered.
    pub(crate) fn attempt(
        &self,
        order: &SourceOrder,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(SourceBuild, bool), CompileError> {
        let checked = self.check_order(order, notify)?;
        let cache = BuildCache::read(&self.builds);
        if let Some(build) = cache.with_hash(&checked.hash) {
            cache.mark_used(build);
            return Ok((build.clone(), false));
        }
        let digits = checked.hash.get(..16).unwrap_or(&checked.hash);
        let memory = self.builds.join(format!(".broken-{digits}"));
        if let Ok(reason) = fs::read_to_string(&memory) {
            return Err(CompileError::Broken { reason, memory });
        }
        let made = self.make_missing(checked, notify);
        if let Err(error) = &made
            && error.is_of_source()
        {
            fs::write(&memory, error.to_string()).map_err(CompileError::file(&memory))?;
        }
        Ok((made?, true))
    }

    fn check_order<'o>(
        &self,
        order: &'o SourceOrder,
        notify: &mut dyn FnMut(&str),
    ) -> Result<CheckedOrder<'o>, CompileError> {
        let request = &order.request;
        let unclear = || order.unclear();
        let BuildRequest::Version { dbms, version, provider: None } = request else { return Err(unclear()) };
        let numbers = numbers_of(version.trim_end_matches(".x")).ok_or_else(unclear)?;
        if let Some(label) = &order.label {
            label::check(label, &self.reserved)?;
        }
        let patches: Vec<Patch> =
            order.patches.iter().map(|path| Patch::read(path)).collect::<Result<_, _>>()?;
        if !patches.is_empty() {
            self.toolchain.need("git", "git")?;
        }
        let kinds = SourceKind::of(*dbms);
        let configuration = |kind: &SourceKind| (*kind, self.configuration(order, *kind, &numbers));
        let configurations: Vec<_> = kinds.iter().map(configuration).collect();
        if configurations.iter().all(|(_, made)| made.is_err()) {
            // The first kind is the common one.
            let first = configurations.into_iter().next();
            return Err(first.and_then(|(_, made)| made.err()).unwrap_or_else(unclear));
        }
        let languages: &[Language] = if kinds.iter().any(|kind| kind.uses_cmake()) {
            &[Language::C, Language::Cpp]
        } else {
            &[Language::C]
        };
        let compilers = languages.iter().map(|language| self.toolchain.compiler(*language, &order.configure));
        let compilers = compilers.collect::<Result<Vec<_>, _>>()?;
        for tool in kinds.iter().flat_map(|kind| kind.tools()) {
            self.toolchain.need(tool, tool)?;
        }
        let origin = match &order.source {
            Some(text) => Origin::find(text)?,
            None => Origin::Archive(self.debian_source(*dbms, version)?.archive(&self.sources(), notify)?),
        };
        let identity = origin.identify(&self.toolchain)?;
        let hash =
            hash(*dbms, order.is_incremental, self.labels, &identity, &patches, &configurations, &compilers);
        Ok(CheckedOrder {
            order,
            dbms: *dbms,
            version,
            origin,
            identity,
            patches,
            compilers,
            configurations,
            hash,
        })
    }

    /// How a tree of this kind and branch is configured.
    fn configuration(
        &self,
        order: &SourceOrder,
        kind: SourceKind,
        branch: &Version,
    ) -> Result<Configuration, CompileError> {
        let has_library = |name: &str| self.toolchain.has_library(name);
        let mut arguments = order.configure.clone();
        if order.is_incremental && kind == SourceKind::Postgres {
            arguments.extend(POSTGRES_INCREMENTAL.map(str::to_owned));
        }
        Table::of(kind)?.configuration(kind, branch, &order.setup, &has_library, &arguments)
    }

    /// Debian's source of `version`; for a branch, the newest.
    fn debian_source(&self, dbms: Dbms, version: &str) -> Result<DebianSource, CompileError> {
        let mut known = Vec::new();
        for kind in SourceKind::of(dbms) {
            known.extend(Table::of(*kind)?.debian);
        }
        let wanted = known.iter().filter(|source| is_wanted(&source.version, version));
        let found = wanted.max_by_key(|source| numbers_of(&source.version)).cloned();
        found.ok_or_else(|| CompileError::NoSource {
            dbms,
            version: version.to_owned(),
            versions: known.into_iter().map(|source| source.version).collect(),
        })
    }

    /// The folder of downloaded archives.
    fn sources(&self) -> PathBuf {
        self.builds.with_file_name("sources")
    }

    /// Waits until no other basecase makes this build. Dropping the file releases the lock.
    fn lock_build(&self, checked: &CheckedOrder<'_>) -> Result<File, CompileError> {
        let name = checked.work_name();
        let locked = self.lock_file(&name).and_then(|file| file.lock().map(|()| file));
        locked.map_err(CompileError::file(self.builds.join(name)))
    }

    /// The lock file of the work folder `name`.
    fn lock_file(&self, name: &str) -> io::Result<File> {
        let path = self.builds.join(format!(".{name}.lock"));
        File::options().create(true).truncate(false).write(true).mode(0o644).open(path)
    }

    /// Removes what killed runs of basecase left of other builds: it may be gigabytes, and may never be ordered again.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.builds).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix(PARTIAL));
            let Some(name) = name.filter(|name| name.contains("-source-")) else { continue };
            if self.lock_file(name).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn compile(
        &self,
        checked: CheckedOrder<'_>,
        cache: &BuildCache,
        notify: &mut dyn FnMut(&str),
    ) -> Result<SourceBuild, CompileError> {
        let name = format!("{PARTIAL}{}", checked.work_name());
        // The lock is held, so nobody else is at work here.
        let _ = fs::remove_dir_all(self.builds.join(&name));
        self.sweep();
        // In the folder of the result, so that the last step is a rename. The name is always the same, because it ends up in
        // programs through `__FILE__`.
        let work = Work(PrivateFolder::make_above(&self.builds.join(name))?);
        let account = self.toolchain.account();
        notify(&format!("unpacking {}", checked.identity.artifact));
        let mut source = checked.unpack(&work, &self.toolchain)?;
        for patch in &checked.patches {
            notify(&format!("applying {}", patch.artifact()));
            patch.apply(&source, &self.toolchain)?;
        }
        let tree = checked.recognise(&source, account)?;
        let (kind, compilers) = (tree.kind, checked.compilers.clone());
        let jobs = checked.order.jobs.unwrap_or_else(basecase_probe::usable_cores);
        self.check_generators(kind, &source)?;
        let kept =
            checked.kept_key(kind).map(|key| KeptFolder::claim(&self.builds, &key, account)).transpose()?;
        let mut build = checked.describe(tree, self)?;
        refuse_taken_label(&build, cache)?;
        let place = cache.place(&build);
        let stage = work.folder("stage", account)?;
        let (objects, prefix) = match &kept {
            Some(kept) => {
                source = kept.update(&source)?;
                (kept.objects()?, kept.prefix())
            }
            None => (work.folder("objects", account)?.path().to_path_buf(), place.clone()),
        };
        let folders = Folders { objects, stage: stage.path().to_path_buf(), source, prefix };
        let steps = steps(kind, &self.toolchain, &folders, &compilers, &build.arguments, jobs)?;
        let ran = self.run(steps, &build, &place, kept.as_ref(), notify);
        if let (Err(CompileError::Step(step)), Some(kept)) = (&ran, &kept)
            && step.lacks_package()
        {
            kept.forget()?;
        }
        ran?;
        let given = act(account, || Ok(flags_given(kind, &folders)));
        build.flags = given.ok().flatten().unwrap_or(build.flags);
        let installed = work.installed(&folders, &stage, account)?;
        finish(&build, &installed, &place)?;
        Ok(build)
    }

    /// Configures, compiles and installs. In a folder that is kept, it is configured once.
    fn run(
        &self,
        steps: Vec<BuildStep>,
        build: &SourceBuild,
        place: &Path,
        kept: Option<&KeptFolder>,
        notify: &mut dyn FnMut(&str),
    ) -> Result<(), CompileError> {
        let mut log = Log::create(place.with_file_name(format!("{}.log", build.folder())))?;
        let mut title = format!("{} {}", build.dbms, build.version);
        if self.labels {
            title.push_str(&format!(" as {}", build.label));
        }
        for step in steps {
            let configures = step.configures();
            if configures && kept.is_some_and(KeptFolder::is_configured) {
                continue;
            }
            log.run(step, &title, notify)?;
            if let Some(kept) = kept.filter(|_| configures) {
                kept.set_configured()?;
            }
        }
        Ok(())
    }

    /// Makes sure that programs which generate source files are there, if the source lacks those files.
    fn check_generators(&self, kind: SourceKind, source: &Path) -> Result<(), CompileError> {
        let programs: &[&str] = match kind {
            // Archives of Postgres up to 16 contain the generated files.
            SourceKind::Postgres if source.join("src/backend/parser/gram.c").exists() => &[],
            SourceKind::Postgres => &["bison", "flex", "perl"],
            SourceKind::Sqlite if amalgamation(source).is_some() => &[],
            // Newer trees bring a small Tcl of their own.
            SourceKind::Sqlite if source.join("autosetup/jimsh0.c").exists() => &["make"],
            SourceKind::Sqlite => &["make", "tclsh"],
            SourceKind::Mysql | SourceKind::FbMysql | SourceKind::Mariadb => &["bison"],
        };
        let package = |program: &str| if program == "tclsh" { "tcl" } else { program }.to_owned();
        programs.iter().try_for_each(|program| self.toolchain.need(program, &package(program)).map(drop))
    }
}

/// Moves a tree that is complete to its place, where it counts as a build.
fn finish(build: &SourceBuild, installed: &Path, place: &Path) -> Result<(), CompileError> {
    open_to_all(installed).map_err(CompileError::file(installed))?;
    let recorded = programs::record(installed).map_err(io::Error::other);
    recorded.map_err(CompileError::file(installed))?;
    build.write(installed)?;
    // A folder there has no manifest, so it can only be the remains of a build.
    let _ = fs::remove_dir_all(place);
    fs::rename(installed, place).map_err(CompileError::file(place))
}

/// Refuses a label that another build of the same version has.
fn refuse_taken_label(build: &SourceBuild, cache: &BuildCache) -> Result<(), CompileError> {
    let Ok(Some(other)) = cache.find(&build.request()) else { return Ok(()) };
    Err(CompileError::LabelTaken {
        name: build.request().to_string(),
        what: format!("{}, {}, {}", other.artifact, other.toolchain(), other.arguments.join(" ")),
        folder: cache.place(other),
    })
}

/// The folder in which a build is made, removed when this is dropped. It belongs to the caller; its contents belong to the
/// account that compiles.
struct Work(PrivateFolder);

impl Work {
    fn folder(&self, name: &str, account: Option<&Account>) -> Result<PrivateFolder, CompileError> {
        Ok(PrivateFolder::make(&self.0.path().join(name), account)?)
    }

    /// The installed tree, owned by the caller. What another account created is copied, because that account may still have
    /// its files open.
    fn installed(
        &self,
        folders: &Folders,
        stage: &PrivateFolder,
        account: Option<&Account>,
    ) -> Result<PathBuf, CompileError> {
        let Some(account) = account else { return Ok(folders.installed()) };
        let made = PrivateFolder::make(&self.0.path().join("made"), None)?;
        let name = folders.prefix.file_name().unwrap_or_default();
        let above = folders.prefix.parent().into_iter().flat_map(Path::components);
        let names = above.filter(|part| matches!(part, Component::Normal(_)));
        let copy = || {
            let folder = names
                .into_iter()
                .try_fold(stage.handle().try_clone()?, |folder, name| folder_in(&folder, name.as_os_str()))?;
            let owner = FileOwner::CallerInsteadOf(account.uid);
            tree_copy::copy(&folder, made.handle(), name, owner, Zeros::Copied)
        };
        copy().map_err(CompileError::file(folders.installed()))?;
        Ok(made.path().join(name))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.0.destroy();
    }
}

impl CheckedOrder<'_> {
    /// The name of this build's work folder and lock, before its version is known for sure.
    fn work_name(&self) -> String {
        format!("{}-source-{}", self.dbms, self.hash.get(..16).unwrap_or(&self.hash))
    }

    /// What tells the folder that is kept for its compilation from others; `None` if it is compiled anew.
    fn kept_key(&self, kind: SourceKind) -> Option<String> {
        let mut hash = Sha256::new();
        let configured = self.configurations.iter().find(|(one, _)| *one == kind);
        let arguments =
            configured.and_then(|(_, made)| made.as_ref().ok()).map(|made| made.arguments.join("\0"));
        hash.update(format!("{REVISION} {} {}", kind.as_str(), arguments.unwrap_or_default()));
        hash.update(self.identity.artifact.split('@').next().unwrap_or_default());
        self.compilers.iter().for_each(|compiler| hash.update(&compiler.full_version));
        let key = hexadecimal(&hash.finalize());
        self.order.is_incremental.then(|| format!("{}-{}", kind.as_str(), key.get(..12).unwrap_or(&key)))
    }

    /// Unpacks the source into the work folder. Returns the top folder, whose path is always the same.
    fn unpack(&self, work: &Work, toolchain: &Toolchain) -> Result<PathBuf, CompileError> {
        let unpacked = work.folder("unpacked", toolchain.account())?;
        let source = work.0.path().join("source");
        let moved = match self.origin.unpack(&self.identity, toolchain, unpacked.path())? {
            Some(top) => unpacked.rename(&top, &work.0, "source"),
            None => work.0.rename("unpacked".as_ref(), &work.0, "source"),
        };
        moved.map_err(CompileError::file(&source))?;
        Ok(source)
    }

    /// Makes sure that the source is what was ordered.
    fn recognise(&self, source: &Path, account: Option<&Account>) -> Result<SourceTree, CompileError> {
        let artifact = self.identity.artifact.clone();
        let look = || Ok((recognise(&source), trace_of_use(source), missing_submodule(source)));
        let (tree, trace, module) = act(account, look).map_err(CompileError::file(source))?;
        let Some(tree) = tree else {
            return Err(CompileError::Unknown { artifact, dbms: self.dbms });
        };
        self.accept(tree.kind.dbms(), &tree.version)?;
        if let Some(file) = trace {
            return Err(CompileError::Used { artifact, file });
        }
        match module {
            Some(module) => Err(CompileError::Submodule { artifact, module }),
            None => Ok(tree),
        }
    }

    /// Makes sure that a source of `version` is what was ordered.
    fn accept(&self, dbms: Dbms, version: &str) -> Result<(), CompileError> {
        let wanted = self.version;
        if dbms == self.dbms && is_wanted(version, wanted) {
            return Ok(());
        }
        Err(CompileError::Version {
            artifact: self.identity.artifact.clone(),
            expected: format!("{}:{wanted}", self.dbms),
            actual: format!("{dbms}:{version}"),
        })
    }

    /// The build that results from `tree`, with the flags that were requested.
    fn describe(self, tree: SourceTree, builder: &Builder) -> Result<SourceBuild, CompileError> {
        let configured = self.configurations.into_iter().find(|(kind, _)| *kind == tree.kind);
        let configuration = configured.map_or_else(|| Err(self.order.unclear()), |(_, made)| made)?;
        let commit = self.identity.commit.as_deref().filter(|_| self.order.names_commit);
        let source = self.identity.label.as_deref().or(commit);
        let label = self.order.label.clone().unwrap_or_else(|| {
            let derived = label::derived(tree.kind, &configuration.name, source);
            let configure = label::of_arguments(&self.order.configure).filter(|_| self.order.names_commit);
            let incremental = if self.order.is_incremental { "_i" } else { "" };
            derived + &configure.unwrap_or_default() + incremental + &Patch::suffix(&self.patches)
        });
        let label = if builder.labels { label } else { String::new() };
        if builder.labels {
            label::check(&label, &builder.reserved)?;
        }
        Ok(SourceBuild {
            dbms: self.dbms,
            version: tree.version,
            label,
            hash: self.hash,
            artifact: self.identity.artifact,
            compiler: self.compilers.last().map(|compiler| compiler.version.clone()).unwrap_or_default(),
            flags: configuration.flags.unwrap_or_default(),
            arguments: configuration.arguments,
            patches: self.patches.iter().map(Patch::artifact).collect(),
            is_of_candidate: self.order.names_commit,
        })
    }
}

impl SourceOrder {
    fn unclear(&self) -> CompileError {
        CompileError::Request { request: self.request.to_string() }
    }
}

/// The hash over everything that a build depends on. The kind of source tree follows from the source itself.
fn hash(
    dbms: Dbms,
    is_incremental: bool,
    has_label: bool,
    identity: &Identity,
    patches: &[Patch],
    configurations: &[(SourceKind, Result<Configuration, CompileError>)],
    compilers: &[Compiler],
) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.as_bytes());
        hash.update([0]);
    };
    add(&format!("{REVISION} {dbms} {}", identity.digest));
    if is_incremental {
        add("incremental");
    }
    if !has_label {
        // Otherwise the same build under a label would be taken for that of the recipe.
        add("recipe");
    }
    for patch in patches {
        add(&format!("patch {}", patch.sha256()));
    }
    for compiler in compilers {
        add(&compiler.full_version);
    }
    for (kind, configuration) in configurations {
        add(kind.as_str());
        for argument in configuration.iter().flat_map(|configuration| &configuration.arguments) {
            add(argument);
        }
    }
    hexadecimal(&hash.finalize())
}
