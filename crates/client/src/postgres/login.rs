//! Start-up of a session: parameters and authentication.

use std::io::Write;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use super::address::Address;
use super::reply::{Messages, server_error};
use super::session::io_error;
use crate::address::Host;
use crate::connection::Connection;
use crate::{Error, Kind};

/// Logs in, and returns the process id of the server process for this session.
pub(super) fn log_in(
    address: &Address,
    connection: &mut Connection,
    messages: &mut Messages,
) -> Result<u32, Error> {
    let mut output = BytesMut::new();
    let parameters =
        [("user", address.user.as_str()), ("database", &address.database), ("application_name", "basecase")];
    frontend::startup_message(parameters, &mut output).map_err(io_error)?;
    connection.write_all(&output).map_err(io_error)?;

    let mut scram: Option<ScramSha256> = None;
    let mut pid = 0;
    loop {
        let message = messages.read(connection).map_err(io_error)?;
        output.clear();
        match message.tag {
            b'R' => {
                answer(address, message.body, &mut scram, &mut output)?;
                if !output.is_empty() {
                    connection.write_all(&output).map_err(io_error)?;
                }
            }
            b'K' => pid = message.body.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes)),
            b'E' => {
                let error = server_error(message.body);
                return Err(match error.code() {
                    Some("28P01" | "28000") => error.with_hint("check the user and the password"),
                    Some("3D000") => error.with_hint("name a database that exists, or create this one"),
                    _ => error.with_hint("the server's log may say more"),
                });
            }
            b'Z' => return Ok(pid),
            _ => {}
        }
    }
}

/// Writes the answer to one authentication request.
fn answer(
    address: &Address,
    body: &[u8],
    scram: &mut Option<ScramSha256>,
    output: &mut BytesMut,
) -> Result<(), Error> {
    let (request, rest) =
        body.split_first_chunk::<4>().ok_or_else(|| Error::unexpected("a short login request"))?;
    let password = address.password.reveal().as_bytes();
    match u32::from_be_bytes(*request) {
        0 => {}
        3 if matches!(address.host, Host::Tcp(_)) => {
            return Err(Error::new(
                Kind::Refused,
                "the server asks for the password in clear text, which anybody on the network could read",
            )
            .with_hint(
                "let pg_hba.conf ask for scram-sha-256 or md5, or connect through the server's socket",
            ));
        }
        3 => frontend::password_message(password, output).map_err(io_error)?,
        5 => {
            let salt =
                rest.first_chunk::<4>().ok_or_else(|| Error::unexpected("a login request without salt"))?;
            let hash = md5_hash(address.user.as_bytes(), password, *salt);
            frontend::password_message(hash.as_bytes(), output).map_err(io_error)?;
        }
        10 => {
            let offered = rest.split(|byte| *byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes());
            if !offered {
                return Err(Error::new(
                    Kind::Refused,
                    "the server offers no login mechanism that basecase knows",
                )
                .with_hint("set password_encryption to scram-sha-256 or md5 and set the password again"));
            }
            let started = scram.insert(ScramSha256::new(password, ChannelBinding::unsupported()));
            frontend::sasl_initial_response(SCRAM_SHA_256, started.message(), output).map_err(io_error)?;
        }
        11 => {
            let state = scram.as_mut().ok_or_else(|| Error::unexpected("a login step out of order"))?;
            state.update(rest).map_err(io_error)?;
            frontend::sasl_response(state.message(), output).map_err(io_error)?;
        }
        12 => {
            let state = scram.as_mut().ok_or_else(|| Error::unexpected("a login step out of order"))?;
            state.finish(rest).map_err(io_error)?;
        }
        other => {
            return Err(Error::new(Kind::Refused, format!("the server asks for login method {other}"))
                .with_hint(
                    "basecase knows trust, password, md5 and scram-sha-256; add such a line to pg_hba.conf",
                ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Password;

    #[test]
    fn defect_07_a_password_travels_as_it_is_over_a_socket_only() {
        let answer_to = |host| {
            let address = Address {
                host,
                port: 5432,
                user: "me".into(),
                password: Password::new("secret"),
                database: "ib".into(),
            };
            let mut output = BytesMut::new();
            answer(&address, &[0, 0, 0, 3], &mut None, &mut output).map(|()| output.to_vec())
        };
        let error = answer_to(Host::Tcp("127.0.0.1".into())).unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
        assert!(error.to_string().contains("hint: let pg_hba.conf"), "{error}");
        assert_eq!(answer_to(Host::Socket("/run".into())).unwrap(), b"p\0\0\0\x0bsecret\0");
    }
}
