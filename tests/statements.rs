//! What a real Postgres saw: the statements of a tiny run in its log, by shape and count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use basecase_model::{OperationClass, Trial};
use basecase_store::Store;
use basecase_tests::Sandbox;

/// A statement with its numbers and strings taken out, and its rows counted.
fn shape(statement: &str) -> String {
    if let Some((head, values)) = statement.split_once(" values ") {
        let rows: Vec<&str> = values.split("), (").collect();
        for row in &rows {
            let fields: Vec<&str> = row.trim_matches(['(', ')']).split(',').collect();
            assert_eq!(fields.len(), 6, "{row}");
            assert!(fields[0].starts_with('\'') && fields[5].starts_with('\''), "{row}");
            // Plain integers: the reference's `123.00` makes the server parse a numeric and cast it.
            assert!(fields[1..5].iter().all(|field| field.parse::<u32>().is_ok()), "{row}");
        }
        return format!("{head} values × {}", rows.len());
    }
    let mut shape = String::new();
    let mut previous = ' ';
    for letter in statement.chars() {
        let in_name = previous.is_ascii_alphanumeric() || previous == '$' || previous == '_';
        match letter {
            '0'..='9' if previous == '#' => continue,
            '0'..='9' if !in_name => shape.push('#'),
            _ => shape.push(letter),
        }
        previous = shape.chars().last().unwrap_or(' ');
    }
    shape
}

/// The newest file of that name below a folder.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find(&path, name) } else { (entry.file_name() == name).then_some(path) }
    })
}

/// A run of a candidate at the smallest size that has every statement, its server's logs on, and its trials.
fn tiny_run(sandbox: &Sandbox, candidate: &str, settings: &[&str]) -> Vec<Trial> {
    let mut arguments =
        vec!["compare", candidate, "--store", "s.sqlite", "--data", "data", "--keep-data", "--probe", "off"];
    arguments.extend(["--rows", "1000", "--writes", "100", "--seconds", "1", "--settle", "off"]);
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = sandbox.command(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    store.trials(&experiment.id).unwrap()
}

/// How often each shape of statement stands among `statements`.
fn count_shapes<'a>(statements: impl Iterator<Item = &'a str>) -> BTreeMap<String, u64> {
    let mut shapes: BTreeMap<String, u64> = BTreeMap::new();
    for statement in statements {
        let first = statement.split([' ', ';']).next().unwrap_or_default().to_lowercase();
        assert!(!["begin", "start", "commit", "rollback"].contains(&first.as_str()), "{statement}");
        *shapes.entry(shape(statement)).or_default() += 1;
    }
    shapes
}

/// Queries of the steps whose names begin with `prefix`.
fn queries(trials: &[Trial], prefix: &str) -> u64 {
    let steps = trials.iter().filter(|trial| trial.step.starts_with(prefix));
    steps.flat_map(|trial| trial.roles_of(OperationClass::Query)).map(|role| role.statements).sum()
}

/// Statements beside the main ones, over all steps.
fn asides(trials: &[Trial], name: &str) -> u64 {
    let roles = trials.iter().flat_map(|trial| &trial.roles);
    roles.flat_map(|role| &role.asides).filter(|aside| aside.name == name).map(|aside| aside.count).sum()
}

const INSERT: &str =
    "insert into pi1 (dateandtime, cashregisterid, customerid, productid, price, data) values";

