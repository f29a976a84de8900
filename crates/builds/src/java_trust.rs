//! The system's CA certificates in the format that Java reads. On Debian, an installation script makes this file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The certificates that the system trusts, on every Debian.
pub(crate) const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Where Debian's Java looks for them.
const PLACE: &str = "etc/ssl/certs/java";
/// The start of a JKS file: magic number and version.
const HEAD: [u8; 8] = [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2];
/// The tag of an entry that holds a trusted certificate.
const TRUSTED: [u8; 4] = [0, 0, 0, 2];
/// Replaces a checksum that needs a password. Java reads trusted certificates without a password, and then ignores the
/// checksum.
const UNSEALED: [u8; 20] = [0; 20];

/// Gives the Java in `tree`, if there is one, the system's current certificates.
pub(crate) fn write(tree: &Path) -> io::Result<()> {
    if !tree.join("usr/lib/jvm").is_dir() {
        return Ok(());
    }
    let system = match fs::read_to_string(SYSTEM_CERTIFICATES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let folder = tree.join(PLACE);
    fs::create_dir_all(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(&store(&system))?;
    fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(folder.join("cacerts"))?;
    Ok(())
}

/// The certificates of a PEM file as a Java key store.
fn store(pem: &str) -> Vec<u8> {
    let certificates: Vec<Vec<u8>> = pem
        .split("-----BEGIN CERTIFICATE-----")
        .skip(1)
        .filter_map(|part| part.split_once("-----END CERTIFICATE-----"))
        .filter_map(|(text, _)| STANDARD.decode(text.split_whitespace().collect::<String>()).ok())
        .collect();
    let mut bytes = HEAD.to_vec();
    bytes.extend((certificates.len() as u32).to_be_bytes());
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
    };
    for (number, certificate) in certificates.iter().enumerate() {
        bytes.extend(TRUSTED);
        text(&mut bytes, &format!("system-{number}"));
        // The creation date, which nothing reads.
        bytes.extend([0; 8]);
        text(&mut bytes, "X.509");
        bytes.extend((certificate.len() as u32).to_be_bytes());
        bytes.extend(certificate);
    }
    bytes.extend(UNSEALED);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_stand_in_a_key_store_one_after_the_other() {
        let pem = "about\n-----BEGIN CERTIFICATE-----\nAQID\nBA==\n-----END CERTIFICATE-----\n\
            -----BEGIN CERTIFICATE-----\nBQ==\n-----END CERTIFICATE-----\n";
        let bytes = store(pem);
        assert_eq!(bytes[..12], [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 2]);
        let entry = |number: u8, certificate: &[u8]| {
            let name = [b"\0\x08system-".as_slice(), &[b'0' + number]].concat();
            let length = (certificate.len() as u32).to_be_bytes();
            [&[0, 0, 0, 2], &name[..], &[0; 8], b"\0\x05X.509", &length, certificate].concat()
        };
        assert_eq!(bytes[12..bytes.len() - 20], [entry(0, &[1, 2, 3, 4]), entry(1, &[5])].concat());
        assert_eq!(store(""), [&HEAD[..], &[0; 4], &UNSEALED].concat());
    }
}
