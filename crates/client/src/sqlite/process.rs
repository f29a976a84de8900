//! A session with SQLite in a process of its own, so that somebody can watch what SQLite does there: statements go to it through a socket,
//! a line of JSON for each, and answers come back.

use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use basecase_model::{Operation, Parameter, ParameterType, Reply, Value};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::{File, Library, SqliteSession};
use crate::{Error, Interrupter, Session, arranged};

/// How long a process may take to end once its session is over.
const END_PATIENCE: Duration = Duration::from_secs(120);
/// How long to wait for its end until the next look at whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a process is told, first of all and then for each statement.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Open { path: PathBuf, pragmas: Vec<(String, String)> },
    Prepare { sql: String },
    Execute { prepared: Option<usize>, text: String, parameters: Vec<Bound> },
    Query { sql: String },
}

#[derive(Debug, Serialize, Deserialize)]
enum Bound {
    Integer(i64),
    Text(u32, u32),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// By the process of this number.
    Opened(u32),
    Prepared(usize),
    Replied {
        fetched: u64,
        affected: u64,
        first: Option<i64>,
    },
    Rows(Vec<Vec<Cell>>),
    Failed(String),
}

#[derive(Debug, Serialize, Deserialize)]
enum Cell {
    Null,
    Integer(i64),
    Text(String),
}

/// A session whose statements are executed by another process.
pub(crate) struct ProcessSession {
    process: u32,
    stream: BufReader<UnixStream>,
    outcome: Option<Result<Reply, Error>>,
    /// The numbers by which the process knows the prepared statements.
    prepared: Vec<usize>,
}

impl ProcessSession {
    /// Begins a session with the process at the other end of `stream`.
    pub(super) fn begin(stream: UnixStream, file: &File) -> Result<Self, Error> {
        let stream = BufReader::new(stream);
        let mut session = ProcessSession { process: 0, stream, outcome: None, prepared: Vec::new() };
        let File { path, pragmas, .. } = file.clone();
        match session.ask(&Request::Open { path, pragmas })? {
            Answer::Opened(process) => session.process = process,
            _ => return Err(Error::unanswered()),
        }
        Ok(session)
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        let broken = |problem: &dyn std::fmt::Display| {
            Error::refusal(
                format!("the process of the session: {problem}"),
                "see what it wrote to standard error",
            )
        };
        write_line(self.stream.get_ref(), request).map_err(|error| broken(&error))?;
        let mut text = String::new();
        self.stream.read_line(&mut text).map_err(|error| broken(&error))?;
        match serde_json::from_str(&text).map_err(|_| broken(&"it has ended without an answer"))? {
            Answer::Failed(problem) => {
                let (message, hint) =
                    problem.split_once("\nhint: ").unwrap_or((&problem, "see the statement"));
                Err(Error::refusal(message, hint))
            }
            answer => Ok(answer),
        }
    }

    /// Whether the process has ended. It keeps its end of the socket until then.
    fn has_ended(&mut self) -> bool {
        match self.stream.get_mut().read(&mut [0; 64]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), Interrupted | TimedOut | WouldBlock),
        }
    }
}

/// Writes a request or an answer at once.
fn write_line(mut output: impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)
}

impl Session for ProcessSession {
    fn prepare_with_types(&mut self, sql: &str, _: &[ParameterType]) -> Result<usize, Error> {
        match self.ask(&Request::Prepare { sql: sql.to_owned() })? {
            Answer::Prepared(number) => {
                self.prepared.push(number);
                Ok(self.prepared.len() - 1)
            }
            _ => Err(Error::unanswered()),
        }
    }

    fn arrange(&mut self, numbers: &[usize]) {
        self.prepared = arranged(std::mem::take(&mut self.prepared), numbers);
    }

