//! What a session did before its statements are measured: drawn anew for each session, because it decides how they fare.
//!
//! Whether a server's process gives memory back to the kernel after each statement depends on what lies above it in the heap, and that on
//! what the session did before. If all sessions did the same, all would have the same luck, and no interval could tell.

use basecase_model::ParameterType;
use basecase_workload::{Dialect, SetUp, Stream, stream};

/// The most unrelated statements that a session executes first.
const STATEMENTS: u32 = 30;
/// How many such statements all sessions of a step execute together, about.
const STATEMENTS_OF_STEP: u32 = 240;
/// The most sessions that come and go before a session of a server whose sessions share one process.
const GUESTS: u64 = 3;
/// The most columns of such a statement, and the longest text in one.
const COLUMNS: u64 = 30;
const LETTERS: u64 = 200;

/// The histories of all sessions of one step of one candidate in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionHistories {
    seed: u64,
    dialect: Dialect,
    /// The most statements of one history.
    most: u64,
}

impl SessionHistories {
    /// The histories drawn from this seed, for a step with so many sessions at once.
    pub fn new(seed: u64, dialect: Dialect, sessions: usize) -> Self {
        let sessions = u32::try_from(sessions).unwrap_or(u32::MAX).max(1);
        let most = u64::from((STATEMENTS_OF_STEP / sessions).clamp(1, STATEMENTS));
        SessionHistories { seed, dialect, most }
    }

    /// The seed of the histories of all roles' sessions of this number.
    pub fn seed_of(self, session: u32) -> u64 {
        stream(self.seed, "session", session, "").bits()
    }

    /// The history of a role's session of this number. A role has one session after the other.
    pub fn history(self, session: u32, client: u32, role: &str) -> SessionHistory {
        self.drawn_from(self.seed_of(session), client, role)
    }

    /// The history of a role's session whose seed is known: as a trial tells it.
    pub fn drawn_from(self, seed: u64, client: u32, role: &str) -> SessionHistory {
        let mut stream = stream(seed, "history", client, role);
        let own = self.set_up(&mut stream);
        let guests = match self.dialect {
            Dialect::Mysql(_) => stream.below(GUESTS + 1),
            // Each session has a process of its own, or a part of this one.
            Dialect::Postgres | Dialect::Sqlite => 0,
        };
        let guest = |_| Guest { set_up: self.set_up(&mut stream), stays: stream.below(2) == 1 };
        let guests = (0..guests).map(guest).collect();
        SessionHistory { set_up: own, guests, stream }
    }

    /// Unrelated statements, some of which stay prepared.
    fn set_up(self, stream: &mut Stream) -> Vec<SetUp> {
        let count = stream.below(self.most + 1);
        let mut set_up = Vec::new();
        let mut prepared: Vec<u64> = Vec::new();
        for number in 0..count {
            match self.dialect {
                Dialect::Sqlite if stream.below(2) == 0 => {
                    set_up.push(SetUp::Text(body(stream, ["1", "2"], "'")));
                }
                Dialect::Sqlite => {
                    let types = vec![ParameterType::Integer, ParameterType::Integer];
                    set_up.push(SetUp::Prepare { sql: body(stream, ["?1", "?2"], "'"), types });
                }
                Dialect::Postgres => {
                    let body = body(stream, ["$1", "$2"], "'");
                    set_up.push(SetUp::Text(format!("PREPARE history_{number} (int4, int8) AS {body}")));
                    set_up.push(SetUp::Text(format!("EXECUTE history_{number} (1, 2)")));
                    prepared.push(number);
                }
                Dialect::Mysql(_) => {
                    let body = body(stream, ["?", "?"], "''");
                    set_up.push(SetUp::Text(format!("PREPARE history_{number} FROM '{body}'")));
                    set_up.push(SetUp::Text("SET @history_1 = 1, @history_2 = 2".to_owned()));
                    set_up
                        .push(SetUp::Text(format!("EXECUTE history_{number} USING @history_1, @history_2")));
                    prepared.push(number);
                }
            }
        }
        let closed = stream.below(prepared.len() as u64 + 1);
        let close = match self.dialect {
            Dialect::Postgres => "DEALLOCATE",
            // SQLite has no names of statements, so that none of its statements is closed.
            Dialect::Mysql(_) | Dialect::Sqlite => "DEALLOCATE PREPARE",
        };
        for _ in 0..closed {
            let number = prepared.swap_remove(stream.below(prepared.len() as u64) as usize);
            set_up.push(SetUp::Text(format!("{close} history_{number}")));
        }
        set_up
    }
}

