//! Start-up of a session: capabilities and authentication.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use super::address::Address;
use super::error::{Product, server_error};
use super::packet::{Packets, begin, end};
use super::reply::{EOF, ERR, OK};
use crate::address::Host;
use crate::connection::Connection;
use crate::{Error, Kind};

/// The first byte of a packet with another step of the login method.
const MORE: u8 = 0x01;

/// The longest challenge in a greeting; servers send 21 bytes.
const LONGEST_CHALLENGE_BYTES: u8 = 0x7f;

/// The longest packet that the client claims to accept. It only limits what the server may send.
const LONGEST_PACKET_BYTES: u32 = 1 << 30;

/// The capabilities that the client requests if the server offers them.
///
/// Left out on purpose: `FOUND_ROWS`, so that affected rows are those that changed; `LOCAL_FILES`; `MULTI_STATEMENTS`;
/// `SESSION_TRACK` and MariaDB's extensions, which would make versions answer differently.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// What client and server agreed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreement {
    pub(super) product: Product,
    /// Whether rows follow the column definitions directly, and an OK packet follows the rows (MySQL from 5.7.5, MariaDB
    /// from 10.2). Otherwise an EOF packet follows both.
    pub(super) is_eof_deprecated: bool,
}

/// Logs in.
pub(super) fn log_in(
    address: &Address,
    connection: &mut Connection,
    packets: &mut Packets,
) -> Result<Agreement, Error> {
    let mut login = Login { address, connection, packets, product: Product::Mysql, output: Vec::new() };
    let greeting = login.greeting()?;
    let capabilities = greeting.capabilities();
    if !capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
        return Err(Error::new(
            Kind::Refused,
            "the server only speaks the protocol of versions before MySQL 4.1",
        )
        .with_hint("basecase supports MySQL from 5.5 and MariaDB from 10.1"));
    }
    let wanted = capabilities & WANTED;
    login.product = Product::of_version(&greeting.server_version_str());
    login.authenticate(&greeting, wanted)?;
    Ok(Agreement {
        product: login.product,
        is_eof_deprecated: wanted.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
    })
}

/// A login in progress.
struct Login<'a> {
    address: &'a Address,
    connection: &'a mut Connection,
    packets: &'a mut Packets,
    product: Product,
    output: Vec<u8>,
}

impl Login<'_> {
    fn receive(&mut self) -> Result<Vec<u8>, Error> {
        self.packets
            .read(self.connection)
            .map_err(|error| Error::broken_connection(self.product.name(), &error))
    }

    /// Sends one packet, numbered after the last one received.
    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        begin(&mut self.output);
        write(&mut self.output);
        end(&mut self.output, self.packets.sequence().wrapping_add(1));
        self.connection
            .write_all(&self.output)
            .map_err(|error| Error::broken_connection(self.product.name(), &error))
    }

    /// The server's greeting: its version, its capabilities, and the challenge of its default login method.
    fn greeting(&mut self) -> Result<HandshakePacket<'static>, Error> {
        let packet = self.receive()?;
        match packet.first() {
            Some(&ERR) => Err(self.server_refusal(&packet)),
            // `mysql_common` reads the length as a signed number, and subtracts from it.
            Some(10) if challenge_bytes(&packet).is_some_and(|bytes| bytes > LONGEST_CHALLENGE_BYTES) => {
                Err(Error::unexpected("a greeting with a challenge of impossible length"))
            }
            Some(10) => ParseBuf(&packet)
                .parse::<HandshakePacket<'_>>(())
                .map(HandshakePacket::into_owned)
                .map_err(|_| Error::unexpected("a truncated greeting")),
            _ => Err(Error::unexpected("no greeting of MySQL's protocol 10")
                .with_hint("check that a MySQL or MariaDB server listens there")),
        }
    }

    fn authenticate(
        &mut self,
        greeting: &HandshakePacket<'_>,
        capabilities: CapabilityFlags,
    ) -> Result<(), Error> {
        // A server whose default method is unknown here may still have a known method for this user, and then asks for it.
        let usual = greeting.auth_plugin().filter(is_known).unwrap_or(AuthPlugin::MysqlNativePassword);
        let mut method = Method::begin(&usual, greeting.nonce())?;
        let response = method.answer(self.address, &greeting.nonce())?;
        let database = (!self.address.database.is_empty()).then_some(self.address.database.as_bytes());
        // The session's character set is utf8mb4, if the version has it.
        let version = greeting.server_version_parsed().unwrap_or((5, 5, 3));
        let answer = HandshakeResponse::new(
            response,
            version,
            Some(self.address.user.as_bytes()),
            database,
            capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH).then_some(usual),
            capabilities,
            None,
            LONGEST_PACKET_BYTES,
        );
        self.send(|output| answer.serialize(output))?;
        loop {
            let packet = self.receive()?;
            let response = match packet.split_first() {
                Some((&OK, _)) => return Ok(()),
                Some((&ERR, _)) => return Err(self.server_refusal(&packet)),
                Some((&MORE, challenge)) => method.answer(self.address, challenge)?,
                Some((&EOF, [])) => return Err(unknown_method("mysql_old_password")),
                Some((&EOF, _)) => {
                    let request = ParseBuf(&packet)
                        .parse::<AuthSwitchRequest<'_>>(())
                        .map_err(|_| Error::unexpected("a truncated login request"))?;
                    method = Method::begin(&request.auth_plugin(), request.plugin_data().to_vec())?;
                    method.answer(self.address, request.plugin_data())?
                }
                _ => return Err(Error::unexpected("an unknown step of a login")),
            };
            if let Some(response) = response {
                self.send(|output| output.extend_from_slice(&response))?;
            }
        }
    }

    /// The server's error message, always with a hint.
    fn server_refusal(&self, packet: &[u8]) -> Error {
        server_error(self.product, packet).into_refusal().or_hint("the server's log may say more")
    }
}

