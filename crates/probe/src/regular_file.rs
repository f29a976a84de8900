//! Reads files that the user names. Anything but a regular file, such as a pipe or a device, may have no end or block its
//! reader.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// The largest text file, in bytes: a workload, an experiment or a config.
pub const MOST_TEXT_BYTES: u64 = 16 << 20;

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Otherwise opening a pipe would wait for its writer.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    let found = match kind {
        _ if kind.is_file() => return Ok(file),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {found} and no file")))
}

/// Reads a regular text file of at most [`MOST_TEXT_BYTES`].
///
/// # Errors
/// As [`open_regular`], or if it is larger or not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.take(MOST_TEXT_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_TEXT_BYTES {
        let problem = format!("it has more than {} MiB", MOST_TEXT_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_17_only_regular_files_of_a_sensible_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |path: &Path| read_text(path).unwrap_err().to_string();
        assert_eq!(problem(Path::new("/dev/zero")), "it is a device and no file");
        assert_eq!(problem(folder.path()), "it is a folder and no file");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(problem(&pipe), "it is a pipe and no file");
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        assert!(open_regular(&folder.path().join("s")).is_err());
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(MOST_TEXT_BYTES + 1).unwrap();
        assert_eq!(problem(&large), "it has more than 16 MiB");
        let good = folder.path().join("good");
        std::fs::write(&good, "text").unwrap();
        assert_eq!(read_text(&good).unwrap(), "text");
    }
}