#[test]
fn a_tiny_run_has_exactly_the_statements_of_the_specification() {
    let sandbox = Sandbox::new();
    let trials = tiny_run(&sandbox, "postgres:17.11", &["log_statement=all", "log_line_prefix=%a|"]);

    let log = std::fs::read_to_string(find(&sandbox.path().join("data"), "server.log").unwrap()).unwrap();
    let statements = log.lines().filter_map(|line| line.strip_prefix("basecase|LOG:  statement: "));
    let shapes = count_shapes(statements);
    let count = |shape: &str| shapes.get(shape).copied().unwrap_or(0);

    // Rounds: l.i0 10, l.x 1, l.i1 2 (80 rows of 50), l.i2 4 (20 rows of 5), then 2, 2, 10, 10, 20, 20 of 50.
    assert_eq!(count(&format!("{INSERT} × 100")), 10 + 1);
    assert_eq!(count(&format!("{INSERT} × 50")), 2 + 64);
    assert_eq!(count(&format!("{INSERT} × 5")), 4);
    let delete = "delete from pi1 where transactionid in (select transactionid from pi1 where transactionid >= # order by transactionid asc limit #)";
    assert_eq!(count(delete), 2 + 4 + 64);
    for (index, columns) in [
        ("marketsegment", "productid, customerid, price"),
        ("registersegment", "cashregisterid, customerid, price"),
        ("pdc", "price, dateandtime, customerid"),
    ] {
        assert_eq!(count(&format!("create index pi1_{index} on pi1 ({columns})")), 1, "{index}");
    }
    assert_eq!(count("alter sequence pi1_transactionid_seq cache #"), 1);

    // Three range queries are prepared by the querier of each of the three qr steps, the point query by those of the qp steps.
    for (name, columns, condition) in [
        ("market", "productid, customerid, price", "productid >= $1"),
        ("register", "cashregisterid, customerid, price", "cashregisterid > $1"),
        ("pdc", "price, dateandtime, customerid", "price >= $1"),
    ] {
        let prepare = format!(
            "prepare {name} (int) as select {columns} from pi1 where {condition} order by {columns} limit #"
        );
        assert_eq!(count(&prepare), 3, "{prepare}\n{shapes:#?}");
    }
    let prepares = shapes.iter().filter(|(shape, _)| shape.starts_with("prepare point (bigint, "));
    assert_eq!(prepares.map(|(_, count)| count).sum::<u64>(), 3);

    // Every query that was counted was sent, and none besides.
    let ranges = count("execute market (#)") + count("execute register (#)") + count("execute pdc (#)");
    assert_eq!(ranges, queries(&trials, "qr"));
    assert_eq!(count("execute point (#, #, #, #, #, #, #, #, #, #)"), queries(&trials, "qp"));
    // The state after each step is read once more with either.
    assert_eq!(count("select min(transactionid) from pi1"), asides(&trials, "min_id") + 10);
    assert_eq!(count("select max(transactionid) from pi1"), asides(&trials, "max_id") + 10);
    assert_eq!(asides(&trials, "min_id"), 8);
}

/// What MySQL and MariaDB saw, from the general query log.
fn general_log(candidate: &str) -> (BTreeMap<String, u64>, Vec<Trial>) {
    let sandbox = Sandbox::new();
    let trials = tiny_run(&sandbox, candidate, &["general_log=1", "general_log_file=general.log"]);
    let log = std::fs::read_to_string(find(&sandbox.path().join("data"), "general.log").unwrap()).unwrap();
    (count_shapes(log.lines().filter_map(|line| Some(line.split_once(" Query\t")?.1))), trials)
}

#[test]
fn a_tiny_run_on_mysql_has_exactly_the_statements_of_the_specification() {
    for (candidate, is_rocksdb) in [("mysql:8.0.31", false), ("mariadb:10.11.18#rocksdb", true)] {
        let (shapes, trials) = general_log(candidate);
        let count = |shape: &str| shapes.get(shape).copied().unwrap_or(0);
        assert_eq!(count(&format!("{INSERT} × 100")), 10 + 1, "{shapes:#?}");
        assert_eq!(count(&format!("{INSERT} × 50")), 2 + 64);
        assert_eq!(count(&format!("{INSERT} × 5")), 4);
        let delete = "delete from pi1 where transactionid >= # order by transactionid asc limit #";
        assert_eq!(count(delete), 2 + 4 + 64);

        let indexes = [
            ("marketsegment", "productid, customerid, price", "productid >= #"),
            ("registersegment", "cashregisterid, customerid, price", "cashregisterid > #"),
            ("pdc", "price, dateandtime, customerid", "price >= #"),
        ];
        let added = indexes.map(|(index, columns, _)| format!("add index pi1_{index} ({columns})"));
        assert_eq!(count(&format!("alter table pi1 {}", added.join(", "))), u64::from(!is_rocksdb));
        for one in added {
            assert_eq!(count(&format!("alter table pi1 {one}")), u64::from(is_rocksdb));
        }
        let ranges = indexes.map(|(index, columns, condition)| {
            count(&format!(
                "select {columns} from pi1 force index (pi1_{index}) where {condition} order by {columns} limit #"
            ))
        });
        assert!(ranges.iter().all(|count| *count > 0), "{ranges:?}");
        assert_eq!(ranges.iter().sum::<u64>(), queries(&trials, "qr"));
        let point = "select transactionid, productid, data from pi1 where transactionid in (#, #, #, #, #, #, #, #, #, #)";
        assert_eq!(count(point), queries(&trials, "qp"));
        assert!(count("select min(transactionid) from pi1") >= asides(&trials, "min_id"));
        assert_eq!(asides(&trials, "min_id"), 8);
    }
}