/// One login method, and its progress.
struct Method {
    procedure: AuthProc,
    scramble: Vec<u8>,
}

impl Method {
    fn begin(plugin: &AuthPlugin<'_>, scramble: Vec<u8>) -> Result<Method, Error> {
        let unknown = || unknown_method(&String::from_utf8_lossy(plugin.as_bytes()));
        if !is_known(plugin) {
            return Err(unknown());
        }
        Ok(Method { procedure: AuthProc::init(plugin).map_err(|_| unknown())?, scramble })
    }

    /// What to send for a challenge, if anything.
    fn answer(&mut self, address: &Address, challenge: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let context = Secrets { address, scramble: &self.scramble };
        // `mysql_common` indexes into the server's public key without checking its length.
        let response = catch_unwind(AssertUnwindSafe(|| self.procedure.run(context, challenge)));
        match response {
            Ok(Ok(Response::Next { packet } | Response::Last { packet })) => Ok(packet),
            Ok(Err(error)) => Err(refusal(&error.to_string())),
            Err(_) => Err(Error::unexpected("a public key that cannot be read")),
        }
    }
}

/// What a login method asks of the client.
struct Secrets<'a> {
    address: &'a Address,
    scramble: &'a [u8],
}

impl Context for Secrets<'_> {
    fn pass(&self) -> &[u8] {
        self.address.password.reveal().as_bytes()
    }

    /// Over a Unix socket, a password may be sent in clear text; over TCP it is encrypted with the server's public key.
    fn is_ipc_transport(&self) -> bool {
        matches!(self.address.host, Host::Socket(_))
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        self.scramble
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// The length that a greeting gives for its challenge: a byte after version, connection id, the challenge's first part,
/// capabilities, character set and status.
fn challenge_bytes(greeting: &[u8]) -> Option<u8> {
    let version_end = greeting.iter().position(|byte| *byte == 0)?;
    greeting.get(version_end + 21).copied()
}

fn is_known(plugin: &AuthPlugin<'_>) -> bool {
    matches!(plugin, AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password)
}

fn unknown_method(name: &str) -> Error {
    refusal(&format!("the server asks for login method {name}"))
}

fn refusal(problem: &str) -> Error {
    Error::new(Kind::Refused, problem)
        .with_hint("basecase knows mysql_native_password and caching_sha2_password, without TLS; give the user such a password")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Password;

    fn address(host: Host) -> Address {
        Address {
            host,
            port: 3306,
            user: "me".into(),
            password: Password::new("secret"),
            database: String::new(),
        }
    }

    /// The method `caching_sha2_password`, at the point where the server asks for the password itself.
    fn asked_for_password(address: &Address) -> (Method, Option<Vec<u8>>) {
        let mut method = Method::begin(&AuthPlugin::CachingSha2Password, vec![7; 20]).unwrap();
        assert_eq!(method.answer(address, &[7; 20]).unwrap().map(|scrambled| scrambled.len()), Some(32));
        let answer = method.answer(address, &[4]).unwrap();
        (method, answer)
    }

    #[test]
    fn a_password_travels_as_it_is_over_a_socket_only() {
        let (_, answer) = asked_for_password(&address(Host::Socket("/s".into())));
        assert_eq!(answer.unwrap(), b"secret\0");
        let (_, answer) = asked_for_password(&address(Host::Tcp("h".into())));
        // The request for the server's public key.
        assert_eq!(answer.unwrap(), [2]);
    }

    #[test]
    fn defect_fuzz_the_length_of_a_challenge_is_found_where_it_stands() {
        let greeting = b"\x0a8.0.99\0\x07\0\0\0abcdefgh\0\x05\xa2\x2d\x02\0\x0e\x01\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0";
        assert_eq!(challenge_bytes(greeting), Some(0x15));
        assert_eq!(challenge_bytes(&greeting[..20]), None);
        assert_eq!(challenge_bytes(b"\x0a8.0"), None);
    }

    #[test]
    fn a_broken_public_key_is_an_error() {
        let address = address(Host::Tcp("h".into()));
        for key in [
            "",
            "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B\n-----END PUBLIC KEY-----",
            "-----BEGIN RSA PUBLIC KEY-----\nMAYCAQcCAQM=\n-----END RSA PUBLIC KEY-----",
        ] {
            let (mut method, _) = asked_for_password(&address);
            assert!(method.answer(&address, key.as_bytes()).is_err(), "{key}");
        }
    }

    #[test]
    fn other_methods_are_refused_with_a_hint() {
        for name in [b"mysql_clear_password".as_slice(), b"sha256_password", b"client_ed25519", b"parsec"] {
            let error = Method::begin(&AuthPlugin::from_bytes(name), vec![7; 20]).err().unwrap();
            assert_eq!(error.kind(), Kind::Refused);
            assert!(error.to_string().contains("hint: basecase knows"), "{error}");
        }
    }
}
