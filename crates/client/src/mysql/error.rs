//! Errors from the server, classified by number.

use crate::bounds::words;
use crate::{Error, Kind};

/// Which server answers, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    Mysql,
    Mariadb,
}

impl Product {
    /// Tells the two apart by the server's version string.
    pub(super) fn of_version(version: &str) -> Product {
        if version.contains("MariaDB") { Product::Mariadb } else { Product::Mysql }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Product::Mysql => "MySQL",
            Product::Mariadb => "MariaDB",
        }
    }
}

/// Reads an ERR packet: a number, an SQLSTATE (absent before the login), a message.
pub(super) fn server_error(product: Product, packet: &[u8]) -> Error {
    let Some((number, rest)) = packet.get(1..).and_then(<[u8]>::split_first_chunk::<2>) else {
        return Error::unexpected("an error without a number");
    };
    let number = u16::from_le_bytes(*number);
    let (state, message) = match rest.strip_prefix(b"#").and_then(<[u8]>::split_first_chunk::<5>) {
        Some((state, message)) => (Some(words(state)), message),
        None => (None, rest),
    };
    let message = words(message);
    let text = match &state {
        Some(state) => format!("{}: {message}, SQLSTATE {state}", product.name()),
        None => format!("{}: {message}", product.name()),
    };
    let error = Error::new(kind(number, state.as_deref()), text).with_code(number.to_string());
    match hint(number) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// How an error affects the operation and the connection
/// (<https://dev.mysql.com/doc/mysql-errors/9.5/en/server-error-reference.html>,
/// <https://mariadb.com/kb/en/mariadb-error-code-reference/>).
///
/// Retrying is safe because sessions stay in autocommit mode: whether the server rolls back the statement (1205) or the
/// transaction (1213, 1020), it is the whole operation.
fn kind(number: u16, state: Option<&str>) -> Kind {
    match number {
        // Lock wait timeout, deadlock, and a row that has changed since the snapshot (MariaDB's
        // `innodb_snapshot_isolation`). MyRocks reports conflicts and timeouts by the first two.
        1205 | 1213 | 1020 => Kind::Retryable,
        // A key that exists already, in messages with and without its name.
        1022 | 1062 | 1586 => Kind::Duplicate,
        // The server shuts down or the connection was killed (1053, 1927), an idle connection was closed (4031), a
        // connection was aborted (1080, 1152, 1184), the network failed (1158 to 1161), or what was sent is longer than
        // max_allowed_packet (1153): the server closes the connection after each of them. After a killed statement (1317),
        // the connection stays.
        1053 | 1080 | 1152 | 1153 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 4031 => Kind::Disconnected,
        // Class 40 of the SQL standard means transaction rollback.
        _ if state.is_some_and(|state| state.starts_with("40")) => Kind::Retryable,
        _ => Kind::Refused,
    }
}

/// What the user can do about an error whose cause is not the statement.
fn hint(number: u16) -> Option<&'static str> {
    Some(match number {
        1040 => "raise max_connections, or use fewer clients",
        1044 | 1045 | 1698 => "check the user, the password, and from which hosts the user may connect",
        1049 => "name a database that exists, or create this one",
        1129 => "the server has blocked this host after failed connections: run `mysqladmin flush-hosts`",
        1130 => "create the user for this host, e.g. 'USER'@'%'",
        1153 => "raise max_allowed_packet, or put fewer rows into one statement",
        1251 | 1275 => "give the user a password of mysql_native_password or caching_sha2_password",
        1290 => "the server runs with an option that forbids this, such as read_only",
        4031 => "raise wait_timeout",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u16, text: &str) -> Vec<u8> {
        [&[0xff], &number.to_le_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn errors_are_sorted_and_keep_number_and_state() {
        let error = server_error(Product::Mysql, &packet(1213, "#40001Deadlock found"));
        assert_eq!(error.kind(), Kind::Retryable);
        assert_eq!(error.code(), Some("1213"));
        assert_eq!(error.to_string(), "MySQL: Deadlock found, SQLSTATE 40001 (1213)");
        let kind_of = |number, text| server_error(Product::Mariadb, &packet(number, text)).kind();
        assert_eq!(kind_of(1205, "#HY000Lock wait timeout exceeded"), Kind::Retryable);
        assert_eq!(kind_of(1020, "#HY000Record has changed since last read"), Kind::Retryable);
        assert_eq!(kind_of(3101, "#40000Plugin instructed the server to rollback"), Kind::Retryable);
        assert_eq!(kind_of(1062, "#23000Duplicate entry '7' for key 'PRIMARY'"), Kind::Duplicate);
        assert_eq!(kind_of(1927, "#70100Connection was killed"), Kind::Disconnected);
        assert_eq!(kind_of(1053, "#08S01Server shutdown in progress"), Kind::Disconnected);
        assert_eq!(kind_of(1317, "#70100Query execution was interrupted"), Kind::Refused);
        assert_eq!(kind_of(1146, "#42S02Table 'd.t' doesn't exist"), Kind::Refused);
    }

    #[test]
    fn errors_before_the_login_have_no_state() {
        let error = server_error(Product::Mariadb, &packet(1040, "Too many connections"));
        assert_eq!(
            error.to_string(),
            "MariaDB: Too many connections (1040)\nhint: raise max_connections, or use fewer clients"
        );
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(packet: Vec<u8>) {
            server_error(Product::Mysql, &packet);
        }
    }
}