    fn send(&mut self, operation: &Operation) -> Result<(), Error> {
        let parameters = operation.parameters.iter().map(|parameter| match parameter {
            Parameter::Integer(integer) => Bound::Integer(*integer),
            Parameter::Text { start, end } => Bound::Text(*start, *end),
        });
        let request = Request::Execute {
            prepared: operation.prepared.map(|number| self.prepared.get(number).copied().unwrap_or(number)),
            text: operation.text.clone(),
            parameters: parameters.collect(),
        };
        self.outcome = Some(match self.ask(&request) {
            Ok(Answer::Replied { fetched, affected, first }) => Ok(Reply { fetched, affected, first }),
            Ok(_) => Err(Error::unanswered()),
            Err(error) => Err(error),
        });
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<Reply>, Error> {
        self.outcome.take().unwrap_or_else(|| Err(Error::unanswered())).map(Some)
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn set_blocking(&mut self, _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        let value = |cell| match cell {
            Cell::Null => Value::Null,
            Cell::Integer(integer) => Value::Integer(integer),
            Cell::Text(text) => Value::Text(text),
        };
        match self.ask(&Request::Query { sql: sql.to_owned() })? {
            Answer::Rows(rows) => {
                Ok(rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect())
            }
            _ => Err(Error::unanswered()),
        }
    }

    fn server_pid(&self) -> Option<u32> {
        Some(self.process)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Box::new(|| {}))
    }
}

impl Drop for ProcessSession {
    /// The process ends when nothing more can come, and is ended if it does not.
    fn drop(&mut self) {
        let socket = self.stream.get_ref();
        // Neither fails with a socket that is open.
        let _ = socket.shutdown(Shutdown::Write).and_then(|()| socket.set_read_timeout(Some(LOOK)));
        let until = Instant::now() + END_PATIENCE;
        while !self.has_ended() {
            if Instant::now() > until || basecase_stop::is_asked() {
                if let Some(process) = i32::try_from(self.process).ok().and_then(Pid::from_raw) {
                    // It may have ended meanwhile.
                    let _ = kill_process(process, Signal::KILL);
                }
                return;
            }
        }
    }
}

/// What is told when SQLite begins to execute a statement, and when it has.
pub trait Meter {
    /// The statement begins.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn start(&mut self) -> Result<(), Error>;

