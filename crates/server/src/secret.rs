//! Passwords.

use std::fs::File;
use std::io::{self, Read};

use basecase_client::Password;

/// A new random password of 128 bits.
///
/// # Errors
/// When the kernel's source of randomness cannot be read.
pub(crate) fn random_password() -> io::Result<Password> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Password::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// `text` with the user and password of every URL in it taken out.
pub fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(tail.len());
        let (authority, after) = tail.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                out.push_str("…@");
                out.push_str(host);
            }
            None => out.push_str(authority),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_printed() {
        let password = random_password().unwrap();
        assert_eq!(password.reveal().len(), 32);
        assert!(!format!("{password:?}").contains(password.reveal()));
        assert_ne!(password, random_password().unwrap());
    }

    #[test]
    fn urls_lose_their_credentials() {
        assert_eq!(
            without_credentials("looking in https://me:pw@host/simple and http://host/x"),
            "looking in https://…@host/simple and http://host/x"
        );
    }
}
