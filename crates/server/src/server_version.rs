//! What a server program answers to `--version`.

use basecase_model::Dbms;

use crate::version::Version;

/// The version in what the server of `dbms` said to `--version`, without what packagers and forks add to it; `None` when it is
/// not that server's answer.
pub(crate) fn server_version(dbms: Dbms, said: &str) -> Option<Version> {
    let mut words = said.lines().find(|line| !line.trim().is_empty())?.split_whitespace();
    match dbms {
        Dbms::Postgres => {
            words.find(|word| *word == "(PostgreSQL)")?;
            release_number(words.next()?)
        }
        Dbms::Mysql | Dbms::Mariadb => {
            words.find(|word| *word == "Ver")?;
            let word = words.next()?;
            // Both programs may be called mysqld, and MariaDB's says whose it is.
            let is_mariadb = word.contains("MariaDB");
            if is_mariadb == (dbms == Dbms::Mariadb) { release_number(word) } else { None }
        }
        Dbms::Sqlite => None,
    }
}

/// The version at the start of `word`: `10.11.18` of `10.11.18-MariaDB-0+deb12u1`. Of an unreleased Postgres the words count:
/// `19rc1`.
pub(crate) fn release_number(word: &str) -> Option<Version> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    word.parse().or_else(|()| word[..end].parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_answers_have_no_version() {
        for said in ["", "\n", "mysqld", "mysqld  Ver", "mysqld  Ver unknown", "postgres (PostgreSQL)"] {
            for dbms in Dbms::ALL {
                assert_eq!(server_version(dbms, said), None, "{dbms} {said:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_reading_panic(said in "(mysqld  Ver |postgres \\(PostgreSQL\\) )?\\PC{0,20}") {
            for dbms in Dbms::ALL {
                let _ = server_version(dbms, &said);
            }
        }
    }
}
