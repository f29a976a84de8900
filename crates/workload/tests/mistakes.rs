//! Error messages for bad workload files and bad requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use basecase_workload::{Dialect, Workload, WorkloadError};

/// A correct file with one place changed.
fn changed(from: &str, to: &str) -> String {
    let file = r##"
about = "mine"
distribution = "kind"
[options]
tables = { default = 2, least = 1, help = "tables" }
size = { default = 100, most = 1_000, help = "rows" }
range = { default = 10, least = 1, most = "size", help = "range" }
loud = { default = false, help = "x" }
kind = { default = "uniform", choices = ["uniform", "zipfian"], help = "distribution" }
[templates]
name = "@@@@"
[tables.shop]
count = "tables"
rows = "size"
primary_key = "id"
columns = [
  { name = "id", type = { postgres = "serial", other = "integer" } },
  { name = "name", type = "varchar(10)", content = "name" },
]
[statements]
get = { sql = "select name from {table} where id between {low: 1..size} and {low + range - 1}", fetches = "min(range, size - low + 1)" }
put = "update {table} set name = {name} where id in ({1..size zipfian(0.5)}*range)"
[events.both]
transaction = "not loud"
do = [{ do = "get", times = "range" }, "put"]
[[steps]]
name = "mixed"
event = "both"
[lists.all]
order = ["mixed"]
"##;
    assert!(file.contains(from), "{from}");
    file.replacen(from, to, 1)
}

/// The mistake, and the text of the file that it points at.
fn mistake(from: &str, to: &str) -> (String, String) {
    let file = changed(from, to);
    let error = Workload::load(&file, "mine.toml").expect_err(to);
    let WorkloadError::File { line, column, .. } = &error else { panic!("{error}") };
    let line = file.lines().nth(line - 1).unwrap_or_default();
    (error.to_string(), line.chars().skip(column - 1).collect())
}

#[test]
fn the_unchanged_file_is_right() {
    let workload =
        Workload::load(&changed("mine", "mine"), "mine.toml").unwrap_or_else(|error| panic!("{error}"));
    let parameters = workload.options(&[]).unwrap();
    let steps = workload.steps(&parameters, &[]).unwrap();
    for dialect in [Dialect::Postgres, Dialect::Sqlite] {
        assert!(workload.describe(&parameters, &steps, dialect).is_ok());
    }
}

#[test]
fn the_example_of_the_manual_is_right() {
    let manual = include_str!("../../../docs/formats.md");
    let section = manual.split_once("## Workload files").unwrap().1;
    let lines = section.lines().skip_while(|line| !line.starts_with("    "));
    let example = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let example: String = example.map(|line| format!("{}\n", line.trim())).collect();
    let workload = Workload::load(&example, "manual.toml").unwrap_or_else(|error| panic!("{error}"));
    let parameters = workload.options(&[]).unwrap();
    let steps = workload.steps(&parameters, &["shopping"]).unwrap();
    let text = workload.describe(&parameters, &steps, Dialect::Postgres).unwrap();
    assert!(text.contains("10 × prepared: select name from article1 where id = $1"), "{text}");
}

#[test]
fn mistakes_name_the_place_and_the_nearest_name() {
    for (from, to, at, text) in [
        ("{name}", "{nam}", "nam}", "unknown placeholder `nam`\nhint: did you mean `name`?"),
        ("{low + range", "{lov + range", "lov", "unknown name `lov`\nhint: did you mean `low`?"),
        (
            "zipfian(0.5)",
            "zipfan(0.5)",
            "zipfan(",
            "unknown distribution `zipfan`\nhint: did you mean `zipfian`?",
        ),
        ("zipfian(0.5)", "zipfian(0.5, 1)", "zipfian(", "takes at most 1 parameters"),
        ("zipfian(0.5)", "zipfian(name)", "name)", "unknown option `name`"),
        ("count = \"tables\"", "count = \"table_count\"", "table_count", "unknown name `table_count`"),
        ("rows = \"size\"", "rows = \"loud\"", "loud", "option `loud` is not an integer"),
        ("\"not loud\"", "\"not size\"", "size", "option `size` is not on or off"),
        ("\"not loud\"", "\"not laud\"", "laud", "unknown option `laud`\nhint: did you mean `loud`?"),
        ("\"put\"]", "\"pur\"]", "\"pur\"]", "unknown statement `pur`\nhint: did you mean `put`?"),
        (
            "event = \"both\"",
            "event = \"bath\"",
            "\"bath\"",
            "unknown event `bath`\nhint: did you mean `both`?",
        ),
        (
            "order = [\"mixed\"]",
            "order = [\"mixd\"]",
            "\"mixd\"",
            "unknown step `mixd`\nhint: did you mean `mixed`?",
        ),
        (
            "transaction =",
            "tranaction =",
            "tranaction",
            "unknown key `tranaction`\nhint: did you mean `transaction`?",
        ),
        ("postgres =", "postgre =", "postgre =", "unknown key `postgre`"),
        ("other = \"integer\"", "mysql = \"integer\"", "{ postgres", "there is no value for sqlite"),
        ("tables = { default = 2", "tables = { defalt = 2", "{ defalt", "`default` is missing"),
        ("default = 2, least = 1", "default = 0, least = 1", "0, least", "tables is 0, which is below 1"),
        ("name = \"@@@@\"", "loud = \"@@@@\"", "loud", "`loud` is also an option"),
        ("{low: 1", "{size: 1", "{size", "`size` is also an option"),
        ("{1..size zipfian", "{1..low zipfian", "low", "unknown name `low`"),
        ("*range", "*rangy", "rangy", "unknown name `rangy`"),
        ("default = \"uniform\"", "default = \"normal\"", "\"normal\"", "kind cannot be `normal`"),
        ("\"zipfian\"]", "\"zipf\"]", "kind =", "unknown distribution `zipf`"),
        (
            "put = \"update",
            "begin = \"update",
            "begin",
            "`begin` is reserved for the beginning and the end of a transaction",
        ),
        ("[tables.shop]", "[tabels.shop]", "tabels", "unknown key `tabels`\nhint: did you mean `tables`?"),
        ("about = \"mine\"", "about = mine", "mine", ""),
        ("name = \"name\", type", "name = \"name\", typ", "{ name = \"name\"", "`type` is missing"),
    ] {
        let (message, rest) = mistake(from, to);
        assert!(message.starts_with("mine.toml, line "), "{message}");
        assert!(message.contains(text), "{to}: {message}");
        assert!(rest.starts_with(at), "{to}: points at `{rest}`: {message}");
    }
}

