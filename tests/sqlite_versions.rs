//! SQLite's own versions: compiled from their source, loaded beside the one inside basecase, and measured with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use basecase_client::Session;
use basecase_client::sqlite::{File, Library, SqliteSession};
use basecase_model::Value;
use basecase_tests::Sandbox;

/// A step that every version knows, and one with a function of 3.32.
const WORKLOAD: &str = "[tables.t]\nrows = 100\ncolumns = [{ name = \"id\", type = \"integer not null\", content = \"row\" }]\n\
    [statements]\nold = \"select count(*) from {table}\"\nnew = \"select iif(1, 2, 3) from {table}\"\n\
    [[steps]]\nname = \"old\"\nevent = \"old\"\n[[steps]]\nname = \"new\"\nevent = \"new\"\n";

/// Compiles the oldest version without optimisation, which takes a tenth of the time, and returns its library.
fn oldest(sandbox: &Sandbox) -> PathBuf {
    let get = sandbox.output(&["server", "get", "sqlite:3.17.0", "--from", "source", "--flags=-O0"]);
    let said = String::from_utf8_lossy(&get.stdout);
    assert!(get.status.success() && said.starts_with("sqlite:3.17.0:o0  sqlite31700_o0  gcc "), "{get:?}");
    PathBuf::from(said.trim().rsplit(' ').next().unwrap()).join("libsqlite3.so")
}

#[test]
fn an_old_version_is_compared_with_the_bundled_one_and_fails_where_it_knows_no_statement() {
    let sandbox = Sandbox::new();
    let library = Library::load(&oldest(&sandbox)).unwrap();
    let version = |library: &Library| {
        let path = sandbox.path().join(format!("{}.sqlite", library.version()));
        let file = File { library: library.clone(), path, pragmas: Vec::new() };
        let mut session = SqliteSession::open(&file).unwrap();
        session.query("create table t (c text)").unwrap();
        session.query("select sqlite_version()").unwrap()
    };
    assert_eq!(version(&library), [[Value::Text("3.17.0".into())]]);
    assert_eq!(version(&Library::bundled()), [[Value::Text(Library::bundled().version().into())]]);

    sandbox.write("own.toml", WORKLOAD);
    let run = sandbox.output(&[
        "compare",
        "sqlite:3.17.0:o0",
        "sqlite",
        "--workload",
        "./own.toml",
        "--option",
        "seconds=0.2",
        "--settle",
        "off",
        "--store",
        "s.sqlite",
        "--data",
        "d",
    ]);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("no such function: iif"), "{said}");
    let report = sandbox.output(&["report", "s.sqlite", "--format", "text", "--full"]);
    let said = String::from_utf8_lossy(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["sqlite 3.17.0", &format!("sqlite {}", Library::bundled().version()), "-O0"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_is_no_library_of_sqlite_is_refused_before_anything_is_done() {
    let sandbox = Sandbox::new();
    let refused = |path: &str| {
        let candidate = format!("path:{path}");
        let run = sandbox.output(&["compare", &candidate, "sqlite", "--store", "s.sqlite", "--data", "d"]);
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        sandbox.filter(&String::from_utf8_lossy(&run.stderr))
    };
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.split_whitespace().find(|word| word.contains("/libc.so")).unwrap();
    let said = refused(libc);
    assert!(said.contains("is no library of SQLite: it lacks the function sqlite3_libversion"), "{said}");
    let source = "const char *sqlite3_libversion(void) { return \"3.40.0\"; }\n\
                  const char *sqlite3_sourceid(void) { return \"\"; }\n\
                  int sqlite3_threadsafe(void) { return 1; }\n";
    sandbox.write("part.c", source);
    let compile = |arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        assert!(compiler.args(arguments).current_dir(sandbox.path()).status().unwrap().success());
    };
    compile(&["-shared", "-fPIC", "-o", "libpart.so", "part.c"]);
    let said = refused("libpart.so");
    assert!(said.contains("libpart.so lacks the function sqlite3_open_v2, which basecase calls"), "{said}");
    sandbox.write("text.so", "no library\n");
    assert!(refused("text.so").contains("cannot load "), "a text");
    assert!(refused("none.so").contains("no server program"), "no file");
}