/// A statement of random length that reads no table, with two parameters.
fn body(stream: &mut Stream, parameters: [&str; 2], quote: &str) -> String {
    let [first, second] = parameters;
    let mut body = format!("SELECT {first} + {}, {second} - {}", stream.below(1_000), stream.below(1_000));
    for _ in 0..stream.below(COLUMNS) {
        let letter = char::from(b'a' + stream.below(26) as u8);
        let letters = String::from(letter).repeat(1 + stream.below(LETTERS) as usize);
        body.push_str(&format!(", {quote}{letters}{quote}"));
    }
    body
}

/// What comes before the own statements of a session.
#[derive(Debug, Clone)]
pub struct SessionHistory {
    /// What the session itself executes and prepares first.
    pub set_up: Vec<SetUp>,
    /// Sessions that begin before it and end before it is measured.
    pub guests: Vec<Guest>,
    stream: Stream,
}

/// A session that comes and goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// What it executes and prepares.
    pub set_up: Vec<SetUp>,
    /// Whether it is still open when the session begins.
    pub stays: bool,
}

impl SessionHistory {
    /// The order in which the session prepares its own statements: a permutation of 0, 1 ….
    pub fn order(&mut self, statements: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..statements).collect();
        // Fisher & Yates 1938.
        for last in (1..order.len()).rev() {
            order.swap(last, self.stream.below(last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::Engine;

    use super::*;

    fn histories(seed: u64, dialect: Dialect) -> SessionHistories {
        SessionHistories::new(seed, dialect, 1)
    }

    #[test]
    fn histories_follow_from_the_seed_and_differ_between_sessions_and_roles() {
        let of = |seed, session, client, role| {
            histories(seed, Dialect::Postgres).history(session, client, role).set_up
        };
        assert_eq!(of(1, 0, 1, "client"), of(1, 0, 1, "client"));
        let distinct =
            [of(1, 0, 1, "client"), of(2, 0, 1, "client"), of(1, 1, 1, "client"), of(1, 0, 2, "client")];
        let mut texts: Vec<String> = distinct.iter().map(|set_up| format!("{set_up:?}")).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn what_is_closed_was_prepared_and_executed_before() {
        for dialect in [Dialect::Postgres, Dialect::Mysql(Engine::Innodb)] {
            for seed in 0..50 {
                let mut open = std::collections::BTreeSet::new();
                for set_up in histories(seed, dialect).history(0, 1, "client").set_up {
                    let SetUp::Text(text) = set_up else { panic!("{set_up:?}") };
                    let name = text.split_whitespace().find(|word| word.starts_with("history_"));
                    match name.map(str::to_owned) {
                        None => assert!(text.starts_with("SET @history_1"), "{text}"),
                        Some(name) if text.starts_with("DEALLOCATE") => assert!(open.remove(&name), "{text}"),
                        Some(name) if text.starts_with("PREPARE") => assert!(open.insert(name)),
                        Some(name) => assert!(open.contains(&name), "{text}"),
                    }
                }
            }
        }
    }

    #[test]
    fn many_sessions_have_short_histories() {
        let longest = |sessions| {
            let of = |seed| SessionHistories::new(seed, Dialect::Postgres, sessions).history(0, 1, "client");
            (0..200).map(|seed| of(seed).set_up.len()).max()
        };
        assert!(longest(1) > Some(60), "{:?}", longest(1));
        assert_eq!(longest(1_000), Some(3), "one statement: prepared, executed, closed");
    }

    #[test]
    fn an_order_has_every_statement_once() {
        for statements in 0..20 {
            let mut order = histories(7, Dialect::Sqlite).history(0, 1, "client").order(statements);
            order.sort_unstable();
            assert_eq!(order, (0..statements).collect::<Vec<_>>());
        }
    }
}