#[test]
fn a_statement_without_a_table_is_refused() {
    let file = "[statements]\nget = \"select 1 from {table}\"\n[[steps]]\nname = \"a\"\nevent = \"get\"\n";
    let error = Workload::load(file, "mine.toml").unwrap_err().to_string();
    assert!(
        error.contains("line 2, column 1: statement `get` needs a table, but the file defines none"),
        "{error}"
    );
    let file = file.replace(" from {table}", "");
    assert!(Workload::load(&file, "mine.toml").is_ok(), "a statement may do without tables");
}

fn refusal(options: &[(&str, &str)], steps: &[&str]) -> String {
    let workload = Workload::builtin("microbenchmarks").unwrap().unwrap();
    let made = workload.options(options).and_then(|parameters| {
        let steps = workload.steps(&parameters, steps)?;
        steps.iter().try_for_each(|step| workload.plan(&parameters, step, Dialect::Postgres).map(drop))
    });
    made.expect_err("refused").to_string()
}

#[test]
fn requests_that_cannot_be() {
    let refused = |options: &[(&str, &str)], steps: &[&str], text: &str| {
        let message = refusal(options, steps);
        assert!(message.contains(text), "{message}");
        assert!(message.contains("\nhint: "), "{message}");
    };
    refused(&[("table", "2")], &[], "unknown option `table`\nhint: did you mean `tables`?");
    refused(&[("rows", "many")], &[], "rows is `many`\nhint: give an integer");
    refused(&[("rows", "2147483648")], &[], "rows is 2147483648, which is above 2147483647");
    refused(&[("rows", "1")], &[], "rows is 1, which is below 2");
    refused(&[("threads", "0")], &[], "threads is `0`");
    refused(&[("mode", "tidy")], &[], "mode is `tidy`");
    refused(
        &[],
        &["point-qery"],
        "unknown step, list or group `point-qery`\nhint: did you mean `point-query`?",
    );
    refused(&[], &["random-points=11"], "unknown step, list or group `random-points=11`");
    refused(&[("rows", "50")], &["range-covered-pk"], "range is 100, which is above rows, which is 50");
    refused(&[("rows", "5000")], &["read-only=10000"], "range is 10000, which is above rows, which is 5000");
    refused(&[("rows", "5")], &["update-inlist"], "update_ids is 10, which is above rows");
    refused(&[("zipfian-exponent", "-1")], &["update-zipf"], "exponent of distribution `zipfian` is -1");
    // Where the range has no meaning it is not checked.
    let workload = Workload::builtin("microbenchmarks").unwrap().unwrap();
    let parameters = workload.options(&[("rows", "50")]).unwrap();
    assert!(workload.steps(&parameters, &["point-query", "write-only", "update-one"]).is_ok());
}

proptest::proptest! {
    /// If any piece of a correct file is cut out, doubled or replaced, reading does not panic, and mistakes lie within the file.
    #[test]
    fn no_file_panics(start in 0usize..1_400, length in 0usize..60, filling in "[\\[\\]{}a-z0-9 ='\".,*#\n-]{0,12}") {
        let file = changed("mine", "mine");
        let start = start.min(file.len());
        let end = (start + length).min(file.len());
        let broken = format!("{}{filling}{}", &file[..start], &file[end..]);
        match Workload::load(&broken, "mine.toml") {
            Err(WorkloadError::File { line, column, .. }) => {
                let lines: Vec<&str> = broken.split('\n').collect();
                proptest::prop_assert!(line <= lines.len());
                proptest::prop_assert!(column <= lines[line - 1].chars().count() + 1);
            }
            Err(other) => proptest::prop_assert!(false, "{other}"),
            Ok(workload) => {
                // What was read can be requested; the request may still be refused.
                if let Ok(parameters) = workload.options(&[])
                    && let Ok(steps) = workload.steps(&parameters, &[])
                {
                    let _ = workload.describe(&parameters, &steps, Dialect::Postgres);
                }
            }
        }
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = Workload::load(&text, "mine.toml");
    }
}
