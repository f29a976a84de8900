//! What a server program answers to `--version`.

use basecase_model::Dbms;

use crate::version::Version;

/// The version in what the server of `dbms` said to `--version`, without what packagers and forks add to it; `None` when it is
/// not that server's answer.
pub(crate) fn server_version(dbms: Dbms, said: &str) -> Option<Version> {
    // Some versions say something else before.
    let mut words = said.split_whitespace();
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
    fn answers_of_all_servers() {
        use Dbms::{Mariadb, Mysql, Postgres};
        let cases = [
            (Postgres, "postgres (PostgreSQL) 9.6.24", "9.6.24"),
            (Postgres, "postgres (PostgreSQL) 17.11", "17.11"),
            (Postgres, "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)", "15.20"),
            (Postgres, "postgres (PostgreSQL) 19rc1 (Debian 19~rc1-1)", "19rc1"),
            (Postgres, "postgres (PostgreSQL) 20devel", "20devel"),
            (Postgres, "postgres (PostgreSQL) 17.2-patched", "17.2"),
            (Mysql, "/t/bin/mysqld  Ver 5.5.9 for Linux on x86_64 (Source distribution)", "5.5.9"),
            (
                Mysql,
                "/t/bin/mysqld  Ver 5.5.34 for linux2.6 on x86_64 (MySQL Community Server (GPL))",
                "5.5.34",
            ),
            (
                Mysql,
                "mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))",
                "5.6.24",
            ),
            (
                Mysql,
                "mysqld  Ver 5.7.22 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))",
                "5.7.22",
            ),
            (
                Mysql,
                "mysqld  Ver 8.0.15 for linux-glibc2.12 on x86_64 (MySQL Community Server - GPL)",
                "8.0.15",
            ),
            (Mysql, "mysqld  Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.33"),
            (Mysql, "/MariaDB/bin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "9.7.4"),
            (
                Mariadb,
                "2026-11-21 18:19:33 140114837833600 [Note] mysqld (mysqld 10.1.8-MariaDB) starting as process 5742 ...\n\
                 mysqld  Ver 10.1.8-MariaDB for Linux on x86_64 (MariaDB Server)",
                "10.1.8",
            ),
            (Mariadb, "mysqld  Ver 10.2.11-MariaDB for Linux on x86_64 (MariaDB Server)", "10.2.11"),
            (
                Mariadb,
                "mariadbd  Ver 10.5.23-MariaDB-0+deb11u1 for debian-linux-gnu on x86_64 (Debian 11)",
                "10.5.23",
            ),
            (
                Mariadb,
                "mariadbd  Ver 11.8.9-MariaDB-4 from Debian for debian-linux-gnu on x86_64 (-- Please help get to 10k stars at \
                 https://github.com/MariaDB/Server)",
                "11.8.9",
            ),
        ];
        for (dbms, said, expected) in cases {
            assert_eq!(server_version(dbms, said), expected.parse().ok(), "{said}");
            let others = Dbms::ALL.into_iter().filter(|other| *other != dbms);
            assert!(others.into_iter().all(|other| server_version(other, said).is_none()), "{said}");
        }
    }

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
