//! Checksums of files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use basecase_model::hexadecimal;
use sha2::{Digest, Sha256};

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
    }
    Ok(hexadecimal(&hash.finalize()))
}
