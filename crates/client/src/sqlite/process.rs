//! A session with SQLite in a process of its own, so that somebody can watch what SQLite does there: statements go to its standard input,
//! a line of JSON for each, and answers come back from its standard output.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use basecase_model::{Operation, Parameter, ParameterType, Reply, Value};
use serde::{Deserialize, Serialize};

use super::{File, Library, SqliteSession};
use crate::{Error, Interrupter, Session, arranged};

/// How long a process may take to end once its session is over.
const END_PATIENCE: Duration = Duration::from_secs(120);

/// How a session's process is started. It serves by [`serve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProcess {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What the session is with. Its library is a file.
    pub file: File,
}

/// What a process is told, first of all and then for each statement.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Open { library: PathBuf, path: PathBuf, pragmas: Vec<(String, String)> },
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
    Opened,
    Prepared(usize),
    Replied { fetched: u64, affected: u64, first: Option<i64> },
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
    child: Child,
    /// `None` once the session is over.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    outcome: Option<Result<Reply, Error>>,
    /// The numbers by which the process knows the prepared statements.
    prepared: Vec<usize>,
}

impl ProcessSession {
    pub(crate) fn begin(process: &SessionProcess) -> Result<Self, Error> {
        let failed = |problem: String| {
            let program = process.program.display();
            Error::refusal(
                format!("cannot run {program}: {problem}"),
                "check that it is there and executable",
            )
        };
        let library = process.file.library.path();
        let library =
            library.ok_or_else(|| failed("SQLite's library is not a file".to_owned()))?.to_path_buf();
        let mut command = Command::new(&process.program);
        command.args(&process.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no standard input or output".to_owned()));
        };
        let mut session = ProcessSession {
            child,
            requests: Some(requests),
            answers: BufReader::new(answers),
            outcome: None,
            prepared: Vec::new(),
        };
        let File { path, pragmas, .. } = process.file.clone();
        session.ask(&Request::Open { library, path, pragmas })?;
        Ok(session)
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        let broken = |problem: &dyn std::fmt::Display| {
            Error::refusal(
                format!("the process of the session: {problem}"),
                "see what it wrote to standard error",
            )
        };
        let requests = self.requests.as_mut().ok_or_else(|| broken(&"it has ended"))?;
        let mut line = serde_json::to_vec(request).map_err(|error| broken(&error))?;
        line.push(b'\n');
        requests.write_all(&line).and_then(|()| requests.flush()).map_err(|error| broken(&error))?;
        let mut text = String::new();
        self.answers.read_line(&mut text).map_err(|error| broken(&error))?;
        match serde_json::from_str(&text).map_err(|_| broken(&"it has ended without an answer"))? {
            Answer::Failed(problem) => {
                let (message, hint) =
                    problem.split_once("\nhint: ").unwrap_or((&problem, "see the statement"));
                Err(Error::refusal(message, hint))
            }
            answer => Ok(answer),
        }
    }
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
        Some(self.child.id())
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Box::new(|| {}))
    }
}

impl Drop for ProcessSession {
    /// The process ends when nothing more can come, and is ended if it does not.
    fn drop(&mut self) {
        drop(self.requests.take());
        let until = Instant::now() + END_PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until || basecase_stop::is_asked() {
                // It may have ended meanwhile.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
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

/// Serves one session in this process: reads requests from `input` until it ends, and writes answers to `output`. `meter` is told of the
/// statements of operations.
///
/// # Errors
/// If `input` cannot be read, is not what [`SessionProcess`] sends, or `output` cannot be written.
pub fn serve(input: impl BufRead, mut output: impl Write, meter: &mut dyn Meter) -> std::io::Result<()> {
    let mut session: Option<SqliteSession> = None;
    for line in input.lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer =
            answer(&mut session, request, meter).unwrap_or_else(|error| Answer::Failed(error.to_string()));
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(
    session: &mut Option<SqliteSession>,
    request: Request,
    meter: &mut dyn Meter,
) -> Result<Answer, Error> {
    let Some(session) = session else {
        let Request::Open { library, path, pragmas } = request else { return Err(Error::unanswered()) };
        let library = load(&library)?;
        *session = Some(SqliteSession::open(&File { library, path, pragmas })?);
        return Ok(Answer::Opened);
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

fn load(library: &Path) -> Result<Library, Error> {
    Library::load(library).map_err(|error| Error::refusal(error.to_string(), "see whether the file changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_ends_the_session_and_a_library_must_come_first() {
        let mut output = Vec::new();
        assert!(serve(&b"nonsense\n"[..], &mut output, &mut ()).is_err());
        let request = serde_json::to_string(&Request::Query { sql: "select 1".into() }).unwrap();
        serve(format!("{request}\n").as_bytes(), &mut output, &mut ()).unwrap();
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
        let mut session = Some(SqliteSession::open(&File::bundled(folder.path().join("t"))).unwrap());
        let mut told = Told::default();
        let mut ask = |request| answer(&mut session, request, &mut told);
        ask(Request::Prepare { sql: "select 1".into() }).unwrap();
        ask(Request::Query { sql: "select 1".into() }).unwrap();
        ask(Request::Execute { prepared: Some(0), text: String::new(), parameters: Vec::new() }).unwrap();
        // One that fails has ended as well.
        let wrong =
            Request::Execute { prepared: None, text: "select * from nothing".into(), parameters: Vec::new() };
        assert!(ask(wrong).is_err());
        assert_eq!(told.0, ["start", "stop", "start", "stop"]);
    }
}
