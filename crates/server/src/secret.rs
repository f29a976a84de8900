//! Passwords.

use std::fmt;
use std::io::Read;

/// A password. Its printed forms never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(password: String) -> Self {
        Secret(password)
    }

    /// A new random one of 128 bits.
    ///
    /// # Errors
    /// When the kernel's source of randomness cannot be read.
    pub(crate) fn random() -> std::io::Result<Self> {
        let mut bytes = [0_u8; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The password itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
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
    fn a_secret_is_not_printed() {
        let secret = Secret::random().unwrap();
        assert_eq!(secret.reveal().len(), 32);
        assert!(!format!("{secret:?}").contains(secret.reveal()));
        assert_ne!(secret, Secret::random().unwrap());
    }

    #[test]
    fn urls_lose_their_credentials() {
        assert_eq!(
            without_credentials("looking in https://me:pw@host/simple and http://host/x"),
            "looking in https://…@host/simple and http://host/x"
        );
    }
}
