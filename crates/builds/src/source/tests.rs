//! Builds tiny trees from source with toy programs: names, caching, and the messages when something fails. `tests/source.rs`
//! compiles a real Postgres.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build_cache::{BuildCache, SourceBuild};
use super::builder::Builder;
use super::error::CompileError;
use super::toolchain::Toolchain;
use super::{Setup, SourceOrder};

const GCC: &str = "echo 'gcc version 12.2.0 (toy)' >&2";
/// Installs a program where the last `--prefix` or `-DCMAKE_INSTALL_PREFIX` said.
const MAKE: &str = r#"
echo "make $*"
for word in "$@"; do
    case $word in DESTDIR=*) /bin/mkdir -p "${word#DESTDIR=}$(/bin/cat prefix)/bin" && /bin/date > "${word#DESTDIR=}$(/bin/cat prefix)/bin/server";; esac
done"#;
const CMAKE: &str =
    r#"for word in "$@"; do case $word in -DCMAKE_INSTALL_PREFIX=*) echo "${word#*=}" > prefix;; esac; done"#;
const CONFIGURE: &str = r#"PACKAGE_NAME='PostgreSQL'
PACKAGE_VERSION='17.6'
for word in "$@"; do case $word in --prefix=*) echo "${word#*=}" > prefix;; esac; done
"#;

