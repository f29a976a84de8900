//! What servers saw: their logs of statements, read into sessions.

use std::collections::BTreeMap;
use std::path::Path;

/// Settings with which Postgres logs every statement with its values, and the types that a client declared for them.
pub(crate) const POSTGRES: [&str; 5] = [
    "log_statement=all",
    "log_min_duration_statement=0",
    "log_line_prefix=%c|",
    "debug_print_parse=on",
    "debug_pretty_print=off",
];
/// Settings with which MySQL and MariaDB log every statement with its values.
pub(crate) const MYSQL: [&str; 2] = ["general_log=1", "general_log_file=general.log"];

/// Type ids of Postgres.
const INT8: &str = "20";
const VARCHAR: &str = "1043";

/// One session of a client.
#[derive(Debug, Default)]
pub(crate) struct Session {
    id: String,
    /// Texts that were prepared, with `?` for each parameter.
    pub(crate) prepared: Vec<String>,
    pub(crate) executed: Vec<Executed>,
}

/// A statement as it was executed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) is_prepared: bool,
    /// With values in the place of parameters: bare 64-bit integers, and texts in quotes.
    pub(crate) text: String,
}

/// Reads the log of this name below a folder.
pub(crate) fn read(folder: &Path, name: &str) -> String {
    let path = find(folder, name).unwrap_or_else(|| panic!("no {name} in {}", folder.display()));
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find(&path, name) } else { (entry.file_name() == name).then_some(path) }
    })
}

/// The session of this id; sessions stand in the order in which they began.
fn session<'a>(sessions: &'a mut Vec<Session>, id: &str) -> &'a mut Session {
    let index = sessions.iter().rposition(|session| session.id == id).unwrap_or_else(|| {
        sessions.push(Session { id: id.to_owned(), ..Session::default() });
        sessions.len() - 1
    });
    &mut sessions[index]
}

/// Sessions without what they did before they were measured and what they are asked afterwards, and without those that only came and went.
fn measured_alone(sessions: Vec<Session>) -> Vec<Session> {
    let is_beside = |text: &str| {
        text.contains("history_")
            || text.contains("from pg_prepared_statements")
            || ["SELECT ? + ", "SELECT 1 + "].iter().any(|begin| text.starts_with(begin))
    };
    let shorten = |mut session: Session| {
        let statements = |session: &Session| session.prepared.len() + session.executed.len();
        let before = statements(&session);
        session.prepared.retain(|text| !is_beside(text));
        session.executed.retain(|executed| !is_beside(&executed.text));
        (before == 0 || statements(&session) > 0).then_some(session)
    };
    sessions.into_iter().filter_map(shorten).collect()
}

/// Sessions in a general log of MySQL or MariaDB.
pub(crate) fn of_mysql(log: &str) -> Vec<Session> {
    let mut entries: Vec<(&str, &str, String)> = Vec::new();
    for line in log.lines() {
        // The time comes first, in MariaDB only where it differs from the line before.
        let entry = line.match_indices('\t').take(2).find_map(|(tab, _)| {
            let (command, argument) = line[tab + 1..].split_once('\t')?;
            let (id, command) = command.trim_start().split_once(' ')?;
            id.parse::<u64>().is_ok().then(|| (id, command, argument.to_owned()))
        });
        match (entry, entries.last_mut()) {
            (Some(entry), _) => entries.push(entry),
            (None, Some((_, _, text))) => text.extend(["\n", line]),
            (None, None) => {}
        }
    }
    let mut sessions = Vec::new();
    for (id, command, text) in entries {
        let text = on_one_line(&text);
        // Others begin no session: the server may write that an earlier one has quit only after the next one's first.
        match command {
            "Prepare" => session(&mut sessions, id).prepared.push(text),
            "Execute" => session(&mut sessions, id).executed.push(Executed { is_prepared: true, text }),
            "Query" => session(&mut sessions, id).executed.push(Executed { is_prepared: false, text }),
            _ => {}
        }
    }
    measured_alone(sessions)
}

/// A text in which any white space is one blank.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sessions in a log of Postgres.
pub(crate) fn of_postgres(log: &str) -> Vec<Session> {
    let mut sessions = Vec::new();
    // Types of the parameters: in the last tree, and by session and name of the statement.
    let mut tree = Vec::new();
    let mut types: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let mut last_executed = None;
    for (id, entry) in entries(log) {
        if let Some(parameters) = entry.strip_prefix("DETAIL:  Parameters: ") {
            if let Some(name) = last_executed.take() {
                let executed = session(&mut sessions, id).executed.last_mut().unwrap();
                executed.text = filled(&executed.text, &values(parameters, &types[&(id, name)]));
            }
        } else if entry.starts_with("DETAIL:  {QUERY") {
            tree = types_of(entry);
        } else if let Some(text) = entry.strip_prefix("LOG:  statement: ") {
            let executed = Executed { is_prepared: false, text: on_one_line(text) };
            session(&mut sessions, id).executed.push(executed);
        } else if let Some((name, text)) = entry.strip_prefix("LOG:  execute ").and_then(named) {
            let executed = Executed { is_prepared: true, text: on_one_line(text) };
            session(&mut sessions, id).executed.push(executed);
            last_executed = Some(name);
        } else if let Some((name, text)) =
            entry.split_once(" ms  parse ").and_then(|(_, statement)| named(statement))
        {
            let parameters = vec!["?".to_owned(); tree.len()];
            session(&mut sessions, id).prepared.push(filled(&on_one_line(text), &parameters));
            types.insert((id, name), std::mem::take(&mut tree));
        } else if entry.contains(" ms  bind ") {
            last_executed = None;
        }
    }
    measured_alone(sessions)
}

/// Session and text of each entry, with the lines that go on.
fn entries(log: &str) -> Vec<(&str, &str)> {
    let mut starts: Vec<usize> = log.match_indices('\n').map(|(end, _)| end + 1).collect();
    starts.insert(0, 0);
    starts.retain(|start| log[*start..].starts_with(|letter: char| letter.is_ascii_hexdigit()));
    let ends = starts.iter().skip(1).copied().chain([log.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| log[*start..end].trim_end().split_once('|')).collect()
}

fn named(statement: &str) -> Option<(&str, &str)> {
    statement.split_once(": ")
}

/// The declared type of each parameter in a tree of the parser.
fn types_of(tree: &str) -> Vec<String> {
    let words: Vec<&str> = tree.split_whitespace().collect();
    let mut types = BTreeMap::new();
    for words in words.windows(4).filter(|words| words[0] == ":paramid" && words[2] == ":paramtype") {
        types.insert(words[1].parse::<usize>().unwrap(), words[3].to_owned());
    }
    types.into_values().collect()
}

/// The values of parameters as they would stand in a text. A type that is not expected shows itself.
fn values(parameters: &str, types: &[String]) -> Vec<String> {
    let values = parameters.split(", $").map(|parameter| parameter.split_once(" = ").unwrap().1);
    let value = |(value, kind): (&str, &String)| match kind.as_str() {
        INT8 => value.trim_matches('\'').to_owned(),
        VARCHAR => value.to_owned(),
        other => format!("{value}::{other}"),
    };
    values.zip(types).map(value).collect()
}

/// Puts values in the places of `$1`, `$2` ….
fn filled(text: &str, values: &[String]) -> String {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let number: usize = part[..part.len() - rest.len()].parse().unwrap();
        filled.push_str(&values[number - 1]);
        filled.push_str(rest);
    }
    filled
}
