//! What servers answer when they are asked for their version.

use super::*;

fn version_of(dbms: Dbms, said: &str) -> Option<Version> {
    layout_of(dbms).version(said)
}

#[test]
fn answers_of_all_servers() {
    use Dbms::{Mariadb, Mysql, Postgres, Sqlite};
    let cases = [
        (Postgres, "postgres (PostgreSQL) 9.6.24", "9.6.24"),
        (Postgres, "postgres (PostgreSQL) 17.11", "17.11"),
        (Postgres, "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)", "15.20"),
        (Postgres, "postgres (PostgreSQL) 19rc1 (Debian 19~rc1-1)", "19rc1"),
        (Postgres, "postgres (PostgreSQL) 20devel", "20devel"),
        (Postgres, "postgres (PostgreSQL) 17.2-patched", "17.2"),
        (Sqlite, "SQLite 3.45.0 2024-01-15 17:01:13 1066602b2b1976fe58b5", "3.45.0"),
        (Mysql, "/t/bin/mysqld  Ver 5.5.9 for Linux on x86_64 (Source distribution)", "5.5.9"),
        (Mysql, "/t/bin/mysqld  Ver 5.5.34 for linux2.6 on x86_64 (MySQL Community Server (GPL))", "5.5.34"),
        (Mysql, "mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))", "5.6.24"),
        (Mysql, "mysqld  Ver 5.7.22 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))", "5.7.22"),
        (Mysql, "mysqld  Ver 8.0.15 for linux-glibc2.12 on x86_64 (MySQL Community Server - GPL)", "8.0.15"),
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
        assert_eq!(version_of(dbms, said), expected.parse().ok(), "{said}");
        let others = Dbms::ALL.into_iter().filter(|other| *other != dbms);
        assert!(others.into_iter().all(|other| version_of(other, said).is_none()), "{said}");
    }
}

#[test]
fn other_answers_have_no_version() {
    for said in ["", "\n", "mysqld", "mysqld  Ver", "mysqld  Ver unknown", "postgres (PostgreSQL)"] {
        for dbms in Dbms::ALL {
            assert_eq!(version_of(dbms, said), None, "{dbms} {said:?}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_reading_panic(said in "(mysqld  Ver |postgres \\(PostgreSQL\\) )?\\PC{0,20}") {
        for dbms in Dbms::ALL {
            let _ = version_of(dbms, &said);
        }
    }
}