/// A folder with toy programs, an empty folder of builds, and room for sources.
struct Bench {
    folder: tempfile::TempDir,
    builder: Builder,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    // The account that compiles must be able to reach it.
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let [written, programs, builds] = ["written", "programs", "builds"].map(|name| folder.path().join(name));
    fs::create_dir(&written).unwrap();
    fs::create_dir(&builds).unwrap();
    for (name, script) in [
        ("gcc", GCC),
        ("g++", GCC),
        ("make", MAKE),
        ("cmake", CMAKE),
        ("bison", ""),
        ("flex", ""),
        ("perl", ""),
    ] {
        let path = written.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    // By another process: a child of another thread could have what this one writes open for a moment yet, and it could not be run.
    assert!(Command::new("cp").arg("-rp").args([&written, &programs]).status().unwrap().success());
    std::os::unix::fs::symlink("/usr/bin/git", programs.join("git")).unwrap();
    let toolchain = Toolchain::only_in(&programs);
    let builder = Builder { builds, toolchain, reserved: vec!["pypi".into()], labels: true };
    Bench { folder, builder }
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder with files.
    fn tree(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        for (file, text) in files {
            let path = self.path(name).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.path(name)
    }

    /// An archive with these files below one folder.
    fn archive(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let top = self.tree("to-pack", files);
        let path = self.path(name);
        let mut builder = tar::Builder::new(fs::File::create(&path).unwrap());
        builder.append_dir_all("top", &top).unwrap();
        builder.finish().unwrap();
        fs::remove_dir_all(top).unwrap();
        path
    }

    fn git(&self, tree: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(tree).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository of one commit at the tag `REL_17_6`.
    fn repository(&self) -> PathBuf {
        let tree = self
            .tree("postgres", &[("configure", CONFIGURE), ("src/a.c", "int a;"), (".gitignore", "*.o\n")]);
        self.git(&tree, &["init", "-q", "-b", "main"]);
        self.git(&tree, &["add", "."]);
        self.git(&tree, &["commit", "-q", "-m", "1"]);
        self.git(&tree, &["tag", "REL_17_6"]);
        tree
    }

    fn make(&self, order: &SourceOrder) -> Result<SourceBuild, CompileError> {
        self.builder.make(order, &mut |_| {})
    }

    fn message(&self, order: &SourceOrder) -> String {
        self.make(order).unwrap_err().to_string()
    }

    /// What is in the folder of builds, locks left out.
    fn builds(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.builder.builds).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }
}

fn order(request: &str, source: impl AsRef<Path>) -> SourceOrder {
    SourceOrder {
        request: request.parse().unwrap(),
        source: Some(source.as_ref().display().to_string()),
        setup: Setup::Type("o2nofp".into()),
        label: None,
        patches: Vec::new(),
        configure: Vec::new(),
        names_commit: false,
        is_incremental: false,
        jobs: Some(2),
    }
}

#[test]
fn patches_belong_to_a_build_and_those_that_do_not_apply_are_refused() {
    let bench = bench();
    let archive = bench.archive("a.tar", &[("configure", CONFIGURE), ("src/a.c", "int a;\nint b;\n")]);
    let plain = order("postgres:17.6", &archive);
    let unpatched = bench.make(&plain).unwrap();
    let patch = |name: &str, before: &str| {
        let text = format!("--- a/src/a.c\n+++ b/src/a.c\n@@ -1,2 +1,2 @@\n-{before}\n+int c;\n int b;\n");
        bench.tree("patches", &[(name, &text)]).join(name)
    };
    let patched = |path: PathBuf| SourceOrder { patches: vec![path], ..plain.clone() };
    let build = bench.make(&patched(patch("one.patch", "int a;"))).unwrap();
    assert_ne!(build.hash, unpatched.hash);
    assert!(build.label.starts_with("o2nofp_p") && build.label.len() == 14, "{build:?}");
    assert!(build.patches[0].starts_with("one.patch sha256:"), "{build:?}");
    // Its content counts, not its name; and an order without patches is what it was.
    assert_eq!(bench.make(&patched(patch("same.patch", "int a;"))).unwrap(), build);
    assert_eq!(bench.make(&plain).unwrap(), unpatched);
    let message = bench.message(&patched(patch("other.patch", "int z;")));
    assert!(
        message.contains("other.patch: it does not apply: ") && message.contains("src/a.c:1"),
        "{message}"
    );
    // One after the other: the second finds what the first left.
    let twice = SourceOrder {
        patches: vec![patch("1.patch", "int a;"), patch("2.patch", "int a;")],
        ..plain.clone()
    };
    let message = bench.message(&twice);
    assert!(message.contains("2.patch: it does not apply: "), "{message}");
    let none = bench.tree("patches", &[("words.txt", "hello")]).join("words.txt");
    assert!(bench.message(&patched(none)).contains("it is not a patch"));
    assert!(bench.builds().iter().all(|name| !name.starts_with(".partial-")), "{:?}", bench.builds());
}

#[test]
fn a_build_is_made_once() {
    let bench = bench();
    let archive = bench.archive("postgresql-17.6.tar", &[("configure", CONFIGURE)]);
    let mut said = Vec::new();
    let order = order("postgres:17.6", &archive);
    let build = bench.builder.make(&order, &mut |text| said.push(text.to_owned())).unwrap();
    assert_eq!(build.request().to_string(), "postgres:17.6:o2nofp");
    assert_eq!(
        (build.compiler.as_str(), build.flags.as_str()),
        ("gcc 12.2.0", "-O2 -fno-omit-frame-pointer")
    );
    assert!(build.artifact.starts_with("postgresql-17.6.tar sha256:"), "{build:?}");
    assert!(
        said.iter().any(|line| line.starts_with("compiling postgres 17.6 as o2nofp; log: /")),
        "{said:?}"
    );
    let name = build.folder();
    assert!(name.starts_with("postgres-17.6-source-"), "{name}");
    assert_eq!(bench.builds(), [name.clone(), format!("{name}.log")]);
    let program = bench.builder.builds.join(&name).join("bin/server");
    let made_at = program.metadata().unwrap().modified().unwrap();
    let log = fs::read_to_string(bench.builder.builds.join(format!("{name}.log"))).unwrap();
    for line in [
        "/bin/sh ./configure --prefix=",
        " 'CFLAGS=-O2 -fno-omit-frame-pointer'\n",
        "make -j2 -C contrib install DESTDIR=",
    ] {
        assert!(log.contains(line), "{log}");
    }

    // The same by its branch, by the type's flags, and from a copy of the file.
    let copy = bench.path("copy.tar");
    fs::copy(&archive, &copy).unwrap();
    let flags = Setup::Flags("-O2 -fno-omit-frame-pointer".into());
    let again = SourceOrder {
        request: "postgres:17.x".parse().unwrap(),
        setup: flags,
        ..self::order("postgres:17.6", copy)
    };
    assert_eq!(bench.make(&again).unwrap(), build);
    assert_eq!(program.metadata().unwrap().modified().unwrap(), made_at);

    // That the build is here does not make it what was ordered.
    let other = SourceOrder { request: "postgres:17.5".parse().unwrap(), ..order.clone() };
    assert!(bench.message(&other).contains(" is postgres:17.6, not postgres:17.5 as requested"));

    // A build that was interrupted at the very end is made again.
    fs::remove_file(bench.builder.builds.join(&name).join(".basecase-source.toml")).unwrap();
    assert_eq!(bench.make(&order).unwrap(), build);
    assert_ne!(program.metadata().unwrap().modified().unwrap(), made_at);
}

#[test]
fn what_killed_builds_left_is_swept_but_not_what_others_work_on() {
    let bench = bench();
    let tree = bench.tree("a", &[("configure", CONFIGURE)]);
    for name in ["mysql-source-0123456789abcdef", "mysql-source-fedcba9876543210", "postgres-17.11-pypi-x"] {
        fs::create_dir(bench.builder.builds.join(format!(".partial-{name}"))).unwrap();
    }
    let turn = fs::File::create(bench.builder.builds.join(".mysql-source-fedcba9876543210.lock")).unwrap();
    turn.lock().unwrap();
    bench.make(&order("postgres:17.6", &tree)).unwrap();
    let mut left = bench.builds();
    left.retain(|name| name.starts_with(".partial-"));
    assert_eq!(left, [".partial-mysql-source-fedcba9876543210", ".partial-postgres-17.11-pypi-x"]);
}

#[test]
fn builds_of_one_version_have_different_names() {
    let bench = bench();
    let archive = bench.archive("a.tar", &[("configure", CONFIGURE)]);
    let base = order("postgres:17.6", archive);
    let name = |order: SourceOrder| bench.make(&order).map(|build| build.request().to_string());
    assert_eq!(name(base.clone()).unwrap(), "postgres:17.6:o2nofp");
    assert_eq!(name(SourceOrder { setup: Setup::Default, ..base.clone() }).unwrap(), "postgres:17.6:def");
    let flags = |text: &str| SourceOrder { setup: Setup::Flags(text.into()), ..base.clone() };
    assert_eq!(name(flags("-O1")).unwrap(), "postgres:17.6:o1");
    // Only an argument differs: the name would be the same.
    let other = SourceOrder { configure: vec!["--with-blocksize=16".into()], ..base.clone() };
    let message = bench.message(&other);
    assert!(
        message.starts_with("postgres:17.6:o2nofp already names another build: a.tar sha256:"),
        "{message}"
    );
    assert!(message.contains("\nhint: name this one with --label NAME, or remove /"), "{message}");
    let labelled = SourceOrder { label: Some("blocks16".into()), ..other };
    assert_eq!(name(labelled.clone()).unwrap(), "postgres:17.6:blocks16");
    // A build keeps its first name.
    assert_eq!(
        name(SourceOrder { label: Some("again".into()), ..labelled }).unwrap(),
        "postgres:17.6:blocks16"
    );
    for label in ["pypi", "source", "a:b"] {
        let wrong = SourceOrder { label: Some(label.into()), ..flags("-O9") };
        assert!(matches!(bench.make(&wrong), Err(CompileError::Label { .. })), "{label}");
    }
    assert_eq!(BuildCache::read(&bench.builder.builds).builds().len(), 4);
}

#[test]
fn a_missing_compiler_is_found_before_anything_is_unpacked() {
    let mut bench = bench();
    let archive = bench.archive("a.tar", &[("configure", CONFIGURE)]);
    fs::remove_file(bench.path("programs/gcc")).unwrap();
    let message = bench.message(&order("postgres:17.6", &archive));
    assert!(message.starts_with("no C compiler (gcc or cc) in /"), "{message}");
    assert!(
        message.ends_with("\nhint: install it; on Debian, run `apt-get install --no-upgrade gcc`"),
        "{message}"
    );
    bench.builder.toolchain = Toolchain::only_in(&bench.path("nowhere"));
    let order = SourceOrder { source: None, ..order("postgres:15.18", "") };
    assert!(bench.message(&order).starts_with("no C compiler (gcc or cc) in /"));
    assert!(bench.builds().is_empty() && !bench.path("sources").exists());
}

#[test]
fn programs_that_a_tree_needs_are_named() {
    let bench = bench();
    fs::remove_file(bench.path("programs/bison")).unwrap();
    let tree = bench.tree("a", &[("configure", CONFIGURE)]);
    let message = bench.message(&order("postgres:17.6", &tree));
    assert!(message.starts_with("no bison in /"), "{message}");
    // This one contains what bison would generate.
    bench.tree("a", &[("src/backend/parser/gram.c", "")]);
    bench.make(&order("postgres:17.6", &tree)).unwrap();
    fs::remove_file(bench.path("programs/cmake")).unwrap();
    let mysql = SourceOrder { setup: Setup::Default, ..order("mysql:8.0.40", &tree) };
    assert!(bench.message(&mysql).contains("`apt-get install --no-upgrade cmake`"));
}

#[test]
fn a_failing_step_shows_its_last_words_and_the_log() {
    let bench = bench();
    let script = "PACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='17.6'\necho 'configure: error: zlib library not found' >&2\nexit 3\n";
    let tree = bench.tree("a", &[("configure", script)]);
    let message = bench.message(&order("postgres:17.6", &tree));
    assert!(
        message.starts_with("configuring postgres 17.6 as o2nofp failed (exit status: 3):\n"),
        "{message}"
    );
    assert!(message.contains("\n  configure: error: zlib library not found\nlog: /"), "{message}");
    assert!(
        message.ends_with(
            "\nhint: zlib1g-dev is missing; on Debian, run `apt-get install --no-upgrade zlib1g-dev`"
        ),
        "{message}"
    );
    // Only the log is left.
    let left = bench.builds();
    assert!(left.len() == 1 && left[0].ends_with(".log"), "{left:?}");
    assert!(message.contains(&left[0]), "{message}");
    assert_eq!(fs::read_dir(&tree).unwrap().count(), 1);
}

#[test]
fn another_source_than_asked_for_is_refused() {
    let bench = bench();
    let archive = bench.archive("pg.tar", &[("configure", CONFIGURE)]);
    let message = bench.message(&order("postgres:17.5", &archive));
    assert!(message.starts_with("pg.tar sha256:"), "{message}");
    assert!(
        message.contains(" is postgres:17.6, not postgres:17.5 as requested\nhint: request postgres:17.6"),
        "{message}"
    );
    assert!(bench.message(&order("postgres:16.x", &archive)).contains("not postgres:16.x as requested"));
    let mysql = SourceOrder { setup: Setup::Default, ..order("mysql:8.0.40", &archive) };
    assert!(bench.message(&mysql).contains("is postgres:17.6, not mysql:8.0.40"));
    let strange = bench.archive("strange.tar", &[("README", "hello")]);
    assert!(
        bench
            .message(&order("postgres:17.6", strange))
            .contains(" is not the source of postgres: it has neither ")
    );
    fs::write(bench.path("broken.tar"), "hello").unwrap();
    let message = bench.message(&order("postgres:17.6", bench.path("broken.tar")));
    assert!(
        message.contains("cannot unpack /") && message.contains("hint: it must be a tar archive"),
        "{message}"
    );
    let used = bench.tree("used", &[("configure", CONFIGURE), ("config.status", "")]);
    let message = bench.message(&order("postgres:17.6", used));
    assert!(
        message.contains("has already been compiled: it contains config.status\nhint: run `make distclean`"),
        "{message}"
    );
    assert!(bench.builds().is_empty());
}

#[test]
fn commits_between_releases_are_part_of_the_name() {
    let bench = bench();
    let tree = bench.repository();
    let released = bench.make(&order("postgres:17.6", bench.path("postgres@REL_17_6"))).unwrap();
    let commit = bench.git(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(released.label, "o2nofp");
    assert_eq!(released.artifact, format!("postgres@{commit}"));
    // The clean working tree of that commit is the same source.
    assert_eq!(bench.make(&order("postgres:17.6", &tree)).unwrap(), released);

    fs::write(tree.join("src/a.c"), "int b;").unwrap();
    bench.git(&tree, &["commit", "-q", "-a", "-m", "2"]);
    let commit = bench.git(&tree, &["rev-parse", "HEAD"]);
    let build = bench.make(&order("postgres:17.6", bench.path("postgres@main"))).unwrap();
    assert_eq!(build.label, format!("o2nofp_{}", &commit[..8]));

    let message = bench.message(&order("postgres:17.6", bench.path("postgres@REL_17_7")));
    assert!(
        message.starts_with("git cannot read /") && message.contains("hint: check the repository"),
        "{message}"
    );
    assert!(
        bench
            .message(&order("postgres:17.6", bench.path("postgres@--output=x")))
            .starts_with("git cannot read /")
    );
}

#[test]
fn a_dirty_working_tree_is_another_source_and_stays_as_it_is() {
    let bench = bench();
    let tree = bench.repository();
    let commit = bench.git(&tree, &["rev-parse", "HEAD"]);
    fs::write(tree.join("src/new.c"), "int n;").unwrap();
    fs::write(tree.join("src/a.o"), "object").unwrap();
    let first = bench.make(&order("postgres:17.6", &tree)).unwrap();
    let start = format!("o2nofp_{}-", &commit[..8]);
    assert!(first.label.starts_with(&start) && first.label.len() == start.len() + 4, "{}", first.label);
    assert!(first.artifact.starts_with(&format!("postgres@{commit} dirty sha256:")), "{}", first.artifact);
    assert_eq!(bench.git(&tree, &["status", "--porcelain"]), "?? src/new.c");
    assert!(!tree.join("prefix").exists());
    // Files that git ignores are not source code, so compiled files in the tree do not matter.
    fs::write(tree.join("src/a.o"), "another object").unwrap();
    assert_eq!(bench.make(&order("postgres:17.6", &tree)).unwrap(), first);
    fs::write(tree.join("src/new.c"), "int m;").unwrap();
    assert_ne!(bench.make(&order("postgres:17.6", &tree)).unwrap().label, first.label);
}

#[test]
fn trees_of_mysql_are_told_apart() {
    let bench = bench();
    let version =
        "MYSQL_VERSION_MAJOR=8\nMYSQL_VERSION_MINOR=0\nMYSQL_VERSION_PATCH=32\nMYSQL_VERSION_EXTRA=\n";
    let order = |source: &Path, name: &str| SourceOrder {
        setup: Setup::Type(name.into()),
        ..order("mysql:8.0.x", source)
    };
    let mysql = bench.tree("mysql", &[("MYSQL_VERSION", version)]);
    let build = bench.make(&order(&mysql, "rel_lessps")).unwrap();
    assert_eq!(build.request().to_string(), "mysql:8.0.32:rel_lessps");
    assert!(build.arguments.iter().any(|text| text == "-DDISABLE_PSI_MUTEX=1"), "{build:?}");
    let log = fs::read_to_string(bench.builder.builds.join(format!("{}.log", build.folder()))).unwrap();
    assert!(log.contains("/source/boost ") && log.contains(" -DCMAKE_CXX_COMPILER=g++ "), "{log}");

    let fb = bench.tree(
        "fb",
        &[("MYSQL_VERSION", version), ("storage/rocksdb/a", ""), (".gitmodules", "\tpath = rocksdb\n")],
    );
    fs::create_dir(fb.join("rocksdb")).unwrap();
    bench.git(&fb, &["init", "-q", "-b", "main"]);
    // Git stores no empty folders, so this stands for a submodule that was not checked out.
    bench.git(&fb, &["update-index", "--add", "--cacheinfo", &format!("160000,{},rocksdb", "1".repeat(40))]);
    bench.git(&fb, &["add", "MYSQL_VERSION", "storage", ".gitmodules"]);
    bench.git(&fb, &["commit", "-q", "-m", "1"]);
    let message = bench.message(&order(&bench.path("fb@HEAD"), "rel"));
    assert!(message.contains("lacks its submodule rocksdb\nhint: "), "{message}");
    assert!(bench.message(&order(&fb, "rel")).contains("lacks its submodule rocksdb"));

    fs::remove_dir_all(fb.join(".git")).unwrap();
    bench.tree("fb", &[("rocksdb/Makefile", "")]);
    let build = bench.make(&order(&fb, "rel_o2nofp")).unwrap();
    assert_eq!(build.request().to_string(), "mysql:8.0.32:fb_rel_o2nofp");
    assert!(build.arguments.iter().any(|text| text.contains("-DROCKSDB_PLATFORM_POSIX")), "{build:?}");
    let message = bench.message(&order(&fb, "rel_lessps"));
    assert!(
        message.starts_with("fb-mysql has no build type \"rel_lessps\"\nhint: choose from rel, "),
        "{message}"
    );
}

#[test]
fn submodules_that_are_checked_out_are_part_of_the_source() {
    let bench = bench();
    let (module, tree) = (bench.tree("module", &[("m.c", "int m;")]), bench.repository());
    bench.git(&module, &["init", "-q", "-b", "main"]);
    bench.git(&module, &["add", "."]);
    bench.git(&module, &["commit", "-q", "-m", "1"]);
    let url = module.display().to_string();
    bench.git(&tree, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "module"]);
    bench.git(&tree, &["commit", "-q", "-m", "2"]);
    let build = bench.make(&order("postgres:17.6", &tree)).unwrap();
    fs::write(tree.join("module/m.c"), "int n;").unwrap();
    let dirty = bench.make(&order("postgres:17.6", &tree)).unwrap();
    assert!(dirty.label.starts_with(&format!("{}-", build.label)), "{} {}", dirty.label, build.label);
}

#[test]
fn defect_03_nothing_that_a_repository_names_is_run() {
    let bench = bench();
    let tree = bench.repository();
    let traces = bench.path("traces");
    fs::create_dir(&traces).unwrap();
    fs::set_permissions(&traces, PermissionsExt::from_mode(0o777)).unwrap();
    let script = bench.path("evil");
    fs::write(&script, format!("#!/bin/sh\n/usr/bin/touch {}/$$\n/bin/cat\n", traces.display())).unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    for name in ["core.fsmonitor", "filter.a=b.clean", "filter.a=b.smudge", "diff.external", "core.pager"] {
        bench.git(&tree, &["config", name, &script]);
    }
    fs::write(tree.join(".git/info/attributes"), "*.c filter=a=b\n").unwrap();
    fs::write(tree.join("src/a.c"), "int c;").unwrap();
    let is_untouched = || fs::read_dir(&traces).unwrap().count() == 0;
    bench.make(&order("postgres:17.6", bench.path("postgres@REL_17_6"))).unwrap();
    assert!(is_untouched(), "of a commit");
    bench.make(&order("postgres:17.6", &tree)).unwrap();
    assert!(is_untouched(), "of a working tree");
}

#[test]
fn defect_03_root_reads_what_belongs_to_another_user_with_that_users_rights() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = bench();
    let tree = bench.repository();
    fs::write(tree.join("src/new.c"), "int n;").unwrap();
    let owned = Command::new("chown").args(["-R", "4000000:4000000"]).arg(&tree).status().unwrap();
    assert!(owned.success());
    bench.make(&order("postgres:17.6", bench.path("postgres@REL_17_6"))).unwrap();
    bench.make(&order("postgres:17.6", &tree)).unwrap();
    // Files that this user may not read are not read on the user's behalf.
    fs::set_permissions(tree.join("src/new.c"), PermissionsExt::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(tree.join("src/new.c"), Some(0), Some(0)).unwrap();
    let message = bench.message(&order("postgres:17.6", &tree));
    assert!(message.contains("Permission denied"), "{message}");
}

#[test]
fn defect_03_sources_are_unpacked_configured_and_compiled_by_the_unprivileged_user() {
    let bench = bench();
    let Some(account) = bench.builder.toolchain.account() else { return };
    let script = format!("{CONFIGURE}echo \"uid $(/usr/bin/id -u) of $(/usr/bin/stat -c %u ./configure)\"\n");
    let files = [("configure", script.as_str())];
    for (source, label) in [(bench.archive("a.tar", &files), "packed"), (bench.tree("a", &files), "plain")] {
        let order = SourceOrder { label: Some(label.into()), ..order("postgres:17.6", &source) };
        let place = bench.builder.builds.join(bench.make(&order).unwrap().folder());
        let log = fs::read_to_string(format!("{}.log", place.display())).unwrap();
        assert!(log.contains(&format!("uid {0} of {0}\n", account.uid)), "{log}");
        let program = place.join("bin/server").metadata().unwrap();
        assert_eq!((program.uid(), place.metadata().unwrap().uid()), (0, 0));
        assert!(place.join(".basecase-programs").is_file());
    }
}

/// Writes its arguments, and the amalgamation that it was given, where `-o` says.
const COMPILER: &str = r#"echo 'gcc version 12.2.0 (toy)' >&2
words="$*"
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then (echo "$words"; /bin/cat sqlite3.c) > "$2"; fi; shift; done"#;
const HEADER: &str = "#define SQLITE_VERSION        \"3.45.0\"\n";

/// What the toy compiler left as the library of SQLite.
fn library(bench: &Bench, order: &SourceOrder) -> String {
    let made = bench.make(order).unwrap();
    let place = BuildCache::read(&bench.builder.builds).place(&made);
    fs::read_to_string(place.join("lib/libsqlite3.so")).unwrap()
}

#[test]
fn sqlite_is_one_call_of_the_compiler_on_an_amalgamation_or_on_what_its_own_tree_makes() {
    let mut bench = bench();
    bench.tree("programs", &[("gcc", &format!("#!/bin/sh\n{COMPILER}\n"))]);
    bench.tree("programs", &[("make", "#!/bin/sh\necho \"/* made by $* */\" > sqlite3.c\n")]);
    std::os::unix::fs::symlink("/usr/bin/install", bench.path("programs/install")).unwrap();
    let plain = bench.tree("plain", &[("sqlite3/sqlite3.c", "int a;\n"), ("sqlite3/sqlite3.h", HEADER)]);
    let flags = |source: &Path| SourceOrder {
        setup: Setup::Flags("-O1 -march=native".into()),
        configure: vec!["CC=gcc -m64".into(), "-DSQLITE_DEFAULT_MEMSTATUS=0".into()],
        ..order("sqlite:3.45.x", source)
    };
    let made = library(&bench, &flags(&plain));
    assert!(made.starts_with("-m64 -g -fPIC -shared ") && made.contains(" -O1 -march=native "), "{made}");
    assert!(made.contains(" -DSQLITE_DEFAULT_MEMSTATUS=0 ") && !made.contains("CC="), "{made}");
    assert!(made.ends_with("int a;\n"), "{made}");
    let own =
        [("VERSION", "3.45.0\n"), ("src/sqlite.h.in", ""), ("configure", ""), ("autosetup/jimsh0.c", "")];
    let tree = bench.tree("own", &own);
    assert!(library(&bench, &order("sqlite:3.45.0", &tree)).ends_with("/* made by sqlite3.c */\n"));
    let old = bench.tree("old", &own[..3]);
    assert!(bench.message(&order("sqlite:3.45.0", &old)).starts_with("no tclsh in "));

    // What a recipe describes has no label, so that no name means it, and is not what a user made of the same source.
    let named = SourceOrder { label: Some("own".into()), ..order("sqlite:3.45.0", &plain) };
    let labelled = bench.make(&named).unwrap();
    bench.builder.labels = false;
    let unlabelled = bench.make(&order("sqlite:3.45.0", &plain)).unwrap();
    assert_eq!((labelled.label.as_str(), unlabelled.label.as_str()), ("own", ""));
    let cache = BuildCache::read(&bench.builder.builds);
    assert!(cache.find(&"sqlite:3.45.0:source".parse().unwrap()).is_err(), "three have labels");
    let digest = unlabelled.artifact.rsplit(':').next().unwrap();
    assert_eq!(cache.of_archive(digest), Some(&unlabelled));
    assert!(cache.builds().iter().all(|build| !build.label.is_empty()));
}
