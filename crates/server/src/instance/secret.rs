//! Passwords.

use std::fs::File;
use std::io::{self, Read};

use basecase_client::Password;
use basecase_model::hexadecimal;

/// A new random password of 128 bits.
///
/// # Errors
/// If the kernel's source of randomness cannot be read.
pub(crate) fn random_password() -> io::Result<Password> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Password::new(hexadecimal(&bytes)))
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
}