    /// The statement has ended.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn stop(&mut self) -> Result<(), Error>;
}

/// Nobody is told.
impl Meter for () {
    fn start(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Serves one session in this process: reads requests from `stream` until it ends, and writes answers to it. `meter` is told of the
/// statements of operations.
///
/// # Errors
/// If `stream` cannot be read or written, or what comes from it is not what basecase sends.
pub(super) fn serve(library: &Library, stream: &UnixStream, meter: &mut dyn Meter) -> std::io::Result<()> {
    answer_all(library, BufReader::new(stream), stream, meter)
}

/// Does what [`serve`] does.
fn answer_all(
    library: &Library,
    input: impl BufRead,
    mut output: impl Write,
    meter: &mut dyn Meter,
) -> std::io::Result<()> {
    let mut session: Option<SqliteSession> = None;
    for line in input.lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer = answer(library, &mut session, request, meter)
            .unwrap_or_else(|error| Answer::Failed(error.to_string()));
        write_line(&mut output, &answer)?;
    }
    Ok(())
}

fn answer(
    library: &Library,
    session: &mut Option<SqliteSession>,
    request: Request,
    meter: &mut dyn Meter,
) -> Result<Answer, Error> {
    let Some(session) = session else {
        let Request::Open { path, pragmas } = request else { return Err(Error::unanswered()) };
        *session = Some(SqliteSession::open(&File { library: library.clone(), path, pragmas })?);
        return Ok(Answer::Opened(std::process::id()));
    };
    Ok(match request {
        Request::Open { .. } => return Err(Error::unanswered()),
        Request::Prepare { sql } => Answer::Prepared(session.prepare(&sql)?),
        Request::Execute { prepared, text, parameters } => {
            let parameters = parameters.into_iter().map(|parameter| match parameter {
                Bound::Integer(integer) => Parameter::Integer(integer),
                Bound::Text(start, end) => Parameter::Text { start, end },
            });
            let operation =
                Operation { prepared, text, parameters: parameters.collect(), ..Operation::default() };
            meter.start()?;
            let reply = session.execute(&operation);
            meter.stop()?;
            let Reply { fetched, affected, first } = reply?;
            Answer::Replied { fetched, affected, first }
        }
        Request::Query { sql } => {
            let cell = |value| match value {
                Value::Null => Cell::Null,
                Value::Integer(integer) => Cell::Integer(integer),
                Value::Text(text) => Cell::Text(text),
            };
            let rows = session.query(&sql)?.into_iter();
            Answer::Rows(rows.map(|row| row.into_iter().map(cell).collect()).collect())
        }
    })
}

/// Does in this process, with a database in memory, some of what sessions do. A child begins with what that has brought: code that is
/// translated already, where something translates it.
///
/// # Errors
/// If `library` cannot execute a plain statement.
pub(super) fn rehearse(library: &Library) -> Result<(), Error> {
    let execute =
        |sql: &str| Request::Execute { prepared: None, text: sql.to_owned(), parameters: Vec::new() };
    let prepare = |sql: &str| Request::Prepare { sql: sql.to_owned() };
    let kept =
        |number, parameters| Request::Execute { prepared: Some(number), text: String::new(), parameters };
    let mut session = None;
    for request in [
        Request::Open { path: ":memory:".into(), pragmas: Vec::new() },
        execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, c TEXT, pad TEXT)"),
        execute("CREATE INDEX k ON t (k)"),
        execute("BEGIN"),
        prepare("INSERT INTO t (id, k, c, pad) VALUES (?, ?, 'c', 'pad')"),
        kept(0, vec![Bound::Integer(1), Bound::Integer(2)]),
        kept(0, vec![Bound::Integer(3), Bound::Integer(4)]),
        execute("INSERT INTO t (k, c, pad) VALUES (5, 'a', 'b'), (7, 'a', 'b'), (6, 'a', 'b')"),
        execute("COMMIT"),
        prepare("SELECT c FROM t WHERE id = ?"),
        kept(1, vec![Bound::Integer(3)]),
        execute("SELECT k, pad FROM t WHERE id BETWEEN 1 AND 9 ORDER BY c"),
        execute("SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 9 ORDER BY c"),
        execute("SELECT sum(k), count(*) FROM t WHERE k IN (2, 4, 5)"),
        execute("SELECT k, count(*) FROM t WHERE k >= 2 GROUP BY k ORDER BY k LIMIT 2"),
        execute("UPDATE t SET k = k + 1, c = 'd' WHERE id = 3"),
        execute("DELETE FROM t WHERE id = 1"),
        Request::Query { sql: "SELECT * FROM t".to_owned() },
    ] {
        // As if it had come through a socket.
        let line = serde_json::to_vec(&request).unwrap_or_default();
        let request = serde_json::from_slice(&line).unwrap_or(request);
        let answer = answer(library, &mut session, request, &mut ())?;
        std::hint::black_box(serde_json::to_vec(&answer).ok());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_ends_the_session_and_a_file_must_come_first() {
        let (library, mut output) = (Library::bundled(), Vec::new());
        assert!(answer_all(&library, &b"nonsense\n"[..], &mut output, &mut ()).is_err());
        let request = serde_json::to_string(&Request::Query { sql: "select 1".into() }).unwrap();
        answer_all(&library, format!("{request}\n").as_bytes(), &mut output, &mut ()).unwrap();
        assert!(String::from_utf8(output).unwrap().starts_with("{\"Failed\":"));
    }

    #[test]
    fn the_meter_is_told_of_statements_of_operations_and_of_nothing_else() {
        #[derive(Default)]
        struct Told(Vec<&'static str>);
        impl Meter for Told {
            fn start(&mut self) -> Result<(), Error> {
                self.0.push("start");
                Ok(())
            }
            fn stop(&mut self) -> Result<(), Error> {
                self.0.push("stop");
                Ok(())
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let library = Library::bundled();
        let mut session = Some(SqliteSession::open(&File::bundled(folder.path().join("t"))).unwrap());
        let mut told = Told::default();
        let mut ask = |request| answer(&library, &mut session, request, &mut told);
        ask(Request::Prepare { sql: "select 1".into() }).unwrap();
        ask(Request::Query { sql: "select 1".into() }).unwrap();
        ask(Request::Execute { prepared: Some(0), text: String::new(), parameters: Vec::new() }).unwrap();
        // One that fails has ended as well.
        let wrong =
            Request::Execute { prepared: None, text: "select * from nothing".into(), parameters: Vec::new() };
        assert!(ask(wrong).is_err());
        assert_eq!(told.0, ["start", "stop", "start", "stop"]);
    }

    #[test]
    fn every_supported_statement_of_the_rehearsal_works() {
        rehearse(&Library::bundled()).unwrap();
    }
}
